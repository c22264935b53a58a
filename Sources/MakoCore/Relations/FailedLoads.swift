import MakoRecords

/// A relationship that could not be read when somebody asked for it.
public struct FailedLoad: Sendable {
    /// The object whose relationship it is; it keeps the error as its `loadError`.
    public let object: any ObjectEntity
    public let error: MakoError
}

/// The failed loads of a database, as they happen: `for await failure in db.errors { … }`.
///
/// Nothing is lost between making the sequence and iterating it; of more than ``bufferLimit`` that nobody took the newest stay. It ends when
/// the database is closed.
public struct FailedLoads: AsyncSequence, Sendable {
    public typealias Element = FailedLoad
    public typealias Failure = Never

    /// How many wait for a slow reader.
    public static var bufferLimit: Int { 256 }

    let stream: AsyncStream<FailedLoad>

    public func makeAsyncIterator() -> AsyncStream<FailedLoad>.Iterator { stream.makeAsyncIterator() }
}

/// Who is told of failed loads.
final class FailureHub: Sendable {
    private struct State {
        var listeners: [Int: AsyncStream<FailedLoad>.Continuation] = [:]
        var next = 0
        var isFinished = false
    }
    private let state = Protected(State())

    func listen() -> FailedLoads {
        let (stream, continuation) = AsyncStream.makeStream(
            of: FailedLoad.self, bufferingPolicy: .bufferingNewest(FailedLoads.bufferLimit))
        let number: Int? = state.with { state in
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

    private func forget(_ number: Int) { state.with { _ = $0.listeners.removeValue(forKey: number) } }

    func tell(_ failure: @autoclosure () -> FailedLoad) {
        let listeners = state.with { Array($0.listeners.values) }
        if listeners.isEmpty { return }
        let failure = failure()
        for listener in listeners { listener.yield(failure) }
    }

    func finish() {
        let listeners = state.with { state in
            defer { state.listeners = [:] }
            state.isFinished = true
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.finish() }
    }
}

extension Database {
    /// The loads of relationships that failed, where reading a property could only answer nil.
    ///
    /// ```swift
    /// Task { for await failure in db.errors { log(failure.error) } }
    /// ```
    public var errors: FailedLoads { failures.listen() }
}
