/// The figures of random runs.
package struct RandomTotals: Sendable, Equatable, CustomStringConvertible {
    /// Seeds that were run.
    package var seeds = 0
    /// Rounds of all seeds.
    package var rounds = 0
    /// Calls that were made and compared with the model.
    package var operations = 0
    /// Power cuts.
    package var crashes = 0
    /// Crashes in the recovery after a crash.
    package var recoveryCrashes = 0
    /// Rounds in which the disk failed at a call.
    package var faults = 0
    /// Those of them in which an error reached the caller.
    package var surfaced = 0

    package init(seeds: Int = 0) { self.seeds = seeds }

    /// Adds the figures of another run.
    package mutating func add(_ other: RandomTotals) {
        seeds += other.seeds
        rounds += other.rounds
        operations += other.operations
        crashes += other.crashes
        recoveryCrashes += other.recoveryCrashes
        faults += other.faults
        surfaced += other.surfaced
    }

    package var description: String {
        "\(seeds) seeds, \(operations) operations, \(crashes) power cuts, \(recoveryCrashes) in recovery, "
            + "\(faults) failing calls, \(surfaced) of them reported"
    }
}
