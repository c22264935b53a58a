/// The help text of the shell.
enum ShellHelp {
    /// Words for completion, beside the names of tables and columns.
    static let words = [
        ".help", ".tables", ".schema", ".mode", ".quit", "SELECT", "FROM", "WHERE", "ORDER", "GROUP", "HAVING", "LIMIT",
        "OFFSET", "JOIN", "UNION", "WITH", "AND", "NOT", "LIKE", "BETWEEN", "MATCH", "count", "EXPLAIN", "DESC",
        "CASE", "WHEN", "THEN", "ELSE", "END", "CAST", "FILTER",
        "INSERT",
        "INTO", "VALUES", "REPLACE", "IGNORE", "UPDATE", "SET", "DELETE", "CREATE", "TABLE", "UNIQUE", "SPATIAL",
        "INDEX", "DROP", "EXISTS", "PRIMARY", "KEY", "DEFAULT", "REFERENCES", "PRAGMA", "table_info", "distance",
        "BEGIN", "COMMIT", "ROLLBACK", "CONFLICT", "NOTHING", "RETURNING",
    ]

    static let text = """
        [WITH x AS (SELECT …)] SELECT … [FROM …] [JOIN …] [WHERE …] [GROUP BY …] [HAVING …] [ORDER BY …] [LIMIT …]
                        shows rows; a statement goes over as many lines as it needs and ends with ;
        EXPLAIN SELECT … shows how the rows would be found, EXPLAIN ANALYZE SELECT … how they were
        INSERT INTO … VALUES … | SELECT … [ON CONFLICT … DO …], UPDATE … SET …, DELETE FROM …
                        change rows and, with RETURNING …, show them; each statement is a transaction
        BEGIN, COMMIT, ROLLBACK
                        make one transaction of the statements between them
        CREATE TABLE …, DROP TABLE …, CREATE [UNIQUE | SPATIAL] INDEX … ON … [WHERE …], DROP INDEX …,
        CREATE VIEW … AS SELECT …, DROP VIEW …
                        change tables and indexes
        PRAGMA foreign_keys = OFF | ON
                        whether statements ignore references: by themselves they store no key that leads to no row, and
                        delete rows by the delete rules of the file
        .tables         the tables and how many rows they have
        .schema [TABLE] the columns and indexes
        .mode FORM      how rows are shown: table, line, csv, tsv, json, jsonl
        .help           this
        .quit           leaves, as does Ctrl-D; Ctrl-C gives up what is typed, or ends the running statement

        """
}
