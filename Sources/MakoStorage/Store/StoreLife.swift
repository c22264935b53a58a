import Synchronization

/// Whether a store is open, suspended or closed.
///
///     open ⇄ suspended      under `lock` and the writer lock
///     open, suspended → closed
struct StoreLife: ~Copyable, Sendable {
    enum Phase: UInt8 { case open, suspended, closed }

    private let phase = Atomic<UInt8>(Phase.open.rawValue)
    private let commit = Atomic<UInt64>(0)
    /// Serializes `suspend()`, `resume()` and the closing. Acquired before the writer lock.
    let lock = Lock()

    var isOpen: Bool { phase.load(ordering: .acquiring) == Phase.open.rawValue }
    var isSuspended: Bool { phase.load(ordering: .acquiring) == Phase.suspended.rawValue }
    var isClosed: Bool { phase.load(ordering: .acquiring) == Phase.closed.rawValue }

    /// The newest commit at the last suspension.
    var suspendedCommit: UInt64 { commit.load(ordering: .relaxed) }

    func suspend(at newest: UInt64) {
        assert(isOpen, "a store is suspended under its lock, and not closed meanwhile")
        commit.store(newest, ordering: .relaxed)
        phase.store(Phase.suspended.rawValue, ordering: .sequentiallyConsistent)
    }

    func resume() {
        assert(!isClosed, "closing waits for the end of a suspension")
        phase.store(Phase.open.rawValue, ordering: .sequentiallyConsistent)
    }

    /// Returns the phase before; `closed` if another thread has closed the store.
    func close() -> Phase {
        Phase(rawValue: phase.exchange(Phase.closed.rawValue, ordering: .sequentiallyConsistent)) ?? .closed
    }
}
