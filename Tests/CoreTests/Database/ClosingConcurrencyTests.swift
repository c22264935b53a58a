import Dispatch
import MakoCore
import Testing

/// What observes a database ends without an error when it is closed, also in the moment between the closing and the
/// notice of it.
@Suite struct ClosingConcurrencyTests {
    @Test func aLiveQueryEnds() async throws {
        let db = try HistoryPlace().open()
        var live = db.query(Country.self).observe().makeAsyncIterator()
        _ = try await live.next()
        try db.set("FR", 68)
        try await duringClosing(db) {
            let next = try await live.next()
            #expect(next == nil)
        }
    }

    @Test func aHistoryEnds() async throws {
        let db = try HistoryPlace().open(.kept())
        var history = db.changes(since: nil).makeAsyncIterator()
        try db.set("FR", 68)
        _ = try await history.next()
        try db.set("FR", 69)
        try await duringClosing(db) {
            let next = try await history.next()
            #expect(next == nil)
        }
    }

    /// Calls `body` when `close()` has begun, and no observer is notified yet.
    private func duringClosing(_ db: Database, _ body: () async throws -> Void) async throws {
        let closing = Closing()
        db.attachment = closing
        let closed = Task { try await db.close() }
        for await _ in closing.begun {}
        await #expect(throws: Never.self) { try await body() }
        closing.continues.signal()
        try await closed.value
    }

    /// Stops `close()` at its first step.
    private final class Closing: DatabaseAttachment {
        let (begun, begin) = AsyncStream<Void>.makeStream()
        let continues = DispatchSemaphore(value: 0)

        func end() {
            begin.finish()
            continues.wait()
        }
    }
}
