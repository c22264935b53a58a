import MakoStorage

extension Replicator {
    /// What the store has beyond the object store.
    public struct Lag: Sendable, Hashable {
        /// Durable commits that are not shipped.
        public var commits: UInt64 = 0
        /// Their log, in bytes.
        public var bytes: UInt64 = 0
        /// The time since the oldest of them became durable.
        public var seconds: Double = 0
    }

    /// The commits that are durable here and not shipped. Does not wait for a running request.
    public var lag: Lag {
        let newest = store.newestPlace
        let end = progress.end
        var lag = Lag()
        if newest.commit > end.commit { lag.commits = newest.commit - end.commit }
        if newest.lsn > end.lsn { lag.bytes = newest.lsn - end.lsn }
        if lag != Lag() { lag.seconds = signal.waiting?.inSeconds ?? 0 }
        return lag
    }

    // MARK: The thread

    /// Starts a thread that ships after commits. It sleeps when all is shipped.
    ///
    /// A commit that waits for its confirmation is shipped at once. After ``ObjectStoreError/unavailable(reason:)`` the thread tries again after
    /// `interval`, then after twice the delay before, at most a minute. Any other error ends the thread; see ``failure``.
    ///
    /// - Parameter interval: the shortest time between the beginnings of two shipments.
    public func start(interval: Duration = .seconds(1)) throws(ReplicationError) {
        do throws(FileError) { try thread.start(self, interval) } catch { throw .storage(.io(error)) }
    }

    /// Ends the thread after a running shipment. Commits that wait for a confirmation go on waiting.
    public func stop() { thread.stop() }

    /// The error of the thread's last shipment; nil after a success. That of retention is ``retentionFailure``.
    public var failure: ReplicationError? { progress.failure }

    // MARK: Confirmation

    /// Makes commits of durability `full` and `barrier` wait for the object store: they are published, and return, when an object has them.
    ///
    /// Ships everything first, so that nothing that an earlier process left unconfirmed is served afterwards, and starts the thread. A commit that
    /// the object store does not confirm in time throws ``/MakoStorage/StorageError/unconfirmed(commit:)``; it is durable here, and is published when it is
    /// confirmed. When another database extends the branch, the store becomes read-only, also when this call finds it.
    ///
    /// - Parameter timeout: how long a commit waits.
    /// - Throws: ``ReplicationError/fenced(branch:reason:)``, and what ``ship()`` throws; commits then do not wait.
    public func confirmCommits(timeout: Duration = .seconds(30)) throws(ReplicationError) {
        try beginConfirming()
        store.awaitConfirmation(timeout: timeout)
        store.confirm(progress.end.lsn)
        try start()
    }

    /// Makes commits no longer wait, and publishes those that do.
    public func stopConfirming() {
        progress.isConfirming = false
        store.awaitConfirmation(timeout: nil)
    }

    /// Commits that are durable here, and that no object is known to have; nil without any. Of a fenced store, the commits that the branch lacks.
    public var unconfirmedCommits: ClosedRange<UInt64>? { store.unconfirmedCommits }
}

extension Duration {
    fileprivate var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}

/// What a replicator has shipped, for threads that do not wait for a running request.
final class ShippingProgress: @unchecked Sendable {
    private struct State {
        var end: LogPlace
        var hasBackup = false
        var failure: ReplicationError?
        var retentionFailure: ReplicationError?
        var isConfirming = false
    }

    private let lock = Lock()
    // Guarded by `lock`.
    private var state: State

    init(_ end: LogPlace) { state = State(end: end) }

    var end: LogPlace { lock.withLock { state.end } }
    var shippedCommit: UInt64? { lock.withLock { state.hasBackup ? state.end.commit : nil } }

    var failure: ReplicationError? {
        get { lock.withLock { state.failure } }
        set { lock.withLock { state.failure = newValue } }
    }

    var retentionFailure: ReplicationError? {
        get { lock.withLock { state.retentionFailure } }
        set { lock.withLock { state.retentionFailure = newValue } }
    }

    var isConfirming: Bool {
        get { lock.withLock { state.isConfirming } }
        set { lock.withLock { state.isConfirming = newValue } }
    }

    func note(_ end: LogPlace, hasBackup: Bool) {
        lock.withLock { (state.end, state.hasBackup) = (end, hasBackup) }
    }
}

/// The thread of a replicator. It does not keep the replicator alive.
final class ShippingThread: @unchecked Sendable {
    private final class WeakReplicator: @unchecked Sendable {
        private(set) weak var value: Replicator?
        init(_ value: Replicator) { self.value = value }
    }

    private let signal: LogSignal
    private let lock = Lock()
    // Guarded by `lock`.
    private var thread: JoinableThread?
    private var isRunning = false

    init(_ signal: LogSignal) { self.signal = signal }

    func start(_ replicator: Replicator, _ interval: Duration) throws(FileError) {
        lock.lock()
        defer { lock.unlock() }
        guard !isRunning else { return }
        signal.restart()
        let weak = WeakReplicator(replicator)
        thread = try startThread(name: "mako replicator") { [self, progress = replicator.progress] in
            let failure = serve(weak, interval)
            lock.withLock {
                isRunning = false
                // At once: a caller that sees the failure may start another thread.
                if let failure { progress.failure = failure }
            }
        }
        isRunning = true
    }

    func stop() {
        // Under the lock: a thread that another caller starts behind the stop is none to wait for.
        let running = lock.withLock {
            signal.stop()
            return thread
        }
        running?.join()
    }

    /// Ships until it is stopped, or the replicator is gone, or an error ends it.
    ///
    /// - Returns: the error.
    private func serve(_ weak: WeakReplicator, _ interval: Duration) -> ReplicationError? {
        var next = ContinuousClock.now
        var delay: Duration?
        while signal.wait(until: next, isFirm: delay != nil) {
            guard let replicator = weak.value else { return nil }
            let began = ContinuousClock.now
            do throws(ReplicationError) {
                try replicator.ship()
                replicator.progress.failure = nil
                (delay, next) = (nil, began + interval)
            } catch {
                guard error.isTransient else { return error }
                replicator.progress.failure = error
                let pause = min(delay.map { $0 * 2 } ?? max(interval, ShippingThread.shortestPause), .seconds(60))
                (delay, next) = (pause, .now + pause)
            }
        }
        return nil
    }

    private static let shortestPause: Duration = .milliseconds(10)
}

extension ReplicationError {
    /// Whether the same call may succeed later.
    var isTransient: Bool {
        switch self {
        case .objects(.unavailable), .storage(.diskFull): true
        default: false
        }
    }
}
