import MakoRecords
import MakoStorage
import Testing

/// `COLLATE`: how texts are compared, never what they are.
@Suite struct CollationTests {
    private func people() throws -> StatementSession {
        try StatementSession(
            "CREATE TABLE P (id INTEGER PRIMARY KEY, t TEXT COLLATE NOCASE, b TEXT, n INTEGER)",
            """
            INSERT INTO P VALUES (1, 'Ann', 'Ann', 1), (2, 'ann', 'ann', 2), (3, 'BOB', 'BOB', 3), (4, 'bob', 'Bob', 4),
            (5, 'ÖL', 'ÖL', 5), (6, 'öl', 'öl', 6), (7, NULL, NULL, 7), (8, 'cy', 'CY', 8)
            """)
    }

    private func numbers(_ session: StatementSession, _ condition: String) throws -> [Int64] {
        try session.rows("SELECT id FROM P WHERE \(condition) ORDER BY id").compactMap {
            if case .integer(let id)? = $0.first { id } else { nil }
        }
    }

    @Test func aCollationLeavesTheValueAsItIs() throws {
        let session = try people()
        #expect(
            try session.rows("SELECT t COLLATE NOCASE, b COLLATE NOCASE || '!' FROM P WHERE id = 3")
                == [[.text("BOB"), .text("BOB!")]])
        #expect(
            try session.rows(
                "SELECT coalesce(b COLLATE NOCASE, 'x'), nullif(t, 'X'), 'Ab' COLLATE NOCASE FROM P WHERE id = 1")
                == [[.text("Ann"), .text("Ann"), .text("Ab")]])
        #expect(
            try session.rows("SELECT CASE b COLLATE NOCASE WHEN 'ANN' THEN b COLLATE NOCASE END FROM P WHERE id = 1")
                == [[.text("Ann")]])
        try session.run("UPDATE P SET b = b COLLATE NOCASE, t = upper(t) COLLATE NOCASE WHERE id <= 3")
        #expect(
            try session.rows("SELECT t, b FROM P WHERE id <= 3 ORDER BY id") == [
                [.text("ANN"), .text("Ann")], [.text("ANN"), .text("ann")], [.text("BOB"), .text("BOB")],
            ])
        try session.run("INSERT INTO P (id, t) SELECT id + 20, b COLLATE NOCASE FROM P WHERE id = 3")
        try session.run("INSERT INTO P (id, t) VALUES (30, 'Xy' COLLATE NOCASE)")
        #expect(try session.rows("SELECT t FROM P WHERE id > 20 ORDER BY id") == [[.text("BOB")], [.text("Xy")]])
        #expect(
            try session.rows(
                "WITH x AS (SELECT b COLLATE NOCASE AS c FROM P WHERE id = 3) SELECT c FROM x WHERE c = 'bob'")
                == [[.text("BOB")]])
        #expect(
            try session.rows("SELECT (SELECT b COLLATE NOCASE FROM P WHERE id = 3) FROM P WHERE id = 1")
                == [[.text("BOB")]])
    }

    @Test(arguments: [
        ("t = 'ANN'", [1, 2]), ("'ANN' = t", [1, 2]), ("t != 'ann'", [3, 4, 5, 6, 8]), ("t < 'B'", [1, 2]),
        ("t >= 'BOB' AND t < 'c'", [3, 4]), ("t BETWEEN 'ANN' AND 'BOB'", [1, 2, 3, 4]),
        ("t IN ('ANN', 'öL')", [1, 2, 5, 6]),
        ("t IN ('ANN')", [1, 2]), ("b IN ('ANN')", []), ("b IN ('ANN' COLLATE NOCASE)", []),
        ("t NOT IN ('ANN', 'BOB')", [5, 6, 8]), ("t = 'ANN' OR t = 'BOB'", [1, 2, 3, 4]),
        ("t = 'ann' COLLATE BINARY", [2]), ("t COLLATE BINARY = 'ann'", [2]), ("b = 'ANN'", []),
        ("b = 'ANN' COLLATE NOCASE", [1, 2]), ("b COLLATE NOCASE = t", [1, 2, 3, 4, 5, 6, 8]),
        ("b = t", [1, 2, 3, 5, 6]), ("t = b", [1, 2, 3, 4, 5, 6, 8]),
        ("b COLLATE BINARY = t COLLATE NOCASE", [1, 2, 3, 5, 6]),
        ("t COLLATE NOCASE COLLATE BINARY = 'ann'", [2]), ("t COLLATE BINARY COLLATE NOCASE = 'ANN'", [1, 2]),
        ("lower(t) = 'ann'", [1, 2]), ("upper(t) = 'ann'", []), ("upper(b COLLATE NOCASE) = 'ann'", [1, 2]),
        ("t || '' = 'ANN'", []), ("coalesce(t, '') = 'ANN'", []), ("nullif(t, 'ANN') IS NULL", [1, 2, 7]),
        ("nullif(b, 'ANN') IS NULL", [7]), ("nullif(b, 'ANN' COLLATE NOCASE) IS NULL", [7]),
        ("CASE t WHEN 'ANN' THEN TRUE END", [1, 2]), ("CASE b WHEN 'ANN' THEN TRUE END", []),
        ("t IN (SELECT upper(b) FROM P)", [1, 2, 3, 4, 5, 6, 8]), ("b IN (SELECT t FROM P WHERE id = 2)", [2]),
        ("b IN (SELECT t COLLATE BINARY FROM P WHERE id = 2)", [2]), ("b IN (SELECT b FROM P WHERE id = 2)", [2]),
        ("b IN (SELECT t FROM P GROUP BY t HAVING count(*) > 1)", [1, 3, 5]),
        ("t IN (SELECT 'ANN' FROM P UNION SELECT 'x' FROM P)", [1, 2]),
        ("EXISTS (SELECT 1 FROM P q WHERE q.b = P.t AND q.id != P.id)", []),
        ("EXISTS (SELECT 1 FROM P q WHERE P.t = q.b AND q.id != P.id)", [1, 2, 3, 4, 5, 6]),
        ("t = (SELECT min(b) FROM P)", [1, 2]), ("b > (SELECT min(t) FROM P) COLLATE NOCASE", [3, 4, 5, 6, 8]),
        ("t LIKE 'ann'", [1, 2]), ("t GLOB 'A*'", [1]), ("t IS NULL", [7]),
    ])
    func comparisonsTakeTheCollationThatSQLiteTakes(_ condition: String, _ ids: [Int64]) throws {
        let session = try people()
        #expect(try numbers(session, condition) == ids)
        // By an index of either collation, and by both.
        try session.run("CREATE INDEX byT ON P (t)")
        #expect(try numbers(session, condition) == ids, "index by the column's collation")
        try session.run("CREATE INDEX bytes ON P (t COLLATE BINARY)")
        try session.run("CREATE INDEX byB ON P (b COLLATE NOCASE)")
        try session.run("CREATE INDEX bBytes ON P (b)")
        #expect(try numbers(session, condition) == ids, "indexes of both collations")
        #expect(try session.faults() == [])
    }

    @Test(arguments: [
        ("SELECT count(DISTINCT t), count(DISTINCT b) FROM P", ["4|7"]),
        ("SELECT count(DISTINCT b COLLATE NOCASE) FROM P", ["4"]),
        ("SELECT DISTINCT t FROM P WHERE id < 7 ORDER BY t", ["Ann", "BOB", "ÖL"]),
        ("SELECT DISTINCT b COLLATE NOCASE FROM P WHERE id < 5 ORDER BY 1", ["Ann", "BOB"]),
        (
            "SELECT DISTINCT t COLLATE BINARY FROM P WHERE id < 5 ORDER BY 1 COLLATE BINARY",
            ["Ann", "BOB", "ann", "bob"]
        ),
        ("SELECT count(*), max(n) FROM P GROUP BY t", ["1|7", "2|2", "2|4", "1|8", "2|6"]),
        ("SELECT t, count(*) FROM P GROUP BY t HAVING t = 'BOB'", ["BOB|2"]),
        ("SELECT b, count(*) FROM P GROUP BY b COLLATE NOCASE HAVING count(*) > 1", ["Ann|2", "BOB|2", "ÖL|2"]),
        ("SELECT count(*) FROM P GROUP BY t COLLATE BINARY HAVING t IS NOT NULL", ["1", "1", "1", "1", "1", "1", "1"]),
        ("SELECT id FROM P WHERE id IN (2, 3, 8) ORDER BY t", ["2", "3", "8"]),
        ("SELECT id FROM P WHERE id IN (2, 3, 8) ORDER BY t COLLATE BINARY", ["3", "2", "8"]),
        ("SELECT id FROM P WHERE id IN (2, 3, 8) ORDER BY b", ["3", "8", "2"]),
        ("SELECT id FROM P WHERE id < 5 ORDER BY t DESC, id DESC", ["4", "3", "2", "1"]),
        ("SELECT t AS x, id FROM P WHERE id IN (2, 3) ORDER BY x COLLATE BINARY", ["BOB|3", "ann|2"]),
        ("SELECT min(t), max(t) FROM P WHERE id IN (2, 3)", ["ann|BOB"]),
        ("SELECT min(b), max(b) FROM P WHERE id IN (2, 3)", ["BOB|ann"]),
        ("SELECT min(b COLLATE NOCASE), max(t COLLATE BINARY) FROM P WHERE id IN (2, 3)", ["ann|ann"]),
        ("SELECT t FROM P WHERE id = 1 UNION SELECT b FROM P WHERE id = 2", ["Ann"]),
        ("SELECT b FROM P WHERE id = 1 UNION SELECT t FROM P WHERE id = 2 ORDER BY 1", ["Ann", "ann"]),
        ("SELECT t FROM P WHERE id < 5 EXCEPT SELECT upper(b) FROM P WHERE id = 1 ORDER BY 1", ["BOB"]),
        ("SELECT t FROM P WHERE id < 5 INTERSECT SELECT 'ann' FROM P", ["Ann"]),
        (
            "SELECT t FROM P WHERE id IN (2, 3) UNION ALL SELECT 'Zed' FROM P WHERE id = 1 ORDER BY t",
            ["ann", "BOB", "Zed"]
        ),
        ("SELECT P.id, q.id FROM P JOIN P q ON q.t = P.b WHERE P.id = 1 AND q.id < 3 ORDER BY 2", ["1|1", "1|2"]),
        ("SELECT P.id, q.id FROM P JOIN P q ON q.b = P.b WHERE P.id = 1 AND q.id < 3", ["1|1"]),
        (
            "SELECT P.id, count(q.id) FROM P LEFT JOIN P q ON q.t = P.t GROUP BY P.id HAVING P.id IN (1, 7, 8)",
            ["1|2", "7|0", "8|1"]
        ),
    ])
    func ordersGroupsAndDifferentRowsTakeTheCollation(_ query: String, _ wanted: [String]) throws {
        let session = try people()
        func answer() throws -> [String] {
            try session.rows(query).map { row in
                row.map { if case .text(let text) = $0 { text } else { "\($0)" } }.joined(separator: "|")
            }
        }
        #expect(try answer() == wanted)
        try session.run("CREATE INDEX byT ON P (t)")
        #expect(try answer() == wanted, "index by the column's collation")
        try session.run("DROP INDEX byT")
        try session.run("CREATE INDEX bytes ON P (t COLLATE BINARY, b)")
        try session.run("CREATE INDEX byB ON P (b)")
        #expect(try answer() == wanted, "indexes by bytes")
    }

    @Test func keysAndUniqueColumnsTakeTheCollation() throws {
        let session = try StatementSession(
            "CREATE TABLE K (code TEXT COLLATE NOCASE PRIMARY KEY, n INTEGER, mail TEXT COLLATE NOCASE UNIQUE)",
            "INSERT INTO K VALUES ('Ab', 1, 'x@y'), ('b', 2, NULL)")
        #expect(throws: RecordError.self) { try session.run("INSERT INTO K (code) VALUES ('aB')") }
        #expect(throws: RecordError.self) { try session.run("INSERT INTO K (code, mail) VALUES ('c', 'X@Y')") }
        #expect(try session.rows("SELECT code FROM K WHERE code = 'AB'") == [[.text("Ab")]])
        #expect(try session.run("INSERT OR IGNORE INTO K (code) VALUES ('AB'), ('B'), ('c')").changed == 1)
        #expect(try session.run("INSERT OR REPLACE INTO K VALUES ('AB', 9, NULL)").changed == 1)
        #expect(
            try session.rows("SELECT code, n FROM K ORDER BY code")
                == [[.text("AB"), .integer(9)], [.text("b"), .integer(2)], [.text("c"), .null]])
        #expect(try session.run("DELETE FROM K WHERE code = 'B'").changed == 1)
        let pairs = try StatementSession(
            "CREATE TABLE Q (a TEXT COLLATE NOCASE, b TEXT, PRIMARY KEY (a, b), UNIQUE (b, a))",
            "INSERT INTO Q VALUES ('x', 'y'), ('X', 'Y')")
        #expect(throws: RecordError.self) { try pairs.run("INSERT INTO Q VALUES ('X', 'y')") }
        #expect(session.refusal("DROP INDEX \"primary key\"").contains("without regard to case"))
        #expect(try session.faults() + pairs.faults() == [])
    }

    @Test func theCollationOfAColumnIsStoredAndOutlivesMigrations() throws {
        let session = try people()
        let schema = try session.table("P").schema
        #expect(schema.column(named: "t")?.isNoCase == true && schema.column(named: "b")?.isNoCase == false)
        // A type that knows nothing of collations is bound, with a column more.
        let wanted = EntitySchema(
            name: "P",
            columns: [ColumnSchema("t", .text, isOptional: true), ColumnSchema("more", .integer, isOptional: true)])
        _ = try session.store.write { tx in try Catalogue.migrate(to: wanted, in: tx) }
        #expect(try session.table("P").schema.column(named: "t")?.isNoCase == true)
        #expect(try numbers(session, "t = 'ANN'") == [1, 2])
        let keyed = try StatementSession("CREATE TABLE K (code TEXT COLLATE NOCASE PRIMARY KEY)")
        let plain = EntitySchema(name: "K", columns: [ColumnSchema("code", .text)], key: .columns(["code"]))
        _ = try keyed.store.write { tx in try Catalogue.migrate(to: plain, in: tx) }
        try keyed.run("INSERT INTO K VALUES ('a')")
        #expect(throws: RecordError.self) { try keyed.run("INSERT INTO K VALUES ('A')") }
    }

    @Test func onlyTextHasACollation() throws {
        let session = try people()
        #expect(session.refusal("CREATE TABLE N (n INTEGER COLLATE NOCASE)").contains("only text has a collation"))
        #expect(session.refusal("SELECT n COLLATE NOCASE FROM P").contains("not text"))
        #expect(try session.rows("SELECT n COLLATE BINARY FROM P WHERE id = 1") == [[.integer(1)]])
    }

    @Test func typedQueriesTakeTheCollationOfTheColumn() throws {
        let session = try people()
        try session.store.read { view in
            let catalogue = try Catalogue.load(view: view)
            let all = Selection(table: "P", orderBy: [Order("t"), Order("id")])
            let plan = try all.plan(catalogue)
            #expect(try plan.keys(in: view).compactMap(\.rowID) == [7, 1, 2, 3, 4, 8, 5, 6])
            #expect(
                try plan.groupCount(by: .path("t"), in: view).map(\.count) == [1, 2, 2, 1, 2])
            #expect(try plan.distinctValues(of: .path("t"), in: view).count == 5)
            #expect(try plan.aggregate(.maximum, of: .path("t"), in: view) == .text("ÖL"))
            #expect(try plan.aggregate(.minimum, of: .path("t"), in: view) == .text("Ann"))
            #expect(try plan.aggregate(.minimum, of: .binary(.path("t")), in: view) == .text("Ann"))
        }
    }
}
