import MakoStorage

/// Reads the columns of joined rows, for rows given by their keys.
package struct JoinedValues {
    private let names: [String]
    private let exprs: [BoundExpr]
    private let nodes: [JoinNode]

    /// Prepares the joins of a table.
    ///
    /// - Throws: `syntax` for an invalid join.
    package init(table: String, _ joins: [SelectionJoin], _ catalogue: Catalogue) throws(RecordError) {
        var binder = Binder(try catalogue.requireTable(table), catalogue, [], [:])
        var names: [String] = []
        var exprs: [BoundExpr] = []
        for join in joins {
            _ = try binder.add(join)
            let schema = try catalogue.requireTable(join.table).schema
            for column in schema.visibleNames where schema.column(named: column)?.sealedType == nil {
                names.append("\(join.name).\(column)")
                exprs.append(try binder.bind(.column([join.name, column])))
            }
        }
        self.names = names
        self.exprs = exprs
        nodes = binder.joins
    }

    /// Calls a closure for each existing row, with the index of its key and the joined columns by name, such as
    /// `Department.name`.
    package func read(
        _ keys: [RowKey], of table: TableHandle, in view: Snapshot, _ body: (Int, [String: Value]) -> Void
    ) throws(RecordError) {
        let run = ExpressionExecutor(bound: exprs, table, nodes, view)
        func take(_ place: Int, _ row: RowReader) throws(RecordError) {
            body(place, Dictionary(zip(names, try run.all(row, keys[place]))) { first, _ in first })
        }
        try recorded {
            let ids = keys.compactMap(\.rowID)
            if ids.count == keys.count {
                try table.withRows(ids: ids, in: view) { place, row in if let row { try take(place, row) } }
            } else {
                for (place, key) in keys.enumerated() { try table.withRow(key, in: view) { try take(place, $0) } }
            }
        }
    }
}
