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

    private let cancellation: Cancellation?

    init(_ catalogue: Catalogue, _ cancellation: Cancellation? = nil) {
        self.catalogue = catalogue
        self.cancellation = cancellation
    }

    /// Returns whether deleting rows of a table affects no other rows.
    func concernsRowsAlone(_ table: TableHandle, _ view: Snapshot) throws(RecordError) -> Bool {
        if try catalogue.ownedColumns(of: table) != nil { return false }
        for referrer in try catalogue.referrers(of: table) where try referrer.table.count(in: view) > 0 { return false }
        return true
    }

    /// Deletes rows and what depends on them; returns the number of the given rows.
    mutating func delete(
        _ keys: [RowKey], of table: TableHandle, _ tx: borrowing WriteTransaction, _ changes: inout ChangeSet
    ) throws(RecordError) -> Int {
        traversal.begin(keys, of: table)
        return try run(tx, &changes)
    }

    /// Deletes a row and what depends on it; returns `false` if it is missing, or is being deleted already.
    mutating func delete(
        _ key: RowKey, of table: TableHandle, _ tx: borrowing WriteTransaction, _ changes: inout ChangeSet
    ) throws(RecordError) -> Bool {
        guard traversal.begin(RowPlace(table, key)) else { return false }
        return try run(tx, &changes) > 0
    }

    /// Returns whether rows of a table can be deleted as a set.
    func takesSet(_ table: TableHandle, _ view: Snapshot) throws(RecordError) -> Bool {
        try catalogue.tablesRemoved(with: table, view) != nil
    }

    private mutating func run(
        _ tx: borrowing WriteTransaction, _ changes: inout ChangeSet
    ) throws(RecordError) -> Int {
        var count = 0
        while let step = try nextStep(tx.view, &changes) {
            switch step {
            case .reach: continue
            case .deny(let referrer, let row): throw try referenced(row, referrer, tx.view)
            case .unruled(let referrer, let rows):
                let keys = RowKey.distinct(rows.map(\.key))
                unruled += keys.map { (referrer, RowPlace(referrer.target, $0)) }
            case .clear(let referrer, let rows): try clear(referrer, rows, tx, &changes)
            case .delete(let number, let keys):
                guard let table = catalogue.table(numbered: number) else { continue }
                try noteOwned(by: keys, table, tx.view)
                count = try table.delete(keys, in: tx, changes: &changes, cancellation: cancellation)
            }
        }
        return count
    }

    private mutating func clear(
        _ referrer: Referrer, _ rows: [ReferringRow], _ tx: borrowing WriteTransaction, _ changes: inout ChangeSet
    ) throws(RecordError) {
        if referrer.holdsMany {
            for row in rows { releases.note(row.key, heldBy: row.holder, referrer) }
            return
        }
        try referrer.setNull(rows, &writer, tx, &changes)
    }

    private mutating func nextStep(
        _ view: Snapshot, _ changes: inout ChangeSet
    ) throws(RecordError) -> RemovalTraversal.Step? {
        if changes.hidesReferences { try changes.settleUnique(view) }
        return try traversal.next(above: 0, catalogue, view)
    }

    /// Records the rows owned by rows that will be changed or deleted.
    mutating func noteOwned(by keys: [RowKey], _ table: TableHandle, _ view: Snapshot) throws(RecordError) {
        guard let owned = try catalogue.ownedColumns(of: table) else { return }
        for key in keys { released += try owned.rows(ownedBy: key, catalogue, view) }
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
            for (number, keys) in RowPlace.byTable(rows) { try deleteUnowned(keys, ofTable: number, tx, &changes) }
            try writeReleases(tx, &changes)
        }
        try refuseUnruled(tx.view)
    }

    private mutating func deleteUnowned(
        _ keys: [RowKey], ofTable number: UInt32, _ tx: borrowing WriteTransaction, _ changes: inout ChangeSet
    ) throws(RecordError) {
        guard let table = catalogue.table(numbered: number) else { return }
        var there: [RowKey] = []
        for key in keys where try table.contains(key, in: tx.view) { there.append(key) }
        let unowned = try catalogue.unowned(there, of: table, try catalogue.referrers(of: table), tx.view)
        if try takesSet(table, tx.view) {
            _ = try delete(unowned, of: table, tx, &changes)
        } else {
            for key in unowned { _ = try delete(key, of: table, tx, &changes) }
        }
    }

    private func refuseUnruled(_ view: Snapshot) throws(RecordError) {
        var rest = unruled[...]
        while let (referrer, _) = rest.first {
            // Those of one column were recorded together.
            let those = rest.prefix { $0.referrer.isSame(as: referrer) }
            rest = rest.dropFirst(those.count)
            var gone: [RowKey] = []
            for (_, row) in those where try !referrer.target.contains(row.key, in: view) { gone.append(row.key) }
            let rows = try referrer.rows(referringTo: RowKey.distinct(gone), catalogue, view)
            let referenced = Set(rows.map(\.key))
            if let key = gone.first(where: { referenced.contains($0) }) {
                throw try self.referenced(RowPlace(referrer.target, key), referrer, view)
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
