import MakoRecords
import MakoStorage

/// Between the thread that finds the rows of a query and their consumer: holds a few batches of rows, and has the one wait for the other.
final class RowChannel<Item: Sendable, Failure: Error>: @unchecked Sendable {
    // Unchecked: the lock guards all that changes.

    typealias Batch = [Item]

    /// So many batches wait to be taken.
    private let mostBatches = 2

    /// Ends the work of the thread.
    let cancellation = Cancellation()
    private let lock = Lock()
    private let isRoomy = ConditionVariable()
    private let isFilled = ConditionVariable()
    // Guarded by `lock`.
    private var batches: [Batch] = []
    /// Nil as long as there may be more rows.
    private var end: Result<Void, Failure>?
    /// No more rows are wanted.
    private var isLeft = false
    private var waiter: CheckedContinuation<Result<Batch?, Failure>, Never>?

    // MARK: The thread that finds rows

    /// Hands a batch over, as soon as there is room. False: no more are wanted.
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

    /// There are no more rows; the first call counts.
    func finish(_ result: Result<Void, Failure>) {
        lock.withLock {
            if end == nil { end = result }
            giveEnd()
        }
    }

    // MARK: Who takes them

    /// The next batch, which is waited for; nil: there are no more.
    func next() throws(Failure) -> Batch? {
        lock.lock()
        while batches.isEmpty, end == nil { isFilled.wait(lock) }
        defer { lock.unlock() }
        return try taken()?.get() ?? nil
    }

    /// The same, without a thread that waits.
    ///
    /// - Parameter cancelled: what it throws when the task is cancelled.
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

    /// No more rows are wanted.
    func leave() {
        cancellation.cancel()
        lock.withLock {
            isLeft = true
            batches = []
            isRoomy.broadcast()
        }
    }

    /// Ends it for both sides: rows that wait are dropped.
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

/// The channels of a database whose threads are at work: closing it ends them.
final class RowChannels<Item: Sendable, Failure: Error>: @unchecked Sendable {
    // Unchecked: guarded by the lock.

    private let lock = Lock()
    private var channels: [ObjectIdentifier: RowChannel<Item, Failure>] = [:]

    func add(_ channel: RowChannel<Item, Failure>) { lock.withLock { channels[ObjectIdentifier(channel)] = channel } }

    func remove(_ channel: RowChannel<Item, Failure>) { lock.withLock { channels[ObjectIdentifier(channel)] = nil } }

    func stop(_ error: Failure) {
        let all = lock.withLock { Array(channels.values) }
        for channel in all { channel.stop(error) }
    }
}
