/// A value that one thread at a time uses: `Mutex` with the platform's lock, which the thread sanitizer knows.
///
/// A use inside of a use would wait for itself.
@usableFromInline
package final class Guarded<Content>: @unchecked Sendable {
    @usableFromInline let lock = Lock()
    // Unchecked: the lock guards every access.
    @exclusivity(unchecked) @usableFromInline var content: Content

    package init(_ content: Content) { self.content = content }

    // Inlined, so that a closure costs no call, and its captures no context, in other modules too.
    @inlinable @inline(__always)
    package func withLock<R, E: Error>(_ body: (inout Content) throws(E) -> R) throws(E) -> R {
        lock.lock()
        defer { lock.unlock() }
        return try body(&content)
    }

    /// Waits while `condition` holds. Every access that may end it signals `change`.
    ///
    /// - Returns: false if the condition holds at the deadline.
    @discardableResult
    package func wait(
        for change: ConditionVariable, until deadline: ContinuousClock.Instant? = nil,
        while condition: (Content) -> Bool
    ) -> Bool {
        withLock { content in
            while condition(content) {
                guard let deadline else {
                    change.wait(lock)
                    continue
                }
                let now = ContinuousClock.now
                if now >= deadline { return false }
                _ = change.wait(lock, timeout: now.duration(to: deadline))
            }
            return true
        }
    }
}
