import Foundation
import MakoTestSupport

/// Pairs of calls at which a test injects faults: a sample, or all of them under `MAKO_TEST_EFFORT=full`.
enum CallPairs {
    static let isFull = ProcessInfo.processInfo.environment["MAKO_TEST_EFFORT"] == "full"

    /// - Parameters:
    ///   - sample: the number of pairs without `MAKO_TEST_EFFORT=full`.
    ///   - calls: the number of calls of a run with a fault at this call only, or with none.
    ///   - body: makes a run with faults at both calls, and returns the number of its calls.
    /// - Returns: the number of pairs, and how many of the runs came to their second fault.
    static func forEach(
        sample: Int, seed: UInt64, calls: (_ first: Int?) throws -> Int,
        _ body: (_ first: Int, _ second: Int) throws -> Int
    ) throws -> (runs: Int, reached: Int) {
        var (runs, reached) = (0, 0)
        func run(_ first: Int, _ second: Int) throws {
            runs += 1
            if try body(first, second) > second { reached += 1 }
        }
        let total = try calls(nil)
        guard !isFull else {
            for first in 0..<total {
                for second in first + 1..<max(first + 1, try calls(first)) { try run(first, second) }
            }
            return (runs, reached)
        }
        var random = SplitMix(seed: seed)
        for index in 0..<sample {
            let first = index * total / sample
            // Half of them soon after the first, in what recovers from it.
            let reach = random.chance(50) ? min(12, total - first) : total - first
            try run(first, first + 1 + random.below(reach))
        }
        return (runs, reached)
    }
}
