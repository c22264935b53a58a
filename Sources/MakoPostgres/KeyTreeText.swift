import MakoRecords

/// Keys of rows as JSON: a row id is a number, a key of columns the text of its bytes (`"\\x…"`), a row of another table
/// `{"table": number, "key": …}`, a list an array, a dictionary an array of pairs.
enum KeyTreeText {
    static func json(_ tree: KeyTree) -> String {
        switch tree {
        case .key(let key): json(key)
        case .foreign(let table, let key): "{\"table\": \(table), \"key\": \(json(key))}"
        case .list(let trees): "[" + trees.map(json).joined(separator: ", ") + "]"
        case .named(let entries):
            "[" + entries.map { "[\(json($0.name)), \(json($0.tree))]" }.joined(separator: ", ") + "]"
        }
    }

    private static func json(_ key: RowKey) -> String {
        switch key {
        case .rowID(let id): String(id)
        case .bytes(let bytes): "\"\\\\x\(PostgresType.hexadecimal(bytes))\""
        }
    }

    private static func json(_ name: Value) -> String {
        switch name {
        case .null: "null"
        case .bool(let flag): flag ? "true" : "false"
        case .integer(let number): String(number)
        case .unsigned(let number): String(number)
        case .double(let number), .date(let number): number.isFinite ? "\(number)" : "\"\(number)\""
        case .text(let text): quoted(text)
        case .blob(let bytes): "\"\\\\x\(PostgresType.hexadecimal(bytes))\""
        case .uuid: quoted("\(name)".filter { $0 != "'" })
        }
    }

    /// U+0000 stays, so that it is refused as in a text.
    private static func quoted(_ text: String) -> String {
        var out = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": out += "\\\""
            case "\\": out += "\\\\"
            case "\u{1}"..<" ":
                let digits = String(scalar.value, radix: 16)
                out += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: out.unicodeScalars.append(scalar)
            }
        }
        return out + "\""
    }
}
