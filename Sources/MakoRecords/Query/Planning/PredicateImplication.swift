/// Proves that one condition implies another. Incomplete, but sound: where it finds no proof, the planner must not rely
/// on one.
enum PredicateImplication {
    /// Returns the conjuncts of a query that a partial index's condition makes redundant, if the query implies that
    /// condition.
    ///
    /// - Parameters:
    ///   - index: the conjuncts of the index's condition.
    ///   - input: the conjuncts of the query.
    /// - Returns: `nil` if the implication is not proven.
    static func answered(by index: [BoundCondition], _ input: [BoundCondition]) -> Set<Int>? {
        var answered: Set<Int> = []
        for wanted in index where wanted != .constant(true) {
            var isImplied = false
            for (place, fact) in input.enumerated() where follows(wanted, from: fact) {
                isImplied = true
                if follows(fact, from: wanted) { answered.insert(place) }
            }
            if !isImplied { return nil }
        }
        return answered
    }

    static func follows(_ wanted: BoundCondition, from fact: BoundCondition) -> Bool {
        if fact == wanted { return true }
        switch (fact, wanted) {
        case (.or(let facts), _): return !facts.isEmpty && facts.allSatisfy { follows(wanted, from: $0) }
        case (_, .and(let parts)): return parts.allSatisfy { follows($0, from: fact) }
        case (.and(let facts), _): return facts.contains { follows(wanted, from: $0) }
        case (_, .or(let parts)): return parts.contains { follows($0, from: fact) }
        case (_, .not(.isNull(.column(let column)))): return excludesNull(fact, column)
        case (
            .comparison(let known, let side, .constant(let value)),
            .comparison(let tested, let other, .constant(let bound))
        ):
            return isSame(side, other) && holds(tested, bound, known, value)
        case (.isAmong(let side, let items), .comparison(let tested, let other, .constant(let bound))):
            return isSame(side, other) && items.allSatisfy { $0.isNull || holds(tested, bound, .equal, $0) }
        case (.comparison(.equal, let side, .constant(let value)), .isAmong(let other, let list)):
            return isSame(side, other) && contains(list, value)
        case (.isAmong(let side, let items), .isAmong(let other, let list)):
            return isSame(side, other) && items.allSatisfy { $0.isNull || contains(list, $0) }
        default: return areSameFlag(fact, wanted)
        }
    }

    private static func contains(_ list: [Value], _ value: Value) -> Bool { list.contains { $0.compare(value) == 0 } }

    /// Compares expressions; names of columns are resolved, so that their case does not matter.
    static func isSame(_ a: BoundExpr, _ b: BoundExpr) -> Bool {
        switch (a, b) {
        case (.column(let first), .column(let second)): first.node == second.node && first.ordinal == second.ordinal
        case (.noCase(let first), .noCase(let second)), (.negate(let first), .negate(let second)): isSame(first, second)
        case (.function(let first, let some), .function(let second, let others)):
            first == second && some.count == others.count && zip(some, others).allSatisfy { isSame($0, $1) }
        case (.arithmetic(let first, let a, let b), .arithmetic(let second, let c, let d)):
            first == second && isSame(a, c) && isSame(b, d)
        default: a == b
        }
    }

    /// Returns whether every x that fulfils the known comparison fulfils the wanted one.
    private static func holds(
        _ tested: ComparisonOperator, _ bound: Value, _ known: ComparisonOperator, _ value: Value
    ) -> Bool {
        guard let order = value.compare(bound) else { return false }
        switch (tested, known) {
        case (_, .equal): return Binder.holds(tested, order)
        case (.notEqual, .notEqual): return order == 0
        case (.notEqual, .less), (.less, .less), (.lessOrEqual, .less), (.lessOrEqual, .lessOrEqual): return order <= 0
        case (.notEqual, .lessOrEqual), (.less, .lessOrEqual): return order < 0
        case (.notEqual, .greater), (.greater, .greater), (.greaterOrEqual, .greater),
            (.greaterOrEqual, .greaterOrEqual):
            return order >= 0
        case (.notEqual, .greaterOrEqual), (.greater, .greaterOrEqual): return order > 0
        default: return false
        }
    }

    /// Returns whether both test the same flag: `flag` and `flag = TRUE`, `NOT flag` and `flag = FALSE`.
    private static func areSameFlag(_ a: BoundCondition, _ b: BoundCondition) -> Bool {
        guard let first = flag(a), let second = flag(b) else { return false }
        return isSame(first.side, second.side) && first.isSet == second.isSet
    }

    private static func flag(_ condition: BoundCondition) -> (side: BoundExpr, isSet: Bool)? {
        switch condition {
        case .truth(let side) where Binder.kind(side) == .bool: (side, true)
        case .not(.truth(let side)) where Binder.kind(side) == .bool: (side, false)
        case .comparison(.equal, let side, .constant(.bool(let isSet))): (side, isSet)
        default: nil
        }
    }

    // MARK: NULL

    /// Returns whether the condition is true for no row that has NULL in the column.
    static func excludesNull(_ fact: BoundCondition, _ column: BoundColumn) -> Bool {
        switch fact {
        case .not(.isNull(let inner)): isStrict(inner, column)
        case .not(let inner): isUnknown(inner, column)
        case .and(let parts): parts.contains { excludesNull($0, column) }
        case .or(let parts): !parts.isEmpty && parts.allSatisfy { excludesNull($0, column) }
        default: isUnknown(fact, column)
        }
    }

    /// Returns whether the condition is NULL where the column is NULL.
    private static func isUnknown(_ condition: BoundCondition, _ column: BoundColumn) -> Bool {
        switch condition {
        case .comparison(_, let left, let right), .glob(let left, let right):
            isStrict(left, column) || isStrict(right, column)
        case .isIn(let side, _), .isAmong(let side, _), .truth(let side): isStrict(side, column)
        case .like(let side, let pattern, _): isStrict(side, column) || isStrict(pattern, column)
        default: false
        }
    }

    /// Returns whether the expression is NULL where the column is NULL.
    private static func isStrict(_ expr: BoundExpr, _ column: BoundColumn) -> Bool {
        switch expr {
        case .column(let other): other.node == column.node && other.ordinal == column.ordinal
        case .noCase(let inner), .negate(let inner): isStrict(inner, column)
        case .arithmetic(_, let left, let right): isStrict(left, column) || isStrict(right, column)
        case .function(.coalesce, _), .function(.nullif, _), .function(.same, _), .function(.typeof, _): false
        case .function(.distance, let arguments): arguments.contains { isStrict($0, column) }
        case .function(_, let arguments): arguments.first.map { isStrict($0, column) } ?? false
        default: false
        }
    }
}
