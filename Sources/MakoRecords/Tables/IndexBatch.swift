import MakoStorage

/// Write buffer for index entries of new and changed rows, so that each index is changed in its own order, which is
/// several times faster than random order. Changes of unique indexes are made at once, because they may be refused.
///
///     let batch = IndexBatch()
///     for person in people {
///         row.begin(table.layout)
///         row.set(0, person.name)
///         try table.insert(&row, in: tx, changes: &changes, batch: batch)
///     }
///     try batch.flush(in: tx)
///
/// Until ``flush(in:)`` the indexes lack these rows: the caller must flush before it reads through an index, deletes,
/// sets a savepoint or commits. Unique violations are thrown by the flush; the caller must then roll back to before the
/// batch, and call ``removeAll()``. Not thread-safe; for one transaction at a time.
package final class IndexBatch {
    /// The memory at which the batch flushes by itself; `nil` until the first transaction.
    @exclusivity(unchecked) private var limit: Int?
    // Owned by one thread without reentrancy, so that dynamic exclusivity checks are not needed.
    @exclusivity(unchecked) private var lists: [EntryList] = []
    /// The table of the last row, and the index of its first list.
    @exclusivity(unchecked) private var latest: TableHandle?
    @exclusivity(unchecked) private var latestFirst = 0
    @exclusivity(unchecked) private var size = 0
    /// The memory charged to the store's budget until the transaction ends: the lists keep their allocations.
    @exclusivity(unchecked) private var counted = 0
    private var texts: [TextBatch] = []
    @exclusivity(unchecked) private var changed: [EntryChanges] = []
    /// The memory of the entries of changed rows.
    @exclusivity(unchecked) private var changedSize = 0
    private var failure: RecordError?
    /// A flag, because it is tested for each row, which the error itself would make slower.
    @exclusivity(unchecked) private var hasFailed = false

    /// The default limit, in bytes.
    private static let usualLimit = 16 << 20

    /// Makes a batch.
    ///
    /// - Parameter limit: the memory at which the batch flushes by itself; `nil` for what the store's budget permits,
    ///   at most 16 MiB.
    package init(limit: Int? = nil) { self.limit = limit }

    @inline(__always)
    private func limit(_ tx: borrowing WriteTransaction) -> Int {
        if let limit { return limit }
        let found = min(IndexBatch.usualLimit, tx.sideMemory)
        limit = found
        return found
    }

    private func count(_ tx: borrowing WriteTransaction) {
        counted = min(max(2 * size, 64 << 10), max(size, limit(tx)))
        tx.countSide(bytes: counted)
    }

    /// Whether the batch has no entries and no failure.
    package var isEmpty: Bool { size == 0 && !hasFailed }

    /// Inserts the buffered entries.
    ///
    /// - Throws: `RecordError.uniqueViolation` for a row whose values another row has, and errors of the engine.
    package func flush(in tx: borrowing WriteTransaction) throws(RecordError) {
        var none = ChangeSet()
        try flush(in: tx, changes: &none)
    }

    /// Inserts the buffered entries. If the change set defers unique violations, conflicting rows are recorded in it.
    package func flush(in tx: borrowing WriteTransaction, changes: inout ChangeSet) throws(RecordError) {
        if let failure { throw failure }
        if size == 0 { return }
        do throws(RecordError) {
            for list in changed where !list.isEmpty { try list.flush(tx) }
            for list in lists where !list.entries.isEmpty { try IndexBatch.enter(list, tx, &changes) }
            for text in texts { try text.flush(tx) }
        } catch {
            empty()
            failure = error
            hasFailed = true
            // A transaction with rows that lack entries must not be committed.
            if case .storage(let failure) = error {
                tx.breakOff(failure)
            } else {
                tx.breakOff(
                    .invalidArgument("an index refused a row of a batch; take the transaction back to before it"))
            }
            throw error
        }
        empty()
    }

    /// Removes the entries and the failure, after the caller has rolled back the rows.
    package func removeAll() {
        empty()
        failure = nil
        hasFailed = false
    }

    private func empty() {
        for list in lists { list.entries.removeAll() }
        for text in texts { text.removeAll() }
        for list in changed { list.removeAll() }
        (size, changedSize) = (0, 0)
    }

    private static func enter(
        _ list: EntryList, _ tx: borrowing WriteTransaction, _ changes: inout ChangeSet
    ) throws(RecordError) {
        let tree = list.index.tree
        guard list.index.isUnique else {
            do {
                try list.entries.forEachSorted { key, value throws(StorageError) in
                    try tx.put(value, for: key, in: tree)
                }
            } catch {
                throw .storage(error)
            }
            return
        }
        try list.entries.forEachSorted { key, value throws(RecordError) in
            let isNew = try engine { () throws(StorageError) in try tx.insert(value, for: key, in: tree) }
            if isNew { return }
            let (entry, value) = ([UInt8](key), [UInt8](value))
            if !changes.defersUnique { throw try list.table.violation(list.index, entry: entry, value: value, tx.view) }
            let row = try list.index.rowKey(
                ofValue: value, isRowID: list.table.isRowID, table: list.table.schema.name)
            changes.clashes.note(row, entry, list.index, list.table)
        }
    }

    /// Buffers the entries of a new row. Returns `false` if they must be inserted at once.
    func collect(
        _ table: TableHandle, _ key: RowKey, _ row: RowReader, _ tx: borrowing WriteTransaction,
        _ changes: inout ChangeSet
    ) throws(RecordError) -> Bool {
        if size >= limit(tx) || hasFailed { try flush(in: tx, changes: &changes) }
        if latest !== table { find(table) }
        var grown = 0
        for place in 0..<table.indexes.count {
            guard let bytes = try lists[latestFirst + place].add(row, key) else {
                for done in 0..<place { lists[latestFirst + done].removeLast() }
                return false
            }
            grown += bytes
        }
        size += grown
        if size > counted { count(tx) }
        return true
    }

    /// Buffers the words of a new row, unless they must be inserted at once.
    ///
    /// - Parameter isAlone: whether no other index of the table buffers an entry of the row, which is not stored yet,
    ///   and could not be named in an error if that entry were refused.
    func collect(
        _ index: FullTextIndex, _ change: RowChange, isAlone: Bool, _ tx: borrowing WriteTransaction,
        _ changes: inout ChangeSet
    ) throws(RecordError) {
        if hasFailed || (isAlone && size >= limit(tx)) { try flush(in: tx, changes: &changes) }
        guard change.key.rowID != nil else { return try index.insert(change.key, change.new, tx) }
        if !texts.contains(where: { $0.index === index }) { texts.append(TextBatch(index, limit: limit(tx))) }
        for text in texts where text.index === index {
            let before = text.size
            if text.add(change.key, change.new) {
                size += text.size - before
                if size > counted { count(tx) }
            } else {
                try index.insert(change.key, change.new, tx)
            }
        }
    }

    /// Inserts the buffered entries of new rows, of which one may be about to change.
    func flushNewRows(in tx: borrowing WriteTransaction, changes: inout ChangeSet) throws(RecordError) {
        if size > changedSize || hasFailed { try flush(in: tx, changes: &changes) }
    }

    /// Buffers the change of a row's entry in an index that is not unique.
    func replace(
        _ index: IndexHandle, _ key: RowKey, _ old: RowReader, _ new: RowReader, _ tx: borrowing WriteTransaction
    ) throws(RecordError) {
        if size >= limit(tx) {
            var none = ChangeSet()
            try flush(in: tx, changes: &none)
        }
        let list: EntryChanges
        if let known = changed.first(where: { $0.index === index }) {
            list = known
        } else {
            list = EntryChanges(index)
            changed.append(list)
        }
        let grown = try list.replace(key, old, new)
        size += grown
        changedSize += grown
        if size > counted { count(tx) }
    }

    private func find(_ table: TableHandle) {
        latestFirst = lists.firstIndex { $0.table === table } ?? lists.count
        if latestFirst == lists.count { for index in table.indexes { lists.append(EntryList(table, index)) } }
        latest = table
    }
}
