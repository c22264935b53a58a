import MakoRecords
import MakoStorage
import Testing

/// Common statements and functions. SQLite's results are in `Tests/SQLLogic/everyday.test`.
@Suite struct EverydayStatementTests {
    private func session() throws -> StatementSession {
        try StatementSession(
            "CREATE TABLE Log (a INTEGER, b TEXT)", "INSERT INTO Log VALUES (1, 'x'), (2, NULL)",
            "CREATE TABLE City (code TEXT PRIMARY KEY, name TEXT)", "INSERT INTO City VALUES ('o', 'Oslo')",
            "CREATE TABLE Trip (id INTEGER PRIMARY KEY, city TEXT REFERENCES City, at DATE, days INTEGER)",
            "INSERT INTO Trip VALUES (1, 'o', '2026-01-31 10:20:30', 3), (2, 'o', '2026-02-01', 4), (3, NULL, NULL, 5)")
    }

    /// Ids that no statement named are not among the columns, and are there all the same.
    @Test func idsOfTablesWithoutAKeyAreHidden() throws {
        let session = try session()
        #expect(try session.rows("SELECT * FROM Log") == [[.integer(1), .text("x")], [.integer(2), .null]])
        #expect(
            try session.rows("SELECT l.*, id, rowid FROM Log l WHERE a = 2") == [
                [.integer(2), .null, .integer(2), .integer(2)]
            ])
        #expect(try session.rows("SELECT * FROM Log l JOIN Trip t ON t.id = l.id WHERE l.a = 1")[0].count == 6)
        #expect(
            try session.rows("WITH w AS (SELECT * FROM Log) SELECT w.* FROM w JOIN Log ON Log.a = w.a")[0].count == 2)
        #expect(try session.rows("PRAGMA table_info(Log)").count == 2)
        #expect(try session.run("INSERT INTO Log (rowid, a) VALUES (9, 3)").lastKey == .rowID(9))
        #expect(session.refusal("INSERT INTO Log VALUES (1, 2, 'x')").contains("3 values are given for 2 columns"))
        try session.run("CREATE INDEX byA ON Log (a)")
        #expect(try session.table("Log").schema.hidesID && !session.table("Trip").schema.hidesID)
        try session.run("CREATE TABLE Named (id INTEGER PRIMARY KEY, b TEXT)")
        #expect(
            try session.rows("SELECT * FROM Named") == []
                && session.run("INSERT INTO Named VALUES (4, 'y')").lastKey == .rowID(4))
    }

    /// A type that takes the table changes nothing of what a statement made.
    @Test func aMigrationKeepsIDsHidden() throws {
        let session = try session()
        let wanted = EntitySchema(
            name: "Log",
            columns: [ColumnSchema("a", .integer, isOptional: true), ColumnSchema("c", .text, isOptional: true)])
        try session.store.write { tx in _ = try Catalogue.migrate(to: wanted, in: tx) }
        #expect(try session.table("Log").schema.hidesID)
        #expect(try session.rows("SELECT * FROM Log WHERE a = 1") == [[.integer(1), .null]])
    }

    /// One statement sees one time, and partial indexes none.
    @Test func theClockIsConstantInAStatement() throws {
        let session = try session()
        let row = try session.rows(
            "SELECT unixepoch('now'), (SELECT unixepoch('now') FROM Trip LIMIT 1), datetime() = CURRENT_TIMESTAMP, date('now') = CURRENT_DATE FROM Log"
        )[0]
        #expect(row[0] == row[1] && row[2] == .integer(1) && row[3] == .integer(1))
        #expect(try session.rows("SELECT count(*) FROM Trip WHERE at < date('now', '+100 years')") == [[.integer(2)]])
        #expect(session.refusal("CREATE INDEX i ON Trip (at) WHERE at > date('now')").contains("reads the clock"))
        #expect(
            try session.plan("SELECT id FROM Trip WHERE at > date('2026-01-31', '+1 day')").contains(
                "date('2026-02-01')"))
    }

    @Test func dateIsTheDayOfAMoment() throws {
        let session = try session()
        #expect(
            try session.rows("SELECT date(at), count(*) FROM Trip GROUP BY date(at)") == [
                [.null, .integer(1)], [.date(DateText.parse("2026-01-31")!), .integer(1)],
                [.date(DateText.parse("2026-02-01")!), .integer(1)],
            ])
        #expect(try session.rows("SELECT id FROM Trip WHERE at = date('2026-01-31 10:20:30')") == [[.integer(1)]])
        #expect(
            try session.rows("SELECT time(at), strftime('%H', at, '-11 hours') FROM Trip WHERE id = 1") == [
                [.text("10:20:30"), .text("23")]
            ])
        #expect(
            try session.rows("SELECT date(at, '+' || CAST(days AS TEXT) || ' days') FROM Trip WHERE id = 2") == [
                [.date(DateText.parse("2026-02-05")!)]
            ])
        #expect(try session.rows("SELECT date(at, b) FROM Trip JOIN Log ON Trip.id = Log.a WHERE a = 1") == [[.null]])
    }

    /// The other columns of a row, and what its paths lead to, depend on its key.
    @Test func columnsMayDependOnTheKeyOfAGroup() throws {
        let session = try session()
        #expect(
            try session.rows(
                "SELECT id, at, city.name, sum(days) FROM Trip GROUP BY id HAVING days > 3 ORDER BY days DESC") == [
                    [.integer(3), .null, .null, .integer(5)],
                    [.integer(2), .date(DateText.parse("2026-02-01")!), .text("Oslo"), .integer(4)],
                ])
        #expect(
            try session.rows(
                "SELECT c.code, c.name, sum(t.days) FROM City c JOIN Trip t ON t.city = c.code GROUP BY c.code") == [
                    [.text("o"), .text("Oslo"), .integer(7)]
                ])
        #expect(
            session.refusal(
                "SELECT c.code, t.days, count(*) FROM City c JOIN Trip t ON t.city = c.code GROUP BY c.code"
            ).contains("a column beside aggregates"))
        #expect(session.refusal("SELECT b, count(*) FROM Log GROUP BY a").contains("a column beside aggregates"))
    }

    @Test func castsGoByTypes() throws {
        let session = try session()
        #expect(
            try session.rows(
                "SELECT CAST(at AS TEXT), CAST('2026-01-31' AS DATE), CAST(TRUE AS INTEGER), CAST('yes' AS BOOLEAN), CAST(x'6162' AS VARCHAR(3)) FROM Trip WHERE id = 2"
            ) == [[.text("2026-02-01"), .date(DateText.parse("2026-01-31")!), .integer(1), .bool(false), .text("ab")]])
        #expect(try session.rows("SELECT a FROM Log WHERE CAST(a AS TEXT) || 'x' = '2x'") == [[.integer(2)]])
        #expect(session.refusal("SELECT CAST(at AS INTEGER) FROM Trip").contains("at holds date"))
        #expect(session.refusal("SELECT CAST(a AS COLOUR) FROM Log").contains("no type"))
        #expect(session.refusal("SELECT CAST(a TEXT) FROM Log").contains("AS is expected"))
    }

    /// A filtered value is compared by the collation of the value.
    @Test func filtersKeepTheCollation() throws {
        let session = try StatementSession(
            "CREATE TABLE T (t TEXT COLLATE NOCASE)", "INSERT INTO T VALUES ('b'), ('B'), ('A'), ('c')")
        #expect(
            try session.rows("SELECT count(DISTINCT t) FILTER (WHERE t < 'c'), min(t) FILTER (WHERE t > 'a') FROM T")
                == [[.integer(2), .text("b")]])
        #expect(session.refusal("SELECT lower(t) FILTER (WHERE t = 'a') FROM T").contains("belongs to an aggregate"))
    }

    @Test(arguments: [
        ("SELECT *", "there is no FROM"), ("SELECT a", "there is no FROM, so no table has a column a"),
        ("SELECT \"a\"", "single quotes"), ("SELECT row_number() OVER (ORDER BY a) FROM Log", "no window functions"),
        ("SELECT sum(a) OVER w FROM Log", "no window functions"), ("ALTER TABLE Log ADD COLUMN c TEXT", "migration"),
        ("SELECT iif(1) FROM Log", "2 to 3 values"), ("SELECT date(at, 'localtime') FROM Trip", "UTC"),
        ("SELECT date(at, '+1 moon') FROM Trip", "no modifier"), ("SELECT date('soon', '+1 day')", "not a date"),
        ("BEGIN", "db.transaction"),
        ("VALUES (1)", "UNION ALL"), ("SELECT 1 one two", "FROM is expected"), ("SELECT (SELECT 1, 2)", "one column"),
    ])
    func faultsAreShown(text: String, message: String) throws {
        let refusal = try session().refusal(text)
        #expect(refusal.contains(message), "\(refusal)")
    }

    /// Without tables, and with none left.
    @Test func aQueryWithoutTablesIsExplained() throws {
        let session = try session()
        #expect(try session.plan("SELECT 1 WHERE 1 = 1") == "filter TRUE\n  one row")
        func analyzed(_ text: String) throws -> String {
            guard case .text(let plan)? = try session.rows("EXPLAIN ANALYZE " + text).first?.first else { return "" }
            return plan
        }
        #expect(try analyzed("SELECT 1 + 1").hasPrefix("one row (0 rows examined, 1 passed)"))
        // A condition that is never true leaves a join without steps.
        #expect(try analyzed("SELECT 1 FROM Log l JOIN Trip t ON t.id = l.a WHERE 1 = 0").hasPrefix("nothing to read"))
    }
}
