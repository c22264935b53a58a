import MakoStorage

/// A table whose rows go over to another one, and the keys that they get there.
final class MergedTable {
    let record: TableRecord
    private let target: EntitySchema
    private let targetID: UInt32
    private let keepsIDs: Bool
    /// The new ids by the old ones; nil: rows keep theirs.
    private(set) var ids: [Int64: Int64]?
    /// Whether rows of any table refer to those that go over.
    private var isReferredTo = false
    let rows: Int

    /// - Parameter next: the id from which on the target has none, and how that changes.
    init(
        _ record: TableRecord, into target: EntitySchema, _ targetID: UInt32, keepsIDs: Bool, next: inout Int64?,
        _ idTree: Tree, _ view: Snapshot
    ) throws(RecordError) {
        self.record = record
        self.target = target
        self.targetID = targetID
        self.keepsIDs = keepsIDs
        var bare = record
        bare.indexes = []
        let table = try StoredCatalogue.handle(bare, idTree, RowIDSequence(), view)
        rows = try table.count(in: view)
        guard rows > 0, table.isRowID, !keepsIDs, let free = next else { return }
        let old = try table.allKeys(in: view).compactMap(\.rowID)
        guard let first = old.first, let last = old.last else { return }
        if free == 1 || first >= free, last < .max {
            next = max(free, last + 1)
            return
        }
        guard Int64.max - free > Int64(old.count) else { throw .idsExhausted(table: target.name) }
        ids = Dictionary(uniqueKeysWithValues: zip(old, free..<(free + Int64(old.count))))
        next = free + Int64(old.count)
    }

    private var hasIDs: Bool { record.schema.idColumn != nil }

    private func refuse(_ reason: String) -> RecordError { .migrationFailed(table: target.name, reason: reason) }

    // MARK: Keys

    private func id(of old: Int64) -> Int64 { ids?[old] ?? old }

    /// The key that a row gets; nil: its columns or the table tell.
    func key(of old: RowKey, given: Value?, table: String) throws(RecordError) -> RowKey? {
        guard target.idColumn != nil else { return nil }
        if let given {
            guard case .integer(let id) = given else {
                throw .invalidKey(table: table, reason: "\(given) is given as the id of row \(old)")
            }
            return .rowID(id)
        }
        if case .rowID(let id) = old { return .rowID(self.id(of: id)) }
        return nil
    }

    /// Whoever refers to a row must find it under its new key.
    func check(_ old: RowKey, _ new: RowKey, table: String) throws(RecordError) {
        if !isReferredTo || expected(old) == new { return }
        throw refuse(
            "others refer to row \(old) of \(record.schema.name), which would get another key, \(new); leave the key as it is"
        )
    }

    private func expected(_ old: RowKey) -> RowKey {
        if case .rowID(let id) = old { return .rowID(self.id(of: id)) }
        return old
    }

    // MARK: References

    /// What a column that refers to these rows is to hold.
    func followed(_ value: Value, _ column: ColumnSchema, of table: String) throws(RecordError) -> Value {
        if value.isNull { return value }
        isReferredTo = true
        try checkKeys(column, table)
        guard column.type == .reference, case .integer(let id) = value, !sabotaged("referencesNotFollowed") else {
            return value
        }
        return .integer(self.id(of: id))
    }

    private func checkKeys(_ column: ColumnSchema, _ table: String) throws(RecordError) {
        if hasIDs != (target.idColumn != nil) {
            throw refuse(
                "\(table).\(column.name) refers to rows of \(record.schema.name), whose keys are of another kind; remove the property, or the references, before"
            )
        }
    }

    /// A key of a row in a column of keys, whose target is said by its old name.
    func followed(
        _ number: UInt32, _ key: RowKey, _ column: ColumnSchema, isTarget: Bool, willBeTarget: Bool, of table: String
    ) throws(RecordError) -> (UInt32, RowKey)? {
        guard isTarget && number == 0 || number == record.id else {
            // Rows of the table that takes the others over are the column's own from now on.
            return willBeTarget && number == targetID && targetID != 0 ? (0, key) : nil
        }
        isReferredTo = true
        try checkKeys(column, table)
        return (willBeTarget ? 0 : targetID, expected(key))
    }

    var targetName: String { target.name }
}

/// Reads the rows of a table as its closure gives them to another one.
struct MergedRows {
    let table: TableHandle
    let layout: RowLayout
    private let names: ColumnNames
    private let body: ((OldRow) throws -> [String: Value])?
    private let live: [ColumnSchema]
    private let access: CipherAccess

    init(
        _ source: TableRecord, _ merge: StepProgram.Merge, into target: String, _ access: CipherAccess,
        _ idTree: Tree, _ view: Snapshot
    ) throws(RecordError) {
        self.access = access
        var bare = source
        bare.indexes = []
        table = try StoredCatalogue.handle(bare, idTree, RowIDSequence(), view)
        layout = RowLayout(
            table: source.schema.name, tableID: source.id, version: UInt32(truncatingIfNeeded: source.schema.version),
            columns: source.columns, positions: source.columns)
        live = source.schema.liveColumns
        body = merge.body
        var slots: [String: Int] = [:]
        for column in source.columns where !column.isDead && (!column.isRetired || slots[column.name] == nil) {
            if column.isRetired && live.contains(where: { $0.name == column.name }) { continue }
            slots[column.name] = column.ordinal
        }
        names = ColumnNames(
            table: source.schema.name, idColumn: source.schema.idColumn, slots: slots, live: live.map(\.name))
        if body != nil { return }
        for column in live where merge.names.slots[column.name] == nil {
            throw .migrationFailed(
                table: target,
                reason:
                    "\(source.schema.name).\(column.name) has no counterpart; say in a closure what becomes of it"
            )
        }
    }

    /// The values of a row by the names of the table that takes it.
    func values(_ row: RowReader, _ key: RowKey) throws -> [String: Value] {
        if let body {
            let values = try (0..<layout.count).map { try row.value($0, opening: access) }
            return try body(OldRow(key: key, names: names, values: values))
        }
        return Dictionary(
            uniqueKeysWithValues: try live.map { ($0.name, try row.value($0.ordinal, opening: access)) })
    }
}
