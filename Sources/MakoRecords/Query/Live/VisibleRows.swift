import MakoStorage

/// The joined rows that a selection outputs beside each row, whether or not its condition and order read them.
struct VisibleRows: Sendable {
    private let bound: BoundSelection
    private let nodes: [JoinNode]
    /// The references to these rows.
    private let keys: [BoundExpr]

    init(_ bound: BoundSelection) {
        self.bound = bound
        nodes = Set(bound.references.values).sorted().map { bound.joins[$0] }
        keys = nodes.map { node in
            .column(
                BoundColumn(
                    node: node.parent, ordinal: Int(node.slot.ordinal), type: node.slot.type, path: node.path))
        }
    }

    /// Returns the indexes of rows whose joined rows have changed.
    func places<S: Sequence<RowKey>>(
        of rows: S, showing changes: [TableChanges], in view: Snapshot
    ) throws(RecordError) -> [Int] {
        let known = nodes.indices.compactMap { index in
            let ofTable = changes.filter { $0.table == nodes[index].target.schema.name }
            return ofTable.isEmpty ? nil : (index: index, changes: ofTable)
        }
        if known.isEmpty { return [] }
        let run = ExpressionExecutor(bound: keys, bound.table, bound.joins, view)
        var places: [Int] = []
        try recorded {
            for (place, key) in rows.enumerated() {
                try bound.table.withRow(key, in: view) { row in
                    let values = try run.all(row, key)
                    let isTouched = known.contains { shown in
                        guard let other = Self.key(values[shown.index], of: nodes[shown.index].target) else {
                            return false
                        }
                        return shown.changes.contains { $0.change(of: other) != nil }
                    }
                    if isTouched { places.append(place) }
                }
            }
        }
        return places
    }

    private static func key(_ value: Value, of table: TableHandle) -> RowKey? {
        switch value {
        case .null: nil
        case .integer(let id) where table.isRowID: .rowID(id)
        default: RowKey(values: [value])
        }
    }
}
