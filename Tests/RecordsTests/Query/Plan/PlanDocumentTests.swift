import Foundation
import MakoRecords
import MakoStorage
import Testing

/// Checks the plans of `docs/plans.md`.
@Suite struct PlanDocumentTests {
    static func fixture() throws -> Fixture {
        var fixture = try Fixture(
            EntitySchema(name: "Department", columns: [ColumnSchema("name", .text)]),
            EntitySchema(
                name: "Person",
                columns: [
                    ColumnSchema("name", .text), ColumnSchema("age", .integer, isOptional: true),
                    ColumnSchema("mail", .text, isOptional: true),
                    ColumnSchema("department", .reference, isOptional: true, target: "Department"),
                    ColumnSchema("bio", .text, isOptional: true),
                ],
                indexes: [
                    IndexSchema("byName", [IndexColumn("name")]),
                    IndexSchema("byAge", [IndexColumn("age"), IndexColumn("name")]),
                    IndexSchema("byDepartment", [IndexColumn("department")]),
                    IndexSchema("words", [IndexColumn("bio")], fullText: FullTextOptions()),
                ]))
        try fixture.migrate(
            EntitySchema(
                name: "Label", columns: [ColumnSchema("name", .text)],
                indexes: [IndexSchema("byLabel", [IndexColumn("name")])]))
        try fixture.migrate(
            EntitySchema(
                name: "Note", columns: [ColumnSchema("title", .text), ColumnSchema("labels", .keys, target: "Label")],
                indexes: [IndexSchema("labels", [IndexColumn("labels")])]))
        try fixture.insertAll("Label", (1...300).map { [.text("l\($0)")] })
        try fixture.insertAll(
            "Note",
            (0..<3000).map { number in
                let keys = KeyTree.list([.key(.rowID(Int64(number % 300 + 1)))]).encoded
                return [.text("n\(number)"), .blob(keys)]
            })
        let departments: [[Value]] = (1...1000).map { [.text("d\($0)")] }
        try fixture.insertAll("Department", departments)
        try fixture.insertAll("Person", (0..<6000).map(person))
        return fixture
    }

    /// A hundred of each age from 20 to 79, and six hundred in each of ten departments. Their rows are some 350 bytes long.
    private static func person(_ number: Int) -> [Value] {
        let age = Int64(20 + number / 10 % 60)
        return [
            .text("p\(number)"), .integer(age), .text(String(repeating: "m", count: 300)),
            .integer(Int64(1 + number % 10)),
            number % 100 == 0 ? .text("steam") : .null,
        ]
    }

    private static func document() throws -> [String] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../../docs/plans.md")
        return try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n")
    }

    /// The queries of the document's blocks of a kind, with their plans.
    private static func blocks(_ kind: String) throws -> [(query: String, plan: String)] {
        let lines = try document()
        return try lines.indices.filter { lines[$0] == "```" + kind }.map { number in
            let block = lines[(number + 1)...].prefix { $0 != "```" }
            let plan = block.dropFirst().map { String($0.dropFirst(2)) }.joined(separator: "\n")
            return (try #require(block.first), plan)
        }
    }

    @Test func plansReadAsIsSaid() throws {
        let fixture = try Self.fixture()
        let blocks = try Self.blocks("plan")
        for (query, plan) in blocks {
            let found = try SelectStatement.parse(query).explanation(
                fixture.catalogue, view: fixture.store.snapshot())
            #expect(found.outline == plan, "\(query)")
        }
        #expect(blocks.count >= 25)
    }

    @Test func plansOfLargeTablesReadAsIsSaid() throws {
        var options = StoreOptions()
        options.background = .manual
        (options.queryThreads, options.parallelRows) = (2, 20)
        let session = StatementSession(store: try Store.inMemory(options: options))
        try session.run("CREATE TABLE Person (id INTEGER PRIMARY KEY, age INTEGER, mail TEXT)")
        for number in 0..<30 { try session.run("INSERT INTO Person VALUES (?, 3, 'm')", [.integer(Int64(number))]) }
        let blocks = try Self.blocks("gathered")
        for (query, plan) in blocks { #expect(try session.plan(query) == plan) }
        #expect(!blocks.isEmpty)
    }

    /// The words that are explained are in the plans that are shown.
    @Test func eachWordIsInAPlan() throws {
        let lines = try Self.document()
        let head = try #require(lines.firstIndex(of: "| in a plan | means |"))
        let plans = lines[..<head].joined(separator: "\n")
        let word = try Regex(#"`([^`]*)`"#, as: (Substring, Substring).self)
        var found = 0
        for line in lines[(head + 2)...].prefix(while: { $0.hasPrefix("|") }) {
            for match in line.components(separatedBy: " | ")[0].matches(of: word) {
                let words = match.output.1.components(separatedBy: "…").map(NSRegularExpression.escapedPattern)
                let isShown = plans.contains(try Regex("\n  .*" + words.joined(separator: ".+")))
                #expect(isShown, "\(match.output.1)")
                found += 1
            }
        }
        #expect(found >= 18)
    }

    @Test func theMissingIndexIsNamed() throws {
        let fixture = try Self.fixture()
        func missing(_ condition: String) throws -> [[String]] {
            try Selection(table: "Person", condition: .parse(condition)).explanation(
                fixture.catalogue, in: fixture.store.snapshot()
            ).missingIndexes.map(\.columns)
        }
        #expect(try missing("mail = 'a@b.c'") == [["mail"]])
        #expect(try missing("bio > 'a' AND mail = 'a@b.c'") == [["mail", "bio"]])
        #expect(try missing("mail LIKE '%x'") == [])
        #expect(try missing("lower(mail) = 'x'") == [])
        #expect(try missing("name = 'x' AND mail = 'a@b.c'") == [])
        let printed = try Selection(table: "Person", condition: .parse("mail = 'a@b.c'")).explanation(
            fixture.catalogue, in: fixture.store.snapshot()
        ).description
        #expect(printed.hasSuffix("\n  an index over mail would help"))
    }
}
