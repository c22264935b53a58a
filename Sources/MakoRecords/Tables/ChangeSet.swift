/// The kind of a row's change.
@usableFromInline
package enum ChangeKind: UInt8, Sendable, Hashable {
    case insert, update, delete
}

/// The net change of one row in a transaction.
package struct Change: Sendable, Hashable {
    /// The name of the table.
    package let table: String
    /// The key of the row.
    package let key: RowKey
    /// The kind of the change.
    package let kind: ChangeKind
    /// For an update, the columns whose values differ; otherwise every column.
    package let changedColumns: ColumnSet
}

/// The changes of a transaction, each row once with its net change: insert and update are an insert, insert and delete
/// nothing, update and delete a delete, delete and insert an update. Ordered by the first change of each row.
///
/// A value: a nested transaction records in a set of its own, which ``append(_:)`` adds after it has succeeded.
@usableFromInline
package struct ChangeSet: Sendable {
    private struct Entry {
        var table: Int32
        var kind: ChangeKind
        /// Whether the row was inserted and deleted again.
        var isVoid = false
        /// The number of rows with consecutive ids that the entry covers; the key is the first.
        var run: Int32 = 1
        var key: RowKey
        var columns: ColumnSet
    }

    private var tables: [String] = []
    private var tableOfID: [UInt32: Int32] = [:]
    private var lastTable: (id: UInt32, index: Int32)?
    private var entries: [Entry] = []
    private var voids = 0
    /// The number of rows beyond the first of each run.
    private var followers = 0
    /// The entries by their keys. Built on demand, because appended rows do not need it; after that each of these
    /// entries is one row.
    private var places = ChangePlaces()
    /// If all rows are of one table with ascending ids, as those of a scan: the table and the highest id. A higher id
    /// is new without a lookup.
    private var ascent: (table: Int32, top: Int64)?
    private var isAscending = true
    private var hasDeletes = false
    /// The table of the last entry and the id that would extend it; table -1 for none.
    private var runTable: Int32 = -1
    private var runNext: Int64 = 0
    /// The row images, if requested.
    var values: RowImageLog?
    /// Rows that temporarily share values of unique indexes.
    @usableFromInline package var clashes = UniqueClashes()

    /// Makes an empty change set.
    package init() {}

    /// The number of changed rows.
    package var count: Int { entries.count - voids + followers }
    /// Whether nothing has changed.
    package var isEmpty: Bool { count == 0 }
    /// The names of the changed tables.
    package var tableNames: [String] { tables }

    /// The changes, in the order of the first change of each row.
    ///
    /// - Complexity: O(n)
    package var changes: [Change] {
        var changes: [Change] = []
        changes.reserveCapacity(count)
        for entry in entries where !entry.isVoid {
            let table = tables[Int(entry.table)]
            ChangeSet.forEachKey(of: entry) {
                changes.append(Change(table: table, key: $0, kind: entry.kind, changedColumns: entry.columns))
            }
        }
        return changes
    }

    /// Calls a closure with the changes in order, one call for each run of consecutive ids.
    func forEachRun(_ body: (_ table: String, ChangeKind, ColumnSet, RowKey, _ count: UInt32) -> Void) {
        for entry in entries where !entry.isVoid {
            body(tables[Int(entry.table)], entry.kind, entry.columns, entry.key, UInt32(max(entry.run, 1)))
        }
    }

    private static func forEachKey(of entry: Entry, _ body: (RowKey) -> Void) {
        guard entry.run > 1, case .rowID(let first) = entry.key else { return body(entry.key) }
        for step in 0..<Int64(entry.run) { body(.rowID(first + step)) }
    }

    /// Removes all changes.
    package mutating func removeAll() { self = ChangeSet() }

    /// Adds later changes.
    package mutating func append(_ later: ChangeSet) {
        if let log = later.values { values?.append(log) }
        if tables.isEmpty, later.voids == 0 {
            let (log, waiting) = (values, clashes)
            self = later
            (values, clashes) = (log, waiting)
            return
        }
        for entry in later.entries where !entry.isVoid {
            let name = later.tables[Int(entry.table)]
            let table = tables.firstIndex(of: name).map { Int32($0) } ?? add(name)
            if entry.kind == .insert && !hasDeletes {
                var inserted = entry
                inserted.table = table
                append(inserted)
            } else {
                ChangeSet.forEachKey(of: entry) { record(table, $0, entry.kind, entry.columns) }
            }
        }
    }

    /// Records the insertion of a row that is new, and that this transaction has not changed before.
    mutating func recordFresh(_ table: TableHandle, _ id: Int64) {
        let number = number(table)
        if !goOn(number, id, .insert, .all) {
            append(Entry(table: number, kind: .insert, key: .rowID(id), columns: .all))
        }
    }

    /// Extends the last entry by a row without an entry, if it has the same change and the next id.
    private mutating func goOn(_ table: Int32, _ id: Int64, _ kind: ChangeKind, _ columns: ColumnSet) -> Bool {
        // A run does not wrap around from the highest id to the lowest.
        guard table == runTable, id == runNext, id > .min else { return false }
        let last = entries.count - 1
        guard entries[last].kind == kind, entries[last].columns == columns,
            entries[last].run < .max
        else { return false }
        entries[last].run += 1
        runNext = id &+ 1
        followers += 1
        if isAscending { ascent = (table, id) }
        return true
    }

    private mutating func append(_ entry: Entry) {
        if isAscending, case .rowID(let id) = entry.key, isBeyond(entry.table, id) {
            ascent = (entry.table, id + Int64(entry.run - 1))
        } else {
            isAscending = false
        }
        entries.append(entry)
        followers += Int(entry.run) - 1
        runTable = -1
        if case .rowID(let id) = entry.key { (runTable, runNext) = (entry.table, id &+ Int64(entry.run)) }
    }

    /// Returns whether no recorded row can be this one.
    private func isBeyond(_ table: Int32, _ id: Int64) -> Bool {
        guard let ascent else { return entries.isEmpty }
        return ascent.table == table && ascent.top < id
    }

    /// Expands each run to one entry for each row.
    private mutating func expandRuns() {
        if followers == 0 { return }
        let indexed = places.count
        let runs = Array(entries[indexed...])
        entries.removeSubrange(indexed...)
        for entry in runs {
            var single = entry
            single.run = 1
            ChangeSet.forEachKey(of: entry) {
                single.key = $0
                entries.append(single)
            }
        }
        followers = 0
    }

    /// Records the deletion of rows with distinct keys, except some of them.
    mutating func recordDeletions(_ table: TableHandle, _ keys: [RowKey], except missing: Set<RowKey>) {
        let isFirst = !tables.contains(table.schema.name)
        let number = number(table)
        hasDeletes = true
        let keys = missing.isEmpty ? keys : keys.filter { !missing.contains($0) }
        if !isFirst {
            for key in keys { record(number, key, .delete, .all) }
            return
        }
        var place = 0
        while place < keys.count {
            let run = min(RowKey.consecutive(keys, from: place), Int(Int32.max))
            append(Entry(table: number, kind: .delete, run: Int32(run), key: keys[place], columns: .all))
            place += run
        }
    }

    mutating func record(_ table: TableHandle, _ key: RowKey, _ kind: ChangeKind, _ columns: ColumnSet) {
        record(number(table), key, kind, columns)
    }

    private mutating func number(_ table: TableHandle) -> Int32 {
        if let lastTable, lastTable.id == table.id { return lastTable.index }
        let index = tableOfID[table.id] ?? add(table.schema.name)
        tableOfID[table.id] = index
        lastTable = (table.id, index)
        return index
    }

    private mutating func add(_ name: String) -> Int32 {
        if let index = tables.firstIndex(of: name) { return Int32(index) }
        tables.append(name)
        return Int32(tables.count - 1)
    }

    private mutating func place(of key: RowKey, in table: Int32) -> Int? {
        if isAscending, case .rowID(let id) = key, isBeyond(table, id) { return nil }
        expandRuns()
        // The last entry is indexed now, so that it must not grow to a run.
        runTable = -1
        if places.count < entries.count { index(entries) }
        return places.number(ChangePlaces.hash(table, key)) { number in
            entries[number].table == table && entries[number].key == key
        }
    }

    private mutating func index(_ entries: [Entry]) {
        while places.count < entries.count {
            places.append { ChangePlaces.hash(entries[$0].table, entries[$0].key) }
        }
    }

    private mutating func record(_ table: Int32, _ key: RowKey, _ kind: ChangeKind, _ columns: ColumnSet) {
        if kind == .insert && !hasDeletes {
            append(Entry(table: table, kind: .insert, key: key, columns: .all))
            return
        }
        if kind == .delete { hasDeletes = true }
        guard let place = place(of: key, in: table) else {
            let columns = kind == .update ? columns : .all
            if case .rowID(let id) = key, goOn(table, id, kind, columns) { return }
            append(Entry(table: table, kind: kind, key: key, columns: columns))
            return
        }
        if entries[place].isVoid {
            // The row does not exist: it can only be inserted again.
            entries[place].isVoid = false
            entries[place].kind = kind
            voids -= 1
            return
        }
        switch (entries[place].kind, kind) {
        case (.insert, .delete):
            entries[place].isVoid = true
            voids += 1
        case (.update, .update):
            entries[place].columns.formUnion(columns)
        case (.update, .delete):
            entries[place].kind = .delete
            entries[place].columns = .all
        case (.delete, .insert), (.delete, .update):
            entries[place].kind = .update
            entries[place].columns = .all
        case (.insert, _), (.update, .insert), (.delete, .delete):
            break
        }
    }
}

/// Validates the rows that statements store, beyond the column types: values must be readable by the program's types.
package protocol RowCheck: AnyObject, Sendable {
    /// Validates a row before any of it is stored.
    ///
    /// - Parameters:
    ///   - row: the row with all its columns.
    ///   - key: the key, or `nil` if the table assigns one on insertion.
    ///   - changed: the columns that may differ from the stored row.
    /// - Throws: `RecordError.valueRefused`.
    func check(_ row: RowReader, key: RowKey?, changed: ColumnSet) throws(RecordError)
}
