import MakoStorage

/// A value that is reached under a lock only.
final class Protected<Value>: @unchecked Sendable {
    // Unchecked: the lock guards every access, one from inside another too, for which it would wait for ever.
    private let lock = Lock()
    @exclusivity(unchecked) private var value: Value

    init(_ value: Value) { self.value = value }

    @inline(__always)
    func with<R, E: Error>(_ body: (inout Value) throws(E) -> R) throws(E) -> R {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}
