import MakoStorage

/// Builds a new index from the rows of its table.
///
/// Entries are sorted first, because inserting keys in order is several times faster than in random order. Entries
/// beyond the memory are sorted in runs, which are spilled to a file.
enum IndexBuild {
    static func run(_ index: IndexHandle, _ table: TableHandle, _ tx: borrowing WriteTransaction) throws(RecordError) {
        let list = EntryList(table, index, takesCut: true)
        let entries = SpilledEntries(list.entries, memory: tx.sideMemory)
        defer { tx.countSide(bytes: 0) }
        var hasCut = false
        try recorded {
            try table.scan(in: tx.view) { key, row in
                _ = try list.add(row, key)
                hasCut = hasCut || list.isCut
                try entries.spillIfNeeded(tx)
                return true
            }
        }
        // No row can be read during a bulk load, which the comparison of truncated entries needs.
        guard entries.count >= BulkLoading.fewestEntries, !(index.isUnique && hasCut) else {
            var unique = UniqueCheck(index, table)
            return try entries.forEach { (key, value) throws(RecordError) in
                if index.isUnique, let row = try unique.earlier(than: key, value, in: tx.view) {
                    throw try unique.violation(by: try unique.row(value), of: row, tx.view)
                }
                do throws(StorageError) { try tx.put(value, for: key, in: index.tree) } catch { throw .storage(error) }
            }
        }
        var unique = UniqueCheck(index, table)
        var twins: (first: RowKey, second: RowKey)?
        _ = try recorded {
            try tx.bulkLoad(into: index.tree) { loader in
                try entries.forEach { (key, value) throws(RecordError) in
                    if twins != nil { return }
                    if index.isUnique, let row = try unique.twin(of: key, value) {
                        twins = (row, try unique.row(value))
                        return
                    }
                    do throws(StorageError) { try loader.append(value, for: key) } catch { throw .storage(error) }
                }
            }
        }
        if let twins { throw try unique.violation(by: twins.second, of: twins.first, tx.view) }
    }
}

/// Finds unique violations among entries in their order.
private struct UniqueCheck: ~Copyable {
    private let index: IndexHandle
    private let table: TableHandle
    private var last = KeyBuffer()
    /// The rows with equal truncated entries, up to the last one.
    private var alike: [RowKey] = []

    init(_ index: IndexHandle, _ table: TableHandle) {
        self.index = index
        self.table = table
    }

    /// Returns the row of the previous entry, if that has the same key.
    mutating func twin(of key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(RecordError) -> RowKey? {
        let isSame = last.count > 0 && KeyOrder.compareRaw(last.raw, key) == 0
        if isSame { return alike.last }
        last.clear()
        last.append(raw: key)
        alike = [try row(value)]
        return nil
    }

    /// Returns a row of a previous entry with equal values. Truncated entries differ by the row's key even then.
    mutating func earlier(
        than key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, in view: Snapshot
    ) throws(RecordError) -> RowKey? {
        let limit = IndexHandle.columnLimit
        guard key.count >= limit, last.count >= limit,
            KeyOrder.compareRaw(UnsafeRawBufferPointer(rebasing: key[..<limit]), last.raw(from: 0, to: limit)) == 0
        else { return try twin(of: key, value) }
        let row = try row(value)
        let mine = try values(row, view)
        if !mine.contains(.null) {
            for other in alike where try values(other, view) == mine { return other }
        }
        alike.append(row)
        return nil
    }

    /// Returns the row of an entry with this value.
    func row(_ value: UnsafeRawBufferPointer) throws(RecordError) -> RowKey {
        try index.rowKey(ofValue: [UInt8](value), isRowID: table.isRowID, table: table.schema.name)
    }

    func violation(by row: RowKey, of existing: RowKey, _ view: Snapshot) throws(RecordError) -> RecordError {
        .uniqueViolation(
            table: table.schema.name, columns: index.schema.columns.map(\.name), values: try values(row, view),
            existing: NamedKey(existing, in: table.schema))
    }

    private func values(_ row: RowKey, _ view: Snapshot) throws(RecordError) -> [Value] {
        try recorded {
            try table.withRow(row, in: view) { reader in
                index.parts.map { part in
                    let value = reader.value(part.slot)
                    if part.noCase, case .text(let text) = value { return .text(Folding.folded(text)) }
                    return value
                }
            } ?? []
        }
    }
}
