/// Cardinality estimates for joins, from index statistics where there are some. A column without an index, and not
/// known to be unique, is assumed to have a tenth as many distinct values as its table has rows.
enum JoinEstimate {
    /// The assumed size of a table of unknown size.
    static let unknownSize = 1_000_000.0
    static let typicalRows = 1000.0

    /// Returns the share of a table's rows that passes its own condition.
    static func ownShare(_ own: Plan, _ source: JoinSource) -> Double {
        let conditions = own.bound.condition?.conjuncts ?? []
        return conditions.reduce(1) { $0 * (source.statistics?.share($1, source.size) ?? share($1, source)) }
    }

    /// Returns the default share of a table's rows for which a condition on it alone holds.
    private static func share(_ condition: BoundCondition, _ source: JoinSource) -> Double {
        switch condition {
        case .comparison(.equal, .column(let column), _) where column.node < 0: 1 / values(column.ordinal, source).count
        case .comparison(.equal, _, _): Selectivity.equalExpression
        case .comparison(.notEqual, _, _), .not: Selectivity.unequal
        case .comparison: Selectivity.comparison
        case .isAmong(.column(let column), let items) where column.node < 0:
            min(1, Double(items.count) / values(column.ordinal, source).count)
        case .isIn, .isAmong: Selectivity.list
        case .isNull: Selectivity.null
        case .like, .glob: Selectivity.pattern
        case .and(let parts): parts.reduce(1) { $0 * share($1, source) }
        case .or(let parts): min(1, parts.reduce(0) { $0 + share($1, source) })
        default: Selectivity.other
        }
    }

    /// Returns the number of distinct values of a column, and whether it is known.
    private static func values(_ ordinal: Int?, _ source: JoinSource) -> (count: Double, isKnown: Bool) {
        let size = max(1, source.size)
        guard let ordinal else { return (size, true) }
        let table = source.table
        if table.keySlots.count == 1, Int(table.keySlots[0].ordinal) == ordinal { return (size, true) }
        if table.layout.allSlots[ordinal].type == .bool { return (2, true) }
        let isUnique = table.indexes.contains {
            $0.isUnique && $0.condition == nil && $0.parts.count == 1 && Int($0.parts[0].slot.ordinal) == ordinal
        }
        if isUnique { return (size, true) }
        if let found = source.statistics?.values(ordinal) { return (min(size, found), true) }
        return (max(1, size / 10), false)
    }

    /// Returns the selectivity of an equation: one row for each value of the column with more distinct values. A column
    /// of unknown size that is compared with a key is assumed to hold such keys.
    static func share(ofEqual inner: BoundExpr, _ outer: BoundExpr, _ planner: JoinPlanner) -> Double {
        let (a, b) = (values(inner, planner), values(outer, planner))
        let known = [a, b].compactMap { $0 }.filter(\.isKnown).map(\.count)
        return 1 / max(1, known.max() ?? max(a?.count ?? 10, b?.count ?? 1))
    }

    private static func values(_ expr: BoundExpr, _ planner: JoinPlanner) -> (count: Double, isKnown: Bool)? {
        switch expr {
        case .column(let column) where column.node < planner.sources.count:
            return values(column.ordinal, planner.sources[column.node])
        case .noCase(let inner): return values(inner, planner)
        default: return nil
        }
    }
}
