import Foundation
import Testing

@testable import MakoCommand

/// What `mako mcp` answers to lines that no client should send.
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

    @Test func anEmptyDatabaseHasASchema() throws {
        try withSession { session in
            let answer = session.answer("{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"schema\"}}")
            #expect(answer?.contains("\\\"tables\\\":[]") == true)
        }
    }
}
