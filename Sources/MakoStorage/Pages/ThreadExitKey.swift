import CPlatform

/// A thread-specific key: calls a function with a thread's pointer when that thread ends.
struct ThreadExitKey: @unchecked Sendable {
    #if canImport(Darwin)
        typealias Destructor = @convention(c) (UnsafeMutableRawPointer) -> Void
    #else
        typealias Destructor = @convention(c) (UnsafeMutableRawPointer?) -> Void
    #endif

    private var key = pthread_key_t()

    init(atExit: @escaping Destructor) { pthread_key_create(&key, atExit) }

    func set(_ pointer: UnsafeMutableRawPointer) { pthread_setspecific(key, pointer) }
}
