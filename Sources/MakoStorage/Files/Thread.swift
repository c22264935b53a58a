import CPlatform

/// A thread of the engine's own. Join it, or it runs on by itself.
package final class JoinableThread: @unchecked Sendable {
    private let lock = Lock()
    // Guarded by `lock`; nil once joined.
    private var handle: pthread_t?
    /// A thread runs in the process that started it, and in none that is forked off.
    private let generation = Forks.generation

    fileprivate init(_ handle: pthread_t) { self.handle = handle }

    deinit {
        if let handle, generation == Forks.generation { pthread_detach(handle) }
    }

    /// Waits for the thread's end. Only the first call waits, and none from the thread itself.
    package func join() {
        let taken = lock.withLock {
            defer { handle = nil }
            return handle
        }
        guard let taken, generation == Forks.generation else { return }
        if pthread_equal(taken, pthread_self()) != 0 { pthread_detach(taken) } else { pthread_join(taken, nil) }
    }
}

/// Starts a thread. Fails with `EAGAIN` where the system has no room for another.
///
/// - Parameters:
///   - name: what debuggers show on Apple systems; elsewhere it names the thread in errors only.
///   - stackBytes: the size of its stack. Platforms differ from 80 KiB to 8 MiB; one size for all shows a too deep stack everywhere.
package func startThread(
    name: String, stackBytes: Int = 2 << 20, _ body: @escaping @Sendable () -> Void
) throws(FileError) -> JoinableThread {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setstacksize(&attributes, stackBytes)
    let start = Unmanaged.passRetained(ThreadStart(name: name, body: body))
    // A pointer or a number: the one has no value before it is set, the other needs one.
    #if canImport(Darwin) || canImport(Musl)
        var created: pthread_t?
        let code = pthread_create(&created, &attributes, { run($0) }, start.toOpaque())
    #else
        var thread = pthread_t()
        let code = pthread_create(&thread, &attributes, { run($0) }, start.toOpaque())
        let created: pthread_t? = thread
    #endif
    guard code == 0, let created else {
        start.release()
        throw FileError(operation: "start thread", path: name, code: code == 0 ? EAGAIN : code)
    }
    return JoinableThread(created)
}

/// Lets other threads run.
package func yieldThread() { sched_yield() }

private final class ThreadStart {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }
}

private func run(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    let start = Unmanaged<ThreadStart>.fromOpaque(argument).takeRetainedValue()
    #if canImport(Darwin)
        pthread_setname_np(start.name)
    #endif
    start.body()
    return nil
}
