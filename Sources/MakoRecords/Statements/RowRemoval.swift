import MakoStorage

/// Deletes rows for statements, by the delete rules of the file (decision 61): referring rows are deleted or changed
/// before, owned rows are deleted at the end. Hooks of objects are not called.
struct RowRemoval: ~Copyable {
    private let catalogue: Catalogue
    private var traversal = RemovalTraversal()
    private var releases = PendingKeyRemovals()
    /// Rows that may have lost their last owner.
    private var released: [RowPlace] = []
    /// Rows referenced by columns without a rule: these references must be gone at the end.
    private var unruled: [(referrer: Referrer, row: RowPlace)] = []
    private var writer = RowWriter()

    init(_ catalogue: Catalogue) { self.catalogue = catalogue }

    /// Returns whether deleting rows of a table affects no other rows.
    func concernsRowsAlone(_ table: TableHandle, _ view: Snapshot) throws(RecordError) -> Bool {
        if try catalogue.ownedColumns(of: table) != nil { return false }
        for referrer in try catalogue.referrers(of: table) where try referrer.table.count(in: view) > 0 { return false }
        return true
    }

    /// Deletes a row and what depends on it; returns `false` if it is missing, or is being deleted already.
    mutating func delete(
        _ key: RowKey, of table: TableHandle, _ tx: borrowing WriteTransaction, _ changes: inout ChangeSet
    ) throws(RecordError) -> Bool {
        guard traversal.begin(RowPlace(table, key)) else { return false }
        var isThere = false
        while let step = try nextStep(tx.view, &changes) {
            switch step {
            case .reach: continue
            case .deny(let referrer, let row): throw try referenced(row, referrer, tx.view)
            case .unruled(let referrer, _, let row): unruled.append((referrer, row))
            case .clear(let referrer, let holders, let row):
                for holder in holders {
                    if referrer.holdsMany {
                        releases.note(row.key, heldBy: holder, referrer)
                        continue
                    }
                    writer.begin(referrer.layout)
                    writer.setNull(0)
                    _ = try referrer.table.update(&writer, key: holder, in: tx, changes: &changes)
                }
            case .delete(let row):
                guard let table = catalogue.table(numbered: row.table) else { continue }
                try noteOwned(by: row.key, table, tx.view)
                isThere = try table.delete(row.key, in: tx, changes: &changes)
            }
        }
        return isThere
    }

    private mutating func nextStep(
        _ view: Snapshot, _ changes: inout ChangeSet
    ) throws(RecordError) -> RemovalTraversal.Step? {
        if changes.hidesReferences { try changes.settleUnique(view) }
        return try traversal.next(above: 0, catalogue, view)
    }

    /// Records the rows owned by a row that will be changed or deleted.
    mutating func noteOwned(by key: RowKey, _ table: TableHandle, _ view: Snapshot) throws(RecordError) {
        guard let owned = try catalogue.ownedColumns(of: table) else { return }
        released += try owned.rows(ownedBy: key, catalogue, view)
    }

    /// Records rows that are deleted at the end unless another row owns them.
    mutating func noteReleased(_ rows: [RowPlace]) { released += rows }

    /// Completes the statement: removes deleted keys from lists, and deletes rows that have lost their last owner.
    ///
    /// - Throws: `RecordError.referenced` if rows refer to a deleted one by a column without a rule.
    mutating func finish(_ tx: borrowing WriteTransaction, _ changes: inout ChangeSet) throws(RecordError) {
        try writeReleases(tx, &changes)
        while !released.isEmpty {
            if changes.hidesReferences { try changes.settleUnique(tx.view) }
            let rows = released
            released = []
            var seen: Set<RowPlace> = []
            for row in rows where seen.insert(row).inserted {
                guard let table = catalogue.table(numbered: row.table), try table.contains(row.key, in: tx.view)
                else { continue }
                if try catalogue.isOwned(row, try catalogue.referrers(of: table), tx.view) { continue }
                _ = try delete(row.key, of: table, tx, &changes)
            }
            try writeReleases(tx, &changes)
        }
        for (referrer, row) in unruled {
            if try referrer.target.contains(row.key, in: tx.view) { continue }
            if try !referrer.rows(referringTo: row.key, catalogue, tx.view).isEmpty {
                throw try referenced(row, referrer, tx.view)
            }
        }
    }

    /// Checks that no row of another table refers to a row of a table to be dropped.
    func refuseReferences(to table: TableHandle, _ view: Snapshot) throws(RecordError) {
        for referrer in try catalogue.referrers(of: table) where referrer.table.number != table.number {
            var found: RowPlace?
            let place = referrer.table.schema.liveColumns.firstIndex { $0.name == referrer.column }
            try catalogue.forEachReference(of: referrer.table, in: view) { _, column, row in
                if column == place, let row, row.table == table.number { found = row }
                return found == nil
            }
            if let found { throw try referenced(found, referrer, view) }
        }
    }

    private mutating func writeReleases(
        _ tx: borrowing WriteTransaction, _ changes: inout ChangeSet
    ) throws(RecordError) {
        if releases.isEmpty { return }
        for release in releases.releases(before: releases.mark) {
            try release.write(&writer, in: tx, changes: &changes)
        }
        releases.removeAll()
    }

    private func referenced(
        _ row: RowPlace, _ referrer: Referrer, _ view: Snapshot
    ) throws(RecordError) -> RecordError {
        let count = try referrer.rows(referringTo: row.key, catalogue, view).count
        return .referenced(
            table: referrer.target.schema.name, key: NamedKey(row.key, in: referrer.target.schema),
            by: referrer.table.schema.name, column: referrer.column,
            rows: count, rule: referrer.rule)
    }
}
