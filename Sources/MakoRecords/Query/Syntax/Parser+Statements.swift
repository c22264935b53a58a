// Statements other than SELECT; see ``Statement``.
extension Parser {
    /// First keywords of other databases' statements, with a hint for each.
    private static let otherStatements = [
        "ALTER":
            "there is no ALTER TABLE; a migration has the table of a type follow its declaration, and others are made anew: CREATE TABLE, INSERT … SELECT",
        "SAVEPOINT": "there are no named savepoints; BEGIN, COMMIT and ROLLBACK enclose statements in the shell",
        "VACUUM": "there is no VACUUM; 'mako compact' and db.compact() make a file small",
        "TRUNCATE": "there is no TRUNCATE; DELETE FROM a table without a condition is as fast",
        "VALUES": "rows of values by themselves are written SELECT 1, 'a' UNION ALL SELECT 2, 'b'",
    ]
    static let statementWords = [
        "SELECT", "WITH", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "PRAGMA", "EXPLAIN", "ANALYZE",
        "BEGIN", "COMMIT", "ROLLBACK",
    ]

    mutating func statement() throws(RecordError) -> Statement {
        let start = token
        if takeWord("INSERT") || isWord("REPLACE") { return .insert(try insert()) }
        if takeWord("UPDATE") { return .update(try update()) }
        if takeWord("DELETE") { return .delete(try delete()) }
        if takeWord("CREATE") { return try create() }
        if takeWord("DROP") { return try drop() }
        if takeWord("PRAGMA") { return try pragma() }
        if takeWord("EXPLAIN") {
            // SQLite's `EXPLAIN QUERY PLAN` means the same.
            if takeWord("QUERY") { try expectWord("PLAN") }
            let isMeasured = takeWord("ANALYZE")
            return .explain(try SelectStatement.read(&self), isMeasured: isMeasured)
        }
        if let step = transactionStep() { return step }
        if takeWord("ANALYZE") {
            switch token.kind {
            case .word, .name: return .analyze(try tableName())
            default: return .analyze(nil)
            }
        }
        if takeWord("WITH") { throw unexpected("the name of a query") }
        if case .word(let word) = start.kind {
            if let hint = Parser.otherStatements[word.uppercased()] { throw position(start).error(hint) }
            throw position(start).error(
                "a statement does not begin with \(word)", nearest: Spelling.nearest(to: word, in: Self.statementWords))
        }
        throw unexpected("a statement")
    }

    /// Parses the name of a table.
    mutating func tableName() throws(RecordError) -> TableName {
        let at = position(token)
        guard let name = takeName() else { throw unexpected("the name of a table") }
        return TableName(name: name, at: at)
    }

    /// Parses the name of a column or an index. Names of indexes may contain dots, as those declared by types do.
    mutating func columnName(_ what: String = "the name of a column", dotted: Bool = false) throws(RecordError)
        -> ColumnName
    {
        let start = token
        guard var name = takeName() else { throw unexpected(what) }
        while dotted, takeSymbol(".") {
            guard let next = takeName() else { throw unexpected("a name") }
            name += "." + next
        }
        return ColumnName(name: name, at: span(start))
    }

    /// Parses `IF NOT EXISTS` or `IF EXISTS`.
    mutating func takeIfExists(negated: Bool) throws(RecordError) -> Bool {
        guard takeWord("IF") else { return false }
        if negated { try expectWord("NOT") }
        try expectWord("EXISTS")
        return true
    }

    // MARK: Rows

    private mutating func insert() throws(RecordError) -> InsertStatement {
        var conflict = InsertStatement.Conflict.refuse
        if takeWord("REPLACE") {
            conflict = .replace
        } else if takeWord("OR") {
            if takeWord("REPLACE") {
                conflict = .replace
            } else if takeWord("IGNORE") {
                conflict = .ignore
            } else if !takeWord("ABORT") && !takeWord("FAIL") {
                throw unexpected("REPLACE or IGNORE")
            }
        }
        try expectWord("INTO")
        var statement = InsertStatement(table: try tableName())
        statement.conflict = conflict
        if takeSymbol("(") {
            repeat { statement.columns.append(try columnName()) } while takeSymbol(",")
            try expectSymbol(")")
        }
        if startsSelect(index) {
            statement.source = .select(try SelectStatement.read(&self))
        } else if takeWord("DEFAULT") {
            try expectWord("VALUES")
        } else {
            guard takeWord("VALUES") else { throw unexpected("VALUES, SELECT or DEFAULT VALUES") }
            statement.source = .values(try rows())
        }
        if startsConflict, conflict != .refuse {
            throw position(token).error("OR says already what is done about rows in the way; say one of the two")
        }
        statement.onConflict = try conflictClause()
        statement.returning = try returning()
        statement.parameterCount = parameterCount
        return statement
    }

    private mutating func rows() throws(RecordError) -> [[Expr]] {
        var rows: [[Expr]] = []
        repeat {
            let start = token
            try expectSymbol("(")
            var row: [Expr] = []
            repeat { row.append(try expression()) } while takeSymbol(",")
            try expectSymbol(")")
            if let first = rows.first, first.count != row.count {
                throw span(start).error(
                    "this row has \(row.count) \(row.count == 1 ? "value" : "values"), and the first one \(first.count)"
                )
            }
            rows.append(row)
        } while takeSymbol(",")
        return rows
    }

    private mutating func update() throws(RecordError) -> UpdateStatement {
        var statement = UpdateStatement(table: try tableName())
        try expectWord("SET")
        statement.assignments = try assignments()
        if takeWord("WHERE") { statement.condition = try condition() }
        statement.returning = try returning()
        statement.parameterCount = parameterCount
        return statement
    }

    private mutating func delete() throws(RecordError) -> DeleteStatement {
        try expectWord("FROM")
        var statement = DeleteStatement(table: try tableName())
        if takeWord("WHERE") { statement.condition = try condition() }
        statement.returning = try returning()
        statement.parameterCount = parameterCount
        return statement
    }

    // MARK: Tables and indexes

    private mutating func create() throws(RecordError) -> Statement {
        if takeWord("TABLE") { return .createTable(try createTable()) }
        if takeWord("VIEW") { return .createView(try createView()) }
        let isUnique = takeWord("UNIQUE")
        let isSpatial = !isUnique && takeWord("SPATIAL")
        guard takeWord("INDEX") else {
            throw unexpected(isUnique || isSpatial ? "INDEX" : "TABLE, VIEW, INDEX, UNIQUE INDEX or SPATIAL INDEX")
        }
        let allowsExisting = try takeIfExists(negated: true)
        let name = try columnName("the name of an index", dotted: true)
        try expectWord("ON")
        var statement = CreateIndexStatement(name: name, table: try tableName())
        statement.isUnique = isUnique
        statement.isSpatial = isSpatial
        statement.allowsExisting = allowsExisting
        try expectSymbol("(")
        repeat {
            let column = try columnName()
            let collation = try takeCollation()
            let descending = takeWord("DESC")
            if !descending { _ = takeWord("ASC") }
            statement.parts.append(.init(column: column, descending: descending, collation: collation))
        } while takeSymbol(",")
        try expectSymbol(")")
        if takeWord("WHERE") {
            let start = token
            _ = try condition()
            statement.conditionAt = span(start)
            statement.condition = statement.conditionAt.words
            if parameterCount > 0 {
                throw statement.conditionAt.error("the condition of an index is written out, without parameters")
            }
        }
        return .createIndex(statement)
    }

    /// Parses COLLATE; returns whether it is NOCASE, or `nil` without COLLATE.
    mutating func takeCollation() throws(RecordError) -> Bool? {
        guard takeWord("COLLATE") else { return nil }
        if takeWord("BINARY") { return false }
        guard takeWord("NOCASE") else { throw unexpected("NOCASE") }
        return true
    }

    private mutating func drop() throws(RecordError) -> Statement {
        if takeWord("TABLE") {
            let allowsMissing = try takeIfExists(negated: false)
            return .dropTable(DropTableStatement(table: try tableName(), allowsMissing: allowsMissing))
        }
        if takeWord("VIEW") {
            let allowsMissing = try takeIfExists(negated: false)
            return .dropView(DropViewStatement(table: try tableName(), allowsMissing: allowsMissing))
        }
        guard takeWord("INDEX") else { throw unexpected("TABLE, VIEW or INDEX") }
        let allowsMissing = try takeIfExists(negated: false)
        let name = try columnName("the name of an index", dotted: true)
        let table: TableName? = takeWord("ON") ? try tableName() : nil
        return .dropIndex(DropIndexStatement(name: name, table: table, allowsMissing: allowsMissing))
    }

    private mutating func pragma() throws(RecordError) -> Statement {
        let at = token
        if takeWord("foreign_keys") { return try foreignKeys(position(at)) }
        guard takeWord("table_info") else {
            if case .word(let word) = at.kind {
                throw position(at).error(
                    "there is no PRAGMA \(word)",
                    nearest: Spelling.nearest(to: word, in: ["table_info", "foreign_keys"]))
            }
            throw unexpected("table_info")
        }
        try expectSymbol("(")
        let table: TableName
        if case .literal(.text(let name)) = token.kind {
            table = TableName(name: name, at: position(token))
            advance()
        } else {
            table = try tableName()
        }
        try expectSymbol(")")
        return .tableInfo(table)
    }

    private mutating func foreignKeys(_ at: SourcePosition) throws(RecordError) -> Statement {
        try expectSymbol("=")
        for (words, isOn) in [(["ON", "TRUE", "YES"], true), (["OFF", "FALSE", "NO"], false)] {
            for word in words where takeWord(word) { return .foreignKeys(areEnforced: isOn, at) }
        }
        if case .literal(.integer(let number)) = token.kind, number == 0 || number == 1 {
            advance()
            return .foreignKeys(areEnforced: number == 1, at)
        }
        throw unexpected("ON or OFF")
    }
}
