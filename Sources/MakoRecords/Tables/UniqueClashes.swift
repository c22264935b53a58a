import MakoStorage

/// Rows whose entry of a unique index another row has, while the call runs that wrote them: what two rows share is refused at the call's end
/// (decision 69).
///
/// The tree keeps the entry of the row that had it first. The row that has waited longest gets it when that one leaves it, so that at any time
/// exactly those rows wait that a check would refuse.
struct UniqueClashes: Sendable {
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

    /// What becomes of the entry of a row that leaves it.
    enum Leaving {
        case deleted
        /// Another row waits for it.
        case passedOn(RowKey)
        /// The row never had it.
        case waited
    }

    /// Whether rows wait, rather than being refused at once.
    var isDeferred = false
    /// By the entries, each list in the order in which its rows came.
    private var waiting: [Place: [Waiting]] = [:]
    /// Rows whose values are too long for an entry of their own, and were those of another row when they were written. Both have entries.
    private var long: [Waiting] = []
    /// How many rows were noted so far.
    private var noted = 0
    /// Whether a row may be missing where an index finds the rows that refer to another row.
    private(set) var hidesReferences = false

    var isEmpty: Bool { waiting.isEmpty && long.isEmpty }

    /// Has a row wait for an entry that another row has.
    mutating func note(_ row: RowKey, _ entry: [UInt8], _ index: IndexHandle, _ table: TableHandle) {
        let place = Place(table: table.id, index: index.id, entry: entry)
        waiting[place, default: []].append(Waiting(row: row, number: noted, table: table, index: index))
        noted += 1
        hidesReferences = hidesReferences || index.mayFindReferences(table)
    }

    /// Has a row be compared at the end, by whole values.
    mutating func noteLong(_ row: RowKey, _ index: IndexHandle, _ table: TableHandle) {
        long.append(Waiting(row: row, number: noted, table: table, index: index))
        noted += 1
    }

    /// Takes a row from an entry of a unique index.
    mutating func leave(_ row: RowKey, _ entry: [UInt8], _ index: IndexHandle, _ table: TableHandle) -> Leaving {
        let place = Place(table: table.id, index: index.id, entry: entry)
        guard var rows = waiting.removeValue(forKey: place) else { return .deleted }
        let own = rows.firstIndex { $0.row == row }
        let next = rows.remove(at: own ?? 0)
        if !rows.isEmpty { waiting[place] = rows }
        if waiting.isEmpty { hidesReferences = false }
        return own == nil ? .passedOn(next.row) : .waited
    }

    /// Forgets the rows of a table that are all gone.
    mutating func forget(_ table: TableHandle) {
        if isEmpty { return }
        waiting = waiting.filter { $0.key.table != table.id }
        long.removeAll { $0.table.id == table.id }
        if waiting.isEmpty { hidesReferences = false }
    }

    /// The error of the row that was noted first among those that share their values with another one.
    ///
    /// - Returns: nil: there is none, and nothing is noted any more.
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
            return nil
        }
        return try row.table.violation(row.index, entry: entry, value: row.index.entryValue(row.row), view)
    }
}

extension ChangeSet {
    /// Whether rows may share values of unique indexes until ``settleUnique(_:)``. Its user takes all of the set's changes back when that refuses.
    package var defersUnique: Bool {
        get { clashes.isDeferred }
        set { clashes.isDeferred = newValue }
    }

    /// Whether some rows may share values of a unique index at this moment: then its entries do not lead to all of them.
    package var hasUniqueClashes: Bool { !clashes.isEmpty }

    /// Whether such an index may find the rows that refer to another one.
    package var hidesReferences: Bool { clashes.hidesReferences }

    /// - Throws: `RecordError.uniqueViolation` when two rows share values of a unique index.
    package mutating func settleUnique(_ view: Snapshot) throws(RecordError) {
        if clashes.isEmpty { return }
        if let error = try clashes.violation(view) { throw error }
    }
}

extension IndexHandle {
    /// Whether a query for the rows that refer to another row may be answered by the index.
    fileprivate func mayFindReferences(_ table: TableHandle) -> Bool {
        // Equality with a key implies no NULL.
        if condition?.asksForNull == true { return false }
        return table.columns.contains { $0.target != nil && columns.contains($0.ordinal) }
    }
}

extension TableHandle {
    /// Takes the entry of a row out of an index. The next row that waits for it gets it.
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

    /// The rows that have the key or unique values of the row being written, each once.
    ///
    /// - Throws: `nullViolation`, `typeMismatch` for a row that cannot be stored whatever else there is.
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

    /// The error of a row of long values; nil: no other row has them.
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
