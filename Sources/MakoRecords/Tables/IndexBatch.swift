import MakoStorage

/// Entries of new rows, kept back so that each index gets them in its own order: the engine takes keys in order several times faster
/// than at random.
///
///     let batch = IndexBatch()
///     for person in people {
///         row.begin(table.layout)
///         row.set(0, person.name)
///         try table.insert(&row, in: tx, changes: &changes, batch: batch)
///     }
///     try batch.flush(in: tx)
///
/// Until ``flush(in:)`` the indexes do not know the new rows: flush before anything reads through an index, deletes, takes a
/// savepoint or commits. A unique index refuses at the flush, which then throws; the transaction must be taken back to where
/// it was before the batch, and the batch emptied with ``removeAll()``. Used by one thread, with one transaction.
public final class IndexBatch {
    /// Entries are flushed by themselves when they take so many bytes. Nil until the first transaction is known.
    @exclusivity(unchecked) private var limit: Int?
    // One thread, and nothing comes back here while it is at work: no dynamic checks.
    @exclusivity(unchecked) private var lists: [EntryList] = []
    /// The table whose lists were asked for last, and where they begin.
    @exclusivity(unchecked) private var latest: TableHandle?
    @exclusivity(unchecked) private var latestFirst = 0
    @exclusivity(unchecked) private var size = 0
    /// What the store counts of that against its budget, until the transaction ends: the lists keep their memory.
    @exclusivity(unchecked) private var counted = 0
    private var texts: [TextBatch] = []
    private var failure: RecordError?
    /// Asked for each row, which costs less than looking at the failure itself.
    @exclusivity(unchecked) private var hasFailed = false

    /// The most that a batch takes which has no limit of its own, in bytes.
    private static let usualLimit = 16 << 20

    /// - Parameter limit: bytes of memory to use before the entries are entered anyway; nil: what the store has room for, 16 MiB at most.
    public init(limit: Int? = nil) { self.limit = limit }

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

    public var isEmpty: Bool { size == 0 && !hasFailed }

    /// Enters what was kept back.
    ///
    /// - Throws: `RecordError.uniqueViolation` for a row whose values another row has, and what the engine throws.
    public func flush(in tx: borrowing WriteTransaction) throws(RecordError) {
        var none = ChangeSet()
        try flush(in: tx, changes: &none)
    }

    /// Enters what was kept back. Where the change set defers what unique indexes refuse, rows wait there whose values another row has.
    package func flush(in tx: borrowing WriteTransaction, changes: inout ChangeSet) throws(RecordError) {
        if let failure { throw failure }
        if size == 0 { return }
        do throws(RecordError) {
            for list in lists where !list.entries.isEmpty { try IndexBatch.enter(list, tx, &changes) }
            for text in texts { try text.flush(tx) }
        } catch {
            empty()
            failure = error
            hasFailed = true
            // Rows without their entries must not be committed.
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

    /// Drops what was kept back, and the memory of a failure: the rows themselves were taken back.
    public func removeAll() {
        empty()
        failure = nil
        hasFailed = false
    }

    private func empty() {
        for list in lists { list.entries.removeAll() }
        for text in texts { text.removeAll() }
        size = 0
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

    /// Keeps the entries of a new row back. False: they must be entered at once.
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

    /// Keeps the words of a new row back, unless they must be entered at once.
    ///
    /// - Parameter isAlone: whether no other index of the table may hold an entry of the row back, which is not stored yet and could not
    ///   be named if the entry were refused.
    func collect(
        _ index: FullTextIndex, _ key: RowKey, _ row: RowReader, isAlone: Bool, _ tx: borrowing WriteTransaction,
        _ changes: inout ChangeSet
    ) throws(RecordError) {
        if hasFailed || (isAlone && size >= limit(tx)) { try flush(in: tx, changes: &changes) }
        guard key.rowID != nil else { return try index.insert(key, row, tx) }
        if !texts.contains(where: { $0.index === index }) { texts.append(TextBatch(index, limit: limit(tx))) }
        for text in texts where text.index === index {
            let before = text.size
            if text.add(key, row) {
                size += text.size - before
                if size > counted { count(tx) }
            } else {
                try index.insert(key, row, tx)
            }
        }
    }

    private func find(_ table: TableHandle) {
        latestFirst = lists.firstIndex { $0.table === table } ?? lists.count
        if latestFirst == lists.count { for index in table.indexes { lists.append(EntryList(table, index)) } }
        latest = table
    }
}
