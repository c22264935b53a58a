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
        try keepFollowing(interval: interval) { result in
            onStep(result)
            return true
        }
    }

    /// As ``start(interval:onStep:)``, for a handler that may fail.
    ///
    /// - Parameter handle: returns whether it has handled the report. One that it has not is added to that of the next
    ///   step, which gives it even where it applied nothing, and waits as after an error.
    package func keepFollowing(
        interval: Duration, handling handle: @escaping @Sendable (Result<Report, ReplicationError>) -> Bool
    ) throws(ReplicationError) {
        let past = Guard(Past())
        try storage { () throws(StorageError) in
            try loop.start { [weak self] in self?.step(interval, &past.value, handle) }
        }
    }

    /// What the steps before have left.
    private struct Past {
        /// The number of steps that failed since the last one that did not.
        var failures = 0
        /// What no handler has handled.
        var report: Report?

        func delay(_ interval: Duration) -> Duration {
            failures == 0 ? interval : max(interval, min(interval * (1 << failures), Follower.longestDelay))
        }
    }

    /// Returns the time to the next step; nil to end.
    private func step(
        _ interval: Duration, _ past: inout Past, _ handle: (Result<Report, ReplicationError>) -> Bool
    ) -> Duration? {
        var isHandled = true
        do throws(ReplicationError) {
            let new = try follow()
            let report = past.report?.followed(by: new) ?? new
            if report.objects > 0 { isHandled = handle(.success(report)) }
            past.report = isHandled ? nil : report
        } catch {
            if case .storage(.closed) = error { return nil }
            isHandled = false
            _ = handle(.failure(error))
        }
        past.failures = isHandled ? 0 : min(past.failures + 1, 20)
        return past.delay(interval)
    }

    /// Ends the thread of ``start(interval:onStep:)``, after its running step.
    public func stop() { loop.stop() }

    /// The past of a loop, whose steps run one after the other.
    private final class Guard: @unchecked Sendable {
        private let lock = Lock()
        // Guarded by `lock`.
        private var current: Past

        init(_ value: Past) { current = value }

        var value: Past {
            get { lock.withLock { current } }
            set { lock.withLock { current = newValue } }
        }
    }
}

extension Follower.Report {
    /// The report of two steps.
    fileprivate func followed(by next: Follower.Report) -> Follower.Report {
        var both = next
        both.objects += objects
        both.bytes += bytes
        both.commits += commits
        both.shipped = max(shipped, next.shipped)
        both.restart = next.restart ?? restart
        return both
    }
}
