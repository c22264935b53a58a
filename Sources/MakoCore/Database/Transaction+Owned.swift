import MakoRecords
import MakoStorage

/// A row that another one owns, or did; by whatever type it was reached.
struct OwnedRow: Hashable {
    let model: EntityModel
    let key: RowKey

    static func == (left: OwnedRow, right: OwnedRow) -> Bool {
        left.key == right.key && left.model.hasTable(of: right.model)
    }
    func hash(into hasher: inout Hasher) {
        hasher.combine(model.table)
        hasher.combine(key)
    }
}

extension Transaction {
    /// The rows that a stored row owns, in their order there; none when there is no such row.
    func owned(by key: RowKey?, _ binding: Binding) throws(MakoError) -> [OwnedRow] {
        let model = binding.model
        guard let key, model.ownedColumns != 0 else { return [] }
        return try translated {
            var owned: [OwnedRow] = []
            try binding.table.withRow(key, layout: binding.layout, in: view) { row in
                for (position, property) in model.columns.enumerated()
                where model.ownedColumns & 1 << UInt64(position) != 0 {
                    guard case .column(let type, _, _, let target?) = property.kind else { continue }
                    let held = target.entityModel
                    if type == .keys {
                        KeyTree(row.blob(position))?.forEachKey { _, key in
                            owned.append(OwnedRow(model: held, key: key))
                        }
                    } else if let key = ReferenceKeys.read(row, position, of: held) {
                        owned.append(OwnedRow(model: held, key: key))
                    }
                }
            }
            return owned
        }
    }

    /// Notes the rows that a row owned and does not any more.
    func noteLetGo(_ before: [OwnedRow], by key: RowKey, _ binding: Binding) throws(MakoError) {
        if before.isEmpty || sabotaged("ownedRowsStay") { return }
        let kept = Set(try owned(by: key, binding))
        for row in before where !kept.contains(row) { orphans.append((row, false)) }
    }

    /// Notes that somebody stored a row as a new one: whoever let go of the one before it did not mean this.
    func noteStoredAnew(_ key: RowKey, _ binding: Binding) {
        if !orphans.isEmpty { orphans.append((OwnedRow(model: binding.model, key: key), true)) }
    }

    /// Removes the rows that were let go of and that nobody owns now, and what those owned; then nothing waits any more.
    ///
    /// At the end of a transaction: an object that goes from one owner to another is between them for a moment.
    func removeOrphans() throws(MakoError) {
        while !orphans.isEmpty {
            let noted = orphans
            orphans = []
            var last: [OwnedRow: Bool] = [:]
            for (row, isStoredAnew) in noted { last[row] = isStoredAnew }
            // In the order of the notes, so that the same work leaves the same file.
            for (row, _) in noted {
                guard let isStoredAnew = last.removeValue(forKey: row),
                    !isStoredAnew || sabotaged("storedAnewRemoved")
                else { continue }
                // A table that was dropped meanwhile has no rows, and is not to come back for their sake.
                guard let binding = schema.binding(row.model) else { continue }
                if !sabotaged("movedOrphanRemoved"), try hasOwner(row, binding) { continue }
                try removeTelling(row.key, binding)
            }
        }
        try settle()
    }

    /// Whether another row owns a row. Of a table whose type is not in use nobody knows which columns own: any that holds the row may.
    private func hasOwner(_ row: OwnedRow, _ binding: Binding) throws(MakoError) -> Bool {
        try settleIndexes()
        for referrer in binding.referrers {
            let owner = schema.binding(ofTable: referrer.table.schema.name)?.model
            if let owner, !owner.owns(column: referrer.column) { continue }
            let keys = try holders(of: row.key, row.model, in: referrer.column, of: referrer.table)
            if keys.contains(where: { owner?.hasTable(of: row.model) != true || $0 != row.key }) { return true }
        }
        return false
    }

    /// Whether an object whose row may have been let go of has none any more: it is to be stored anew with who refers to it now.
    func isLetGo(_ key: RowKey, _ model: EntityModel) throws(MakoError) -> Bool {
        guard schema.isOwned(model), let binding = schema.binding(model), !sabotaged("movedOrphanLost") else {
            return false
        }
        return try !records { () throws(RecordError) in try binding.table.contains(key, in: view) }
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
            let isAny = table.schema.column(named: column)?.target == AnyReference.anyTable
            let value = isAny ? AnyReference(table: model.table, key: key).stored : ReferenceKeys.value(of: key, model)
            let selection = Selection(
                table: table.schema.name,
                condition: .comparison(.equal, .column([column]), .literal(value, at: .none)))
            return try selection.plan(catalogue).keys(in: view)
        }
    }
}
