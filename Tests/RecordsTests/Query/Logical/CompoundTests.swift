import MakoRecords
import MakoStorage
import Testing

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

    /// Values of every type are equal to those of their type.
    @Test func valuesOfAllTypes() throws {
        var schema = QueryFixture.a
        schema.indexes = []
        let fixture = try Fixture(schema, QueryFixture.b, QueryFixture.c)
        let row: [Value] = [
            .integer(3), .unsigned(.max), .double(1e30), .text("t"), .bool(true), .date(86_400), .blob([1]),
            .uuid(1, 2),
            .integer(1), .integer(0), .null,
        ]
        var other = row
        (other[1], other[2], other[4], other[5]) = (.integer(3), .double(-1e30), .bool(false), .date(0))
        (other[6], other[7]) = (.blob([]), .uuid(1, 1))
        try fixture.insertAll("A", [row, other, row])
        func rows(_ text: String) throws -> [[Value]] {
            try SelectStatement.parse(text).run(fixture.catalogue, view: fixture.store.snapshot()).rows
        }
        for (place, column) in ["i", "u", "d", "t", "b", "at", "bl", "uu"].enumerated() {
            let both = row[place] == other[place] ? [[row[place]]] : [[row[place]], [other[place]]]
            #expect(Set(try rows("SELECT \(column) FROM A UNION SELECT \(column) FROM A")) == Set(both), "\(column)")
            #expect(try rows("SELECT \(column) FROM A INTERSECT SELECT \(column) FROM A").count == both.count)
            #expect(try rows("SELECT \(column) FROM A EXCEPT SELECT \(column) FROM A") == [])
            let sorted = try rows("SELECT \(column) FROM A UNION SELECT \(column) FROM A ORDER BY 1")
            #expect(sorted == (try rows("SELECT DISTINCT \(column) FROM A ORDER BY 1")), "\(column)")
        }
        // Values of different types are not equal.
        #expect(try rows("SELECT b FROM A INTERSECT SELECT at FROM A") == [])
        #expect(try rows("SELECT bl FROM A EXCEPT SELECT uu FROM A").count == 2)
        #expect(try rows("SELECT DISTINCT d * 1.0 FROM A").count == 2)
        #expect(try rows("SELECT u FROM A INTERSECT SELECT i FROM A") == [[.integer(3)]])
    }

    @Test func rowsThatAreAsGoodKeepTheirOrderAndMayBeLeftOut() throws {
        let people = "SELECT age, name FROM Person WHERE age = 36 UNION ALL SELECT legs, code FROM Kind"
        #expect(
            try rows(
                "SELECT age, name FROM Person UNION ALL SELECT age, 'x' FROM Person ORDER BY age DESC LIMIT 6 OFFSET 4")
                == ["36 Ada", "36 Mary", "36 x", "36 x", "20 Gone", "20 x"])
        #expect(try rows(people + " ORDER BY 1 LIMIT 0") == [])
        #expect(try rows(people + " LIMIT 3 OFFSET 1") == ["36 Mary", "2 bird", "4 cat"])
        #expect(try rows(people + " LIMIT 3 OFFSET 9") == [])
    }

    @Test func theirStepsAreMeasured() throws {
        let fixture = try JoinFixture.make()
        func analysis(_ ending: String) throws -> PlanAnalysis {
            try SelectStatement.parse(
                "SELECT age FROM Person UNION SELECT legs FROM Kind EXCEPT SELECT id FROM Location" + ending
            ).analysis(fixture.catalogue, view: fixture.store.snapshot())
        }
        let plain = try analysis("")
        #expect(plain.rows == 5 && plain.steps.last?.text == "except" && plain.steps.last?.passed == 5)
        let cut = try analysis(" ORDER BY age DESC LIMIT 2 OFFSET 1")
        #expect(cut.rows == 2 && cut.steps.suffix(2).map(\.text) == ["sort by age DESC", "limit 2 offset 1"])
        #expect(cut.steps.last?.examinedRows == 5 && cut.steps.last?.passed == 2)
    }

    @Test func theyExplainThemselves() throws {
        let fixture = try JoinFixture.make()
        let text = "SELECT name FROM Person WHERE id = 1 UNION ALL SELECT city FROM Location ORDER BY 1 LIMIT 2"
        #expect(
            try SelectStatement.parse(text).explanation(fixture.catalogue).outline
                == "limit 2\n  sort by name\n    union all\n      search Person by key (id = 1)\n      scan Location")
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
