import CPlatform

/// A thread of the engine. Unless it is joined, it ends by itself.
package final class JoinableThread: @unchecked Sendable {
    private let lock = Lock()
    // Guarded by `lock`; nil after the join.
    private var handle: pthread_t?
    /// The fork generation of the process that started it; a forked child does not have the thread.
    private let generation = Forks.generation

    fileprivate init(_ handle: pthread_t) { self.handle = handle }

    deinit {
        if let handle, generation == Forks.generation { pthread_detach(handle) }
    }

    /// Waits for the end of the thread. Returns at once after the first call, and on the thread itself.
    package func join() {
        let taken = lock.withLock {
            defer { handle = nil }
            return handle
        }
        guard let taken, generation == Forks.generation else { return }
        if pthread_equal(taken, pthread_self()) != 0 { pthread_detach(taken) } else { pthread_join(taken, nil) }
    }
}

/// Starts a thread. Fails with `EAGAIN` if the system cannot create another.
///
/// - Parameters:
///   - name: the name for debuggers on Apple platforms; elsewhere only for errors.
///   - stackBytes: the size of its stack. The defaults of platforms range from 80 KiB to 8 MiB; one size makes stack
///     overflows appear on all platforms.
package func startThread(
    name: String, stackBytes: Int = 2 << 20, _ body: @escaping @Sendable () -> Void
) throws(FileError) -> JoinableThread {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setstacksize(&attributes, stackBytes)
    let start = Unmanaged.passRetained(ThreadStart(name: name, body: body))
    // `pthread_t` is a pointer on some platforms, nil before it is set, and a number on others.
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
