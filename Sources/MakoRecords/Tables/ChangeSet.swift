/// What happened to a row in a transaction.
public enum ChangeKind: UInt8, Sendable, Hashable {
    case insert, update, delete
}

/// The outcome of a transaction for one row.
public struct Change: Sendable, Hashable {
    public let table: String
    public let key: RowKey
    public let kind: ChangeKind
    /// For an update, the columns whose values differ; otherwise every column.
    public let changedColumns: ColumnSet
}

/// What a transaction did, row by row, each row once with its final state: insert and update make an insert, insert and delete
/// nothing, update and delete a delete, delete and insert an update. In the order in which the rows were first touched.
///
/// A value: give a nested transaction a set of its own and ``append(_:)`` it when the nested one succeeds.
public struct ChangeSet: Sendable {
    private struct Entry {
        var table: Int32
        var kind: ChangeKind
        /// The row was inserted and deleted again.
        var isVoid = false
        /// To how many rows with ids in a row this happened, the first being the key.
        var run: Int32 = 1
        var key: RowKey
        var columns: ColumnSet
    }

    private var tables: [String] = []
    private var tableOfID: [UInt32: Int32] = [:]
    private var lastTable: (id: UInt32, index: Int32)?
    private var entries: [Entry] = []
    private var voids = 0
    /// Rows beyond the first of each run.
    private var followers = 0
    /// The first entries by their keys. Rows that are only appended never need it, so it is built when first asked,
    /// and from then on these entries are of one row each.
    private var places = ChangePlaces()
    /// Where all rows are of one table and their ids ascend, as those of a walk do: the table and the highest id. A higher one is new
    /// without being looked for.
    private var ascent: (table: Int32, top: Int64)?
    private var isAscending = true
    private var hasDeletes = false
    /// The table of the last entry and the id that goes on with it; table -1: none does.
    private var runTable: Int32 = -1
    private var runNext: Int64 = 0
    /// The rows' values, where somebody asked for them.
    var values: ValueLog?
    /// Rows that share values of unique indexes with others for now.
    var clashes = UniqueClashes()

    public init() {}

    /// How many rows changed.
    public var count: Int { entries.count - voids + followers }
    public var isEmpty: Bool { count == 0 }
    /// The names of the tables whose rows were touched.
    public var tableNames: [String] { tables }

    public var changes: [Change] {
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

    /// Calls a closure with the rows in order, those that were inserted under ids in a row together.
    func forEachRun(_ body: (_ table: String, ChangeKind, ColumnSet, RowKey, _ count: UInt32) -> Void) {
        for entry in entries where !entry.isVoid {
            body(tables[Int(entry.table)], entry.kind, entry.columns, entry.key, UInt32(max(entry.run, 1)))
        }
    }

    private static func forEachKey(of entry: Entry, _ body: (RowKey) -> Void) {
        guard entry.run > 1, case .rowID(let first) = entry.key else { return body(entry.key) }
        for step in 0..<Int64(entry.run) { body(.rowID(first + step)) }
    }

    public mutating func removeAll() { self = ChangeSet() }

    /// Adds what happened after this.
    public mutating func append(_ later: ChangeSet) {
        if let log = later.values { values?.append(log) }
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

    /// A row that was not there before this transaction and that it has not touched yet.
    mutating func recordFresh(_ table: TableHandle, _ id: Int64) {
        let number = number(table)
        if !goOn(number, id, .insert, .all) {
            append(Entry(table: number, kind: .insert, key: .rowID(id), columns: .all))
        }
    }

    /// Adds a row that has no entry yet to the last one, if the same happened to the rows of that and their ids lead up to it.
    private mutating func goOn(_ table: Int32, _ id: Int64, _ kind: ChangeKind, _ columns: ColumnSet) -> Bool {
        // No run goes on from the highest id to the lowest.
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

    /// Whether no row up to now can be this one.
    private func isBeyond(_ table: Int32, _ id: Int64) -> Bool {
        guard let ascent else { return entries.isEmpty }
        return ascent.table == table && ascent.top < id
    }

    /// Gives each row of a run an entry of its own.
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
        // The last entry has its place by now: it stands for one row.
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
            // It is not there: it can only come again.
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

/// What the rows that statements store in a table must hold, besides what the types of its columns say: the values that a program's types can
/// read.
public protocol RowCheck: AnyObject, Sendable {
    /// Looks at a row before anything of it is stored.
    ///
    /// - Parameters:
    ///   - row: as it is to be stored, all columns together.
    ///   - key: nil: the table gives the row a key when it stores it.
    ///   - changed: the columns that may differ from the row that is there.
    /// - Throws: `RecordError.valueRefused`.
    func check(_ row: RowReader, key: RowKey?, changed: ColumnSet) throws(RecordError)
}
