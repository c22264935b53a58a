/// A statement of the SQL dialect.
///
///     SELECT …                       see ``SelectStatement``
///     INSERT [OR REPLACE | OR IGNORE] INTO table [(column, …)] VALUES (value, …), … | SELECT … | DEFAULT VALUES
///         [ON CONFLICT [(column, …)] DO NOTHING | DO UPDATE SET column = expression, … [WHERE condition]]
///         [RETURNING …]
///     UPDATE table SET column = expression, … [WHERE condition] [RETURNING …]
///     DELETE FROM table [WHERE condition] [RETURNING …]
///     CREATE TABLE [IF NOT EXISTS] table (column type constraints, …, PRIMARY KEY (column, …), UNIQUE (column, …))
///     DROP TABLE [IF EXISTS] table
///     CREATE [UNIQUE | SPATIAL] INDEX [IF NOT EXISTS] name ON table (column [COLLATE NOCASE] [DESC], …)
///         [WHERE condition]
///     DROP INDEX [IF EXISTS] name [ON table]
///     CREATE VIEW [IF NOT EXISTS] name [(column, …)] AS SELECT …       DROP VIEW [IF EXISTS] name
///     PRAGMA table_info(table)       EXPLAIN [ANALYZE] SELECT …       ANALYZE [table]
///     PRAGMA foreign_keys = ON | OFF, BEGIN, COMMIT and ROLLBACK, in a shell
///
/// Expressions and conditions are those of the where language. No keyword is reserved: a name in double quotes is never
/// a keyword.
package enum Statement: Sendable, Hashable {
    case select(SelectStatement)
    case insert(InsertStatement)
    case update(UpdateStatement)
    case delete(DeleteStatement)
    case createTable(CreateTableStatement)
    case dropTable(DropTableStatement)
    case createIndex(CreateIndexStatement)
    case dropIndex(DropIndexStatement)
    case createView(CreateViewStatement)
    case dropView(DropViewStatement)
    /// `PRAGMA table_info(table)`.
    case tableInfo(TableName)
    /// Whether the following statements of a shell check references; see
    /// ``run(_:in:changes:parameters:named:cancellation:ignoringReferences:)``.
    case foreignKeys(areEnforced: Bool, SourcePosition)
    /// BEGIN, COMMIT or ROLLBACK of a shell.
    case transaction(TransactionStep, SourcePosition)
    /// The plan of a query; with ANALYZE, the query runs once and the operators are measured.
    case explain(SelectStatement, isMeasured: Bool = false)
    /// Discards index statistics and cached plans, so that the next query is planned anew.
    case analyze(TableName?)

    /// Parses a statement.
    ///
    /// - Throws: `RecordError.syntax`, pointing into the text.
    package static func parse(_ text: String) throws(RecordError) -> Statement {
        var parser = try Parser(text)
        if parser.startsSelect(0) { return .select(try SelectStatement.parse(text)) }
        let statement = try parser.statement()
        _ = parser.takeSymbol(";")
        try parser.expectEnd()
        return statement
    }

    /// Whether it changes nothing, so that it may run on a snapshot.
    package var isReadOnly: Bool {
        switch self {
        case .select, .tableInfo, .explain, .analyze, .foreignKeys, .transaction: true
        default: false
        }
    }

    /// The number of positional parameters.
    package var parameterCount: Int {
        switch self {
        case .select(let statement), .explain(let statement, _): statement.parameterCount
        case .insert(let statement): statement.parameterCount
        case .update(let statement): statement.parameterCount
        case .delete(let statement): statement.parameterCount
        default: 0
        }
    }

    /// Whether it returns rows: a SELECT, or a statement with RETURNING.
    package var givesRows: Bool {
        switch self {
        case .insert(let statement): !statement.returning.isEmpty
        case .update(let statement): !statement.returning.isEmpty
        case .delete(let statement): !statement.returning.isEmpty
        default: isReadOnly
        }
    }

    /// The largest number of tables that one of its queries joins; 1 without a query.
    package var tableCount: Int {
        switch self {
        case .select(let statement), .explain(let statement, _): return statement.tableCount
        case .insert(let statement):
            if case .select(let query) = statement.source { return query.tableCount }
            return 1
        default: return 1
        }
    }

    /// The table that the statement changes or drops; `nil` if it changes none, or names an index only.
    package var changedTable: String? {
        switch self {
        case .insert(let statement): statement.table.name
        case .update(let statement): statement.table.name
        case .delete(let statement): statement.table.name
        case .createTable(let statement): statement.table.name
        case .dropTable(let statement): statement.table.name
        case .createIndex(let statement): statement.table.name
        case .dropIndex(let statement): statement.table?.name
        case .createView(let statement): statement.table.name
        case .dropView(let statement): statement.table.name
        default: nil
        }
    }
}

extension Statement {
    /// Whether its trees are so deep that their traversal needs a large stack.
    var isDeep: Bool {
        switch self {
        case .select(let statement), .explain(let statement, _): statement.isDeep
        case .update(let statement):
            statement.condition?.isDeep == true || statement.assignments.contains { $0.value.isDeep }
                || statement.returning.contains { $0.expr.isDeep }
        case .delete(let statement):
            statement.condition?.isDeep == true || statement.returning.contains { $0.expr.isDeep }
        case .createView(let statement): statement.query.isDeep
        case .insert(let statement)
        where statement.returning.contains { $0.expr.isDeep } || statement.onConflict?.isDeep == true:
            true
        case .insert(let statement):
            switch statement.source {
            case .values(let rows): rows.contains { $0.contains(where: \.isDeep) }
            case .select(let query): query.isDeep
            case .defaults: false
            }
        default: false
        }
    }
}

/// The name of a table, with its position.
package struct TableName: Sendable, Hashable {
    /// The name.
    package let name: String
    let at: SourcePosition

    /// Returns whether the name is that of a keyed store's table, whose rows must agree with other tables.
    package static func isReserved(_ name: String) -> Bool { name == "mako_store" || name.hasPrefix("mako_store_") }
}

/// The name of a column, with its position.
struct ColumnName: Sendable, Hashable {
    let name: String
    let at: SourcePosition
}
