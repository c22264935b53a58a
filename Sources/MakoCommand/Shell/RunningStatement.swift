import MakoRecords
import MakoStorage

/// The shell's running statement, for signal handlers.
final class RunningStatement: @unchecked Sendable {
    private let lock = Lock()
    private let ended = ConditionVariable()
    private var current: Cancellation?
    private var isOver = false
    private var holdsTransaction = false

    /// Whether a transaction is open, so that the database cannot be closed.
    var isInTransaction: Bool {
        get { lock.withLock { holdsTransaction } }
        set { lock.withLock { holdsTransaction = newValue } }
    }

    /// Runs the body; `cancel()` on another thread ends it at its next cancellation check.
    func run(_ body: (Cancellation) throws -> Void) throws {
        let cancellation = Cancellation()
        try lock.withLock {
            if isOver { throw RecordError.cancelled }
            current = cancellation
        }
        defer {
            lock.withLock {
                current = nil
                ended.broadcast()
            }
        }
        try body(cancellation)
    }

    /// Cancels the running statement, if there is one.
    func cancel() { lock.withLock { current?.cancel() } }

    /// Cancels the running statement, prevents others, and waits for its end.
    ///
    /// - Returns: false after a timeout.
    func finish(within limit: Duration) -> Bool {
        let deadline = ContinuousClock.now + limit
        return lock.withLock {
            isOver = true
            current?.cancel()
            while current != nil {
                let rest = deadline - .now
                guard rest > .zero else { return false }
                _ = ended.wait(lock, timeout: rest)
            }
            return true
        }
    }
}
