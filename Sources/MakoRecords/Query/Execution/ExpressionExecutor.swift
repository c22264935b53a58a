import MakoStorage

/// Evaluates some expressions over a plan's rows.
package struct ExpressionExecutor {
    private let places: [Int32]
    private let evaluator: Evaluator
    let program: Program
    let kinds: [ValueKind]
    /// Whether the values depend on other rows: those that paths lead to, those of sub-queries, or for a rank all rows.
    let readsOtherRows: Bool
    private let resolved: [BoundExpr]
    /// The columns of the row itself, by the index of the expression.
    private let slots: [ColumnSlot?]
    /// The same if all expressions are such columns; else empty.
    private let plainSlots: [ColumnSlot]
    /// Whether no value is a text or blob.
    let areFixedWidth: Bool

    init(
        bound: [BoundExpr], _ table: TableHandle?, _ joins: [JoinNode], _ view: Snapshot, _ supply: RowContext? = nil
    ) {
        let program = Program(table, joins: joins)
        places = bound.map { program.add($0) }
        kinds = withDeepRoom(program.isDeep) { bound.map(Binder.kind) }
        readsOtherRows = !joins.isEmpty || !program.matches.isEmpty || !program.subqueries.isEmpty
        resolved = bound
        self.program = program
        slots = places.map { if case .column(let slot) = program.values[Int($0)] { slot } else { nil } }
        let plain = slots.compactMap(\.self)
        plainSlots = plain.count == slots.count ? plain : []
        areFixedWidth = !plainSlots.isEmpty && plainSlots.allSatisfy { !$0.type.isVariable }
        evaluator = Evaluator(program, view, supply)
    }

    func bound(_ index: Int) -> BoundExpr { resolved[index] }

    func operand(_ index: Int, _ row: RowReader, _ key: RowKey) throws(RecordError) -> Operand {
        evaluator.reset()
        return try evaluator.operand(places[index], row, key)
    }

    func all(_ row: RowReader, _ key: RowKey) throws(RecordError) -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(places.count)
        try append(row, key, to: &values)
        return values
    }

    /// Appends the expressions' values for a row.
    package func append(_ row: RowReader, _ key: RowKey, to values: inout [Value]) throws(RecordError) {
        if !plainSlots.isEmpty {
            for slot in plainSlots { values.append(Operand(row, slot).value) }
            return
        }
        evaluator.reset()
        for index in places.indices {
            if let slot = slots[index] {
                values.append(Operand(row, slot).value)
            } else {
                values.append(try evaluator.operand(places[index], row, key).value)
            }
        }
    }

    /// Appends the expressions' values for a row in the encoding that ``OperandReader`` reads.
    func append(_ row: RowReader, _ key: RowKey, coded buffer: inout KeyBuffer) throws(RecordError) {
        evaluator.reset()
        for place in places { buffer.append(coded: try evaluator.operand(place, row, key)) }
    }
}
