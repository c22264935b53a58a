import Foundation

/// Runs a closure on a thread with a stack of 512 KiB, as threads have that are not a process's first, or of another size, and returns what it
/// returns.
///
/// The caller waits without a thread: tests run on a pool of as many threads as there are processors, and the closure may wait for tasks.
@discardableResult
package func onSmallStack<R: Sendable>(
    bytes: Int = 512 << 10, _ body: @escaping @Sendable () throws -> R
) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
        #if canImport(Darwin)
            let thread = Thread { continuation.resume(with: Result { try body() }) }
            thread.stackSize = bytes
            thread.start()
        #else
            Thread.detachNewThread {
                let call = StackCall { continuation.resume(with: Result { try body() }) }
                if let error = call.run(bytes: bytes) { continuation.resume(throwing: error) }
            }
        #endif
    }
}

#if !canImport(Darwin)
    /// A call on a stack of its own. The C library keeps the stacks of threads that have ended, and gives a new thread one of them that is up to four
    /// times as large as the thread wants.
    private final class StackCall: Sendable {
        /// Nothing is mapped there, so that what runs over the end is stopped.
        private static let guardBytes = 64 << 10
        private let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) { self.body = body }

        /// Returns the error of the system when no thread could be created; the call was not made then.
        func run(bytes: Int) -> POSIXError? {
            let size = bytes + StackCall.guardBytes
            guard let memory = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                memory != MAP_FAILED
            else { return POSIXError(.ENOMEM) }
            defer { munmap(memory, size) }
            var attributes = pthread_attr_t()
            pthread_attr_init(&attributes)
            defer { pthread_attr_destroy(&attributes) }
            guard mprotect(memory, StackCall.guardBytes, PROT_NONE) == 0,
                pthread_attr_setstack(&attributes, memory + StackCall.guardBytes, bytes) == 0
            else { return POSIXError(.EINVAL) }
            var thread = pthread_t()
            let call = Unmanaged.passRetained(self)
            let code = pthread_create(
                &thread, &attributes,
                { call in
                    if let call { Unmanaged<StackCall>.fromOpaque(call).takeRetainedValue().body() }
                    return nil
                }, call.toOpaque())
            guard code == 0 else {
                call.release()
                return POSIXError(.EAGAIN)
            }
            pthread_join(thread, nil)
            return nil
        }
    }
#endif
