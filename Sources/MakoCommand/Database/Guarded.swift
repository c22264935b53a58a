import MakoStorage

/// A value behind a lock.
package final class Guarded<Value>: @unchecked Sendable {
    // Unchecked: the lock guards every access. A nested access would deadlock.

    private let lock = Lock()
    private var value: Value

    package init(_ value: Value) { self.value = value }

    package func withLock<R>(_ body: (inout Value) throws -> R) rethrows -> R {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}
