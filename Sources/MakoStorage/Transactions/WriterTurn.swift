/// The right to write: one holder at a time.
///
/// Those who wait are served in the order of their arrival, but a turn that is given up is nobody's at first: whoever has waited longest is
/// woken and takes it, unless somebody who is awake comes first. To hand it to a sleeper each time would have every commit wait until a
/// thread is awake, which takes longer than a small commit. So that nobody is overtaken for long, the turn of a sleeper that has waited for
/// a millisecond is handed over. Source: the two modes of Go's `sync.Mutex` (Go 1.9, 2017).
///
/// Who waits either sleeps or has left word what is to be done with the turn; the latter is handed it at once. Whether the turn was given to a
/// waiter or the waiter has left is decided under the lock, once: so no turn is lost to one that gives up at that moment.
final class WriterTurn: @unchecked Sendable {
    /// How long a sleeper may be overtaken.
    private static let patience = Duration.milliseconds(1)

    private let lock = Lock()
    // Guarded by `lock`. When nobody has the turn and there are waiters, the first of them is a sleeper that was woken.
    @exclusivity(unchecked) private var isTaken = false
    @exclusivity(unchecked) private var waiters = TicketQueue<Waiter>()
    /// The first waiter was woken, and has not looked yet.
    private var isWaking = false

    // Guarded by the turn itself.

    /// What the last transaction worked with, for the next one.
    @exclusivity(unchecked) var idleMemory: WriterMemory?
    @exclusivity(unchecked) var idleLists = WriterLists()

    deinit {
        idleMemory?.deallocate()
        idleLists.batch.deallocate()
    }

    private enum Waiter {
        case sleeper(Sleeper)
        case call(@Sendable () -> Void)
    }

    private final class Sleeper {
        let condition = ConditionVariable()
        let since = ContinuousClock.now
        var hasTurn = false
    }

    /// Waits for the turn.
    ///
    /// - Parameter timeout: how long to wait at most; nil for ever.
    /// - Returns: false when the time ran out; the caller does not have the turn then.
    func take(timeout: Duration?) -> Bool {
        lock.lock()
        if !isTaken {
            isTaken = true
            lock.unlock()
            return true
        }
        if let timeout, timeout <= .zero {
            lock.unlock()
            return false
        }
        defer { lock.unlock() }
        return sleep(timeout)
    }

    /// Waits in the queue, under the lock. False when the time ran out.
    private func sleep(_ timeout: Duration?) -> Bool {
        let sleeper = Sleeper()
        let ticket = waiters.append(.sleeper(sleeper))
        let deadline = timeout.map { sleeper.since.advanced(by: $0) }
        while true {
            if let deadline {
                let left = ContinuousClock.now.duration(to: deadline)
                if left > .zero { _ = sleeper.condition.wait(lock, timeout: left) }
            } else {
                sleeper.condition.wait(lock)
            }
            let isLate = deadline.map { ContinuousClock.now >= $0 } ?? false
            if sleeper.hasTurn { return true }
            if waiters.first()?.ticket == ticket {
                isWaking = false
                if !isTaken {
                    _ = waiters.remove(ticket)
                    isTaken = true
                    return true
                }
            }
            if isLate {
                _ = waiters.remove(ticket)
                return false
            }
        }
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
        lock.withLock { waiters.remove(ticket) != nil }
    }

    /// Gives up the turn.
    func release() {
        lock.lock()
        if waiters.isEmpty {
            isTaken = false
            lock.unlock()
        } else {
            lock.unlock()
            releaseToWaiter()
        }
    }

    private func releaseToWaiter() {
        let call: (@Sendable () -> Void)? = lock.withLock {
            guard let next = waiters.first() else {
                isTaken = false
                return nil
            }
            switch next.element {
            case .call(let hold):
                _ = waiters.remove(next.ticket)
                return hold
            case .sleeper(let sleeper):
                if ContinuousClock.now - sleeper.since >= WriterTurn.patience {
                    _ = waiters.remove(next.ticket)
                    sleeper.hasTurn = true
                } else {
                    isTaken = false
                }
                if !isWaking || sleeper.hasTurn { sleeper.condition.signal() }
                isWaking = !isTaken
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
