/// The writer lock of a store: at most one holder.
///
/// Waiters are served in their order, with one exception: a released lock belongs to no thread at first. The oldest
/// waiter is woken and takes it, unless a running thread takes it before. Passing it to a sleeping thread each time
/// would make every commit wait until that thread runs, which takes longer than a small commit. To bound the waiting, a
/// waiter that has waited for a millisecond gets the lock directly. Source: the two modes of Go's `sync.Mutex` (Go 1.9,
/// 2017).
///
/// A waiter either sleeps or has registered a call, which runs with the lock when the waiter is served. Whether a
/// waiter got the lock or left the queue is decided once, under `lock`, so a waiter that gives up at this moment loses
/// no lock.
final class WriterLock: @unchecked Sendable {
    /// The time for which other threads may overtake a sleeping waiter.
    private static let patience = Duration.milliseconds(1)

    private let lock = Lock()
    // Guarded by `lock`. If the writer lock is free and there are waiters, the first of them is a sleeper that was
    // woken.
    @exclusivity(unchecked) private var isTaken = false
    @exclusivity(unchecked) private var waiters = TicketQueue<Waiter>()
    /// Whether the first waiter was woken and has not run yet.
    private var isWaking = false

    // Guarded by the writer lock itself.

    /// The memory and lists of the last transaction, for the next one.
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
        var holdsWriterLock = false
    }

    /// Acquires the writer lock.
    ///
    /// - Parameter timeout: the longest time to wait; nil for no limit.
    /// - Returns: false after a timeout; the caller does not hold the lock then.
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

    /// Waits in the queue, under `lock`. Returns false after a timeout.
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
            if sleeper.holdsWriterLock { return true }
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

    /// Calls `hold` with the writer lock held: at once on this thread if it is free, else later on the thread that
    /// releases it. `hold` must not wait, and the lock must be released later.
    ///
    /// - Returns: the ticket for `leave`; nil if `hold` was called.
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

    /// Leaves the queue. Returns false if the waiter has got the lock already.
    func leave(_ ticket: UInt64) -> Bool {
        lock.withLock { waiters.remove(ticket) != nil }
    }

    /// Releases the writer lock.
    func release() {
        lock.lock()
        assert(isTaken, "invariant 14: only a holder releases the writer lock")
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
                if ContinuousClock.now - sleeper.since >= WriterLock.patience {
                    _ = waiters.remove(next.ticket)
                    sleeper.holdsWriterLock = true
                } else {
                    isTaken = false
                }
                if !isWaking || sleeper.holdsWriterLock { sleeper.condition.signal() }
                isWaking = !isTaken
                return nil
            }
        }
        call?()
    }

    /// The number of waiters.
    var waiting: Int { lock.withLock { waiters.count } }

    /// Acquires the writer lock only if it is free.
    func tryTake() -> Bool { take(timeout: .zero) }
}
