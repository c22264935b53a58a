/// A column of a table.
public struct ColumnSchema: Sendable, Hashable {
    /// The name.
    public var name: String
    /// The type of the values.
    public var type: ColumnType
    /// Whether the column may be NULL.
    public var isOptional: Bool
    /// The value of the column in a row that is inserted without it.
    public var defaultValue: Value
    /// The target table of a reference; also that of a column which holds the key of a table without row ids. A text
    /// column and a column of keys may refer to rows of any table: ``AnyReference``.
    public var target: String?
    /// The previous name, if a migration renames the column.
    public var originalName: String?
    /// For a column of keys in a declared schema: whether its values are plain lists, so that a migration turns a
    /// reference into a list with one key.
    public var takesOneKey = false
    /// The number of the column in its table, assigned by the catalogue and never reused.
    public internal(set) var ordinal: Int
    /// The value for rows that were written before the column was added: its default at that time.
    var fill: Value
    /// Whether the column is retired: hidden, with its values kept.
    public internal(set) var isRetired: Bool
    /// The type of the encrypted values in the blob column; `nil` if it is not encrypted.
    public var sealedType: ColumnType?
    /// Whether comparisons, orders, groups and DISTINCT ignore case by default: `COLLATE NOCASE`.
    public var isNoCase: Bool

    /// Whether the column holds keys of rows of any table: ``AnyReference/element``.
    public var holdsAnyKeys: Bool { type == .keys && target == AnyReference.anyTable }

    /// Makes a column.
    ///
    /// - Parameters:
    ///   - name: the name.
    ///   - type: the type of the values; for an encrypted column `.blob`.
    ///   - isOptional: whether the column may be NULL.
    ///   - default: the value in rows that are inserted without one.
    ///   - target: the target table of a reference.
    ///   - originalName: the previous name, if a migration renames the column.
    ///   - sealedType: the type of the encrypted values; `nil` if the column is not encrypted.
    ///   - isNoCase: whether comparisons ignore case by default.
    package init(
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

    /// Whether the column is dropped: its ordinal stays assigned, its values are unreachable.
    var isDead: Bool { isRetired && name.isEmpty }
}

/// A column of an index.
public struct IndexColumn: Sendable, Hashable {
    /// The name of the column.
    public var name: String
    /// Whether the order is descending.
    public var descending: Bool
    /// Whether texts are indexed case-folded.
    public var noCase: Bool

    /// Makes a column of an index.
    package init(_ name: String, descending: Bool = false, noCase: Bool = false) {
        self.name = name
        self.descending = descending
        self.noCase = noCase
    }
}

/// An index of a table. A unique index refuses a second row with the same values; rows with a NULL in them never
/// conflict.
public struct IndexSchema: Sendable, Hashable {
    /// The name.
    public var name: String
    /// The columns, in order.
    public var columns: [IndexColumn]
    /// Whether the index is unique.
    public var isUnique: Bool
    /// The condition of a partial index, as text over the row's own columns; `nil` for an index of all rows.
    public var condition: String?
    /// Whether it is a spatial index: its columns are a latitude and a longitude, in degrees.
    public var isSpatial: Bool
    /// The options of a full-text index, which `MATCH` searches; `nil` for other indexes.
    public var fullText: FullTextOptions?

    /// Makes an index.
    package init(
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

/// The primary key of a table.
public enum KeySchema: Sendable, Hashable {
    /// A 64-bit row id, assigned by the table if the row has none. The named column is not among the table's columns.
    case rowID(column: String)
    /// One or more of the table's columns, in this order.
    case columns([String])
}

/// A table: its columns, its key and its indexes.
///
///     let people = EntitySchema(
///         name: "Person",
///         columns: [ColumnSchema("name", .text), ColumnSchema("age", .integer, default: .integer(36))],
///         indexes: [IndexSchema("Person.age", [IndexColumn("age")])])
public struct EntitySchema: Sendable, Hashable {
    /// The name.
    public var name: String
    /// The live columns in the model's order; in a schema from the catalogue, the retired ones follow.
    public var columns: [ColumnSchema]
    /// The primary key.
    public var key: KeySchema
    /// Whether `*` and an INSERT without column names omit the row id, because CREATE TABLE declared none.
    public var hidesID = false
    /// The indexes.
    public var indexes: [IndexSchema]
    /// The number of changes of the stored schema, counted by the catalogue.
    public internal(set) var version: UInt64
    /// The previous name, if a migration renames the table.
    public var originalName: String?

    /// Makes a table.
    package init(
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

    /// The columns that are not retired.
    public var liveColumns: [ColumnSchema] { columns.filter { !$0.isRetired } }

    /// Retired columns, which a later schema may bring back with their values.
    public var retiredColumns: [ColumnSchema] { columns.filter { $0.isRetired && !$0.isDead } }

    /// Returns a live column by its name, or `nil`.
    public func column(named name: String) -> ColumnSchema? {
        columns.first { $0.name == name && !$0.isRetired }
    }

    /// The name of the row id column of a table with row ids.
    var idColumn: String? {
        if case .rowID(let name) = key { name } else { nil }
    }

    /// Returns whether a name denotes the row id: its column, or SQLite's `rowid` unless a column has that name.
    func isIDName(_ name: String) -> Bool {
        guard let id = idColumn, !id.isEmpty else { return false }
        if id == name { return true }
        if column(named: name) != nil { return false }
        let folded = Folding.folded(name)
        return Folding.folded(id) == folded
            || folded == "rowid" && !liveColumns.contains { Folding.folded($0.name) == folded }
    }

    /// The columns of `*`: the row id first, unless it is hidden.
    var shownNames: [String] { (idColumn.map { hidesID ? [] : [$0] } ?? []) + liveColumns.map(\.name) }

    /// A unique index over the key without case, if a key column is declared NOCASE, because the primary key compares
    /// bytes.
    public var keyIndex: IndexSchema? {
        guard case .columns(let names) = key, names.contains(where: { column(named: $0)?.isNoCase == true }) else {
            return nil
        }
        let parts = names.map { IndexColumn($0, noCase: column(named: $0)?.isNoCase == true) }
        return IndexSchema("primary key", parts, isUnique: true)
    }

    /// Returns whether a condition may use a name.
    func isVisible(_ name: String) -> Bool {
        !name.isEmpty && idColumn == name || columns.contains { $0.name == name && !$0.isRetired }
    }

    /// The names that a condition may use.
    var visibleNames: [String] {
        // Rows of a query in FROM have no named row id.
        liveColumns.map(\.name) + (idColumn.map { $0.isEmpty ? [] : [$0] } ?? [])
    }

    /// The largest length of a name, in bytes.
    static let nameLimit = 500
    /// The largest number of columns of a table.
    static let columnLimit = 2000
    /// The largest number of columns over the lifetime of a table, because ordinals are never reused.
    static let ordinalLimit = 60_000
    /// The largest number of columns of an index.
    static let indexedLimit = 64
    /// The largest number of columns of a full-text index.
    static let fullTextLimit = 16
    /// The largest length of a partial index's condition, in bytes; it is parsed whenever the catalogue is read.
    static let conditionLimit = 16 << 10

    /// Validates the table by itself, without the conditions of its indexes.
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

    /// Validates a column of keys: each deletion searches it for the row's key.
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

    /// Validates a full-text index: it has neither an order nor unique values.
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

    /// Validates an encrypted column: it supports IS NULL only, and its default and fill must not be stored in plain
    /// text.
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
