import MakoRecords

/// The translation of a part of a `#Predicate`.
enum PredicateTerm {
    /// The object itself (no steps), or a property of it or of a related object.
    case path([PathStep], isOptional: Bool)
    /// A computed value.
    case value(Expr, isOptional: Bool)
    case constant(StoredValue)
    /// A captured value with several columns.
    case parts([StoredValue])
    /// A captured collection: an array, a set.
    case list([StoredValue])
    case range(PredicateRange)
    case test(PredicateTest)

    func expr() throws(MakoError) -> Expr {
        switch self {
        case .path(let steps, _):
            if steps.isEmpty { throw .predicate("an object by itself has no value; name one of its properties") }
            return try steps.expr()
        case .value(let expr, _): return expr
        case .constant(let value): return .literal(value, at: .none)
        case .test: throw .predicate("a condition is used where a value is needed")
        case .parts, .list, .range:
            throw .predicate("a captured list, range or value with several columns is used where one value is needed")
        }
    }

    var isOptional: Bool {
        switch self {
        case .path(_, let isOptional), .value(_, let isOptional): isOptional
        case .constant(let value): value.isNull
        case .parts, .list, .range, .test: false
        }
    }

    /// The condition that the term is nil.
    func isNil() throws(MakoError) -> MakoRecords.Condition {
        if case .path(let steps, _) = self, steps.last?.composite != nil { return .isNull(try steps.exprs()[0]) }
        return .isNull(try expr())
    }

    /// The term as a condition: a condition itself, or a Boolean property.
    func test() throws(MakoError) -> PredicateTest {
        switch self {
        case .test(let test): return test
        case .constant(.bool(let flag)): return .constant(flag)
        default:
            let expr = try expr()
            return PredicateTest(
                isTrue: .comparison(.equal, expr, .literal(.bool(true), at: .none)),
                isFalse: .comparison(.equal, expr, .literal(.bool(false), at: .none)),
                isNil: isOptional ? .isNull(expr) : nil, needsValues: true)
        }
    }
}

/// The bounds of a captured range, or of one that the predicate makes.
struct PredicateRange {
    var low: Expr?
    var high: Expr?
    var includesHigh = true

    func contains(_ element: Expr) -> PredicateTest {
        if let low, let high, includesHigh {
            let between = MakoRecords.Condition.between(element, low, high)
            return PredicateTest(isTrue: between, isFalse: .not(between), needsValues: true)
        }
        var inside: [MakoRecords.Condition] = []
        if let low { inside.append(.comparison(.greaterOrEqual, element, low)) }
        if let high { inside.append(.comparison(includesHigh ? .lessOrEqual : .less, element, high)) }
        let isTrue = MakoRecords.Condition.joined(inside, true)
        return PredicateTest(isTrue: isTrue, isFalse: .not(isTrue), needsValues: true)
    }
}

/// A Boolean of Swift, which has no unknown: the conditions for true, for false, and, for a `Bool?`, for nil.
///
/// Conditions follow SQL, where a comparison with NULL is neither true nor false. A test has both conditions, so a
/// negation swaps them, and Swift's semantics of nil hold at any depth.
struct PredicateTest {
    var isTrue: MakoRecords.Condition
    var isFalse: MakoRecords.Condition
    /// `nil` for a test that is never nil.
    var isNil: MakoRecords.Condition?
    /// Whether neither condition is true where a value that the test reads is nil.
    var needsValues = false

    static func constant(_ flag: Bool) -> PredicateTest {
        PredicateTest(isTrue: .constant(flag), isFalse: .constant(!flag))
    }

    var negated: PredicateTest {
        PredicateTest(isTrue: isFalse, isFalse: isTrue, isNil: isNil, needsValues: needsValues)
    }

    static func and(_ left: PredicateTest, _ right: PredicateTest) -> PredicateTest {
        PredicateTest(
            isTrue: .joined([left.isTrue, right.isTrue], true), isFalse: .joined([left.isFalse, right.isFalse], false))
    }

    static func or(_ left: PredicateTest, _ right: PredicateTest) -> PredicateTest {
        and(left.negated, right.negated).negated
    }

    /// `self ? yes : no`
    func chosen(_ yes: PredicateTest, _ no: PredicateTest) -> PredicateTest {
        func either(_ first: MakoRecords.Condition, _ second: MakoRecords.Condition) -> MakoRecords.Condition {
            .joined([.joined([isTrue, first], true), .joined([isFalse, second], true)], false)
        }
        var chosen = PredicateTest(isTrue: either(yes.isTrue, no.isTrue), isFalse: either(yes.isFalse, no.isFalse))
        if yes.isNil != nil || no.isNil != nil {
            chosen.isNil = either(yes.isNil ?? .constant(false), no.isNil ?? .constant(false))
        }
        return chosen
    }

    /// `self ?? other`
    func otherwise(_ other: PredicateTest) -> PredicateTest {
        guard let isNil else { return self }
        return PredicateTest(
            isTrue: .joined([isTrue, .joined([isNil, other.isTrue], true)], false),
            isFalse: .joined([isFalse, .joined([isNil, other.isFalse], true)], false),
            isNil: other.isNil.map { .joined([isNil, $0], true) })
    }

    /// The test of an optional value; nil where the value is nil.
    func applied(to value: PredicateTerm) throws(MakoError) -> PredicateTest {
        let isMissing = try value.isNil()
        var applied = self
        if !needsValues {
            applied.isTrue = .joined([isTrue, .not(isMissing)], true)
            applied.isFalse = .joined([isFalse, .not(isMissing)], true)
        }
        applied.isNil = .joined([isMissing] + (isNil.map { [$0] } ?? []), false)
        return applied
    }
}

// MARK: - Comparisons

extension PredicateTest {
    /// Compares two terms. The engine sorts NaN below all numbers and equal to itself; in Swift every comparison with
    /// NaN is false.
    ///
    /// - Parameter least: the smallest value above NaN, if the compared values may be NaN.
    static func compared(
        _ operation: ComparisonOperator, _ inverse: ComparisonOperator, _ left: PredicateTerm, _ right: PredicateTerm,
        _ least: StoredValue?
    ) throws(MakoError) -> PredicateTest {
        let (first, second) = (try left.expr(), try right.expr())
        var test = PredicateTest(
            isTrue: .comparison(operation, first, second), isFalse: .comparison(inverse, first, second),
            needsValues: true)
        guard let least else { return test }
        if left.isNaN || right.isNaN {
            let values = [first, second].filter { if case .literal = $0 { false } else { true } }
            return PredicateTest(
                isTrue: .constant(false), isFalse: .joined(values.map { .not(.isNull($0)) }, true),
                needsValues: !values.isEmpty)
        }
        // The side that makes the comparison of the engine true where it is NaN.
        let side: Expr
        switch operation {
        case .less, .lessOrEqual: side = first
        case .greater, .greaterOrEqual: side = second
        case .equal, .notEqual:
            if case .literal = second { return test }
            side = first
        }
        if case .literal = side { return test }
        let limit = Expr.literal(least, at: .none)
        test.isTrue = .joined([test.isTrue, .comparison(.greaterOrEqual, side, limit)], true)
        test.isFalse = .joined([test.isFalse, .comparison(.less, side, limit)], false)
        return test
    }

    /// Compares as Swift does: nil equals nil and differs from any value.
    static func equal(
        _ left: PredicateTerm, _ right: PredicateTerm, least: StoredValue? = nil
    ) throws(MakoError) -> PredicateTest {
        switch (left, right) {
        case (.constant(.null), .constant(.null)): return .constant(true)
        case (let term, .constant(.null)), (.constant(.null), let term):
            let isNil = try term.missing()
            return PredicateTest(isTrue: isNil, isFalse: .not(isNil))
        case (.test(let test), let other), (let other, .test(let test)):
            return equal(test, try other.test())
        case (.path(let steps, _), .parts(let values)), (.parts(let values), .path(let steps, _)):
            return try equalParts(steps, values)
        default: break
        }
        var test = try compared(.equal, .notEqual, left, right, least)
        var differing = [test.isFalse]
        if left.isOptional || right.isOptional {
            let (first, second) = (try left.isNil(), try right.isNil())
            test.needsValues = false
            if left.isOptional && right.isOptional {
                test.isTrue = .joined([test.isTrue, .and([first, second])], false)
                differing += [.and([first, .not(second)]), .and([.not(first), second])]
            } else {
                differing.append(left.isOptional ? first : second)
            }
            test.isFalse = .joined(differing, false)
        }
        return test
    }

    private static func equal(_ left: PredicateTest, _ right: PredicateTest) -> PredicateTest {
        var same = left.chosen(right, right.negated)
        same.isNil = nil
        let (first, second) = (left.isNil ?? .constant(false), right.isNil ?? .constant(false))
        same.isTrue = .joined([same.isTrue, .joined([first, second], true)], false)
        same.isFalse = .joined(
            [same.isFalse, .joined([first, second.opposite], true), .joined([first.opposite, second], true)], false)
        return same
    }

    private static func equalParts(_ steps: [PathStep], _ values: [StoredValue]) throws(MakoError) -> PredicateTest {
        var same: [MakoRecords.Condition] = []
        var other: [MakoRecords.Condition] = []
        if values.contains(where: \.isNaN) { return .constant(false) }
        for (column, value) in zip(try steps.exprs(), values) {
            if value.isNull {
                same.append(.isNull(column))
                other.append(.not(.isNull(column)))
            } else {
                same.append(.comparison(.equal, column, .literal(value, at: .none)))
                other += [.comparison(.notEqual, column, .literal(value, at: .none)), .isNull(column)]
            }
        }
        return PredicateTest(isTrue: .joined(same, true), isFalse: .joined(other, false))
    }

    /// The test that a value is in a list.
    static func isAmong(_ element: PredicateTerm, _ values: [StoredValue]) throws(MakoError) -> PredicateTest {
        let expr = try element.expr()
        let hasNil = values.contains(where: \.isNull)
        // No value equals NaN.
        let items = values.filter { !$0.isNull && !$0.isNaN }
        let isIn = MakoRecords.Condition.isAmong(expr, items)
        var test =
            items.isEmpty ? .constant(false) : PredicateTest(isTrue: isIn, isFalse: .not(isIn), needsValues: true)
        if element.isOptional {
            test.needsValues = false
            if hasNil {
                test.isTrue = .joined([test.isTrue, .isNull(expr)], false)
                test.isFalse = .joined([test.isFalse, .not(.isNull(expr))], true)
            } else if !items.isEmpty {
                test.isFalse = .joined([test.isFalse, .isNull(expr)], false)
            }
        }
        return test
    }
}

extension StoredValue {
    /// Whether the value is a number or a date that is NaN.
    var isNaN: Bool {
        switch self {
        case .double(let number), .date(let number): number.isNaN
        default: false
        }
    }
}

extension PredicateTerm {
    fileprivate var isNaN: Bool { if case .constant(let value) = self { value.isNaN } else { false } }

    /// The condition that the term is nil, also for a term that is a condition.
    fileprivate func missing() throws(MakoError) -> MakoRecords.Condition {
        if case .test(let test) = self { return test.isNil ?? .constant(false) }
        return try isNil()
    }
}

extension MakoRecords.Condition {
    fileprivate var opposite: Self {
        if case .constant(let flag) = self { .constant(!flag) } else { .not(self) }
    }

    /// The conjunction or disjunction of conditions, without constants that do not matter.
    fileprivate static func joined(_ parts: [Self], _ all: Bool) -> Self {
        var left: [Self] = []
        for part in parts {
            switch part {
            case .constant(all): continue
            case .constant: return part
            case .and(let inner) where all: left += inner
            case .or(let inner) where !all: left += inner
            default: left.append(part)
            }
        }
        if left.isEmpty { return .constant(all) }
        return left.count == 1 ? left[0] : (all ? .and(left) : .or(left))
    }
}

extension MakoError {
    /// The error for a `#Predicate` that has no equivalent condition.
    static func predicate(_ reason: String) -> MakoError {
        .query(message: "#Predicate cannot be answered by the database: \(reason)")
    }
}
