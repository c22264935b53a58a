/// Something about a store that whoever operates it would want to know of; see ``StoreOptions/eventHandler``.
public enum StoreEvent: Sendable {
    /// The store was opened, after what the report says, in so many seconds. The checkpoint at the end of a recovery is told before.
    case opened(RecoveryReport, seconds: Double)
    /// A checkpoint was completed.
    case checkpointed(CheckpointReport)
    /// A checkpoint came to nothing. Nothing is lost, and it is tried again.
    case checkpointFailed(StorageError)
    /// Nothing can be written any more, until the store is opened anew.
    case becameReadOnly(reason: String)
    /// So many snapshots became older than ``StoreOptions/snapshotAgeLimit`` and were ended.
    case snapshotsExpired(count: Int, limitSeconds: Double)
    /// The file was cut short.
    case shrank(fromBytes: UInt64, toBytes: UInt64)
    /// The passphrase that the store was opened with, or was given, is locked with so few rounds of scrypt that guesses are cheap: fewer than
    /// 32,768. ``Store/changeKey(to:)`` with more mends that.
    case weakPassphrase(rounds: Int)
    /// The numbers, every ``StoreOptions/statisticsInterval``.
    case statistics(StoreStats)
    /// The store was closed; `error` is what its last checkpoint met, if anything.
    case closed(error: StorageError?)
}

/// What a checkpoint did.
public struct CheckpointReport: Sendable, Hashable, Codable {
    /// The commit that the file now holds without the log.
    public var commitNumber: UInt64
    /// Pages that were written, those of tables and bitmaps included.
    public var pages: Int
    /// From its beginning to its end; others did their work in between.
    public var seconds: Double
}

/// Events on their way to the handler, in the order in which they came to pass.
///
/// They are noted wherever locks are held, and handed over where none is, by one thread at a time. So a handler may use the store; what it
/// brings about is handed over when it returns.
final class EventQueue: Sendable {
    private let handler: @Sendable (StoreEvent) -> Void
    private let waiting = Guarded()

    private final class Guarded: @unchecked Sendable {
        let lock = Lock()
        var events: [StoreEvent] = []
        var isDelivering = false
        /// When the next statistics are due.
        var statisticsDue: UInt64 = 0
    }

    init(_ handler: @escaping @Sendable (StoreEvent) -> Void) { self.handler = handler }

    func note(_ event: StoreEvent) { waiting.lock.withLock { waiting.events.append(event) } }

    func deliver() {
        while let events = next() {
            for event in events { handler(event) }
            waiting.lock.withLock { waiting.isDelivering = false }
        }
    }

    /// Whether statistics are due. If so, the next ones are due an interval later.
    func takeStatisticsDue(at now: UInt64, _ interval: Duration) -> Bool {
        waiting.lock.withLock {
            guard now >= waiting.statisticsDue else { return false }
            waiting.statisticsDue = now + max(1, interval.nanoseconds)
            return true
        }
    }

    private func next() -> [StoreEvent]? {
        waiting.lock.withLock {
            guard !waiting.events.isEmpty, !waiting.isDelivering else { return nil }
            waiting.isDelivering = true
            defer { waiting.events = [] }
            return waiting.events
        }
    }
}

extension Store {
    /// Notes the numbers when they are due.
    func noteStatistics() {
        guard let events, let interval = options.statisticsInterval else { return }
        if events.takeStatisticsDue(at: clock.now, interval) { events.note(.statistics(stats)) }
    }
}
