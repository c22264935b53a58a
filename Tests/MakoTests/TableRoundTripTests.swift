import Foundation
import MakoRecords
import MakoStorage
import MakoTestSupport
import TestHelpers
import Testing

@testable import MakoCommand

/// A random table with values of all types, extremes among them.
private struct RandomTable {
    let schema: EntitySchema
    /// In the order of the shown columns.
    private(set) var rows: [[Value]] = []

    private static let names = [
        "a", "B c", "select", "e\u{301}", "x\"y", "tab\there", ",", "'", "[x]", "a.b", "\\N", "NULL", "0",
        "--",
        "/*", ";", "東京", "\u{301}", "line\nbreak",
    ]
    private static let types: [ColumnType] = [
        .text, .integer, .unsigned, .double, .bool, .date, .uuid, .blob, .reference,
    ]

    init(_ random: inout SplitMix) {
        var names = Self.names.shuffled(using: &random)[...]
        let isKeyed = random.chance(40)
        var columns: [ColumnSchema] = []
        var keys: [String] = []
        for position in 0..<(1 + random.below(6)) {
            let name = names.removeFirst()
            let isKey = isKeyed && position < 1 + random.below(2)
            let type: ColumnType =
                isKey ? [.text, .integer, .uuid, .date][random.below(4)] : Self.types[random.below(Self.types.count)]
            if isKey { keys.append(name) }
            columns.append(
                ColumnSchema(
                    name, type, isOptional: !isKey && random.chance(50), target: type == .reference ? "T" : nil))
        }
        schema = EntitySchema(
            name: "T", columns: columns, key: keys.isEmpty ? .rowID(column: "id") : .columns(keys))
        var taken: [[Value]] = []
        for _ in 0..<(1 + random.below(20)) {
            let values = columns.map { column -> Value in
                column.isOptional && random.chance(25) ? .null : Self.value(column.type, &random)
            }
            let key = zip(columns, values).filter { keys.contains($0.0.name) }.map(\.1)
            if !keys.isEmpty {
                if taken.contains(where: { Self.isSame($0, key) }) { continue }
                taken.append(key)
            }
            rows.append((keys.isEmpty ? [.integer(Int64(rows.count * 3 + 1))] : []) + values)
        }
    }

    private static func value(_ type: ColumnType, _ random: inout SplitMix) -> Value {
        switch type {
        case .text: return .text(text(&random))
        case .integer, .reference:
            return .integer([0, -1, 7, .min, .max, Int64(bitPattern: random.next())][random.below(6)])
        case .unsigned: return .unsignedInteger([0, 1, UInt64(Int64.max), .max, random.next()][random.below(5)])
        case .double: return .double(double(&random))
        case .bool: return .bool(random.chance(50))
        case .date:
            return .date(
                [
                    0, -0.5, 1e-9, 12.3, 802_000_000.123456, -62_000_000_000, 3e11, 1e300, -1e-20, .infinity,
                    Double(Int32(truncatingIfNeeded: random.next())) + Double(random.below(1 << 30)) / Double(1 << 30),
                ][random.below(11)])
        case .uuid: return .uuid(random.next(), random.chance(20) ? 0 : random.next())
        default: return .blob((0..<random.below(5)).map { _ in UInt8(random.below(256)) })
        }
    }

    private static func double(_ random: inout SplitMix) -> Double {
        let number = Double(bitPattern: random.next())
        return [
            0, -0.0, 3, 0.1, 1e15, -1e16, .infinity, -.infinity, .nan, .greatestFiniteMagnitude, .leastNonzeroMagnitude,
            number.isNaN ? 1 : number,
        ][random.below(12)]
    }

    private static func text(_ random: inout SplitMix) -> String {
        let parts = [
            "", "a", " ", "\"", "'", ",", "\t", "\n", "\r", "\r\n", "\\", "\\N", "NULL", "\u{301}", "e\u{301}",
            "\u{E9}",
            "\u{FEFF}", "👩‍🚀", "\u{0}", "\u{1B}[2J", "\u{9B}", "\u{2028}", ";", "--", "/*", "nan", "1", "1.50", "true",
            "2001-01-01", "x'00'", "{}", "\u{202E}", "\u{FFFD}", "\u{10FFFF}",
        ]
        return (0..<random.below(4)).map { _ in parts[random.below(parts.count)] }.joined()
    }

    /// Whether two rows are the same to the last bit; one NaN is as good as another.
    static func isSame(_ one: [Value], _ other: [Value]) -> Bool {
        one.count == other.count
            && zip(one, other).allSatisfy { pair in
                switch pair {
                case (.double(let one), .double(let other)), (.date(let one), .date(let other)):
                    one.bitPattern == other.bitPattern || one.isNaN && other.isNaN
                case (.text(let one), .text(let other)): one.utf8.elementsEqual(other.utf8)
                default: pair.0 == pair.1
                }
            }
    }

    /// The schema that its statement makes: a key of one column of integers is the row id there.
    var executedSchema: EntitySchema {
        guard case .columns(let keys) = schema.key, keys.count == 1,
            schema.column(named: keys[0])?.type == .integer
        else { return schema }
        return EntitySchema(
            name: schema.name, columns: schema.columns.filter { $0.name != keys[0] }, key: .rowID(column: keys[0]))
    }

    /// A database with the table.
    func store(isFilled: Bool) throws -> Store {
        let store = try Store.inMemory()
        try store.write { tx in
            _ = try Catalogue.migrate(to: schema, in: tx)
            let table = try Catalogue.load(view: tx.view).requireTable("T")
            var writer = RowWriter()
            var changes = ChangeSet()
            for row in isFilled ? rows : [] {
                writer.begin(table.layout)
                let isRowID = if case .rowID = schema.key { true } else { false }
                for (position, value) in row.dropFirst(isRowID ? 1 : 0).enumerated() { writer.set(position, value) }
                var key: RowKey?
                if isRowID, case .integer(let id) = row[0] { key = .rowID(id) }
                _ = try table.insert(&writer, key: key, in: tx, changes: &changes)
            }
        }
        return store
    }

    static func contents(_ store: Store) throws -> [[Value]] {
        try store.read { view in
            let table = try Catalogue.load(view: view).requireTable("T")
            var rows: [[Value]] = []
            try table.scan(in: view) { key, row in
                rows.append(table.values(of: key, row))
                return true
            }
            return rows
        }
    }
}

/// Exported rows are imported unchanged, in each format.
@Suite struct TableRoundTripTests {
    private static func exported(_ rows: [[Value]], _ schema: EntitySchema, _ format: InputFormat) throws -> String {
        var text = ""
        var printer = RowPrinter(
            columns: schema.shownColumns, format: try #require(RowFormat(rawValue: format.rawValue))
        ) { text += $0 }
        for row in rows { printer.row(row) }
        printer.finish()
        return text
    }

    private static func difference(_ found: [[Value]], _ wanted: [[Value]]) -> String? {
        if found.count != wanted.count { return "\(wanted.count) rows became \(found.count)" }
        for (one, other) in zip(found, wanted) where !RandomTable.isSame(one, other) { return "\(other) became \(one)" }
        return nil
    }

    @Test func exportsAreImportedAsTheyWere() throws {
        for seed in RandomSeeds.seeds(otherwise: 100) {
            var random = SplitMix(seed: seed)
            let table = RandomTable(&random)
            let rows = try RandomTable.contents(table.store(isFilled: true))
            for format in InputFormat.allCases {
                let text = try Self.exported(rows, table.schema, format)
                let store = try table.store(isFilled: false)
                let work = TableImport(
                    source: "export", table: "T", options: .init(format: format, ignoresReferences: true),
                    progress: { _, _, _ in }, open: { () throws(InputError) in ByteInput(text) })
                do {
                    _ = try work.run(columns: work.inspect().columns, in: store)
                } catch {
                    Issue.record("seed \(seed), \(format): \(error)\n\(text)")
                    continue
                }
                let difference = try Self.difference(RandomTable.contents(store), rows)
                #expect(difference == nil, "seed \(seed), \(format):\n\(text)")
            }
        }
    }

    /// A new table has the types of the old one where the text shows them.
    @Test func importedTypesAreThoseOfTheExport() throws {
        let schema = EntitySchema(
            name: "T",
            columns: [
                ColumnSchema("t", .text), ColumnSchema("i", .integer), ColumnSchema("d", .double),
                ColumnSchema("f", .double), ColumnSchema("b", .bool), ColumnSchema("m", .date),
            ], key: .rowID(column: "id"))
        let rows: [[Value]] = [
            [.integer(1), .text(""), .integer(3), .double(3), .double(.nan), .bool(true), .date(0)],
            [.integer(2), .text("x"), .integer(-4), .double(-0.0), .double(2), .bool(false), .date(0.1)],
        ]
        for format in InputFormat.allCases {
            let text = try Self.exported(rows, schema, format)
            let store = try Store.inMemory()
            let work = TableImport(
                source: "export", table: "T", options: .init(format: format), progress: { _, _, _ in },
                open: { () throws(InputError) in ByteInput(text) })
            _ = try work.run(columns: work.inspect().columns, in: store)
            let found = try store.read { try Catalogue.load(view: $0).requireTable("T").schema }
            #expect(found.columns.map(\.type) == schema.columns.map(\.type), "\(format)")
            #expect(found.columns.allSatisfy { !$0.isOptional }, "\(format)")
            #expect(try Self.difference(RandomTable.contents(store), rows) == nil, "\(format)")
        }
    }

    @Test func dumpsAreExecutedAsTheyWere() throws {
        for seed in RandomSeeds.seeds(otherwise: 100) {
            var random = SplitMix(seed: seed)
            let table = RandomTable(&random)
            // SQL has no word for NaN, nor for a date outside of the years 0 to 9999.
            let rows = try RandomTable.contents(table.store(isFilled: true)).filter { row in
                row.allSatisfy { value in
                    switch value {
                    case .double(let number): !number.isNaN
                    case .date(let seconds): DateText.iso(seconds) != nil
                    default: true
                    }
                }
            }
            var text = SchemaText.statements(table.schema)
            for row in rows { text += SchemaText.insert(row, into: "T") }
            let file = DatabaseFile(path: "memory", store: try Store.inMemory())
            nonisolated(unsafe) var complaints = ""
            let session = ShellSession(
                database: file, mode: .script, ignoresReferences: true, output: { _ in },
                complaint: { complaints += $0 })
            for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
                guard session.take(String(line)) else { break }
            }
            #expect(complaints.isEmpty, "seed \(seed):\n\(text)")
            guard complaints.isEmpty else { continue }
            let difference = try Self.difference(RandomTable.contents(file.store), rows)
            #expect(difference == nil, "seed \(seed):\n\(text)")
            let schema = try file.read { _, catalogue in try catalogue.requireTable("T").schema }
            #expect(SchemaText.statements(schema) == SchemaText.statements(table.executedSchema), "seed \(seed)")
        }
    }

    // MARK: Read by another program

    private static let python: URL? = {
        let places = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map { "\($0)/python3" }
        let found = places.first { FileManager.default.isExecutableFile(atPath: $0) }
        if found == nil { print("skipped: exports are not read by Python, because there is no python3") }
        return found.map { URL(fileURLWithPath: $0) }
    }()

    @Test(.enabled(if: python != nil, "python3 is not on the PATH"), arguments: InputFormat.allCases)
    func exportsAreReadByPython(_ format: InputFormat) throws {
        let python: URL = try #require(Self.python)
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("scripts/read-table.py")
        for seed in 0..<UInt64(5) {
            var random = SplitMix(seed: seed)
            let table = RandomTable(&random)
            guard table.schema.shownColumns.count > 1 else { continue }
            let rows = try RandomTable.contents(table.store(isFilled: true))
            try withTemporaryFile { path in
                try Self.exported(rows, table.schema, format).write(toFile: path, atomically: true, encoding: .utf8)
                let process = Process()
                process.executableURL = python
                process.arguments = [script.path, format.rawValue, path]
                let output = Pipe()
                process.standardOutput = output
                try process.run()
                let data = output.fileHandleForReading.readDataToEndOfFile()
                process.waitUntilExit()
                let read = try JSONDecoder().decode([[String?]].self, from: data)
                let texts = rows.map { row -> [String?] in row.map { Self.text($0, format) } }
                let wanted: [[String?]] = [table.schema.shownColumns] + texts
                #expect(read.count == wanted.count)
                for (one, other) in zip(read, wanted) {
                    let isSame = zip(one, other).allSatisfy { pair in
                        switch pair {
                        case (let one?, let other?): one.utf8.elementsEqual(other.utf8) || Self.isSameNumber(one, other)
                        default: pair.0 == nil && pair.1 == nil
                        }
                    }
                    #expect(isSame && one.count == other.count, "seed \(seed): \(other) became \(one)")
                }
            }
        }
    }

    /// A value as Python's readers give it: CSV has no NULL for them.
    private static func text(_ value: Value, _ format: InputFormat) -> String? {
        if value.isNull { return format == .csv ? "" : nil }
        return PlainText.of(value)
    }

    private static func isSameNumber(_ one: String, _ other: String) -> Bool {
        guard let one = Double(one), let other = Double(other) else { return false }
        return one == other || one.isNaN && other.isNaN
    }
}
