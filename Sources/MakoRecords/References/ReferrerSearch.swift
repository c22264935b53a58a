import MakoStorage

/// A row that refers to a row of another table.
package struct ReferringRow: Sendable {
    /// The key of the referring row.
    package let holder: RowKey
    /// The key to which it refers.
    package let key: RowKey
}

extension Referrer {
    /// Returns the rows that refer to rows of the target: for each reference the referring row, in no particular order.
    ///
    /// - Parameter keys: distinct keys.
    /// - Complexity: one pass over an index that begins with the column, or over the table if it has none.
    package func rows(
        referringTo keys: [RowKey], _ catalogue: Catalogue, _ view: Snapshot
    ) throws(RecordError) -> [ReferringRow] {
        if keys.isEmpty { return [] }
        if try table.count(in: view) == 0 { return [] }
        if keys.count == 1 { return try rows(referringSinglyTo: keys, catalogue, view) }
        if holdsMany {
            guard let index = table.elementIndexes.first(where: { $0.schema.columns.first?.name == column }) else {
                return []
            }
            return try entries(
                index.tree, keys.map { (ElementIndex.element(0, element($0)), $0) }, index.hasKeyInValue, view)
        }
        // The column's own order decides which texts are equal.
        if isNoCase {
            return try rows(referringSinglyTo: keys, catalogue, view)
        }
        var values: [Value: RowKey] = [:]
        for key in keys { if let value = try stored(key) { values[value] = key } }
        guard let index = table.indexes.first(where: { $0.startsPlainly(with: column, of: table) }) else {
            return try scan(values, view)
        }
        var prefixes: [(prefix: [UInt8], key: RowKey)] = []
        var long: [RowKey] = []
        for (value, key) in values {
            var buffer = KeyBuffer()
            buffer.append(value)
            if buffer.count > IndexHandle.keptBytes {
                long.append(key)
                continue
            }
            if index.parts[0].descending { buffer.complement(from: 0) }
            prefixes.append((buffer.bytes, key))
        }
        let found = try entries(index.tree, prefixes, index.hasKeyInValue, view)
        return found + (try rows(referringSinglyTo: long, catalogue, view))
    }

    /// Returns whether it is the same column.
    func isSame(as other: Referrer) -> Bool {
        table.number == other.table.number && target.number == other.target.number && column == other.column
    }

    /// Sets the column to NULL in rows.
    package func setNull(
        _ rows: [ReferringRow], _ writer: inout RowWriter, _ tx: borrowing WriteTransaction, _ changes: inout ChangeSet
    ) throws(RecordError) {
        let batch = IndexBatch()
        for holder in RowKey.distinct(rows.map(\.holder)) {
            writer.begin(layout)
            writer.setNull(0)
            _ = try table.update(&writer, key: holder, in: tx, changes: &changes, batch: batch)
        }
        try batch.flush(in: tx, changes: &changes)
    }

    private func rows(
        referringSinglyTo keys: [RowKey], _ catalogue: Catalogue, _ view: Snapshot
    ) throws(RecordError) -> [ReferringRow] {
        var found: [ReferringRow] = []
        for key in keys {
            for holder in try rows(referringTo: key, catalogue, view) { found.append(.init(holder: holder, key: key)) }
        }
        return found
    }

    private func scan(_ values: [Value: RowKey], _ view: Snapshot) throws(RecordError) -> [ReferringRow] {
        var found: [ReferringRow] = []
        try recorded {
            try table.scan(layout: layout, in: view) { holder, row in
                if !row.isNull(0), let key = values[row.value(0)] { found.append(.init(holder: holder, key: key)) }
                return true
            }
        }
        return found
    }

    /// Returns the rows of the entries that start with one of the prefixes, in one forward pass.
    private func entries(
        _ tree: Tree, _ prefixes: [(prefix: [UInt8], key: RowKey)], _ hasKeyInValue: Bool, _ view: Snapshot
    ) throws(RecordError) -> [ReferringRow] {
        var found: [ReferringRow] = []
        let sorted = prefixes.sorted { KeyOrder.precedes($0.prefix, $1.prefix) }
        do throws(StorageError) {
            var cursor = try view.cursor(in: tree)
            var isThere = try cursor.first()
            for (prefix, key) in sorted {
                try Referrer.advance(&cursor, to: prefix, &isThere)
                while isThere, cursor.withKey({ IndexGroups.begins($0, with: prefix) }) {
                    found.append(.init(holder: try Referrer.holder(cursor, hasKeyInValue, table.isRowID), key: key))
                    isThere = try cursor.next()
                }
                if !isThere { break }
            }
        } catch { throw .storage(error) }
        return found
    }

    /// Moves a cursor forward to the first key from a prefix on: by steps if that is near.
    private static func advance(
        _ cursor: inout Cursor, to prefix: [UInt8], _ isThere: inout Bool
    ) throws(StorageError) {
        for _ in 0..<8 {
            guard isThere else { return }
            let isBefore = cursor.withKey { own in prefix.withUnsafeBytes { KeyOrder.compareRaw(own, $0) < 0 } }
            if !isBefore { return }
            isThere = try cursor.next()
        }
        if isThere { isThere = try cursor.seek(prefix) }
    }

    private static func holder(
        _ cursor: borrowing Cursor, _ hasKeyInValue: Bool, _ isRowID: Bool
    ) throws(StorageError) -> RowKey {
        if !hasKeyInValue {
            return .rowID(KeyOrder.rowID(cursor.withKey { $0.suffix(8).reduce(0) { $0 << 8 | UInt64($1) } }))
        }
        let value = try cursor.value()
        return isRowID ? .rowID(KeyOrder.rowID(value.reduce(0) { $0 << 8 | UInt64($1) })) : .bytes(value)
    }
}

extension IndexHandle {
    /// Whether the index has an entry for each row, which starts with the column's value.
    fileprivate func startsPlainly(with column: String, of table: TableHandle) -> Bool {
        guard isPlain, let part = parts.first, !part.noCase, part.slot.ordinal >= 0 else { return false }
        return table.columns[Int(part.slot.ordinal)].name == column
    }
}
