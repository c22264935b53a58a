import MakoStorage

/// Fills a new index from the rows of its table.
enum IndexBuild {
    private struct Entry {
        let key: [UInt8]
        let row: RowKey
        /// Whether the values are told by a hash in part, none of them being NULL.
        let isCut: Bool
    }

    /// Entries are collected and sorted first: the engine takes keys in order several times faster than at random.
    static func run(_ index: IndexHandle, _ table: TableHandle, _ tx: borrowing WriteTransaction) throws(RecordError) {
        let list = EntryList(table, index)
        var isWhole = true
        try recorded {
            try table.scan(in: tx.view) { key, row in
                isWhole = try list.add(row, key) != nil
                return isWhole
            }
        }
        if !isWhole || list.count < BulkLoading.fewestEntries { return try enterSingly(index, table, tx) }
        var twins: (first: [UInt8], second: [UInt8])?
        _ = try recorded {
            try tx.bulkLoad(into: index.tree) { loader in
                var last = KeyBuffer()
                var owner = KeyBuffer()
                try list.forEachSorted { (key, value) throws(StorageError) in
                    if twins != nil { return }
                    if index.isUnique && last.count > 0 && KeyOrder.compareRaw(last.raw, key) == 0 {
                        twins = (owner.bytes, [UInt8](value))
                        return
                    }
                    try loader.append(value, for: key)
                    guard index.isUnique else { return }
                    last.clear()
                    last.append(raw: key)
                    owner.clear()
                    owner.append(raw: value)
                }
            }
        }
        guard let twins else { return }
        func row(_ value: [UInt8]) throws(RecordError) -> RowKey {
            try index.rowKey(ofValue: value, isRowID: table.isRowID, table: table.schema.name)
        }
        throw try violation(index, table, try row(twins.second), try row(twins.first), tx.view)
    }

    private static func enterSingly(
        _ index: IndexHandle, _ table: TableHandle, _ tx: borrowing WriteTransaction
    ) throws(RecordError) {
        let view = tx.view
        var entries: [Entry] = []
        entries.reserveCapacity(try table.count(in: view))
        var buffer = KeyBuffer()
        try recorded {
            try table.scan(in: view) { key, row in
                guard try index.holds(row, key) else { return true }
                let form = index.encodeEntry(row, key, into: &buffer)
                entries.append(Entry(key: buffer.bytes, row: key, isCut: form.isCut && !form.hasNull))
                return true
            }
        }
        entries.sort { KeyOrder.precedes($0.key, $1.key) }
        for (place, entry) in entries.enumerated() {
            if index.schema.isUnique {
                if place > 0, entries[place - 1].key == entry.key {
                    throw try violation(index, table, entry.row, entries[place - 1].row, view)
                }
                if entry.isCut { try checkCut(index, table, entry, entries[..<place], view) }
            }
            do throws(StorageError) {
                try tx.put(index.entryValue(entry.row), for: entry.key, in: index.tree)
            } catch { throw .storage(error) }
        }
    }

    /// Rows whose entries were cut differ by the row's key although their values may be the same.
    private static func checkCut(
        _ index: IndexHandle, _ table: TableHandle, _ entry: Entry, _ before: ArraySlice<Entry>, _ view: Snapshot
    ) throws(RecordError) {
        let kept = entry.key.prefix(IndexHandle.columnLimit)
        let alike = before.reversed().prefix { $0.key.starts(with: kept) }
        if alike.isEmpty { return }
        let mine = try values(index, table, entry.row, view)
        for other in alike where try values(index, table, other.row, view) == mine {
            throw try violation(index, table, entry.row, other.row, view)
        }
    }

    private static func values(
        _ index: IndexHandle, _ table: TableHandle, _ row: RowKey, _ view: Snapshot
    ) throws(RecordError) -> [Value] {
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

    private static func violation(
        _ index: IndexHandle, _ table: TableHandle, _ row: RowKey, _ existing: RowKey, _ view: Snapshot
    ) throws(RecordError) -> RecordError {
        .uniqueViolation(
            table: table.schema.name, index: index.schema.name, values: try values(index, table, row, view),
            existing: NamedKey(existing, in: table.schema))
    }
}
