/// The clock of the engine: nanoseconds since the store was opened.
struct StoreClock: Sendable {
    private let elapsed: @Sendable () -> Duration

    init(_ clock: (any Clock<Duration>)?) {
        if let clock {
            elapsed = StoreClock.counter(clock)
        } else {
            elapsed = StoreClock.counter(ContinuousClock())
        }
    }

    var now: UInt64 { elapsed().nanoseconds }

    private static func counter<C: Clock<Duration>>(_ clock: C) -> @Sendable () -> Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }
}

extension Duration {
    package var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }

    /// The duration in nanoseconds, clamped: not negative, and at most some centuries.
    var nanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        guard seconds < 9_000_000_000 else { return .max / 2 }
        return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
    }
}
