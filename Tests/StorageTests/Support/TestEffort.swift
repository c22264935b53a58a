import Foundation
import MakoTestSupport

/// How much the tests do: `MAKO_TEST_EFFORT=full` opens every image that a scripted workload can leave, `small` only a few.
/// `RandomSeeds` says which random workloads are run.
enum TestEffort {
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
