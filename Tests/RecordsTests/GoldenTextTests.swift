import Foundation
import MakoRecords
import MakoStorage
import MakoTestSupport
import Testing

/// A database with full-text indexes that version 1 of the format wrote, kept forever: `Golden/v1-words.mako`, and the
/// content of its indexes, read as `docs/format.md` describes them, as text.
@Suite struct GoldenTextTests {
    private static let path = "d/words.mako"
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

    private static let schemas = [
        EntitySchema(
            name: "Note",
            columns: [
                ColumnSchema("title", .text, isOptional: true), ColumnSchema("body", .text, isOptional: true),
                ColumnSchema("more", .text, isOptional: true),
            ],
            indexes: [
                IndexSchema("all", ["title", "body", "more"].map { IndexColumn($0) }, fullText: FullTextOptions()),
                IndexSchema("stems", [IndexColumn("body")], fullText: FullTextOptions(stemming: .english)),
            ]),
        EntitySchema(
            name: "Keyed", columns: [ColumnSchema("code", .text), ColumnSchema("text", .text)],
            key: .columns(["code"]),
            indexes: [IndexSchema("words", [IndexColumn("text")], fullText: FullTextOptions())]),
    ]

    private static let texts = [
        "Steam engines, and the engineers who built them", "Müller's Straße; ŁÓDŹ, Ærø, İstanbul", "東京は晴れ Tokyo 2026",
        "ἄνθρωπος ЁЛКА й e\u{301}cole", "שָׁלוֹם مُحَمَّد हिन्दी ไทย 한국어", "a a a b a b", "",
    ]

    private static func write(on disk: SimulatedDisk) throws {
        let store = try Store(at: path, options: options(disk))
        try store.write { tx in
            for schema in schemas { _ = try Catalogue.migrate(to: schema, in: tx) }
        }
        try fill(store, 0..<150)
        try store.close()
    }

    private static func fill(_ store: Store, _ numbers: Range<Int>) throws {
        try store.write { tx in
            let catalogue = try Catalogue.load(view: tx.view)
            var writer = RowWriter()
            var changes = ChangeSet()
            let notes = try catalogue.requireTable("Note")
            let keyed = try catalogue.requireTable("Keyed")
            for number in numbers {
                writer.begin(notes.layout)
                writer.set(0, texts[number % texts.count])
                if number % 3 > 0 { writer.set(1, "number \(number) is common " + texts[number / 7 % texts.count]) }
                if number % 5 == 0 { writer.set(2, "common") }
                let key: RowKey? = number % 50 == 3 ? .rowID(Int64(number) * -1_000_000_007) : nil
                _ = try notes.insert(&writer, key: key, in: tx, changes: &changes)
                if number % 4 > 0 { continue }
                writer.begin(keyed.layout)
                writer.set(0, String(repeating: "key ", count: number == 40 ? 180 : 1) + "\(number)")
                writer.set(1, texts[number % texts.count] + " common")
                _ = try keyed.insert(&writer, in: tx, changes: &changes)
            }
        }
    }

    // MARK: On paper

    /// Variable-length numbers of a value.
    private struct Numbers {
        var rest: ArraySlice<UInt8>

        mutating func next() throws -> UInt64 {
            var (number, shift): (UInt64, UInt64) = (0, 0)
            while let byte = rest.popFirst() {
                number |= UInt64(byte & 0x7F) << shift
                shift += 7
                if byte < 0x80 { return number }
            }
            throw Disagreement("a number is cut off")
        }
    }

    private static func big(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }

    private static func name(_ row: UInt64) -> String { "\(Int64(bitPattern: row ^ 1 << 63))" }

    /// The postings of a chunk: `row: column.position …`
    private static func postings(_ value: [UInt8], from base: UInt64, columns: Int) throws -> String {
        var bits: UInt64 = 0
        while 1 << bits < columns { bits += 1 }
        var numbers = Numbers(rest: value[...])
        var row = base
        var lines: [String] = []
        while !numbers.rest.isEmpty {
            row = row &+ (try numbers.next())
            let head = try numbers.next()
            var places: [String] = []
            if head & 1 == 1 {
                places.append("\((head >> 1) & ((1 << bits) - 1)).\((head >> 1) >> bits)")
            } else {
                var inner = Numbers(rest: numbers.rest.prefix(Int(head >> 1)))
                numbers.rest = numbers.rest.dropFirst(Int(head >> 1))
                var (column, position): (UInt64, Int) = (0, -1)
                while !inner.rest.isEmpty {
                    let step = try inner.next()
                    if step == 0 {
                        (column, position) = (try inner.next(), -1)
                    } else {
                        position += Int(step)
                        places.append("\(column).\(position)")
                    }
                }
            }
            lines.append("\(name(row)): \(places.joined(separator: " "))")
        }
        return lines.joined(separator: ", ")
    }

    private static func entry(_ key: [UInt8], _ value: [UInt8], columns: Int) throws -> String {
        var numbers = Numbers(rest: value[...])
        switch key[0] {
        case 0:
            guard numbers.rest.popFirst() == 1 else { throw Disagreement("the format is not 1") }
            var all: [UInt64] = []
            while !numbers.rest.isEmpty { all.append(try numbers.next()) }
            guard all.count == 2 + columns else { throw Disagreement("totals of \(all.count) numbers") }
            return "totals \(all)"
        case 1:
            var lines: [String] = []
            while let place = numbers.rest.popFirst() {
                let row = big(key[1...]) << 6 | UInt64(place)
                lines.append("\(name(row)): \(try (0..<columns).map { _ in try numbers.next() })")
            }
            return "lengths \(lines.joined(separator: ", "))"
        case 2:
            let end = key.firstIndex(of: 0) ?? key.count
            let base = end == key.count ? 1 << 63 : big(key[(end + 1)...])
            let chunk = end == key.count ? "" : " from \(name(base))"
            return "\(String(decoding: key[1..<end], as: UTF8.self))\(chunk) - "
                + (try postings(value, from: base, columns: columns))
        case 3: return "key \(Value.blob(Array(key.dropFirst()))) is \(name(big(value[...])))"
        default: return "row \(name(big(key[1...]))) is \(Value.blob(value))"
        }
    }

    private static func shown(_ view: Snapshot) throws -> String {
        var text = ""
        // Numbers are given to tables and their indexes in the order in which they were made.
        for (table, schema) in schemas.enumerated() {
            for (index, each) in schema.indexes.enumerated() {
                text += "\(schema.name), \(each.name)\n"
                let name = view.trees.map(\.name).filter { $0.hasPrefix("mako.index.\(table + 1).") }.sorted()[
                    index]
                guard let tree = view.tree(named: name) else { throw Disagreement("there is no tree \(name)") }
                var cursor = try view.cursor(in: tree)
                var isThere = try cursor.first()
                while isThere {
                    text += "    \(try entry(cursor.key, try cursor.value(), columns: each.columns.count))\n"
                    isThere = try cursor.next()
                }
            }
        }
        return text
    }

    private static func expectSound(_ view: Snapshot) throws {
        for table in try Catalogue.load(view: view).handles { #expect(try table.verify(in: view) == []) }
    }

    @Test func goldenWordsAreReadAndWrittenOn() throws {
        let data = try Data(contentsOf: Self.folder.appendingPathComponent("v1-words.mako"))
        let expected = try String(contentsOf: Self.folder.appendingPathComponent("v1-words.txt"), encoding: .utf8)
        let disk = SimulatedDisk(DiskImage(files: [Self.path: ByteImage(Array(data))], directories: ["d"]))
        let store = try Store(at: Self.path, options: Self.options(disk))
        #expect(try store.verify().isClean)
        #expect(try store.read { try Self.shown($0) } == expected)
        // The words of the rows are still those that were indexed.
        try store.read { try Self.expectSound($0) }
        try Self.fill(store, 200..<230)
        try store.read { try Self.expectSound($0) }
        try store.close()
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
                to: Self.folder.appendingPathComponent("v1-words.mako"), options: .withoutOverwriting)
            try Data(shown.utf8).write(
                to: Self.folder.appendingPathComponent("v1-words.txt"), options: .withoutOverwriting)
        }
        #expect(
            shown == (try String(contentsOf: Self.folder.appendingPathComponent("v1-words.txt"), encoding: .utf8)))
    }
}
