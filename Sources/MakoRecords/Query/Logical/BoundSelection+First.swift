extension BoundSelection {
    /// Returns a selection of the one row with the smallest or largest value of a column; `nil` if no order starts with
    /// it.
    func first(_ function: AggregateFunction, of column: BoundExpr, isNoCase: Bool) -> BoundSelection? {
        guard function == .minimum || function == .maximum, limit == nil, offset == 0, case .column(let name) = column,
            name.node < 0
        else { return nil }
        let order = BoundOrder(expr: column, descending: function == .maximum, noCase: isNoCase)
        let conditions = (condition.map { [$0] } ?? []) + [.not(.isNull(column))]
        return with(.all(conditions), [order], limit: 1, offset: 0)
    }
}
