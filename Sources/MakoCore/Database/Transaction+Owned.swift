import MakoRecords
import MakoStorage

/// A row that another one owns, or did.
struct OwnedRow: Hashable {
    let model: EntityModel
    let key: RowKey

    static func == (left: OwnedRow, right: OwnedRow) -> Bool { left.model === right.model && left.key == right.key }
    func hash(into hasher: inout Hasher) {
        hasher.combine(model.number)
        hasher.combine(key)
    }
}

extension Transaction {
    /// The rows that a stored row owns; none when there is no such row.
    func owned(by key: RowKey?, _ binding: Binding) throws(MakoError) -> Set<OwnedRow> {
        let model = binding.model
        guard let key, model.ownedColumns != 0 else { return [] }
        return try translated {
            var owned: Set<OwnedRow> = []
            try binding.table.withRow(key, layout: binding.layout, in: view) { row in
                for (position, property) in model.columns.enumerated()
                where model.ownedColumns & 1 << UInt64(position) != 0 {
                    guard case .column(let type, _, _, let target?) = property.kind else { continue }
                    let held = target.entityModel
                    if type == .keys {
                        KeyTree(row.blob(position))?.forEachKey { _, key in
                            owned.insert(OwnedRow(model: held, key: key))
                        }
                    } else if let key = ReferenceKeys.read(row, position, of: held) {
                        owned.insert(OwnedRow(model: held, key: key))
                    }
                }
            }
            return owned
        }
    }

    /// Notes the rows that a row owned and does not any more.
    func noteLetGo(_ before: Set<OwnedRow>, by key: RowKey, _ binding: Binding) throws(MakoError) {
        if before.isEmpty || sabotaged("ownedRowsStay") { return }
        orphans += before.subtracting(try owned(by: key, binding))
    }

    /// Removes the rows that were let go of and that nobody owns now, and what those owned.
    ///
    /// At the end of a transaction: an object that goes from one owner to another is between them for a moment.
    func removeOrphans() throws(MakoError) {
        while let orphan = orphans.popLast() {
            let binding = try binding(orphan.model)
            if !sabotaged("movedOrphanRemoved"), try hasOwner(orphan) { continue }
            try removeTelling(orphan.key, binding)
        }
    }

    private func hasOwner(_ row: OwnedRow) throws(MakoError) -> Bool {
        try settle()
        for owner in schema.models where owner.ownedColumns != 0 {
            guard let binding = schema.binding(owner) else { continue }
            for (position, property) in owner.columns.enumerated()
            where owner.ownedColumns & 1 << UInt64(position) != 0 {
                guard case .column(_, _, _, let target?) = property.kind, target.entityModel === row.model else {
                    continue
                }
                if try !holders(of: row.key, row.model, in: property.column, of: binding.table).isEmpty { return true }
            }
        }
        return false
    }

    /// The rows of a table that refer to a row by one of their columns.
    func holders(
        of key: RowKey, _ model: EntityModel, in column: String, of table: TableHandle
    ) throws(MakoError) -> [RowKey] {
        try schema.holders(of: key, model, in: column, of: table, view)
    }
}

extension SchemaState {
    /// The rows of a table that refer to a row by one of their columns.
    func holders(
        of key: RowKey, _ model: EntityModel, in column: String, of table: TableHandle, _ view: Snapshot
    ) throws(MakoError) -> [RowKey] {
        try records { () throws(RecordError) in
            if table.schema.column(named: column)?.type == .keys {
                return try table.keys(holding: key, in: column, view: view)
            }
            let value = ReferenceKeys.value(of: key, model)
            let selection = Selection(
                table: table.schema.name,
                condition: .comparison(.equal, .column([column]), .literal(value, at: .none)))
            return try selection.plan(catalogue).keys(in: view)
        }
    }
}
