/// The figures of random runs.
public struct RandomTotals: Sendable, Equatable, CustomStringConvertible {
    /// Seeds that were run.
    public var seeds = 0
    /// Rounds of all seeds.
    public var rounds = 0
    /// Calls that were made and compared with the model.
    public var operations = 0
    /// Power cuts.
    public var crashes = 0
    /// Crashes in the recovery after a crash.
    public var recoveryCrashes = 0
    /// Rounds in which the disk failed at a call.
    public var faults = 0
    /// Those of them in which an error reached the caller.
    public var surfaced = 0

    public init(seeds: Int = 0) { self.seeds = seeds }

    /// Adds the figures of another run.
    public mutating func add(_ other: RandomTotals) {
        seeds += other.seeds
        rounds += other.rounds
        operations += other.operations
        crashes += other.crashes
        recoveryCrashes += other.recoveryCrashes
        faults += other.faults
        surfaced += other.surfaced
    }

    public var description: String {
        "\(seeds) seeds, \(operations) operations, \(crashes) power cuts, \(recoveryCrashes) in recovery, "
            + "\(faults) failing calls, \(surfaced) of them reported"
    }
}
