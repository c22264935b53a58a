import MakoStorage

/// An open table: reads and writes rows, and updates the indexes.
///
/// Returned by a ``Catalogue``. A handle is valid until the table is migrated; then the catalogue must be loaded again.
///
///     let people = try catalogue.requireTable("Person")
///     try store.write { tx in
///         var row = RowWriter()
///         row.begin(people.layout)
///         row.set(0, "Ada")
///         let key = try people.insert(&row, in: tx, changes: &changes)
///     }
@usableFromInline
package final class TableHandle: Sendable {
    /// The schema.
    @usableFromInline package let schema: EntitySchema
    /// The layout of all live columns, in the schema's order.
    @usableFromInline package let layout: RowLayout
    let id: UInt32
    /// The table's number in its file, which does not change when the table is renamed.
    package var number: UInt32 { id }
    /// The largest length of a key, in bytes.
    static let longestKey = 900
    /// All columns that the table has ever had, by ordinal.
    let columns: [ColumnSchema]
    let indexes: [IndexHandle]
    /// The indexes of columns of keys.
    let elementIndexes: [ElementIndex]
    /// The full-text indexes.
    let textIndexes: [FullTextIndex]
    let hasIndexes: Bool
    /// The columns that indexes read, except those of keys and full text.
    let indexedColumns: ColumnSet
    @usableFromInline package let rows: Tree
    let idTree: Tree
    let ids: RowIDSequence
    let isRowID: Bool
    /// The slots of the key columns, if there are any.
    let keySlots: [ColumnSlot]
    /// For the rows of a query, which are no table of the file: the text columns that hold decimals.
    let derivedDecimals: Set<String>?
    package var isDerived: Bool { derivedDecimals != nil }

    /// - Parameter conditions: the conditions of partial indexes, by the indexes' positions.
    init(
        record: TableRecord, rows: Tree, indexTrees: [Tree], idTree: Tree, ids: RowIDSequence,
        conditions: [Int: any RowCondition] = [:], derivedDecimals: Set<String>? = nil
    ) {
        self.derivedDecimals = derivedDecimals
        schema = record.schema
        id = record.id
        columns = record.columns
        self.rows = rows
        self.idTree = idTree
        self.ids = ids
        let layout = RowLayout(record, positions: schema.liveColumns)
        self.layout = layout
        isRowID = schema.idColumn != nil
        var keySlots: [ColumnSlot] = []
        if case .columns(let names) = record.schema.key {
            keySlots = names.compactMap { layout.position(of: $0) }.map { layout.slots[$0] }
        }
        self.keySlots = keySlots
        let isRowID = isRowID
        var elementIndexes: [ElementIndex] = []
        var textIndexes: [FullTextIndex] = []
        indexes = zip(record.indexes, indexTrees).enumerated().compactMap { place, stored in
            let (index, tree) = stored
            if let name = index.schema.columns.first?.name, let position = layout.position(of: name),
                layout.slots[position].type == .keys
            {
                elementIndexes.append(
                    ElementIndex(
                        id: index.id, schema: index.schema, tree: tree, slot: layout.slots[position],
                        hasKeyInValue: !isRowID))
                return nil
            }
            if let options = index.schema.fullText {
                textIndexes.append(FullTextIndex(index, options, of: record.schema, tree, layout))
                return nil
            }
            return IndexHandle(index, tree, layout, isRowID: isRowID, conditions[place])
        }
        indexedColumns = indexes.reduce(into: ColumnSet()) { $0.formUnion($1.columns) }
        self.elementIndexes = elementIndexes
        self.textIndexes = textIndexes
        hasIndexes = !record.indexes.isEmpty
    }

    /// The table in which names of a query without FROM are resolved.
    static let none = TableHandle(
        record: TableRecord(
            id: 0, schema: EntitySchema(name: "", columns: [], key: .columns([])), columns: [], indexes: [],
            nextIndexID: 0),
        rows: Tree(id: 0, keys: .bytes), indexTrees: [], idTree: Tree(id: 0, keys: .integer), ids: RowIDSequence())

    /// Makes a table for the rows of a query, without keys and indexes.
    static func derived(_ name: String, _ columns: [ColumnSchema], decimals: Set<String>) -> TableHandle {
        var schema = EntitySchema(name: name, columns: columns, key: .rowID(column: ""))
        schema.hidesID = true
        for place in columns.indices { schema.columns[place].ordinal = place }
        return TableHandle(
            record: TableRecord(id: 0, schema: schema, columns: schema.columns, indexes: [], nextIndexID: 0),
            rows: Tree(id: 0, keys: .integer), indexTrees: [], idTree: Tree(id: 0, keys: .integer),
            ids: RowIDSequence(), derivedDecimals: decimals)
    }

    /// Returns a layout of some columns in the caller's order, so that code can use constant positions. A `nil` name
    /// makes an invalid position, which reads as NULL and must not be written.
    ///
    /// - Parameter further: for each name the further columns of its position; see ``RowLayout/position(ofPart:at:)``.
    /// - Throws: `RecordError.columnNotFound` with the nearest existing name.
    package func layout(for names: [String?], further: [[String]] = []) throws(RecordError) -> RowLayout {
        var positions: [ColumnSchema?] = []
        for name in names { positions.append(try name.map { (name) throws(RecordError) in try column(name) }) }
        var others: [[ColumnSchema]] = []
        for list in further {
            var columns: [ColumnSchema] = []
            for name in list { columns.append(try column(name)) }
            others.append(columns)
        }
        return RowLayout(schema, id: id, columns: columns, positions: positions, further: others)
    }

    private func column(_ name: String) throws(RecordError) -> ColumnSchema {
        if let column = schema.column(named: name) { return column }
        throw .columnNotFound(
            table: schema.name, name: name,
            nearest: Spelling.nearest(to: name, in: schema.liveColumns.map(\.name)))
    }

    /// The lowest id that the session has not assigned to a row yet. Ids of rolled-back transactions count as assigned.
    package var unassignedID: Int64 { ids.known }

    /// Returns the id of the next row without taking it.
    package func nextID(in tx: borrowing WriteTransaction) throws(RecordError) -> Int64 {
        let id = try ids.peek(self, tx)
        guard try contains(.rowID(id), in: tx.view) else { return id }
        // A row written through another catalogue of the same file has the id.
        ids.forget()
        return try ids.peek(self, tx)
    }

    /// Assigns no id below this one in this session.
    package func skipIDs(below id: Int64) { ids.skip(below: id) }

    /// Assigns no id below this one.
    package func skipIDs(below id: Int64, in tx: borrowing WriteTransaction) throws(RecordError) {
        ids.skip(below: id)
        try ids.write(try ids.peek(self, tx), self, tx)
    }

    /// Returns the number of rows.
    package func count(in view: Snapshot) throws(RecordError) -> Int {
        Int(clamping: try engine { () throws(StorageError) in try view.count(of: rows) })
    }

    /// Returns whether a row with this key exists.
    package func contains(_ key: RowKey, in view: Snapshot) throws(RecordError) -> Bool {
        try recorded { try withBytes(key, in: view) { _ in true } ?? false }
    }

    /// Calls a closure with the bytes of a row.
    func withBytes<R>(_ key: RowKey, in view: Snapshot, _ body: (UnsafeRawBufferPointer) throws -> R) throws -> R? {
        switch (key, isRowID) {
        case (.rowID(let id), true): try view.withValue(of: KeyOrder.treeKey(id), in: rows, body)
        case (.bytes(let bytes), false): try view.withValue(of: bytes, in: rows, body)
        default: throw RecordError.invalidKey(table: schema.name, reason: "it is of another kind than the table's keys")
        }
    }

    /// Calls a closure with the row with this key; returns `nil` if there is none. The default layout is ``layout``.
    package func withRow<R>(
        _ key: RowKey, layout: RowLayout? = nil, in view: Snapshot, _ body: (RowReader) throws -> R
    ) throws -> R? {
        try withBytes(key, in: view) { try body(reader($0, key, layout ?? self.layout)) }
    }

    /// Calls a closure with the row with this id; returns `nil` if there is none.
    @inlinable
    package func withRow<R>(
        id: Int64, layout: RowLayout? = nil, in view: Snapshot, _ body: (RowReader) throws -> R
    ) throws -> R? {
        try view.withValue(of: UInt64(bitPattern: id) ^ (1 << 63), in: rows) {
            try body(reader($0, .rowID(id), layout ?? self.layout))
        }
    }

    /// Returns a reader of a row's bytes; its error names the row.
    @inlinable @inline(__always)
    func reader(
        _ bytes: UnsafeRawBufferPointer, _ key: @autoclosure () -> RowKey, _ layout: RowLayout
    ) throws(RecordError) -> RowReader {
        do throws(RecordError) { return try RowReader(bytes, layout) } catch { throw error.ofRow(key(), in: schema) }
    }

    /// Returns a fast path for many lookups.
    @usableFromInline
    package func lookup(_ layout: RowLayout) -> RowLookup { RowLookup(rows: rows, layout: .passUnretained(layout)) }

    /// Calls a closure for each id in the given order, with the row or `nil` if there is none. Much faster than single
    /// lookups, because the engine overlaps its memory accesses.
    @inlinable
    package func withRows(
        ids: [Int64], layout: RowLayout? = nil, in view: Snapshot, _ body: (Int, RowReader?) throws -> Void
    ) throws {
        let layout = layout ?? self.layout
        try view.withValues(of: ids.map { UInt64(bitPattern: $0) ^ (1 << 63) }, in: rows) { index, bytes in
            if let bytes {
                try body(index, RowReader(bytes, layout))
            } else {
                try body(index, nil)
            }
        }
    }

    /// Calls a closure with each row in the order of keys until it returns `false`.
    package func scan(
        layout: RowLayout? = nil, in view: Snapshot, _ body: (RowKey, RowReader) throws -> Bool
    ) throws {
        if isRowID { return try scanIDs(layout: layout, in: view) { try body(.rowID($0), $1) } }
        let layout = layout ?? self.layout
        var cursor = try view.cursor(in: rows)
        var isThere = try cursor.first()
        while isThere {
            let key = RowKey.bytes(cursor.key)
            guard try cursor.withValue({ try body(key, reader($0, key, layout)) }) else { return }
            isThere = try cursor.next()
        }
    }

    /// Calls a closure with each row of a table with row ids, in their order, until it returns `false`.
    @inlinable
    package func scanIDs(
        layout: RowLayout? = nil, in view: Snapshot, _ body: (Int64, RowReader) throws -> Bool
    ) throws {
        let layout = layout ?? self.layout
        var cursor = try view.cursor(in: rows)
        var isThere = try cursor.first()
        while isThere {
            let id = Int64(bitPattern: cursor.integerKey ^ (1 << 63))
            guard try cursor.withValue({ try body(id, reader($0, .rowID(id), layout)) }) else { return }
            isThere = try cursor.next()
        }
    }
}
