import Foundation
import RandomRuns
import Testing

/// The scripts of `Tests/SQLLogic`, whose answers come from another engine.
@Suite struct SQLLogicTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "SQLLogic")

    @Test func scriptsGiveTheAnswersOfAnotherEngine() throws {
        let report = try LogicReport(scriptsIn: SQLLogicTests.folder)
        for fault in report.faults.prefix(10) { Issue.record(fault) }
        #expect(report.faults.isEmpty && report.queries > 3000)
        let list = try String(contentsOf: SQLLogicTests.folder.appending(path: "Refused.txt"), encoding: .utf8)
        #expect(report.excess(over: LogicReport.allowed(list)) == [])
    }

    @Test func differingAnswersAreFaults() throws {
        let text = """
            statement ok
            CREATE TABLE t (a INTEGER, b TEXT)

            statement ok
            INSERT INTO t (a, b) VALUES (2, 'x'), (10, ''), (NULL, 'y')

            # Right: sorted as texts, NULL and the empty text by their names.
            query IT rowsort
            SELECT a, b FROM t
            ----
            10
            (empty)
            2
            x
            NULL
            y

            query I nosort
            SELECT a FROM t ORDER BY a
            ----
            3 values hashing to 349e4654f2c20d3e115f83cf9afff9d9

            query I nosort
            SELECT a FROM t ORDER BY a DESC
            ----
            3 values hashing to 349e4654f2c20d3e115f83cf9afff9d9

            skipif mako
            query I nosort
            SELECT nothing
            ----
            1

            query R nosort
            SELECT a FROM t WHERE a = 2
            ----
            2.500

            statement error
            DELETE FROM t WHERE a = 99

            statement ok
            UPDATE t SET missing = 1

            query I nosort
            SELECT a FROM t
            ----
            1
            """
        var report = LogicReport()
        try report.run(try LogicScript(name: "sample", text))
        #expect(report.faults.map(\.description).map { $0.prefix(10) } == ["sample:23:", "sample:34:", "sample:39:"])
        #expect(report.refusals.values.map { $0 } == [1] && report.passedOver == 1)
        #expect(report.excess(over: LogicReport.allowed(report.refusalList)) == [])
        #expect(report.excess(over: [:]).count == 1)
        #expect(throws: LogicFault.self) { try LogicScript(name: "none", "what is this") }
    }
}
