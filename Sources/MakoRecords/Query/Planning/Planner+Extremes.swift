extension Planner {
    /// A plan whose first row has the smallest or largest value of a column; nil: no order serves, so that all rows must be looked at.
    static func extreme(
        _ function: AggregateFunction, of column: BoundExpr, isNoCase: Bool, _ bound: BoundSelection
    ) -> Plan? {
        guard function == .minimum || function == .maximum, bound.limit == nil, bound.offset == 0,
            case .column(let name) = column, name.node < 0
        else { return nil }
        let order = BoundOrder(expr: column, descending: function == .maximum, noCase: isNoCase)
        let conditions = (bound.condition.map { [$0] } ?? []) + [.not(.isNull(column))]
        let plan = Planner.plan(bound.with(.all(conditions), [order], limit: 1, offset: 0), reading: [column])
        return plan.orders.isEmpty ? plan : nil
    }
}
