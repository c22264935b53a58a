import MakoRecords
import MakoStorage
import MakoTestSupport
import Testing

/// Correlated sub-queries with joins, groups and compounds give what they give with the outer row's values in their text.
@Suite struct CorrelatedStatementTests {
    private static let columns = ["id", "owner", "born", "tag", "big", "ok", "w", "price"]

    private static func session(isIndexed: Bool) throws -> StatementSession {
        let session = try StatementSession(
            "CREATE TABLE owner (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE)",
            """
            CREATE TABLE pet (id INTEGER PRIMARY KEY, owner INTEGER REFERENCES owner, born DATE, tag UUID, big UNSIGNED,
            ok BOOLEAN, w REAL, price INTEGER)
            """, "INSERT INTO owner VALUES (1, 'Ada'), (2, 'bob'), (3, 'ADA'), (4, 'Cy')")
        if isIndexed {
            for column in ["owner", "w", "big", "born", "price"] {
                try session.run("CREATE INDEX \(column)s ON pet (\(column))")
            }
        }
        var random = Seeded(7)
        for number in 1...24 {
            func value(_ made: Value) -> Value { random.chance(15) ? .null : made }
            try session.run(
                "INSERT INTO pet VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    .integer(Int64(number)), value(.integer(Int64(number % 4 + 1))),
                    value(.date(Double(number % 6) * 86_400)), value(.uuid(7, UInt64(number % 5))),
                    value(.unsigned(.max - UInt64(number % 7))), value(.bool(number % 2 == 0)),
                    value(.double(Double(number % 9) / 2)), value(.integer(Int64(number % 5))),
                ])
        }
        return session
    }

    private static let statements = [
        "SELECT max(q.w) FROM pet q JOIN owner r ON r.id = q.owner WHERE q.owner = o.owner AND q.w <= o.w",
        "SELECT count(*) FROM pet q JOIN owner r ON r.id = q.owner WHERE q.big > o.big",
        "SELECT min(q.big) FROM pet q JOIN owner r ON r.id = q.owner AND q.big >= o.big",
        "SELECT coalesce(max(q.id), o.id) FROM pet q JOIN owner r ON r.id = q.owner WHERE q.id > o.id + 9",
        "SELECT coalesce(max(q.id), (SELECT max(s.id) FROM owner s WHERE s.id < o.id)) FROM pet q, owner r WHERE q.id > o.id + 9",
        "SELECT q.id FROM pet q WHERE q.owner = o.owner UNION SELECT o.id ORDER BY 1 DESC LIMIT 1",
        "SELECT q.w FROM pet q WHERE q.id = o.id UNION ALL SELECT o.w + 1 FROM owner r WHERE r.id = 2 ORDER BY 1 LIMIT 1 OFFSET 1",
        "SELECT count(*) FROM pet q WHERE q.ok = o.ok GROUP BY q.owner HAVING count(*) >= o.w ORDER BY count(*) + o.id DESC, 1 LIMIT 1",
        "SELECT n FROM (SELECT q.owner, count(*) AS n FROM pet q WHERE q.w < o.w GROUP BY q.owner) z ORDER BY n DESC LIMIT 1",
        "SELECT sum(z.n + o.id) FROM (SELECT q.owner, count(*) AS n FROM pet q WHERE q.w < o.w GROUP BY q.owner) z",
        "SELECT count(*) FROM pet q LEFT JOIN owner r ON r.id = q.owner AND r.id > o.owner WHERE r.id IS NULL",
        "SELECT count(r.id) FROM pet q LEFT JOIN owner r ON r.id = o.owner WHERE q.id < 5",
        """
        SELECT count(*) FROM pet q JOIN owner r ON r.id = q.owner WHERE q.w >
        (SELECT avg(s.w) FROM pet s JOIN owner t ON t.id = s.owner WHERE s.owner = q.owner AND s.id <> o.id)
        """,
        """
        SELECT count(*) FROM pet q JOIN owner r ON r.id = q.owner WHERE EXISTS
        (SELECT s.owner FROM pet s WHERE s.owner = q.owner AND s.price = o.price GROUP BY s.owner HAVING count(*) > 1)
        """,
        "SELECT o.born WHERE o.ok", "SELECT o.big, 1 WHERE o.price > 2 LIMIT 0",
        "SELECT min(q.born) FROM pet q, owner r WHERE q.owner = r.id AND q.born >= o.born",
        "SELECT count(*) FROM pet q, owner r WHERE r.id = q.owner AND q.tag = o.tag",
        "SELECT DISTINCT q.owner FROM pet q WHERE q.owner <> o.owner ORDER BY q.owner DESC LIMIT 1 OFFSET 1",
        "SELECT count(*) FROM (SELECT q.id FROM pet q EXCEPT SELECT q.id FROM pet q WHERE q.id >= o.id) z",
        "SELECT count(*) FROM pet a JOIN pet b ON b.w BETWEEN a.w AND o.w + 1",
        "SELECT count(*) FROM pet a JOIN pet b ON b.price > a.price AND b.price < o.w * 2 AND a.id <> o.id",
        "SELECT count(*) FROM owner r JOIN pet q ON q.price >= o.w AND q.price <= o.w + 1.5 AND q.owner = r.id",
        "SELECT CASE WHEN o.ok THEN r.name ELSE o.id || 'x' END FROM pet q JOIN owner r ON r.id = q.owner WHERE q.id = o.id",
        "SELECT count(*) FROM (SELECT * FROM pet q, owner r WHERE r.id = o.owner LIMIT 3) z",
        "WITH z AS (SELECT q.id AS i FROM pet q WHERE q.price = o.price LIMIT 4) SELECT max(z.i) FROM z JOIN owner r ON r.id < z.i",
        "SELECT group_key FROM (SELECT o.price AS group_key, count(*) FROM pet GROUP BY 1) z",
        // The table's own name beside its alias.
        "SELECT count(*) FROM owner AS r WHERE owner.id > o.owner GROUP BY owner.id % 2 ORDER BY 1 LIMIT 1",
        // Queries in FROM of the second part.
        "SELECT q.id FROM pet q WHERE q.id = 1 UNION SELECT d.id FROM (SELECT p.id FROM pet p WHERE p.owner = o.owner) d ORDER BY 1 DESC LIMIT 1",
        """
        SELECT q.id FROM pet q WHERE q.id = 1 UNION
        SELECT d.id FROM (SELECT p.id FROM pet p WHERE p.owner = o.owner) d JOIN pet e ON e.id = d.id ORDER BY 1 DESC LIMIT 1
        """,
        """
        SELECT count(*) FROM pet a JOIN owner r ON r.id = a.owner WHERE EXISTS
        (SELECT 1 FROM (SELECT p.id, p.owner FROM pet p WHERE p.price = o.price) d JOIN pet e ON e.id = d.id WHERE d.owner = a.owner)
        """, "SELECT max(z.x) FROM (SELECT coalesce(max(q.big), o.big) AS x FROM pet q WHERE q.id > o.id) z",
        "SELECT count(*) FROM owner r WHERE EXISTS (SELECT 1 FROM (SELECT q.id FROM pet q WHERE q.price = o.price) d JOIN pet e ON e.id = d.id) GROUP BY r.id > 2 LIMIT 1",
        "SELECT count(*) + o.id FROM pet q JOIN owner r ON r.id = q.owner GROUP BY q.price + o.id ORDER BY 1 LIMIT 1",
    ]

    @Test(arguments: statements.filter { !$0.contains("o.big, 1") }, [true, false])
    func theyGiveWhatTheyGiveWithTheValues(text: String, isIndexed: Bool) throws {
        let session = try Self.session(isIndexed: isIndexed)
        let plain = text.replacing(#/\bo\.(\w+)/#) { ":" + $0.output.1 }
        let rows = try session.run("SELECT \(Self.columns.joined(separator: ", ")) FROM pet ORDER BY id").rows.rows
        var expected: [Value] = []
        for row in rows {
            let named = Dictionary(uniqueKeysWithValues: zip(Self.columns, row)).filter { plain.contains(":" + $0.key) }
            expected.append(try session.run(plain, named: named).rows.rows.first?.first ?? .null)
        }
        let found = try session.run("SELECT (\(text)) FROM pet o ORDER BY o.id").rows.rows.map { $0[0] }
        #expect(found == expected)
        #expect(Set(expected).count > 1, "every row gives the same")
        let holding = try session.run("SELECT count(*) FROM pet o WHERE EXISTS (\(text))").rows.rows
        let isAlways = !text.contains("LIMIT") && !text.contains("WHERE") || text.contains("count(*) FROM")
        if isAlways, !text.contains("HAVING"), !text.contains("LIMIT") { #expect(holding == [[.integer(24)]]) }
    }

    /// Under a plain query too, a query in FROM may read the outer row.
    @Test func queriesInFromReadTheOuterRow() throws {
        let session = try Self.session(isIndexed: true)
        let found = try session.run(
            "SELECT count(*) FROM pet o WHERE EXISTS (SELECT 1 FROM (SELECT q.id FROM pet q WHERE q.price = o.price) d JOIN pet e ON e.id = d.id)"
        ).rows.rows
        #expect(found == (try session.run("SELECT count(*) FROM pet WHERE price IS NOT NULL").rows.rows))
    }

    @Test func theWordsOfOneTableAreSearched() throws {
        let fixture = try Fixture(
            EntitySchema(
                name: "doc",
                columns: [ColumnSchema("kind", .text), ColumnSchema("body", .text), ColumnSchema("owner", .integer)],
                indexes: [IndexSchema("words", [IndexColumn("body")], fullText: FullTextOptions())]),
            EntitySchema(name: "owner", columns: [ColumnSchema("name", .text)]))
        try fixture.insertAll("owner", (1...3).map { [.text("\($0)")] })
        let docs: [(String, String, Int64)] = [("a", "an anchor", 1), ("b", "anchor", 2), ("b", "a rope", 1)]
        try fixture.insertAll("doc", docs.map { [.text($0.0), .text($0.1), .integer($0.2)] })
        let session = StatementSession(store: fixture.store)
        let text =
            "(SELECT d.kind FROM doc d WHERE %@ MATCH 'anchor' AND d.owner = o.id GROUP BY d.kind ORDER BY count(*) DESC LIMIT 1)"
        for name in ["doc", "d", "body", "d.body", "words"] {
            let inner = text.replacing("%@", with: name)
            #expect(
                try session.run("SELECT \(inner) FROM owner o ORDER BY id").rows.rows
                    == [[.text("a")], [.text("b")], [.null]], "\(name)")
        }
    }

    /// A NULL limit leaves no row, so that none is read.
    @Test func nothingIsReadForALimitThatIsNull() throws {
        let session = try StatementSession(
            "CREATE TABLE event (id INTEGER PRIMARY KEY, at INTEGER)", "CREATE INDEX at ON event (at)",
            "CREATE TABLE part (id INTEGER PRIMARY KEY, first INTEGER, last INTEGER)",
            "INSERT INTO part VALUES (1, 10, NULL), (2, NULL, 20), (3, NULL, NULL), (4, 30, 32)")
        for number in 0..<2000 { try session.run("INSERT INTO event (at) VALUES (?)", [.integer(Int64(number))]) }
        let text = "SELECT p.id, e.at FROM part p JOIN event e ON e.at BETWEEN p.first AND p.last"
        #expect(try session.run(text).rows.rows.map { $0[1] } == [.integer(30), .integer(31), .integer(32)])
        let measured = try session.run("EXPLAIN ANALYZE \(text)").rows.rows.map { "\($0)" }
        let scan = try #require(measured.first { $0.contains("using index at") })
        #expect(scan.contains("3 entries, 3 rows examined"), "\(measured)")
    }

    /// The outer row is one of the 64 tables of a join.
    @Test func tooManyTablesAreRefused() throws {
        let session = try StatementSession("CREATE TABLE t (k INTEGER)", "INSERT INTO t VALUES (1)")
        func text(_ count: Int) -> String {
            let tables = (1...count).map { "t a\($0)" }.joined(separator: ", ")
            return "SELECT (SELECT count(*) FROM \(tables) WHERE a\(count).k = o.k) FROM t o"
        }
        #expect(try session.run(text(63)).rows.rows == [[.integer(1)]])
        let error = #expect(throws: RecordError.self) { try session.run(text(64)) }
        #expect("\(try #require(error))".contains("at most 64 tables"))
    }

    /// Texts of the outer row keep the collation of their column.
    @Test func collationsAreThoseOfTheOuterColumns() throws {
        let session = try Self.session(isIndexed: false)
        let found = try session.run(
            "SELECT (SELECT count(*) FROM owner a JOIN owner b ON b.id = a.id WHERE a.name || '' = o.name) FROM owner o ORDER BY id"
        )
        #expect(found.rows.rows.map { $0[0] } == [.integer(2), .integer(1), .integer(2), .integer(1)])
        let path = try session.run(
            "SELECT (SELECT count(*) FROM owner a JOIN owner b ON b.id = a.id WHERE a.name = p.owner.name) FROM pet p WHERE p.owner = 3 LIMIT 1"
        )
        #expect(path.rows.rows == [[.integer(2)]])
    }

    @Test func namesOfTheOuterRowAreHidden() throws {
        let session = try Self.session(isIndexed: false)
        let prefix = "SELECT id FROM pet o WHERE EXISTS (SELECT * FROM owner r, owner s WHERE r.id = o.owner AND "
        for wrong in ["nme = 1)", "x.name = 1)", "\"o.owner\" = 1)"] {
            let error = #expect(throws: RecordError.self) { try session.run(prefix + wrong) }
            #expect("\(try #require(error))".contains("\u{0}") == false)
        }
        let error = #expect(throws: RecordError.self) {
            try session.run("SELECT id FROM pet o WHERE o.id IN (SELECT * FROM owner r, owner s WHERE r.id = o.owner)")
        }
        #expect("\(try #require(error))".contains("one column, not 4"))
    }

    @Test func onePlanServesAllRows() throws {
        let session = try Self.session(isIndexed: true)
        let text = """
            SELECT id FROM pet o WHERE 2 < (SELECT count(*) FROM pet q JOIN owner r ON r.id = q.owner WHERE q.owner = o.owner)
            """
        let plan = "\(try session.run("EXPLAIN \(text)").rows.rows)"
        #expect(plan.contains("outer row (o.owner)") && !plan.contains("\u{0}"))
        let measured = "\(try session.run("EXPLAIN ANALYZE \(text)").rows.rows)"
        #expect(!measured.contains("never run"))
    }

    @Test func theCountsOfAllRunsAreAdded() throws {
        let session = try Self.session(isIndexed: false)
        let text =
            "SELECT id FROM pet o WHERE 2 < (SELECT count(*) FROM pet q WHERE q.w < 9 AND q.id <> o.id GROUP BY q.ok LIMIT 1)"
        let lines = try session.run("EXPLAIN ANALYZE \(text)").rows.rows.flatMap { $0 }.map { "\($0)" }
        let scan = try #require(lines.first { $0.contains("scan pet AS q") || $0.contains("scan q") })
        #expect(scan.contains("576 rows examined") && scan.contains("24 runs"), "\(lines)")
    }
}
