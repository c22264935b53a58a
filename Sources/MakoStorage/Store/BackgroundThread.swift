/// The background thread of a store, which calls `Store.step()`, and the objects that its steps drive besides the
/// checkpointer. With `.manual` there is no thread.
final class BackgroundThread: @unchecked Sendable {
    let flusher: Flusher
    let vacuum = Vacuum()

    private let lock = Lock()
    private let work = ConditionVariable()
    // Guarded by `lock`.
    private var hasToStop = false
    private var thread: JoinableThread?

    init(clock: StoreClock) { flusher = Flusher(clock: clock) }

    var isStopping: Bool { lock.withLock { hasToStop } }

    /// Starts the thread, again after `stop()` too.
    func start(for store: Store) throws(StorageError) {
        assert(store.options.background == .threads, "invariant 15: with manual steps there are no threads")
        let weak = WeakStore(store)
        lock.withLock { hasToStop = false }
        flusher.allow()
        thread = try storage { () throws(FileError) in
            try startThread(name: "mako") { [self] in run(weak) }
        }
    }

    /// Wakes the thread to look for work.
    func wake() { lock.withLock { work.broadcast() } }

    func stop() {
        let running = lock.withLock {
            hasToStop = true
            work.broadcast()
            defer { thread = nil }
            return thread
        }
        running?.join()
        flusher.stop()
    }

    /// Runs until the store is closed or released. Retains the store only while it works.
    private func run(_ weak: WeakStore) {
        while !isStopping {
            guard let store = weak.store else { return }
            // The pipeline keeps a failure; the checkpointer tries again later.
            let didWork = (try? store.step()) ?? false
            if !didWork { waitForWork() }
        }
    }

    /// Waits for a signal, for at most a tenth of a second.
    private func waitForWork() {
        lock.withLock {
            if !hasToStop { _ = work.wait(lock, timeout: .milliseconds(100)) }
        }
    }
}
