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
    func wait(for change: ConditionVariable, while condition: (Value) -> Bool) {
        lock.lock()
        defer { lock.unlock() }
        while condition(value) { change.wait(lock) }
    }
}
