import Foundation
import MakoRecords
import MakoStorage
import Testing

@testable import MakoCommand

/// The pinned commit of Mako Studio, its advice and its counts of pages.
@Suite struct StudioPinTests {
    private func withDatabase(_ statements: [String], _ body: (StudioDatabase) throws -> Void) throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).mako").path
        defer { for file in DatabaseFile.files(of: path) { try? FileManager.default.removeItem(atPath: file.path) } }
        let file = try DatabaseFile(writing: path, try KeyOptions.parse([]))
        for text in statements { _ = try file.run(try Statement.parse(text)) }
        let database = StudioDatabase(file, isWritable: true)
        try body(database)
        database.close()
    }

    private func get(_ database: StudioDatabase, _ path: String, _ values: [String: String] = [:]) -> String {
        String(decoding: database.answer(StudioRequest(.get, path, values: values)).body, as: UTF8.self)
    }

    private static let people = [
        "CREATE TABLE Person (id INTEGER PRIMARY KEY, name TEXT, age INTEGER)",
        "INSERT INTO Person VALUES (1, 'Ada', 36), (2, 'Bob', NULL)",
    ]

    private func run(_ database: StudioDatabase, _ text: String) throws {
        _ = try database.file.run(try Statement.parse(text))
    }

    @Test func rowsShowWhatDiffersFromThePinnedCommit() throws {
        try withDatabase(Self.people) { database in
            #expect(database.answer(StudioRequest(.post, "pin", body: Array("{}".utf8))).status == 200)
            #expect(!get(database, "rows", ["table": "Person"]).contains("\"change\""))
            try run(database, "UPDATE Person SET age = 37 WHERE id = 1")
            try run(database, "DELETE FROM Person WHERE id = 2")
            #expect(
                get(database, "rows", ["table": "Person"]).contains(
                    "\"was\":{\"age\":{\"kind\":\"int\",\"text\":\"36\"}}"))
            #expect(get(database, "row", ["table": "Person", "key": "2"]).contains("\"change\":\"delete\""))
            #expect(get(database, "storage").contains("the pin of this page"))
            #expect(database.answer(StudioRequest(.delete, "pin")).status == 200)
            #expect(!get(database, "rows", ["table": "Person"]).contains("\"change\""))
            #expect(database.answer(StudioRequest(.get, "row", values: ["table": "Person", "key": "2"])).status == 404)
        }
    }

    @Test func rowsShowWhatDiffersFromAnEarlierCopy() throws {
        try withDatabase(Self.people) { database in
            let path = database.file.path + "-copy"
            defer {
                for file in DatabaseFile.files(of: path) { try? FileManager.default.removeItem(atPath: file.path) }
            }
            try database.file.store.backup(to: path)
            try run(database, "UPDATE Person SET age = 37 WHERE id = 1")
            try run(database, "DELETE FROM Person WHERE id = 2")
            try database.compare(with: DatabaseFile(reading: path, KeyOptions.parse([])))
            let rows = get(database, "rows", ["table": "Person"])
            #expect(rows.contains("\"was\":{\"age\":{\"kind\":\"int\",\"text\":\"36\"}}"))
            #expect(rows.contains("\"change\":\"delete\""))
            #expect(get(database, "schema").contains("\"copy\":\"\(FilePath.name(of: path))\""))
            #expect(!get(database, "storage").contains("the pin of this page"))
            #expect(database.answer(StudioRequest(.delete, "pin")).status == 200)
            #expect(!get(database, "rows", ["table": "Person"]).contains("\"change\""))
        }
    }

    /// The rows of one are not those of the other.
    @Test func aTableMadeAnewIsNotComparedWithThePinnedOne() throws {
        try withDatabase(Self.people) { database in
            _ = database.answer(StudioRequest(.post, "pin", body: Array("{}".utf8)))
            try run(database, "DROP TABLE Person")
            try run(database, "CREATE TABLE Person (name TEXT PRIMARY KEY, age TEXT)")
            try run(database, "INSERT INTO Person VALUES ('Ada', 'old')")
            let rows = get(database, "rows", ["table": "Person"])
            #expect(rows.contains("Ada") && !rows.contains("\"change\"") && !rows.contains("\"was\""))
        }
    }

    @Test(arguments: [
        ("Person.age > 60", "age > 60"), ("Person.name = 'Person.x'", "name = 'Person.x'"),
        ("SuperPerson.age = 1 AND Person.age = 2", "SuperPerson.age = 1 AND age = 2"),
        ("team.Person.age = 1", "team.Person.age = 1"),
    ])
    func theNameOfTheTableIsLeftOutOfAConditionOutsideOfQuotes(_ written: String, _ expected: String) {
        #expect(StudioAdvice.unqualified(written, "Person") == expected)
    }

    /// A page that missed more commits than the history keeps must read every table again.
    @Test(arguments: [(1, true), (2, true), (3, false), (20, false)])
    func anEventNamesTheKeysThatTheHistoryHas(_ missed: Int, _ isKnown: Bool) throws {
        try withDatabase(Self.people) { database in
            try database.file.store.write { tx in
                try HistoryWriter(SystemEntropy()).begin(HistoryLimits(transactions: 3), date: 0, in: tx)
            }
            for age in 0..<5 { try run(database, "UPDATE Person SET age = \(age) WHERE id = 2") }
            let seen = database.seen(nil)
            for age in 0..<missed { try run(database, "UPDATE Person SET age = \(age + 9) WHERE id = 1") }
            let event = try #require(database.event(since: seen)?.json)
            #expect(event.contains("\"tables\":{\"Person\":[") == isKnown, "\(event)")
            #expect(event.contains("\"tables\":{\"Person\":null}") == !isKnown, "\(event)")
        }
    }

    @Test(arguments: ["0", "1", "100000", "18446744073709551615"])
    func countsOfPagesEndAtTheEndOfTheFile(_ first: String) throws {
        try withDatabase(Self.people) { database in
            let answer = get(database, "pages", ["from": first])
            #expect(answer.contains("\"end\":true"))
        }
    }
}
