import MakoStorage

/// The thread of a follower.
final class FollowerLoop: @unchecked Sendable {
    /// A thread, and whether it has to end: a flag of its own, because a start must not take back the stop of the thread
    /// before, for which another caller may be waiting.
    private final class Run: @unchecked Sendable {
        // Guarded by the lock of the loop.
        var thread: JoinableThread?
        var hasToStop = false
    }

    private let lock = Lock()
    private let change = ConditionVariable()
    // Guarded by `lock`.
    private var current: Run?

    /// Calls `step` again and again. It returns how long to wait; nil to end.
    func start(_ step: @escaping @Sendable () -> Duration?) throws(StorageError) {
        do throws(FileError) {
            // Where another call has started a thread meanwhile, this one ends it, too.
            repeat { stop() } while try !begin(step)
        } catch { throw .io(error) }
    }

    /// Starts a thread. Returns false when there is one.
    private func begin(_ step: @escaping @Sendable () -> Duration?) throws(FileError) -> Bool {
        try lock.withLock { () throws(FileError) in
            guard current == nil else { return false }
            let run = Run()
            run.thread = try startThread(name: "mako follower") { [self] in
                while !lock.withLock({ run.hasToStop }), let delay = step() { wait(delay, run) }
            }
            current = run
            return true
        }
    }

    private func wait(_ delay: Duration, _ run: Run) {
        let end = ContinuousClock.now + delay
        lock.withLock {
            while !run.hasToStop {
                let rest = end - ContinuousClock.now
                if rest <= .zero { return }
                _ = change.wait(lock, timeout: rest)
            }
        }
    }

    /// Waits for the running step, unless the step itself calls it.
    func stop() {
        let running = lock.withLock {
            current?.hasToStop = true
            change.broadcast()
            defer { current = nil }
            return current?.thread
        }
        running?.join()
    }
}

extension Follower {
    /// The longest time between two steps after errors.
    private static let longestDelay = Duration.seconds(60)

    /// Follows in a thread of its own, until ``stop()``.
    ///
    /// After an error the next step waits twice as long as before, at most a minute.
    ///
    /// - Parameters:
    ///   - interval: between two steps.
    ///   - onStep: called after each step that applied something or failed.
    public func start(
        interval: Duration = .seconds(1),
        onStep: @escaping @Sendable (Result<Report, ReplicationError>) -> Void = { _ in }
    ) throws(ReplicationError) {
        let failures = Guard(0)
        try storage { () throws(StorageError) in
            try loop.start { [weak self] in
                guard let self else { return nil }
                do throws(ReplicationError) {
                    let report = try follow()
                    failures.value = 0
                    if report.objects > 0 { onStep(.success(report)) }
                    return interval
                } catch {
                    if case .storage(.closed) = error { return nil }
                    failures.value = min(failures.value + 1, 20)
                    onStep(.failure(error))
                    return max(interval, min(interval * (1 << failures.value), Follower.longestDelay))
                }
            }
        }
    }

    /// Ends the thread of ``start(interval:onStep:)``, after its running step.
    public func stop() { loop.stop() }

    private final class Guard: @unchecked Sendable {
        private let lock = Lock()
        // Guarded by `lock`.
        private var current: Int

        init(_ value: Int) { current = value }

        var value: Int {
            get { lock.withLock { current } }
            set { lock.withLock { current = newValue } }
        }
    }
}
