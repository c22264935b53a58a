import MakoRecords
import MakoStorage
import Testing

@Suite struct SelectTests {
    private func fixture() throws -> Fixture {
        let fixture = try Fixture(
            EntitySchema(
                name: "Person",
                columns: [
                    ColumnSchema("name", .text), ColumnSchema("age", .integer),
                    ColumnSchema("department", .reference, isOptional: true, target: "Department"),
                ]),
            EntitySchema(name: "Department", columns: [ColumnSchema("name", .text)]))
        try fixture.insertAll("Department", [[.text("Engines")], [.text("Looms")]])
        try fixture.insertAll(
            "Person",
            [
                [.text("Ada"), .integer(36), .integer(1)], [.text("Charles"), .integer(50), .integer(1)],
                [.text("Joseph"), .integer(40), .integer(2)],
                [.text("Mary"), .integer(36), .null],
            ])
        return fixture
    }

    private func run(_ text: String, _ parameters: [Value] = []) throws -> QueryRows {
        let fixture = try fixture()
        return try SelectStatement.parse(text).run(
            fixture.catalogue, view: fixture.store.snapshot(), parameters: parameters)
    }

    /// A comparison in a later clause does not make `||` an OR.
    @Test func concatenationEndsWithItsClause() throws {
        let grouped = try run(
            "SELECT age, count(*) FROM Person WHERE name != name || 'x' GROUP BY age HAVING count(*) > 1")
        #expect(grouped.rows == [[.integer(36), .integer(2)]])
        let joined = try run(
            "SELECT p.name FROM Person p JOIN Department d ON p.department = d.id AND d.name != d.name || 'x' WHERE p.age > 45"
        )
        #expect(joined.rows == [[.text("Charles")]])
        #expect(try run("SELECT count(*) FROM Person WHERE age = 50 || age = 40").rows == [[.integer(2)]])
    }

    @Test func columnsAndNames() throws {
        #expect(
            try run("SELECT * FROM Department ORDER BY id")
                == QueryRows(
                    columns: ["id", "name"], rows: [[.integer(1), .text("Engines")], [.integer(2), .text("Looms")]]))
        #expect(
            try run(
                "select name, department.name AS dep, age + 1 from person where age > ? order by dep desc, 1 limit 2;",
                [.integer(36)])
                == QueryRows(
                    columns: ["name", "dep", "age + 1"],
                    rows: [
                        [.text("Joseph"), .text("Looms"), .integer(41)],
                        [.text("Charles"), .text("Engines"), .integer(51)],
                    ]))
        #expect(try run("SELECT DISTINCT age FROM Person ORDER BY age LIMIT 1 OFFSET 1").rows == [[.integer(40)]])
    }

    @Test func aggregatesAndGroups() throws {
        #expect(
            try run("SELECT count(*), sum(age), avg(age), min(name), max(age), count(department) FROM Person")
                == QueryRows(
                    columns: ["count(*)", "sum(age)", "avg(age)", "min(name)", "max(age)", "count(department)"],
                    rows: [[.integer(4), .integer(162), .double(40.5), .text("Ada"), .integer(50), .integer(3)]]))
        #expect(
            try run("SELECT department.name, count(*) AS n FROM Person GROUP BY department.name ORDER BY n DESC, 1")
                .rows == [
                    [.text("Engines"), .integer(2)], [.null, .integer(1)], [.text("Looms"), .integer(1)],
                ])
        #expect(
            try run("SELECT age, count(*) FROM Person GROUP BY age ORDER BY count(*) DESC, age DESC LIMIT 2").rows == [
                [.integer(36), .integer(2)], [.integer(50), .integer(1)],
            ])
        #expect(
            try run("SELECT age, sum(id), count(*) FROM Person GROUP BY age ORDER BY count(*) ASC, sum(id) DESC").rows
                == [
                    [.integer(40), .integer(3), .integer(1)], [.integer(50), .integer(2), .integer(1)],
                    [.integer(36), .integer(5), .integer(2)],
                ])
        #expect(try run("SELECT count(*) FROM Person WHERE age > 1000").rows == [[.integer(0)]])
        #expect(try run("SELECT age FROM Person WHERE age > 1000 GROUP BY age").rows == [])
    }

    @Test(arguments: [
        "SELECT", "SELECT a", "SELECT * FROM", "SELECT * FROM Nobody", "SELECT * FROM Person WHERE",
        "SELECT nmae FROM Person",
        "SELECT name, count(*) FROM Person", "SELECT * FROM Person GROUP BY age", "SELECT * FROM Person LIMIT x",
        "SELECT * FROM Person ORDER BY 9",
        "SELECT age, count(*) FROM Person GROUP BY age ORDER BY name", "SELECT sum(name) FROM Person",
        "SELECT * FROM Person x y", "DELETE FROM Person", "SELECT sum(sum(age)) FROM Person",
        "SELECT count(*) FROM Person GROUP BY count(*)", "SELECT age FROM Person WHERE count(*) > 1",
        "SELECT name FROM Person HAVING age > 1", "SELECT sum(age, 1) FROM Person", "SELECT sum(DISTINCT) FROM Person",
    ])
    func faultsAreErrors(text: String) throws {
        #expect(throws: RecordError.self) { try run(text) }
    }

    @Test func ordersLimitsAndSums() throws {
        #expect(try run("SELECT count(*) FROM Person LIMIT 0").rows == [])
        #expect(try run("SELECT count(*) FROM Person LIMIT 5 OFFSET 1").rows == [])
        #expect(
            try run("SELECT name FROM Person ORDER BY age ASC, name DESC").rows.map { $0[0] }
                == ["Mary", "Ada", "Joseph", "Charles"].map(Value.text))
        #expect(
            try run("SELECT sum(age / 2.0), avg(age / 2.0), min(age / 2.0), max(age / 2.0) FROM Person").rows
                == [[.double(81), .double(20.25), .double(18), .double(25)]])
        #expect(
            try run("SELECT sum(age), avg(age), min(age), max(name), count(age) FROM Person WHERE age > 99").rows
                == [[.null, .null, .null, .null, .integer(0)]])
        #expect(
            try run("SELECT age, count(*) FROM Person GROUP BY age ORDER BY age ASC").rows
                == [[.integer(36), .integer(2)], [.integer(40), .integer(1)], [.integer(50), .integer(1)]])
        #expect(try run("SELECT name FROM Person ORDER BY name COLLATE NOCASE DESC LIMIT 1").rows == [[.text("Mary")]])
        #expect(try run("SELECT name FROM Person WHERE name COLLATE BINARY = 'Ada'").rows == [[.text("Ada")]])
        #expect(throws: RecordError.self) { try run("SELECT name FROM Person ORDER BY age COLLATE NOCASE") }
    }

    /// Only the first rows of many are held, and their memory is compacted now and then.
    @Test(arguments: [5, 1500]) func theFirstOfManyLongTexts(limit: Int) throws {
        let fixture = try Fixture(EntitySchema(name: "T", columns: [ColumnSchema("t", .text)]))
        let texts = (0..<2500).map { String(repeating: "z", count: 1000) + "\(9000 - $0)" }
        try fixture.insertAll("T", texts.map { [.text($0)] })
        let found = try Selection(table: "T", orderBy: Order.parse("t"), limit: limit).plan(fixture.catalogue)
            .rows([.path("t")], in: fixture.store.snapshot())
        #expect(found == texts.sorted().prefix(limit).map { [.text($0)] })
    }

    @Test func valuesWithoutAPlaceAreRefused() throws {
        let fixture = try fixture()
        let statement = try SelectStatement.parse("SELECT name FROM Person WHERE age > ?")
        let error = #expect(throws: RecordError.self) {
            try statement.plan(fixture.catalogue, parameters: [.integer(1), .integer(2)])
        }
        #expect("\(try #require(error))".hasPrefix("the text has 1 parameter, but 2 values were given\n  SELECT"))
        _ = try statement.plan(fixture.catalogue, parameters: [.integer(1)])
        let two = Fixture.error { _ = try Condition.parse("age > ? AND age < ?", values: 3) }
        #expect("\(try #require(two))".hasPrefix("the text has 2 parameters, but 3 values were given"))
        #expect(throws: RecordError.self) { try Condition.parse("age > 3", values: 1) }
        #expect(try Condition.parse("age > ?1 AND age < ?1", values: 1) == Condition.parse("age > ?1 AND age < ?1"))
    }

    @Test func explainNamesTheAccessPath() throws {
        let fixture = try fixture()
        let plan = try SelectStatement.parse("SELECT name FROM Person WHERE id = 3").plan(fixture.catalogue)
        #expect(plan.description == "search Person by key (id = 3)")
    }
}
