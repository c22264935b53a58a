import MakoStorage

/// Deletes many rows of a table: one pass over the rows in key order, then one over each index in the order of its
/// entries.
///
/// It works in batches, so that the entries to be removed fit in memory; rows are decoded only for indexes and row
/// images.
struct RowSetDeletion: ~Copyable {
    private let table: TableHandle
    private let cancellation: Cancellation?
    private let limit: Int
    private let readsRows: Bool
    private let entries: [SortedEntries]
    private let elements: [SortedEntries]
    /// The rows of the batch, for full-text indexes.
    private var texts: [(key: RowKey, row: [UInt8])] = []
    private var textBytes = 0
    /// The rows of the batch, by their ids or by their byte keys.
    private var ids: [UInt64] = []
    private var byteKeys: [[UInt8]] = []
    /// The places of ids that no other row of the table interrupts.
    private var runs: [Range<Int>] = []
    /// The keys without a row.
    private(set) var missing: Set<RowKey> = []

    /// The number of rows in a batch: deleting a range of rows is one operation, which keeps the pages that it reads.
    private static var batchSize: Int { 1 << 16 }
    /// The number of rows from which on a range is cut instead of removing its rows one after the other.
    private static var leastRange: Int { 64 }
    /// The number of steps to the next row after which a cursor seeks it.
    private static var steps: Int { 8 }

    init(_ table: TableHandle, _ changes: ChangeSet, _ tx: borrowing WriteTransaction, _ cancellation: Cancellation?) {
        self.table = table
        self.cancellation = cancellation
        limit = min(16 << 20, tx.sideMemory)
        readsRows = table.hasIndexes || changes.values?.keeps(table) == true
        entries = table.indexes.map { _ in SortedEntries() }
        elements = table.elementIndexes.map { _ in SortedEntries() }
    }

    /// Deletes the rows with these keys, which must be distinct and in order.
    mutating func run(
        _ keys: [RowKey], _ tx: borrowing WriteTransaction, _ changes: inout ChangeSet
    ) throws(RecordError) {
        if case .rowID(let id)? = keys.last { try table.ids.willDelete(id, table, tx) }
        var next = 0
        while next < keys.count {
            next = try gather(keys, from: next, tx, &changes)
            do throws(RecordError) { try remove(tx) } catch { throw table.brokenOff(error, tx) }
        }
        if readsRows { tx.countSide(bytes: 0) }
    }

    // MARK: Reading

    /// Collects what the next rows have in indexes. Returns the place of the first key that is left for later.
    private mutating func gather(
        _ keys: [RowKey], from start: Int, _ tx: borrowing WriteTransaction, _ changes: inout ChangeSet
    ) throws(RecordError) -> Int {
        let view = tx.view
        var place = start
        var entry = KeyBuffer()
        let end = min(keys.count, start + RowSetDeletion.batchSize)
        try recorded {
            var cursor = try view.cursor(in: table.rows)
            var (isThere, isNext) = (true, false)
            while place < end, size < limit {
                if place & 1023 == 0, cancellation?.isCancelled == true { throw RecordError.cancelled }
                let key = keys[place]
                place += 1
                let hasMoved = try RowSetDeletion.move(&cursor, to: key, isStarted: place > start + 1, &isThere)
                guard isThere, RowSetDeletion.compare(cursor, key) == 0 else {
                    missing.insert(key)
                    isNext = false
                    continue
                }
                note(key, follows: isNext && !hasMoved)
                if readsRows { try cursor.withValue { try collect($0, key, &entry, &changes) } }
                isThere = try cursor.next()
                isNext = true
            }
        }
        if readsRows { tx.countSide(bytes: min(max(2 * size, 64 << 10), max(size, limit))) }
        return place
    }

    private var size: Int {
        var size = textBytes
        for list in entries { size += list.bytes }
        for list in elements { size += list.bytes }
        return size
    }

    /// Moves a cursor to a key, or to the next one. Returns whether it has passed other rows.
    private static func move(
        _ cursor: inout Cursor, to key: RowKey, isStarted: Bool, _ isThere: inout Bool
    ) throws -> Bool {
        if isStarted {
            if !isThere || compare(cursor, key) >= 0 { return false }
            for _ in 0..<steps {
                isThere = try cursor.next()
                if !isThere || compare(cursor, key) >= 0 { return true }
            }
        }
        switch key {
        case .rowID(let id): isThere = try cursor.seek(KeyOrder.treeKey(id))
        case .bytes(let bytes): isThere = try cursor.seek(bytes)
        }
        return true
    }

    static func compare(_ cursor: borrowing Cursor, _ key: RowKey) -> Int {
        switch key {
        case .rowID(let id): KeyOrder.compare(cursor.integerKey, KeyOrder.treeKey(id))
        case .bytes(let bytes):
            cursor.withKey { own in bytes.withUnsafeBytes { KeyOrder.compareRaw(own, $0) } }
        }
    }

    /// - Parameter follows: whether the previous row of the table is deleted, too.
    private mutating func note(_ key: RowKey, follows: Bool) {
        switch key {
        case .bytes(let bytes): byteKeys.append(bytes)
        case .rowID(let id):
            ids.append(KeyOrder.treeKey(id))
            let start = follows ? runs.popLast()?.lowerBound : nil
            runs.append((start ?? ids.count - 1)..<ids.count)
        }
    }

    private mutating func collect(
        _ bytes: UnsafeRawBufferPointer, _ key: RowKey, _ entry: inout KeyBuffer, _ changes: inout ChangeSet
    ) throws(RecordError) {
        let row = try table.reader(bytes, key, table.layout)
        if !table.elementIndexes.isEmpty { try table.checkStoredElements(row, key) }
        for (index, list) in zip(table.indexes, entries) where try index.holds(row, key) {
            let start = list.content.count
            _ = index.appendEntry(row, key, to: &list.content)
            _ = list.note(from: start, middle: list.content.count, takesLong: true)
        }
        for (index, list) in zip(table.elementIndexes, elements) {
            for element in try table.elements(index, row, key) {
                let start = list.content.count
                index.entry(element, key).withUnsafeBytes { list.content.append(raw: $0) }
                _ = list.note(from: start, middle: list.content.count, takesLong: true)
            }
        }
        if !table.textIndexes.isEmpty {
            texts.append((key, [UInt8](bytes)))
            textBytes += bytes.count + 64
        }
        if changes.values != nil { changes.values?.note(table, key, old: bytes, new: nil) }
    }

    // MARK: Writing

    private mutating func remove(_ tx: borrowing WriteTransaction) throws(RecordError) {
        for (index, list) in zip(table.indexes, entries) { try RowSetDeletion.remove(list, index.tree, tx) }
        for (index, list) in zip(table.elementIndexes, elements) { try RowSetDeletion.remove(list, index.tree, tx) }
        // Postings of a word are encoded in chunks, which each row changes: row by row.
        for (key, row) in texts { try table.removeText(row, key, tx) }
        (texts, textBytes) = ([], 0)
        try removeRows(tx)
    }

    private static func remove(
        _ list: SortedEntries, _ tree: Tree, _ tx: borrowing WriteTransaction
    ) throws(RecordError) {
        do throws(StorageError) {
            try list.forEachSorted { (entry, _) throws(StorageError) in _ = try tx.delete(entry, in: tree) }
        } catch { throw .storage(error) }
        list.removeAll()
    }

    private mutating func removeRows(_ tx: borrowing WriteTransaction) throws(RecordError) {
        var single: [UInt64] = []
        do throws(StorageError) {
            for run in runs {
                if run.count >= RowSetDeletion.leastRange {
                    _ = try tx.deleteRange(ids[run.lowerBound]...ids[run.upperBound - 1], in: table.rows)
                } else {
                    single += ids[run]
                }
            }
            _ = try tx.delete(keys: single, in: table.rows)
            _ = try tx.delete(keys: byteKeys, in: table.rows)
        } catch { throw .storage(error) }
        runs.removeAll(keepingCapacity: true)
        ids.removeAll(keepingCapacity: true)
        byteKeys.removeAll(keepingCapacity: true)
    }
}

extension RowKey {
    /// Returns the keys in the order of a table's rows, each once.
    static func distinct(_ keys: [RowKey]) -> [RowKey] {
        var isAscending = true
        for place in keys.indices.dropFirst() where !precedes(keys[place - 1], keys[place]) {
            isAscending = false
            break
        }
        if isAscending { return keys }
        var sorted = keys.sorted(by: precedes)
        var last: RowKey?
        sorted.removeAll { key in
            defer { last = key }
            return key == last
        }
        return sorted
    }

    /// Returns the number of keys from a place on whose ids follow each other without a gap: at least 1.
    ///
    /// - Complexity: O(number)
    static func consecutive(_ keys: [RowKey], from start: Int) -> Int {
        guard start < keys.count, case .rowID(var last) = keys[start] else { return 1 }
        var place = start + 1
        while place < keys.count, case .rowID(let id) = keys[place], last < .max, id == last + 1 {
            last = id
            place += 1
        }
        return place - start
    }

    /// Row ids sort before byte keys, which a table does not mix.
    static func precedes(_ a: RowKey, _ b: RowKey) -> Bool {
        switch (a, b) {
        case (.rowID(let a), .rowID(let b)): a < b
        case (.bytes(let a), .bytes(let b)): KeyOrder.precedes(a, b)
        case (.rowID, .bytes): true
        case (.bytes, .rowID): false
        }
    }
}
