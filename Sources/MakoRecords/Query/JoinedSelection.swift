import MakoStorage

/// A selection with a join on a column that is not a key: a row appears once for each joined row, with the joined
/// columns.
///
///     if let joined = try JoinedSelection(selection, catalogue) {
///         for row in try joined.rows(in: snapshot) { print(row.key, row.joined["Order.date"]) }
///     }
package struct JoinedSelection {
    private let statement: SelectStatement
    private let catalogue: Catalogue
    private let table: TableHandle
    private let names: [String]

    /// Makes a joined selection, or `nil` if all joins lead to keys, so that no row appears twice; then
    /// ``Selection/plan(_:)`` takes the selection.
    ///
    /// - Throws: `tableNotFound`, or `syntax` for an invalid join.
    package init?(_ selection: Selection, _ catalogue: Catalogue) throws(RecordError) {
        guard try selection.joins.repeatRows(catalogue) else { return nil }
        self.catalogue = catalogue
        table = try catalogue.requireTable(selection.table)
        var names: [String] = []
        var columns: [Expr] = []
        for join in selection.joins {
            let schema = try catalogue.requireTable(join.table).schema
            for column in schema.visibleNames where schema.column(named: column)?.sealedType == nil {
                names.append("\(join.name).\(column)")
                columns.append(.column([join.name, column]))
            }
        }
        self.names = names
        let key = table.schema.keyNames.map { Expr.column([selection.table, $0]) }
        let outputs = (key + columns).map { (expr: $0, name: "") }
        statement = SelectStatement(
            selection, outputs: outputs, groupBy: [], having: nil, orderBy: selection.orderBy, limit: selection.limit,
            offset: selection.offset)
    }

    /// Returns the rows' keys in the selection's order, with the joined columns by name, such as `Order.date`: NULL for
    /// an unmatched row.
    package func rows(in view: Snapshot) throws(RecordError) -> [(key: RowKey, joined: [String: Value])] {
        let width = statement.outputs.count - names.count
        return try statement.run(catalogue, view: view).rows.map { row in
            (key(row[..<width]), Dictionary(zip(names, row[width...])) { first, _ in first })
        }
    }

    /// Returns the rows' keys in the selection's order, once for each joined row.
    package func keys(in view: Snapshot) throws(RecordError) -> [RowKey] {
        var keys = statement
        keys.outputs.removeLast(names.count)
        return try keys.run(catalogue, view: view).rows.map { key($0[...]) }
    }

    /// Returns the number of joined rows.
    package func count(in view: Snapshot) throws(RecordError) -> Int {
        if isCut { return try keys(in: view).count }
        guard case .integer(let count)? = try aggregate(.count, of: nil, in: view) else { return 0 }
        return Int(count)
    }

    /// Returns an aggregate over the joined rows; `nil` if the selection has a limit or an offset.
    package func aggregate(
        _ function: AggregateFunction, of argument: Expr?, in view: Snapshot
    ) throws(RecordError) -> Value? {
        if isCut { return nil }
        return try aggregated(function, argument).run(catalogue, view: view).rows.first?.first ?? .null
    }

    private var isCut: Bool { statement.limit != nil || statement.offset != nil }

    private func aggregated(_ function: AggregateFunction, _ argument: Expr?) -> SelectStatement {
        var whole = statement
        whole.outputs = [.init(expr: SelectStatement.aggregate(function, argument), name: "")]
        whole.orderBy = []
        return whole
    }

    /// Returns the plan of a result as a value, without rejected join orders.
    ///
    /// - Parameter analyzing: whether to run the query once, to measure its operators.
    package func planExplanation(
        of result: SelectionResult = .rows, in view: Snapshot, analyzing: Bool = false
    ) throws(RecordError) -> PlanExplanation {
        let plan = try statement(for: result).prepared(catalogue, [], [:], view)
        let node = plan.node(nil)
        var accessPath = PlanExplanation.AccessPath(text: node.summary, expectedRows: 0, cost: 0, indexes: [])
        if case .join(let join) = plan.feed {
            accessPath = PlanExplanation.AccessPath(
                text: node.summary, expectedRows: join.expectedRows, cost: join.cost,
                indexes: join.steps.flatMap(\.indexes))
        }
        let analysis = analyzing ? try StatementPlan.select(plan).analysis(in: view, RunMeasure()) : nil
        return PlanExplanation(
            chosen: accessPath, rejected: [], tableRows: try TableEstimates(table, view).rows, missingIndexes: [],
            plan: analysis?.plan ?? node, analysis: analysis)
    }

    /// Returns the statement of a result.
    private func statement(for result: SelectionResult) -> SelectStatement {
        switch result {
        case .rows: return statement
        case .aggregate(let function, let expr) where !isCut: return aggregated(function, expr)
        case .count where !isCut: return aggregated(.count, nil)
        case .count, .exists, .aggregate, .distinct, .groupCount:
            var copy = statement
            copy.outputs.removeLast(names.count)
            if case .exists = result { copy.limit = 1 }
            return copy
        }
    }

    private func key(_ values: ArraySlice<Value>) -> RowKey {
        if table.isRowID, case .integer(let id)? = values.first { return .rowID(id) }
        return RowKey(values: Array(values))
    }
}
