import Synchronization

/// Cancels running queries from another thread; they end with `RecordError.cancelled`.
public final class Cancellation: Sendable {
    private let flag = Atomic<Bool>(false)

    /// Makes a cancellation that is not cancelled.
    public init() {}

    /// Cancels the queries that use it.
    public func cancel() { flag.store(true, ordering: .relaxed) }

    /// Whether it is cancelled.
    public var isCancelled: Bool { flag.load(ordering: .relaxed) }
}
