import Foundation
import MakoTestSupport

/// How much the seeded tests do. `MAKO_TEST_SEEDS=100000` runs so many random workloads, `MAKO_TEST_SEED=1346` that one
/// alone, `MAKO_TEST_EFFORT=full` opens every image that a scripted workload can leave, `small` only a few.
enum TestEffort {
    static let seeds = ProcessInfo.processInfo.environment["MAKO_TEST_SEEDS"].flatMap { Int($0) } ?? 1000

    /// The one seed to run, to look into a failure.
    static let seed = ProcessInfo.processInfo.environment["MAKO_TEST_SEED"].flatMap { UInt64($0) }

    /// The one crash workload to run, to look into a failure.
    static let workload = ProcessInfo.processInfo.environment["MAKO_TEST_WORKLOAD"]

    static let isFull = ProcessInfo.processInfo.environment["MAKO_TEST_EFFORT"] == "full"

    /// For builds in which everything is slow.
    static let isSmall = ProcessInfo.processInfo.environment["MAKO_TEST_EFFORT"] == "small"

    /// Figures of each crash run on standard output.
    static let isChatty = ProcessInfo.processInfo.environment["MAKO_TEST_FIGURES"] != nil

    static let crash: CrashRunner.Effort = isFull ? .full : (isSmall ? .small : .standard)

    static let faultLimit = isFull ? Int.max : (isSmall ? 20 : 40)
}
