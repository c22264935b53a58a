/// The thread that makes `async` commits durable when their time has come, and the next log segment ready for them. It has nothing else to
/// do, so that no checkpoint's sync holds it up, and is started by the first such commit.
final class Flusher: @unchecked Sendable {
    private let clock: StoreClock
    private let lock = Lock()
    private let change = ConditionVariable()
    // Guarded by `lock`.
    private var due = UInt64.max
    private var isStopping = false
    private var thread: JoinableThread?

    init(clock: StoreClock) { self.clock = clock }

    /// Has the store flushed at a time, or earlier. Where no thread is to be had the store's other thread sees to it.
    func wake(_ store: Store, at time: UInt64) {
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
            return thread
        }
        running?.join()
    }

    private func serve(_ weak: WeakStore) {
        while waitUntilDue() {
            guard let store = weak.store else { return }
            // A failure latches the store: whoever writes next is told.
            do throws(StorageError) {
                try store.flush(.durable)
                // A writer at full speed may need a segment before the store's other thread comes to it.
                _ = try store.lookAfterLog()
            } catch {}
        }
    }

    /// False when the thread is to end.
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

/// A reference that lets the store go while its threads sleep.
final class WeakStore: @unchecked Sendable {
    private(set) weak var store: Store?
    init(_ store: Store) { self.store = store }
}
