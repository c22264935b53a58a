import MakoStorage

/// A join condition that a column of keys of one table holds the key of a row of another: `ANY n.labels = l.id`.
struct JoinMembership {
    /// The column of keys, and its index.
    let column: BoundColumn
    let index: ElementIndex
    /// The key that must be among them.
    let key: BoundExpr
    let type: ColumnType
    /// Whether the keys are row ids.
    let isRowID: Bool
    /// The joined table that `key` is the key of: the column then holds at most one equal key, which leads to its row.
    let owner: Int?
    /// The average number of keys that a row holds.
    let perRow: Double

    init?(_ condition: BoundCondition, _ planner: JoinPlanner) {
        guard case .exists(let subquery) = condition,
            case .held(let held)? = (subquery.plan as? SubqueryPlan)?.source, subquery.outers.count == 2,
            case .column(let column) = subquery.outers[0], let ordinal = column.ordinal,
            planner.sources.indices.contains(column.node),
            case .comparison(.equal, let left, let right)? = held.bound.condition
        else { return nil }
        let target = held.table
        guard let inner = JoinMembership.key(of: target, left, right), inner.kind == Binder.kind(subquery.outers[1])
        else { return nil }
        let source = planner.sources[column.node]
        guard let index = source.table.elementIndexes.first(where: { Int($0.slot.ordinal) == ordinal }) else {
            return nil
        }
        self.column = column
        self.index = index
        key = subquery.outers[1]
        (type, isRowID) = (inner.type, target.isRowID)
        var owner: Int?
        if case .column(let column) = key, planner.sources.indices.contains(column.node),
            planner.sources[column.node].table.id == target.id, column.ordinal == inner.ordinal
        {
            owner = column.node
        }
        self.owner = owner
        let estimates = source.statistics.flatMap { try? TableEstimates(source.table, $0.view) } ?? .unknown
        perRow = estimates.perRow(index, of: source.table)
    }

    /// Returns the key of the target, compared with the second value of the outer rows.
    private static func key(of target: TableHandle, _ left: BoundExpr, _ right: BoundExpr) -> BoundColumn? {
        switch (left, right) {
        case (.column(let column), .outer(let value)), (.outer(let value), .column(let column)):
            guard value.index == 1, column.node < 0 else { return nil }
            if target.isRowID { return column.ordinal == nil ? column : nil }
            guard target.keySlots.count == 1, column.ordinal == Int(target.keySlots[0].ordinal) else { return nil }
            return column
        default: return nil
        }
    }
}
