// The async methods. A waiting call blocks no thread, and leaves the queue at once when its task is cancelled or its
// timeout expires. A call that has begun runs to its end: the writer lock is never held across a suspension.
extension Store {
    /// Runs `body` in a write transaction on a thread of the store, and commits it; rolls back if `body` throws.
    ///
    /// Transactions run in the order of their calls, together with writers that wait on threads. Cancelling the task
    /// ends the waiting only; a transaction that has begun is finished.
    ///
    /// ```swift
    /// let count = try await store.write { transaction in
    ///     try transaction.put(Array("Ada".utf8), for: 1, in: users)
    ///     return try transaction.view.count(of: users)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - durability: the durability of this commit; nil for that of the store.
    ///   - timeout: the longest time to wait for other writers; nil for ``StoreOptions/writerTimeout``.
    ///   - body: runs with the transaction, on another thread.
    /// - Returns: the result of `body`.
    /// - Throws: `CancellationError` if the task was cancelled before the transaction began,
    ///   ``StorageError/writerTimeout(seconds:)`` after a timeout, the errors of `body`, and those of the commit. The
    ///   transaction is rolled back then.
    public func write<R: Sendable>(
        durability: Durability? = nil, timeout: Duration? = nil,
        _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> R
    ) async throws -> R {
        try requireOpen()
        let timeout = timeout ?? options.writerTimeout
        let call = WaitingCall<R>()
        let timer = timeout.map { timeout in
            Task {
                try await Task.sleep(for: timeout)
                call.giveUp(StorageError.timedOut(after: timeout))
            }
        }
        defer { timer?.cancel() }
        return try await call.result { call in
            let ticket = self.writerLock.wait { self.runWrite(durability, body, for: call) }
            return { ticket.map(self.writerLock.leave) ?? false }
        }
    }

    /// Runs the transaction on a thread. The caller must hold the writer lock.
    private func runWrite<R: Sendable>(
        _ durability: Durability?, _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> R,
        for call: WaitingCall<R>
    ) {
        do throws(FileError) {
            _ = try writerThreads.run {
                call.end(
                    Result {
                        let transaction = try self.beginWriteWithLock()
                        let result = try body(transaction)
                        try transaction.commit(durability: durability)
                        return result
                    })
            }
        } catch {
            writerLock.release()
            call.end(.failure(StorageError(error)))
        }
    }

    /// Calls `body` with a snapshot of the latest commit, on a thread of the store.
    ///
    /// - Returns: the result of `body`.
    /// - Throws: `CancellationError` if the task was cancelled before `body` began, and the errors of `body`.
    public func read<R: Sendable>(_ body: @escaping @Sendable (Snapshot) throws -> R) async throws -> R {
        try requireOpen()
        return try await WaitingCall<R>().result { call in
            do throws(FileError) {
                let ticket = try self.readerThreads.run {
                    call.end(Result { try self.read(body) })
                }
                return { self.readerThreads.withdraw(ticket) }
            } catch {
                call.end(.failure(StorageError(error)))
                return { false }
            }
        }
    }
}

/// An async call that waits in a queue, and ends once: with its result, or by leaving the queue before it has begun.
private final class WaitingCall<R: Sendable>: @unchecked Sendable {
    private let lock = Lock()
    // Guarded by `lock`.
    private var continuation: CheckedContinuation<R, any Error>?
    /// Leaves the queue. Returns false if the call has begun.
    private var leave: (() -> Bool)?
    /// The error of a call that was given up before it was queued.
    private var refusal: (any Error)?

    /// - Parameter enqueue: joins a queue, and returns the closure that leaves it.
    func result(_ enqueue: (WaitingCall<R>) -> () -> Bool) async throws -> R {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let early: (any Error)? = lock.withLock {
                    if self.refusal == nil { self.continuation = continuation }
                    return self.refusal
                }
                if let early {
                    continuation.resume(throwing: early)
                    return
                }
                let leave = enqueue(self)
                // The call may have been given up in between.
                let late: (any Error)? = lock.withLock {
                    self.leave = leave
                    return self.refusal
                }
                if let late { giveUp(late) }
            }
        } onCancel: {
            giveUp(CancellationError())
        }
    }

    /// Ends the waiting with an error, unless the call has begun.
    func giveUp(_ error: any Error) {
        let leave = lock.withLock {
            if refusal == nil { refusal = error }
            return self.leave
        }
        if let leave, leave() { end(.failure(error)) }
    }

    func end(_ result: Result<R, any Error>) {
        let waiting = lock.withLock {
            defer { continuation = nil }
            return continuation
        }
        waiting?.resume(with: result)
    }
}
