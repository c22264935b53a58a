import MakoStorage

/// The replacement of a stored row, or the insertion of a new one. It borrows the rows' bytes from the row writer.
struct RowChange {
    let key: RowKey
    /// The stored row; `nil` if the row is new.
    let old: RowReader?
    let new: RowReader
    /// The columns in which the rows differ; all of a new row.
    var changed = ColumnSet.all

    /// Returns whether an index of these columns may have to change.
    func concerns(_ columns: ColumnSet) -> Bool { old == nil || changed.intersects(columns) }

    /// Returns the stored row if an index has an entry for it.
    @inline(__always)
    func old(in index: IndexHandle) throws(RecordError) -> RowReader? {
        guard let old, try index.holds(old, key) else { return nil }
        return old
    }
}

extension TableHandle {
    /// Inserts a row.
    ///
    /// Without a key, a table with row ids assigns the next one, and a table with key columns takes the key from the
    /// row.
    ///
    /// - Parameters:
    ///   - batch: buffers the index entries of a new row, which the caller must flush.
    ///   - check: validates the row beyond its columns' types.
    /// - Throws: `duplicateKey`, `uniqueViolation`, `nullViolation`, `typeMismatch`; nothing has changed then.
    @discardableResult
    package func insert(
        _ row: inout RowWriter, key: RowKey? = nil, in tx: borrowing WriteTransaction, changes: inout ChangeSet,
        batch: IndexBatch? = nil, check: (any RowCheck)? = nil
    ) throws(RecordError) -> RowKey {
        if isRowID, key == nil { return try append(&row, batch, check, tx, &changes) }
        let key = if let key { key } else { try keyOfDraft(&row) }
        try checkLayout(&row)
        if try oldRow(key, &row, tx) != nil { throw .duplicateKey(key, in: schema) }
        let change = try change(of: key, &row, from: nil, over: nil)
        try check?.check(change.new, key: key, changed: .all)
        try store(change, &row, batch, tx, &changes)
        return key
    }

    /// Inserts a row, or replaces the one with its key. Replacing a row with itself is no change.
    ///
    /// - Parameters:
    ///   - model: the key of another row whose values a new one takes for unset columns, instead of their defaults.
    ///   - batch: buffers the index entries of a new row, which the caller must flush.
    /// - Throws: `uniqueViolation`, `nullViolation`, `typeMismatch`; nothing has changed then.
    @discardableResult
    package func put(
        _ row: inout RowWriter, key: RowKey? = nil, like model: RowKey? = nil, in tx: borrowing WriteTransaction,
        changes: inout ChangeSet, batch: IndexBatch? = nil
    ) throws(RecordError) -> RowKey {
        if isRowID, key == nil { return try append(&row, batch, nil, tx, &changes) }
        let key = if let key { key } else { try keyOfDraft(&row) }
        try checkLayout(&row)
        let old = try oldRow(key, &row, tx)
        // For the indexes the row is new.
        let source = if old == nil, let model { try oldRow(model, &row, tx) } else { old }
        let change = try change(of: key, &row, from: old, over: source)
        if !change.changed.isEmpty { try store(change, &row, batch, tx, &changes) }
        return key
    }

    /// Updates the row with this key; returns `false` if there is none.
    ///
    /// - Parameters:
    ///   - batch: buffered entries, which are flushed if those of the row may be among them.
    ///   - check: validates the row beyond its columns' types.
    /// - Throws: `uniqueViolation`, `nullViolation`, `typeMismatch`; nothing has changed then.
    package func update(
        _ row: inout RowWriter, key: RowKey, in tx: borrowing WriteTransaction, changes: inout ChangeSet,
        batch: IndexBatch? = nil, check: (any RowCheck)? = nil
    ) throws(RecordError) -> Bool {
        try checkLayout(&row)
        guard let old = try oldRow(key, &row, tx) else { return false }
        let change = try change(of: key, &row, from: old, over: old)
        if change.changed.isEmpty { return true }
        try check?.check(change.new, key: key, changed: change.changed)
        try store(change, &row, batch, tx, &changes)
        return true
    }

    /// Returns the key of the row that has the new row's values in a unique index; `nil` if there is none. NULL equals
    /// nothing.
    ///
    /// - Parameter name: the name of the index; the result is `nil` if the table has none of that name.
    package func owner(
        of row: inout RowWriter, inUnique name: String, view: Snapshot
    ) throws(RecordError) -> RowKey? {
        guard let index = indexes.first(where: { $0.isUnique && $0.schema.name == name }) else { return nil }
        guard let draft = try row.draft() else { return nil }
        return try owner(of: draft, key: nil, in: index, view)
    }

    /// Returns the row that has a row's values in a unique index.
    ///
    /// - Parameter key: the row's own key, if it has one yet.
    func owner(
        of row: RowReader, key: RowKey?, in index: IndexHandle, _ view: Snapshot
    ) throws(RecordError) -> RowKey? {
        if index.condition != nil, !(try index.holds(row, key ?? .rowID(0))) { return nil }
        var entry = KeyBuffer()
        let form = index.encodeColumns(row, into: &entry)
        if form.hasNull { return nil }
        if form.isCut { return try equalRow(index, row, key, view) }
        let stored = try engine { () throws(StorageError) in try view.get(entry.bytes, in: index.tree) }
        return try stored.map { (value) throws(RecordError) in
            try index.rowKey(ofValue: value, isRowID: isRowID, table: schema.name)
        }
    }

    /// Takes a row id, for a row that must be referenced before it is inserted.
    package func reserveRowID(in tx: borrowing WriteTransaction) throws(RecordError) -> Int64 {
        guard isRowID else { throw .invalidKey(table: schema.name, reason: "the table has key columns, not ids") }
        return try ids.take(self, tx)
    }

    private func checkLayout(_ row: inout RowWriter) throws(RecordError) {
        if row.isBegun(with: layout) { return }
        throw .invalidKey(table: schema.name, reason: "the row was begun with the layout of another table or version")
    }

    /// Inserts a row with the next id.
    private func append(
        _ row: inout RowWriter, _ batch: IndexBatch?, _ check: (any RowCheck)?, _ tx: borrowing WriteTransaction,
        _ changes: inout ChangeSet
    ) throws(RecordError) -> RowKey {
        try checkLayout(&row)
        let bytes = try row.finish(layout, over: nil)
        let new = try RowReader(bytes, layout)
        try checkElements(new)
        try check?.check(new, key: nil, changed: .all)
        var id = try ids.take(self, tx)
        // A row written through another catalogue of the same file may have the id; the counter is then read again from
        // the rows.
        while !(try enter(bytes, id, tx)) {
            ids.forget()
            id = try ids.take(self, tx)
        }
        let key = RowKey.rowID(id)
        let change = RowChange(key: key, old: nil, new: new)
        do throws(RecordError) {
            try addToIndexes(change, batch, &row, tx, &changes)
            try updateElements(change, tx)
            try updateText(change, batch, tx, &changes)
        } catch {
            do throws(StorageError) { _ = try tx.delete(KeyOrder.treeKey(id), in: rows) } catch let failure {
                // The first error is thrown; this one prevents a commit.
                tx.breakOff(failure)
            }
            throw brokenOff(error, tx)
        }
        changes.recordFresh(self, id)
        if changes.values != nil { changes.values?.note(self, key, old: nil, new: bytes) }
        return key
    }

    private func enter(
        _ bytes: UnsafeRawBufferPointer, _ id: Int64, _ tx: borrowing WriteTransaction
    ) throws(RecordError) -> Bool {
        do { return try tx.insert(bytes, for: KeyOrder.treeKey(id), in: rows) } catch { throw .storage(error) }
    }

    /// Finishes a row.
    ///
    /// - Parameters:
    ///   - old: the stored row that it replaces.
    ///   - source: the row whose values the unset columns get, instead of their defaults.
    private func change(
        of key: RowKey, _ row: inout RowWriter, from old: RowReader?, over source: RowReader?
    ) throws(RecordError) -> RowChange {
        let written = row.written
        let bytes = try row.finish(layout, over: source)
        let new = try RowReader(bytes, layout)
        if !isRowID { try checkKey(key, new, &row) }
        let changed = if let old { difference(old, new, among: written) } else { ColumnSet.all }
        try checkElements(new, changed)
        return RowChange(key: key, old: old, new: new, changed: changed)
    }

    /// Stores a row, and updates the indexes.
    private func store(
        _ change: RowChange, _ row: inout RowWriter, _ batch: IndexBatch?, _ tx: borrowing WriteTransaction,
        _ changes: inout ChangeSet
    ) throws(RecordError) {
        if let old = change.old {
            try checkStoredElements(old, change.key)
            // The entries of the old row must be in the indexes, or among the buffered changes.
            try batch?.flushNewRows(in: tx, changes: &changes)
        } else if case .rowID(let id) = change.key {
            try ids.note(id, self, tx)
        }
        do throws(RecordError) {
            if change.old != nil {
                try updateIndexes(change, batch, &row, tx, &changes)
            } else {
                try addToIndexes(change, batch, &row, tx, &changes)
            }
            try updateElements(change, tx)
            try updateText(change, batch, tx, &changes)
            try putRow(change, &row, tx)
        } catch { throw brokenOff(error, tx) }
        changes.record(self, change.key, change.old == nil ? .insert : .update, change.changed)
        if changes.values != nil {
            changes.values?.note(self, change.key, old: change.old?.wholeRow, new: change.new.bytes)
        }
    }

    private func putRow(
        _ change: RowChange, _ row: inout RowWriter, _ tx: borrowing WriteTransaction
    ) throws(RecordError) {
        do throws(StorageError) {
            switch change.key {
            case .rowID(let id): try tx.put(change.new.bytes, for: KeyOrder.treeKey(id), in: rows)
            case .bytes(let keyBytes):
                row.keys.clear()
                keyBytes.withUnsafeBytes { row.keys.append(raw: $0) }
                try tx.put(change.new.bytes, for: row.keys.raw, in: rows)
            }
        } catch { throw .storage(error) }
    }

    /// Returns the error of a change that may have reached some of the table's trees only. After an error of the
    /// engine, the transaction must not be committed.
    func brokenOff(_ error: RecordError, _ tx: borrowing WriteTransaction) -> RecordError {
        if case .storage(let failure) = error, hasIndexes {
            tx.breakOff(failure)
        }
        return error
    }

    private func oldRow(
        _ key: RowKey, _ row: inout RowWriter, _ tx: borrowing WriteTransaction
    ) throws(RecordError) -> RowReader? {
        if isRowID, case .rowID(let id) = key {
            return try recorded {
                guard let bytes = try tx.withValue(of: KeyOrder.treeKey(id), in: rows, { row.keepOld($0) }) else {
                    return nil
                }
                return try RowReader(bytes, layout)
            }
        }
        let view = tx.view
        return try recorded {
            guard let bytes = try withBytes(key, in: view, { row.keepOld($0) }) else { return nil }
            return try RowReader(bytes, layout)
        }
    }

    /// Returns the key of a row that is being written, from its key columns or their defaults.
    func keyOfDraft(_ row: inout RowWriter) throws(RecordError) -> RowKey {
        guard let draft = try row.draft() else {
            throw .invalidKey(table: schema.name, reason: "the row was not begun")
        }
        row.keys.clear()
        for slot in keySlots {
            let column = columns[Int(slot.ordinal)]
            if row.isUnset(slot), let value = column.type.coerced(column.defaultValue), !value.isNull {
                row.keys.append(value)
            } else if draft.address(slot) == nil {
                throw .nullViolation(table: schema.name, column: column.name)
            } else {
                row.keys.append(draft, slot)
            }
        }
        return .bytes(row.keys.bytes)
    }

    private func checkKey(_ key: RowKey, _ new: RowReader, _ row: inout RowWriter) throws(RecordError) {
        row.keys.clear()
        for slot in keySlots { row.keys.append(new, slot) }
        guard case .bytes(let bytes) = key, bytes == row.keys.bytes else {
            throw .invalidKey(table: schema.name, reason: "it differs from the row's key columns")
        }
        if bytes.count > Limits.keyBytes { throw keyTooLong(bytes.count) }
    }

    private func keyTooLong(_ bytes: Int) -> RecordError {
        .valueRefused(
            table: schema.name, column: keySlots.map { columns[Int($0.ordinal)].name }.joined(separator: ", "),
            reason:
                "the key has \(bytes) bytes, and at most \(Limits.keyBytes) are taken; use a shorter text as the key")
    }

    /// Returns the columns in which two rows differ.
    ///
    /// - Parameter written: the columns in which they may differ; `nil` for all.
    func difference(_ old: RowReader, _ new: RowReader, among written: UInt64?) -> ColumnSet {
        var changed = ColumnSet()
        if var rest = written {
            while rest != 0 {
                let slot = layout.allSlots[rest.trailingZeroBitCount]
                rest &= rest &- 1
                if !old.isSame(slot, as: new) { changed.insert(Int(slot.ordinal)) }
            }
            return changed
        }
        for slot in UnsafeBufferPointer(start: layout.allSlots, count: layout.columnCount)
        where !old.isSame(slot, as: new) {
            changed.insert(Int(slot.ordinal))
        }
        return changed
    }

    /// Inserts a new row's index entries, or buffers them in the batch.
    private func addToIndexes(
        _ change: RowChange, _ batch: IndexBatch?, _ row: inout RowWriter, _ tx: borrowing WriteTransaction,
        _ changes: inout ChangeSet
    ) throws(RecordError) {
        if let batch, !indexes.isEmpty {
            if try batch.collect(self, change.key, change.new, tx, &changes) { return }
            // Uniqueness depends on all other rows.
            try batch.flush(in: tx, changes: &changes)
        }
        try updateIndexes(change, nil, &row, tx, &changes)
    }

    /// Updates the indexes. Unique ones first, because they may refuse the row; their changes are then undone.
    private func updateIndexes(
        _ change: RowChange, _ batch: IndexBatch?, _ row: inout RowWriter, _ tx: borrowing WriteTransaction,
        _ changes: inout ChangeSet
    ) throws(RecordError) {
        if indexes.isEmpty || !change.concerns(indexedColumns) { return }
        var uniqueDone = 0
        for index in indexes where index.isUnique {
            if change.concerns(index.columns) {
                do {
                    try addUnique(index, change, &row, tx, &changes)
                } catch {
                    try revert(uniqueDone, change, &row, tx, &changes)
                    throw error
                }
            }
            uniqueDone += 1
        }
        for index in indexes where change.concerns(index.columns) {
            if let batch, let old = change.old, !index.isUnique {
                try batch.replace(index, change.key, old, change.new, tx)
            } else {
                try replaceEntry(index, change, &row, tx, &changes)
            }
        }
    }

    /// Replaces the entry of the old row by that of the new one, unless that has been inserted before.
    private func replaceEntry(
        _ index: IndexHandle, _ change: RowChange, _ row: inout RowWriter, _ tx: borrowing WriteTransaction,
        _ changes: inout ChangeSet
    ) throws(RecordError) {
        let isHeld = try index.holds(change.new, change.key)
        let old = try change.old(in: index)
        if old == nil && !isHeld { return }
        do throws(StorageError) {
            index.encodeEntry(change.new, change.key, into: &row.keys)
            if let old {
                index.encodeEntry(old, change.key, into: &row.oldKeys)
                if isHeld && row.hasSameKeys { return }
                try removeEntry(row.oldKeys.raw, index, change.key, tx, &changes)
            }
            if index.isUnique || !isHeld { return }
            let middle = row.keys.count
            index.appendValue(change.key, to: &row.keys)
            try tx.put(
                row.keys.raw(from: middle, to: row.keys.count), for: row.keys.raw(from: 0, to: middle),
                in: index.tree)
        } catch { throw .storage(error) }
    }

    /// Encodes the new row's entry of a unique index into the writer's keys; returns `nil` if there is none, or the old
    /// row has the same.
    @inline(__always)
    private func encodeNewEntry(
        _ index: IndexHandle, _ change: RowChange, _ row: inout RowWriter
    ) throws(RecordError) -> IndexHandle.Form? {
        guard try index.holds(change.new, change.key) else { return nil }
        let form = index.encodeEntry(change.new, change.key, into: &row.keys)
        if let old = try change.old(in: index) {
            index.encodeEntry(old, change.key, into: &row.oldKeys)
            if row.hasSameKeys { return nil }
        }
        return form
    }

    private func addUnique(
        _ index: IndexHandle, _ change: RowChange, _ row: inout RowWriter, _ tx: borrowing WriteTransaction,
        _ changes: inout ChangeSet
    ) throws(RecordError) {
        guard let form = try encodeNewEntry(index, change, &row) else { return }
        if form.isCut && !form.hasNull, let existing = try equalRow(index, change.new, change.key, tx.view) {
            if !changes.defersUnique { throw violation(index, change.new, existing) }
            changes.clashes.noteLong(change.key, index, self)
        }
        let middle = row.keys.count
        index.appendValue(change.key, to: &row.keys)
        let entry = row.keys.raw(from: 0, to: middle)
        let value = row.keys.raw(from: middle, to: row.keys.count)
        let isNew = try engine { () throws(StorageError) in try tx.insert(value, for: entry, in: index.tree) }
        if isNew { return }
        if !changes.defersUnique { throw violation(index, change.new, try owner(of: [UInt8](entry), index, tx.view)) }
        changes.clashes.note(change.key, [UInt8](entry), index, self)
    }

    /// Returns the row of a unique index's entry.
    private func owner(of entry: [UInt8], _ index: IndexHandle, _ view: Snapshot) throws(RecordError) -> RowKey {
        let stored = try engine { () throws(StorageError) in try view.get(entry, in: index.tree) } ?? []
        return try index.rowKey(ofValue: stored, isRowID: isRowID, table: schema.name)
    }

    /// Returns the error for a stored row whose entry of a unique index another row has.
    func violation(
        _ index: IndexHandle, entry: [UInt8], value: [UInt8], _ view: Snapshot
    ) throws(RecordError) -> RecordError {
        let key = try index.rowKey(ofValue: value, isRowID: isRowID, table: schema.name)
        let existing = try owner(of: entry, index, view)
        return try recorded { try withRow(key, in: view) { violation(index, $0, existing) } }
            ?? .indexDamaged(
                table: schema.name, index: index.schema.name,
                reason: "it has an entry of row \(key.text(in: schema)), which is missing")
    }

    func violation(_ index: IndexHandle, _ new: RowReader, _ existing: RowKey) -> RecordError {
        .uniqueViolation(
            table: schema.name, columns: index.schema.columns.map(\.name),
            values: index.parts.map { new.value($0.slot) },
            existing: NamedKey(existing, in: schema))
    }

    /// Returns a row with equal values, among rows whose truncated entries are equal.
    func equalRow(
        _ index: IndexHandle, _ new: RowReader, _ key: RowKey?, _ view: Snapshot
    ) throws(RecordError) -> RowKey? {
        var prefix = KeyBuffer()
        index.encodeColumns(new, into: &prefix)
        let wanted = index.parts.map { new.value($0.slot) }
        return try recorded {
            var cursor = try view.cursor(in: index.tree)
            var isThere = try cursor.seek(prefix.bytes)
            while isThere, cursor.key.starts(with: prefix.bytes) {
                let other = try index.rowKey(ofValue: cursor.value(), isRowID: isRowID, table: schema.name)
                if other != key {
                    let isEqual = try withRow(other, in: view) { row in
                        zip(index.parts, wanted).allSatisfy { part, value in
                            let theirs = row.value(part.slot)
                            if part.noCase, case .text(let a) = theirs, case .text(let b) = value {
                                return Value.text(Folding.folded(a)) == .text(Folding.folded(b))
                            }
                            return theirs == value
                        }
                    }
                    if isEqual == true { return other }
                }
                isThere = try cursor.next()
            }
            return nil
        }
    }

    /// Removes the entries of the first `count` unique indexes, after a later one has refused the row.
    private func revert(
        _ count: Int, _ change: RowChange, _ row: inout RowWriter, _ tx: borrowing WriteTransaction,
        _ changes: inout ChangeSet
    ) throws(RecordError) {
        for index in indexes.filter(\.isUnique).prefix(count) where change.concerns(index.columns) {
            guard try encodeNewEntry(index, change, &row) != nil else { continue }
            do throws(StorageError) {
                try removeEntry(row.keys.raw, index, change.key, tx, &changes)
            } catch { throw .storage(error) }
        }
    }
}
