import MakoRecords
import MakoTestSupport

/// Tables with names that are each other's, keywords, and texts in and outside ASCII; what a name means among them by SQL's rule, in plain Swift.
struct NameModel {
    enum Kind { case key, text, number, reference(Int) }

    struct Column {
        let name: String
        let kind: Kind
        var isText: Bool { if case .text = kind { true } else { false } }
    }

    struct Table {
        let name: String
        let columns: [Column]
        var rows: [[Value]] = []
    }

    /// A table of a FROM clause.
    struct Source {
        let name: String
        let table: Int
        let isNamed: Bool
    }

    enum Fault: Error { case ambiguous, unknown }

    static let names = [
        "river", "boat", "person", "department", "select", "from", "where", "order", "group", "by", "id", "rank",
        "name", "as", "on", "join", "null", "exists", "count", "rowid", "é", "größe", "日本", "🚢", "a b", "x.y", "a\"b",
        "`", "table", "é\u{323}", "straße", "_", "1st",
    ]
    private static let bare: Set<String> = ["river", "boat", "person", "department", "name"]

    var tables: [Table] = []

    init(_ random: inout SplitMix) {
        var taken: Set<String> = []
        let titles = (0..<3).map { _ in NameModel.draw(&random, &taken) }
        for title in titles {
            var own: Set<String> = []
            // Often a table's own name or another table's.
            func column(_ random: inout SplitMix) -> String {
                if random.chance(50) {
                    let title = titles[random.below(titles.count)]
                    if own.insert(title.lowercased()).inserted { return title }
                }
                return NameModel.draw(&random, &own)
            }
            let columns = [
                Column(name: column(&random), kind: .key), Column(name: column(&random), kind: .text),
                Column(name: column(&random), kind: .number),
                Column(name: column(&random), kind: .reference(random.below(3))),
                Column(name: column(&random), kind: .reference(random.below(3))),
            ]
            tables.append(Table(name: title, columns: columns))
        }
        for table in tables.indices {
            for id in 1...5 {
                func number(_ random: inout SplitMix) -> Value {
                    random.chance(20) ? .null : .integer(Int64(1 + random.below(5)))
                }
                let text = ["é", "e\u{301}", "a", "A"][random.below(4)]
                tables[table].rows.append(
                    [.integer(Int64(id)), .text(text), number(&random), number(&random), number(&random)])
            }
        }
    }

    /// A name that is none of those taken; composed or decomposed.
    static func draw(_ random: inout SplitMix, _ taken: inout Set<String>) -> String {
        while true {
            var name = names[random.below(names.count)]
            if random.chance(10) { name += "e\u{301}" }
            if name == "é", random.chance(50) { name = "e\u{301}" }
            if random.chance(20) { name = name.uppercased() }
            // Names are compared without their case, and by what they stand for.
            if taken.insert(name.lowercased()).inserted { return name }
        }
    }

    // MARK: What names mean

    /// The value of a path for the rows of the scopes, the innermost first.
    func value(_ path: [String], _ scopes: [[Source]], _ rows: [[[Value]]]) throws -> Value {
        for (scope, sources) in scopes.enumerated() where path.count > 1 {
            if let place = sources.firstIndex(where: { NameModel.same($0.name, path[0]) }) {
                return try column(path.dropFirst(), sources[place].table, rows[scope][place])
            }
        }
        let holder = try holder(of: path[0], scopes[0])
        return try column(path[...], scopes[0][holder].table, rows[0][holder])
    }

    private func column(_ path: ArraySlice<String>, _ table: Int, _ row: [Value]?) throws -> Value {
        guard let name = path.first,
            let place = tables[table].columns.firstIndex(where: { NameModel.same($0.name, name) })
        else { throw Fault.unknown }
        if path.count == 1 { return row?[place] ?? .null }
        guard case .reference(let target) = tables[table].columns[place].kind else { throw Fault.unknown }
        let found = tables[target].rows.first { $0[0] == row?[place] }
        return try column(path.dropFirst(), target, found)
    }

    /// Whether a path gives texts; throws where it means nothing.
    func isText(_ path: [String], _ scopes: [[Source]]) throws -> Bool {
        for sources in scopes where path.count > 1 {
            if let source = sources.first(where: { NameModel.same($0.name, path[0]) }) {
                return try isText(path.dropFirst(), source.table)
            }
        }
        // Whether one table alone has the column does not depend on rows.
        _ = try value(path, scopes, scopes.map { $0.map { tables[$0.table].rows[0] } })
        return try isText(path[...], scopes[0][try holder(of: path[0], scopes[0])].table)
    }

    /// The table that alone has a column: as it is spelled, or, where none has that, in another case.
    private func holder(of name: String, _ sources: [Source]) throws -> Int {
        for isSame in [{ $0 == $1 }, NameModel.same] {
            let holders = sources.indices.filter { place in
                tables[sources[place].table].columns.contains { isSame($0.name, name) }
            }
            if holders.count > 1 { throw Fault.ambiguous }
            if let holder = holders.first { return holder }
        }
        throw Fault.unknown
    }

    private func isText(_ path: ArraySlice<String>, _ table: Int) throws -> Bool {
        guard let name = path.first, let column = tables[table].columns.first(where: { NameModel.same($0.name, name) })
        else { throw Fault.unknown }
        if path.count == 1 { return column.isText }
        guard case .reference(let target) = column.kind else { throw Fault.unknown }
        return try isText(path.dropFirst(), target)
    }

    static func same(_ first: String, _ second: String) -> Bool { first.lowercased() == second.lowercased() }

    // MARK: As text

    func quoted(_ name: String, _ random: inout SplitMix) -> String {
        // As it is spelled: of names in several cases the one that is spelled so counts.
        if NameModel.bare.contains(name), random.chance(50) { return name }
        switch random.below(3) {
        case 0 where !name.contains("`"): return "`\(name)`"
        case 1 where !name.contains("]"): return "[\(name)]"
        default: return text(exactly: name)
        }
    }

    private func text(exactly name: String) -> String {
        "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }

    func text(_ path: [String], _ random: inout SplitMix) -> String {
        var names: [String] = []
        for name in path { names.append(quoted(name, &random)) }
        return names.joined(separator: ".")
    }

    func text(_ source: Source, _ random: inout SplitMix) -> String {
        let table = quoted(tables[source.table].name, &random)
        return source.isNamed ? table + (random.chance(50) ? " AS " : " ") + quoted(source.name, &random) : table
    }

    /// The statements that make the tables.
    func creation(_ random: inout SplitMix) -> [String] {
        var statements: [String] = []
        for table in tables {
            var columns: [String] = []
            for column in table.columns {
                let name = quoted(column.name, &random)
                switch column.kind {
                case .key: columns.append("\(name) INTEGER PRIMARY KEY")
                case .text: columns.append("\(name) TEXT")
                case .number: columns.append("\(name) INTEGER")
                case .reference(let target):
                    columns.append("\(name) INTEGER REFERENCES \(quoted(tables[target].name, &random))")
                }
            }
            statements.append("CREATE TABLE \(quoted(table.name, &random)) (\(columns.joined(separator: ", ")))")
        }
        for table in tables {
            for row in table.rows {
                let values = row.map { "\($0)" }.joined(separator: ", ")
                statements.append("INSERT INTO \(quoted(table.name, &random)) VALUES (\(values))")
            }
        }
        return statements
    }
}
