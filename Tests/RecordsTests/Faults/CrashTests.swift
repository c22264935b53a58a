import Foundation
import MakoTestSupport
import Testing

/// Workloads of the record layer, the power cut before and after every call, and again inside recovery: tables, rows and
/// indexes are always those of one commit.
@Suite struct CrashTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let isFull = environment["MAKO_TEST_EFFORT"] == "full"
    private static let effort: CrashRunner.Effort =
        isFull ? .full : (environment["MAKO_TEST_EFFORT"] == "small" ? .small : .standard)
    private static let isChatty = isFull || environment["MAKO_TEST_FIGURES"] != nil

    /// Whether a single workload was selected, to analyse a failure.
    private static let isOne = environment["MAKO_TEST_WORKLOAD"] != nil

    static let workloads: [ScriptFile] = {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Scripts")
        let all = (try? ScriptFile.all(in: folder.path)) ?? []
        return all.filter { isOne ? $0.name == environment["MAKO_TEST_WORKLOAD"] : true }
    }()

    @Test func theWorkloadsAreThere() { #expect(CrashTests.workloads.count >= 20 || CrashTests.isOne) }

    @Test(arguments: workloads.map(\.name)) func everyCrashLeavesTablesRowsAndIndexesOfOneCommit(name: String) throws {
        let text = try #require(CrashTests.workloads.first { $0.name == name }).text
        let start = ContinuousClock.now
        let workload = RecordWorkload(script: try RecordScript(name: name, text))
        let report = try CrashRunner.run(workload, effort: CrashTests.effort)
        #expect(report.failures.isEmpty, "\(report)")
        #expect(report.images > 10 && report.opened > 10, "\(report)")
        if CrashTests.isChatty { CrashTotals.shared.print(name, report, took: ContinuousClock.now - start) }
    }
}
