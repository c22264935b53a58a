import Foundation

/// A closure on a thread of its own.
package final class ThreadRun: @unchecked Sendable {
    private let done = DispatchSemaphore(value: 0)

    package init(_ body: @escaping @Sendable () -> Void) {
        let done = done
        Thread.detachNewThread {
            body()
            done.signal()
        }
    }

    package func wait() { done.wait() }
}
