/// The right to write: one holder at a time, in order of arrival.
final class WriterTurn: @unchecked Sendable {
    private let lock = Lock()
    private var isTaken = false
    private var waiters: [Waiter] = []

    private final class Waiter {
        let condition = ConditionVariable()
        var hasTurn = false
    }

    /// Waits for the turn.
    ///
    /// - Parameter timeout: how long to wait at most; nil for ever.
    /// - Returns: false when the time ran out; the caller does not have the turn then.
    func take(timeout: Duration?) -> Bool {
        lock.lock()
        defer { lock.unlock() }
        if !isTaken {
            isTaken = true
            return true
        }
        let waiter = Waiter()
        waiters.append(waiter)
        let deadline = timeout.map { ContinuousClock.now.advanced(by: $0) }
        while !waiter.hasTurn {
            guard let deadline else {
                waiter.condition.wait(lock)
                continue
            }
            let left = ContinuousClock.now.duration(to: deadline)
            if left <= .zero || !waiter.condition.wait(lock, timeout: left), !waiter.hasTurn,
                ContinuousClock.now >= deadline
            {
                waiters.removeAll { $0 === waiter }
                return false
            }
        }
        return true
    }

    /// Gives the turn to whoever has waited longest.
    func release() {
        lock.withLock {
            guard !waiters.isEmpty else {
                isTaken = false
                return
            }
            let next = waiters.removeFirst()
            next.hasTurn = true
            next.condition.signal()
        }
    }

    /// Takes the turn only when nobody has it.
    func tryTake() -> Bool {
        lock.withLock {
            if isTaken { return false }
            isTaken = true
            return true
        }
    }
}
