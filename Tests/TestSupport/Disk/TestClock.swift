import MakoStorage

/// A clock that a test sets forward.
public final class TestClock: Clock, @unchecked Sendable {
    /// A time of the clock.
    public struct Instant: InstantProtocol {
        /// The time since the clock was created.
        public var time: Duration

        /// Returns the instant that is so much later.
        public func advanced(by duration: Duration) -> Instant { Instant(time: time + duration) }
        /// Returns the time from this instant to another.
        public func duration(to other: Instant) -> Duration { other.time - time }
        public static func < (a: Instant, b: Instant) -> Bool { a.time < b.time }
    }

    private let lock = Lock()
    private var time = Duration.zero

    /// Creates a clock at zero.
    public init() {}

    /// The time that the test has set.
    public var now: Instant { lock.withLock { Instant(time: time) } }
    /// One nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Sets the clock forward.
    public func advance(by duration: Duration) { lock.withLock { time += duration } }

    /// Returns at once and sets the clock to the deadline.
    public func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        lock.withLock { time = max(time, deadline.time) }
    }
}
