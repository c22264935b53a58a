import MakoRecords
import MakoStorage

/// A condition on the objects of one entity: `\.age > 35 && \.department.name == "Engines"`.
///
/// Operators build conditions from key paths:
///
/// - `==`, `!=`, `<`, `<=`, `>` and `>=` compare a property with a value or with another property. For `==` and `!=` nil
///   equals nil and differs from any value; no order comparison with nil is true.
/// - `~=` and `!~` match a text property with a LIKE pattern.
/// - `<<` and `!<<` test whether a value is in a list or a range.
/// - `&&`, `||` and `!` combine conditions; a Boolean property is a condition by itself.
///
/// Conditions on to-many relationships and collections are made by `.any`, `.all`, `.none` and `.contains`, those on
/// full-text indexes by `.match`.
public struct Condition<Root: Entity>: Sendable {
    let source: ConditionSource

    init(_ condition: MakoRecords.Condition) { source = .parsed(condition) }
    init(source: ConditionSource) { self.source = source }
}

/// A condition, or the error that the call that runs the query throws.
///
/// Indirect, so that a copy of a query, one for each call of a builder method, copies one reference.
indirect enum ConditionSource: Sendable {
    /// A condition and its number of levels, which is stored because counting it at each `&&` would make long chains
    /// quadratic. The default is that of a comparison or its negation.
    case parsed(MakoRecords.Condition, levels: Int = 3)
    /// A parsed condition from the cache, and its values.
    case prepared(PreparedCondition, ParameterValues)
    case failed(MakoError)

    /// The condition with its values.
    func condition() throws(MakoError) -> MakoRecords.Condition {
        switch self {
        case .parsed(let condition, _): condition
        case .prepared(let prepared, let values): try prepared.filled(values)
        case .failed(let error): throw error
        }
    }

    var levels: Int {
        switch self {
        case .parsed(_, let levels): levels
        case .prepared(let prepared, _): prepared.levels
        case .failed: 0
        }
    }

    /// A condition composed of others. Conditions nested deeper than the limit are refused, because the release of a
    /// deep tree recurses and cannot check the stack.
    static func made(_ condition: MakoRecords.Condition, levels: Int) -> ConditionSource {
        levels > MakoRecords.Condition.depthLimit ? .failed(.tooDeep) : .parsed(condition, levels: levels)
    }

    /// The conjunction or disjunction of two conditions. A chain of one operator counts as one level, as in texts.
    static func joined(_ left: ConditionSource, _ right: ConditionSource, isAnd: Bool) -> ConditionSource {
        do throws(MakoError) {
            let (first, second) = (try left.condition(), try right.condition())
            let levels = max(left.levels(of: first, inAnd: isAnd), right.levels(of: second, inAnd: isAnd)) + 1
            return .made(isAnd ? first && second : first || second, levels: levels)
        } catch {
            return .failed(error)
        }
    }

    private func levels(of condition: MakoRecords.Condition, inAnd isAnd: Bool) -> Int {
        switch condition {
        case .and: isAnd ? levels - 1 : levels
        case .or: isAnd ? levels : levels - 1
        default: levels
        }
    }

    /// The negated condition.
    var negated: ConditionSource {
        do throws(MakoError) { return .made(.not(try condition()), levels: levels + 1) } catch { return .failed(error) }
    }
}

/// A value that a condition compares with: a storable value, an entity, which is compared by its key, or, behind IN, a
/// list of these.
public protocol ConditionValue {
    /// The value as a column holds it.
    var conditionValue: StoredValue { get }
    /// The values of a list; nil for a single value.
    var conditionList: [StoredValue]? { get }
}

extension ConditionValue {
    /// Nil: a value is single unless its type says otherwise.
    public var conditionList: [StoredValue]? { nil }
}

extension ConditionValue where Self: StorableValue {
    /// The value as a column holds it.
    public var conditionValue: StoredValue { stored }
}

extension Optional: ConditionValue where Wrapped: ConditionValue {
    /// The wrapped value as a column holds it; NULL for nil.
    public var conditionValue: StoredValue { map(\.conditionValue) ?? .null }
    /// The values of the wrapped list; nil for nil and for a single value.
    public var conditionList: [StoredValue]? { self?.conditionList }
}

extension Array: ConditionValue where Element: ConditionValue {
    /// The bytes of a `[UInt8]`, which is a single value; NULL for a list. The cast is tested by type first, because an
    /// empty array of any element type can be cast to `[UInt8]`.
    public var conditionValue: StoredValue { Element.self == UInt8.self ? (self as? [UInt8])?.stored ?? .null : .null }
    /// The values of the elements; nil for `[UInt8]`, which is a single value.
    public var conditionList: [StoredValue]? { Element.self == UInt8.self ? nil : map(\.conditionValue) }
}

/// The values of the named parameters of a text: a literal of names and values, or a dictionary. Nil is NULL.
///
/// ```swift
/// let older = try db.rawQuery("SELECT name FROM Person WHERE age > :least", named: ["least": 30])
/// let row: [String: any ConditionValue] = ["name": "Ada", "age": 36]
/// try db.rawQuery("INSERT INTO Person (name, age) VALUES (:name, :age)", named: NamedValues(row))
/// ```
///
/// A name that occurs twice is an error of the call that takes the values. Other names may come in any order; a prepared
/// INSERT is fastest in the order of its text.
public struct NamedValues: ExpressibleByDictionaryLiteral {
    // Pairs, because a dictionary costs more than the statement that takes its values, and a literal of one with a name
    // that occurs twice ends the program.
    let pairs: [(String, (any ConditionValue)?)]

    /// Makes the values of a literal.
    public init(dictionaryLiteral elements: (String, (any ConditionValue)?)...) { pairs = elements }

    /// Makes the values of a dictionary.
    public init(_ values: [String: (any ConditionValue)?]) { pairs = values.map { ($0, $1) } }

    var isEmpty: Bool { pairs.isEmpty }

    /// The values by their names.
    ///
    /// - Throws: `MakoError.invalidArgument` for a name that occurs twice.
    func parameterValues() throws(MakoError) -> [String: ParameterValue] {
        var values: [String: ParameterValue] = [:]
        for (name, value) in pairs where values.updateValue(value.parameterValue, forKey: name) != nil {
            throw .invalidArgument("the value \(name) is given twice")
        }
        return values
    }

    /// The values; nil if one is a list, or a name occurs twice.
    var plainValues: [String: StoredValue]? {
        var values: [String: StoredValue] = [:]
        for (name, value) in pairs {
            if value?.conditionList != nil { return nil }
            if values.updateValue(value?.conditionValue ?? .null, forKey: name) != nil { return nil }
        }
        return values
    }
}

extension Set: ConditionValue where Element: ConditionValue {
    /// NULL: a set is a list, not a single value.
    public var conditionValue: StoredValue { .null }
    /// The values of the elements, in no order.
    public var conditionList: [StoredValue]? { map(\.conditionValue) }
}

extension ObjectEntity {
    /// The object's key; NULL for an object that was never saved or is deleted.
    public var conditionValue: StoredValue { ReferenceKeys.value(of: storedKey, type(of: self).entityModel) }
}

extension Entity {
    /// The value's key; NULL for a value that was never saved.
    public var conditionValue: StoredValue { ReferenceKeys.value(of: storedValueKey, Self.entityModel) }
}

extension MakoError {
    static var tooDeep: MakoError {
        .query(message: "this is nested too deeply; the limit is \(MakoRecords.Condition.depthLimit)")
    }
}

// MARK: - Parameters become literals

extension PreparedCondition {
    fileprivate func filled(_ values: ParameterValues) throws(MakoError) -> MakoRecords.Condition {
        try StackGuard.run(isDeep: isDeep) { () throws(MakoError) in
            try condition.filled(values)
        } orElse: { () throws(MakoError) in
            throw .tooDeep
        }
    }
}

extension MakoRecords.Condition {
    /// The condition with its parameters replaced by values, so that conditions can be joined without renumbering the
    /// parameters.
    func filled(_ values: ParameterValues) throws(MakoError) -> MakoRecords.Condition {
        switch self {
        case .comparison(let op, let left, let right):
            return .comparison(op, try left.filled(values), try right.filled(values))
        case .and(let parts): return .and(try Self.filled(parts, values))
        case .or(let parts): return .or(try Self.filled(parts, values))
        case .not(let inner): return .not(try inner.filled(values))
        case .isIn(let expr, let list): return .isIn(try expr.filled(values), try Expr.filled(list, values))
        case .isAmong(let expr, let list): return .isAmong(try expr.filled(values), list)
        case .between(let expr, let low, let high):
            return .between(try expr.filled(values), try low.filled(values), try high.filled(values))
        case .like(let expr, let pattern, let escape):
            return .like(try expr.filled(values), try pattern.filled(values), escape: try escape?.filled(values))
        case .glob(let expr, let pattern): return .glob(try expr.filled(values), try pattern.filled(values))
        case .isNull(let expr): return .isNull(try expr.filled(values))
        case .truth(let expr): return .truth(try expr.filled(values))
        case .match(let expr, let text): return .match(try expr.filled(values), try text.filled(values))
        case .constant: return self
        case .isInQuery(let expr, let subquery): return .isInQuery(try expr.filled(values), subquery.filled(values))
        case .exists(let subquery): return .exists(subquery.filled(values))
        case .quantified(let quantifier, let inner, let at):
            return .quantified(quantifier, try inner.filled(values), at: at)
        case .elements(let quantifier, let path, let inner):
            return .elements(quantifier, path, try inner.filled(values))
        }
    }

    private static func filled(_ parts: [Self], _ values: ParameterValues) throws(MakoError) -> [Self] {
        var result: [Self] = []
        for part in parts { result.append(try part.filled(values)) }
        return result
    }
}

extension Expr {
    func filled(_ values: ParameterValues) throws(MakoError) -> Expr {
        switch self {
        case .column, .literal, .collection, .subject: return self
        case .choice(let choice):
            return .choice(
                try choice.mapped({ (part) throws(MakoError) in try part.filled(values) }) {
                    (condition) throws(MakoError) in try condition.filled(values)
                })
        case .condition(let condition, let at): return .condition(try condition.filled(values), at: at)
        case .subquery(let subquery): return .subquery(subquery.filled(values))
        case .parameter(let parameter, let at): return .literal(try values.value(of: parameter), at: at)
        case .arithmetic(let op, let left, let right, let at):
            return .arithmetic(op, try left.filled(values), try right.filled(values), at: at)
        case .negate(let inner): return .negate(try inner.filled(values))
        case .function(let name, let arguments, let at):
            return .function(name, try Expr.filled(arguments, values), at: at)
        case .noCase(let inner): return .noCase(try inner.filled(values))
        case .binary(let inner): return .binary(try inner.filled(values))
        }
    }

    static func filled(_ list: [Expr], _ values: ParameterValues) throws(MakoError) -> [Expr] {
        var result: [Expr] = []
        for each in list { result.append(try each.filled(values)) }
        return result
    }
}

extension Subquery {
    func filled(_ values: ParameterValues) -> Subquery { filled(values.positions, named: values.names) }
}

/// The values of a where text: the arguments and the interpolated values.
struct ParameterValues: Sendable {
    var positions: [StoredValue]
    var names: [String: StoredValue]
    var text: String

    func value(of parameter: Parameter) throws(MakoError) -> StoredValue {
        switch parameter {
        case .position(let index):
            if positions.indices.contains(index) { return positions[index] }
            let given = positions.count == 1 ? "1 value was" : "\(positions.count) values were"
            throw .query(message: "\(text)\n  has a parameter number \(index + 1), but \(given) given")
        case .name(let name):
            if let value = names[name] { return value }
            throw .query(message: "\(text)\n  has a parameter :\(name) without a value")
        }
    }
}
