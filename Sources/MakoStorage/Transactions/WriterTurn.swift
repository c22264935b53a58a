/// The right to write: one holder at a time, in order of arrival.
///
/// Who waits either sleeps or has left word what is to be done with the turn. Whether the turn was handed to a waiter or the waiter has
/// left is decided under the lock, once: so no turn is lost to one that gives up at that moment.
final class WriterTurn: @unchecked Sendable {
    private let lock = Lock()
    private var isTaken = false
    private var waiters = TicketQueue<Waiter>()

    private enum Waiter {
        case sleeper(Sleeper)
        case call(@Sendable () -> Void)
    }

    private final class Sleeper {
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
        if let timeout, timeout <= .zero { return false }
        let sleeper = Sleeper()
        let ticket = waiters.append(.sleeper(sleeper))
        let deadline = timeout.map { ContinuousClock.now.advanced(by: $0) }
        while !sleeper.hasTurn {
            guard let deadline else {
                sleeper.condition.wait(lock)
                continue
            }
            let left = ContinuousClock.now.duration(to: deadline)
            if left > .zero {
                _ = sleeper.condition.wait(lock, timeout: left)
                if sabotaged("turnLostAtTheTimeout"), ContinuousClock.now >= deadline {
                    _ = waiters.remove(ticket)
                    return false
                }
            } else {
                _ = waiters.remove(ticket)
                return false
            }
        }
        return true
    }

    /// Has `hold` called with the turn: at once on this thread when nobody has it, else by whoever gives it up. It must not wait for
    /// anything, and the turn must be released later.
    ///
    /// - Returns: what `leave` needs; nil when `hold` was called.
    func wait(_ hold: @escaping @Sendable () -> Void) -> UInt64? {
        let ticket: UInt64? = lock.withLock {
            guard isTaken else {
                isTaken = true
                return nil
            }
            return waiters.append(.call(hold))
        }
        if ticket == nil { hold() }
        return ticket
    }

    /// Gives up waiting. False when the turn is that waiter's already.
    func leave(_ ticket: UInt64) -> Bool {
        lock.withLock { waiters.remove(ticket) != nil || sabotaged("turnLostAtCancellation") }
    }

    /// Gives the turn to whoever has waited longest.
    func release() {
        let call: (@Sendable () -> Void)? = lock.withLock {
            switch sabotaged("newestWriterFirst") ? waiters.popLast() : waiters.popFirst() {
            case .sleeper(let next):
                next.hasTurn = true
                next.condition.signal()
                return nil
            case .call(let hold): return hold
            case nil:
                isTaken = false
                return nil
            }
        }
        call?()
    }

    /// How many wait.
    var waiting: Int { lock.withLock { waiters.count } }

    /// Takes the turn only when nobody has it.
    func tryTake() -> Bool { take(timeout: .zero) }
}
