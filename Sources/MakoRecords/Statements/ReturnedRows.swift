import MakoStorage

/// Executes `RETURNING`: one row of outputs for each row that a statement has written, or will delete.
///
///     var returned = try returned(statement.returning, of: target, tx.view)
///     try returned?.add(key, tx.view)
///     outcome.rows = returned?.rows ?? outcome.rows
struct ReturnedRows {
    private let target: TableHandle
    private let values: ExpressionExecutor
    private(set) var rows: QueryRows

    /// - Parameter binder: resolves names in the table that is written.
    init(_ outputs: [SelectStatement.Output], _ binder: Binder, _ view: Snapshot) throws(RecordError) {
        target = binder.table
        let source = JoinScope.Source(name: target.schema.name, table: target)
        let outputs = try SelectNames.outputs(outputs, [source], isJoin: false)
        var binder = binder
        var bound: [BoundExpr] = []
        for output in outputs { bound.append(try binder.bindUnseen(output.expr)) }
        values = ExpressionExecutor(bound: Planner.plan(bound, in: view), target, binder.joins, view)
        rows = QueryRows(columns: outputs.map(\.name), rows: [])
    }

    /// Adds the outputs of a row in its present state; ignores a missing row.
    mutating func add(_ key: RowKey, _ view: Snapshot) throws(RecordError) {
        var row: [Value] = []
        let isThere = try recorded { try target.withRow(key, in: view) { try values.append($0, key, to: &row) } } != nil
        if isThere { rows.rows.append(row) }
    }

    /// Removes the outputs after the first `count` rows.
    mutating func forget(after count: Int) { rows.rows.removeSubrange(count...) }
}

extension StatementRun {
    /// Returns the executor of `RETURNING`; `nil` without it.
    func returned(
        _ outputs: [SelectStatement.Output], of target: TableHandle, _ view: Snapshot
    ) throws(RecordError) -> ReturnedRows? {
        outputs.isEmpty ? nil : try ReturnedRows(outputs, Binder(target, catalogue, parameters, named), view)
    }
}

extension DeleteStatement {
    /// Returns the outputs of `RETURNING` for rows to be deleted; without RETURNING a result without columns.
    ///
    /// - Throws: `syntax`, pointing into the text.
    package func returned(
        _ keys: [RowKey], _ catalogue: Catalogue, view: Snapshot, parameters: [Value] = [], named: [String: Value] = [:]
    ) throws(RecordError) -> QueryRows {
        let target = try table.findWritable(in: catalogue)
        if returning.isEmpty { return QueryRows(columns: [], rows: []) }
        var rows = try ReturnedRows(returning, Binder(target, catalogue, parameters, named), view)
        for key in keys { try rows.add(key, view) }
        return rows.rows
    }
}
