import MakoStorage

/// A value that threads reach one at a time.
package final class Guarded<Value>: @unchecked Sendable {
    // Unchecked: the lock guards every access; an access inside another would wait for ever.

    private let lock = Lock()
    private var value: Value

    package init(_ value: Value) { self.value = value }

    package func withLock<R>(_ body: (inout Value) throws -> R) rethrows -> R {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}
