import MakoStorage

/// Looks up the rows of a join by a column of keys: rows that hold a key, or rows whose keys are held.
final class JoinMembers {
    private enum Source {
        /// Rows that hold a key of the outer rows.
        case holders(column: String, JoinKey, isRowID: Bool)
        /// Rows whose keys a column of the outer rows holds.
        case held(ExpressionExecutor, RowContext)
    }

    private let source: Source
    private let table: TableHandle
    private let view: Snapshot

    init(_ holders: JoinStep.Holders, _ table: TableHandle, _ key: JoinKey, _ view: Snapshot) {
        source = .holders(column: holders.index.schema.columns[0].name, key, isRowID: holders.isRowID)
        self.table = table
        self.view = view
    }

    init(heldBy values: ExpressionExecutor, _ table: TableHandle, _ supply: RowContext, _ view: Snapshot) {
        source = .held(values, supply)
        self.table = table
        self.view = view
    }

    func forEachRow(_ body: (RowReader, Int64) throws -> Bool) throws {
        for key in try keys() {
            if case .bytes(let bytes) = key, bytes.count > TableHandle.longestKey { continue }
            let goesOn = try table.withRow(key, in: view) { try body($0, key.rowID ?? 0) }
            if goesOn == false { return }
        }
    }

    /// Returns the keys, each once.
    private func keys() throws -> [RowKey] {
        switch source {
        case .holders(let column, let key, let isRowID):
            guard let key = try key.rowKey(isRowID: isRowID) else { return [] }
            return try table.keys(holding: key, in: column, view: view)
        case .held(let values, let supply):
            guard case .blob(let bytes) = try values.operand(0, supply.blank, .rowID(0)) else { return [] }
            var keys: [RowKey] = []
            var known: Set<RowKey> = []
            try HeldKeys.forEach(in: bytes) { number, key in
                if number == 0, (key.rowID != nil) == table.isRowID, known.insert(key).inserted { keys.append(key) }
                return true
            }
            return keys
        }
    }
}
