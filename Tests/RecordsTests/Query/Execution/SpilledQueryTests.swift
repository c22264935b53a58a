import Foundation
import MakoStorage
import MakoTestSupport
import Testing

@testable import MakoRecords

/// Queries whose sorts, groups, DISTINCT and joins exceed the query memory.
@Suite struct SpilledQueryTests {
    /// The same rows in a database whose operations have all the memory they want, and in one that gives them next to none.
    private struct Pair {
        let ample: StatementSession
        let scarce: StatementSession
        let disk: SimulatedDisk

        init(rows: Int, seed: UInt64, encrypted: Bool = false) throws {
            let disk = SimulatedDisk()
            func session(_ memory: Int?, _ path: String) throws -> StatementSession {
                var options = StoreOptions()
                options.background = .manual
                options.fileSystem = disk
                options.queryMemoryBytes = memory
                if encrypted { options.encryption = .key([UInt8](repeating: 7, count: 32)) }
                return StatementSession(store: try Store(at: path, options: options))
            }
            let (ample, scarce) = (try session(64 << 20, "d/ample"), try session(1, "d/scarce"))
            (self.ample, self.scarce, self.disk) = (ample, scarce, disk)
            var random = Seeded(seed)
            let long = String(repeating: "l", count: 70_000)
            var inserted: [[Value]] = []
            for number in 1...rows {
                let text: Value = random.chance(8) ? .null : .text(random.text() + "\(random.next() % 3000)")
                inserted.append([
                    .integer(Int64(number)), .integer(Int64.random(in: -2000...2000, using: &random)),
                    random.chance(10) ? .null : .double(Double.random(in: -1e6...1e6, using: &random)), text,
                    // Now and then much longer than the other texts.
                    random.next() % 500 == 0 ? .text(long) : .text("n\(number % 7)"),
                ])
            }
            for session in [ample, scarce] {
                try session.run("CREATE TABLE t (id INTEGER PRIMARY KEY, k INTEGER, d REAL, s TEXT, w TEXT)")
                try session.run("CREATE TABLE u (id INTEGER PRIMARY KEY, k INTEGER, s TEXT COLLATE NOCASE)")
                try session.store.write { tx in
                    let catalogue = try Catalogue.load(view: tx.view)
                    var changes = ChangeSet()
                    let insert = try CachedStatement("INSERT INTO t (id, k, d, s, w) VALUES (?, ?, ?, ?, ?)")
                    for row in inserted { _ = try insert.run(catalogue, in: tx, changes: &changes, parameters: row) }
                    let other = try CachedStatement("INSERT INTO u (id, k, s) VALUES (?, ?, ?)")
                    for row in inserted where row[0] != .integer(2) && row[1] != .integer(7) {
                        guard case .integer(let id) = row[0], id % 3 == 0 else { continue }
                        _ = try other.run(
                            catalogue, in: tx, changes: &changes, parameters: [.integer(-id), row[1], row[3]])
                    }
                }
            }
        }

        /// Expects the same rows of a query in both databases, in the same order, bit by bit.
        func expectSame(_ text: String, _ parameters: [Value] = []) throws {
            let expected = try ample.rows(text, parameters)
            let found = try scarce.rows(text, parameters)
            // NaN is no part of the data: equal values are equal bits but for zeros.
            #expect(found == expected, "\(text): \(found.count) rows, not \(expected.count)")
            #expect(!expected.isEmpty, "\(text)")
        }
    }

    private static let queries = [
        // Sorts.
        "SELECT id, k, d, s, w FROM t ORDER BY s, k DESC", "SELECT * FROM t ORDER BY w, d",
        "SELECT id FROM t ORDER BY k", "SELECT s FROM t ORDER BY s COLLATE NOCASE DESC, id DESC",
        "SELECT id, s FROM t ORDER BY d LIMIT 900 OFFSET 700", "SELECT id, w FROM t ORDER BY w LIMIT 7 OFFSET 4",
        "SELECT id, d FROM t ORDER BY abs(k), d LIMIT 3000", "SELECT id FROM t ORDER BY k % 10 LIMIT 1 OFFSET 1200",
        "SELECT k + id AS x, s FROM t WHERE k > -1500 ORDER BY x, s",
        // Groups.
        "SELECT s, count(*), count(d), sum(k), sum(d), avg(d), total(d), min(s), max(w), min(d), max(k) FROM t GROUP BY s",
        "SELECT k, s, count(*), max(s) FROM t GROUP BY k, s ORDER BY count(*) DESC, k, s",
        "SELECT k % 5 AS r, count(DISTINCT s), sum(DISTINCT d), count(DISTINCT k), avg(DISTINCT d) FROM t GROUP BY r",
        "SELECT k, count(DISTINCT s), sum(DISTINCT d), max(DISTINCT w) FROM t GROUP BY k HAVING count(*) > 3",
        "SELECT count(DISTINCT s), sum(DISTINCT d), count(DISTINCT k), min(DISTINCT d) FROM t",
        "SELECT min(s), sum(d) FROM t GROUP BY s COLLATE NOCASE HAVING sum(d) > 0 LIMIT 100 OFFSET 50",
        "SELECT id, max(s) FROM t GROUP BY id LIMIT 5",
        "SELECT upper(s), k + 0.5, sum(k) FROM t GROUP BY upper(s), k + 0.5",
        // Different rows.
        "SELECT DISTINCT s, k FROM t", "SELECT DISTINCT s FROM t LIMIT 1000 OFFSET 100",
        "SELECT DISTINCT s COLLATE NOCASE FROM t", "SELECT DISTINCT k, s FROM t ORDER BY s DESC LIMIT 3000",
        "SELECT DISTINCT w, s FROM t ORDER BY length(s), s", "SELECT DISTINCT count(*), length(s) FROM t GROUP BY s",
        // Compound queries.
        "SELECT s, k FROM t UNION SELECT s, k FROM u", "SELECT s, k FROM t UNION SELECT s, k FROM u ORDER BY 2, 1 DESC",
        "SELECT s, k FROM t INTERSECT SELECT s, k FROM u", "SELECT s, k FROM t EXCEPT SELECT s, k FROM u",
        "SELECT s FROM t EXCEPT SELECT s FROM u ORDER BY 1 LIMIT 50",
        "SELECT s, k FROM t UNION ALL SELECT s, k FROM u ORDER BY 1 LIMIT 1500 OFFSET 10",
        "SELECT k FROM t UNION ALL SELECT k FROM u LIMIT 9 OFFSET 1795",
        "SELECT s FROM t INTERSECT SELECT s FROM u UNION SELECT w FROM t EXCEPT SELECT 'n3'",
        "SELECT id, s FROM t INTERSECT SELECT id, s FROM t ORDER BY 2, 1",
        // Joins.
        "SELECT t.id, u.id, t.s FROM t JOIN u ON t.s = u.s",
        "SELECT t.id, u.id FROM t LEFT JOIN u ON t.s = u.s AND u.k > 0",
        "SELECT t.k, count(*), sum(t.d) FROM t JOIN u ON t.k = u.k GROUP BY t.k",
        "SELECT a.id, b.id, u.id FROM t a JOIN t b ON a.w = b.w AND b.id % 97 = 0 JOIN u ON u.s = a.s ORDER BY a.id, b.id, u.id",
        "SELECT t.id, u.id FROM t JOIN u ON t.id + u.id < -1700",
        "SELECT t.w, u.s FROM u JOIN t ON t.s = u.s ORDER BY t.d LIMIT 500",
        "SELECT a.id, b.id FROM t a JOIN t b ON a.d = b.d AND a.s = b.s WHERE a.w = 'n3'",
        // Inside others.
        "SELECT k FROM u WHERE s IN (SELECT s FROM t GROUP BY s HAVING count(*) > 1) ORDER BY k, id",
        "SELECT x, count(*) FROM (SELECT DISTINCT s AS x, k FROM t) GROUP BY x ORDER BY 2 DESC, 1 LIMIT 100",
    ]

    @Test(arguments: [false, true]) func rowsAreThoseOfAmpleMemory(encrypted: Bool) throws {
        guard !encrypted || Encryption.isAvailable else { return }
        let pair = try Pair(rows: 1800, seed: 7, encrypted: encrypted)
        for query in encrypted ? Array(Self.queries.prefix(5)) : Self.queries { try pair.expectSame(query) }
    }

    /// With how many rows SQLite answers, and a number that is made of all their values in their order.
    private static let answersOfSQLite: [(query: String, rows: Int, mixed: Int64)] = [
        ("SELECT id, a, b FROM n ORDER BY b DESC, a, id", 20000, 338859954),
        ("SELECT b, count(*), count(a), sum(a), min(a), max(b) FROM n GROUP BY b ORDER BY b", 4001, 831372164),
        ("SELECT DISTINCT a, length(b) FROM n ORDER BY 2, 1", 14096, 794381204),
        ("SELECT a FROM n UNION SELECT id FROM n ORDER BY 1", 20002, 852532797),
        ("SELECT a FROM n INTERSECT SELECT id FROM n ORDER BY 1", 10005, 506687997),
        ("SELECT a FROM n EXCEPT SELECT id * 3 FROM n ORDER BY 1 DESC", 6672, 708464700),
        ("SELECT m.id, n.id FROM n JOIN n m ON m.b = n.b AND m.a < n.a ORDER BY m.id, n.id", 32719, 838876788),
        (
            "SELECT m.id, n.id FROM n LEFT JOIN n m ON m.b = n.b AND m.a = n.a + 4 ORDER BY n.id, m.id",
            20000, 854025840
        ),
        ("SELECT count(DISTINCT a), count(DISTINCT b), sum(DISTINCT a) FROM n", 1, 59805072),
        ("SELECT id % 3 AS r, count(DISTINCT b), sum(DISTINCT a) FROM n GROUP BY id % 3 ORDER BY r", 3, 217419432),
        (
            "SELECT a, count(*) FROM n GROUP BY a HAVING count(*) > 1 ORDER BY count(*) DESC, a LIMIT 1000 OFFSET 20",
            1000, 911735709
        ),
    ]

    @Test func rowsAreThoseOfSQLite() throws {
        let pair = try Pair(rows: 1, seed: 1)
        try pair.scarce.run("CREATE TABLE n (id INTEGER PRIMARY KEY, a INTEGER, b TEXT)")
        try pair.scarce.store.write { tx in
            let catalogue = try Catalogue.load(view: tx.view)
            var changes = ChangeSet()
            let insert = try CachedStatement("INSERT INTO n (id, a, b) VALUES (?, ?, ?)")
            for number in 1...20_000 as ClosedRange<Int64> {
                let values: [Value] = [
                    .integer(number), number % 11 == 0 ? .null : .integer(number * 7919 % 10_007),
                    .text("b\(number * 104_729 % 4001)"),
                ]
                _ = try insert.run(catalogue, in: tx, changes: &changes, parameters: values)
            }
        }
        for (query, count, mixed) in Self.answersOfSQLite {
            let rows = try pair.scarce.rows(query)
            let found = rows.joined().reduce(Int64(0)) { sum, value in
                let number: Int64 =
                    switch value {
                    case .integer(let number): number
                    case .text(let text): Int64(text.dropFirst()) ?? -1
                    default: 5
                    }
                return (sum * 31 + number + 7) % 1_000_000_007
            }
            #expect(rows.count == count && found == mixed, "\(query)")
        }
    }

    private static let spilling = [
        "SELECT id, s FROM t ORDER BY s", "SELECT s, count(*) FROM t GROUP BY s", "SELECT DISTINCT s, k FROM t",
        "SELECT count(DISTINCT s), sum(DISTINCT d) FROM t", "SELECT s FROM t EXCEPT SELECT s FROM u",
        "SELECT t.id, u.id FROM t JOIN u ON t.s = u.s", "SELECT k, s FROM t ORDER BY k % 10, s LIMIT 4000",
    ]

    /// The temporary file is removed, and the next query can use the space again.
    @Test func aFullDiskIsAnError() throws {
        let pair = try Pair(rows: 6000, seed: 3)
        let names = try pair.disk.list(directory: "d")
        for query in Self.spilling {
            let expected = try pair.ample.rows(query)
            pair.disk.capacity = pair.disk.usedBytes + 10_000
            #expect(throws: StorageError.diskFull(path: "d/scarce"), "\(query)") {
                do { _ = try pair.scarce.rows(query) } catch RecordError.storage(let error) { throw error }
            }
            #expect(try pair.disk.list(directory: "d") == names)
            pair.disk.capacity = nil
            #expect(try pair.scarce.rows(query) == expected)
        }
        #expect(try pair.disk.list(directory: "d") == names, "a file has a name")
    }

    /// Also when the rows are found and what waits in the file is read.
    @Test func whatWaitsEndsWithACancellation() throws {
        let pair = try Pair(rows: 6000, seed: 4)
        let view = try pair.scarce.store.snapshot()
        let catalogue = try Catalogue.load(view: view)
        for query in Self.spilling + ["SELECT s FROM t UNION SELECT s FROM u ORDER BY 1"] {
            let rows = try CachedStatement(query).planned(catalogue, view: view)
            let cancellation = Cancellation()
            var count = 0
            var error: RecordError?
            do throws(RecordError) {
                try rows.give(in: view, cancellation: cancellation, rows: 1, bytes: 1) { batch in
                    count += batch.count
                    cancellation.cancel()
                    return true
                }
            } catch let cause { error = cause }
            if query.contains("count(DISTINCT") { continue }
            #expect(error == .cancelled && count <= 2048, "\(query) gave \(count)")
        }
    }

    /// A query ends when its consumer wants no more rows.
    @Test func rowsEndWhereTheyAreWantedNoMore() throws {
        let pair = try Pair(rows: 1800, seed: 5)
        let view = try pair.scarce.store.snapshot()
        let catalogue = try Catalogue.load(view: view)
        for query in Self.queries {
            let all = try pair.ample.rows(query)
            var found: [[Value]] = []
            let rows = try CachedStatement(query).planned(catalogue, view: view)
            try rows.give(in: view, rows: 3, bytes: 1 << 20) { batch in
                #expect(batch.count <= 3)
                found += batch.map(Array.init)
                return found.count < 10
            }
            #expect(found == Array(all.prefix(min(all.count, 12))), "\(query)")
        }
    }

    /// A batch ends when it is long enough, whatever it has few of.
    @Test func batchesAreCutByTheirBytes() throws {
        let pair = try Pair(rows: 1, seed: 5)
        try pair.scarce.run("CREATE TABLE b (id INTEGER PRIMARY KEY, x BLOB)")
        for _ in 0..<10 {
            try pair.scarce.run("INSERT INTO b (x) VALUES (?)", [.blob([UInt8](repeating: 7, count: 1000))])
        }
        let view = try pair.scarce.store.snapshot()
        var sizes: [Int] = []
        try CachedStatement("SELECT x FROM b").planned(try Catalogue.load(view: view), view: view)
            .give(in: view, rows: 256, bytes: 2500) { batch in
                sizes.append(batch.count)
                return true
            }
        #expect(sizes == [3, 3, 3, 1])
    }

    /// The memory of operators, as they count it themselves.
    @Test func memoryStaysWithinItsLimit() throws {
        let pair = try Pair(rows: 8000, seed: 6)
        let view = try pair.scarce.store.snapshot()
        let limit = view.queryMemory
        #expect(limit == 64 << 10)
        let set = RowSet(.union, view)
        let entries = SpilledEntries(memory: limit)
        for number in 0..<50_000 as Range<Int64> {
            set.begin()
            set.append(.integer(number % 20_000), .plain)
            if try set.put() == .open { try set.putOff { $0.append(varint: UInt64(number)) } }
            let key = KeyBuffer.bytes(of: -number)
            try entries.add(key, key, view)
        }
        var numbers: [UInt64] = []
        try set.finish { content in
            var reader = OperandReader(content)
            numbers.append(reader.varint())
            return true
        }
        #expect(numbers == numbers.sorted() && numbers.last == 19_999)
        #expect(set.peakBytes <= limit * 5 / 4, "\(set.peakBytes)")
        var last: Int64 = -50_000
        try entries.forEach { key, _ in
            last += 1
            #expect(Array(key) == KeyBuffer.bytes(of: last))
        }
        #expect(last == 0 && entries.peakBytes <= limit + 64, "\(entries.peakBytes)")
    }

    /// Where the database's directory is not writable, the temporary file is in that of the system.
    @Test func aDirectoryThatCannotBeWrittenIsNoHindrance() throws {
        let pair = try Pair(rows: 6000, seed: 8)
        let expected = try pair.ample.rows(Self.spilling[1])
        try pair.scarce.store.close()
        var options = StoreOptions()
        options.background = .manual
        options.readOnly = true
        let files = RefusingDirectory(inner: pair.disk, directory: "d/")
        options.fileSystem = files
        options.queryMemoryBytes = 1
        let reader = StatementSession(store: try Store(at: "d/scarce", options: options))
        #expect(try reader.rows(Self.spilling[1]) == expected)
        #expect(files.refused.withLock { $0 } > 0)
        try reader.store.close()
    }

    private struct RefusingDirectory: PassingFileSystem {
        let inner: any FileSystem
        let directory: String
        let refused = Guarded(0)

        func open(_ path: String, _ mode: OpenMode) throws(FileError) -> any File {
            if mode == .createNew, path.hasPrefix(directory) {
                refused.withLock { $0 += 1 }
                throw FileError(operation: "create", path: path, code: EROFS)
            }
            return try inner.open(path, mode)
        }
    }
}
