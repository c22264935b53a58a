import MakoCore
import Testing

/// Views and queries in FROM through the calls of a database, with cached statements.
@Suite struct ViewStatementTests {
    private static func database() throws -> Database {
        let db = try Database.inMemory()
        for text in [
            "CREATE TABLE t (a INTEGER, b INTEGER)", "INSERT INTO t VALUES (1, 5), (1, 6), (2, 7), (3, NULL)",
            "CREATE VIEW v AS SELECT a, sum(b) AS total FROM t GROUP BY a",
        ] { try db.rawQuery(WhereText(text: text)) }
        return db
    }

    private static func rows(_ db: Database, _ text: String) throws -> [[StoredValue]] {
        try db.rawQuery(WhereText(text: text)).rows
    }

    /// By each call, more than once: the second run uses the cached statement.
    @Test func eachCallReadsAView() throws {
        let db = try Self.database()
        let text = "SELECT total FROM v WHERE total > ? ORDER BY 1"
        let prepared = try db.prepare(text)
        for _ in 0..<3 {
            #expect(try prepared.run(6).rows == [[.integer(7)], [.integer(11)]])
            #expect(
                try Self.rows(db, "SELECT total FROM v WHERE total > 6 ORDER BY 1") == [[.integer(7)], [.integer(11)]])
            var found: [[StoredValue]] = []
            let stream = try db.rows("SELECT total FROM v WHERE total > \(6) ORDER BY 1")
            while let row = try stream.next() { found.append(row.values) }
            #expect(found == [[.integer(7)], [.integer(11)]])
        }
    }

    /// The cached plan of a statement is dropped with the view that it read.
    @Test func aStatementFollowsItsView() throws {
        let db = try Self.database()
        let prepared = try db.prepare("SELECT count(*) FROM v")
        #expect(try prepared.run().rows == [[.integer(3)]])
        try db.rawQuery("DROP VIEW v")
        #expect(throws: MakoError.self) { try prepared.run() }
        try db.rawQuery("CREATE VIEW v AS SELECT a FROM t")
        #expect(try prepared.run().rows == [[.integer(4)]])
        // In the transaction that makes it, and not behind one that is taken back.
        struct Stop: Error {}
        #expect(throws: Stop.self) {
            try db.transaction { _ in
                try db.rawQuery("CREATE VIEW w AS SELECT 1 AS one")
                #expect(try Self.rows(db, "SELECT one FROM w") == [[.integer(1)]])
                throw Stop()
            }
        }
        #expect(throws: MakoError.self) { try db.rawQuery("SELECT one FROM w") }
    }

    @Test func compactedAndCopiedFilesHaveTheirViews() throws {
        let db = try Self.database()
        try db.compact()
        #expect(try Self.rows(db, "SELECT count(*) FROM v") == [[.integer(3)]])
    }
}
