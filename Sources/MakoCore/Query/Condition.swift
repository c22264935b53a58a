import MakoRecords
import MakoStorage

/// A condition on the objects of one entity: `\.age > 35 && \.department.name == "Engines"`.
public struct Condition<Root: Entity>: Sendable {
    let source: ConditionSource

    init(_ condition: MakoRecords.Condition) { source = .parsed(condition) }
    init(source: ConditionSource) { self.source = source }
}

/// A condition, or why it is none: faults are told by the call that runs the query.
///
/// Indirect, so that queries, which are copied at each step of their making, copy one reference.
indirect enum ConditionSource: Sendable {
    /// A condition and how many levels it has: counting them at each `&&` would make long chains quadratic. What is not said to have more
    /// is a comparison, or the opposite of one.
    case parsed(MakoRecords.Condition, levels: Int = 3)
    /// One that was read before, and its values.
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

    /// A condition that was put together of others; refused where it is nested too deeply to be bound, because what ends a tree cannot make
    /// sure of room on the stack.
    static func made(_ condition: MakoRecords.Condition, levels: Int) -> ConditionSource {
        levels > MakoRecords.Condition.depthLimit ? .failed(.tooDeep) : .parsed(condition, levels: levels)
    }

    /// Both conditions, or one of them at least. A chain makes one level, as in texts.
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

    /// The opposite.
    var negated: ConditionSource {
        do throws(MakoError) { return .made(.not(try condition()), levels: levels + 1) } catch { return .failed(error) }
    }
}

/// What can stand for a value in a condition: storable values, entities, which stand for their key, and behind IN lists of these.
public protocol ConditionValue {
    var conditionValue: StoredValue { get }
    /// The values of a list; nil of what is one value.
    var conditionList: [StoredValue]? { get }
}

extension ConditionValue {
    public var conditionList: [StoredValue]? { nil }
}

extension ConditionValue where Self: StorableValue {
    public var conditionValue: StoredValue { stored }
}

extension Optional: ConditionValue where Wrapped: ConditionValue {
    public var conditionValue: StoredValue { map(\.conditionValue) ?? .null }
    public var conditionList: [StoredValue]? { self?.conditionList }
}

extension Array: ConditionValue where Element: ConditionValue {
    /// Bytes are one value. Of a list, which is none, NULL. An empty array of anything can be cast to one of bytes.
    public var conditionValue: StoredValue { Element.self == UInt8.self ? (self as? [UInt8])?.stored ?? .null : .null }
    public var conditionList: [StoredValue]? { Element.self == UInt8.self ? nil : map(\.conditionValue) }
}

extension Set: ConditionValue where Element: ConditionValue {
    public var conditionValue: StoredValue { .null }
    public var conditionList: [StoredValue]? { map(\.conditionValue) }
}

extension ObjectEntity {
    /// The object's key; NULL when it was never saved or is removed.
    public var conditionValue: StoredValue { ReferenceKeys.value(of: storedKey, type(of: self).entityModel) }
}

extension Entity {
    /// The value's key; NULL when it was never saved.
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
    /// The condition with its parameters replaced by values, so that conditions can be joined without renumbering.
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

/// The values of a where text: those given beside it and those interpolated into it.
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
