import Foundation

/// Runs a closure on a thread with a stack of 512 KB, as threads have that are not a process's first.
public func onSmallStack(_ body: @escaping @Sendable () throws -> Void) throws {
    final class Outcome: @unchecked Sendable {
        // Written before the semaphore is signalled, read after that.
        var error: (any Error)?
    }
    let outcome = Outcome()
    let done = DispatchSemaphore(value: 0)
    let thread = Thread {
        do { try body() } catch { outcome.error = error }
        done.signal()
    }
    thread.stackSize = 512 << 10
    thread.start()
    done.wait()
    if let error = outcome.error { throw error }
}
