import Foundation
import MakoRecords
import MakoStorage

extension Query {
    /// Adds a `#Predicate`, which is translated to the same condition, and so the same plan, as one by key paths or as
    /// text.
    ///
    /// ```swift
    /// let adults = try db.query(Person.self).where(#Predicate { $0.age >= 18 && $0.name?.starts(with: "A") == true }).fetch()
    /// ```
    ///
    /// It has the semantics of Swift: nil equals nil and differs from any value, texts are compared case-sensitively.
    /// Texts are searched by Unicode scalars, not by characters, and a test with `!` on nil is not true. The
    /// translation covers comparisons, `&& || !`, `? :`, `??`, optional chains and `if let`, `contains` and
    /// `starts(with:)`, ranges, arithmetic, to-one relationships, `contains`, `allSatisfy`, `count` and `isEmpty` of
    /// collections and texts, and captured values. The call that runs the query refuses anything else with
    /// ``MakoError/query(message:)`` before it reads a row.
    public func `where`(_ predicate: Predicate<T>) -> Query {
        do throws(MakoError) {
            var scope = PredicateScope()
            scope.variables[predicate.variable.key] = .path([], isOptional: false)
            let condition = try scope.term(predicate.expression).test().isTrue
            return adding(.made(condition, levels: condition.levels))
        } catch {
            return adding(.failed(error))
        }
    }
}

/// The variables of a predicate while it is translated.
struct PredicateScope {
    /// The limit of the depth, as for conditions.
    private static let depthLimit = 100

    var variables: [PredicateExpressions.VariableID: PredicateTerm] = [:]
    private var depth = 0

    mutating func term(_ part: any PredicateExpression) throws(MakoError) -> PredicateTerm {
        guard let part = part as? any TranslatablePredicate else {
            throw .predicate("\(PredicateScope.name(of: part))\(PredicateScope.properties(in: part)) is not translated")
        }
        depth += 1
        defer { depth -= 1 }
        if depth > PredicateScope.depthLimit { throw .predicate("it is nested too deeply") }
        return try StackGuard.run(isDeep: false) { () throws(MakoError) in
            try part.term(&self)
        } orElse: { () throws(MakoError) in
            throw .predicate("it is nested too deeply")
        }
    }

    mutating func test(_ part: any PredicateExpression) throws(MakoError) -> PredicateTest { try term(part).test() }

    mutating func expr(_ part: any PredicateExpression) throws(MakoError) -> Expr { try term(part).expr() }

    /// Foundation's name of the part, without its generic types.
    private static func name(of part: any PredicateExpression) -> String {
        let name = "\(type(of: part))"
        return String(name.prefix { $0 != "<" })
    }

    /// The properties that the part reads, for messages.
    private static func properties(in part: any PredicateExpression) -> String {
        var names: [String] = []
        func gather(_ value: Any, _ depth: Int) {
            if let property = value as? any NamedPredicate {
                let name = property.propertyName
                if !names.contains(name) { names.append(name) }
                return
            }
            if depth == 0 { return }
            for child in Mirror(reflecting: value).children where child.value is any PredicateExpression {
                gather(child.value, depth - 1)
            }
        }
        gather(part, depthLimit)
        return names.isEmpty ? "" : " of " + names.joined(separator: ", ")
    }
}

/// A part of a predicate that is a property.
private protocol NamedPredicate {
    var propertyName: String { get }
}

extension PredicateExpressions.KeyPath: NamedPredicate {
    fileprivate var propertyName: String {
        guard let entity = Root.Output.self as? any Entity.Type else {
            // Behind an optional, or a member of a value.
            return (root as? any NamedPredicate)?.propertyName ?? keyPath.text
        }
        let model = entity.entityModel
        return (model.keyPaths[keyPath] ?? model.manyName(of: keyPath)).map { "\(model.name).\($0)" } ?? keyPath.text
    }
}

/// A part of a predicate that can be translated to a condition.
protocol TranslatablePredicate {
    func term(_ scope: inout PredicateScope) throws(MakoError) -> PredicateTerm
}

// MARK: - Names and values

extension PredicateExpressions.Variable: TranslatablePredicate {
    func term(_ scope: inout PredicateScope) throws(MakoError) -> PredicateTerm {
        guard let known = scope.variables[key] else { throw .predicate("it names a variable of another predicate") }
        return known
    }
}

extension PredicateExpressions.KeyPath: TranslatablePredicate {
    func term(_ scope: inout PredicateScope) throws(MakoError) -> PredicateTerm {
        if let captured { return try .captured(captured) }
        let root = try scope.term(root)
        if Root.Output.self == String.self {
            switch kind {
            // A text is empty by scalars exactly where it is empty by characters.
            case .collectionIsEmpty: return .test(try .equal(root, .constant(.text(""))))
            case .collectionCount: return .value(.function("characters", [try root.expr()]), isOptional: false)
            default: throw .predicate("\(keyPath.text) is no stored property")
            }
        }
        guard case .path(let steps, _) = root else {
            throw .predicate("\(keyPath.text) is used on a value that is no property")
        }
        let isOptional = Output.self is any OptionalValue.Type
        if let many = Root.Output.self as? any ManyValues.Type {
            // Foundation has kinds for its own collections only.
            if kind == .collectionCount || keyPath == many._$count {
                return .value(try (steps + [.count]).expr(), isOptional: false)
            }
            if kind == .collectionIsEmpty || keyPath == many._$isEmpty { return .test(try .isEmpty(steps)) }
            if kind != nil { throw .predicate("\(keyPath.text) reads one of many") }
        }
        if let entity = Root.Output.self as? any Entity.Type {
            return .path(steps + [try PredicateTerm.step(entity, keyPath)], isOptional: isOptional)
        }
        guard steps.last?.composite != nil else { throw .predicate("\(keyPath.text) is no stored property") }
        return .path(steps.member(keyPath), isOptional: isOptional)
    }
}

extension PredicateTerm {
    fileprivate static func step<T: Entity>(_ type: T.Type, _ keyPath: AnyKeyPath) throws(MakoError) -> PathStep {
        guard let keyPath = keyPath as? PartialKeyPath<T> else {
            throw .predicate("\(keyPath.text) is no stored property")
        }
        return PathStep(T.self, keyPath)
    }

    /// A captured value.
    static func captured(_ value: Any) throws(MakoError) -> PredicateTerm {
        if let range = value as? any RangeValue { return .range(try range.bounds()) }
        if let parts = (value as? any CompositeValue)?.storedParts { return .parts(parts) }
        if let stored = stored(value) { return .constant(stored) }
        throw .predicate("a captured \(type(of: value)) is no value that a property can have")
    }

    /// The value as a column holds it; `nil` for a type that no column holds.
    fileprivate static func stored(_ value: Any) -> StoredValue? {
        if let value = value as? any OptionalValue {
            guard let wrapped = value.wrapped else { return .null }
            return stored(wrapped)
        }
        switch value {
        case let value as any StorableValue: return value.stored
        case let value as any RawRepresentable: return (value.rawValue as? any StorableValue)?.stored
        case let object as any ObjectEntity: return object.conditionValue
        case let object as any Entity: return object.conditionValue
        default: return nil
        }
    }
}

/// A part of a predicate that is known before a row is read: a captured value, or a key path applied to one.
protocol CapturedPredicate {
    var captured: Any? { get }
}

extension PredicateExpressions.Value: CapturedPredicate {
    var captured: Any? { value }
}

extension PredicateExpressions.KeyPath: CapturedPredicate {
    var captured: Any? {
        ((root as? any CapturedPredicate)?.captured as? Root.Output).map { $0[keyPath: keyPath] }
    }
}

extension PredicateExpressions.Value: TranslatablePredicate {
    func term(_ scope: inout PredicateScope) throws(MakoError) -> PredicateTerm { try .captured(value) }
}

extension PredicateExpressions.NilLiteral: TranslatablePredicate {
    func term(_ scope: inout PredicateScope) throws(MakoError) -> PredicateTerm { .constant(.null) }
}

/// Any optional.
private protocol OptionalValue {
    static var wrappedType: Any.Type { get }
    var wrapped: Any? { get }
}

extension Optional: OptionalValue {
    static var wrappedType: Any.Type { Wrapped.self }
    var wrapped: Any? { self }
}

extension PredicateExpression {
    /// The smallest value of the type except NaN; nil: the type has no NaN.
    fileprivate static var least: StoredValue? { StoredValue.least(of: Output.self) }
}

extension StoredValue {
    fileprivate static func least(of type: Any.Type) -> StoredValue? {
        if let optional = type as? any OptionalValue.Type { return least(of: optional.wrappedType) }
        if type == Date.self { return .date(-.infinity) }
        return type is any BinaryFloatingPoint.Type ? .double(-.infinity) : nil
    }
}

/// Any range.
protocol RangeValue {
    func bounds() throws(MakoError) -> PredicateRange
}

extension RangeValue {
    func bound(_ value: Any) throws(MakoError) -> Expr {
        guard let stored = PredicateTerm.stored(value) else {
            throw .predicate("no property is in a \(type(of: self))")
        }
        return .literal(stored, at: .none)
    }
}

extension Range: RangeValue {
    func bounds() throws(MakoError) -> PredicateRange {
        PredicateRange(low: try bound(lowerBound), high: try bound(upperBound), includesHigh: false)
    }
}
extension ClosedRange: RangeValue {
    func bounds() throws(MakoError) -> PredicateRange {
        PredicateRange(low: try bound(lowerBound), high: try bound(upperBound))
    }
}
extension PartialRangeFrom: RangeValue {
    func bounds() throws(MakoError) -> PredicateRange { PredicateRange(low: try bound(lowerBound)) }
}
extension PartialRangeThrough: RangeValue {
    func bounds() throws(MakoError) -> PredicateRange {
        PredicateRange(low: .least(of: Bound.self), high: try bound(upperBound))
    }
}
extension PartialRangeUpTo: RangeValue {
    func bounds() throws(MakoError) -> PredicateRange {
        PredicateRange(low: .least(of: Bound.self), high: try bound(upperBound), includesHigh: false)
    }
}

extension Expr {
    fileprivate static func least(of type: Any.Type) -> Expr? {
        StoredValue.least(of: type).map { .literal($0, at: .none) }
    }
}

// MARK: - Tests

extension PredicateExpressions.Equal: TranslatablePredicate {
    func term(_ scope: inout PredicateScope) throws(MakoError) -> PredicateTerm {
        .test(try .equal(try scope.term(lhs), try scope.term(rhs), least: LHS.least))
    }
}

extension PredicateExpressions.NotEqual: TranslatablePredicate {
    func term(_ scope: inout PredicateScope) throws(MakoError) -> PredicateTerm {
        .test(try PredicateTest.equal(try scope.term(lhs), try scope.term(rhs), least: LHS.least).negated)
    }
}

extension PredicateExpressions.Comparison: TranslatablePredicate {
    func term(_ scope: inout PredicateScope) throws(MakoError) -> PredicateTerm {
        let (left, right) = (try scope.term(lhs), try scope.term(rhs))
        let least = LHS.least
        switch op {
        case .lessThan: return .test(try .compared(.less, .greaterOrEqual, left, right, least))
        case .lessThanOrEqual: return .test(try .compared(.lessOrEqual, .greater, left, right, least))
        case .greaterThan: return .test(try .compared(.greater, .lessOrEqual, left, right, least))
        case .greaterThanOrEqual: return .test(try .compared(.greaterOrEqual, .less, left, right, least))
        @unknown default: throw .predicate("the comparison \(op) is not translated")
        }
    }
}

extension PredicateExpressions.Conjunction: TranslatablePredicate {
    func term(_ scope: inout PredicateScope) throws(MakoError) -> PredicateTerm {
        .test(.and(try scope.test(lhs), try scope.test(rhs)))
    }
}

extension PredicateExpressions.Disjunction: TranslatablePredicate {
    func term(_ scope: inout PredicateScope) throws(MakoError) -> PredicateTerm {
        .test(.or(try scope.test(lhs), try scope.test(rhs)))
    }
}

extension PredicateExpressions.Negation: TranslatablePredicate {
    func term(_ scope: inout PredicateScope) throws(MakoError) -> PredicateTerm {
        .test(try scope.test(wrapped).negated)
    }
}

extension PredicateExpressions.Conditional: TranslatablePredicate {
    func term(_ scope: inout PredicateScope) throws(MakoError) -> PredicateTerm {
        guard Output.self == Bool.self || Output.self == Bool?.self else {
            throw .predicate("a choice between values; choose between conditions")
        }
        return .test(try scope.test(test).chosen(try scope.test(trueBranch), try scope.test(falseBranch)))
    }
}

// MARK: - Optionals

extension PredicateExpressions.OptionalFlatMap: TranslatablePredicate {
    func term(_ scope: inout PredicateScope) throws(MakoError) -> PredicateTerm {
        let value = try scope.term(wrapped)
        switch value {
        case .path(let steps, _): scope.variables[variable.key] = .path(steps, isOptional: false)
        case .value(let expr, _): scope.variables[variable.key] = .value(expr, isOptional: false)
        case .constant(.null): return .constant(.null)
        case .constant, .parts, .list, .range, .test: scope.variables[variable.key] = value
        }
        switch try scope.term(transform) {
        case .path(let steps, _): return .path(steps, isOptional: true)
        case .value(let expr, _): return .value(expr, isOptional: true)
        case .test(let test):
            if case .constant = value { return .test(test) }
            return .test(try test.applied(to: value))
        case .constant, .parts, .list, .range: throw .predicate("a constant in place of an optional property")
        }
    }
}

extension PredicateExpressions.NilCoalesce: TranslatablePredicate {
    func term(_ scope: inout PredicateScope) throws(MakoError) -> PredicateTerm {
        let (left, right) = (try scope.term(lhs), try scope.term(rhs))
        if Output.self == Bool.self || Output.self == Bool?.self {
            return .test(try left.test().otherwise(try right.test()))
        }
        return .value(.function("coalesce", [try left.expr(), try right.expr()]), isOptional: right.isOptional)
    }
}

extension PredicateExpressions.ForcedUnwrap: TranslatablePredicate {
    func term(_ scope: inout PredicateScope) throws(MakoError) -> PredicateTerm {
        switch try scope.term(inner) {
        case .path(let steps, _): .path(steps, isOptional: false)
        case .value(let expr, _): .value(expr, isOptional: false)
        case let term: term
        }
    }
}

// MARK: - Lists, ranges and texts

extension PredicateExpressions.SequenceContains: TranslatablePredicate {
    func term(_ scope: inout PredicateScope) throws(MakoError) -> PredicateTerm {
        let element = try scope.term(element)
        if LHS.Output.self == String.self { return .test(try .text(try scope.term(sequence), contains: element)) }
        if let captured = (sequence as? any CapturedPredicate)?.captured as? LHS.Output {
            if let range = captured as? any RangeValue {
                return .test(try range.bounds().contains(try element.expr()))
            }
            var values: [StoredValue] = []
            for value in captured {
                guard let stored = PredicateTerm.stored(value) else {
                    throw .predicate("a captured \(type(of: value)) is no value that a property can have")
                }
                values.append(stored)
            }
            return .test(try .isAmong(element, values))
        }
        switch try scope.term(sequence) {
        case .range(let range): return .test(range.contains(try element.expr()))
        case .path(let steps, _) where LHS.Output.self is any ManyValues.Type:
            return .test(try .holds(steps, element))
        default: throw .predicate("contains(…) works on properties that hold many, captured lists, ranges and texts")
        }
    }
}

extension PredicateExpressions.RangeExpressionContains: TranslatablePredicate {
    func term(_ scope: inout PredicateScope) throws(MakoError) -> PredicateTerm {
        guard case .range(let bounds) = try scope.term(range) else { throw .predicate("a range of this kind") }
        return .test(bounds.contains(try scope.expr(element)))
    }
}

extension PredicateExpressions.Range: TranslatablePredicate {
    func term(_ scope: inout PredicateScope) throws(MakoError) -> PredicateTerm {
        .range(PredicateRange(low: try scope.expr(lower), high: try scope.expr(upper), includesHigh: false))
    }
}

extension PredicateExpressions.ClosedRange: TranslatablePredicate {
    func term(_ scope: inout PredicateScope) throws(MakoError) -> PredicateTerm {
        .range(PredicateRange(low: try scope.expr(lower), high: try scope.expr(upper)))
    }
}

extension PredicateTest {
    /// Whether a text contains or begins with another.
    fileprivate static func text(
        _ text: PredicateTerm, contains part: PredicateTerm, atStart: Bool = false
    ) throws(MakoError) -> PredicateTest {
        let expr = try text.expr()
        let condition: MakoRecords.Condition
        if case .constant(.text(let part)) = part {
            condition = .text(expr, contains: part, atStart: atStart)
        } else {
            let place = Expr.function("instr", [expr, try part.expr()])
            condition = .comparison(atStart ? .equal : .greaterOrEqual, place, .literal(.integer(1), at: .none))
        }
        return PredicateTest(isTrue: condition, isFalse: .not(condition), needsValues: true)
    }
}

extension PredicateExpressions.CollectionContainsCollection: TranslatablePredicate {
    func term(_ scope: inout PredicateScope) throws(MakoError) -> PredicateTerm {
        guard Base.Output.self == String.self else { throw .predicate("contains(…) of a list in another") }
        return .test(try .text(try scope.term(base), contains: try scope.term(other)))
    }
}

extension PredicateExpressions.SequenceStartsWith: TranslatablePredicate {
    func term(_ scope: inout PredicateScope) throws(MakoError) -> PredicateTerm {
        guard Base.Output.self == String.self else { throw .predicate("starts(with:) of something that is no text") }
        return .test(try .text(try scope.term(base), contains: try scope.term(prefix), atStart: true))
    }
}

// MARK: - Arithmetic

extension PredicateScope {
    fileprivate mutating func calculation(
        _ operation: ArithmeticOperator, _ left: any PredicateExpression, _ right: any PredicateExpression
    ) throws(MakoError) -> PredicateTerm {
        .value(.arithmetic(operation, try expr(left), try expr(right)), isOptional: false)
    }
}

extension PredicateExpressions.Arithmetic: TranslatablePredicate {
    func term(_ scope: inout PredicateScope) throws(MakoError) -> PredicateTerm {
        switch op {
        case .add: return try scope.calculation(.add, lhs, rhs)
        case .subtract: return try scope.calculation(.subtract, lhs, rhs)
        case .multiply: return try scope.calculation(.multiply, lhs, rhs)
        @unknown default: throw .predicate("the calculation \(op) is not translated")
        }
    }
}

extension PredicateExpressions.FloatDivision: TranslatablePredicate {
    func term(_ scope: inout PredicateScope) throws(MakoError) -> PredicateTerm {
        try scope.calculation(.divide, lhs, rhs)
    }
}

extension PredicateExpressions.IntDivision: TranslatablePredicate {
    func term(_ scope: inout PredicateScope) throws(MakoError) -> PredicateTerm {
        try scope.calculation(.divide, lhs, rhs)
    }
}

extension PredicateExpressions.IntRemainder: TranslatablePredicate {
    func term(_ scope: inout PredicateScope) throws(MakoError) -> PredicateTerm {
        try scope.calculation(.remainder, lhs, rhs)
    }
}

extension PredicateExpressions.UnaryMinus: TranslatablePredicate {
    func term(_ scope: inout PredicateScope) throws(MakoError) -> PredicateTerm {
        .value(.negate(try scope.expr(wrapped)), isOptional: false)
    }
}
