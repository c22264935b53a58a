/// Something that keeps data on a disk, made so that every crash of it can be tried: a run from an empty disk, and a way to
/// start again on what a crash left.
///
/// Both must do the same each time: no clock, no randomness but what a seed gives, no threads of their own.
///
///     struct Counter: CrashWorkload {
///         func run(on disk: SimulatedDisk) throws -> CrashHistory<Int> {
///             let store = try openStore(disk)
///             let history = CrashHistory(0, on: disk)
///             for number in 1...5 {
///                 history.begin(number)
///                 try save(number, in: store)
///                 history.acknowledge()
///             }
///             return history
///         }
///         func recover(on disk: SimulatedDisk, served: () -> Void) throws -> Int {
///             try load(openStore(disk))
///         }
///     }
///     let report = try CrashRunner.run(Counter(), effort: .standard)
///     assert(report.failures.isEmpty, "\(report)")
public protocol CrashWorkload {
    /// The data at one moment, as far as a user can see it.
    associatedtype State: Equatable

    /// The disk's sector size.
    var sectorBytes: Int { get }

    /// Runs the whole workload once. The history has the states that a crash may leave at each moment.
    func run(on disk: SimulatedDisk) throws -> CrashHistory<State>

    /// Recovers from what a crash left, and returns the content.
    ///
    /// - Parameters:
    ///   - disk: the disk with what the crash left.
    ///   - served: the workload calls it as soon as readers may see the data. No later crash may take that back. What
    ///     is done afterwards, such as closing, is crashed like everything else.
    func recover(on disk: SimulatedDisk, served: () -> Void) throws -> State

    /// How a state differs from the one that was expected, in a few words.
    func difference(_ found: State, _ expected: State) -> String
}

extension CrashWorkload {
    /// Sectors of 4,096 bytes.
    public var sectorBytes: Int { 4096 }

    /// Both states in full.
    public func difference(_ found: State, _ expected: State) -> String { "\(found) instead of \(expected)" }
}
