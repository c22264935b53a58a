import MakoStorage

/// A value behind a lock.
final class Protected<Value>: @unchecked Sendable {
    // Unchecked: the lock guards every access. A nested access would deadlock.
    private let lock = Lock()
    @exclusivity(unchecked) private var value: Value

    init(_ value: Value) { self.value = value }

    @inline(__always)
    func with<R, E: Error>(_ body: (inout Value) throws(E) -> R) throws(E) -> R {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }

    /// Waits while `condition` holds. Every access that may end it signals `change`.
    ///
    /// - Returns: false if the condition holds at the deadline.
    @discardableResult
    func wait(
        for change: ConditionVariable, until deadline: ContinuousClock.Instant? = nil, while condition: (Value) -> Bool
    ) -> Bool {
        with { value in
            while condition(value) {
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
