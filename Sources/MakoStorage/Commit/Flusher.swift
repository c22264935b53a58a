/// The thread that makes `async` commits durable when they are due, and prepares the next log segment.
///
/// It has no other work, so a checkpoint's sync never delays it. The first `async` commit starts it.
final class Flusher: @unchecked Sendable {
    private let clock: StoreClock
    private let lock = Lock()
    private let change = ConditionVariable()
    // Guarded by `lock`.
    private var due = UInt64.max
    private var isStopping = false
    private var thread: JoinableThread?

    init(clock: StoreClock) { self.clock = clock }

    /// Schedules a flush of the store at a time or earlier. If the thread cannot be started, the background thread
    /// flushes instead.
    func wake(_ store: Store, at time: UInt64) {
        assert(store.options.background == .threads, "invariant 15: with manual steps there are no threads")
        lock.withLock {
            due = min(due, time)
            if let thread {
                withExtendedLifetime(thread) { change.signal() }
            } else if !isStopping {
                let weak = WeakStore(store)
                thread = try? startThread(name: "mako flusher") { [self] in serve(weak) }
            }
        }
    }

    func stop() {
        let running = lock.withLock {
            isStopping = true
            change.broadcast()
            defer { thread = nil }
            return thread
        }
        running?.join()
    }

    /// Lets `wake` start a thread again after `stop()`.
    func allow() {
        lock.withLock { (isStopping, due) = (false, .max) }
    }

    private func serve(_ weak: WeakStore) {
        while waitUntilDue() {
            guard let store = weak.store else { return }
            // A failure makes the store read-only; the next writer gets the error.
            do throws(StorageError) {
                try store.flush(.durable)
                // Prepare a segment here too, because a fast writer may need one before the background thread checks.
                _ = try store.lookAfterLog()
            } catch {}
        }
    }

    /// Waits until a flush is due. Returns false when the thread must end.
    private func waitUntilDue() -> Bool {
        lock.withLock {
            while !isStopping {
                if due == .max {
                    change.wait(lock)
                    continue
                }
                let now = clock.now
                if now >= due {
                    due = .max
                    return true
                }
                _ = change.wait(lock, timeout: .nanoseconds(Int64(due - now)))
            }
            return false
        }
    }
}

/// A weak reference, so that a sleeping background thread does not keep the store open.
final class WeakStore: @unchecked Sendable {
    private(set) weak var store: Store?
    init(_ store: Store) { self.store = store }
}
