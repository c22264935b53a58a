import Synchronization

/// Cancels running queries from another thread; they end with `RecordError.cancelled`.
package final class Cancellation: Sendable {
    private let flag = Atomic<Bool>(false)

    /// Makes a cancellation that is not cancelled.
    package init() {}

    /// Cancels the queries that use it.
    package func cancel() { flag.store(true, ordering: .relaxed) }

    /// Whether it is cancelled.
    package var isCancelled: Bool { flag.load(ordering: .relaxed) }
}
