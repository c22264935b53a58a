import CPlatform

/// The seeds that a suite of random runs goes through: `MAKO_TEST_SEEDS=100000` of them, or `MAKO_TEST_SEED=1346` alone, with a
/// line per step.
package enum RandomSeeds {
    /// Suites run their seeds in so many parts, beside each other.
    package static let parts = 20

    private static let count = number("MAKO_TEST_SEEDS").map { Int($0) } ?? 300
    private static let one = number("MAKO_TEST_SEED")

    /// The seeds for runs that are no workload: so many of them where the environment names no other number.
    package static func seeds(otherwise few: Int) -> [UInt64] {
        one.map { [$0] } ?? Array(0..<(number("MAKO_TEST_SEEDS") ?? UInt64(few)))
    }

    /// Runs a part of the seeds and answers the first failures.
    package static func failures<W: RandomWorkload>(_ workload: W.Type, part: Int) -> [String] {
        failures(part: part) { seed, log in try RandomRounds<W>.run(seed: seed, log: log) }
    }

    /// Calls a body with a part of the seeds and answers the first failures.
    package static func failures(part: Int, _ run: (UInt64, StepLog) throws -> Void) -> [String] {
        var failures: [String] = []
        func attempt(_ seed: UInt64, _ log: StepLog) {
            do { try run(seed, log) } catch { failures.append("seed \(seed): \(error)") }
        }
        if let one {
            if part == 0 { attempt(one, .printed) }
            return failures
        }
        for seed in stride(from: part, to: count, by: parts) where failures.count < 3 { attempt(UInt64(seed), .silent) }
        return failures
    }

    private static func number(_ name: String) -> UInt64? {
        getenv(name).flatMap { UInt64(String(cString: $0)) }
    }
}
