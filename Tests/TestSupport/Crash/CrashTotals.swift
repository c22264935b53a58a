import CPlatform
import MakoStorage

/// The figures of all crash workloads of one process, printed as they come: one line for each, and the sum so far.
package final class CrashTotals: Sendable {
    /// The totals of the process.
    package static let shared = CrashTotals()

    private struct Sum {
        var workloads = 0
        var report = CrashReport()
    }

    private let lock = Lock()
    // Guarded by `lock`.
    private nonisolated(unsafe) var sum = Sum()
    private let start = ContinuousClock.now

    private init() {}

    package func print(_ name: String, _ report: CrashReport, took time: Duration) {
        let text = lock.withLock {
            sum.workloads += 1
            sum.report.add(report)
            let elapsed = (ContinuousClock.now - start).components.seconds
            return "\(name) (\(time.components.seconds) s): \(report)\n"
                + "    sum of \(sum.workloads) workloads after \(elapsed) s: \(sum.report)"
        }
        Swift.print(text)
        // Shows the progress at once in a run that takes an hour.
        fflush(nil)
    }
}
