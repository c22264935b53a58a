import MakoRecords

/// The reason for which the model expects a call to fail.
enum Refusal: Error, Equatable {
    case duplicateKey, null, unique, incompatible, conversion, migration
    /// Of objects: others refer to it; its row was deleted; it was deleted itself.
    case denied, notFound, deleted
    /// A new row has a key without a row; that, or a unique value that another row has.
    case unmatched, uniqueOrUnmatched

    func matches(_ error: RecordError) -> Bool {
        switch (self, error) {
        case (.duplicateKey, .duplicateKey), (.null, .nullViolation), (.unique, .uniqueViolation),
            (.incompatible, .incompatibleSchema), (.conversion, .conversionFailed),
            (.migration, .migrationFailed):
            true
        default: false
        }
    }
}

/// A table as plain Swift: columns, and rows as arrays of values in the order of keys.
struct ModelTable: Equatable, Sendable {
    struct Row: Equatable, Sendable {
        var key: RowKey
        /// By the places of `columns`.
        var values: [Value]
    }

    /// The schema as it was wanted last.
    private(set) var schema: EntitySchema
    /// Every column that can be reached or restored. Columns that left the model are retired: hidden, with their values.
    var columns: [ColumnSchema]
    /// Places of `columns`, in the schema's order.
    var live: [Int]
    private(set) var rows: [Row] = []
    /// The largest id that the table ever held: no new row may get it or a smaller one.
    var largestID: Int64 = 0
    /// The number that it has in the file, by which lists know it.
    var number: UInt32

    init(_ schema: EntitySchema, number: UInt32 = 0) {
        self.number = number
        self.schema = schema
        columns = schema.columns
        live = Array(schema.columns.indices)
    }

    var isRowID: Bool {
        if case .rowID = schema.key { true } else { false }
    }

    var keyColumns: [String] {
        if case .columns(let names) = schema.key { names } else { [] }
    }

    var keyPlaces: [Int] { keyColumns.compactMap(place) }

    /// The names of columns that left the model and can come back.
    var retired: [ColumnSchema] { columns.indices.filter { !live.contains($0) }.map { columns[$0] } }

    func place(_ name: String) -> Int? { live.first { columns[$0].name == name } }

    mutating func take(_ schema: EntitySchema) { self.schema = schema }

    // MARK: Rows

    func position(of key: RowKey) -> (place: Int, isThere: Bool) {
        var low = 0
        var high = rows.count
        while low < high {
            let middle = (low + high) / 2
            if ModelTable.precedes(rows[middle].key, key) { low = middle + 1 } else { high = middle }
        }
        return (low, low < rows.count && rows[low].key == key)
    }

    static func precedes(_ a: RowKey, _ b: RowKey) -> Bool {
        switch (a, b) {
        case (.rowID(let a), .rowID(let b)): a < b
        case (.bytes(let a), .bytes(let b)): a.lexicographicallyPrecedes(b)
        default: false
        }
    }

    func row(_ key: RowKey) -> Row? {
        let (place, isThere) = position(of: key)
        return isThere ? rows[place] : nil
    }

    /// The live values of a row, in the schema's order.
    func shown(_ row: Row) -> [Value] { live.map { row.values[$0] } }

    /// A new row of these values; columns without one get their default, the retired ones too.
    func fresh(_ values: [Int: Value]) -> [Value] {
        columns.indices.map { place in
            values[place] ?? columns[place].type.coerced(columns[place].defaultValue) ?? .null
        }
    }

    func key(of values: [Value]) -> RowKey { RowKey(values: keyPlaces.map { values[$0] }) }

    /// Throws if a row is not permitted: by a missing value, or by the values of another row.
    func check(_ values: [Value], for key: RowKey?) throws(Refusal) {
        try checkNulls(values)
        for index in schema.indexes where index.isUnique {
            guard let mine = uniqueValues(index, values) else { continue }
            for row in rows where row.key != key && uniqueValues(index, row.values) == mine { throw .unique }
        }
    }

    func checkNulls(_ values: [Value]) throws(Refusal) {
        for place in live where !columns[place].isOptional && values[place].isNull { throw .null }
    }

    /// The values that a unique index compares; nil for a row outside the index, and for one with a NULL, which never
    /// conflicts.
    private func uniqueValues(_ index: IndexSchema, _ values: [Value]) -> [Value]? {
        if let words = index.condition?.split(separator: " "), let place = place(String(words[0])),
            values[place].isNull != (words.count == 3)
        {
            return nil
        }
        var result: [Value] = []
        for column in index.columns {
            guard let place = place(column.name), !values[place].isNull else { return nil }
            result.append(column.noCase ? BruteForce.folded(values[place]) : values[place])
        }
        return result
    }

    /// Whether rows break any unique index.
    func checkUnique() throws(Refusal) {
        for index in schema.indexes where index.isUnique { try checkUnique(index) }
    }

    /// Whether rows break a unique index.
    func checkUnique(_ index: IndexSchema) throws(Refusal) {
        var seen: Set<[Value]> = []
        for row in rows {
            if let values = uniqueValues(index, row.values), !seen.insert(values).inserted { throw .unique }
        }
    }

    mutating func put(_ values: [Value], for key: RowKey) {
        if let id = key.rowID { largestID = max(largestID, id) }
        let (place, isThere) = position(of: key)
        if isThere { rows[place].values = values } else { rows.insert(Row(key: key, values: values), at: place) }
    }

    @discardableResult
    mutating func delete(_ key: RowKey) -> Bool {
        let (place, isThere) = position(of: key)
        if isThere { rows.remove(at: place) }
        return isThere
    }

    mutating func deleteAll() { rows = [] }

    /// Changes the values of every row, or of none.
    mutating func convert(_ body: (inout [Value]) throws(Refusal) -> Void) throws(Refusal) {
        var changed = rows
        for place in changed.indices { try body(&changed[place].values) }
        rows = changed
    }
}

/// A database as plain Swift.
struct RecordModel: Equatable, Sendable {
    var tables: [String: ModelTable] = [:]
    /// The number of the next table.
    var nextNumber: UInt32 = 1

    /// The state that the record layer must show.
    var state: RecordState {
        var state = RecordState()
        for (name, table) in tables {
            var content = RecordState.Table(table.schema)
            for row in table.rows { content.rows[row.key] = table.shown(row) }
            state.tables[name] = content
        }
        return state
    }

    var names: [String] { tables.keys.sorted() }
}
