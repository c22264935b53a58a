import MakoRecords
import MakoStorage
import Testing

/// `ON CONFLICT … DO …` and `RETURNING`.
@Suite struct UpsertTests {
    private func session() throws -> StatementSession {
        try StatementSession(
            "CREATE TABLE Word (id INTEGER PRIMARY KEY, text TEXT UNIQUE, seen INTEGER NOT NULL DEFAULT 1, note TEXT)",
            "INSERT INTO Word VALUES (1, 'ada', 1, NULL), (2, 'bob', 5, 'x')")
    }

    @Test func aConflictingRowIsChanged() throws {
        let session = try session()
        let text = """
            INSERT INTO Word (text, seen) VALUES ('ada', 3), ('cy', 4), ('bob', 1)
            ON CONFLICT (text) DO UPDATE SET seen = seen + excluded.seen, note = excluded.text || '!' WHERE seen < 5
            RETURNING id, text, seen AS times, note
            """
        let outcome = try session.run(text)
        #expect(outcome.changed == 2 && outcome.rows.columns == ["id", "text", "times", "note"])
        #expect(
            outcome.rows.rows == [
                [.integer(1), .text("ada"), .integer(4), .text("ada!")],
                [.integer(3), .text("cy"), .integer(4), .null],
            ])
        #expect(try session.rows("SELECT seen, note FROM Word WHERE text = 'bob'") == [[.integer(5), .text("x")]])
        #expect(try session.faults() == [])
    }

    @Test func aConflictingRowMayStay() throws {
        let session = try session()
        let outcome = try session.run(
            "INSERT INTO Word (id, text) VALUES (1, 'new'), (4, 'dan'), (5, 'bob') ON CONFLICT DO NOTHING RETURNING *")
        #expect(outcome.changed == 1)
        #expect(outcome.rows.rows == [[.integer(4), .text("dan"), .integer(1), .null]])
        // A conflict with another key is still refused.
        #expect(
            session.refusal("INSERT INTO Word (id, text) VALUES (9, 'bob') ON CONFLICT (id) DO NOTHING").contains("bob")
        )
        #expect(
            session.refusal("INSERT INTO Word (text, seen) VALUES ('eve', NULL) ON CONFLICT DO NOTHING").contains(
                "seen"))
        #expect(try session.rows("SELECT count(*) FROM Word") == [[.integer(3)]])
    }

    @Test func theKeyMayConflict() throws {
        let session = try session()
        try session.run(
            "INSERT INTO Word VALUES (2, 'bo', 7, 'y') ON CONFLICT (id) DO UPDATE SET text = excluded.text, seen = ?",
            [.integer(9)])
        #expect(
            try session.rows("SELECT text, seen, note FROM Word WHERE id = 2") == [
                [.text("bo"), .integer(9), .text("x")]
            ])
        let pairs = try StatementSession(
            "CREATE TABLE Pair (a INTEGER, b TEXT COLLATE NOCASE, n INTEGER, PRIMARY KEY (a, b))",
            "INSERT INTO Pair VALUES (1, 'x', 1)")
        try pairs.run(
            "INSERT INTO Pair VALUES (1, 'X', 4), (2, 'x', 1) ON CONFLICT (b, a) DO UPDATE SET n = Pair.n + excluded.n")
        #expect(
            try pairs.rows("SELECT a, b, n FROM Pair ORDER BY a") == [
                [.integer(1), .text("x"), .integer(5)], [.integer(2), .text("x"), .integer(1)],
            ])
    }

    @Test func rowsOfASelectMayConflict() throws {
        let session = try session()
        let outcome = try session.run(
            "INSERT INTO Word (text, seen) SELECT text, 10 FROM Word ON CONFLICT (text) DO UPDATE SET seen = excluded.seen"
        )
        #expect(outcome.changed == 2)
        #expect(try session.rows("SELECT DISTINCT seen FROM Word") == [[.integer(10)]])
    }

    @Test func changesAndDeletionsReturnRows() throws {
        let session = try session()
        #expect(
            try session.run("UPDATE Word SET seen = seen * 2 WHERE id = 2 RETURNING seen, upper(text) name").rows
                == QueryRows(columns: ["seen", "name"], rows: [[.integer(10), .text("BOB")]]))
        #expect(
            try session.run("DELETE FROM Word WHERE seen > 3 RETURNING Word.id, seen").rows.rows
                == [[.integer(2), .integer(10)]])
        #expect(try session.run("DELETE FROM Word RETURNING text").rows.rows == [[.text("ada")]])
        #expect(try session.run("DELETE FROM Word RETURNING text").rows == QueryRows(columns: ["text"], rows: []))
        #expect(try session.run("INSERT INTO Word (text) VALUES ('z') RETURNING rowid").rows.rows == [[.integer(3)]])
    }

    /// A refused statement has no effect.
    @Test(arguments: [
        ("INSERT INTO Word (text) VALUES ('ada') ON CONFLICT (note) DO NOTHING", "neither a key nor a unique index"),
        ("INSERT INTO Word (text) VALUES ('ada') ON CONFLICT (text) DO UPDATE SET id = 3", "is the key"),
        (
            "INSERT INTO Word (text) VALUES ('ada') ON CONFLICT (text) DO UPDATE SET seen = excluded.sen",
            "no column sen"
        ),
        ("INSERT OR IGNORE INTO Word (text) VALUES ('ada') ON CONFLICT DO NOTHING", "say one of the two"),
        ("INSERT INTO Word (text) VALUES ('new'), ('ada') ON CONFLICT (text) DO UPDATE SET seen = NULL", "seen"),
        ("INSERT INTO Word (text) VALUES ('new'), ('ada') ON CONFLICT (text) DO UPDATE SET text = 'bob'", "bob"),
        ("INSERT INTO Word (text) VALUES ('new') RETURNING count(*)", "of many rows"),
        ("INSERT INTO Word (text) VALUES ('new') RETURNING nothing", "no column nothing"),
        ("DELETE FROM Word RETURNING", "a value is expected"),
        ("INSERT INTO Word (text) VALUES ('new') ON CONFLICT (text) WHERE seen > 1 DO NOTHING", "partial index"),
        ("INSERT INTO Word (text) VALUES ('new') ON CONFLICT DO IGNORE", "UPDATE is expected"),
    ])
    func faultsAreShown(text: String, message: String) throws {
        let session = try session()
        let refusal = session.refusal(text)
        #expect(refusal.contains(message), "\(refusal)")
        #expect(try session.rows("SELECT text FROM Word ORDER BY id") == [[.text("ada")], [.text("bob")]])
        #expect(try session.faults() == [])
    }
}
