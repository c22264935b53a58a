import MakoStorage

/// A clock that a test sets forward.
public final class TestClock: Clock, @unchecked Sendable {
    public struct Instant: InstantProtocol {
        public var time: Duration

        public func advanced(by duration: Duration) -> Instant { Instant(time: time + duration) }
        public func duration(to other: Instant) -> Duration { other.time - time }
        public static func < (a: Instant, b: Instant) -> Bool { a.time < b.time }
    }

    private let lock = Lock()
    private var time = Duration.zero

    public init() {}

    public var now: Instant { lock.withLock { Instant(time: time) } }
    public var minimumResolution: Duration { .nanoseconds(1) }

    public func advance(by duration: Duration) { lock.withLock { time += duration } }

    /// Returns at once and sets the clock to the deadline.
    public func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        lock.withLock { time = max(time, deadline.time) }
    }
}
