// CREATE TABLE: columns, types and constraints.
extension Parser {
    mutating func createTable() throws(RecordError) -> CreateTableStatement {
        let allowsExisting = try takeIfExists(negated: true)
        var statement = CreateTableStatement(table: try tableName())
        statement.allowsExisting = allowsExisting
        try expectSymbol("(")
        repeat {
            if isWord("PRIMARY"), isWord("KEY", index + 1) {
                let at = position(token)
                advance()
                advance()
                if !statement.primaryKey.isEmpty { throw at.error("the table has a primary key already") }
                statement.primaryKey = try columnList()
            } else if isWord("UNIQUE"), tokens[min(index + 1, tokens.count - 1)].kind == .symbol("(") {
                advance()
                statement.unique.append(try columnList())
            } else if isWord("FOREIGN") || isWord("CHECK") || isWord("CONSTRAINT") {
                throw position(token).error(
                    "this constraint is not known; say REFERENCES behind the column, and check values where they are written"
                )
            } else if !statement.primaryKey.isEmpty || !statement.unique.isEmpty {
                throw unexpected("PRIMARY KEY or UNIQUE")
            } else {
                statement.columns.append(try definedColumn())
            }
        } while takeSymbol(",")
        try expectSymbol(")")
        return statement
    }

    /// Parses `[IF NOT EXISTS] name [(column, …)] AS SELECT …`, after `CREATE VIEW`.
    mutating func createView() throws(RecordError) -> CreateViewStatement {
        let allowsExisting = try takeIfExists(negated: true)
        let name = try tableName()
        let columns = isSymbol("(") ? try columnList().map(\.name) : nil
        try expectWord("AS")
        guard startsSelect(index) else { throw unexpected("a SELECT") }
        let start = token
        let query = try SelectStatement.read(&self)
        return CreateViewStatement(
            table: name, allowsExisting: allowsExisting, columns: columns, query: query, queryAt: span(start))
    }

    private mutating func columnList() throws(RecordError) -> [ColumnName] {
        var names: [ColumnName] = []
        try expectSymbol("(")
        repeat { names.append(try columnName()) } while takeSymbol(",")
        try expectSymbol(")")
        return names
    }

    private mutating func definedColumn() throws(RecordError) -> CreateTableStatement.Column {
        var column = CreateTableStatement.Column(name: try columnName())
        column.type = try columnType()
        while !isSymbol(",") && !isSymbol(")") { try constrain(&column) }
        if column.type == nil && column.target == nil {
            throw column.name.at.error("the column \(column.name.name) needs a type, as INTEGER, REAL or TEXT")
        }
        return column
    }

    private mutating func constrain(_ column: inout CreateTableStatement.Column) throws(RecordError) {
        if takeWord("PRIMARY") {
            try expectWord("KEY")
            if !takeWord("ASC"), isWord("DESC") { throw unexpected("an ascending key") }
            // Row ids are never reused in any case.
            _ = takeWord("AUTOINCREMENT")
            column.isPrimaryKey = true
        } else if takeWord("NOT") {
            try expectWord("NULL")
            column.isRequired = true
        } else if takeWord("NULL") {
            column.isRequired = false
        } else if takeWord("UNIQUE") {
            column.isUnique = true
        } else if isWord("COLLATE") {
            let start = token
            column.noCase = try takeCollation() ?? false
            column.collationAt = span(start)
        } else if takeWord("DEFAULT") {
            let start = token
            let value = try operand()
            column.defaultValue = try value.constant
            column.defaultAt = span(start)
            if let isNoCase = value.explicitCollation { (column.noCase, column.collationAt) = (isNoCase, span(start)) }
        } else if takeWord("REFERENCES") {
            column.target = try tableName()
            if isSymbol("(") { _ = try columnList() }
        } else {
            throw unexpected("a constraint, a comma or \")\"")
        }
    }

    /// Parses a type; returns `nil` if there is none.
    mutating func columnType() throws(RecordError) -> ColumnType? {
        let start = token
        guard case .word(let first) = start.kind, !isConstraint else { return nil }
        let folded = Folding.folded(first)
        guard let type = Parser.types[folded] else {
            throw position(start).error(
                "\(first) is no type of a column",
                nearest: Spelling.nearest(to: first, in: Parser.types.keys.map { $0.uppercased() }))
        }
        advance()
        // `DOUBLE PRECISION`, `UNSIGNED BIG INT`, `INTEGER UNSIGNED`, `CHARACTER VARYING (20)`.
        var result = type
        while !isConstraint, case .word(let word) = token.kind {
            let next = Folding.folded(word)
            guard ["precision", "big", "int", "integer", "unsigned", "varying"].contains(next) else { break }
            if next == "unsigned" && type == .integer { result = .unsigned }
            advance()
        }
        if takeSymbol("(") {
            // Length and precision are accepted and ignored.
            repeat {
                guard case .literal(.integer) = token.kind else { throw unexpected("a number") }
                advance()
            } while takeSymbol(",")
            try expectSymbol(")")
        }
        return result
    }

    private var isConstraint: Bool {
        ["PRIMARY", "NOT", "NULL", "UNIQUE", "COLLATE", "DEFAULT", "REFERENCES", "CHECK"].contains { isWord($0) }
    }

    /// The names of types: those of SQL, and Mako's own.
    static let types: [String: ColumnType] = [
        "integer": .integer, "int": .integer, "bigint": .integer, "smallint": .integer, "tinyint": .integer,
        "mediumint": .integer, "int2": .integer, "int4": .integer, "int8": .integer, "unsigned": .unsigned,
        "real": .double, "double": .double, "float": .double, "numeric": .double, "decimal": .double,
        "number": .double, "text": .text, "varchar": .text, "char": .text, "character": .text, "nvarchar": .text,
        "clob": .text, "string": .text, "blob": .blob, "binary": .blob, "varbinary": .blob, "bytea": .blob,
        "data": .blob, "boolean": .bool, "bool": .bool, "date": .date, "datetime": .date, "timestamp": .date,
        "uuid": .uuid, "guid": .uuid,
    ]
}

extension Expr {
    /// The value of a literal, or of a date literal.
    ///
    /// - Throws: `syntax` for an expression that needs a row or a computation.
    var constant: Value {
        get throws(RecordError) {
            switch self {
            case .literal(let value, _): return value
            case .function("date", let arguments, _) where arguments.count == 1:
                if case .literal(.text(let text), _) = arguments[0], let date = DateText.parse(text) {
                    return .date(date)
                }
            case .noCase(let inner), .binary(let inner): return try inner.constant
            default: break
            }
            throw position.error("a value is expected here, written out")
        }
    }
}
