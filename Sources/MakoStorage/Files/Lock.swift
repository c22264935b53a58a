import CPlatform

/// A mutex of the platform's threads, which the thread sanitizer supports on every platform. Not recursive.
@usableFromInline
package final class Lock: @unchecked Sendable {
    fileprivate let mutex: UnsafeMutablePointer<pthread_mutex_t>

    package init() {
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
    }

    /// Creates a lock of the whole process, which a fork waits for: the child, which has one thread, would wait forever
    /// for one that another thread held. No other lock may be acquired under it.
    static func forProcess() -> Lock {
        let lock = Lock()
        mako_hold_during_forks(lock.mutex)
        return lock
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deinitialize(count: 1)
        mutex.deallocate()
    }

    @usableFromInline @inline(__always)
    package func lock() { pthread_mutex_lock(mutex) }

    @usableFromInline @inline(__always)
    package func unlock() { pthread_mutex_unlock(mutex) }

    /// Acquires the lock if it is free.
    @inline(__always)
    package func tryLock() -> Bool { pthread_mutex_trylock(mutex) == 0 }

    @inline(__always)
    package func withLock<R: ~Copyable, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
        lock()
        defer { unlock() }
        return try body()
    }
}

/// A condition variable for a `Lock`. Wake-ups may be spurious, so wait in a loop.
package final class ConditionVariable: @unchecked Sendable {
    private let condition: UnsafeMutablePointer<pthread_cond_t>

    package init() {
        condition = .allocate(capacity: 1)
        condition.initialize(to: pthread_cond_t())
        #if canImport(Darwin)
            pthread_cond_init(condition, nil)
        #else
            // Use the monotonic clock for timeouts.
            var attributes = pthread_condattr_t()
            pthread_condattr_init(&attributes)
            pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
            pthread_cond_init(condition, &attributes)
            pthread_condattr_destroy(&attributes)
        #endif
    }

    deinit {
        pthread_cond_destroy(condition)
        condition.deinitialize(count: 1)
        condition.deallocate()
    }

    /// Releases the lock, waits for a signal, and acquires the lock again.
    package func wait(_ lock: Lock) { pthread_cond_wait(condition, lock.mutex) }

    /// Waits as `wait(_:)`, but for at most `timeout`; `false` after a timeout.
    package func wait(_ lock: Lock, timeout: Duration) -> Bool {
        let (seconds, attoseconds) = max(timeout, .zero).components
        // Bound the seconds, because the platform's time type may be narrower.
        let bounded = min(seconds, 1 << 30)
        let nanoseconds = Int(attoseconds / 1_000_000_000)
        #if canImport(Darwin)
            var interval = timespec(tv_sec: Int(bounded), tv_nsec: nanoseconds)
            return pthread_cond_timedwait_relative_np(condition, lock.mutex, &interval) == 0
        #else
            var deadline = timespec()
            clock_gettime(CLOCK_MONOTONIC, &deadline)
            let sum = deadline.tv_nsec + nanoseconds
            deadline.tv_sec += time_t(bounded) + sum / 1_000_000_000
            deadline.tv_nsec = sum % 1_000_000_000
            return pthread_cond_timedwait(condition, lock.mutex, &deadline) == 0
        #endif
    }

    /// Wakes one waiter.
    package func signal() { pthread_cond_signal(condition) }

    /// Wakes all waiters.
    package func broadcast() { pthread_cond_broadcast(condition) }
}
