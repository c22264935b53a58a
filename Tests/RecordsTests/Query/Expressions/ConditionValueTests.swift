import MakoRecords
import MakoStorage
import Testing

/// Conditions where values stand: 1, 0 or NULL.
@Suite struct ConditionValueTests {
    private static func fixture() throws -> Fixture {
        let fixture = try Fixture(
            EntitySchema(name: "Owner", columns: [ColumnSchema("name", .text)]),
            EntitySchema(
                name: "T",
                columns: [
                    ColumnSchema("a", .integer, isOptional: true), ColumnSchema("b", .integer, isOptional: true),
                    ColumnSchema("n", .text, isOptional: true), ColumnSchema("f", .bool, isOptional: true),
                    ColumnSchema("owner", .reference, isOptional: true, target: "Owner"),
                ], indexes: [IndexSchema("byA", [IndexColumn("a")])]),
            EntitySchema(
                name: "Article", columns: [ColumnSchema("body", .text)],
                indexes: [IndexSchema("words", [IndexColumn("body")], fullText: FullTextOptions())]))
        try fixture.insertAll("Owner", [[.text("Ada")], [.text("Bob")]])
        try fixture.insertAll(
            "T",
            [
                [.integer(5), .integer(5), .text("x"), .bool(true), .integer(1)],
                [.integer(30), .null, .text("y"), .bool(false), .integer(1)],
                [.null, .integer(12), .text("x"), .null, .integer(2)],
                [.integer(12), .integer(5), .null, .bool(true), .null],
            ])
        try fixture.insertAll("Article", [[.text("steam engines")], [.text("letters")]])
        return fixture
    }

    private func rows(_ text: String, _ parameters: [Value] = []) throws -> [String] {
        let fixture = try Self.fixture()
        let relations = ["Owner": TableRelations(inverses: ["things": .init(table: "T", column: "owner")])]
        return JoinFixture.text(
            try SelectStatement.parse(text).run(
                fixture.catalogue.describing(relations), view: fixture.store.snapshot(), parameters: parameters
            ).rows)
    }

    /// The results of SQLite 3.40 for the same rows.
    @Test(arguments: [
        ("a > 10", "0 1 NULL 1"), ("NOT a > 10", "1 0 NULL 0"), ("a > 10 AND b > 4", "0 NULL NULL 1"),
        ("a > 10 OR b > 4", "1 1 1 1"), ("a = b", "1 NULL NULL 0"), ("(a > 10) = (b > 4)", "0 NULL NULL 1"),
        ("(a > 10 AND b > 4) = f", "0 NULL NULL 1"), ("f = (a > 10)", "0 0 NULL 1"), ("a IS NULL", "0 0 1 0"),
        ("a IS NOT NULL", "1 1 0 1"), ("a IN (5, 12)", "1 0 NULL 1"), ("a NOT IN (5, NULL)", "0 NULL NULL NULL"),
        ("a BETWEEN 10 AND 20", "0 0 NULL 1"), ("n LIKE 'X'", "1 0 1 NULL"), ("n GLOB 'x'", "1 0 1 NULL"),
        ("(a > 10) + (b > 4)", "1 NULL NULL 2"), ("(a > 10) + f", "1 1 NULL 2"), ("-(a > 10)", "0 -1 NULL -1"),
        ("1 + (a > 10) * 2", "1 3 NULL 3"), ("(a > 10) IS NULL", "0 0 1 0"), ("(a > 10) IN (0)", "1 0 NULL 0"),
        ("f IN (a > 10, FALSE)", "0 1 NULL 1"), ("f NOT IN (a > 10, FALSE)", "1 0 NULL 0"),
        ("f IN (TRUE, a > 50)", "1 1 NULL 1"), ("f IN (1, a > 50)", "1 1 NULL 1"),
        ("(a > 10) IN (0, f)", "1 0 NULL 1"), ("(a > 10) BETWEEN 0 AND 0", "1 0 NULL 0"),
        ("(a > 10) = 1", "0 1 NULL 1"), ("1 = (a > 10)", "0 1 NULL 1"), ("(a > 10) = 0", "1 0 NULL 0"),
        ("(a > 10) != 1", "1 0 NULL 0"), ("(a > 10) <> 0", "0 1 NULL 1"), ("(a > 10) = 2", "0 0 NULL 0"),
        ("(a > 10) = TRUE", "0 1 NULL 1"), ("(a > 10) = FALSE", "1 0 NULL 0"), ("(a > 10) > (b > 4)", "0 NULL NULL 0"),
        ("f AND a > 1", "1 0 NULL 1"), ("f OR a > 1", "1 1 NULL 1"), ("NOT f", "0 1 NULL 0"),
        ("CASE WHEN f THEN a > 10 ELSE b > 4 END", "0 NULL 1 1"), ("CASE WHEN a > 10 THEN f ELSE b > 4 END", "1 0 1 1"),
        ("CASE WHEN a > 10 THEN b > 4 ELSE f END", "1 NULL NULL 1"),
        ("CASE a > 10 WHEN TRUE THEN 'j' WHEN FALSE THEN 'n' ELSE '?' END", "n j ? j"),
        ("coalesce(a > 10, b > 10)", "0 1 1 1"), ("coalesce(a > 10, FALSE)", "0 1 0 1"),
        ("ifnull(f, a > 10)", "1 0 NULL 1"), ("nullif(a > 10, 0)", "NULL 1 NULL 1"), ("a > b + 1", "0 NULL NULL 1"),
        ("a + 1 > b AND NOT b > 4", "0 NULL 0 0"), ("EXISTS (SELECT 1 FROM T o WHERE o.b = T.a)", "1 0 0 1"),
        ("a IN (SELECT b FROM T o)", "1 NULL NULL 1"),
        ("a NOT IN (SELECT b FROM T o WHERE b IS NOT NULL)", "0 1 NULL 0"), ("TRUE AND NULL", "NULL NULL NULL NULL"),
        ("NOT NULL", "NULL NULL NULL NULL"), ("1 < 2", "1 1 1 1"), ("3 > 2 AND 2 > 3", "0 0 0 0"),
        ("abs(a > 10)", "0 1 NULL 1"), ("n = 'x' OR n = 'y' AND a > 100", "1 0 1 NULL"),
        ("NOT a > 10 OR b > 4", "1 NULL 1 1"), ("(SELECT o.a > 10 FROM T o WHERE o.id = T.id)", "0 1 NULL 1"),
    ]) func asInSQLite(_ text: String, _ wanted: String) throws {
        #expect(try rows("SELECT \(text) FROM T ORDER BY id").joined(separator: " ") == wanted)
        // The same as a condition finds the rows for which it is neither 0 nor NULL.
        if wanted.contains("j") { return }
        let found = wanted.split(separator: " ").enumerated().filter { $1 != "0" && $1 != "NULL" }.map {
            "\($0.offset + 1)"
        }
        #expect(try rows("SELECT id FROM T WHERE \(text) ORDER BY id") == found)
        #expect(try rows("SELECT id FROM T WHERE (\(text)) <> 0 ORDER BY id") == found)
    }

    @Test func inAggregatesAndGroups() throws {
        #expect(
            try rows("SELECT sum(a > 10), count(a > 10), avg(a > 10), max(n = 'x'), total(a IS NULL) FROM T") == [
                "2 3 0.6666666666666666 1 1.0"
            ])
        #expect(try rows("SELECT sum(f), avg(f), count(DISTINCT a > 10) FROM T") == ["2 0.6666666666666666 2"])
        #expect(try rows("SELECT (SELECT sum(f) FROM T), (SELECT sum(a > 10) FROM T) FROM Owner LIMIT 1") == ["2 2"])
        #expect(
            try rows("SELECT a > 10 AS large, count(*) FROM T GROUP BY large ORDER BY large")
                == ["NULL 1", "0 1", "1 2"])
        #expect(try rows("SELECT a > 10, count(*) > 1 FROM T GROUP BY a > 10 HAVING (a > 10) = 1") == ["1 1"])
        #expect(
            try rows("SELECT owner, sum(a > 10) = 1 FROM T GROUP BY owner ORDER BY owner IS NULL, owner") == [
                "1 1", "2 NULL", "NULL 1",
            ])
        #expect(try rows("SELECT DISTINCT n = 'x' FROM T ORDER BY 1") == ["NULL", "0", "1"])
    }

    @Test func inOrdersAndLists() throws {
        #expect(try rows("SELECT id FROM T ORDER BY n = 'x', id DESC") == ["4", "2", "3", "1"])
        #expect(try rows("SELECT id FROM T ORDER BY n = 'x' OR a = 30 DESC, id") == ["1", "2", "3", "4"])
        #expect(try rows("SELECT id FROM T WHERE b = 5 AND (a = 12) IN (n IS NULL, 7)") == ["4", "1"].sorted())
        #expect(try rows("SELECT id, 'a' || 'b' = 'ab' FROM T LIMIT 1") == ["1 1"])
        #expect(try rows("SELECT a > ?, a = ? FROM T LIMIT 1", [.integer(3), .integer(4)]) == ["1 0"])
        #expect(try rows("SELECT id FROM T UNION SELECT a > 10 FROM T WHERE a IS NOT NULL ORDER BY 1").count == 5)
    }

    @Test func conditionsOverPathsJoinsSubqueriesAndWordsAreValues() throws {
        #expect(try rows("SELECT owner.name = 'Ada' FROM T") == ["1", "1", "0", "NULL"])
        #expect(
            try rows("SELECT ANY things.a > 10, ALL things.f FROM Owner ORDER BY id") == ["1 0", "0 0"])
        #expect(try rows("SELECT ANY things.a > 10 OR name = 'Bob' FROM Owner ORDER BY id") == ["1", "1"])
        #expect(
            try rows(
                "SELECT T.id, o.name = 'Ada', o.id IS NULL FROM T LEFT JOIN Owner o ON (o.id = T.owner) = 1 ORDER BY 1")
                == ["1 1 0", "2 1 0", "3 0 0", "4 NULL 1"])
        // The row of NULLs decides as well.
        #expect(
            try rows("SELECT T.id FROM T LEFT JOIN Owner o ON o.id = T.owner WHERE (o.id IS NULL) + 1 = 2") == ["4"])
        #expect(
            try rows(
                "WITH s AS (SELECT id, a > 10 AS large FROM T) SELECT id, large + 1 FROM s WHERE large ORDER BY id")
                == ["2 2", "4 2"])
        #expect(try rows("SELECT body MATCH 'steam', NOT body MATCH 'steam' FROM Article") == ["1 0", "0 1"])
        #expect(try rows("SELECT body FROM Article ORDER BY body MATCH 'steam' DESC") == ["steam engines", "letters"])
    }

    @Test func anIndexServesAComparedCondition() throws {
        let fixture = try Self.fixture()
        func plan(_ text: String) throws -> String {
            try Selection(table: "T", condition: .parse(text)).explanation(fixture.catalogue).chosen.text
        }
        #expect(try plan("(a = 3) = 1") == (try plan("a = 3")))
        #expect(try plan("(a > 3 AND b = 1) = TRUE") == (try plan("a > 3 AND b = 1")))
        #expect(try plan("(a = 3) = 0") == (try plan("NOT a = 3")))
        let large = try SelectStatement.parse(
            "SELECT id FROM (SELECT id, a > 10 AS large FROM T) q WHERE large"
        ).explanation(fixture.catalogue)
        #expect(large == (try SelectStatement.parse("SELECT id FROM T WHERE a > 10").explanation(fixture.catalogue)))
    }

    @Test func written() throws {
        let fixture = try Self.fixture()
        func run(_ text: String) throws -> Int {
            try fixture.store.write { tx in
                var changes = ChangeSet()
                let catalogue = try Catalogue.load(view: tx.view)
                return try Statement.parse(text).run(catalogue, in: tx, changes: &changes).changed
            }
        }
        #expect(try run("UPDATE T SET f = a > 10, b = n = 'x' WHERE id <= 3") == 3)
        #expect(try (1...3).map { try fixture.values("T", .rowID($0))?[3] } == [.bool(false), .bool(true), .null])
        #expect(try (1...3).map { try fixture.values("T", .rowID($0))?[1] } == [.integer(1), .integer(0), .integer(1)])
        #expect(try run("INSERT INTO T (a, f) VALUES (3 > 2, NOT 3 > 2)") == 1)
        #expect(try fixture.values("T", .rowID(5)).map { [$0[0], $0[3]] } == [.integer(1), .bool(false)])
        // A constraint may follow a default.
        #expect(try run("CREATE TABLE U (a INTEGER DEFAULT 0 NOT NULL, b TEXT DEFAULT 'x' UNIQUE)") == 0)
    }

    /// Words that begin conditions are names where no condition follows.
    @Test func columnsMayBeCalledSo() throws {
        let fixture = try Fixture(
            EntitySchema(name: "W", columns: [ColumnSchema("any", .integer), ColumnSchema("exists", .integer)]))
        try fixture.insertAll("W", [[.integer(3), .integer(4)]])
        func rows(_ text: String) throws -> [String] {
            JoinFixture.text(
                try SelectStatement.parse(text).run(fixture.catalogue, view: fixture.store.snapshot()).rows)
        }
        #expect(try rows("SELECT any, exists FROM W ORDER BY any DESC, exists") == ["3 4"])
        #expect(try rows("SELECT any > 2, abs(any), exists = 4 FROM W") == ["1 3 1"])
        #expect(try rows("SELECT CASE WHEN exists = 4 THEN any END = 3 FROM W") == ["1"])
        #expect(try rows("SELECT any + exists FROM W GROUP BY any + exists") == ["7"])
    }

    @Test func isRefusedWhereItsKindDoesNotFit() throws {
        func message(_ text: String) -> String {
            let error = #expect(throws: RecordError.self) { try rows(text) }
            return error.map { "\($0)" } ?? ""
        }
        #expect(
            message("SELECT (a > 10) = 'x' FROM T")
                == "this is integer, which cannot be compared with text 'x'\n  SELECT (a > 10) = 'x' FROM T\n"
                + "                    ^~~")
        #expect(
            message("SELECT n || a > 10 FROM T").hasPrefix("this is text, which cannot be compared with integer 10"))
        #expect(message("SELECT f = a FROM T").hasPrefix("f holds bool, which cannot be compared with a"))
        #expect(message("SELECT a > 10 > 3 FROM T").hasPrefix("comparisons do not chain; join them with AND"))
        #expect(
            message("SELECT a > 10 FROM T GROUP BY n").hasPrefix("a column beside aggregates must stand in GROUP BY"))
        #expect(message("SELECT lower(a > 10) FROM T").hasPrefix("this is integer, which lower does not take"))
    }
}
