import MakoStorage
import Synchronization

/// How a transaction ended.
public enum TransactionOutcome: Sendable {
    /// Its changes were committed.
    case committed
    /// Its changes were rolled back because of an error.
    case rolledBack(any Error)
}

/// The watchers of transactions.
final class TransactionWatchers: Sendable {
    struct Watcher: Sendable {
        let begin: (@Sendable () -> Void)?
        let end: (@Sendable (TransactionOutcome) -> Void)?
    }
    private let state = Guarded<(watchers: [(number: Int, watcher: Watcher)], next: Int)>(([], 0))
    /// Each transaction checks the number of watchers first.
    private let count = Atomic<Int>(0)

    func add(_ watcher: Watcher) -> Int {
        state.withLock { state in
            state.next += 1
            state.watchers.append((state.next, watcher))
            count.store(state.watchers.count, ordering: .relaxed)
            return state.next
        }
    }

    func remove(_ number: Int) {
        state.withLock { state in
            state.watchers.removeAll { $0.number == number }
            count.store(state.watchers.count, ordering: .relaxed)
        }
    }

    /// Notifies watchers that a transaction begins, and returns them; nil: none.
    func begin() -> [Watcher]? {
        if count.load(ordering: .relaxed) == 0 { return nil }
        let notified = state.withLock { $0.watchers.map(\.watcher) }
        for watcher in notified { watcher.begin?() }
        return notified
    }
}

extension Database {
    /// Calls handlers when a transaction begins and when it has ended: after the commit and its notifications, or after
    /// the rollback.
    ///
    /// ```swift
    /// let token = db.onTransaction(begin: { meter.start() }, end: { outcome in meter.stop() })
    /// ```
    ///
    /// Both are called on the thread of the transaction. A nested transaction does not count; a single save outside a
    /// transaction does. `begin` runs inside the transaction and may read and write; `end` runs after it. Handlers
    /// added during a transaction start with the next one.
    ///
    /// - Returns: a token; the handlers are called until it is cancelled or released.
    public func onTransaction(
        begin: (@Sendable () -> Void)? = nil, end: (@Sendable (TransactionOutcome) -> Void)? = nil
    ) -> ChangeToken {
        let watchers = transactionWatchers
        let number = watchers.add(.init(begin: begin, end: end))
        return ChangeToken { watchers.remove(number) }
    }
}
