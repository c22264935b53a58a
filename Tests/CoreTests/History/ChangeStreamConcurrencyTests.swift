import Dispatch
import MakoCore
import MakoStorage
import MakoTestSupport
import Testing

/// Streams of changes beside many writers; made for the thread sanitizer.
@Suite struct ChangeStreamConcurrencyTests {
    @Test func everyReaderGetsEveryCommitOnceAndInOrder() async throws {
        var options = DatabaseOptions()
        options.history = .kept()
        let db = try Database.inMemory(entities: [Country.self], options: options)
        let start = try await db.historyToken()
        let rounds = 100
        let writers = 4
        let readers = (0..<3).map { _ in
            Task {
                var codes: [String] = []
                var last = start
                for try await event in db.changes(since: start) {
                    guard let batch = event.batch, event.token > last else { throw Stop() }
                    last = event.token
                    codes += batch.changes.map { "\($0.keyValues)" }
                    if codes.count >= rounds * writers { break }
                }
                return codes
            }
        }
        let errors = Guarded<[String]>([])
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                DispatchQueue.concurrentPerform(iterations: writers) { writer in
                    for round in 0..<rounds {
                        do {
                            try db.transaction(durability: round % 3 == 0 ? .async : nil) { _ in
                                try db.set("\(writer)-\(round)", round)
                                if round % 5 == 0 {
                                    _ = try? db.transaction { _ in
                                        try db.set("never", round)
                                        throw Stop()
                                    }
                                }
                            }
                        } catch { errors.withLock { $0.append("\(error)") } }
                    }
                }
                continuation.resume()
            }
        }
        #expect(errors.withLock { $0 } == [])
        let stored = try await db.history(since: start).compactMap(\.batch).flatMap {
            $0.changes.map { "\($0.keyValues)" }
        }
        #expect(Set(stored).count == rounds * writers && stored.count == rounds * writers)
        for reader in readers {
            let codes = try await reader.value
            #expect(codes == stored)
        }
    }
}
