import MakoStorage
import Testing

@testable import MakoRecords

/// `UNION`, `INTERSECT` and `EXCEPT`.
@Suite struct CompoundTests {
    private func rows(_ text: String, _ parameters: [Value] = []) throws -> [String] {
        let fixture = try JoinFixture.make()
        return JoinFixture.text(
            try SelectStatement.parse(text).run(
                fixture.catalogue, view: fixture.store.snapshot(), parameters: parameters
            ).rows)
    }

    @Test func unions() throws {
        #expect(
            try rows(
                "SELECT name FROM Department UNION SELECT kind FROM Pet ORDER BY name COLLATE NOCASE DESC, 1 LIMIT 3")
                == ["Looms", "Letters", "fish"])
        #expect(try rows("SELECT age FROM Person UNION SELECT age FROM Person ORDER BY 1") == ["20", "36", "40", "50"])
        #expect(
            try rows(
                "SELECT age FROM Person WHERE age > ? UNION ALL SELECT legs FROM Kind WHERE legs < ? ORDER BY 1 DESC",
                [
                    .integer(36), .integer(3),
                ]) == ["50", "40", "2"])
        // Numbers are equal by their value.
        #expect(
            try rows("SELECT budget FROM Department UNION SELECT legs FROM Kind ORDER BY 1") == [
                "NULL", "2.0", "4", "100.0",
            ])
    }

    @Test func intersectionsAndDifferences() throws {
        #expect(
            try rows("SELECT owner FROM Pet INTERSECT SELECT id FROM Person ORDER BY 1") == ["1", "3"])
        #expect(
            try rows("SELECT id FROM Person EXCEPT SELECT owner FROM Pet ORDER BY id DESC OFFSET 1") == ["4", "2"])
        #expect(
            try rows("SELECT kind FROM Pet EXCEPT SELECT code FROM Kind UNION SELECT city FROM Location ORDER BY 1")
                == ["Cat", "London", "Lyon", "fish"])
        #expect(
            try rows(
                "SELECT department, count(*) AS n FROM Person GROUP BY department INTERSECT SELECT id, 2 FROM Department"
            )
                == ["1 2"])
    }

    @Test func theyExplainThemselves() throws {
        let fixture = try JoinFixture.make()
        let text = "SELECT name FROM Person WHERE id = 1 UNION ALL SELECT city FROM Location ORDER BY 1 LIMIT 2"
        #expect(
            try SelectStatement.parse(text).explanation(fixture.catalogue)
                == "search Person by key (id = 1)\nunion all\nscan Location\nsort by name\nlimit 2")
    }

    @Test(arguments: [
        "SELECT name FROM Person UNION SELECT id, name FROM Person", "SELECT name FROM Person UNION",
        "SELECT name FROM Person ORDER BY 1 UNION SELECT name FROM Person",
        "SELECT name FROM Person UNION SELECT name FROM Person ORDER BY age",
        "SELECT name FROM Person UNION SELECT name FROM Person ORDER BY 2",
        "SELECT name FROM Person UNION SELECT name FROM Nobody",
        "SELECT * FROM Person UNION SELECT age, count(*) FROM Person",
    ])
    func faultsAreErrors(text: String) throws {
        #expect(throws: RecordError.self) { try rows(text) }
    }

    @Test func manyMayBePutTogether() throws {
        let part = "SELECT age FROM Person"
        #expect(try rows(Array(repeating: part, count: 60).joined(separator: " UNION ")).count == 4)
        #expect(throws: RecordError.self) { try rows(Array(repeating: part, count: 300).joined(separator: " UNION ")) }
    }
}
