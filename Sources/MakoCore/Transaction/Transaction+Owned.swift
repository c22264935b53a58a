import MakoRecords
import MakoStorage

extension Transaction {
    /// The rows that a stored row owns, in their stored order; none when the row does not exist.
    func owned(by key: RowKey?, _ binding: Binding) throws(MakoError) -> [RowPlace] {
        guard let key, let owned = binding.owned else { return [] }
        return try records { () throws(RecordError) in try owned.rows(ownedBy: key, schema.catalogue, view) }
    }

    /// The rows that rows of a table own, whose type may not be bound.
    func owned(by keys: [RowKey], of table: TableHandle) throws(MakoError) -> [RowPlace] {
        try records { () throws(RecordError) in
            let known = schema.binding(ofTable: table.schema.name)
            let columns = if let known { known.owned } else { try schema.catalogue.ownedColumns(of: table) }
            guard let columns else { return [] }
            var rows: [RowPlace] = []
            for key in keys { rows += try columns.rows(ownedBy: key, schema.catalogue, view) }
            return rows
        }
    }

    /// Records the rows that a row owned and no longer owns.
    func noteReleased(_ before: [RowPlace], by key: RowKey, _ binding: Binding) throws(MakoError) {
        if !before.isEmpty { noteReleased(before, keeping: try owned(by: key, binding)) }
    }

    func noteReleased(_ before: [RowPlace], keeping kept: [RowPlace]) {
        if before.isEmpty { return }
        let kept = Set(kept)
        for row in before where !kept.contains(row) { orphans.append((row, false)) }
    }

    /// Records that a row was stored as new, which cancels an earlier entry that its owner released it.
    func noteStoredAnew(_ key: RowKey, _ binding: Binding) {
        if !orphans.isEmpty { orphans.append((RowPlace(binding.table, key), true)) }
    }

    /// Removes the released rows that have no owner now, with the rows that they own.
    ///
    /// Runs at the end of the transaction, because an object that moves from one owner to another has no owner in
    /// between.
    ///
    /// - Parameter first: the first entry to go through. Earlier ones are older than the running part, which may be
    ///   rolled back.
    func removeOrphans(since first: Int = 0) throws(MakoError) {
        try deferringUnique { () throws(MakoError) in
            try removeNotedOrphans(since: first)
            try settle()
        }
    }

    private func removeNotedOrphans(since first: Int) throws(MakoError) {
        while orphans.count > first {
            let noted = orphans[first...]
            orphans.removeSubrange(first...)
            var last: [RowPlace: Bool] = [:]
            for (row, isStoredAnew) in noted { last[row] = isStoredAnew }
            // In the order of the entries, so that equal work produces equal files.
            let released = noted.compactMap { row, _ in last[row] == false ? row : nil }
            for (number, keys) in RowPlace.byTable(released) {
                // A dropped table has no rows. A lookup by type would create it again.
                guard let table = schema.catalogue.table(numbered: number) else { continue }
                try removeCallingHooks(unowned(keys, table), table, nil)
            }
        }
    }

    private func unowned(_ keys: [RowKey], _ table: TableHandle) throws(MakoError) -> [RowKey] {
        try settleReferences()
        return try records { () throws(RecordError) in
            let known = schema.binding(ofTable: table.schema.name)?.referrers
            let referrers: [Referrer] = if let known { known } else { try schema.catalogue.referrers(of: table) }
            return try schema.catalogue.unowned(keys, of: table, referrers, view)
        }
    }

    /// Whether the row of an unchanged object no longer exists. The object is then stored again with the object that
    /// refers to it now.
    ///
    /// - Parameter isSet: whether the reference was set since the other object was saved. One that was not may be of
    ///   before the deletion, which changed the row.
    func isReleased(_ key: RowKey, _ model: EntityModel, isSet: Bool) throws(MakoError) -> Bool {
        guard isSet || schema.isOwned(model), let binding = schema.binding(model) else {
            return false
        }
        return try !records { () throws(RecordError) in try binding.table.contains(key, in: view) }
    }
}
