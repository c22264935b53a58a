/// `CREATE TABLE …`.
package struct CreateTableStatement: Sendable, Hashable {
    struct Column: Sendable, Hashable {
        let name: ColumnName
        /// The type; `nil` for a reference, which has the type of the target's key.
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

    /// The table to create.
    package let table: TableName
    var allowsExisting = false
    var columns: [Column] = []
    /// The columns of the table constraint `PRIMARY KEY (…)`.
    var primaryKey: [ColumnName] = []
    /// The columns of each table constraint `UNIQUE (…)`.
    var unique: [[ColumnName]] = []

    init(table: TableName) { self.table = table }
}

/// `DROP TABLE …`.
package struct DropTableStatement: Sendable, Hashable {
    /// The table to drop.
    package let table: TableName
    let allowsMissing: Bool
}

/// `CREATE INDEX …`.
package struct CreateIndexStatement: Sendable, Hashable {
    struct Part: Sendable, Hashable {
        let column: ColumnName
        let descending: Bool
        /// The collation: true is NOCASE, false is BINARY, `nil` that of the column.
        let collation: Bool?
    }

    let name: ColumnName
    /// The table of the index.
    package let table: TableName
    /// The name of the index.
    package var index: String { name.name }
    var isUnique = false
    var isSpatial = false
    var allowsExisting = false
    var parts: [Part] = []
    /// The text of the condition of a partial index.
    var condition: String?
    var conditionAt = SourcePosition.none
}

/// `DROP INDEX …`.
package struct DropIndexStatement: Sendable, Hashable {
    let name: ColumnName
    /// The table; `nil` for any table that has the index.
    package let table: TableName?
    let allowsMissing: Bool
}

/// `CREATE VIEW …`.
package struct CreateViewStatement: Sendable, Hashable {
    /// The name of the view.
    package let table: TableName
    var allowsExisting = false
    /// The names of its columns; `nil` for those of the query.
    var columns: [String]?
    let query: SelectStatement
    /// The position of the SELECT in the text.
    let queryAt: SourcePosition
}

/// `DROP VIEW …`.
package struct DropViewStatement: Sendable, Hashable {
    /// The name of the view.
    package let table: TableName
    let allowsMissing: Bool
}
