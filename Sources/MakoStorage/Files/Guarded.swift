/// A value that one thread at a time uses: `Mutex` with the platform's lock, which the thread sanitizer knows.
///
/// A use inside of a use would wait for itself.
package final class Guarded<Content>: @unchecked Sendable {
    private let lock = Lock()
    private var content: Content

    package init(_ content: Content) { self.content = content }

    package func withLock<R, E: Error>(_ body: (inout Content) throws(E) -> R) throws(E) -> R {
        lock.lock()
        defer { lock.unlock() }
        return try body(&content)
    }
}
