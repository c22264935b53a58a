import MakoRecords
import MakoStorage
import Testing

/// Alternative forms of statements, and their meaning.
@Suite struct StatementFormTests {
    private func people() throws -> StatementSession {
        try StatementSession(
            "CREATE TABLE Person (id INTEGER PRIMARY KEY, name TEXT, mail TEXT UNIQUE)",
            "INSERT INTO Person (name, mail) VALUES ('Ada', 'ada@x'), ('Bob', 'bob@x')")
    }

    private func columns(_ session: StatementSession, _ name: String) throws -> [ColumnType] {
        try session.table(name).schema.liveColumns.map(\.type)
    }

    @Test func rowsAreReplacedByTheShortWordToo() throws {
        let session = try people()
        #expect(try session.run("REPLACE INTO Person (name, mail) VALUES ('Eve', 'bob@x')").changed == 1)
        #expect(try session.rows("SELECT name FROM Person ORDER BY name") == [[.text("Ada")], [.text("Eve")]])
        #expect(try session.run("INSERT OR ABORT INTO Person (name) VALUES ('Cy')").changed == 1)
        #expect(try session.faults() == [])
    }

    /// An id that is NULL is one that the table is to give.
    @Test func idsMayBeLeftToTheTable() throws {
        let session = try people()
        #expect(try session.run("INSERT INTO Person (id, name) VALUES (NULL, 'Cy')").lastKey == .rowID(3))
        #expect(try session.run("INSERT INTO Person VALUES (NULL, 'Di' COLLATE NOCASE, NULL)").lastKey == .rowID(4))
        #expect(try session.rows("SELECT name FROM Person WHERE id > 2") == [[.text("Cy")], [.text("Di")]])
    }

    /// A row with the largest id leaves ids for others.
    @Test func idsAreFoundBehindTheLargest() throws {
        let session = try people()
        try session.run("INSERT INTO Person (id) VALUES (9223372036854775807)")
        #expect(try session.run("INSERT OR IGNORE INTO Person (name) VALUES ('x'), ('y')").changed == 2)
        #expect(try session.rows("SELECT count(*) FROM Person WHERE id > 0") == [[.integer(5)]])
        #expect(try session.faults() == [])
    }

    @Test func bothFormsOfExplainAgree() throws {
        let session = try people()
        let query = "SELECT name FROM Person WHERE mail = 'ada@x'"
        #expect(try session.rows("EXPLAIN QUERY PLAN " + query) == session.rows("EXPLAIN " + query))
        #expect(session.refusal("EXPLAIN QUERY " + query).contains("PLAN is expected"))
    }

    @Test func typesInManyWords() throws {
        let session = try people()
        try session.run(
            """
            CREATE TABLE Wide (
                a INTEGER UNSIGNED NULL, b UNSIGNED BIG INT, c CHARACTER VARYING(20, 3), d INTEGER REFERENCES Later,
                e TEXT DEFAULT 'x' COLLATE NOCASE UNIQUE, f TEXT COLLATE BINARY, UNIQUE (e), UNIQUE (f))
            """)
        #expect(try columns(session, "Wide") == [.unsigned, .unsigned, .text, .reference, .text, .text])
        let schema = try session.table("Wide").schema
        #expect(
            schema.indexes.map(\.name) == ["e", "f"] && schema.indexes.map { $0.columns[0].noCase } == [true, false])
        #expect(schema.column(named: "e")?.defaultValue == .text("x"))
        try session.run("INSERT INTO Wide (e, f) VALUES ('a', 'b'), ('c', 'B')")
        #expect(session.refusal("INSERT INTO Wide (e) VALUES ('A')").contains("the same e"))
    }

    /// Tables whose columns refer to themselves, by keys of each kind.
    @Test(arguments: [
        ("code TEXT PRIMARY KEY, up REFERENCES T", ColumnType.text), ("a TEXT, up REFERENCES T", .reference),
        ("n INTEGER PRIMARY KEY, up REFERENCES T", .reference),
        ("n INTEGER, up INTEGER REFERENCES T", .reference),
    ])
    func tablesThatReferToThemselves(columns: String, type: ColumnType) throws {
        let session = try StatementSession("CREATE TABLE T (\(columns))")
        #expect(try self.columns(session, "T").last == type)
    }

    @Test func theColumnsOfATableAreListed() throws {
        let session = try StatementSession(
            "CREATE TABLE Trip (home TEXT, n INTEGER, day DATE, PRIMARY KEY (day, home))")
        #expect(try session.rows("PRAGMA table_info('Trip')").map { $0[5] } == [.integer(2), .integer(0), .integer(1)])
        let held = EntitySchema(
            name: "Held", columns: [ColumnSchema("trips", .keys, isOptional: true, target: "Trip")],
            indexes: [IndexSchema("trips", [IndexColumn("trips")])])
        try session.store.write { tx in _ = try Catalogue.migrate(to: held, in: tx) }
        #expect(try session.rows("PRAGMA table_info(Held)").map { $0[2] } == [.text("INTEGER"), .text("KEYS")])
    }

    @Test(arguments: [
        ("CREATE TABLE T (a TEXT, PRIMARY KEY (a), PRIMARY KEY (a))", "has a primary key already"),
        ("CREATE TABLE T (a TEXT, PRIMARY KEY (a), b TEXT)", "PRIMARY KEY or UNIQUE is expected"),
        ("CREATE TABLE T (a TEXT, UNIQUE (a), b TEXT)", "PRIMARY KEY or UNIQUE is expected"),
        ("CREATE TABLE T (a INTEGER small)", "a constraint, a comma"),
        ("CREATE TABLE T (a VARCHAR(x))", "a number is expected"),
        ("CREATE TABLE T (a TEXT COLLATE RTRIM)", "NOCASE is expected"),
        ("CREATE INDEX a.(name)", "a name is expected"),
        ("PRAGMA 'table_info'", "table_info is expected"),
    ])
    func faultsPointIntoTheText(text: String, words: String) throws {
        let refusal = try people().refusal(text)
        #expect(refusal.contains(words), "\(text): \(refusal)")
    }

    @Test func valuesWithoutAPlaceAreRefused() throws {
        let session = try people()
        for text in [
            "INSERT INTO Person (name) VALUES ('x')", "UPDATE Person SET name = 'x'", "CREATE TABLE T (a TEXT)",
            "DROP TABLE Person", "DROP INDEX mail",
        ] {
            #expect(session.refusal(text, [.integer(1)]).contains("no parameters"), "\(text)")
        }
        #expect(try session.rows("SELECT count(*) FROM Person WHERE name = 'x'") == [[.integer(0)]])
    }

    /// A snapshot runs SELECT only; other statements are refused.
    @Test func writingStatementsAreNoQueries() throws {
        let session = try people()
        for text in ["DELETE FROM Person", "DROP TABLE Person"] {
            let error = Fixture.error { _ = try session.rows(text) }
            #expect(error.map { "\($0)".contains("needs a transaction for writing") } == true)
        }
    }

    /// Tables that belong to other tables are not changed by statements, nor are their indexes.
    @Test func tablesOfKeyedStoresAreRead() throws {
        let session = try people()
        let store = EntitySchema(
            name: "mako_store_1", columns: [ColumnSchema("a", .text)], indexes: [IndexSchema("byA", [IndexColumn("a")])]
        )
        try session.store.write { tx in _ = try Catalogue.migrate(to: store, in: tx) }
        #expect(try session.rows("SELECT count(*) FROM mako_store_1") == [[.integer(0)]])
        for text in [
            "INSERT INTO mako_store_1 (a) VALUES ('x')", "UPDATE mako_store_1 SET a = 'x'", "DELETE FROM mako_store_1",
            "DROP TABLE mako_store_1", "CREATE INDEX i ON mako_store_1 (a)", "DROP INDEX byA",
            "DROP INDEX byA ON mako_store_1",
        ] {
            #expect(session.refusal(text).contains("belongs to the keyed stores"), "\(text)")
        }
    }

    @Test func statementsNameTheTableThatTheyChange() throws {
        let cases: [(text: String, table: String?)] = [
            ("INSERT INTO A DEFAULT VALUES", "A"), ("UPDATE B SET x = 1", "B"), ("DELETE FROM C", "C"),
            ("CREATE TABLE D (a TEXT)", "D"), ("DROP TABLE E", "E"), ("CREATE INDEX i ON F (a)", "F"),
            ("DROP INDEX i ON G", "G"), ("DROP INDEX i", nil), ("SELECT 1 FROM H", nil), ("ANALYZE I", nil),
        ]
        for (text, table) in cases { #expect(try Statement.parse(text).changedTable == table, "\(text)") }
    }
}
