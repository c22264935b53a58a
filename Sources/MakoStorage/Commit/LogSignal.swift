/// Wakes a replicator when the log has more. The store sets it under its own lock, so that it calls no store.
package final class LogSignal: @unchecked Sendable {
    private let lock = Lock()
    private let change = ConditionVariable()
    // Guarded by `lock`.
    private var hasNews = true
    private var isAwaited = false
    private var isStopped = false
    /// When the oldest commit that is not taken became durable, and the oldest of those being shipped.
    private var oldest: ContinuousClock.Instant? = .now
    private var taken: ContinuousClock.Instant?

    package init() {}

    /// - Parameter isAwaited: whether a committer waits for the confirmation.
    func note(isAwaited: Bool) {
        lock.withLock {
            if oldest == nil { oldest = .now }
            // A replicator that waits for its moment is left asleep: waking it would cost each commit a change of threads.
            let isHeeded = !hasNews || isAwaited && !self.isAwaited
            hasNews = true
            if isAwaited { self.isAwaited = true }
            if isHeeded { change.broadcast() }
        }
    }

    package func stop() {
        lock.withLock {
            isStopped = true
            change.broadcast()
        }
    }

    package func restart() { lock.withLock { isStopped = false } }

    /// Waits until the log has more, and then until a moment, unless a committer waits.
    ///
    /// - Parameter isFirm: whether to wait until the moment in any case.
    /// - Returns: false when it was stopped.
    package func wait(until moment: ContinuousClock.Instant, isFirm: Bool) -> Bool {
        lock.withLock {
            while !isStopped {
                if !hasNews {
                    change.wait(lock)
                    continue
                }
                let rest = moment - .now
                if rest <= .zero || isAwaited && !isFirm { return true }
                _ = change.wait(lock, timeout: rest)
            }
            return false
        }
    }

    /// Takes what the log has at this moment, before it is shipped.
    package func take() {
        lock.withLock {
            (hasNews, isAwaited) = (false, false)
            taken = taken ?? oldest
            oldest = nil
        }
    }

    /// Notes the end of shipping. After a failure, what was taken is new again.
    package func finish(isShipped: Bool) {
        lock.withLock {
            if !isShipped {
                (hasNews, isAwaited) = (true, true)
                oldest = taken ?? oldest
                // The replicator's thread may sleep, when another thread called `ship()`: the next commit is no news.
                change.broadcast()
            }
            taken = nil
        }
    }

    /// How long the oldest commit has waited that is not shipped; nil when all are.
    package var waiting: Duration? {
        lock.withLock { (taken ?? oldest).map { .now - $0 } }
    }
}
