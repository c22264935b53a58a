import MakoStorage

/// Codes rows by the columns of an order, so that to compare the bytes is to compare the rows.
struct OrderCoding {
    private let values: ExpressionRun
    private let orders: [BoundOrder]

    init(_ orders: [BoundOrder], _ bound: BoundSelection, _ view: Snapshot) {
        self.init(orders, ExpressionRun(bound: orders.map(\.expr), bound.table, bound.joins, view))
    }

    /// - Parameter values: the orders' expressions.
    init(_ orders: [BoundOrder], _ values: ExpressionRun) {
        self.orders = orders
        self.values = values
    }

    func append(_ row: RowReader, _ key: RowKey, to buffer: inout KeyBuffer) throws(RecordError) {
        for (index, order) in orders.enumerated() {
            let start = buffer.count
            var operand = try values.operand(index, row, key)
            // Computed numbers may be whole in one row and broken in the next: they are ordered as doubles.
            if case .column = order.expr {
            } else if case .result = order.expr, values.kinds[index].isNumber, let number = operand.asDouble {
                // Those of groups may be beyond what doubles tell apart.
                KeyCoding.append(operand, number, to: &buffer)
                if order.descending { buffer.complement(from: start) }
                continue
            } else if values.kinds[index].isNumber, let number = operand.asDouble {
                operand = .double(number)
            }
            buffer.append(operand, noCase: order.noCase)
            if order.descending { buffer.complement(from: start) }
        }
    }
}
