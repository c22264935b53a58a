import MakoRecords
import MakoStorage

extension Transaction {
    /// The rows that a stored row owns, in their order there; none when there is no such row.
    func owned(by key: RowKey?, _ binding: Binding) throws(MakoError) -> [RowPlace] {
        guard let key, let owned = binding.owned else { return [] }
        return try records { () throws(RecordError) in try owned.rows(ownedBy: key, schema.catalogue, view) }
    }

    /// The same by a table, whose type may not be in use.
    func owned(by key: RowKey, of table: TableHandle) throws(MakoError) -> [RowPlace] {
        if let binding = schema.binding(ofTable: table.schema.name) { return try owned(by: key, binding) }
        return try records { () throws(RecordError) in
            try schema.catalogue.ownedColumns(of: table)?.rows(ownedBy: key, schema.catalogue, view) ?? []
        }
    }

    /// Notes the rows that a row owned and does not any more.
    func noteLetGo(_ before: [RowPlace], by key: RowKey, _ binding: Binding) throws(MakoError) {
        if !before.isEmpty { noteLetGo(before, keeping: try owned(by: key, binding)) }
    }

    func noteLetGo(_ before: [RowPlace], keeping kept: [RowPlace]) {
        if before.isEmpty { return }
        let kept = Set(kept)
        for row in before where !kept.contains(row) { orphans.append((row, false)) }
    }

    /// Notes that somebody stored a row as a new one: whoever let go of the one before it did not mean this.
    func noteStoredAnew(_ key: RowKey, _ binding: Binding) {
        if !orphans.isEmpty { orphans.append((RowPlace(binding.table, key), true)) }
    }

    /// Removes the rows that were let go of and that nobody owns now, and what those owned; then nothing waits any more.
    ///
    /// At the end of a transaction: an object that goes from one owner to another is between them for a moment.
    func removeOrphans() throws(MakoError) {
        try deferringUnique { () throws(MakoError) in
            try removeNotedOrphans()
            try settle()
        }
    }

    private func removeNotedOrphans() throws(MakoError) {
        while !orphans.isEmpty {
            let noted = orphans
            orphans = []
            var last: [RowPlace: Bool] = [:]
            for (row, isStoredAnew) in noted { last[row] = isStoredAnew }
            // In the order of the notes, so that the same work leaves the same file.
            for (row, _) in noted {
                guard let isStoredAnew = last.removeValue(forKey: row), !isStoredAnew else { continue }
                // A table that was dropped meanwhile has no rows, and is not to come back for their sake.
                guard let table = schema.catalogue.table(numbered: row.table) else { continue }
                if try isOwned(row, table) { continue }
                try removeTelling(row)
            }
        }
    }

    private func isOwned(_ row: RowPlace, _ table: TableHandle) throws(MakoError) -> Bool {
        try settleReferences()
        return try records { () throws(RecordError) in
            let known = schema.binding(ofTable: table.schema.name)?.referrers
            let referrers: [Referrer] = if let known { known } else { try schema.catalogue.referrers(of: table) }
            return try schema.catalogue.isOwned(row, referrers, view)
        }
    }

    /// Whether an object whose row may have been let go of has none any more: it is to be stored anew with who refers to it now.
    func isLetGo(_ key: RowKey, _ model: EntityModel) throws(MakoError) -> Bool {
        guard schema.isOwned(model), let binding = schema.binding(model) else {
            return false
        }
        return try !records { () throws(RecordError) in try binding.table.contains(key, in: view) }
    }
}
