/// An order of rows in which equal ones are adjacent: the keys of groups, or the outputs of DISTINCT.
struct RowSequence {
    let orders: [BoundOrder]
    /// Whether groups, or distinct rows, then come in the wanted order.
    let serves: Bool

    /// - Parameters:
    ///   - wanted: the order of the groups or distinct rows.
    ///   - place: returns the index of the key that an expression of that order is.
    /// - Returns: `nil` if the keys are not plain columns.
    init?(_ keys: [BoundExpr], _ areNoCase: [Bool], wanted: [BoundOrder], _ place: (BoundExpr) -> Int?) {
        guard !keys.isEmpty, keys.allSatisfy(RowSequence.isColumn) else { return nil }
        var orders: [BoundOrder] = []
        var serves = true
        for order in wanted where order.expr.constant == nil {
            guard let place = place(order.expr), order.noCase == areNoCase[place], !order.reversesNulls,
                !RowSequence.isDecimal(keys[place])
            else {
                serves = false
                orders = []
                break
            }
            orders.append(BoundOrder(expr: keys[place], descending: order.descending, noCase: areNoCase[place]))
        }
        // An index scan has one direction: the remaining keys continue in that of the last wanted one.
        let descending = orders.last?.descending ?? false
        let rest = zip(keys, areNoCase).map { BoundOrder(expr: $0, descending: descending, noCase: $1) }
        var columns: [BoundOrder] = []
        self.orders = (orders + rest).filter { order in
            if columns.contains(where: { $0.expr == order.expr && $0.noCase == order.noCase }) { return false }
            columns.append(order)
            return true
        }
        self.serves = serves
    }

    private static func isColumn(_ expr: BoundExpr) -> Bool {
        guard case .column(let column) = expr else { return false }
        return column.node < 0 && column.ordinal != nil
    }

    private static func isDecimal(_ expr: BoundExpr) -> Bool {
        if case .column(let column) = expr { column.isDecimal } else { false }
    }
}
