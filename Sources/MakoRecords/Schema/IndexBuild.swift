import MakoStorage

/// Fills a new index from the rows of its table.
enum IndexBuild {
    /// Entries are collected and sorted first: the engine takes keys in order several times faster than at random.
    static func run(_ index: IndexHandle, _ table: TableHandle, _ tx: borrowing WriteTransaction) throws(RecordError) {
        let view = tx.view
        var entries: [(key: [UInt8], row: RowKey, isCut: Bool)] = []
        entries.reserveCapacity(try table.count(in: view))
        var buffer = KeyBuffer()
        try recorded {
            try table.scan(in: view) { key, row in
                let form = index.encodeEntry(row, key, into: &buffer)
                entries.append((buffer.bytes, key, form.isCut && !form.hasNull))
                return true
            }
        }
        entries.sort { KeyOrder.precedes($0.key, $1.key) }
        for (place, entry) in entries.enumerated() {
            if index.schema.isUnique {
                if place > 0, entries[place - 1].key == entry.key, !sabotaged("duplicatesBuiltIn") {
                    throw try violation(index, table, entry.row, entries[place - 1].row, view)
                }
                if entry.isCut { try checkCut(index, table, entry.row, entries[..<place], view) }
            }
            do throws(StorageError) {
                try tx.put(index.entryValue(entry.row), for: entry.key, in: index.tree)
            } catch { throw .storage(error) }
        }
    }

    /// Rows whose entries were cut differ by the row's key although their values may be the same.
    private static func checkCut(
        _ index: IndexHandle, _ table: TableHandle, _ row: RowKey,
        _ before: ArraySlice<(key: [UInt8], row: RowKey, isCut: Bool)>, _ view: Snapshot
    ) throws(RecordError) {
        let mine = try values(index, table, row, view)
        let kept = IndexHandle.columnLimit
        guard let entry = before.last, let own = try? encoded(index, table, row, view) else { return }
        guard entry.isCut, entry.key.prefix(kept) == own.prefix(kept) else { return }
        for other in before.reversed() {
            guard other.key.prefix(kept) == own.prefix(kept) else { return }
            if try values(index, table, other.row, view) == mine {
                throw try violation(index, table, row, other.row, view)
            }
        }
    }

    private static func encoded(
        _ index: IndexHandle, _ table: TableHandle, _ row: RowKey, _ view: Snapshot
    ) throws(RecordError) -> [UInt8] {
        try recorded {
            try table.withRow(row, in: view) { reader in
                var buffer = KeyBuffer()
                index.encodeColumns(reader, into: &buffer)
                return buffer.bytes
            } ?? []
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
            existing: existing)
    }
}
