import MakoStorage

/// Encodes the ORDER BY columns of rows, so that comparing the bytes compares the rows.
struct OrderCoding {
    private let values: ExpressionExecutor
    private let orders: [BoundOrder]

    init(_ orders: [BoundOrder], _ bound: BoundSelection, _ view: Snapshot) {
        self.init(orders, ExpressionExecutor(bound: orders.map(\.expr), bound.table, bound.joins, view))
    }

    /// - Parameter values: the expressions of the order.
    init(_ orders: [BoundOrder], _ values: ExpressionExecutor) {
        self.orders = orders
        self.values = values
    }

    func append(_ row: RowReader, _ key: RowKey, to buffer: inout KeyBuffer) throws(RecordError) {
        for (index, order) in orders.enumerated() {
            let start = buffer.count
            let operand = try values.operand(index, row, key)
            if order.reversesNulls { buffer.append(byte: operand.isNull ? 1 : 0) }
            if case .column = order.expr {
                buffer.append(operand, noCase: order.noCase)
            } else if values.kinds[index].isNumber, let number = operand.asDouble {
                // Computed numbers may be integers in one row and doubles in the next, and integers beyond the
                // precision of doubles.
                KeyCoding.append(operand, number, to: &buffer)
            } else {
                buffer.append(operand, noCase: order.noCase)
            }
            if order.descending { buffer.complement(from: start) }
        }
    }
}
