import MakoRecords
import MakoStorage

/// A failed load of a relationship.
public struct FailedLoad: Sendable {
    /// The owner of the relationship; its `loadError` is the same error.
    public let object: any ObjectEntity
    /// The error of the load.
    public let error: MakoError
}

/// The failed loads of a database as they occur: `for await failure in db.errors { … }`.
///
/// The sequence buffers failures from its creation on, at most ``bufferLimit``, of which it drops the oldest. It ends
/// when the database is closed.
public struct FailedLoads: AsyncSequence, Sendable {
    /// A failed load.
    public typealias Element = FailedLoad
    /// The sequence never throws.
    public typealias Failure = Never

    /// The most failures that wait for a slow consumer.
    public static var bufferLimit: Int { 256 }

    let stream: AsyncStream<FailedLoad>

    /// Returns an iterator over the failures that have not been consumed.
    public func makeAsyncIterator() -> AsyncStream<FailedLoad>.Iterator { stream.makeAsyncIterator() }
}

/// Distributes failed loads to the sequences of a database.
final class FailureHub: Sendable {
    private struct State {
        var listeners: [Int: AsyncStream<FailedLoad>.Continuation] = [:]
        var next = 0
        var isFinished = false
    }
    private let state = Guarded(State())

    func listen() -> FailedLoads {
        let (stream, continuation) = AsyncStream.makeStream(
            of: FailedLoad.self, bufferingPolicy: .bufferingNewest(FailedLoads.bufferLimit))
        let number: Int? = state.withLock { state in
            if state.isFinished { return nil }
            state.next += 1
            state.listeners[state.next] = continuation
            return state.next
        }
        guard let number else {
            continuation.finish()
            return FailedLoads(stream: stream)
        }
        continuation.onTermination = { [weak self] _ in self?.forget(number) }
        return FailedLoads(stream: stream)
    }

    private func forget(_ number: Int) { state.withLock { _ = $0.listeners.removeValue(forKey: number) } }

    func report(_ failure: @autoclosure () -> FailedLoad) {
        let listeners = state.withLock { Array($0.listeners.values) }
        if listeners.isEmpty { return }
        let failure = failure()
        for listener in listeners { listener.yield(failure) }
    }

    func finish() {
        let listeners = state.withLock { state in
            defer { state.listeners = [:] }
            state.isFinished = true
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.finish() }
    }
}

extension Database {
    /// The failed loads of relationships, for which property access returns only nil.
    ///
    /// ```swift
    /// Task { for await failure in db.errors { log(failure.error) } }
    /// ```
    public var errors: FailedLoads { failures.listen() }
}
