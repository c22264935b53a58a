import MakoTestSupport
import Testing

/// The protocol of commits, readers, reused slots, checkpoints and the log, in small and without exception.
@Suite struct ProtocolModelTests {
    @Test func noReachableStateBreaksAPromise() {
        let size = TestEffort.isFull ? ProtocolSize(transactions: 3, readsPerReader: 2) : ProtocolSize(transactions: 2)
        let report = ProtocolExplorer.run(size)
        #expect(report.failure == nil, "\(report)")
        #expect(report.states > 80_000 && report.crashes > report.states, "\(report)")
        if TestEffort.isFull || TestEffort.isChatty { print("protocol: \(report)") }
    }

    /// Proves that the model can fail: each broken rule breaks a promise.
    @Test(arguments: ProtocolChange.allCases) func everyBrokenRuleShows(change: ProtocolChange) {
        let report = ProtocolExplorer.run(ProtocolSize(transactions: 3), change: change)
        #expect(report.failure != nil && !report.trace.isEmpty, "\(change.rawValue): \(report)")
        if TestEffort.isChatty { print("\(change.rawValue): \(report)") }
    }
}
