import MakoStorage

/// Rows whose entry in a unique index another row has, within one statement: unique violations are checked at its end
/// (decision 69).
///
/// The tree has the entry of the first row. When that row gives it up, the longest waiting one gets it, so that at any
/// time exactly the rows that a check would refuse are waiting.
@usableFromInline package struct UniqueClashes: Sendable {
    private struct Place: Hashable {
        let table: UInt32
        let index: UInt32
        let entry: [UInt8]
    }

    private struct Waiting {
        let row: RowKey
        let number: Int
        let table: TableHandle
        let index: IndexHandle
    }

    /// The outcome for an entry that a row gives up.
    enum Leaving {
        case deleted
        /// Another waiting row gets it.
        case passedOn(RowKey)
        /// The row was waiting, and did not have it.
        case waited
    }

    /// Whether conflicting rows wait instead of being refused at once.
    @usableFromInline package var isDeferred = false
    /// By the entries, each list in the order of the rows.
    private var waiting: [Place: [Waiting]] = [:]
    /// Rows with truncated entries that were equal to those of another row when they were written. Both have entries.
    private var long: [Waiting] = []
    /// The number of rows recorded so far.
    private var noted = 0
    /// Whether an index that finds referring rows may lack some.
    @usableFromInline package private(set) var hidesReferences = false
    /// Stored, because it is read for each row.
    @usableFromInline package private(set) var isEmpty = true

    /// Records a row that waits for an entry of another row.
    mutating func note(_ row: RowKey, _ entry: [UInt8], _ index: IndexHandle, _ table: TableHandle) {
        let place = Place(table: table.id, index: index.id, entry: entry)
        waiting[place, default: []].append(Waiting(row: row, number: noted, table: table, index: index))
        noted += 1
        isEmpty = false
        hidesReferences = hidesReferences || index.mayFindReferences(table)
    }

    /// Records a row whose whole values must be compared at the end.
    mutating func noteLong(_ row: RowKey, _ index: IndexHandle, _ table: TableHandle) {
        long.append(Waiting(row: row, number: noted, table: table, index: index))
        noted += 1
        isEmpty = false
    }

    /// Removes a row from an entry of a unique index.
    mutating func leave(_ row: RowKey, _ entry: [UInt8], _ index: IndexHandle, _ table: TableHandle) -> Leaving {
        let place = Place(table: table.id, index: index.id, entry: entry)
        guard var rows = waiting.removeValue(forKey: place) else { return .deleted }
        let own = rows.firstIndex { $0.row == row }
        let next = rows.remove(at: own ?? 0)
        if !rows.isEmpty { waiting[place] = rows }
        noteEnd()
        return own == nil ? .passedOn(next.row) : .waited
    }

    /// Removes all rows of a table that has been emptied.
    mutating func forget(_ table: TableHandle) {
        if isEmpty { return }
        waiting = waiting.filter { $0.key.table != table.id }
        long.removeAll { $0.table.id == table.id }
        noteEnd()
    }

    private mutating func noteEnd() {
        isEmpty = waiting.isEmpty && long.isEmpty
        if waiting.isEmpty { hidesReferences = false }
    }

    /// Returns the error of the first recorded row that shares its values with another one.
    ///
    /// - Returns: `nil` if there is none; all records are then discarded.
    mutating func violation(_ view: Snapshot) throws(RecordError) -> RecordError? {
        if isEmpty { return nil }
        var first: (row: Waiting, entry: [UInt8])?
        for (place, rows) in waiting {
            if let row = rows.first, row.number < first?.row.number ?? .max { first = (row, place.entry) }
        }
        for row in long where row.number < first?.row.number ?? .max {
            if let error = try row.table.violation(row.index, ofLong: row.row, view) { return error }
        }
        guard let (row, entry) = first else {
            long = []
            noteEnd()
            return nil
        }
        return try row.table.violation(row.index, entry: entry, value: row.index.entryValue(row.row), view)
    }
}

extension ChangeSet {
    /// Whether rows may share values of unique indexes until ``settleUnique(_:)``. If that throws, the caller must undo
    /// all changes of the set.
    @inlinable package var defersUnique: Bool {
        get { clashes.isDeferred }
        set { clashes.isDeferred = newValue }
    }

    /// Whether rows share values of a unique index at present, so that its entries do not lead to all of them.
    @inlinable package var hasUniqueClashes: Bool { !clashes.isEmpty }

    /// Whether such an index may be used to find referring rows.
    @inlinable package var hidesReferences: Bool { clashes.hidesReferences }

    /// Checks the deferred rows.
    ///
    /// - Throws: `RecordError.uniqueViolation` if two rows share values of a unique index.
    package mutating func settleUnique(_ view: Snapshot) throws(RecordError) {
        if clashes.isEmpty { return }
        if let error = try clashes.violation(view) { throw error }
    }
}

extension IndexHandle {
    /// Returns whether a query for referring rows may use the index.
    fileprivate func mayFindReferences(_ table: TableHandle) -> Bool {
        // Equality with a key excludes NULL.
        if condition?.testsForNull == true { return false }
        return table.columns.contains { $0.target != nil && columns.contains($0.ordinal) }
    }
}

extension TableHandle {
    /// Removes the entry of a row from an index; the next row that waits for it gets it.
    func removeEntry(
        _ entry: UnsafeRawBufferPointer, _ index: IndexHandle, _ key: RowKey, _ tx: borrowing WriteTransaction,
        _ changes: inout ChangeSet
    ) throws(StorageError) {
        if changes.clashes.isEmpty || !index.isUnique {
            _ = try tx.delete(entry, in: index.tree)
            return
        }
        let bytes = [UInt8](entry)
        switch changes.clashes.leave(key, bytes, index, self) {
        case .deleted: _ = try tx.delete(bytes, in: index.tree)
        case .passedOn(let next): try tx.put(index.entryValue(next), for: bytes, in: index.tree)
        case .waited: break
        }
    }

    /// Returns the rows that have the key or unique values of the new row, each once.
    ///
    /// - Throws: `nullViolation`, `typeMismatch` for a row that cannot be stored in any case.
    func conflicting(
        _ row: inout RowWriter, key: RowKey?, view: Snapshot
    ) throws(RecordError) -> [RowKey] {
        var found: [RowKey] = []
        let own: RowKey? = if let key { key } else { isRowID ? nil : try keyOfDraft(&row) }
        if let own, try contains(own, in: view) { found.append(own) }
        let new = try RowReader(try row.finish(), layout)
        for index in indexes where index.isUnique {
            if let owner = try owner(of: new, key: own, in: index, view), !found.contains(owner) { found.append(owner) }
        }
        return found
    }

    /// Returns the error of a row with a truncated entry; `nil` if no other row has its values.
    func violation(_ index: IndexHandle, ofLong key: RowKey, _ view: Snapshot) throws(RecordError) -> RecordError? {
        try recorded {
            try withRow(key, in: view) { row -> RecordError? in
                guard try index.holds(row, key) else { return nil }
                var entry = KeyBuffer()
                let form = index.encodeColumns(row, into: &entry)
                guard form.isCut, !form.hasNull, let other = try equalRow(index, row, key, view) else { return nil }
                return violation(index, row, other)
            }
        } ?? nil
    }
}
