import MakoStorage

/// A table of an open database: reads and writes rows and keeps the indexes in step.
///
/// Take it from a ``Catalogue``. A handle stays right until the table is migrated; load the catalogue anew after that.
///
///     let people = try catalogue.requireTable("Person")
///     try store.write { tx in
///         var row = RowWriter()
///         row.begin(people.layout)
///         row.set(0, "Ada")
///         let key = try people.insert(&row, in: tx, changes: &changes)
///     }
public final class TableHandle: Sendable {
    public let schema: EntitySchema
    /// All live columns, in the schema's order.
    public let layout: RowLayout
    let id: UInt32
    /// The table's number in its file: given once, the same under a new name.
    public var number: UInt32 { id }
    /// Bytes: a longer key is of no row.
    static let longestKey = 900
    /// Every column the table ever had, by ordinal.
    let columns: [ColumnSchema]
    let indexes: [IndexHandle]
    /// The indexes over columns of keys.
    let elementIndexes: [ElementIndex]
    /// The indexes over the words of texts.
    let textIndexes: [FullTextIndex]
    let hasIndexes: Bool
    /// The columns that the indexes over columns look at.
    let indexedColumns: ColumnSet
    @usableFromInline let rows: Tree
    let idTree: Tree
    let ids: RowIDSequence
    let isRowID: Bool
    /// The slots of the key columns, when the table has some.
    let keySlots: [ColumnSlot]
    /// Of a table that is no table of the file but the rows of a query: which of its columns of text hold decimals.
    let derivedDecimals: Set<String>?
    var isDerived: Bool { derivedDecimals != nil }

    /// - Parameter conditions: of the partial indexes, by their places.
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
        let layout = RowLayout(
            table: schema.name, tableID: id, version: UInt32(truncatingIfNeeded: schema.version), columns: columns,
            positions: schema.liveColumns)
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
                let slots = index.schema.columns.compactMap { layout.position(of: $0.name) }.map { layout.slots[$0] }
                textIndexes.append(
                    FullTextIndex(
                        id: index.id, schema: index.schema, table: record.schema, tree: tree, slots: slots,
                        options: options, isRowID: isRowID))
                return nil
            }
            var columns = ColumnSet()
            var parts: [IndexHandle.Part] = []
            for column in index.schema.columns {
                guard let position = layout.position(of: column.name) else { continue }
                let slot = layout.slots[position]
                parts.append(.init(slot: slot, descending: column.descending, noCase: column.noCase))
                columns.insert(Int(slot.ordinal))
            }
            if let condition = conditions[place] { columns.formUnion(condition.columns) }
            return IndexHandle(
                id: index.id, schema: index.schema, tree: tree, parts: parts, columns: columns,
                hasKeyInValue: index.schema.isUnique || !isRowID, condition: conditions[place])
        }
        indexedColumns = indexes.reduce(into: ColumnSet()) { $0.formUnion($1.columns) }
        self.elementIndexes = elementIndexes
        self.textIndexes = textIndexes
        hasIndexes = !record.indexes.isEmpty
    }

    /// No table: what names of a question without FROM are looked up in.
    static let none = TableHandle(
        record: TableRecord(
            id: 0, schema: EntitySchema(name: "", columns: [], key: .columns([])), columns: [], indexes: [],
            nextIndexID: 0),
        rows: Tree(id: 0, keys: .bytes), indexTrees: [], idTree: Tree(id: 0, keys: .integer), ids: RowIDSequence())

    /// The rows of a query as those of a table without keys and indexes, which no file has.
    static func derived(_ name: String, _ columns: [ColumnSchema], decimals: Set<String>) -> TableHandle {
        var schema = EntitySchema(name: name, columns: columns, key: .rowID(column: ""))
        schema.hidesID = true
        for place in columns.indices { schema.columns[place].ordinal = place }
        return TableHandle(
            record: TableRecord(id: 0, schema: schema, columns: schema.columns, indexes: [], nextIndexID: 0),
            rows: Tree(id: 0, keys: .integer), indexTrees: [], idTree: Tree(id: 0, keys: .integer),
            ids: RowIDSequence(), derivedDecimals: decimals)
    }

    /// A layout over some of the columns, in the caller's order, so that code can use constant positions. Nil makes a position without a
    /// column, which reads as NULL and must not be written.
    ///
    /// - Parameter further: for each name the columns that its position has besides; see ``RowLayout/position(ofPart:at:)``.
    /// - Throws: `RecordError.columnNotFound` with the nearest right name.
    public func layout(for names: [String?], further: [[String]] = []) throws(RecordError) -> RowLayout {
        var positions: [ColumnSchema?] = []
        for name in names { positions.append(try name.map { (name) throws(RecordError) in try column(name) }) }
        var others: [[ColumnSchema]] = []
        for list in further {
            var columns: [ColumnSchema] = []
            for name in list { columns.append(try column(name)) }
            others.append(columns)
        }
        return RowLayout(
            table: schema.name, tableID: id, version: UInt32(truncatingIfNeeded: schema.version), columns: columns,
            positions: positions, further: others)
    }

    private func column(_ name: String) throws(RecordError) -> ColumnSchema {
        if let column = schema.column(named: name) { return column }
        throw .columnNotFound(
            table: schema.name, name: name,
            nearest: Spelling.nearest(to: name, in: schema.liveColumns.map(\.name)))
    }

    /// How many rows the table has.
    public func count(in view: Snapshot) throws(RecordError) -> Int {
        Int(clamping: try engine { () throws(StorageError) in try view.count(of: rows) })
    }

    /// Whether there is a row with this key.
    public func contains(_ key: RowKey, in view: Snapshot) throws(RecordError) -> Bool {
        try recorded { try withBytes(key, in: view) { _ in true } ?? false }
    }

    /// Lends the bytes of a row.
    func withBytes<R>(_ key: RowKey, in view: Snapshot, _ body: (UnsafeRawBufferPointer) throws -> R) throws -> R? {
        switch (key, isRowID) {
        case (.rowID(let id), true): try view.withValue(of: KeyOrder.treeKey(id), in: rows, body)
        case (.bytes(let bytes), false): try view.withValue(of: bytes, in: rows, body)
        default: throw RecordError.invalidKey(table: schema.name, reason: "it is of another kind than the table's keys")
        }
    }

    /// Lends the row with this key, or answers `nil` when there is none. Without a layout, positions are those of ``layout``.
    public func withRow<R>(
        _ key: RowKey, layout: RowLayout? = nil, in view: Snapshot, _ body: (RowReader) throws -> R
    ) throws -> R? {
        try withBytes(key, in: view) { try body(reader($0, key, layout ?? self.layout)) }
    }

    /// Lends the row with this id, or answers `nil` when there is none.
    @inlinable
    public func withRow<R>(
        id: Int64, layout: RowLayout? = nil, in view: Snapshot, _ body: (RowReader) throws -> R
    ) throws -> R? {
        try view.withValue(of: UInt64(bitPattern: id) ^ (1 << 63), in: rows) {
            try body(reader($0, .rowID(id), layout ?? self.layout))
        }
    }

    /// A reader of a row's bytes, whose error names the row.
    @inlinable @inline(__always)
    func reader(
        _ bytes: UnsafeRawBufferPointer, _ key: @autoclosure () -> RowKey, _ layout: RowLayout
    ) throws(RecordError) -> RowReader {
        do throws(RecordError) { return try RowReader(bytes, layout) } catch { throw error.ofRow(key(), in: schema) }
    }

    /// The way to single rows, for many lookups.
    public func lookup(_ layout: RowLayout) -> RowLookup { RowLookup(rows: rows, layout: .passUnretained(layout)) }

    /// Lends many rows, one call per id in the order given, `nil` for one that is not there. Much faster than one by one: the engine
    /// overlaps its memory accesses.
    @inlinable
    public func withRows(
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

    /// Lends every row in the order of keys until the closure answers `false`.
    public func scan(
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

    /// Lends every row of a table with ids, in the order of ids, until the closure answers `false`.
    @inlinable
    public func scanIDs(
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
