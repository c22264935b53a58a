import MakoStorage

/// A table whose rows move to another one, and their new keys. A table whose primary key changes moves to itself, under
/// a new number.
final class TableMerge {
    let record: TableRecord
    private let target: EntitySchema
    private let targetID: UInt32
    private let keepsIDs: Bool
    /// The new ids by the old ones; `nil` if they do not change.
    private(set) var ids: [Int64: Int64]?
    /// The new keys by the old ones, if the primary key changes.
    private(set) var keys: [RowKey: RowKey]?
    /// The old keys of rows that move with their keys, or get new ids.
    private var present: Set<RowKey> = []
    /// Whether any row refers to the moved ones.
    private var isReferredTo = false
    let rows: Int

    /// - Parameter next: the first id that the target does not use; updated.
    init(
        _ record: TableRecord, into request: TableMigration, _ targetID: UInt32, next: inout Int64?, _ view: Snapshot
    ) throws(RecordError) {
        self.record = record
        target = request.schema
        self.targetID = targetID
        keepsIDs = request.keepsIDs
        let table = try StoredCatalogue.rows(of: record, view)
        rows = try table.count(in: view)
        if rows == 0 { return }
        let all = try table.allKeys(in: view)
        present = Set(all)
        guard table.isRowID, !keepsIDs, let free = next else { return }
        let old = all.compactMap(\.rowID)
        guard let first = old.first, let last = old.last else { return }
        if free == 1 || first >= free, last < .max {
            next = max(free, last + 1)
            return
        }
        guard Int64.max - free > Int64(old.count) else { throw .idsExhausted(table: target.name) }
        ids = Dictionary(uniqueKeysWithValues: zip(old, free..<(free + Int64(old.count))))
        next = free + Int64(old.count)
    }

    /// Makes the move of a table whose primary key changes.
    ///
    /// - Throws: `duplicateKey`, `conversionFailed`, `stepFailed` if rows have no unique new key.
    convenience init(
        rekeying plan: TablePlan, _ number: UInt32, moving: Set<String>, _ access: CipherAccess, _ view: Snapshot
    ) throws(RecordError) {
        guard let stored = plan.stored else { throw .tableNotFound(name: plan.record.schema.name, nearest: nil) }
        let keys = try NewKeys(plan, moving: moving, access, view).run()
        self.init(stored, into: plan.record.schema, number, keys, plan.rows)
    }

    /// Makes the same move for planning, without its rows.
    convenience init?(planning plan: TablePlan) {
        guard plan.newKey != nil, let stored = plan.stored else { return nil }
        self.init(stored, into: plan.record.schema, 0, [:], plan.rows)
    }

    private init(
        _ record: TableRecord, into target: EntitySchema, _ targetID: UInt32, _ keys: [RowKey: RowKey], _ rows: Int
    ) {
        self.record = record
        self.target = target
        self.targetID = targetID
        keepsIDs = true
        self.keys = keys
        self.rows = rows
    }

    private var hasIDs: Bool { record.schema.idColumn != nil }

    private func refuse(_ reason: String) -> RecordError { .migrationFailed(table: target.name, reason: reason) }

    // MARK: Keys

    private func id(of old: Int64) -> Int64 { ids?[old] ?? old }

    /// Returns the new key of a row; `nil` if its columns or the table determine it.
    func key(of old: RowKey, given: Value?, table: String) throws(RecordError) -> RowKey? {
        guard target.idColumn != nil else { return nil }
        if let given {
            guard case .integer(let id) = given else {
                throw .invalidKey(
                    table: table, reason: "\(given) is given as the id of row \(old.text(in: record.schema))")
            }
            return .rowID(id)
        }
        if case .rowID(let id) = old { return .rowID(self.id(of: id)) }
        return nil
    }

    /// Checks that a row gets the key to which its references have been rewritten.
    func check(_ old: RowKey, _ new: RowKey, table: String) throws(RecordError) {
        if !isReferredTo || expected(old) == new { return }
        throw refuse(
            "others refer to row \(old.text(in: record.schema)) of \(record.schema.name), which would get another key, "
                + "\(new.text(in: target)); leave the key as it is"
        )
    }

    /// The first unused id, after all rows have their keys.
    var nextID: Int64? {
        guard target.idColumn != nil, let keys else { return nil }
        let last = keys.values.lazy.compactMap(\.rowID).max() ?? 0
        return last == .max ? .max : max(1, last + 1)
    }

    private func expected(_ old: RowKey) -> RowKey {
        if let keys { return keys[old] ?? old }
        if case .rowID(let id) = old { return .rowID(self.id(of: id)) }
        return old
    }

    // MARK: References

    /// Returns the new value of a column that refers to these rows.
    func followed(_ value: Value, _ column: ColumnSchema, of table: String) throws(RecordError) -> Value {
        if value.isNull { return value }
        // The old key of a row that is gone may be that of a row of the other table.
        if keys == nil && !hasRow(value) { return .null }
        isReferredTo = true
        if let keys { return try rekeyed(value, keys, column, table) }
        try checkKeys(column, table)
        guard column.type == .reference, case .integer(let id) = value else {
            return value
        }
        return .integer(self.id(of: id))
    }

    /// Returns the new value of a reference to a table whose keys change; a dangling reference becomes NULL.
    private func rekeyed(
        _ value: Value, _ keys: [RowKey: RowKey], _ column: ColumnSchema, _ table: String
    ) throws(RecordError) -> Value {
        let old: RowKey
        if hasIDs {
            guard case .integer(let id) = value else { return .null }
            old = .rowID(id)
        } else {
            old = RowKey(values: [value])
        }
        guard let new = keys[old] else { return .null }
        if referenceType == nil {
            throw refuse(
                "\(table).\(column.name) refers to its rows, and cannot hold a key of several columns; remove the property, or the references, before"
            )
        }
        return try new.values(in: target)[0]
    }

    /// Returns whether a reference leads to a row that moves with its key.
    private func hasRow(_ value: Value) -> Bool {
        if !hasIDs { return present.contains(RowKey(values: [value])) }
        guard case .integer(let id) = value else { return false }
        return present.contains(.rowID(id))
    }

    /// The type of columns that refer to its rows; `nil` for a key of several columns, which no column can hold.
    var referenceType: ColumnType? {
        guard case .columns(let names) = target.key else { return .reference }
        return names.count == 1 ? target.column(named: names[0])?.type : nil
    }

    /// Returns whether a key, according to its table number, is of this table and dangling.
    func isWithoutRow(_ number: UInt32, _ key: RowKey, isTarget: Bool) -> Bool {
        guard isTarget && number == 0 || number == record.id else { return false }
        return keys.map { $0[key] == nil } ?? !present.contains(key)
    }

    private func checkKeys(_ column: ColumnSchema, _ table: String) throws(RecordError) {
        if hasIDs != (target.idColumn != nil) {
            throw refuse(
                "\(table).\(column.name) refers to rows of \(record.schema.name), whose keys are of another kind; remove the property, or the references, before"
            )
        }
    }

    /// Returns the new form of a key in a column of keys, whose target is given by its old name.
    func followed(
        _ number: UInt32, _ key: RowKey, _ column: ColumnSchema, willBeTarget: Bool, of table: String
    ) throws(RecordError) -> (UInt32, RowKey)? {
        guard number == 0 && column.target == record.schema.name || number == record.id else {
            // Rows of the table that takes the others over are rows of the column's target now.
            return willBeTarget && number == targetID && targetID != 0 ? (0, key) : nil
        }
        isReferredTo = true
        if keys == nil { try checkKeys(column, table) }
        return (willBeTarget ? 0 : targetID, expected(key))
    }

    var targetName: String { target.name }
}

/// Reads the rows of a table, as its closure maps them to another one.
struct MergedRows {
    let table: TableHandle
    let layout: RowLayout
    private let names: ColumnNames
    private let body: ((OldRow) throws -> [String: Value])?
    private let live: [ColumnSchema]
    private let access: CipherAccess

    init(
        _ source: TableRecord, _ merge: CompiledSteps.Merge, into target: String, _ access: CipherAccess,
        _ view: Snapshot
    ) throws(RecordError) {
        self.access = access
        table = try StoredCatalogue.rows(of: source, view)
        layout = RowLayout(source, positions: source.columns)
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

    /// Returns the values of a row by the column names of the table that takes it.
    func values(_ row: RowReader, _ key: RowKey) throws -> [String: Value] {
        if let body {
            let values = try (0..<layout.count).map { try row.value($0, opening: access) }
            return try body(OldRow(key: key, names: names, values: values))
        }
        return Dictionary(
            uniqueKeysWithValues: try live.map { ($0.name, try row.value($0.ordinal, opening: access)) })
    }
}
