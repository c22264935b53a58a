import Foundation
import MakoCore
import MakoStorage
import MakoTestSupport
import Testing

/// Streams of rows, of which only some are in memory.
@Suite struct RowStreamTests {
    private struct Stop: Error {}

    private func database(rows: Int = 3000, memory: Int? = nil) throws -> Database {
        var options = DatabaseOptions()
        options.queryMemory = memory
        let db = try Database.inMemory(options: options)
        try db.rawQuery("CREATE TABLE Log (id INTEGER PRIMARY KEY, word TEXT, n INTEGER, x REAL)")
        let insert = try db.prepare("INSERT INTO Log (id, word, n, x) VALUES (?, ?, ?, ?)")
        let values = (0..<rows).map { number -> [(any ConditionValue)?] in
            let n: Int? = number % 7 == 0 ? nil : number * 7919 % 1009
            return [number, "w\(number % 700)", n, Double(number) / 3]
        }
        try insert.run(rows: values)
        return db
    }

    private func all(_ stream: RowStream) throws -> [[StoredValue]] {
        var rows: [[StoredValue]] = []
        while let row = try stream.next() { rows.append(row.values) }
        return rows
    }

    private func holdsNoSnapshot(_ db: Database) -> Bool {
        // The thread that read last may hold its own a little longer.
        for _ in 0..<20_000 where db.store.stats.oldestSnapshot.map({ $0.label != "vacuum" }) ?? false { usleep(1000) }
        return db.store.stats.oldestSnapshot.map { $0.label == "vacuum" } ?? true
    }

    private static let queries = [
        "SELECT * FROM Log", "SELECT id FROM Log LIMIT 300 OFFSET 299", "SELECT word, n FROM Log ORDER BY n, id DESC",
        "SELECT n, count(*), sum(x), count(DISTINCT word) FROM Log GROUP BY n", "SELECT DISTINCT word FROM Log",
        "SELECT word FROM Log UNION SELECT n FROM Log ORDER BY 1 DESC", "SELECT count(*) FROM Log",
        "SELECT max(id) FROM Log",
        "SELECT a.id, b.id FROM Log a JOIN Log b ON a.n = b.n AND a.word = b.word", "SELECT 1",
        // Their plans are cached, and must not retain a snapshot.
        "SELECT id FROM Log WHERE id < 0", "SELECT id FROM Log WHERE n > 5 AND word > 'w3'",
        "SELECT id FROM Log WHERE n IN (SELECT n FROM Log WHERE id < 9) AND word LIKE 'w1%'",
        "SELECT a.id FROM Log a JOIN Log b ON a.id = b.n WHERE b.id < 9 AND a.word > 'w1'",
        "SELECT id FROM Log LIMIT 256", "EXPLAIN SELECT * FROM Log", "PRAGMA table_info(Log)",
        "SELECT id FROM Log LIMIT 0",
    ]

    /// Compares before it expects: thousands of rows are not to be written out where they differ.
    @Test(arguments: [nil, 1]) func rowsAreThoseOfTheArray(memory: Int?) async throws {
        let db = try database(rows: 600, memory: memory)
        for query in Self.queries {
            let expected = try await db.rawQuery(WhereText(text: query))
            let stream = try db.rows(text: query)
            #expect(stream.columns == expected.columns)
            let byNext = try all(stream) == expected.rows
            #expect(byNext, "\(query)")
            #expect(try stream.next() == nil)
            var found: [[StoredValue]] = []
            for try await row in try db.rows(text: query) { found.append(row.values) }
            let byLoop = found == expected.rows
            #expect(byLoop, "\(query)")
            found = []
            try db.forEachRow(WhereText(text: query)) { found.append($0.values) }
            let byClosure = found == expected.rows
            #expect(byClosure, "\(query): \(found.count) rows, \(expected.rows.count) expected")
        }
        let isFree = holdsNoSnapshot(db)
        #expect(isFree)
    }

    @Test func valuesAreNamedAndTyped() throws {
        let db = try database(rows: 8)
        let stream = try db.rows(
            "SELECT id, word AS Word, n, x FROM Log WHERE id >= \(6) AND id < :end", named: ["end": 8])
        let first = try #require(try stream.next())
        #expect(first.columns == ["id", "Word", "n", "x"] && first.values.count == 4)
        #expect(first[0] == .integer(6) && first["word"] == .text("w6") && first["Word"] == .text("w6"))
        #expect(first[4] == nil && first[-1] == nil && first["none"] == nil)
        #expect(try first.value("n", as: Int?.self) == 6 * 7919 % 1009 && first.value(at: 3, as: Double.self) == 2)
        let values = try first.values(as: (Int, String, Int?, Double).self)
        #expect(values == (6, "w6", 6 * 7919 % 1009, 2))
        #expect(throws: MakoError.columnMissing(column: "none", expected: "Int", columns: first.columns)) {
            try first.value("none", as: Int.self)
        }
        #expect(throws: MakoError.self) { try first.value(at: 9, as: Int.self) }
        #expect(throws: MakoError.self) { try first.values(as: (Int, String).self) }
        struct Entry: Decodable, Equatable {
            let id: Int
            let word: String
            let n: Int?
        }
        let second = try #require(try stream.next())
        #expect(try second.decoded(as: Entry.self) == Entry(id: 7, word: "w7", n: nil))
        #expect(throws: MakoError.columnMismatch(column: "n", row: 1, expected: "Int", found: "NULL")) {
            try second.value("n", as: Int.self)
        }
        #expect(first != second)
        #expect(try db.prepare("SELECT id FROM Log WHERE id > ?").rows(5).next()?[0] == .integer(6))
    }

    /// Rows that the caller holds stay as they were, whatever is read after them.
    @Test func heldRowsStay() throws {
        let db = try database(rows: 600)
        let expected = try db.rawQuery("SELECT word, id FROM Log").rows
        var (borrowed, streamed) = ([ResultRow](), [ResultRow]())
        try db.forEachRow("SELECT word, id FROM Log") { borrowed.append($0) }
        let stream = try db.rows("SELECT word, id FROM Log")
        while let row = try stream.next() { streamed.append(row) }
        let areEqual = borrowed.map(\.values) == expected && borrowed == streamed
        #expect(areEqual)
        #expect(Set(borrowed).count == 600 && Set(borrowed + streamed).count == 600)
        #expect(borrowed[300]["id"] == .integer(300) && borrowed[300][0] == .text("w300"))
        #expect(throws: MakoError.columnMismatch(column: "word", row: 599, expected: "Int", found: "text 'w599'")) {
            try borrowed[599].value("word", as: Int.self)
        }
        struct Entry: Decodable {
            let id: Int
            let word: String
        }
        #expect(try streamed[599].decoded(as: Entry.self).word == "w599")
    }

    /// Errors of the text are thrown before the first row.
    @Test func faultsAreThoseOfTheText() throws {
        let db = try database(rows: 3)
        #expect(throws: MakoError.self) { try db.rows("SELEC 1") }
        #expect(throws: MakoError.self) { try db.rows("SELECT nothing FROM Log") }
        #expect(throws: MakoError.self) { try db.rows("SELECT id FROM Log WHERE id = ?") }
        for text in ["DELETE FROM Log", "INSERT INTO Log (word) VALUES ('a') RETURNING id"] {
            #expect(throws: MakoError.self) { try db.rows(text: text) }
            #expect(throws: MakoError.self) { try db.forEachRow(WhereText(text: text)) { _ in } }
        }
        #expect(try db.rawQuery("SELECT count(*) FROM Log").rows == [[.integer(3)]])
        try db.transaction { _ in #expect(throws: MakoError.self) { try db.rows("SELECT 1") } }
    }

    /// An error is no end: each further call has it again.
    @Test func aFullDiskIsAnErrorOfTheStream() async throws {
        let disk = SimulatedDisk()
        var options = DatabaseOptions()
        options.queryMemory = 1
        options.storage.fileSystem = disk
        options.storage.background = .manual
        let db = try Database(at: "d/log", options: options)
        try await db.rawQuery("CREATE TABLE Log (id INTEGER PRIMARY KEY, word TEXT)")
        try await db.transaction { _ in
            let insert = try db.prepare("INSERT INTO Log (id, word) VALUES (?, ?)")
            try insert.run(
                rows: (0..<6000).map { (number: Int) -> [(any ConditionValue)?] in
                    [number, "word \(number * 7919 % 6007)"]
                })
        }
        disk.capacity = disk.usedBytes + 10_000
        let full = MakoError.storage(.diskFull(path: "d/log"))
        for query in ["SELECT id FROM Log ORDER BY word", "SELECT word, max(id) FROM Log GROUP BY word"] {
            let stream = try db.rows(text: query)
            for _ in 0..<3 { #expect(throws: full) { while try stream.next() != nil {} } }
            await #expect(throws: full) { for try await _ in try db.rows(text: query) {} }
            #expect(throws: full) { try db.forEachRow(WhereText(text: query)) { _ in } }
        }
        // Queries without intermediate results succeed.
        #expect(try all(db.rows("SELECT id FROM Log")).count == 6000)
        disk.capacity = nil
        #expect(try all(db.rows("SELECT id FROM Log ORDER BY word")).count == 6000)
        try await db.close()
    }

    @Test func rowsAreThoseOfTheirMoment() throws {
        let db = try database()
        let stream = try db.rows("SELECT id FROM Log")
        try db.rawQuery("DELETE FROM Log WHERE id >= 1000")
        var count = 0
        try stream.forEach { row in
            count += 1
            if count % 1000 == 0 { try db.rawQuery("UPDATE Log SET n = 0 WHERE id = \(count)") }
        }
        #expect(count == 3000)
        count = 0
        try db.forEachRow("SELECT id FROM Log") { _ in
            count += 1
            if count == 1 { try db.rawQuery("DELETE FROM Log") }
        }
        #expect(count == 1000)
        #expect(holdsNoSnapshot(db))
    }

    @Test func insideAReadTheRowsAreThoseOfItsSnapshot() throws {
        let db = try database(rows: 600)
        try db.read {
            #expect(try db.rawQuery("SELECT count(*) FROM Log").rows == [[.integer(600)]])
            try other { try db.rawQuery("DELETE FROM Log") }
            #expect(try all(db.rows("SELECT id FROM Log")).count == 600)
            #expect(try all(db.rows("SELECT id FROM Log")).count == 600)
        }
        #expect(try all(db.rows("SELECT id FROM Log")).isEmpty)
    }

    /// On a thread that is in no read or transaction.
    private func other(_ body: @escaping @Sendable () throws -> Void) throws {
        let thread = try startThread(name: "other") { #expect(throws: Never.self) { try body() } }
        thread.join()
    }

    /// A transaction passes borrowed rows, and must not change anything meanwhile.
    @Test func aTransactionPassesBorrowedRows() throws {
        let db = try database(rows: 600)
        try db.transaction { _ in
            try db.rawQuery("INSERT INTO Log (id, word) VALUES (1000, 'new')")
            var ids: [Int] = []
            try db.forEachRow("SELECT id FROM Log ORDER BY id DESC") { row in
                ids.append(try row.value(at: 0))
                #expect(throws: MakoError.self) { try db.rawQuery("DELETE FROM Log WHERE id = 3") }
                #expect(throws: MakoError.self) { try db.transaction { _ in } }
                #expect(try db.rawQuery("SELECT word FROM Log WHERE id = 1000").rows == [[.text("new")]])
                if ids.count == 2 { try db.forEachRow("SELECT 1") { _ in } }
            }
            #expect(ids.first == 1000 && ids.count == 601)
            #expect(throws: Stop.self) { try db.forEachRow("SELECT id FROM Log") { _ in throw Stop() } }
            try db.rawQuery("DELETE FROM Log WHERE id < 100")
        }
        #expect(try db.rawQuery("SELECT count(*) FROM Log").rows == [[.integer(501)]])
    }

    @Test func aStreamIsLeftInItsMiddle() async throws {
        let db = try database()
        do {
            let stream = try db.rows("SELECT id FROM Log")
            #expect(try stream.next() != nil)
        }
        #expect(holdsNoSnapshot(db))
        let stream = try db.rows("SELECT id FROM Log")
        #expect(throws: Stop.self) { try stream.forEach { _ in throw Stop() } }
        #expect(try stream.next()?[0] == .integer(1))
        stream.close()
        #expect(try stream.next() == nil)
        #expect(holdsNoSnapshot(db))
        func leave() async throws { for try await _ in try db.rows("SELECT id FROM Log") { break } }
        try await leave()
        #expect(holdsNoSnapshot(db))
        // One that was never begun.
        _ = try db.rows("SELECT id FROM Log")
        #expect(holdsNoSnapshot(db))
    }

    @Test func closingTheDatabaseEndsIt() throws {
        let db = try database()
        let begun = try db.rows("SELECT id FROM Log")
        let waiting = try db.rows("SELECT id FROM Log")
        #expect(try begun.next() != nil)
        try db.close()
        #expect(throws: MakoError.closed(path: ":memory:")) { while try begun.next() != nil {} }
        #expect(throws: MakoError.closed(path: ":memory:")) { try begun.next() }
        #expect(throws: MakoError.closed(path: ":memory:")) { try waiting.next() }
        #expect(throws: MakoError.closed(path: ":memory:")) { try db.rows("SELECT 1") }
    }

    @Test func aTaskThatIsCancelledGetsNoPartForAll() async throws {
        let db = try database()
        let task = Task { () throws -> Int in
            var count = 0
            for try await _ in try db.rows("SELECT id FROM Log") {
                count += 1
                if count == 1000 { withUnsafeCurrentTask { $0?.cancel() } }
            }
            return count
        }
        await #expect(throws: MakoError.cancelled) { try await task.value }
        #expect(holdsNoSnapshot(db))
    }
}
