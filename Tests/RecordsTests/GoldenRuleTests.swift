import Foundation
import MakoRecords
import MakoStorage
import MakoTestSupport
import RandomRuns
import Testing

/// A database with delete rules, case-insensitive columns and lists that were references, as version 1 of the format
/// wrote it, kept forever: `Golden/v1-rules.mako`, and its content, read as `docs/format.md` describes it.
@Suite struct GoldenRuleTests {
    private static let path = "d/rules.mako"
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
        "Golden")

    private static func options(_ disk: SimulatedDisk, readOnly: Bool = false) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.entropy = SeededEntropy(seed: 1)
        options.logSegmentBytes = 64 << 10
        options.readOnly = readOnly
        return options
    }

    private static func golden(_ name: String) throws -> SimulatedDisk {
        let data = try Data(contentsOf: folder.appendingPathComponent(name))
        return SimulatedDisk(DiskImage(files: [path: ByteImage(Array(data))], directories: ["d"]))
    }

    private static var expected: String {
        get throws { try String(contentsOf: folder.appendingPathComponent("v1-rules.txt"), encoding: .utf8) }
    }

    // MARK: Content

    private static let definitions = [
        "CREATE TABLE Person (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE)",
        "CREATE INDEX names ON Person (name)",
        "CREATE TABLE Place (code TEXT COLLATE NOCASE, floor INTEGER, title TEXT COLLATE NOCASE, PRIMARY KEY (code, floor))",
        "CREATE TABLE Badge (id INTEGER PRIMARY KEY, person INTEGER REFERENCES Person)",
        "CREATE TABLE Loan (id INTEGER PRIMARY KEY, person INTEGER REFERENCES Person, badge INTEGER REFERENCES Badge)",
        "CREATE TABLE Team (id INTEGER PRIMARY KEY, lead INTEGER REFERENCES Person, motto TEXT)",
    ]

    private static var rules: ReferenceRules {
        var rules = ReferenceRules()
        rules.set(.init(.cascade, isOwned: false), table: "Badge", column: "person", target: "Person")
        rules.set(.init(.deny, isOwned: false), table: "Loan", column: "person", target: "Person")
        rules.set(.init(.nullify, isOwned: true), table: "Loan", column: "badge", target: "Badge")
        rules.set(.init(.nullify, isOwned: false), table: "Team", column: "lead", target: "Person")
        return rules
    }

    private static func run(_ text: String, in tx: borrowing WriteTransaction) throws {
        var changes = ChangeSet()
        _ = try Statement.parse(text).run(try Catalogue.load(view: tx.view), in: tx, changes: &changes)
    }

    private static func write(on disk: SimulatedDisk) throws {
        let store = try Store(at: path, options: options(disk))
        try store.write { tx in
            for text in definitions { try run(text, in: tx) }
            for number in 1...12 {
                let name = ["ada", "Ada", "ÉMILE", "émile"][number % 4]
                try run("INSERT INTO Person VALUES (\(number), '\(name)')", in: tx)
                try run("INSERT INTO Place VALUES ('Hall \(number)', \(number % 3), 'Cabin \(number / 2)')", in: tx)
                try run("INSERT INTO Team VALUES (\(number), \(number % 4 == 0 ? "NULL" : "\(number)"), 'x')", in: tx)
                if number % 2 == 0 { try run("INSERT INTO Badge VALUES (\(number), \(number))", in: tx) }
                if number > 8 { try run("INSERT INTO Loan VALUES (\(number), \(number), \(number / 2 * 2))", in: tx) }
            }
        }
        try store.write { tx in try list(in: tx) }
        try store.write { tx in _ = try Catalogue.load(view: tx.view).adopting(rules, in: tx) }
        try store.close()
    }

    /// The reference of a team becomes a list.
    private static func list(in tx: borrowing WriteTransaction) throws {
        var schema = try Catalogue.load(view: tx.view).requireTable("Team").schema
        let place = try #require(schema.columns.firstIndex { $0.name == "lead" })
        schema.columns[place] = ColumnSchema("lead", .keys, isOptional: true, target: "Person")
        schema.columns[place].takesOneKey = true
        schema.indexes.append(IndexSchema("leads", [IndexColumn("lead")]))
        _ = try Catalogue.migrate(to: schema, in: tx)
    }

    // MARK: Reading it by the letter of the format

    private static func entries(_ tree: ModelTree?) -> [(key: ModelKey, value: [UInt8])] {
        switch tree {
        case .integers(let map): zip(map.keys, map.values).map { (.integer($0), $1) }
        case .bytes(let map): zip(map.keys, map.values).map { (.bytes($0.bytes), $1) }
        case nil: []
        }
    }

    private static func word(_ key: ModelKey) -> String {
        switch key {
        case .integer(let number): "\(Int64(bitPattern: number ^ 1 << 63))"
        case .bytes(let bytes): "\(Value.blob(bytes))"
        }
    }

    /// Tables with the codes of their columns' types, rows, and entries of indexes, which must be those of the rows; delete rules.
    private static func shown(_ view: Snapshot) throws -> String {
        let trees = try ModelStore(reading: view).trees
        var text = ""
        for (key, bytes) in entries(trees["mako.catalogue"]) {
            guard case .bytes(let name) = key else { continue }
            if name == [0, 3] { text += shownRules(bytes) }
            guard name.first == 1 else { continue }
            let table = PlainTable(bytes)
            let columns = table.live.map { table.columns[$0] }.map { column in
                "\(column.name) \(column.isNoCase ? "17 " : "")\(column.type)\(column.hasTarget ? " refers" : "")"
            }
            text += "\(String(decoding: name.dropFirst(), as: UTF8.self)): \(columns.joined(separator: ", "))\n"
            let rows = entries(trees["mako.rows.\(table.id)"]).map { (key: $0.key, values: table.values($0.value)) }
            for row in rows { text += "    \(word(row.key)): \(table.live.map { row.values[$0] })\n" }
            for index in table.indexes {
                let found = entries(trees["mako.index.\(table.id).\(index.id)"]).map { entry -> [UInt8] in
                    if case .bytes(let bytes) = entry.key { bytes } else { [] }
                }
                // Of a list it holds each key, and of it the rows.
                if index.parts.contains(where: { table.columns[$0.ordinal].type == 10 }) {
                    text += "    index of keys\n" + found.map { "        \(Value.blob($0))\n" }.joined()
                    continue
                }
                guard Set(rows.map { table.entry(index, of: $0.values, key: $0.key) }) == Set(found) else {
                    throw Disagreement("index \(index) holds other entries")
                }
                text += "    index \(index.parts.map { $0.noCase ? "without regard to case" : "by bytes" })\n"
            }
        }
        return text
    }

    private static func shownRules(_ bytes: [UInt8]) -> String {
        var source = PlainSource(bytes)
        var text = "delete rules, form \(source.number(1))\n"
        for _ in 0..<source.number(4) {
            text += "    \(source.text()).\(source.text()) of \(source.text()): rule \(source.number(1)), "
            text += "owned \(source.number(1))\n"
        }
        return text
    }

    /// The word of the header with the features that a writer must know.
    private static func mustWrite(_ disk: SimulatedDisk) -> UInt64 {
        let bytes = disk.settledImage().files[path]?.bytes ?? []
        return bytes[80..<88].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    private static func expectSound(_ store: Store) throws {
        #expect(try store.verify().isClean)
        #expect(try Catalogue.verify(store).findings == [])
    }

    // MARK: Tests

    @Test func goldenRulesAreReadAndWrittenOn() throws {
        let disk = try Self.golden("v1-rules.mako")
        #expect(Self.mustWrite(disk) == 1)
        let store = try Store(at: Self.path, options: Self.options(disk))
        try Self.expectSound(store)
        #expect(try store.read { try Self.shown($0) } == Self.expected)
        #expect(try store.read { try Catalogue.load(view: $0).rules } == Self.rules)
        // Without regard to case, by the column's own collation.
        #expect(throws: RecordError.self) {
            try store.write { try Self.run("INSERT INTO Place VALUES ('HALL 3', 0, 'x')", in: $0) }
        }
        try store.write { try Self.run("UPDATE Place SET title = 'new' WHERE title = 'CABIN 1'", in: $0) }
        // By the rules of the file: its badge goes, its team loses the key, and one that has a loan stays.
        try store.write { try Self.run("DELETE FROM Person WHERE id = 2", in: $0) }
        #expect(throws: RecordError.self) {
            try store.write { try Self.run("DELETE FROM Person WHERE id = 10", in: $0) }
        }
        let later = try store.read { try Self.shown($0) }
        #expect(later.contains("title") && later.components(separatedBy: "new").count == 3)
        #expect(try store.read { try Self.count("Badge WHERE id = 2", $0) } == 0)
        #expect(try store.read { try Self.count("Team WHERE lead IS NULL OR id = 2", $0) } == 4)
        try Self.expectSound(store)
        try store.close()
        let again = try Store(at: Self.path, options: Self.options(disk))
        #expect(try again.read { try Self.shown($0) } == later)
        try again.close()
    }

    private static func count(_ rest: String, _ view: Snapshot) throws -> Int {
        guard case .select(let select) = try Statement.parse("SELECT count(*) FROM \(rest)") else { return -1 }
        let rows = try select.run(try Catalogue.load(view: view), view: view).rows
        guard case .integer(let count)? = rows.first?.first else { return -1 }
        return Int(count)
    }

    @Test func readingGoldenRulesChangesNothing() throws {
        let disk = try Self.golden("v1-rules.mako")
        let before = disk.settledImage().files[Self.path]?.bytes
        let store = try Store(at: Self.path, options: Self.options(disk, readOnly: true))
        #expect(try store.read { try Self.shown($0) } == Self.expected)
        #expect(try store.read { try Self.count("Person WHERE name = 'ADA'", $0) } == 6)
        #expect(try Catalogue.verify(store).findings == [])
        try store.close()
        #expect(disk.settledImage().files[Self.path]?.bytes == before)
    }

    /// A new file has the content of the golden one.
    @Test func whatIsWrittenIsTheFormatOnPaper() throws {
        let disk = SimulatedDisk()
        try Self.write(on: disk)
        let store = try Store(at: Self.path, options: Self.options(disk))
        let shown = try store.read { try Self.shown($0) }
        try store.close()
        if ProcessInfo.processInfo.environment["MAKO_WRITE_GOLDEN"] != nil {
            let bytes = disk.settledImage().files[Self.path]?.bytes ?? []
            try Data(bytes).write(
                to: Self.folder.appendingPathComponent("v1-rules.mako"), options: .withoutOverwriting)
            try Data(shown.utf8).write(
                to: Self.folder.appendingPathComponent("v1-rules.txt"), options: .withoutOverwriting)
        }
        #expect(try shown == Self.expected)
    }

    @Test func salvageKeepsRulesAndCollations() throws {
        let disk = try Self.golden("v1-rules.mako")
        let target = "d/saved.mako"
        #expect(try Catalogue.salvage(from: Self.path, to: target, options: Self.options(disk)).isComplete)
        let store = try Store(at: target, options: Self.options(disk))
        #expect(try store.read { try Self.shown($0) } == Self.expected)
        try store.close()
    }

    /// A file from before rules, read as it is, has none until a program binds its types for writing.
    @Test func aFileOfBeforeGetsRulesWithItsTypes() throws {
        let disk = try Self.golden("v1-tables.mako")
        let reading = try Store(at: Self.path, options: Self.options(disk, readOnly: true))
        #expect(try reading.read { try Catalogue.load(view: $0).rules.isEmpty })
        try reading.close()
        #expect(Self.mustWrite(disk) == 0)

        let store = try Store(at: Self.path, options: Self.options(disk))
        #expect(Self.mustWrite(disk) == 0)
        var rules = ReferenceRules()
        rules.set(.init(.nullify, isOwned: false), table: "Everything", column: "friend", target: "Everything")
        try store.write { tx in _ = try Catalogue.load(view: tx.view).adopting(rules, in: tx) }
        #expect(Self.mustWrite(disk) == 1)
        try store.write { tx in
            var schema = try Catalogue.load(view: tx.view).requireTable("Everything").schema
            let place = try #require(schema.columns.firstIndex { $0.name == "friend" })
            schema.columns[place] = ColumnSchema("friend", .keys, isOptional: true, target: "Everything")
            schema.columns[place].takesOneKey = true
            _ = try Catalogue.migrate(to: schema, in: tx)
        }
        try Self.expectSound(store)
        #expect(try store.read { try Catalogue.load(view: $0).rules } == rules)
        try store.close()
    }
}
