import MakoStorage
import MakoTestSupport
import Testing

import MakoRecords

/// Large tables that several threads read in parts: results are the same to the bit at any number of threads.
@Suite struct ParallelScanConcurrencyTests {
    /// One database, opened with each number of threads in turn. A table counts as large from 500 rows on, and its
    /// parts have about 40.
    private struct Database {
        let files = MemoryFileSystem()
        var memory: Int?

        func open(threads: Int, isLarge: Bool = true) throws -> StatementSession {
            var options = StoreOptions()
            options.background = .manual
            options.fileSystem = files
            options.queryThreads = threads
            options.queryMemoryBytes = memory
            (options.parallelRows, options.partRows) = (isLarge ? 500 : .max, 40)
            return StatementSession(store: try Store(at: "large.mako", options: options))
        }

        init(rows: Int, seed: UInt64) throws {
            let session = try open(threads: 1)
            try session.run("CREATE TABLE g (id INTEGER PRIMARY KEY, name TEXT)")
            try session.run(
                "CREATE TABLE t (id INTEGER PRIMARY KEY, k INTEGER, d REAL, s TEXT, n TEXT COLLATE NOCASE, g INTEGER REFERENCES g)"
            )
            let inserted = Self.rows(rows, seed)
            try session.store.write { tx in
                let catalogue = try Catalogue.load(view: tx.view)
                var changes = ChangeSet()
                let group = try CachedStatement("INSERT INTO g VALUES (?, ?)")
                for number in 1...20 {
                    let row: [Value] = [.integer(Int64(number)), .text("g\(number % 7)")]
                    _ = try group.run(catalogue, in: tx, changes: &changes, parameters: row)
                }
                let insert = try CachedStatement("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)")
                for row in inserted { _ = try insert.run(catalogue, in: tx, changes: &changes, parameters: row) }
            }
            try session.store.close()
        }

        private static func rows(_ count: Int, _ seed: UInt64) -> [[Value]] {
            var random = Seeded(seed)
            var id: Int64 = -700
            return (0..<count).map { number in
                id += Int64(1 + random.next() % 3)
                let broken = Double.random(in: -1e9...1e9, using: &random)
                return [
                    .integer(id), random.chance(9) ? .null : .integer(Int64(random.next() % 40) - 20),
                    random.chance(9) ? .null : .double(number % 50 == 7 ? broken * 1e-20 : broken),
                    random.chance(9) ? .null : .text("s\(random.next() % 900)"),
                    .text(["Ada", "ada", "ADA", "Bob", "bob"][Int(random.next() % 5)]),
                    random.chance(9) ? .null : .integer(Int64(1 + random.next() % 20)),
                ]
            }
        }
    }

    private static func bits(_ rows: [[Value]]) -> [String] {
        rows.map { row in
            row.map { if case .double(let number) = $0 { "\(number.bitPattern)" } else { "\($0)" } }
                .joined(separator: "|")
        }
    }

    private static let exact = [
        "SELECT count(*) FROM t WHERE k > 3", "SELECT count(*) FROM t WHERE s LIKE '%3%' AND d < 0",
        "SELECT count(*) FROM t WHERE id > -500 AND k < 9", "SELECT count(*) FROM t WHERE id > -500",
        "SELECT count(*) FROM t WHERE g.name = 'g3'", "SELECT count(k), sum(k), min(k), max(k) FROM t",
        "SELECT min(d), max(d), count(d), count(*) FROM t", "SELECT min(s), max(s), min(n), max(n) FROM t",
        "SELECT sum(k), max(s) FROM t WHERE k > 100", "SELECT sum(k + 1), min(length(s)) FROM t WHERE d > 5",
        "SELECT k, count(*), sum(k), min(s), max(d) FROM t GROUP BY k", "SELECT s, count(*), min(n) FROM t GROUP BY s",
        "SELECT n, count(*), max(s) FROM t GROUP BY n", "SELECT upper(n), min(k) FROM t WHERE k > 0 GROUP BY upper(n)",
        "SELECT g.name, count(*), max(id) FROM t GROUP BY g.name ORDER BY 2 DESC, 1",
        "SELECT k % 3, n, count(*) FROM t GROUP BY k % 3, n HAVING count(*) > 20 ORDER BY 3, 1, 2 LIMIT 5 OFFSET 1",
        "SELECT id, count(*) FROM t GROUP BY id", "SELECT DISTINCT count(*) FROM t GROUP BY s",
        "SELECT count(DISTINCT s), sum(k) FROM t", "SELECT id, s FROM t WHERE k = 4", "SELECT * FROM t",
        // Of which memory holds the rows of the first parts.
        "SELECT id, s, n FROM t WHERE k = 4 OR id + 0 > 3000",
        "SELECT id, upper(n) || s, d FROM t WHERE id > -500 AND s LIKE '%1%'",
        "SELECT id, g.name FROM t WHERE g.name > 'g3'",
        "SELECT id FROM t WHERE k = 4 UNION ALL SELECT k FROM t WHERE n = 'bob'",
        "SELECT s FROM t WHERE k = 4 LIMIT 20",
        "SELECT s FROM t WHERE k < 9 ORDER BY d, id",
        "SELECT count(*) FROM t JOIN g ON g.name = 'g' || abs(t.k % 7)",
        "SELECT t.id, g.id, g.name FROM t LEFT JOIN g ON g.name = 'g' || t.k WHERE t.k > 0",
        "SELECT t.id, g.name FROM t LEFT JOIN g ON g.id = t.g AND g.name > 'g2' WHERE t.k = 3 OR g.name IS NULL",
        "SELECT g.name, count(*), sum(t.k), max(t.s) FROM t JOIN g ON g.name = 'g' || abs(t.k % 7) GROUP BY g.name",
        "SELECT a.n, count(*), max(b.s) FROM t a JOIN t b ON a.k = b.id JOIN g ON g.name = 'g' || abs(b.k % 7) GROUP BY a.n",
        "SELECT a.id, b.id FROM t a LEFT JOIN t b ON a.s = b.s AND b.id % 5 = 0 WHERE a.k = 7",
        "SELECT g.id, h.id, t.id FROM g JOIN g h ON h.id = g.id + 1 JOIN t ON g.name = 'g' || abs(t.k % 7) AND h.id < 9",
        "SELECT t.id, u.id FROM g JOIN t ON g.name = 'g' || t.k LEFT JOIN t u ON u.id = t.id * 2 WHERE t.k < g.id",
        "SELECT max(k) FROM t WHERE k < (SELECT max(k) FROM t)",
        "SELECT count(*) FROM t WHERE k > 3 UNION ALL SELECT sum(k) FROM t",
    ]

    private static let broken = [
        "SELECT sum(d), avg(d), total(d) FROM t", "SELECT sum(d), avg(k) FROM t WHERE k > 3 AND s < 's5'",
        "SELECT sum(d * 3), avg(d + k), total(d / 7) FROM t WHERE n = 'ada'",
        "SELECT k, sum(d), avg(d), total(d), count(*) FROM t GROUP BY k",
        "SELECT s, sum(d), min(d), avg(d + 0.1) FROM t GROUP BY s", "SELECT id, sum(d) FROM t GROUP BY id",
        "SELECT sum(t.d), avg(t.d + g.id) FROM t JOIN g ON g.name = 'g' || abs(t.k % 7)",
        "SELECT g.id, sum(t.d), total(t.d) FROM t LEFT JOIN g ON g.name = 'g' || abs(t.k % 7) GROUP BY g.id",
        "SELECT a.k, sum(a.d), sum(b.d * a.d) FROM t a LEFT JOIN t b ON a.s = b.s AND b.id % 5 = 0 GROUP BY a.k",
        // Of which memory holds the groups of the first parts.
        "SELECT id - id % 8, sum(d) FROM t GROUP BY id - id % 8",
        "SELECT n, sum(d) FROM t WHERE id > -400 GROUP BY n HAVING sum(d) <> 0 ORDER BY sum(d)",
    ]

    @Test func resultsAreTheSameAtAnyNumberOfThreads() throws {
        var database = try Database(rows: 4000, seed: 5)
        var expected: [String: [String]] = [:]
        let undivided = try database.open(threads: 3, isLarge: false)
        for query in Self.exact { expected[query] = Self.bits(try undivided.rows(query)) }
        let sum = try undivided.rows("SELECT sum(d) FROM t")
        try undivided.store.close()
        let runs: [(threads: Int, memory: Int?)] = [
            (1, nil), (2, nil), (3, nil), (8, nil), (1, 1), (2, 1), (8, 1), (2, 350 << 10),
        ]
        for (threads, memory) in runs {
            database.memory = memory
            let session = try database.open(threads: threads)
            for query in Self.exact + Self.broken {
                let found = Self.bits(try session.rows(query))
                let isSame = found == expected[query, default: found]
                #expect(isSame, "\(query) with \(threads) threads, memory \(memory ?? 0)")
                #expect(!found.isEmpty)
                expected[query] = found
            }
            // The same in a transaction, whose view is one thread's.
            try session.store.write { tx in
                for query in Self.broken {
                    let found = try Statement.parse(query).read(try Catalogue.load(view: tx.view), view: tx.view)
                    let isSame = Self.bits(found.rows) == expected[query]
                    #expect(isSame, "\(query) in a transaction")
                }
            }
            guard case .double(let whole)? = sum.first?.first,
                case .double(let parts)? = try session.rows("SELECT sum(d) FROM t").first?.first
            else {
                Issue.record("no sum")
                return
            }
            #expect(abs(whole - parts) <= abs(whole) * 1e-9)
            try session.store.close()
        }
    }

    /// Nested conditions are evaluated on the other threads as deep as on the caller's.
    @Test func deepConditionsGetEnoughStackOnEachThread() throws {
        let database = try Database(rows: 1500, seed: 9)
        let sum = "k" + String(repeating: " + 1", count: 95)
        let calls = String(repeating: "abs(", count: 95) + "k" + String(repeating: ")", count: 95)
        let cases =
            String(repeating: "CASE WHEN k > 3 THEN 1 ELSE ", count: 95) + "k" + String(repeating: " END", count: 95)
        var expected: [String]?
        for threads in [1, 3] {
            let session = try database.open(threads: threads)
            var found: [String] = []
            for expr in [sum, calls, cases] {
                found += Self.bits(try session.rows("SELECT count(*) FROM t WHERE \(expr) > 10"))
                found += Self.bits(try session.rows("SELECT sum(\(expr)) FROM t"))
                found += Self.bits(try session.rows("SELECT n, sum(\(expr)) FROM t GROUP BY n"))
                found += Self.bits(try session.rows("SELECT id FROM t WHERE \(expr) = 4"))
            }
            let isSame = found == expected ?? found
            #expect(isSame)
            expected = found
            try session.store.close()
        }
    }

    @Test func aggregatesOfSelectionsAreTheSameAtAnyNumberOfThreads() throws {
        let database = try Database(rows: 3000, seed: 6)
        var expected: [String]?
        for threads in [1, 2, 3, 8] {
            let session = try database.open(threads: threads)
            var found: [String] = []
            for condition in [nil, "k > 3", "s LIKE '%1%' AND d < 1e8", "id > 0"] {
                let selection = Selection(
                    table: "t", condition: try condition.map { try Condition.parse($0) }, orderBy: [])
                try session.store.read { view in
                    let plan = try selection.plan(try Catalogue.load(view: view), in: view)
                    found.append("\(try plan.count(in: view))")
                    for function in [AggregateFunction.sum, .average, .total, .count, .minimum, .maximum] {
                        for column in ["k", "d"] {
                            found += Self.bits([[try plan.aggregate(function, of: .path(column), in: view)]])
                        }
                    }
                    let product = try Expr.parse("d * 1.1 + k")
                    found += Self.bits([[try plan.aggregate(.sum, of: product, in: view)]])
                    found += Self.bits([[try plan.aggregate(.minimum, of: product, in: view)]])
                }
            }
            #expect(found == expected ?? found, "\(threads) threads")
            expected = found
            try session.store.close()
        }
    }

    @Test func notANumberIsAddedAsWithOneThread() throws {
        let database = try Database(rows: 1500, seed: 7)
        for change in [
            ("UPDATE t SET d = ? WHERE id = (SELECT max(id) FROM t WHERE id < 100)", Double.nan),
            ("UPDATE t SET d = ? WHERE id = (SELECT min(id) FROM t)", -Double.infinity),
            ("UPDATE t SET d = ? WHERE d IS NOT NULL", -0.0),
        ] {
            var expected: [String]?
            for threads in [1, 2, 8] {
                let session = try database.open(threads: threads)
                try session.run(change.0, [.double(change.1)])
                let found = try Self.broken.map { Self.bits(try session.rows($0)).joined() }
                let isSame = found == expected ?? found
                #expect(isSame, "\(change), \(threads) threads")
                expected = found
                try session.store.close()
            }
        }
    }

    @Test func plansSayHowManyThreadsGather() throws {
        let database = try Database(rows: 900, seed: 8)
        let session = try database.open(threads: 3)
        #expect(
            try session.plan("SELECT sum(d) FROM t WHERE k > 3")
                == "gather (3 threads)\n  aggregate sum(d)\n    filter k > 3\n      scan t")
        #expect(
            try session.plan("SELECT count(*) FROM t WHERE k > 3")
                == "gather (3 threads)\n  count\n    filter k > 3\n      scan t")
        #expect(
            try session.plan("SELECT s, count(*) FROM t GROUP BY s") == "gather (3 threads)\n  group by s\n    scan t")
        #expect(
            try session.plan("SELECT s FROM t WHERE k > 3") == "gather (3 threads)\n  filter k > 3\n    scan t")
        for (query, start) in [
            (
                "SELECT g.id, sum(d) FROM t LEFT JOIN g ON g.name = 'g' || t.k GROUP BY g.id",
                "gather (3 threads)\n  group by g.id\n    left join g by hash"
            ),
            ("SELECT t.id FROM t JOIN g ON g.name = 'g' || t.k", "gather (3 threads)\n  join t by hash of the rows"),
            (
                "SELECT a.id, b.id FROM t a LEFT JOIN t b ON a.s = b.s AND b.id % 5 = 0 WHERE a.k = 7",
                "gather (3 threads)\n  left join t AS b by hash"
            ),
        ] {
            let plan = try session.plan(query)
            #expect(plan.hasPrefix(start), "\(plan)")
        }
        for query in [
            "SELECT a.id FROM t a LEFT JOIN g ON g.name < a.s",
            "SELECT count(*) FROM t", "SELECT sum(d) FROM t WHERE id > 900", "SELECT sum(id) FROM g",
            "SELECT count(DISTINCT k) FROM t", "SELECT s FROM t LIMIT 9", "SELECT DISTINCT d FROM t",
            "SELECT sum(d) FROM t WHERE k = (SELECT max(id) FROM g)",
        ] { #expect(!(try session.plan(query)).contains("gather"), "\(query)") }
        try session.store.write { tx in
            let plan = try SelectStatement.parse("SELECT sum(d) FROM t").explanation(
                try Catalogue.load(view: tx.view), view: tx.view)
            #expect(!plan.outline.contains("gather"))
        }
        try session.store.close()
        let alone = try database.open(threads: 1)
        #expect(try alone.plan("SELECT sum(d) FROM t") == "aggregate sum(d)\n  scan t")
        try alone.store.close()
    }

    @Test(arguments: [1, 3]) func whatTheThreadsDidIsOneRun(threads: Int) throws {
        let session = try Database(rows: 900, seed: 9).open(threads: threads)
        try session.store.read { view in
            for query in [
                "SELECT sum(d) FROM t WHERE k > 3", "SELECT k, count(*) FROM t WHERE k > 3 GROUP BY k",
                "SELECT count(*) FROM t WHERE k > 3", "SELECT sum(d + 1), min(s) FROM t WHERE k > 3",
                "SELECT s FROM t WHERE k > 3",
                "SELECT g.id, count(*) FROM t LEFT JOIN g ON g.name = t.s WHERE t.k > 3 GROUP BY g.id",
                "SELECT g.id, count(*) FROM t JOIN g ON g.name = 'g' || abs(t.k % 7) WHERE t.k > 3 GROUP BY g.id",
            ] {
                let found = try SelectStatement.parse(query).analysis(try Catalogue.load(view: view), view: view)
                let scan = try #require(found.plan.operators.first { $0.operation == .scan && $0.table == "t" }?.counts)
                #expect(scan.runs == 1 && scan.rows == 900, "\(found)")
                let filter = try #require(found.plan.operators.first { $0.operation == .filter }?.counts)
                #expect(filter.runs == 1 && filter.rows == 900 && filter.passed < 900, "\(found)")
                for node in found.plan.operators {
                    // A join is started for each row before it.
                    #expect(
                        node.counts?.runs
                            == (node.operation == .hashJoin
                                ? filter.passed : node.operation == .hashJoinOfOuter ? 20 : 1),
                        "\(found)")
                }
                #expect(found.plan.operators.contains { $0.operation == .gather } == (threads > 1))
            }
        }
    }

    /// Of two rows that cannot be read the first one is reported.
    @Test func theFirstErrorInTheOrderOfRowsIsThrown() throws {
        let database = try Database(rows: 3000, seed: 10)
        let first = try database.open(threads: 1)
        try first.store.write { tx in
            let table = try Catalogue.load(view: tx.view).requireTable("t")
            try tx.put([9, 9, 0, 0, 0, 0, 0, 0, 0], for: KeyOrder.treeKey(4000), in: table.rows)
            try tx.put([1, 0, 200, 0, 0, 0, 0, 0, 0], for: KeyOrder.treeKey(150), in: table.rows)
        }
        try first.store.close()
        var expected: String?
        for threads in [1, 2, 3, 8] {
            let session = try database.open(threads: threads)
            for query in [
                "SELECT sum(d) FROM t", "SELECT sum(d) FROM t WHERE k > 3", "SELECT count(*) FROM t WHERE k > 3",
                "SELECT s, count(*) FROM t GROUP BY s", "SELECT s FROM t WHERE k > 3",
                "SELECT g.id FROM t LEFT JOIN g ON g.name = t.s", "SELECT g.id FROM t JOIN g ON g.name = t.s",
            ] {
                let error = Self.error { _ = try session.rows(query) }
                #expect(error == expected ?? error, "\(query)")
                expected = error
            }
            try session.store.close()
        }
        #expect(expected?.contains("more columns") == true, "\(expected ?? "")")
    }

    /// The words of an error; empty where there is none.
    private static func error(_ body: () throws -> Void) -> String {
        do {
            try body()
            return ""
        } catch { return "\(error)" }
    }

    @Test func cancellationEndsAllThreads() throws {
        let database = try Database(rows: 3000, seed: 11)
        let session = try database.open(threads: 8)
        defer { try? session.store.close() }
        try session.store.read { view in
            let catalogue = try Catalogue.load(view: view)
            for query in [
                "SELECT sum(d) FROM t WHERE s LIKE '%1%'", "SELECT s, sum(d) FROM t GROUP BY s", "SELECT s FROM t",
            ] {
                let statement = try SelectStatement.parse(query)
                let cancellation = Cancellation()
                cancellation.cancel()
                // A part is too short for its scan to look: the threads look between parts.
                #expect(
                    Self.error { _ = try statement.run(catalogue, view: view, cancellation: cancellation) }
                        == "\(RecordError.cancelled)", "\(query)")
                let late = Cancellation()
                let canceller = try startThread(name: "test-cancel") { late.cancel() }
                // Cancelled before, meanwhile or never: it ends.
                let error = Self.error { _ = try statement.run(catalogue, view: view, cancellation: late) }
                #expect(error.isEmpty || error == "\(RecordError.cancelled)", "\(query)")
                canceller.join()
            }
        }
    }

    /// A stream takes the rows in their order, and ends the threads when it wants no more.
    @Test func rowsAreGivenOnWhileTheyAreFound() throws {
        var database = try Database(rows: 3000, seed: 13)
        for memory in [nil, 1] {
            database.memory = memory
            let session = try database.open(threads: 3)
            let expected = Self.bits(try session.rows("SELECT id, s FROM t WHERE k > 0"))
            try session.store.read { view in
                let query = try CachedStatement("SELECT id, s FROM t WHERE k > 0").planned(
                    try Catalogue.load(view: view), view: view)
                for wanted in [Int.max, 400] {
                    var found: [[Value]] = []
                    var batches = 0
                    try query.give(in: view, rows: 50, bytes: 1 << 20) { rows in
                        batches += 1
                        found += rows.map(Array.init)
                        return found.count < wanted
                    }
                    let isSame = Self.bits(found) == Array(expected.prefix(found.count))
                    #expect(isSame && found.count == (wanted == .max ? expected.count : 400), "\(found.count) rows")
                    #expect(batches >= found.count / 50)
                }
            }
            try session.store.close()
        }
    }

    @Test func severalCallersReadAtOnce() throws {
        let database = try Database(rows: 2500, seed: 12)
        let session = try database.open(threads: 3)
        let query = "SELECT s, sum(d), count(*) FROM t WHERE k > -5 GROUP BY s"
        let expected = Self.bits(try session.rows(query))
        var callers: [JoinableThread] = []
        let same = Counter()
        for _ in 0..<4 {
            callers.append(
                try startThread(name: "test-caller") {
                    for _ in 0..<5 {
                        if let found = try? session.rows(query), Self.bits(found) == expected { same.add() }
                    }
                })
        }
        for number in 0..<10 { try session.run("INSERT INTO g VALUES (?, 'x')", [.integer(Int64(1000 + number))]) }
        for caller in callers { caller.join() }
        #expect(same.count == 20)
        try session.store.close()
    }

    private final class Counter: @unchecked Sendable {
        // Unchecked: the lock guards the number.
        private let lock = Lock()
        private var number = 0

        func add() { lock.withLock { number += 1 } }
        var count: Int { lock.withLock { number } }
    }
}
