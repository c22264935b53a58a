import MakoCommand
import Testing

/// `mako history` of the built program.
@Suite struct HistoryProgramTests {
    @Test func aHistoryIsStartedRecordsCommitsAndIsEnded() throws {
        let program = try BuiltProgram()
        func mako(_ arguments: String...) throws -> BuiltProgram.Outcome { try program.run(arguments) }
        #expect(try mako("history", "a.mako").status == 66)
        #expect(try mako("shell", "a.mako").status == 0)
        #expect(try mako("history", "a.mako").output.contains("keeps no history"))
        #expect(try mako("history", "a.mako", "--keep", "0").status == 64)
        #expect(try mako("history", "a.mako", "--keep", "5", "--end").status == 64)
        #expect(try mako("history", "a.mako", "--keep", "5").output.contains("at most 5 commits"))
        #expect(try mako("query", "a.mako", "CREATE TABLE T (id INTEGER PRIMARY KEY)").status == 0)
        #expect(try mako("query", "a.mako", "INSERT INTO T VALUES (1), (2)").status == 0)
        let line = "{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"changes\",\"arguments\":{}}}"
        #expect(try program.run(["mcp", "a.mako"], input: line + "\n").output.contains("\\\"rows\\\":2"))
        #expect(try mako("history", "a.mako", "--end").output.contains("keeps no history"))
    }
}
