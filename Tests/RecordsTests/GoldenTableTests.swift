import Foundation
import MakoRecords
import MakoStorage
import MakoTestSupport
import RandomRuns
import Testing

/// A database with tables that version 1 of the format wrote, kept forever: `Golden/v1-tables.mako`, and its content as
/// text.
@Suite struct GoldenTableTests {
    private static let path = "d/tables.mako"
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
        "Golden")

    private static func options(_ disk: SimulatedDisk) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.entropy = SeededEntropy(seed: 1)
        options.logSegmentBytes = 64 << 10
        return options
    }

    // MARK: Content

    /// Columns of all types, with indexes over each; a table whose key is of two columns.
    private static var schemas: [EntitySchema] {
        let types = ColumnType.allCases.filter { $0 != .reference && $0 != .keys }
        var all = EntitySchema(
            name: "Everything",
            columns: types.map { ColumnSchema($0.name, $0, isOptional: true) }
                + [ColumnSchema("friend", .reference, isOptional: true, target: "Everything")])
        all.indexes = types.map { IndexSchema("by \($0.name)", [IndexColumn($0.name)]) }
        all.indexes += [
            IndexSchema("mixed", [IndexColumn("text", noCase: true), IndexColumn("integer", descending: true)]),
            IndexSchema("unique", [IndexColumn("uuid")], isUnique: true),
            IndexSchema("friends", [IndexColumn("friend")]),
        ]
        let keyed = EntitySchema(
            name: "Keyed",
            columns: [
                ColumnSchema("code", .text), ColumnSchema("number", .integer), ColumnSchema("note", .text),
                ColumnSchema("old", .double, isOptional: true),
            ],
            key: .columns(["code", "number"]),
            indexes: [
                IndexSchema("notes", [IndexColumn("note", descending: true, noCase: true)]),
                IndexSchema("both", [IndexColumn("note"), IndexColumn("number")], isUnique: true),
            ])
        return [all, keyed]
    }

    /// The same table later: a column retired, one added for rows that are there.
    private static var laterSchema: EntitySchema {
        var schema = schemas[1]
        schema.columns.removeLast()
        let added = ColumnSchema("added", .integer, default: .integer(7))
        schema.columns.append(added)
        return schema
    }

    private static func write(on disk: SimulatedDisk) throws {
        let store = try Store(at: path, options: options(disk))
        var random = Seeded(7)
        try store.write { tx in
            for schema in schemas { _ = try Catalogue.migrate(to: schema, in: tx) }
        }
        try fill(store, &random, keyed: 0..<60)
        try store.write { tx in _ = try Catalogue.migrate(to: laterSchema, in: tx) }
        try fill(store, &random, keyed: 60..<80)
        try store.close()
    }

    private static func fill(_ store: Store, _ random: inout Seeded, keyed: Range<Int>) throws {
        try store.write { tx in
            let catalogue = try Catalogue.load(view: tx.view)
            var writer = RowWriter()
            var changes = ChangeSet()
            let all = try catalogue.requireTable("Everything")
            for number in keyed {
                writer.begin(all.layout)
                for (place, column) in all.schema.liveColumns.enumerated() where !random.chance(15) {
                    var value = random.value(column.type)
                    if column.type == .uuid { value = .uuid(UInt64(number), 5) }
                    if column.type == .text, number % 9 == 0 {
                        value = .text(String(repeating: "Long É ", count: 200) + "\(number)")
                    }
                    writer.set(place, value)
                }
                let id: RowKey? = number % 10 == 3 ? .rowID(Int64(number) * -1_000_000_007) : nil
                _ = try all.insert(&writer, key: id, in: tx, changes: &changes)
            }
            let coded = try catalogue.requireTable("Keyed")
            for number in keyed {
                writer.begin(coded.layout)
                writer.set(0, .text(number % 7 == 0 ? String(repeating: "a key ", count: 20) : "key \(number % 5)"))
                writer.set(1, .integer(Int64(number)))
                writer.set(2, .text("Note \(number % 4) İÉ"))
                if number % 3 == 0 { writer.set(3, number < 60 ? .double(0.25) : .integer(Int64(number))) }
                _ = try coded.insert(&writer, in: tx, changes: &changes)
            }
        }
    }

    // MARK: Reading it

    private static func text(_ rows: [String: [(key: String, values: [Value])]]) -> String {
        rows.sorted { $0.key < $1.key }.map { name, rows in
            "\(name)\n" + rows.sorted { $0.key < $1.key }.map { "    \($0.key): \($0.values)\n" }.joined()
        }.joined()
    }

    private static func shown(_ view: Snapshot) throws -> String {
        text(try RecordState(reading: view).tables.mapValues { $0.rows.map { (word($0.key), $0.value) } })
    }

    private static func word(_ key: RowKey) -> String { "\(key)" }

    private static func word(_ key: ModelKey) -> String {
        switch key {
        case .integer(let number): "\(Int64(bitPattern: number ^ 1 << 63))"
        case .bytes(let bytes): "\(Value.blob(bytes))"
        }
    }

    private static func entries(_ tree: ModelTree?) -> [(key: ModelKey, value: [UInt8])] {
        switch tree {
        case .integers(let map): zip(map.keys, map.values).map { (.integer($0), $1) }
        case .bytes(let map): zip(map.keys, map.values).map { (.bytes($0.bytes), $1) }
        case nil: []
        }
    }

    /// The content of the trees, read as `docs/format.md` describes them; their indexes are compared with the rows.
    private static func plainly(_ trees: [String: ModelTree]) throws -> String {
        var tables: [String: [(key: String, values: [Value])]] = [:]
        for (key, bytes) in entries(trees["mako.catalogue"]) {
            guard case .bytes(let name) = key, name.first == 1 else { continue }
            let table = PlainTable(bytes)
            let rows = entries(trees["mako.rows.\(table.id)"]).map { (key: $0.key, values: table.values($0.value)) }
            for index in table.indexes {
                let expected = Set(rows.map { table.entry(index, of: $0.values, key: $0.key) })
                let found = entries(trees["mako.index.\(table.id).\(index.id)"]).map { entry -> [UInt8] in
                    if case .bytes(let bytes) = entry.key { bytes } else { [] }
                }
                guard expected == Set(found) else { throw Disagreement("index \(index) holds other entries") }
            }
            tables[String(decoding: name.dropFirst(), as: UTF8.self)] = rows.map { row in
                (word(row.key), table.live.map { row.values[$0] })
            }
        }
        return text(tables)
    }

    @Test func goldenTablesAreReadAndWrittenOn() throws {
        let data = try Data(contentsOf: GoldenTableTests.folder.appendingPathComponent("v1-tables.mako"))
        let expected = try String(
            contentsOf: GoldenTableTests.folder.appendingPathComponent("v1-tables.txt"), encoding: .utf8)
        let disk = SimulatedDisk(
            DiskImage(files: [GoldenTableTests.path: ByteImage(Array(data))], directories: ["d"]))
        let store = try Store(at: GoldenTableTests.path, options: GoldenTableTests.options(disk))
        #expect(try store.verify().isClean)
        #expect(try store.read { try GoldenTableTests.shown($0) } == expected)
        #expect(try store.read { try GoldenTableTests.plainly(ModelStore(reading: $0).trees) } == expected)
        var random = Seeded(8)
        try GoldenTableTests.fill(store, &random, keyed: 100..<120)
        try store.write { tx in
            var schema = GoldenTableTests.laterSchema
            schema.columns.append(ColumnSchema("newest", .text, isOptional: true))
            schema.indexes.removeLast()
            _ = try Catalogue.migrate(to: schema, in: tx)
        }
        // Reading everything also verifies each index against the rows.
        let later = try store.read { try GoldenTableTests.shown($0) }
        try store.close()
        let again = try Store(at: GoldenTableTests.path, options: GoldenTableTests.options(disk))
        #expect(try again.read { try GoldenTableTests.shown($0) } == later && later != expected)
        try again.close()
    }

    /// Rows, catalogue and index entries on paper are those that are written.
    @Test func whatIsWrittenIsTheFormatOnPaper() throws {
        let disk = SimulatedDisk()
        try GoldenTableTests.write(on: disk)
        let store = try Store(at: GoldenTableTests.path, options: GoldenTableTests.options(disk))
        let shown = try store.read { try GoldenTableTests.shown($0) }
        #expect(try store.read { try GoldenTableTests.plainly(ModelStore(reading: $0).trees) } == shown)
        try store.close()
        guard ProcessInfo.processInfo.environment["MAKO_WRITE_GOLDEN"] != nil else { return }
        let bytes = disk.settledImage().files[GoldenTableTests.path]?.bytes ?? []
        try Data(bytes).write(
            to: GoldenTableTests.folder.appendingPathComponent("v1-tables.mako"), options: .withoutOverwriting)
        try Data(shown.utf8).write(
            to: GoldenTableTests.folder.appendingPathComponent("v1-tables.txt"), options: .withoutOverwriting)
    }
}
