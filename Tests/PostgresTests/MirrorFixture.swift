import MakoRecords
import MakoStorage
import MakoTestSupport
import Testing

import MakoPostgres

/// A database in memory with a history, and random work on it.
final class MirrorFixture {
    /// A table with a row id and all types.
    static let wide = EntitySchema(
        name: "Wide \"table\"",
        columns: [
            ColumnSchema("flag", .bool), ColumnSchema("number", .integer, isOptional: true),
            ColumnSchema("unsigned", .unsigned), ColumnSchema("double", .double, isOptional: true),
            ColumnSchema("text", .text), ColumnSchema("blob", .blob, isOptional: true),
            ColumnSchema("date", .date, isOptional: true), ColumnSchema("uuid", .uuid, isOptional: true),
        ])
    static let keyed = EntitySchema(
        name: "K",
        columns: [
            ColumnSchema("code", .text), ColumnSchema("n", .integer), ColumnSchema("note", .text, isOptional: true),
            ColumnSchema("at", .date, isOptional: true),
        ], key: .columns(["code", "n"]))
    /// A key whose values may differ by less than a microsecond.
    static let dated = EntitySchema(
        name: "dated", columns: [ColumnSchema("at", .date), ColumnSchema("n", .integer)], key: .columns(["at"]))

    let store: Store
    private(set) var catalogue: Catalogue
    private let history = HistoryWriter(SystemEntropy())
    private var date = 0.0

    init(_ schemas: EntitySchema..., keepsHistory: Bool = true) throws {
        store = try Store.inMemory()
        catalogue = try Catalogue.load(view: store.snapshot())
        if keepsHistory { try store.write { tx in try history.begin(HistoryLimits(), date: 0, in: tx) } }
        for schema in schemas { try migrate(schema) }
    }

    func table(_ name: String) throws -> TableHandle { try catalogue.requireTable(name) }

    /// Runs statements in one commit.
    ///
    /// - Parameter rewritten: tables that the history names without rows, as it does after an import.
    func commit(_ statements: [(text: String, values: [Value])], rewritten: [String] = []) throws {
        let before = catalogue
        catalogue = try store.write { tx in
            var changes = ChangeSet()
            var catalogue = before
            for (text, values) in statements {
                let outcome = try Statement.parse(text).run(
                    catalogue, in: tx, changes: &changes, parameters: values, ignoringReferences: true)
                if outcome.changesSchema { catalogue = try Catalogue.load(view: tx.view) }
            }
            date += 1
            try history.append(
                rewritten.isEmpty ? changes : ChangeSet(), rewritten: rewritten, catalogue, before: before, date: date,
                in: tx)
            return catalogue
        }
    }

    func run(_ text: String, _ values: [Value] = []) throws { try commit([(text, values)]) }

    func insert(_ table: String, _ values: [Value]) throws { try commit([insertion(table, values)]) }

    /// An INSERT that replaces the row with the same key.
    func insertion(_ table: String, _ values: [Value]) -> (text: String, values: [Value]) {
        let marks = values.map { _ in "?" }.joined(separator: ", ")
        return ("INSERT OR REPLACE INTO \(PostgresText.name(table)) VALUES (\(marks))", values)
    }

    /// Migrates a table in a commit that the history does not record, as a change of the schema alone.
    func migrate(_ schema: EntitySchema) throws {
        let old = catalogue
        catalogue = try store.write { tx in
            _ = try Catalogue.migrate(to: schema, in: tx)
            return try Catalogue.load(view: tx.view, previous: old)
        }
    }

    func forgetHistory() throws {
        try store.write { tx in try history.forget(before: tx.view.commitNumber, in: tx) }
        try run("DELETE FROM K WHERE n = -99")
        try store.write { tx in try history.forget(before: tx.view.commitNumber, in: tx) }
    }

    func script() throws -> String {
        var text = ""
        try store.read { view in
            _ = try PostgresScript.write(try Catalogue.load(view: view).handles, in: view) { piece in
                text += piece
                return true
            }
        }
        return text
    }

    // MARK: - Random work

    static func text(_ random: inout SplitMix) -> String {
        let pieces = [
            "", "a", "it's", "\"", "\\", "\\N", "\t", "\n", "\r", "\\.", "é\u{301}", "😀", "\u{1}", "\u{7f}", "$1",
            "x y ",
        ]
        return (0..<random.below(5)).map { _ in pieces[random.below(pieces.count)] }.joined()
    }

    static func double(_ random: inout SplitMix) -> Double {
        let special = [
            0, -0.0, .nan, .infinity, -.infinity, Double.leastNonzeroMagnitude, .greatestFiniteMagnitude, 0.1, -1e20,
        ]
        return random.chance(50) ? special[random.below(special.count)] : Double(bitPattern: random.next())
    }

    static func date(_ random: inout SplitMix) -> Double {
        switch random.below(4) {
        case 0: Double(Int(truncatingIfNeeded: random.next() % 10_000_000_000))
        case 1: -Double(random.next() % 200_000_000_000) / 3
        case 2: Double(random.next() % 1_000_000_000_000) / 997
        default: [0, .infinity, -.infinity, 0.999_999_9][random.below(4)]
        }
    }

    static func value(_ type: ColumnType, _ isOptional: Bool, _ random: inout SplitMix) -> Value {
        if isOptional, random.chance(20) { return .null }
        return switch type {
        case .bool: .bool(random.chance(50))
        case .integer, .reference:
            .integer(random.chance(50) ? Int64(random.below(5)) : Int64(bitPattern: random.next()))
        case .unsigned: Value.unsignedInteger(random.next())
        case .double: .double(double(&random))
        case .text: .text(text(&random))
        case .blob: .blob((0..<random.below(40)).map { _ in UInt8(truncatingIfNeeded: random.next()) })
        case .date: .date(date(&random))
        case .uuid: .uuid(random.next(), random.next())
        case .keys: .blob(KeyTree.list([.key(.rowID(Int64(random.below(9))))]).encoded)
        }
    }

    /// A row of a table, with one of few keys.
    func row(_ schema: EntitySchema, _ random: inout SplitMix) -> [Value] {
        var values: [Value] = []
        var keys: [String] = []
        switch schema.key {
        case .rowID: values.append(.integer(Int64(random.below(60)) - 5))
        case .columns(let names): keys = names
        }
        for column in schema.liveColumns {
            guard keys.contains(column.name) else {
                values.append(MirrorFixture.value(column.type, column.isOptional, &random))
                continue
            }
            switch column.type {
            case .text: values.append(.text(["a", "b'", "\\", "é"][random.below(4)]))
            case .date: values.append(.date(Double(random.below(30)) * 1e-7))
            default: values.append(.integer(Int64(random.below(12))))
            }
        }
        return values
    }

    /// A random commit of insertions, updates and deletions.
    func work(_ random: inout SplitMix) throws {
        let tables = catalogue.tables
        var statements: [(text: String, values: [Value])] = []
        for _ in 0...random.below(8) {
            guard !tables.isEmpty else { break }
            let schema = tables[random.below(tables.count)]
            let name = PostgresText.name(schema.name)
            let key = PostgresText.name(schema.keyNames[0])
            let row = row(schema, &random)
            switch random.below(10) {
            case 0..<6: statements.append(insertion(schema.name, row))
            case 6..<9: statements.append(("DELETE FROM \(name) WHERE \(key) = ?", [row[0]]))
            default: statements.append(("DELETE FROM \(name) WHERE \(key) > ?", [row[0]]))
            }
        }
        try commit(statements)
    }
}

extension EntitySchema {
    var keyNames: [String] {
        switch key {
        case .rowID(let name): [name]
        case .columns(let names): names
        }
    }
}
