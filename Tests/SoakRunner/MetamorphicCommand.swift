import Foundation
import MakoStorage
import MakoTestSupport
import RandomRuns

/// Metamorphic runs on all cores until the time is up, or until one fails.
struct MetamorphicCommand {
    let seconds: Double
    let first: UInt64

    init(seconds: Double, first: UInt64?) {
        self.seconds = seconds
        self.first = first ?? UInt64.random(in: 1...999_999) * 1_000_000
    }

    /// Answers whether all forms agreed.
    func run() throws -> Bool {
        let totals = MetamorphicTotals()
        let cores = max(1, ProcessInfo.processInfo.activeProcessorCount)
        let end = Date().addingTimeInterval(seconds)
        let first = first
        print("metamorphic seeds from \(first), on \(cores) cores")
        DispatchQueue.concurrentPerform(iterations: cores) { core in
            var seed = first + UInt64(core)
            while Date() < end {
                totals.add(Result { try MetamorphicRun.run(seed: seed) })
                seed += UInt64(cores)
            }
        }
        return totals.report()
    }
}

/// The results of the runs.
private final class MetamorphicTotals: @unchecked Sendable {
    private let lock = Lock()
    // Guarded by `lock`.
    private var (seeds, checks, failures) = (0, 0, [String]())

    func add(_ result: Result<MetamorphicRun, any Error>) {
        lock.withLock {
            seeds += 1
            switch result {
            case .success(let run): checks += run.checks
            case .failure(let error): failures.append("\(error)")
            }
        }
    }

    func report() -> Bool {
        lock.withLock {
            for failure in failures.prefix(10) { print("FAILED \(failure)") }
            print("\(seeds) seeds, \(checks) checks, \(failures.count) failures")
            return failures.isEmpty
        }
    }
}
