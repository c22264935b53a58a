import MakoStorage

extension TableHandle {
    /// Deletes the row with this key; returns `false` if there is none.
    @discardableResult
    package func delete(
        _ key: RowKey, in tx: borrowing WriteTransaction, changes: inout ChangeSet
    ) throws(RecordError) -> Bool {
        let view = tx.view
        guard let old = try recorded({ try withBytes(key, in: view) { [UInt8]($0) } }) else { return false }
        if !elementIndexes.isEmpty {
            try recorded { try old.withUnsafeBytes { try checkStoredElements(try reader($0, key, layout), key) } }
        }
        if case .rowID(let id) = key { try ids.willDelete(id, self, tx) }
        do throws(RecordError) {
            if !indexes.isEmpty { try removeFromIndexes(old, key, tx, &changes) }
            if !elementIndexes.isEmpty { try removeElements(old, key, tx) }
            if !textIndexes.isEmpty { try removeText(old, key, tx) }
            try engine { () throws(StorageError) in
                switch key {
                case .rowID(let id): _ = try tx.delete(KeyOrder.treeKey(id), in: rows)
                case .bytes(let bytes): _ = try tx.delete(bytes, in: rows)
                }
            }
        } catch { throw brokenOff(error, tx) }
        changes.record(self, key, .delete, .all)
        if changes.values != nil { old.withUnsafeBytes { changes.values?.note(self, key, old: $0, new: nil) } }
        return true
    }

    private func removeFromIndexes(
        _ old: [UInt8], _ key: RowKey, _ tx: borrowing WriteTransaction, _ changes: inout ChangeSet
    ) throws(RecordError) {
        var entry = KeyBuffer()
        for index in indexes {
            let isHeld = try recorded {
                try old.withUnsafeBytes { bytes in
                    let row = try reader(bytes, key, layout)
                    index.encodeEntry(row, key, into: &entry)
                    return try index.holds(row, key)
                }
            }
            // Another row may own the entry.
            if !isHeld { continue }
            let bytes = entry.raw
            do throws(StorageError) { try removeEntry(bytes, index, key, tx, &changes) } catch { throw .storage(error) }
        }
    }

    private func removeElements(_ old: [UInt8], _ key: RowKey, _ tx: borrowing WriteTransaction) throws(RecordError) {
        for index in elementIndexes {
            let held = try recorded {
                try old.withUnsafeBytes { bytes in try elements(index, try reader(bytes, key, layout), key) }
            }
            do throws(StorageError) {
                for element in held { _ = try tx.delete(index.entry(element, key), in: index.tree) }
            } catch { throw .storage(error) }
        }
    }

    /// Deletes the rows with these keys; returns their number.
    ///
    /// One pass over the table and one over each index, each in its own order; if these are all rows, whole trees are
    /// emptied.
    ///
    /// - Parameter cancellation: ends the deletion within a thousand rows; the caller must then roll it back.
    /// - Throws: `cancelled`.
    /// - Complexity: that of sorting the keys and reading the rows; memory for the entries is bounded.
    @discardableResult
    package func delete(
        _ keys: [RowKey], in tx: borrowing WriteTransaction, changes: inout ChangeSet,
        cancellation: Cancellation? = nil
    ) throws(RecordError) -> Int {
        // A row that waits for an entry of a deleted one gets it at once, in the order of the deletions.
        guard keys.count > 1, changes.clashes.isEmpty else {
            var count = 0
            for key in keys {
                if cancellation?.isCancelled == true { throw .cancelled }
                if try delete(key, in: tx, changes: &changes) { count += 1 }
            }
            return count
        }
        let sorted = RowKey.distinct(keys)
        let order = sorted.count == keys.count ? keys : sorted
        if try hasNoRows(besides: sorted, in: tx.view) { return try deleteAll(order, tx, &changes) }
        var deletion = RowSetDeletion(self, changes, tx, cancellation)
        try deletion.run(sorted, tx, &changes)
        changes.recordDeletions(self, order, except: deletion.missing)
        return sorted.count - deletion.missing.count
    }

    /// Returns whether these are the keys of all rows, in order.
    private func hasNoRows(besides keys: [RowKey], in view: Snapshot) throws(RecordError) -> Bool {
        guard try keys.count == count(in: view) else { return false }
        var place = 0
        do throws(StorageError) {
            var cursor = try view.cursor(in: rows)
            // As many rows as there are ids between the same two ends: the same ids, without a look at each.
            if RowKey.consecutive(keys, from: 0) == keys.count, let last = keys.last,
                try cursor.last(), RowSetDeletion.compare(cursor, last) == 0,
                try cursor.first(), RowSetDeletion.compare(cursor, keys[0]) == 0
            {
                return true
            }
            var isThere = try cursor.first()
            while isThere, place < keys.count, RowSetDeletion.compare(cursor, keys[place]) == 0 {
                place += 1
                isThere = try cursor.next()
            }
        } catch { throw .storage(error) }
        return place == keys.count
    }

    /// Deletes all rows; returns their number.
    @discardableResult
    package func deleteAll(in tx: borrowing WriteTransaction, changes: inout ChangeSet) throws(RecordError) -> Int {
        try deleteAll(try allKeys(in: tx.view), tx, &changes)
    }

    /// - Parameter keys: the keys of all rows, in the order in which the changes are recorded.
    private func deleteAll(
        _ keys: [RowKey], _ tx: borrowing WriteTransaction, _ changes: inout ChangeSet
    ) throws(RecordError) -> Int {
        let view = tx.view
        if keys.isEmpty { return 0 }
        if changes.values?.keeps(self) == true {
            for key in keys {
                _ = try recorded {
                    try withBytes(key, in: view) { changes.values?.note(self, key, old: $0, new: nil) }
                }
            }
        }
        if isRowID { try ids.write(try ids.peek(self, tx), self, tx) }
        do throws(StorageError) {
            try tx.deleteAll(in: rows)
            for index in indexes { try tx.deleteAll(in: index.tree) }
            for index in elementIndexes { try tx.deleteAll(in: index.tree) }
            for index in textIndexes { try tx.deleteAll(in: index.tree) }
        } catch { throw brokenOff(.storage(error), tx) }
        changes.clashes.forget(self)
        changes.recordDeletions(self, keys, except: [])
        return keys.count
    }

    package func allKeys(in view: Snapshot) throws(RecordError) -> [RowKey] {
        var keys: [RowKey] = []
        do throws(StorageError) {
            var cursor = try view.cursor(in: rows)
            var isThere = try cursor.first()
            while isThere {
                keys.append(isRowID ? .rowID(KeyOrder.rowID(cursor.integerKey)) : .bytes(cursor.key))
                isThere = try cursor.next()
            }
        } catch { throw .storage(error) }
        return keys
    }

    /// Verifies all indexes against the rows; returns a list of faults, empty if there are none.
    package func verify(in view: Snapshot) throws(RecordError) -> [String] {
        var findings: [String] = []
        for index in elementIndexes { findings += try verify(index, in: view) }
        for index in textIndexes { findings += try verify(index, in: view) }
        for index in indexes {
            var rowCount: UInt64 = 0
            var entry = KeyBuffer()
            try recorded {
                try scan(in: view) { key, row in
                    guard try index.holds(row, key) else { return true }
                    rowCount += 1
                    index.encodeEntry(row, key, into: &entry)
                    if try view.get(entry.bytes, in: index.tree) != index.entryValue(key) {
                        findings.append(
                            "\(schema.name): row \(key.text(in: schema)) is missing in index \(index.schema.name)")
                    }
                    return true
                }
            }
            let entries = try engine { () throws(StorageError) in try view.count(of: index.tree) }
            if entries != rowCount {
                findings.append(
                    "\(schema.name): index \(index.schema.name) has \(entries) entries for \(rowCount) rows")
            }
        }
        return findings
    }
}
