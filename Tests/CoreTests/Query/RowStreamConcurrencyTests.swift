import MakoCore
import MakoStorage
import Testing

/// Streams of rows that several threads and tasks read, leave and close.
@Suite struct RowStreamConcurrencyTests {
    private func database() throws -> Database {
        var options = DatabaseOptions()
        options.queryMemory = 1
        let db = try Database.inMemory(options: options)
        try db.rawQuery("CREATE TABLE Log (id INTEGER PRIMARY KEY, word TEXT)")
        try db.prepare("INSERT INTO Log (id, word) VALUES (?, ?)").run(
            rows: (0..<2000).map { (number: Int) -> [(any ConditionValue)?] in [number, "w\(number)"] })
        return db
    }

    /// Rows come while others are written, whole and in their order.
    @Test func manyStreamsBesideAWriter() async throws {
        let db = try database()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for number in 0..<40 { try await db.rawQuery("INSERT INTO Log (word) VALUES (\("x\(number)"))") }
            }
            for reader in 0..<6 {
                group.addTask {
                    for round in 0..<3 {
                        var last = -1
                        var count = 0
                        for try await row in try db.rows("SELECT id, word FROM Log ORDER BY word || '', id") {
                            count += 1
                            last = try row.value(at: 0)
                            if (reader + round) % 5 == 4, count == 300 { break }
                        }
                        #expect(last >= 0 && (count == 300 || count >= 2000))
                    }
                }
            }
            // Unlike `waitForAll`, this cancels the other tasks at the first error.
            for try await _ in group {}
        }
        let count = try await db.rawQuery("SELECT count(*) FROM Log").rows
        #expect(count == [[.integer(2040)]])
    }

    /// A wait for a row ends when the database is closed.
    @Test func closingWakesThoseThatWait() async throws {
        for round in 0..<6 {
            let db = try database()
            let started = (0..<4).map { reader in
                Task { () throws -> Int in
                    let stream = try db.rows(
                        "SELECT a.id FROM Log a, Log b WHERE a.id < 30 AND (a.word || b.word = 'none' OR b.id < \(reader))"
                    )
                    var count = 0
                    if reader % 2 == 0 {
                        for try await _ in stream { count += 1 }
                    } else {
                        var rows = stream.makeAsyncIterator()
                        while try await rows.next() != nil { count += 1 }
                    }
                    return count
                }
            }
            try await Task.sleep(for: .milliseconds(round * 5))
            if round % 2 == 0 { started[1].cancel() }
            try await db.close()
            for task in started {
                let result = await task.result
                switch result {
                case .success: break
                case .failure(let error as MakoError):
                    #expect(error == .cancelled || error == .closed(path: ":memory:"))
                case .failure(let error): Issue.record(error)
                }
            }
        }
    }

    /// Threads that take rows one after the other leave without a trace.
    @Test func streamsAreLeftAtAnyMoment() throws {
        let db = try database()
        let threads = try (0..<8).map { number in
            try startThread(name: "reader") {
                for round in 0..<10 {
                    do {
                        let stream = try db.rows("SELECT id FROM Log ORDER BY word || ''")
                        for _ in 0..<(number * 97 + round * 31) { _ = try stream.next() }
                        if round % 3 == 0 { stream.close() }
                    } catch { Issue.record(error) }
                }
            }
        }
        for thread in threads { thread.join() }
        try db.close()
    }
}
