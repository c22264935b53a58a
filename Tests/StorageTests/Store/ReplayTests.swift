import MakoStorage
import MakoTestSupport
import Testing

/// Each operation that the log knows, alone behind a checkpoint: what the log alone has is there after the process dies, and after a power cut.
@Suite struct ReplayTests {
    private static let before = """
        tree t int
        tree u bytes 20
        put t 1..40 60b
        put u 1..40 60b
        checkpoint

        """

    private static let operations = [
        "put t 50 30b", "put u 50 30b", "insert t 60..62 30b", "put t 3 900b", "put u 3 900z", "put t 4 9000b",
        "put u 4 20000b", "stream u 70 20000b", "delete t 7", "delete u 7", "deleterange t 5 9",
        "deleterange t 30 end", "deleterange u 5 9", "deleterange u 30 end", "deleteall t", "deleteall u", "tree v int",
        "tree w bytes 8 counted", "rename t v", "rename u v", "drop t", "drop u",
    ]

    @Test(arguments: operations, ["kill", "crash"]) func anOperationIsReplayed(_ operation: String, end: String) throws
    {
        let text = ReplayTests.before + operation + "\n" + end + "\nverify\n"
        let run = ScriptRun(try Script(name: operation, text), on: SimulatedDisk())
        try run.run()
        // The recovered state, which the run compares, follows the state after the operation.
        #expect(run.states.count >= 3)
        #expect(run.states.last != run.states[run.states.count - 3])
    }

    /// Commits after a replay are replayed as well: the run throws where the store differs from the model.
    @Test(arguments: operations) func whatWasReplayedIsWrittenOn(_ operation: String) throws {
        let again = operation.hasPrefix("put") || operation.hasPrefix("delete ") ? operation : "put x 1..5 50b"
        let steps = ["tree x int", operation, "kill", again, "kill", "verify", "checkpoint", "reopen", "verify"]
        let text = ReplayTests.before + steps.joined(separator: "\n")
        let run = ScriptRun(try Script(name: operation, text), on: SimulatedDisk())
        try run.run()
        #expect(run.states.last?.trees["x"] != nil)
    }
}
