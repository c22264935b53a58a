import MakoRecords

/// Schemas and rows as SQL, for `dump` and `.schema`.
enum SchemaText {
    /// `CREATE TABLE` and the statements for the indexes, one per line.
    static func statements(_ schema: EntitySchema) -> String {
        var columns: [String] = []
        switch schema.key {
        case .rowID(let column): if !schema.hidesID { columns.append("\(name(column)) INTEGER PRIMARY KEY") }
        case .columns: break
        }
        columns += schema.liveColumns.map(column)
        if case .columns(let keys) = schema.key {
            columns.append("PRIMARY KEY (\(keys.map(name).joined(separator: ", ")))")
        }
        var text = "CREATE TABLE \(name(schema.name)) (\n    \(columns.joined(separator: ",\n    "))\n);\n"
        for index in schema.indexes where index != schema.keyIndex { text += statement(index, of: schema) }
        for loss in schema.dumpLosses { text += "-- \(loss)\n" }
        return text
    }

    /// `CREATE VIEW`.
    static func statement(_ view: ViewSchema) -> String {
        let columns = view.columns.map { " (" + $0.map(name).joined(separator: ", ") + ")" } ?? ""
        return "CREATE VIEW \(name(view.name))\(columns) AS \(view.text);\n"
    }

    /// Views, each after those that it may read: those whose names are in its text.
    static func ordered(_ views: [ViewSchema]) -> [ViewSchema] {
        var ordered: [ViewSchema] = []
        var rest = views
        while !rest.isEmpty {
            let next = rest.firstIndex { view in
                !rest.contains { $0 != view && view.text.lowercased().contains($0.name.lowercased()) }
            }
            ordered.append(rest.remove(at: next ?? 0))
        }
        return ordered
    }

    /// The target of an `INSERT` of values in the order of `shownColumns`. Hidden row numbers are named `rowid`, as in
    /// SQLite.
    static func target(_ schema: EntitySchema) -> String {
        guard schema.hidesID else { return name(schema.name) }
        return name(schema.name) + " (rowid, " + schema.liveColumns.map { name($0.name) }.joined(separator: ", ") + ")"
    }

    /// An `INSERT` of one row.
    static func insert(_ values: [Value], into target: String) -> String {
        "INSERT INTO \(target) VALUES (\(values.map(literal).joined(separator: ", ")));\n"
    }

    static func literal(_ value: Value) -> String {
        switch value {
        case .null: "NULL"
        case .bool(let value): value ? "TRUE" : "FALSE"
        case .integer(let value): String(value)
        case .unsigned(let value): String(value)
        case .double(let value):
            // SQL has no literal for infinity; a number beyond the largest double reads as infinity. The difference of
            // two is NaN, which SQLite stores as NULL.
            value.isFinite ? "\(value)" : value.isNaN ? "(9e999 - 9e999)" : value < 0 ? "-9e999" : "9e999"
        case .date(let seconds): quoted(date(seconds), with: "'")
        case .blob(let bytes): "x'" + PlainText.hexadecimal(bytes) + "'"
        default: quoted(PlainText.of(value), with: "'")
        }
    }

    /// A date in the form that a statement reads as the same value.
    private static func date(_ seconds: Double) -> String {
        DateText.iso(seconds) ?? PlainText.of(.date(seconds))
    }

    /// A name, quoted if necessary.
    static func name(_ name: String) -> String {
        isPlain(name) ? name : quoted(name, with: "\"")
    }

    static func isPlain(_ name: String) -> Bool {
        guard let first = name.utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else {
            return false
        }
        return name.utf8.allSatisfy(isWord) && !reserved.contains(name.uppercased())
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    /// The keywords that cannot be written where a statement has a name, or mean something else there.
    private static let reserved: Set<String> = [
        "ALL", "AND", "ANY", "AS", "ASC", "BETWEEN", "BY", "CASE", "CHECK", "COLLATE", "CONSTRAINT", "CREATE", "CROSS",
        "CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "DEFAULT", "DELETE", "DESC", "DISTINCT", "DROP", "ELSE",
        "END", "ESCAPE", "EXCEPT", "EXISTS", "FALSE", "FOREIGN", "FROM", "GLOB", "GROUP", "HAVING", "IF", "IN", "INDEX",
        "INNER", "INSERT", "INTERSECT", "INTO", "IS", "ISNULL", "JOIN", "LEFT", "LIKE", "LIMIT", "MATCH", "NONE", "NOT",
        "NOTNULL", "NULL", "OFFSET", "ON", "OR", "ORDER", "PRIMARY", "REFERENCES", "REGEXP", "RETURNING", "SELECT",
        "SET", "TABLE", "THEN", "TO", "TRUE", "UNION", "UNIQUE", "UPDATE", "USING", "VALUES", "WHEN", "WHERE", "WITH",
    ]

    private static func column(_ column: ColumnSchema) -> String {
        var text = "\(name(column.name)) \(column.type.statementName)"
        if column.isNoCase { text += " COLLATE NOCASE" }
        if !column.isOptional { text += " NOT NULL" }
        // A default is written out, which NaN cannot be.
        if !column.defaultValue.isNull, column.defaultValue != .double(.nan) {
            text += " DEFAULT \(literal(column.defaultValue))"
        }
        if let target = column.target, target != AnyReference.anyTable { text += " REFERENCES \(name(target))" }
        return text
    }

    private static func statement(_ index: IndexSchema, of schema: EntitySchema) -> String {
        let table = schema.name
        let columns = index.columns.map { column in
            let isDeclared = schema.column(named: column.name)?.isNoCase == true
            let collation =
                column.noCase ? " COLLATE NOCASE" : isDeclared && index.fullText == nil ? " COLLATE BINARY" : ""
            return name(column.name) + collation + (column.descending ? " DESC" : "")
        }
        if index.fullText != nil {
            let over = columns.joined(separator: ", ")
            return DisplayText.onOneLine("-- \(name(table)) has a full-text index \(name(index.name)) over \(over)")
                + "\n"
        }
        let kind = index.isUnique ? "UNIQUE INDEX" : index.isSpatial ? "SPATIAL INDEX" : "INDEX"
        let condition = index.condition.map { " WHERE \($0)" } ?? ""
        return
            "CREATE \(kind) \(name(index.name)) ON \(name(table)) (\(columns.joined(separator: ", ")))\(condition);\n"
    }

    private static func quoted(_ text: String, with quote: Character) -> String {
        var result = String(quote)
        for character in text {
            // Compared by scalars, so that a quote followed by a combining mark is doubled too.
            for scalar in character.unicodeScalars {
                if Character(scalar) == quote { result.unicodeScalars.append(scalar) }
                result.unicodeScalars.append(scalar)
            }
        }
        return result + String(quote)
    }
}
