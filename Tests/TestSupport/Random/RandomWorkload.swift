import MakoStorage

/// Work drawn at random from a seed, beside a plain model of what it must leave: what `RandomRounds` runs on failing disks.
package protocol RandomWorkload {
    associatedtype Session: RandomSession

    /// The name by which a failure is repeated.
    static var name: String { get }

    /// The data before the first round.
    static var empty: Session.State { get }

    /// A process that will work on what the disk holds, which is this state.
    static func session(on disk: SimulatedDisk, from state: Session.State, plan: RoundPlan) -> Session

    /// Starts on what a process before left: opens, reads everything, verifies and closes. What came back must be one of
    /// these states, of which the one is answered that the next round goes on with; nil: none of them.
    static func recover(
        on disk: SimulatedDisk, plan: RoundPlan, among states: ArraySlice<Session.State>
    ) throws -> Session.State?

    /// Only opens, as far as possible; the database stays open as long as the result is held.
    static func openAgain(
        on disk: SimulatedDisk, plan: RoundPlan, among states: ArraySlice<Session.State>
    ) -> AnyObject?
}

extension RandomWorkload {
    package static func openAgain(
        on disk: SimulatedDisk, plan: RoundPlan, among states: ArraySlice<Session.State>
    ) -> AnyObject? {
        try? Store(at: RoundPlan.path, options: plan.options(disk))
    }
}

/// The life of one process: it opens, works and perhaps closes.
package protocol RandomSession: AnyObject {
    associatedtype State

    /// The states that a crash may leave at each moment.
    var history: CrashHistory<State> { get }

    /// Calls that were made and compared.
    var operations: Int { get }

    /// Opens and works. What contradicts the model is a `Disagreement`; errors of the disk are passed on.
    func work() throws

    /// Whether the open database shows one of these states; true when it cannot be read.
    func shows(_ states: ArraySlice<State>) throws -> Bool

    func close() throws

    /// Drops everything as the end of the process does: later calls have no effect.
    func abandon()
}

/// The random choices for one round, made before it begins.
package struct RoundPlan: Sendable {
    /// The seed of everything that the round draws.
    package let seed: UInt64
    /// The number of steps.
    package var steps: Int
    /// The size of a log segment.
    package var logSegmentBytes: Int
    /// The cache budget of the store.
    package var cacheBytes: Int
    /// The sector size of the disk.
    package var sectorBytes: Int
    /// Whether a call to the disk is going to fail.
    package var diskFails = false
    /// Whether a sync is going to report success and make nothing durable; a later one will confess.
    package var diskLies = false
    /// Where the steps are printed.
    package let log: StepLog
    private let openings = Counter()

    package init(seed: UInt64, steps: Int, log: StepLog = .silent) {
        self.seed = seed
        self.steps = steps
        self.log = log
        var random = SplitMix(seed: seed &+ 1)
        logSegmentBytes = [16 << 10, 32 << 10, 128 << 10][random.below(3)]
        cacheBytes = [256 << 10, 1 << 20, 8 << 20][random.below(3)]
        sectorBytes = random.chance(50) ? 512 : 4096
    }

    /// Returns the options that open a store of this round on a disk.
    package func options(_ disk: SimulatedDisk) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.entropy = SeededEntropy(seed: seed)
        options.logSegmentBytes = logSegmentBytes
        options.checkpointBytes = logSegmentBytes / 2
        options.cacheBytes = cacheBytes
        return options
    }
}

extension RoundPlan {
    private final class Counter: @unchecked Sendable {
        var count: UInt64 = 0
    }

    /// Where what an opening draws must not be what another drew.
    func entropyOfItsOwn() -> any Entropy {
        openings.count += 1
        return SeededEntropy(seed: seed &+ openings.count &* 1_000_000_007)
    }
}

/// Prints a line per step, to analyse a failure.
package struct StepLog: Sendable {
    /// Prints nothing.
    package static let silent = StepLog(isOn: false)
    /// Prints each step.
    package static let printed = StepLog(isOn: true)
    /// Whether steps are printed.
    package let isOn: Bool

    /// Prints a line if it is on.
    package func callAsFunction(_ line: @autoclosure () -> String) {
        if isOn { print(line()) }
    }
}

extension SplitMix {
    /// Returns one of the choices, each with the same probability.
    package mutating func pick<T>(_ choices: [T]) -> T { choices[below(choices.count)] }
}
