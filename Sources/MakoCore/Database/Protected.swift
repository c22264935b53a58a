import MakoStorage

/// A value that is reached under a lock only.
final class Protected<Value>: @unchecked Sendable {
    // Unchecked: the lock guards every access.
    private let lock = Lock()
    private var value: Value

    init(_ value: Value) { self.value = value }

    @inline(__always)
    func with<R, E: Error>(_ body: (inout Value) throws(E) -> R) throws(E) -> R {
        try lock.withLock { () throws(E) -> R in try body(&value) }
    }
}
