import Foundation
import MakoRecords
import Testing

/// Checks the statements of `docs/where.md`.
@Suite struct WhereDocumentTests {
    /// The relations that the types of the document declare.
    static let relations = [
        "Department": TableRelations(inverses: ["people": .init(table: "Person", column: "department")])
    ]

    /// The tables of the document.
    static func fixture() throws -> Fixture {
        let fixture = try Fixture(
            EntitySchema(name: "Location", columns: [ColumnSchema("name", .text)]),
            EntitySchema(
                name: "Department",
                columns: [
                    ColumnSchema("name", .text),
                    ColumnSchema("location", .reference, isOptional: true, target: "Location"),
                ]),
            EntitySchema(
                name: "Person",
                columns: [
                    ColumnSchema("name", .text), ColumnSchema("age", .integer, isOptional: true),
                    ColumnSchema("height", .double, isOptional: true), ColumnSchema("isAdmin", .bool),
                    ColumnSchema("born", .date, isOptional: true),
                    ColumnSchema("department", .reference, isOptional: true, target: "Department"),
                    ColumnSchema("note", .text, isOptional: true), ColumnSchema("photo", .blob, isOptional: true),
                    ColumnSchema("token", .uuid, isOptional: true),
                ], indexes: [IndexSchema("byName", [IndexColumn("name")])]),
            EntitySchema(
                name: "Article", columns: [ColumnSchema("title", .text), ColumnSchema("body", .text)],
                indexes: [IndexSchema("words", [IndexColumn("body")], fullText: FullTextOptions())]),
            EntitySchema(
                name: "Pair", columns: [ColumnSchema("a", .integer), ColumnSchema("b", .integer)],
                key: .columns(["a", "b"]), indexes: [IndexSchema("byName", [IndexColumn("b")])]),
            EntitySchema(
                name: "Club",
                columns: [
                    ColumnSchema("motto", .blob, isOptional: true, sealing: .text),
                    ColumnSchema("members", .keys, isOptional: true, target: "Person"),
                ], indexes: [IndexSchema("members", [IndexColumn("members")])]))
        try fixture.store.write { tx in
            var changes = ChangeSet()
            _ = try Statement.parse("CREATE VIEW Adults AS SELECT name, age FROM Person WHERE age >= 18").run(
                try Catalogue.load(view: tx.view), in: tx, changes: &changes)
        }
        func date(_ text: String) throws -> Value { .date(try #require(DateText.parse(text))) }
        try fixture.insertAll("Location", [[.text("London")], [.text("Paris")]])
        try fixture.insertAll(
            "Department", [[.text("Engines"), .integer(1)], [.text("Letters"), .integer(2)]])
        try fixture.insertAll(
            "Person",
            [
                [
                    .text("Ada"), .integer(36), .double(1.65), .bool(true), try date("1815-12-10"), .integer(1),
                    .text("100%"), .null, .null,
                ],
                [
                    .text("bob"), .integer(20), .null, .bool(false), try date("2005-03-01"), .integer(2), .null, .null,
                    .null,
                ],
                [.text("Cleo"), .null, .double(1.8), .bool(false), .null, .null, .text("a_b"), .null, .null],
                [
                    .text("Øyvind"), .integer(50), .double(2), .bool(true), try date("1975-06-30 10:20"), .integer(1),
                    .text(""), .null, .null,
                ],
            ])
        return fixture
    }

    private static func document() throws -> [String] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../docs/where.md")
        return try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n")
    }

    /// The rows of the tables whose head ends with some words, cell by cell.
    static func rows(under head: String) throws -> [[String]] {
        var rows: [[String]] = []
        var isInside = false
        for line in try document() {
            guard line.hasPrefix("|") else {
                isInside = false
                continue
            }
            if line.hasSuffix(head) {
                isInside = true
            } else if isInside && !line.hasPrefix("|---") {
                let cells = line.replacingOccurrences(of: "\\|", with: "\u{1}").components(separatedBy: " | ")
                rows.append(
                    cells.map {
                        $0.replacingOccurrences(of: "\u{1}", with: "|").trimmingCharacters(in: ["|", " "])
                    })
            }
        }
        return rows
    }

    private static func code(_ cell: String) -> String { cell.trimmingCharacters(in: ["`"]) }

    @Test func conditionsFindWhatIsSaid() throws {
        let fixture = try Self.fixture()
        let rows = try Self.rows(under: "| condition | finds |")
        #expect(rows.count >= 65)
        for row in rows {
            let wanted = row[1] == "none" ? [] : row[1].split(separator: " ").compactMap { Int64($0) }
            let plan = try Selection(
                table: "Person", condition: .parse(Self.code(row[0])), orderBy: [Order("id")]
            ).plan(fixture.catalogue.describing(Self.relations))
            #expect(try plan.ids(in: fixture.store.snapshot()) == wanted, "\(row)")
        }
    }

    @Test func ordersAreWhatIsSaid() throws {
        let fixture = try Self.fixture()
        let rows = try Self.rows(under: "| order | is |")
        #expect(rows.count >= 12)
        for row in rows {
            let plan = try Selection(table: "Person", orderBy: Order.parse(Self.code(row[0]))).plan(
                fixture.catalogue.describing(Self.relations))
            let found = try plan.ids(in: fixture.store.snapshot()).map { "\($0)" }.joined(separator: " ")
            #expect(found == row[1], "\(row)")
        }
    }

    @Test func valuesAreWhatIsSaid() throws {
        let fixture = try Self.fixture()
        let rows = try Self.rows(under: "| value of the first row | is |")
        #expect(rows.count >= 20)
        let plan = try Selection(table: "Person", condition: .parse("id = 1")).plan(
            fixture.catalogue.describing(Self.relations))
        for row in rows {
            let found = try plan.rows([.parse(Self.code(row[row.count - 2]))], in: fixture.store.snapshot())
            #expect(found.map { $0.map(\.description) } == [[row[row.count - 1]]], "\(row)")
        }
    }

    /// Each function of the binder has its line.
    @Test func eachFunctionIsDocumented() throws {
        let text = try Self.document().joined(separator: "\n")
        for name in QueryFunction.allCases where !name.rawValue.contains(" ") {
            #expect(text.contains("\(name.rawValue)("), "\(name.rawValue)")
        }
    }

    @Test func faultsAreShownAsIsSaid() throws {
        let fixture = try Self.fixture()
        let lines = try Self.document()
        var shown = 0
        for (number, line) in lines.enumerated() where line == "```error" {
            let message = lines[(number + 1)...].prefix { $0 != "```" }
            let text = String(try #require(message.dropFirst().first).dropFirst(2))
            let error = #expect(throws: RecordError.self, "\(text)") {
                try Selection(table: "Person", condition: .parse(text)).bind(
                    fixture.catalogue.describing(Self.relations))
            }
            let found = "\(try #require(error))"
            #expect(found == message.joined(separator: "\n"))
            shown += 1
        }
        #expect(shown >= 75)
    }

    @Test func statementsAreRefusedAsIsSaid() throws {
        let fixture = try Self.fixture()
        let lines = try Self.document()
        var shown = 0
        for (number, line) in lines.enumerated() where line == "```refused" {
            let message = lines[(number + 1)...].prefix { $0 != "```" }
            let text = String(try #require(message.dropFirst().first).dropFirst(2))
            let error = #expect(throws: RecordError.self, "\(text)") { try Self.run(text, in: fixture) }
            let found = "\(try #require(error))"
            #expect(found == message.joined(separator: "\n"))
            shown += 1
        }
        #expect(shown >= 120)
    }

    @Test func whatIsSoughtIsRefusedAsIsSaid() throws {
        let fixture = try Self.fixture()
        let lines = try Self.document()
        var shown = 0
        for (number, line) in lines.enumerated() where line == "```sought" {
            let message = lines[(number + 1)...].prefix { $0 != "```" }
            let text = String(try #require(message.dropFirst().first).dropFirst(2))
            let error = #expect(throws: RecordError.self, "\(text)") {
                try Selection(table: "Article", condition: .parse("body MATCH ?"), parameters: [.text(text)])
                    .bind(fixture.catalogue)
            }
            let found = "\(try #require(error))"
            #expect(found == (text.isEmpty ? message.first : message.joined(separator: "\n")))
            shown += 1
        }
        #expect(shown >= 14)
    }

    @Test func errorsAtRunTimeAreAsDocumented() throws {
        let fixture = try Self.fixture()
        let rows = try Self.rows(under: "| statement | message |")
        #expect(rows.count >= 4)
        for row in rows {
            let error = #expect(throws: RecordError.self, "\(row)") { try Self.run(Self.code(row[0]), in: fixture) }
            #expect("\(try #require(error))" == row[1])
        }
    }

    private static func run(_ text: String, in fixture: Fixture) throws {
        try fixture.store.write { tx in
            var changes = ChangeSet()
            let catalogue = try Catalogue.load(view: tx.view).describing(relations)
            _ = try Statement.parse(text).run(catalogue, in: tx, changes: &changes)
        }
    }

    /// The sources in which messages for a fault in a text stand, with their names.
    private static func sources() throws -> [(name: String, code: String)] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Sources/MakoRecords")
        var found: [(name: String, code: String)] = []
        for folder in ["Query", "Statements", "Text"] {
            let folder = root.appending(path: folder).path()
            for name in try FileManager.default.subpathsOfDirectory(atPath: folder).sorted()
            where name.hasSuffix(".swift") {
                found.append((name, try String(contentsOfFile: folder + "/" + name, encoding: .utf8)))
            }
        }
        return found
    }

    /// The document has each error for a missing word or name: each argument of `unexpected` and `expectWord`.
    @Test func eachMissingWordIsShown() throws {
        let document = try Self.document().joined(separator: "\n")
        let call = try Regex(
            #"(?:unexpected\(|expectWord\(|columnName\((?="))([^\n]*)"#, as: (Substring, Substring).self)
        let literal = try Regex(#""((?:[^"\\]|\\.)+)""#, as: (Substring, Substring).self)
        var found = 0
        for (name, code) in try Self.sources() {
            for match in code.matches(of: call) {
                for text in match.output.1.matches(of: literal) where !text.output.1.contains("\\(") {
                    let words = text.output.1.replacingOccurrences(of: "\\\"", with: "\"")
                    let isShown =
                        document.contains("\n\(words) is expected here\n")
                        || document.contains("\nthe text ends where \(words) is expected\n")
                    #expect(isShown, "\(name): \(words)")
                    found += 1
                }
            }
        }
        #expect(found >= 60)
    }

    /// The document has each error message for a fault in a text.
    @Test func eachMessageIsShown() throws {
        let document = try Self.document().joined(separator: "\n")
        let message = try Regex(
            #"error\(\s*"((?:[^"\\]|\\\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|\\.)*)""#,
            as: (Substring, Substring).self)
        let interpolation = try Regex(#"\\\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"#)
        var found = 0
        for (name, code) in try Self.sources() {
            for match in code.matches(of: message) {
                let parts = String(match.output.1).split(separator: interpolation).map(String.init)
                guard let longest = parts.max(by: { $0.count < $1.count }), longest.count > 3 else { continue }
                found += 1
                let words = longest.trimmingCharacters(in: [" "]).replacingOccurrences(of: "\\\"", with: "\"")
                let isShown = document.contains(words)
                #expect(isShown, "\(name): \(match.output.1)")
            }
        }
        #expect(found > 150)
    }
}
