/// `CREATE TABLE …`.
public struct CreateTableStatement: Sendable, Hashable {
    struct Column: Sendable, Hashable {
        let name: ColumnName
        /// Nil: it refers to rows and is of their keys' type.
        var type: ColumnType?
        var isPrimaryKey = false
        var isRequired = false
        var isUnique = false
        var noCase = false
        var collationAt = SourcePosition.none
        var defaultValue: Value = .null
        var defaultAt = SourcePosition.none
        var target: TableName?
    }

    public let table: TableName
    var allowsExisting = false
    var columns: [Column] = []
    /// The columns of `PRIMARY KEY (…)` behind the columns.
    var primaryKey: [ColumnName] = []
    /// The columns of each `UNIQUE (…)` behind the columns.
    var unique: [[ColumnName]] = []

    init(table: TableName) { self.table = table }
}

/// `DROP TABLE …`.
public struct DropTableStatement: Sendable, Hashable {
    public let table: TableName
    let allowsMissing: Bool
}

/// `CREATE INDEX …`.
public struct CreateIndexStatement: Sendable, Hashable {
    struct Part: Sendable, Hashable {
        let column: ColumnName
        let descending: Bool
        /// True is NOCASE, false is BINARY; nil: the column's.
        let collation: Bool?
    }

    let name: ColumnName
    public let table: TableName
    /// The name of the index.
    public var index: String { name.name }
    var isUnique = false
    var isSpatial = false
    var allowsExisting = false
    var parts: [Part] = []
    /// The condition of the rows it holds, as it is written.
    var condition: String?
    var conditionAt = SourcePosition.none
}

/// `DROP INDEX …`.
public struct DropIndexStatement: Sendable, Hashable {
    let name: ColumnName
    /// Nil: whichever has the index.
    public let table: TableName?
    let allowsMissing: Bool
}

/// `CREATE VIEW …`.
public struct CreateViewStatement: Sendable, Hashable {
    public let table: TableName
    var allowsExisting = false
    /// What its columns are called; nil: as the query calls them.
    var columns: [String]?
    let query: SelectStatement
    /// The place of the SELECT in the text.
    let queryAt: SourcePosition
}

/// `DROP VIEW …`.
public struct DropViewStatement: Sendable, Hashable {
    public let table: TableName
    let allowsMissing: Bool
}
