// The catalogue's entry of a table: the value of the tree "mako.catalogue" under the key 01 + name.
// Numbers are little endian; a text is its length (4) and its UTF-8; a value is a tag (1) and its bytes.
//
//   format (1) = 1, table id (4), version (8), next index id (4)
//   key: 0 and the name of the row id column, or 1, a count (4) and the names of the key columns
//   column count (4), then by ordinal: name, type (1; for an encrypted column 16 and the type of the values; for a
//     NOCASE column 17 and the type; for a column of keys of any table 18 and the type), flags (1: optional 1,
//     retired 2, has target 4), default, fill, [target]
//   live count (4), then the ordinals (4) of the live columns in the model's order
//   index count (4), then: id (4), name, flags (1: unique 1, full text 2, has condition 4, spatial 8), column count
//     (4),
//     then: name, flags (1: descending 1, no case 2); after the columns of a full-text index its stemming (1), after
//     those of a partial index its condition, a text
//
// The format is 2 if an index is neither plain nor unique, so that older versions do not take it for a plain one and
// fail to update it; it is 3 if the row ids are hidden (indexes may then be of any kind), so that older versions do not
// take the row id for the first column of an INSERT without names.
//
// Under the key 00: format (1) = 1, next table id (4).

/// A table as the catalogue stores it.
struct TableRecord: Sendable, Hashable {
    struct Index: Sendable, Hashable {
        var id: UInt32
        var schema: IndexSchema

        fileprivate var flags: UInt8 {
            (schema.isUnique ? 1 : 0) | (schema.fullText != nil ? 2 : 0) | (schema.condition != nil ? 4 : 0)
                | (schema.isSpatial ? 8 : 0)
        }
    }

    var id: UInt32
    var schema: EntitySchema
    /// All columns that the table has ever had, by ordinal.
    var columns: [ColumnSchema]
    var indexes: [Index]
    var nextIndexID: UInt32

    static let format: UInt8 = 1
    /// The format of a table with an index kind that the first versions of Mako lack.
    static let extendedFormat: UInt8 = 2
    /// The format of a table whose row ids are hidden.
    static let hiddenFormat: UInt8 = 3
    /// The type code of an encrypted column, instead of that of a blob, so that older programs do not read it as plain
    /// bytes.
    static let sealedCode: UInt8 = 16
    /// The code before the type of a NOCASE column, so that older programs do not compare it by bytes.
    static let noCaseCode: UInt8 = 17
    /// The code before the type of a column of keys of any table, so that older programs do not take its elements for
    /// keys of one table.
    static let anyKeysCode: UInt8 = 18

    /// The upper limit of counters in the catalogue, with room for increments.
    static let counterLimit: UInt64 = 1 << 62

    static let rowsTreePrefix = "mako.rows."
    static let indexTreePrefix = "mako.index."

    var rowsTree: String { "\(TableRecord.rowsTreePrefix)\(id)" }
    func indexTree(_ index: UInt32) -> String { "\(TableRecord.indexTreePrefix)\(id).\(index)" }

    func encoded() -> [UInt8] {
        var out = ByteSink()
        let isExtended = indexes.contains { $0.flags > 1 }
        out.byte(
            schema.hidesID ? TableRecord.hiddenFormat : isExtended ? TableRecord.extendedFormat : TableRecord.format)
        out.number(id)
        out.number(schema.version)
        out.number(nextIndexID)
        switch schema.key {
        case .rowID(let name):
            out.byte(0)
            out.text(name)
        case .columns(let names):
            out.byte(1)
            out.number(UInt32(names.count))
            for name in names { out.text(name) }
        }
        out.number(UInt32(columns.count))
        for column in columns {
            out.text(column.name)
            if column.sealedType != nil { out.byte(TableRecord.sealedCode) }
            if column.isNoCase { out.byte(TableRecord.noCaseCode) }
            if column.holdsAnyKeys { out.byte(TableRecord.anyKeysCode) }
            out.byte((column.sealedType ?? column.type).rawValue)
            out.byte((column.isOptional ? 1 : 0) | (column.isRetired ? 2 : 0) | (column.target != nil ? 4 : 0))
            out.value(column.defaultValue)
            out.value(column.fill)
            if let target = column.target { out.text(target) }
        }
        let live = schema.liveColumns
        out.number(UInt32(live.count))
        for column in live { out.number(UInt32(column.ordinal)) }
        out.number(UInt32(indexes.count))
        for index in indexes {
            out.number(index.id)
            out.text(index.schema.name)
            out.byte(index.flags)
            out.number(UInt32(index.schema.columns.count))
            for column in index.schema.columns {
                out.text(column.name)
                out.byte((column.descending ? 1 : 0) | (column.noCase ? 2 : 0))
            }
            if let options = index.schema.fullText { out.byte(options.stemming.rawValue) }
            if let condition = index.schema.condition { out.text(condition) }
        }
        return out.bytes
    }

    init(id: UInt32, schema: EntitySchema, columns: [ColumnSchema], indexes: [Index], nextIndexID: UInt32) {
        self.id = id
        self.schema = schema
        self.columns = columns
        self.indexes = indexes
        self.nextIndexID = nextIndexID
    }

    /// Decodes and validates a record.
    ///
    /// - Throws: `RecordError.catalogueDamaged`.
    init(name: String, bytes: [UInt8]) throws(RecordError) {
        self = try TableRecord(name: name, unchecked: bytes)
        do { try schema.validate() } catch { throw .catalogueDamaged(reason: "\(error)") }
    }

    /// Decodes a record without checking its columns and indexes against each other.
    init(name: String, unchecked bytes: [UInt8]) throws(RecordError) {
        var source = ByteSource(bytes, what: "the entry of table \(name)")
        let format = try source.byte()
        guard (TableRecord.format...TableRecord.hiddenFormat).contains(format) else {
            throw .catalogueDamaged(reason: "the entry of table \(name) has another format")
        }
        id = try source.number()
        let version: UInt64 = try source.number()
        nextIndexID = try source.number()
        let key: KeySchema
        switch try source.byte() {
        case 0: key = .rowID(column: try source.text())
        case 1:
            var names: [String] = []
            for _ in 0..<(try source.count()) { names.append(try source.text()) }
            key = .columns(names)
        default: throw source.damaged
        }
        columns = []
        for ordinal in 0..<(try source.count()) {
            let name = try source.text()
            var code = try source.byte()
            let isSealed = code == TableRecord.sealedCode
            let isNoCase = code == TableRecord.noCaseCode
            let holdsAnyKeys = code == TableRecord.anyKeysCode
            if isSealed || isNoCase || holdsAnyKeys { code = try source.byte() }
            guard let type = ColumnType(rawValue: code) else {
                throw .catalogueDamaged(
                    reason: "column \(name) has type \(code), which this version of Mako does not know")
            }
            let flags = try source.byte()
            var column = ColumnSchema(
                name, isSealed ? .blob : type, isOptional: flags & 1 != 0, default: try source.value(),
                sealing: isSealed ? type : nil, isNoCase: isNoCase)
            column.fill = try source.value()
            if flags & 4 != 0 { column.target = try source.text() }
            guard column.holdsAnyKeys == holdsAnyKeys else { throw source.damaged }
            column.isRetired = flags & 2 != 0
            column.ordinal = ordinal
            columns.append(column)
        }
        guard columns.count < Int(UInt16.max) else { throw source.damaged }
        var live: [ColumnSchema] = []
        for _ in 0..<(try source.count()) {
            let ordinal = Int(try source.number() as UInt32)
            guard ordinal < columns.count, !columns[ordinal].isRetired else { throw source.damaged }
            live.append(columns[ordinal])
        }
        indexes = []
        for _ in 0..<(try source.count()) {
            let id: UInt32 = try source.number()
            let name = try source.text()
            let flags = try source.byte()
            guard flags < (format == TableRecord.format ? 2 : 16) else { throw source.damaged }
            var index = IndexSchema(name, [], isUnique: flags & 1 != 0, isSpatial: flags & 8 != 0)
            for _ in 0..<(try source.count()) {
                let name = try source.text()
                let flags = try source.byte()
                index.columns.append(IndexColumn(name, descending: flags & 1 != 0, noCase: flags & 2 != 0))
            }
            if flags & 2 != 0 {
                guard let stemming = Stemming(rawValue: try source.byte()) else { throw source.damaged }
                index.fullText = FullTextOptions(stemming: stemming)
            }
            if flags & 4 != 0 { index.condition = try source.text() }
            indexes.append(Index(id: id, schema: index))
        }
        guard source.isAtEnd else { throw source.damaged }
        schema = EntitySchema(
            name: name, columns: live + columns.filter { $0.isRetired && !$0.isDead }, key: key,
            indexes: indexes.map(\.schema))
        schema.version = version
        schema.hidesID = format == TableRecord.hiddenFormat
        if schema.hidesID, schema.idColumn == nil { throw source.damaged }
        // Index ids that would be assigned again.
        guard nextIndexID < .max, version < TableRecord.counterLimit, indexes.allSatisfy({ $0.id < nextIndexID }),
            Set(indexes.map(\.id)).count == indexes.count
        else { throw .catalogueDamaged(reason: "the entry of table \(name) has numbers that contradict each other") }
    }

    /// Returns the table without some of its indexes.
    func leavingOut(_ isLeftOut: (Index) -> Bool) -> TableRecord {
        var record = self
        record.indexes.removeAll(where: isLeftOut)
        record.schema.indexes = record.indexes.map(\.schema)
        return record
    }
}
