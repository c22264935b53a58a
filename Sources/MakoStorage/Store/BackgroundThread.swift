import Synchronization

/// The background thread of a store, which calls `Store.step()`, and the objects that its steps drive besides the
/// checkpointer. With `.manual` there is no thread.
///
/// A store starts it with its first work: a commit, memory over the budget, or what the file or the options need at
/// opening. So a program that opens a file to read a little starts no thread.
final class BackgroundThread: @unchecked Sendable {
    let flusher: Flusher
    let vacuum = Vacuum()

    private let lock = Lock()
    private let work = ConditionVariable()
    // Guarded by `lock`.
    private var hasToStop = false
    private var thread: JoinableThread?
    /// Whether `thread` is set, for each commit to read without the lock.
    private let runs = Atomic<Bool>(false)

    init(clock: StoreClock) { flusher = Flusher(clock: clock) }

    var isStopping: Bool { lock.withLock { hasToStop } }

    var isRunning: Bool { runs.load(ordering: .relaxed) }

    /// Starts the thread, again after `stop()` too.
    func start(for store: Store) throws(StorageError) {
        lock.withLock { hasToStop = false }
        flusher.allow()
        try startUnlessStopped(for: store)
    }

    /// Starts the thread unless it runs, or was stopped.
    func startUnlessStopped(for store: Store) throws(StorageError) {
        assert(store.options.background == .threads, "invariant 15: with manual steps there are no threads")
        try lock.withLock { () throws(StorageError) in
            if hasToStop || thread != nil { return }
            let weak = WeakStore(store)
            thread = try storage { () throws(FileError) in
                try startThread(name: "mako") { [self] in run(weak) }
            }
            runs.store(true, ordering: .relaxed)
        }
    }

    /// Wakes the thread to look for work.
    func wake() { lock.withLock { work.broadcast() } }

    func stop() {
        let running = lock.withLock {
            hasToStop = true
            work.broadcast()
            runs.store(false, ordering: .relaxed)
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
