import Synchronization

/// How a transaction ended.
public enum TransactionOutcome: Sendable {
    case committed
    /// Nothing was changed, and why.
    case rolledBack(any Error)
}

/// Who is told of the beginnings and ends of transactions.
final class TransactionWatchers: Sendable {
    struct Watcher: Sendable {
        let begin: (@Sendable () -> Void)?
        let end: (@Sendable (TransactionOutcome) -> Void)?
    }
    private let state = Protected<(watchers: [(number: Int, watcher: Watcher)], next: Int)>(([], 0))
    /// None is what each transaction asks first.
    private let count = Atomic<Int>(0)

    func add(_ watcher: Watcher) -> Int {
        state.with { state in
            state.next += 1
            state.watchers.append((state.next, watcher))
            count.store(state.watchers.count, ordering: .relaxed)
            return state.next
        }
    }

    func remove(_ number: Int) {
        state.with { state in
            state.watchers.removeAll { $0.number == number }
            count.store(state.watchers.count, ordering: .relaxed)
        }
    }

    /// Those who are told of a transaction that begins now; nil: nobody.
    func begin() -> [Watcher]? {
        if count.load(ordering: .relaxed) == 0 { return nil }
        let told = state.with { $0.watchers.map(\.watcher) }
        for watcher in told { watcher.begin?() }
        return told
    }
}

extension Database {
    /// Calls handlers when a transaction begins and when it has ended: after its commit and what watchers were told, or after its rollback.
    ///
    /// ```swift
    /// let token = db.onTransaction(begin: { meter.start() }, end: { outcome in meter.stop() })
    /// ```
    ///
    /// They are called on the thread of the transaction. A transaction inside another is a part of it. A single save outside of any is one,
    /// too. `begin` is called inside the transaction and may read and write; `end` is outside of it. Handlers that come in the middle of
    /// a transaction are told from the next one on.
    ///
    /// - Returns: a token; the handlers stop when it goes, or is cancelled.
    public func onTransaction(
        begin: (@Sendable () -> Void)? = nil, end: (@Sendable (TransactionOutcome) -> Void)? = nil
    ) -> ChangeToken {
        let watchers = transactionWatchers
        let number = watchers.add(.init(begin: begin, end: end))
        return ChangeToken { watchers.remove(number) }
    }
}
