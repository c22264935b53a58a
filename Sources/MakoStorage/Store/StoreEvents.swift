/// An event of a store for its operator; see ``StoreOptions/eventHandler``.
public enum StoreEvent: Sendable {
    /// The store was opened, with the result and the duration of recovery. The event of the checkpoint at the end of a
    /// recovery comes before.
    case opened(RecoveryReport, seconds: Double)
    /// A checkpoint was completed.
    case checkpointed(CheckpointReport)
    /// A checkpoint failed. Nothing is lost, and the store tries again.
    case checkpointFailed(StorageError)
    /// The store became read-only until it is opened again.
    case becameReadOnly(reason: String)
    /// Snapshots exceeded ``StoreOptions/snapshotAgeLimit`` and were ended.
    case snapshotsExpired(count: Int, limitSeconds: Double)
    /// The file was truncated.
    case shrank(fromBytes: UInt64, toBytes: UInt64)
    /// The passphrase is protected by fewer than 32,768 rounds of scrypt, so that guessing it is cheap.
    /// ``Store/changeKey(to:)`` with more rounds corrects this.
    case weakPassphrase(rounds: Int)
    /// The statistics, every ``StoreOptions/statisticsInterval``.
    case statistics(StoreStats)
    /// The store was closed; `error` is the error of its last checkpoint, if any.
    case closed(error: StorageError?)
}

/// The result of a checkpoint.
public struct CheckpointReport: Sendable, Hashable, Codable {
    /// The number of the commit that the file has without the log.
    public var commitNumber: UInt64
    /// The number of written pages, tables and bitmaps included.
    public var pages: Int
    /// The time from start to end, with pauses for other work.
    public var seconds: Double
}

/// The queue of events for the handler, in the order in which they happened.
///
/// Events are noted with locks held, and delivered without locks, by one thread at a time. So a handler may use the
/// store; events that it causes are delivered when it returns.
final class EventQueue: Sendable {
    private let handler: @Sendable (StoreEvent) -> Void
    private let state = Guarded(Waiting())

    private struct Waiting {
        var events: [StoreEvent] = []
        /// The thread that calls the handler.
        var deliverer: Int?
        /// The time of the next statistics.
        var statisticsDue: UInt64 = 0
    }

    init(_ handler: @escaping @Sendable (StoreEvent) -> Void) { self.handler = handler }

    func note(_ event: StoreEvent) { state.withLock { $0.events.append(event) } }

    func deliver() {
        while let events = next() {
            for event in events { handler(event) }
            state.withLock { $0.deliverer = nil }
        }
    }

    /// Whether the calling thread is inside the handler.
    var isInside: Bool { state.withLock { $0.deliverer == Epochs.threadNumber } }

    /// Whether statistics are due. If so, schedules the next ones an interval later.
    func takeStatisticsDue(at now: UInt64, _ interval: Duration) -> Bool {
        state.withLock { state in
            guard now >= state.statisticsDue else { return false }
            state.statisticsDue = now + max(1, interval.nanoseconds)
            return true
        }
    }

    private func next() -> [StoreEvent]? {
        state.withLock { state in
            guard !state.events.isEmpty, state.deliverer == nil else { return nil }
            state.deliverer = Epochs.threadNumber
            defer { state.events = [] }
            return state.events
        }
    }
}

extension Store {
    /// Notes the statistics when they are due.
    func noteStatistics() {
        guard let events, let interval = options.statisticsInterval else { return }
        if events.takeStatisticsDue(at: clock.now, interval) { events.note(.statistics(stats)) }
    }
}
