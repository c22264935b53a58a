import MakoStorage

/// A condition of a join that one table's column of keys holds the key of a row of another: `ANY n.labels = l.id`.
struct JoinMembership {
    /// The column of keys, and the index over it.
    let column: BoundColumn
    let index: ElementIndex
    /// What must be among them.
    let key: BoundExpr
    let type: ColumnType
    /// Whether keys are row ids.
    let isRowID: Bool
    /// The joined table whose own key that is: the column can hold no other key that equals it, and leads to its rows.
    let owner: Int?
    /// How many keys a row holds on the average.
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

    /// The key of the target, compared with the second value of the rows around.
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
