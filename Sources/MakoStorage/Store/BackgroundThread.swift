/// The store's own thread, which calls `Store.step()`, and what its steps drive beside the checkpointer. It has no thread with `.manual`.
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

    func start(for store: Store) throws(StorageError) {
        let weak = WeakStore(store)
        thread = try storage { () throws(FileError) in
            try startThread(name: "mako") { [self] in run(weak) }
        }
    }

    /// Has the thread look for work now.
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

    /// Runs until the store is closed or gone. It holds the store only while it works.
    private func run(_ weak: WeakStore) {
        while !isStopping {
            guard let store = weak.store else { return }
            // A failure is kept by the pipeline, or by the checkpointer, which tries again later.
            let didWork = (try? store.step()) ?? false
            if !didWork { waitForWork() }
        }
    }

    /// Waits for a signal, or a tenth of a second.
    private func waitForWork() {
        lock.withLock {
            if !hasToStop { _ = work.wait(lock, timeout: .milliseconds(100)) }
        }
    }
}
