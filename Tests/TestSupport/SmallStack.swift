import Foundation

/// Runs a closure on a thread with a stack of 512 KiB, as threads have that are not a process's first, or of another size, and returns what it
/// returns.
///
/// The caller waits without a thread: tests run on a pool of as many threads as there are processors, and the closure may wait for tasks.
@discardableResult
public func onSmallStack<R: Sendable>(
    bytes: Int = 512 << 10, _ body: @escaping @Sendable () throws -> R
) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
        let thread = Thread { continuation.resume(with: Result { try body() }) }
        thread.stackSize = bytes
        thread.start()
    }
}
