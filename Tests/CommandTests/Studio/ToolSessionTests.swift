import Foundation
import MakoRecords
import Testing

@testable import MakoCommand

/// The answers of `mako mcp` to lines that no client should send.
@Suite struct ToolSessionTests {
    private func withSession(_ body: (ToolSession) throws -> Void) throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).mako").path
        defer { for file in DatabaseFile.files(of: path) { try? FileManager.default.removeItem(atPath: file.path) } }
        let file = try DatabaseFile(writing: path, try KeyOptions.parse([]))
        let database = StudioDatabase(file, isWritable: false)
        try body(ToolSession(database))
        database.close()
    }

    @Test(arguments: ["", "7", "[]", "{", "{\"id\":1}", "{\"id\":1,\"method\":7}", "{\"id\":null,\"method\":\"x\"}"])
    func malformedMessagesAreAnsweredWithAnError(_ line: String) throws {
        try withSession { session in
            let answer = try #require(session.answer(line))
            #expect(answer.contains("\"error\""))
            #expect(!answer.contains("\n"))
        }
    }

    @Test func notificationsHaveNoAnswer() throws {
        try withSession { session in
            #expect(session.answer("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}") == nil)
        }
    }

    @Test func toolsOfNoNameAreRefused() throws {
        try withSession { session in
            let answer = session.answer("{\"id\":\"a\",\"method\":\"tools/call\",\"params\":{\"name\":\"rows\"}}")
            #expect(answer?.contains("-32602") == true)
        }
    }

    #if Encryption
        @Test func aPassphraseOfOtherDatabasesEncryptsNoPlainOne() throws {
            let program = try BuiltProgram()
            #expect(try program.run(["shell", "a.mako"], input: "CREATE TABLE t (a TEXT);\n").status == 0)
            let line = #"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"schema"}}"#
            let environment = ["MAKO_PASSPHRASE": "of other databases"]
            let answer = try program.run(["mcp", "a.mako"], input: line + "\n", environment: environment).output
            #expect(answer.contains(#"\"encrypted\":false"#), "\(answer)")
        }
    #endif

    @Test func anEmptyDatabaseHasASchema() throws {
        try withSession { session in
            let answer = session.answer("{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"schema\"}}")
            #expect(answer?.contains("\\\"tables\\\":[]") == true)
        }
    }
}

/// Requests of the page of Mako Studio that must not stop the server, or lose rows.
@Suite struct StudioQuestionTests {
    private func withDatabase(_ statements: [String], _ body: (StudioDatabase) throws -> Void) throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).mako").path
        defer { for file in DatabaseFile.files(of: path) { try? FileManager.default.removeItem(atPath: file.path) } }
        let file = try DatabaseFile(writing: path, try KeyOptions.parse([]))
        for text in statements { _ = try file.run(try Statement.parse(text)) }
        let database = StudioDatabase(file, isWritable: true)
        try body(database)
        database.close()
    }

    private func get(_ database: StudioDatabase, _ path: String, _ values: [String: String]) -> (Int, String) {
        let answer = database.answer(StudioRequest(.get, path, values: values))
        return (answer.status, String(decoding: answer.body, as: UTF8.self))
    }

    private func post(_ database: StudioDatabase, _ path: String, _ body: String) -> (Int, String) {
        let answer = database.answer(StudioRequest(.post, path, body: Array(body.utf8)))
        return (answer.status, String(decoding: answer.body, as: UTF8.self))
    }

    private static let people = [
        "CREATE TABLE Team (name TEXT PRIMARY KEY)",
        "CREATE TABLE Person (id INTEGER PRIMARY KEY, name TEXT, team TEXT REFERENCES Team)",
        "INSERT INTO Team VALUES (''), ('Sails')", "INSERT INTO Person VALUES (1, 'Ada', 'Sails'), (2, 'Bob', NULL)",
    ]

    @Test(arguments: ["0", "1", "99", "9223372036854775807", "18446744073709551615"])
    func pagesBehindTheLastRowAreEmpty(_ place: String) throws {
        try withDatabase(Self.people) { database in
            for name in ["after", "before"] {
                let values = ["table": "Person", "order": "length(name)", name: place]
                #expect(get(database, "rows", values).0 == 200)
                let related = ["table": "Team", "key": "Sails", "list": "Person.team", name: place]
                #expect([200, 400].contains(get(database, "related", related).0))
            }
        }
    }

    @Test func anEmptyTextIsAKey() throws {
        try withDatabase(Self.people) { database in
            #expect(get(database, "row", ["table": "Team", "key": ""]).0 == 200)
            #expect(get(database, "row", ["table": "Team"]).0 == 400)
            #expect(get(database, "row", ["table": "Team", "key": "Rudders"]).0 == 404)
        }
    }

    /// Undo restores all, or refuses.
    @Test func whatADeletionTookAlongIsNotUndoneInPart() throws {
        try withDatabase(Self.people) { database in
            #expect(post(database, "save", #"{"table":"Person","kind":"delete","key":"2"}"#).0 == 200)
            #expect(post(database, "undo", "{}").0 == 200)
            #expect(get(database, "row", ["table": "Person", "key": "2"]).0 == 200)
            let saved = post(database, "save", #"{"table":"Team","kind":"delete","key":"Sails"}"#)
            let undone = post(database, "undo", "{}")
            if saved.0 == 200 {
                #expect(undone.0 == 409 && undone.1.contains("referred to"))
            } else {
                // A row that others refer to was not deleted at all.
                #expect(get(database, "row", ["table": "Team", "key": "Sails"]).0 == 200)
            }
        }
    }

    /// A statement of more rows than the limits is not measured, since that cannot be cancelled.
    @Test func longStatementsAreNotMeasured() throws {
        let rows = (0..<1_100).map { "(\($0))" }.joined(separator: ", ")
        try withDatabase(["CREATE TABLE t (n INTEGER)", "INSERT INTO t (n) VALUES \(rows)"]) { database in
            #expect(post(database, "explain", #"{"text":"SELECT n FROM t","run":true}"#).0 == 400)
            #expect(post(database, "explain", #"{"text":"SELECT n FROM t LIMIT 5","run":true}"#).0 == 200)
            #expect(post(database, "explain", #"{"text":"SELECT n FROM t"}"#).0 == 200)
        }
    }
}
