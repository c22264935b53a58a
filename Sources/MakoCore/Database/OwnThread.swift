import Dispatch
import MakoRecords

/// Runs the async forms: synchronous work on threads of the database, never on Swift's cooperative pool.
extension Database {
    /// Runs a body on a writer or reader thread of the database.
    ///
    /// - Parameter isCancellable: whether cancelling the task ends the work with `MakoError.cancelled`, before it
    ///   begins or during a query.
    func onOwnThread<R: Sendable>(
        writes: Bool, isCancellable: Bool = true, _ body: @escaping @Sendable () throws(MakoError) -> R
    ) async throws(MakoError) -> R {
        let result: Result<R, MakoError> = await cancellable(isCancellable) { cancellation in
            await withCheckedContinuation { continuation in
                (writes ? writerQueue : readerQueue).async {
                    do throws(MakoError) {
                        let value = try CurrentCancellation.with(cancellation) { () throws(MakoError) in
                            if cancellation.isCancelled { throw .cancelled }
                            return try body()
                        }
                        continuation.resume(returning: .success(value))
                    } catch {
                        continuation.resume(returning: .failure(error))
                    }
                }
            }
        }
        return try result.get()
    }

    func onOwnThreadAny<R: Sendable>(writes: Bool, _ body: @escaping @Sendable () throws -> R) async throws -> R {
        let result: Result<R, any Error> = await cancellable(true) { cancellation in
            await withCheckedContinuation { continuation in
                (writes ? writerQueue : readerQueue).async {
                    continuation.resume(
                        returning: Result {
                            try CurrentCancellation.with(cancellation) {
                                if cancellation.isCancelled { throw MakoError.cancelled }
                                return try Database.withDefault(self, body)
                            }
                        })
                }
            }
        }
        return try result.get()
    }

    private func cancellable<R: Sendable>(_ isCancellable: Bool, _ body: (Cancellation) async -> R) async -> R {
        let cancellation = Cancellation()
        guard isCancellable else { return await body(cancellation) }
        return await withTaskCancellationHandler {
            await body(cancellation)
        } onCancel: {
            cancellation.cancel()
        }
    }
}

// MARK: - Receivers of the async forms that scripts/async-twins makes

extension Database {
    func away<R: Sendable>(
        writes: Bool = false, isCancellable: Bool = true,
        _ body: @escaping @Sendable (Database) throws(MakoError) -> R
    ) async throws(MakoError) -> R {
        try await onOwnThread(writes: writes, isCancellable: isCancellable) { () throws(MakoError) in try body(self) }
    }
}

extension ObjectEntity {
    func away<R: Sendable>(
        _ body: @escaping @Sendable (Self) throws(MakoError) -> R
    ) async throws(MakoError) -> R {
        let database = try Database.resolve(number: lockedState { $0.database }, for: Self.entityModel)
        return try await database.onOwnThread(writes: false) { () throws(MakoError) in try body(self) }
    }
}
