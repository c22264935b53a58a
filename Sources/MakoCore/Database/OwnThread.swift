import Dispatch

/// The async forms: synchronous work on threads of the database, never on Swift's cooperative pool.
extension Database {
    func onOwnThread<R: Sendable>(
        writes: Bool, _ body: @escaping @Sendable () throws(MakoError) -> R
    ) async throws(MakoError) -> R {
        let result: Result<R, MakoError> = await withCheckedContinuation { continuation in
            (writes ? writerQueue : readerQueue).async {
                do throws(MakoError) {
                    let value = try body()
                    continuation.resume(returning: .success(value))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        return try result.get()
    }

    func onOwnThreadAny<R: Sendable>(writes: Bool, _ body: @escaping @Sendable () throws -> R) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            (writes ? writerQueue : readerQueue).async {
                continuation.resume(with: Result { try Database.withDefault(self, body) })
            }
        }
    }
}
