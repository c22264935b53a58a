import MakoRecords
import MakoStorage
import Testing

@Suite struct StatementTests {
    private func people() throws -> StatementSession {
        try StatementSession(
            """
            CREATE TABLE Person (
                id INTEGER PRIMARY KEY, name TEXT NOT NULL DEFAULT 'nobody', mail VARCHAR(80) UNIQUE COLLATE NOCASE,
                age INTEGER, boss REFERENCES Person)
            """, "CREATE INDEX Person.age ON Person (age DESC, name COLLATE NOCASE)",
            "INSERT INTO Person (name, mail, age) VALUES ('Ada', 'ada@x', 36), ('Bob', 'bob@x', 20), ('Cy', NULL, 20)")
    }

    // MARK: Rows

    @Test func insertedRowsAreThereWithDefaultsAndKeys() throws {
        let session = try people()
        let outcome = try session.run(
            "INSERT INTO person (age, mail, boss) VALUES (?, :mail, 1)", [.integer(50)], named: ["mail": .text("d@x")])
        #expect(outcome.changed == 1 && outcome.lastKey == .rowID(4) && !outcome.changesSchema)
        #expect(
            try session.rows(
                "SELECT name, boss.name FROM Person WHERE id = 4")
                == [[.text("nobody"), .text("Ada")]])
        #expect(try session.run("INSERT INTO Person VALUES (9, 'Eve', 'e@x', 1 + 1, NULL);").lastKey == .rowID(9))
        #expect(try session.run("INSERT INTO Person DEFAULT VALUES").lastKey == .rowID(10))
        #expect(try session.rows("SELECT count(*) FROM Person WHERE age = 2").first == [.integer(1)])
        #expect(try session.faults() == [])
    }

    @Test func rowsOfAQueryAreInserted() throws {
        let session = try people()
        let outcome = try session.run(
            "INSERT INTO Person (name, age, boss) SELECT name || '!', age * 2, id FROM Person WHERE age < ?",
            [.integer(30)])
        #expect(outcome.changed == 2)
        #expect(
            try session.rows("SELECT name, age, boss FROM Person WHERE id > 3 ORDER BY id") == [
                [.text("Bob!"), .integer(40), .integer(2)], [.text("Cy!"), .integer(40), .integer(3)],
            ])
        // Enough rows for their entries to be buffered; the query does not read what it inserts.
        for _ in 0..<5 { try session.run("INSERT INTO Person (name, age) SELECT name, age FROM Person") }
        #expect(try session.rows("SELECT count(*) FROM Person") == [[.integer(160)]])
        #expect(try session.faults() == [])
    }

    @Test func aConflictingRowIsRefusedReplacedOrIgnored() throws {
        let session = try people()
        #expect(
            throws: RecordError.uniqueViolation(
                table: "Person", columns: ["mail"], values: [.text("ADA@X")], existing: .rowID(1))
        ) { try session.run("INSERT INTO Person (mail) VALUES ('ADA@X')") }
        #expect(throws: RecordError.self) { try session.run("INSERT INTO Person (id) VALUES (1)") }
        #expect(
            try session.run("INSERT OR IGNORE INTO Person (id, mail) VALUES (1, 'n'), (7, 'Bob@x'), (8, 'h@x')").changed
                == 1)
        // One row conflicts by its key, the other by its mail.
        let outcome = try session.run("INSERT OR REPLACE INTO Person (id, name, mail) VALUES (1, 'New', 'BOB@x')")
        #expect(outcome.changed == 1 && outcome.lastKey == .rowID(1))
        #expect(
            try session.rows("SELECT id, name, mail, age FROM Person ORDER BY id") == [
                [.integer(1), .text("New"), .text("BOB@x"), .null], [.integer(3), .text("Cy"), .null, .integer(20)],
                [.integer(8), .text("nobody"), .text("h@x"), .null],
            ])
        #expect(try session.run("INSERT OR IGNORE INTO Person (name) VALUES (NULL)").changed == 0)
        #expect(try session.faults() == [])
    }

    @Test func rowsAreChangedByTheirOwnValues() throws {
        let session = try people()
        var changes = ChangeSet()
        let outcome = try session.run(
            "UPDATE Person SET age = age + ?, name = upper(name) WHERE age = 20", [.integer(1)], &changes)
        #expect(outcome.changed == 2 && changes.changes.map(\.key) == [.rowID(2), .rowID(3)])
        #expect(changes.changes[0].changedColumns.names(in: try session.table("Person").schema) == ["name", "age"])
        #expect(
            try session.rows("SELECT name FROM Person WHERE age = 21 ORDER BY 1") == [[.text("BOB")], [.text("CY")]])
        #expect(try session.run("UPDATE Person SET age = NULL").changed == 3)
        #expect(try session.rows("SELECT count(*) FROM Person WHERE age IS NULL") == [[.integer(3)]])
        #expect(try session.faults() == [])
    }

    /// Rows that the statement moves ahead in the index by which it finds them.
    @Test func anUpdateDoesNotMeetItsOwnRows() throws {
        let session = try StatementSession("CREATE TABLE T (n INTEGER)", "CREATE INDEX T.n ON T (n)")
        for start in stride(from: 0, to: 12_000, by: 3000) {
            try session.run(
                "INSERT INTO T (n) VALUES " + (start..<start + 3000).map { "(\($0))" }.joined(separator: ", "))
        }
        // Few enough for the index to lead to them, and more than are changed at a time.
        let condition = "n >= 0 AND n < 1500"
        #expect(try session.plan("SELECT n FROM T WHERE \(condition)").contains("index T.n"))
        #expect(try session.run("UPDATE T SET n = n + 400 WHERE \(condition)").changed == 1500)
        #expect(
            try session.rows("SELECT min(n), max(n), count(*) FROM T") == [
                [.integer(400), .integer(11_999), .integer(12_000)]
            ])
        #expect(try session.rows("SELECT max(n) FROM T WHERE id <= 1500") == [[.integer(1899)]])
        // With RETURNING the index changes with each row, not at the end.
        let moved = "n >= 400 AND n < 1900"
        #expect(try session.plan("SELECT n FROM T WHERE \(moved)").contains("index T.n"))
        #expect(try session.run("UPDATE T SET n = n + 600 WHERE \(moved) RETURNING n").changed == 1900)
        #expect(try session.faults() == [])
    }

    /// Of rows that the statement has changed already, what they held before.
    @Test func valuesOfOtherRowsAreThoseOfBefore() throws {
        let session = try StatementSession("CREATE TABLE T (n INTEGER, previous REFERENCES T)")
        let rows = (1...3000).map { "(\($0), \($0 > 1 ? "\($0 - 1)" : "NULL"))" }.joined(separator: ", ")
        try session.run("INSERT INTO T (n, previous) VALUES " + rows)
        #expect(try session.run("UPDATE T SET n = previous.n WHERE id > 1").changed == 2999)
        #expect(try session.rows("SELECT count(*) FROM T WHERE id > 1 AND n != id - 1") == [[.integer(0)]])
        // Nor do they change which rows are chosen.
        let above = "UPDATE T SET n = n + 1000000 WHERE n > (SELECT avg(n) FROM T)"
        #expect(try session.run(above).changed == 1500)
    }

    /// Indexes of words, places and some rows beside each other.
    @Test func indexesOfAllKindsAreKeptInStep() throws {
        let session = try StatementSession(
            "CREATE TABLE Inn (name TEXT, bio TEXT, latitude REAL, longitude REAL, stars INTEGER)")
        var schema = try session.table("Inn").schema
        schema.indexes = [
            IndexSchema("words", [IndexColumn("name"), IndexColumn("bio")], fullText: FullTextOptions()),
            IndexSchema("near", [IndexColumn("latitude"), IndexColumn("longitude")], isSpatial: true),
            IndexSchema("good", [IndexColumn("name")], isUnique: true, where: "stars > 3"),
        ]
        let wanted = schema
        try session.store.write { tx in _ = try Catalogue.migrate(to: wanted, in: tx) }
        try session.run(
            """
            INSERT INTO Inn (name, bio, latitude, longitude, stars)
            VALUES ('Anker', 'old harbour inn', 60.4, 5.3, 4), ('Anker', 'new', 0, 0, 1), ('Bo', 'old', 60.4, 5.4, 5)
            """)
        #expect(try session.run("UPDATE Inn SET bio = bio || ' town' WHERE bio MATCH 'old'").changed == 2)
        let near = "distance(latitude, longitude, 60.4, 5.3) < 9"
        #expect(try session.rows("SELECT name FROM Inn WHERE bio MATCH 'town' AND \(near)") == [[.text("Anker")]])
        try session.run("CREATE INDEX byStars ON Inn (stars)")
        try session.run("DROP INDEX byStars")
        #expect(try session.table("Inn").schema.indexes == wanted.indexes)
        #expect(session.refusal("UPDATE Inn SET stars = 4").contains("the same name:"))
        #expect(try session.run("INSERT OR REPLACE INTO Inn (name, bio, stars) VALUES ('Bo', 'none', 4)").changed == 1)
        #expect(try session.rows("SELECT count(*) FROM Inn WHERE bio MATCH 'town'") == [[.integer(1)]])
        #expect(try session.run("DELETE FROM Inn WHERE Inn MATCH 'anker'").changed == 2)
        #expect(try session.faults() == [])
        let words = "CREATE INDEX i ON Inn (stars) WHERE bio MATCH 'old'"
        #expect(session.refusal(words).contains("the condition of index i cannot be used"))
    }

    @Test func rowsAreDeleted() throws {
        let session = try people()
        var changes = ChangeSet()
        #expect(try session.run("DELETE FROM Person WHERE age = 20 AND name LIKE 'b%'", [], &changes).changed == 1)
        #expect(changes.changes.map(\.kind) == [.delete])
        #expect(try session.run("delete from Person").changed == 2)
        #expect(try session.rows("SELECT * FROM Person") == [])
        // Ids are not given twice.
        #expect(try session.run("INSERT INTO Person DEFAULT VALUES").lastKey == .rowID(4))
    }

    @Test func aStatementThatFailsLeavesNothing() throws {
        let session = try people()
        for text in [
            "INSERT INTO Person (mail) VALUES ('f@x'), ('g@x'), ('ada@x')", "UPDATE Person SET mail = 'same'",
            "UPDATE Person SET name = NULL WHERE age = 20",
            "INSERT OR REPLACE INTO Person (id, name) VALUES (1, 'x'), (2, NULL)",
            "INSERT INTO Person (mail) SELECT name FROM Person WHERE id < 0 OR name = 'Cy' OR mail IS NULL OR TRUE",
            "UPDATE Person SET age = age * 1.03", "CREATE UNIQUE INDEX twice ON Person (age)",
        ] {
            var changes = ChangeSet()
            try session.store.write { tx in
                let catalogue = try Catalogue.load(view: tx.view)
                if text.hasPrefix("INSERT INTO Person (mail) SELECT") {
                    _ = try Statement.parse("UPDATE Person SET name = 'Cy'").run(catalogue, in: tx, changes: &changes)
                    changes = ChangeSet()
                }
                #expect(throws: RecordError.self, "\(text)") {
                    _ = try Statement.parse(text).run(catalogue, in: tx, changes: &changes)
                }
                #expect(changes.isEmpty, "\(text)")
                // The transaction goes on.
                _ = try Statement.parse("UPDATE Person SET name = 'Ada' WHERE id = 1").run(
                    catalogue, in: tx, changes: &changes)
            }
            #expect(try session.rows("SELECT count(*) FROM Person") == [[.integer(3)]], "\(text)")
            #expect(
                try session.rows("SELECT mail, age FROM Person ORDER BY id") == [
                    [.text("ada@x"), .integer(36)], [.text("bob@x"), .integer(20)], [.null, .integer(20)],
                ], "\(text)")
            #expect(try session.faults() == [], "\(text)")
        }
    }

    @Test func constraintsAreTypedErrors() throws {
        let session = try people()
        #expect(throws: RecordError.nullViolation(table: "Person", column: "name")) {
            try session.run("INSERT INTO Person (name) VALUES (NULL)")
        }
        #expect(
            throws: RecordError.typeMismatch(table: "Person", column: "age", expected: .integer, found: "text 'old'")
        ) { try session.run("UPDATE Person SET age = 'old'") }
        do { try session.run("INSERT INTO Person (id) VALUES (2)") } catch RecordError.duplicateKey(_, let key, _, _) {
            #expect(key == .rowID(2))
        }
    }

    // MARK: Tables and indexes

    @Test func typesOfColumns() throws {
        let session = try StatementSession(
            """
            CREATE TABLE IF NOT EXISTS "All" (
                a INTEGER, b UNSIGNED BIG INT, c REAL, d DOUBLE PRECISION NOT NULL DEFAULT -1.5, e TEXT, f BLOB, g BOOLEAN DEFAULT TRUE,
                h DATETIME DEFAULT date('2026-01-31'), i UUID, j NUMERIC(10, 2), k INTEGER REFERENCES "All" (id))
            """)
        let schema = try session.table("All").schema
        #expect(schema.key == .rowID(column: "id"))
        #expect(
            schema.liveColumns.map(\.type) == [
                .integer, .unsigned, .double, .double, .text, .blob, .bool, .date, .uuid, .double, .reference,
            ])
        #expect(schema.liveColumns.filter { !$0.isOptional }.map(\.name) == ["d"])
        try session.run(
            "INSERT INTO \"All\" (a, b, e, f, i) VALUES (1, 18446744073709551615, 'x', x'00ff', '00000000-0000-0000-0000-000000000001')"
        )
        #expect(
            try session.rows("SELECT b, d, g, i, k FROM \"All\"") == [
                [.unsigned(.max), .double(-1.5), .bool(true), .uuid(0, 1), .null]
            ])
        #expect(try session.rows("PRAGMA table_info('All')").count == 11)
        #expect(
            try session.rows("PRAGMA table_info(\"All\")")[3] == [
                .integer(3), .text("d"), .text("REAL"), .integer(1), .text("-1.5"), .integer(0),
            ])
        #expect(try !session.run("CREATE TABLE IF NOT EXISTS \"All\" (a TEXT)").changesSchema)
    }

    @Test func keysOfColumns() throws {
        let session = try StatementSession(
            "CREATE TABLE City (code TEXT PRIMARY KEY, name TEXT)",
            "CREATE TABLE Trip (home TEXT REFERENCES City, there REFERENCES City, day DATE, PRIMARY KEY (home, day), UNIQUE (there, day))",
            "INSERT INTO City VALUES ('b', 'Bergen'), ('o', 'Oslo')",
            "INSERT INTO Trip VALUES ('b', 'o', '2026-01-31')")
        #expect(try session.table("Trip").schema.key == .columns(["home", "day"]))
        #expect(try session.rows("SELECT home.name, there.name FROM Trip") == [[.text("Bergen"), .text("Oslo")]])
        #expect(session.refusal("INSERT INTO Trip VALUES ('o', 'o', '2026-01-31')").contains("the same there, day:"))
        #expect(session.refusal("INSERT INTO Trip VALUES ('b', NULL, '2026-01-31')").contains("already"))
        #expect(session.refusal("UPDATE City SET code = 'x'").contains("is the key"))
        #expect(try session.run("INSERT OR REPLACE INTO City VALUES ('b', 'Bjørgvin')").lastKey != nil)
        #expect(try session.rows("SELECT name FROM City ORDER BY code") == [[.text("Bjørgvin")], [.text("Oslo")]])
        #expect(try session.faults() == [])
    }

    @Test func tablesAndIndexesComeAndGo() throws {
        let session = try people()
        #expect(try session.run("CREATE INDEX IF NOT EXISTS byName ON Person (name)").changesSchema)
        #expect(try session.plan("SELECT id FROM Person WHERE name = 'Ada'").contains("index byName"))
        #expect(try !session.run("CREATE INDEX IF NOT EXISTS byName ON Person (age)").changesSchema)
        #expect(try session.run("DROP INDEX byName").changesSchema)
        #expect(try !session.plan("SELECT id FROM Person WHERE name = 'Ada'").contains("index"))
        #expect(try !session.run("DROP INDEX IF EXISTS byName").changesSchema)
        #expect(try session.run("DROP INDEX Person.age ON Person").changesSchema)
        #expect(try session.run("DROP TABLE Person").changesSchema)
        #expect(try !session.run("DROP TABLE IF EXISTS Person").changesSchema)
        #expect(session.refusal("SELECT * FROM Person").contains("there is no table Person"))
        #expect(session.refusal("DROP TABLE Person").contains("there is no table Person"))
    }

    // MARK: Faults

    @Test(arguments: [
        ("INSRT INTO Person", "did you mean INSERT?"), ("INSERT Person", "INTO is expected"),
        ("INSERT INTO Persn DEFAULT VALUES", "did you mean Person?"),
        ("INSERT INTO Person (nmae) VALUES (1)", "did you mean name?"),
        ("INSERT INTO Person (name, age) VALUES (1)", "1 value is given for 2 columns"),
        ("INSERT INTO Person (name) VALUES ('a'), ('b', 1)", "this row has 2 values"),
        ("INSERT INTO Person (name) VALUES (age)", "no row yet"),
        ("INSERT INTO Person (name, NAME) VALUES (1, 2)", "named twice"),
        ("INSERT INTO Person (id) VALUES ('x')", "holds integer"),
        ("INSERT INTO Person (age) VALUES (?)", "parameter 1 has no value"),
        ("INSERT OR FAIL INTO", "the name of a table"), ("INSERT OR DIE INTO Person", "REPLACE or IGNORE"),
        ("INSERT INTO Person (name) SELECT name, age FROM Person", "2 values are given for 1 column"),
        ("UPDATE Person SET agee = 1", "did you mean age?"), ("UPDATE Person SET age 1", "\"=\""),
        ("UPDATE Person SET id = 1", "is the key"), ("UPDATE Person SET age = 1, age = 2", "set twice"),
        ("UPDATE Person SET age = 1 WHERE nme = 'x'", "did you mean name?"), ("DELETE Person", "FROM is expected"),
        ("DELETE FROM Person WHERE", "the text ends"), ("DELETE FROM Person x", "the end of the text"),
        ("CREATE VIEW v", "AS is expected"), ("CREATE TABLE Person (a TEXT)", "a table Person already"),
        ("CREATE TABLE T (a TXT)", "did you mean TEXT?"), ("CREATE TABLE T (a)", "needs a type"),
        ("CREATE TABLE T ()", "the name of a column"),
        ("CREATE TABLE T (a TEXT, a TEXT)", "a column a already"),
        ("CREATE TABLE T (a TEXT CHECK (a > 1))", "a constraint"),
        ("CREATE TABLE T (a INTEGER DEFAULT 'x')", "holds integer"),
        ("CREATE TABLE T (a INTEGER DEFAULT ?)", "written out"),
        ("CREATE TABLE T (a REFERENCES Persn)", "did you mean Person?"),
        ("CREATE TABLE T (a TEXT, PRIMARY KEY (b))", "no column b"),
        ("CREATE TABLE T (a TEXT PRIMARY KEY, b TEXT PRIMARY KEY)", "PRIMARY KEY (a, b)"),
        ("CREATE TABLE mako_store (a TEXT)", "keyed stores"),
        ("CREATE INDEX i ON Person (agee)", "did you mean age?"),
        ("CREATE INDEX i ON Person (age COLLATE NOCASE)", "only text"),
        ("CREATE INDEX i ON Person (id)", "is the key"),
        ("CREATE INDEX Person.age ON Person (name)", "has an index Person.age already"),
        ("DROP INDEX Person.aeg", "did you mean Person.age?"), ("DROP TRIGGER v", "TABLE, VIEW or INDEX"),
        ("PRAGMA table_inf(x)", "did you mean table_info?"),
        ("PRAGMA table_info(Persn)", "did you mean Person?"), ("EXPLAIN DELETE FROM Person", "SELECT is expected"),
        ("ANALYZE Persn", "did you mean Person?"), ("", "a statement"), ("42", "a statement"),
    ])
    func faultsPointIntoTheText(text: String, words: String) throws {
        let session = try people()
        let refusal = session.refusal(text)
        #expect(refusal.contains(words), "\(text): \(refusal)")
        #expect(try session.rows("SELECT count(*) FROM Person") == [[.integer(3)]])
    }

    @Test func valuesWithoutAPlaceAreRefusedByStatements() throws {
        let session = try people()
        #expect(session.refusal("DELETE FROM Person WHERE id = ?", [.integer(1), .integer(2)]).contains("1 parameter"))
        #expect(session.refusal("DELETE FROM Person", [.integer(1)]).contains("no parameters"))
        #expect(try session.rows("SELECT count(*) FROM Person") == [[.integer(3)]])
    }

    @Test func deepTextsAreRefused() throws {
        let session = try people()
        let deep = String(repeating: "(", count: 5000) + "1" + String(repeating: ")", count: 5000)
        for text in [
            "INSERT INTO Person (age) VALUES (\(deep))", "UPDATE Person SET age = \(deep)",
            "CREATE TABLE T (a INTEGER DEFAULT \(deep))",
        ] {
            #expect(session.refusal(text).contains("nested too deeply"))
        }
    }
}
