/// One column of a table.
public struct ColumnSchema: Sendable, Hashable {
    public var name: String
    public var type: ColumnType
    /// Whether the column may be NULL.
    public var isOptional: Bool
    /// What a row gets that was written without the column.
    public var defaultValue: Value
    /// For a reference: the table it points to. Also set on a column that holds the key of a table without row ids. A column of
    /// texts may refer to rows of any table: ``AnyReference``.
    public var target: String?
    /// The name the column had before, when a migration is to rename it.
    public var originalName: String?
    /// For a column of keys in a wanted schema: whether its values are plain lists, so that a single key that it held before as a reference becomes
    /// a list of one.
    public var takesOneKey = false
    /// The column's number in its table: given by the catalogue, never given twice.
    public internal(set) var ordinal: Int
    /// What rows read that were written before the column was added: the default of that day, whatever the default is now.
    var fill: Value
    /// Whether the column left the model: hidden, its bytes kept.
    public internal(set) var isRetired: Bool
    /// The type of the values that stand encrypted in the column's blobs; nil: it is not encrypted.
    public var sealedType: ColumnType?
    /// Whether its texts are compared, ordered, grouped and told apart without regard to case, where nothing else is said: `COLLATE NOCASE`.
    public var isNoCase: Bool

    public init(
        _ name: String, _ type: ColumnType, isOptional: Bool = false, default: Value = .null, target: String? = nil,
        originalName: String? = nil, sealing sealedType: ColumnType? = nil, isNoCase: Bool = false
    ) {
        self.isNoCase = isNoCase
        self.sealedType = sealedType
        self.name = name
        self.type = type
        self.isOptional = isOptional
        defaultValue = `default`
        fill = `default`
        self.target = target
        self.originalName = originalName
        ordinal = -1
        isRetired = false
    }

    /// A column that was removed for good: its ordinal stays taken, its bytes are unreachable.
    var isDead: Bool { isRetired && name.isEmpty }
}

/// One column of an index.
public struct IndexColumn: Sendable, Hashable {
    public var name: String
    public var descending: Bool
    /// Whether text is indexed under its no-case form.
    public var noCase: Bool

    public init(_ name: String, descending: Bool = false, noCase: Bool = false) {
        self.name = name
        self.descending = descending
        self.noCase = noCase
    }
}

/// An index of a table. A unique index refuses a second row with the same values; rows with a NULL among them never collide.
public struct IndexSchema: Sendable, Hashable {
    public var name: String
    public var columns: [IndexColumn]
    public var isUnique: Bool
    /// The condition of the rows that a partial index holds, as text over the row's own columns; nil: it holds all rows.
    public var condition: String?
    /// Whether it finds places that are near: its columns are a latitude and a longitude, in degrees.
    public var isSpatial: Bool
    /// For an index over the words of texts, which `MATCH` asks: what it makes of them.
    public var fullText: FullTextOptions?

    public init(
        _ name: String, _ columns: [IndexColumn], isUnique: Bool = false, where condition: String? = nil,
        isSpatial: Bool = false, fullText: FullTextOptions? = nil
    ) {
        self.name = name
        self.columns = columns
        self.isUnique = isUnique
        self.condition = condition
        self.isSpatial = isSpatial
        self.fullText = fullText
    }
}

/// What identifies a row.
public enum KeySchema: Sendable, Hashable {
    /// A 64-bit id, given by the table when the row has none. The named column is not among the table's columns.
    case rowID(column: String)
    /// One or several of the table's columns, in this order.
    case columns([String])
}

/// A table: its columns, its key and its indexes.
///
///     let people = EntitySchema(
///         name: "Person",
///         columns: [ColumnSchema("name", .text), ColumnSchema("age", .integer, default: .integer(36))],
///         indexes: [IndexSchema("Person.age", [IndexColumn("age")])])
public struct EntitySchema: Sendable, Hashable {
    public var name: String
    /// Live columns in the model's order, then, in a schema that comes from the catalogue, the retired ones.
    public var columns: [ColumnSchema]
    public var key: KeySchema
    /// Whether `*` and an INSERT without names leave the ids out: CREATE TABLE named none.
    public var hidesID = false
    public var indexes: [IndexSchema]
    /// How often the stored schema has changed; given by the catalogue.
    public internal(set) var version: UInt64
    /// The name the table had before, when a migration is to rename it.
    public var originalName: String?

    public init(
        name: String, columns: [ColumnSchema], key: KeySchema = .rowID(column: "id"), indexes: [IndexSchema] = [],
        originalName: String? = nil
    ) {
        self.name = name
        self.columns = columns
        self.key = key
        self.indexes = indexes
        version = 0
        self.originalName = originalName
    }

    public var liveColumns: [ColumnSchema] { columns.filter { !$0.isRetired } }

    /// Columns that left the model and can come back with their bytes.
    public var retiredColumns: [ColumnSchema] { columns.filter { $0.isRetired && !$0.isDead } }

    /// A live column by its name, or `nil`.
    public func column(named name: String) -> ColumnSchema? {
        columns.first { $0.name == name && !$0.isRetired }
    }

    /// The name of the id column of a table with row ids.
    var idColumn: String? {
        if case .rowID(let name) = key { name } else { nil }
    }

    /// Whether a name means the id of a row: its own, or SQLite's `rowid` where no column is called so.
    func isIDName(_ name: String) -> Bool {
        guard let id = idColumn, !id.isEmpty else { return false }
        if id == name { return true }
        if column(named: name) != nil { return false }
        let folded = Folding.folded(name)
        return Folding.folded(id) == folded
            || folded == "rowid" && !liveColumns.contains { Folding.folded($0.name) == folded }
    }

    /// The columns that `*` means: the id first, where it is not hidden.
    var shownNames: [String] { (idColumn.map { hidesID ? [] : [$0] } ?? []) + liveColumns.map(\.name) }

    /// The index that tells keys apart without regard to case, where a column of the key is declared so: rows are found by the bytes of
    /// their keys.
    public var keyIndex: IndexSchema? {
        guard case .columns(let names) = key, names.contains(where: { column(named: $0)?.isNoCase == true }) else {
            return nil
        }
        let parts = names.map { IndexColumn($0, noCase: column(named: $0)?.isNoCase == true) }
        return IndexSchema("primary key", parts, isUnique: true)
    }

    /// Whether a condition may use a name.
    func isVisible(_ name: String) -> Bool {
        !name.isEmpty && idColumn == name || columns.contains { $0.name == name && !$0.isRetired }
    }

    /// The names a condition may use.
    var visibleNames: [String] {
        // The rows of a query have no key that could be named.
        liveColumns.map(\.name) + (idColumn.map { $0.isEmpty ? [] : [$0] } ?? [])
    }

    /// The longest name of a table, a column or an index, in bytes.
    static let nameLimit = 500
    /// The most columns of a table.
    static let columnLimit = 2000
    /// The most columns that a table may ever have had: ordinals are never given twice.
    static let ordinalLimit = 60_000
    /// The most columns of an index.
    static let indexedLimit = 64
    /// The most columns of a full-text index.
    static let fullTextLimit = 16
    /// The text of a partial index's condition is no longer, in bytes: it is read whenever the catalogue is.
    static let conditionLimit = 16 << 10

    /// Checks what holds for every table by itself; what the conditions of its indexes say is another matter.
    ///
    /// - Throws: `RecordError.incompatibleSchema`, naming the fault.
    func validate() throws(RecordError) {
        let nameLimit = EntitySchema.nameLimit
        func refuse(_ reason: String) -> RecordError { .incompatibleSchema(table: name, reason: reason) }
        if name.isEmpty || name.utf8.count > nameLimit {
            throw refuse("its name is empty or longer than \(nameLimit) bytes")
        }
        if liveColumns.count > EntitySchema.columnLimit {
            throw refuse("it has more than \(EntitySchema.columnLimit) columns")
        }
        var seen: Set<String> = idColumn.map { [$0] } ?? []
        for column in liveColumns {
            if column.name.isEmpty || column.name.utf8.count > nameLimit {
                throw refuse("a column's name is empty or longer than \(nameLimit) bytes")
            }
            if !seen.insert(column.name).inserted { throw refuse("it has two columns named \(column.name)") }
            if column.type.coerced(column.defaultValue) == nil {
                throw refuse("the default of \(column.name) is not of type \(column.type.name)")
            }
            if column.type == .reference && column.target == nil {
                throw refuse("the reference \(column.name) names no table")
            }
            if column.type == .keys { try validateKeys(column) }
            if column.sealedType != nil { try validateSealed(column) }
            if column.isNoCase && column.type != .text {
                throw refuse("\(column.name) has a collation and holds \(column.type.name); only texts have one")
            }
        }
        if case .columns(let names) = key {
            if names.isEmpty || Set(names).count != names.count { throw refuse("its key has no columns, or one twice") }
            for name in names {
                guard let column = column(named: name) else {
                    throw refuse("its key column \(name) is not among its columns")
                }
                if column.isOptional { throw refuse("its key column \(name) is optional") }
            }
        }
        var indexNames: Set<String> = []
        for index in indexes {
            if index.name.isEmpty || index.name.utf8.count > nameLimit {
                throw refuse("an index's name is empty or longer than \(nameLimit) bytes")
            }
            if !indexNames.insert(index.name).inserted { throw refuse("it has two indexes named \(index.name)") }
            if index.columns.isEmpty || index.columns.count > EntitySchema.indexedLimit {
                throw refuse("index \(index.name) has no columns or more than \(EntitySchema.indexedLimit)")
            }
            for part in index.columns {
                guard let column = column(named: part.name) else {
                    throw refuse("index \(index.name) names \(part.name), which is not among the columns")
                }
                if part.noCase && column.type != .text {
                    throw refuse("index \(index.name) folds \(part.name), which is not text")
                }
            }
            if index.fullText != nil { try validateText(index) }
            if index.isSpatial { try validateSpatial(index) }
            if let condition = index.condition, condition.utf8.count > EntitySchema.conditionLimit {
                throw refuse(
                    "the condition of index \(index.name) is longer than \(EntitySchema.conditionLimit) bytes")
            }
        }
    }

    private func validateSpatial(_ index: IndexSchema) throws(RecordError) {
        let isPlain =
            !index.isUnique && index.condition == nil && index.columns.allSatisfy { !$0.descending && !$0.noCase }
        guard isPlain, index.columns.count == 2,
            index.columns.allSatisfy({ column(named: $0.name)?.type == .double })
        else {
            throw .incompatibleSchema(
                table: name,
                reason:
                    "the spatial index \(index.name) needs a latitude and a longitude, both of type double, and nothing else"
            )
        }
    }

    /// Who holds a row's key is asked whenever the row is removed.
    private func validateKeys(_ column: ColumnSchema) throws(RecordError) {
        func refuse(_ reason: String) -> RecordError { .incompatibleSchema(table: name, reason: reason) }
        if column.target == nil { throw refuse("the keys of \(column.name) name no table") }
        if case .columns(let names) = key, names.contains(column.name) {
            throw refuse("\(column.name) holds keys of rows and cannot be a key itself")
        }
        let over = indexes.filter { index in index.columns.contains { $0.name == column.name } }
        guard over.count == 1, over[0].columns.count == 1, !over[0].isUnique, !over[0].columns[0].descending else {
            throw refuse("\(column.name) holds keys of rows and needs one index, plain and of its own")
        }
    }

    /// Words have no order, and are not told apart from those of other rows.
    private func validateText(_ index: IndexSchema) throws(RecordError) {
        func refuse(_ reason: String) -> RecordError {
            .incompatibleSchema(table: name, reason: "the full-text index \(index.name) \(reason)")
        }
        if index.isUnique { throw refuse("cannot be unique") }
        if index.condition != nil || index.isSpatial { throw refuse("holds all rows, and words alone") }
        if index.columns.count > EntitySchema.fullTextLimit {
            throw refuse("has more than \(EntitySchema.fullTextLimit) columns")
        }
        if Set(index.columns.map(\.name)).count != index.columns.count { throw refuse("names a column twice") }
        for part in index.columns {
            if part.descending || part.noCase { throw refuse("gives \(part.name) an order, which words have not") }
            if let column = column(named: part.name), column.type != .text {
                throw refuse("is over \(part.name), which holds \(column.type.name); only texts have words")
            }
        }
    }

    /// Of a sealed value nothing can be asked but whether there is one, and nothing may stand beside it in the plain.
    private func validateSealed(_ column: ColumnSchema) throws(RecordError) {
        func refuse(_ reason: String) -> RecordError {
            .incompatibleSchema(table: name, reason: "\(column.name) is encrypted and \(reason)")
        }
        guard column.type == .blob, column.sealedType != .keys, column.sealedType != .reference, column.target == nil
        else { throw refuse("holds no values") }
        if case .columns(let names) = key, names.contains(column.name) { throw refuse("cannot be a part of the key") }
        if indexes.contains(where: { $0.columns.contains { $0.name == column.name } }) {
            throw refuse("cannot be unique, an identity or indexed")
        }
        if !column.isOptional { throw refuse("must be optional") }
        if !column.defaultValue.isNull { throw refuse("cannot have a default, which would stand in the file") }
    }
}
