import MakoRecords
import MakoStorage

/// A bounded queue of row batches between the thread that finds rows and their consumer. Each side waits for the other.
final class RowChannel<Batch: Sendable, Failure: Error>: @unchecked Sendable {
    // Unchecked: the lock guards all mutable state.

    /// The capacity, in batches.
    private let mostBatches = 2

    /// Cancels the producer.
    let cancellation = Cancellation()
    private let lock = Lock()
    private let isRoomy = ConditionVariable()
    private let isFilled = ConditionVariable()
    // Guarded by `lock`.
    private var batches: [Batch] = []
    /// The result of the producer; nil while it runs.
    private var end: Result<Void, Failure>?
    /// Whether the consumer has left.
    private var isLeft = false
    private var waiter: CheckedContinuation<Result<Batch?, Failure>, Never>?

    // MARK: Producer

    /// Appends a batch, waiting for free capacity. False: the consumer has left.
    func put(_ batch: Batch) -> Bool {
        lock.lock()
        while !isLeft, batches.count >= mostBatches { isRoomy.wait(lock) }
        defer { lock.unlock() }
        if isLeft { return false }
        if let waiter = takeWaiter() {
            waiter.resume(returning: .success(batch))
        } else {
            batches.append(batch)
            isFilled.signal()
        }
        return true
    }

    /// Ends the queue; only the first call has an effect.
    func finish(_ result: Result<Void, Failure>) {
        lock.withLock {
            if end == nil { end = result }
            giveEnd()
        }
    }

    // MARK: Consumer

    /// Waits for the next batch; nil at the end.
    func next() throws(Failure) -> Batch? {
        lock.lock()
        while batches.isEmpty, end == nil { isFilled.wait(lock) }
        defer { lock.unlock() }
        return try taken()?.get() ?? nil
    }

    /// The async form of `next`, which blocks no thread.
    ///
    /// - Parameter cancelled: the error to throw when the task is cancelled.
    func nextOfTask(cancelled: Failure) async throws(Failure) -> Batch? {
        let result: Result<Batch?, Failure> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let found: Result<Batch?, Failure>? = lock.withLock {
                    if Task.isCancelled { return .failure(cancelled) }
                    if let found = taken() { return found }
                    waiter = continuation
                    return nil
                }
                if let found { continuation.resume(returning: found) }
            }
        } onCancel: {
            cancellation.cancel()
            lock.withLock { takeWaiter() }?.resume(returning: .failure(cancelled))
        }
        return try result.get()
    }

    /// Cancels the producer and drops all batches, because the consumer needs no more.
    func leave() {
        cancellation.cancel()
        lock.withLock {
            isLeft = true
            batches = []
            isRoomy.broadcast()
        }
    }

    /// Ends the queue for both sides with an error; waiting batches are dropped.
    func stop(_ error: Failure) {
        leave()
        finish(.failure(error))
    }

    // MARK: Under the lock

    private func taken() -> Result<Batch?, Failure>? {
        if !batches.isEmpty {
            isRoomy.signal()
            return .success(batches.removeFirst())
        }
        return end?.map { nil }
    }

    private func takeWaiter() -> CheckedContinuation<Result<Batch?, Failure>, Never>? {
        defer { waiter = nil }
        return waiter
    }

    private func giveEnd() {
        isFilled.broadcast()
        if batches.isEmpty, let end, let waiter = takeWaiter() { waiter.resume(returning: end.map { nil }) }
    }
}

/// The channels of a database with running threads, which closing the database ends.
final class RowChannels<Batch: Sendable, Failure: Error>: @unchecked Sendable {
    // Unchecked: the lock guards all mutable state.

    private let lock = Lock()
    private var channels: [ObjectIdentifier: RowChannel<Batch, Failure>] = [:]

    func add(_ channel: RowChannel<Batch, Failure>) {
        lock.withLock { channels[ObjectIdentifier(channel)] = channel }
    }

    func remove(_ channel: RowChannel<Batch, Failure>) { lock.withLock { channels[ObjectIdentifier(channel)] = nil } }

    func stop(_ error: Failure) {
        let all = lock.withLock { Array(channels.values) }
        for channel in all { channel.stop(error) }
    }
}
