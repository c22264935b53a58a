import MakoRecords
import MakoStorage
import Testing

/// Queries that are refused, with their errors, and similar queries that are valid.
@Suite struct QueryRefusalTests {
    private static let path = Array(repeating: "boss", count: 40).joined(separator: ".")

    @Test(arguments: [
        ("CASE WHEN age > 1 THEN 2", "WHEN, ELSE or END is expected"),
        ("CASE age WHEN 1 THEN 2 ELSE 3 = 1", "END is expected"), ("staff.@sum. > 3", "a name is expected"),
        ("staff.@sum.\(path) > 3", "a path has at most 32 steps"), ("staff.@count.age > 3", "takes no property"),
        ("salary LIKE 'a%'", "salary"), ("staff.@middle.age > 3", "there is no @middle"),
    ])
    func conditionsAreRefused(text: String, message: String) throws {
        let all = try ManyFixture(seed: 1, isIndexed: true)
        let error = try #require(Fixture.error { _ = try all.plan("Person", text) })
        #expect("\(error)".contains(message), "\(error)")
    }

    /// `||` puts texts together and, between conditions, means OR.
    @Test(arguments: [
        ("age = 3 || ANY staff.age > 8", "age = 3 OR ANY staff.age > 8"),
        (
            "age = 3 || EXISTS (SELECT 1 FROM Pet WHERE owner = Person.id)",
            "age = 3 OR EXISTS (SELECT 1 FROM Pet WHERE owner = Person.id)"
        ),
        ("name || 'x' = 'Adax'", "name = 'Ada'"), (#"ANY "staff".age > 8"#, "ANY staff.age > 8"),
        (#"NONE "staff" . age > 8"#, "NOT ANY staff.age > 8"),
    ])
    func conditionsMeanOthers(text: String, other: String) throws {
        let all = try ManyFixture(seed: 1, isIndexed: true)
        #expect(try all.ids("Person", text) == all.ids("Person", other))
        #expect(try !all.ids("Person", text).isEmpty)
    }

    @Test func statementsAreRefused() throws {
        let fixture = try JoinFixture.make()
        func message(_ body: (borrowing Snapshot) throws -> Void) -> String {
            Fixture.error { try body(try fixture.store.snapshot()) }.map { "\($0)" } ?? ""
        }
        func run(_ text: String) -> String {
            message { _ = try SelectStatement.parse(text).run(fixture.catalogue, view: $0) }
        }
        let named = "WITH x AS (SELECT name FROM Person) "
        #expect(run(named + "SELECT y.* FROM x").contains("there is no table y"))
        #expect(run("SELECT Pat.*, name FROM Person").contains("there is no table Pat"))
        #expect(run("SELECT p.name FROM Person p, Pet ORDER BY 7").contains("no column 7"))
        for text in ["SELECT 1 FROM Person, Pet", "SELECT id FROM Person UNION SELECT id FROM Pet"] {
            #expect(
                message { _ in _ = try SelectStatement.parse(text).plan(fixture.catalogue) }.contains("several plans"))
        }
        for text in ["*", "Person.*"] {
            #expect(message { _ in _ = try SelectStatement.output(text) }.contains("columns of a group are named"))
        }
    }

    @Test func joinsNameColumns() throws {
        let fixture = try QueryFixture.small()
        func message(_ left: Expr, _ target: Expr, table: String = "B", name: String = "Other") throws -> String {
            var selection = Selection(table: "A", condition: try .parse("i > 0"))
            selection.joins = [SelectionJoin(table: table, name: name, left: left, target: target)]
            return Fixture.error { _ = try selection.bind(fixture.catalogue) }.map { "\($0)" } ?? ""
        }
        let one = Expr.literal(.integer(1))
        #expect(try message(one, .path("id")).contains("a join names two columns"))
        #expect(try message(.path("ref"), one).contains("a join names two columns"))
        #expect(try message(.path("ref"), .path("Else.id")).contains("leads to a column of B itself"))
        #expect(try message(.path("ref"), .path("Other.id.x")).contains("leads to a column of B itself"))
        #expect(try message(.path("ref"), .path("v")).contains("is not the key of B"))
        #expect(try message(.path("t"), .path("id")).contains("does not hold the key of B"))
        #expect(try message(.path("ref"), .path("id"), name: "a").contains("the query's own table"))
    }

    /// The names of columns take precedence over that of a join, and case is ignored where the name is unambiguous.
    @Test func joinsAreCalledAsColumnsAre() throws {
        let fixture = try QueryFixture.small()
        let view = try fixture.store.snapshot()
        func ids(_ condition: String, _ joins: [SelectionJoin]) throws -> [Int64] {
            var selection = Selection(table: "A", condition: try .parse(condition), orderBy: [Order("id")])
            selection.joins = joins
            return try selection.plan(fixture.catalogue).ids(in: view)
        }
        let other = SelectionJoin(table: "B", name: "Other", left: .path("ref"), target: .path("id"))
        let expected = try ids("ref.v = 1", [])
        #expect(try !expected.isEmpty && ids("other.v = 1", [other]) == expected)
        #expect(try ids("ref.v = 1", [other]) == expected)
        let inner = SelectionJoin(table: "C", name: "Code", left: .path("code"), target: .path("k"), isInner: true)
        // A key that no row has is a value of the column nevertheless; only the row itself is missing.
        #expect(try ids("i IS NOT NULL", [inner]) == ids("i IS NOT NULL AND code.w IS NOT NULL", []))
    }

    /// `*` beside other result columns, and limits that select no rows.
    @Test func columnsAndLimits() throws {
        let fixture = try JoinFixture.make()
        let view = try fixture.store.snapshot()
        func rows(_ text: String) throws -> QueryRows {
            try SelectStatement.parse(text).run(fixture.catalogue, view: view)
        }
        let both = try rows("SELECT *, upper(city) AS loud FROM Location ORDER BY id LIMIT 1")
        #expect(both.columns == ["id", "city", "loud"])
        #expect(both.rows == [[.integer(1), .text("London"), .text("LONDON")]])
        #expect(try rows("SELECT Location.*, 1 FROM Location").columns == ["id", "city", "1"])
        #expect(try rows("SELECT d.*, l.* FROM Department d, Location l WHERE l.id = d.location").rows.count == 2)
        #expect(try rows("SELECT age, count(*) FROM Person GROUP BY age LIMIT 0").rows.isEmpty)
        let output = try SelectStatement.output("age + 1 AS next")
        #expect(try output.name == "next" && output.expr == Expr.parse("age + 1"))
        let joined = "SELECT p.id FROM Person p JOIN Pet x ON x.owner = p.id "
        #expect(try rows(joined + "LIMIT 9223372036854775807 OFFSET 1").rows.count == 2)
        let grouped = try SelectStatement.parse(
            "SELECT name, count(*) FROM Person GROUP BY name ORDER BY name COLLATE NOCASE DESC, 2")
        #expect(
            try grouped.explanation(fixture.catalogue, view: view).text
                == "sort by name COLLATE NOCASE DESC, count(*)")
        #expect(try grouped.run(fixture.catalogue, view: view).rows.first?.first == .text("Mary"))
        let many = "SELECT id FROM Pet UNION SELECT p.id FROM Person p, Pet, Location UNION SELECT id FROM Location"
        #expect(try SelectStatement.parse(many).tableCount == 3)
    }

    /// Groups by a decimal and something else come in the order of both.
    @Test func groupsOfDecimals() throws {
        let fixture = try Fixture(
            EntitySchema(name: "T", columns: [ColumnSchema("price", .text), ColumnSchema("kind", .text)]))
        try fixture.insertAll(
            "T", [("10", "b"), ("9.5", "a"), ("10", "a"), ("-3", "a"), ("10", "a")].map { [.text($0.0), .text($0.1)] })
        let catalogue = fixture.catalogue.describing(["T": TableRelations(decimals: ["price"])])
        let rows = try SelectStatement.parse("SELECT price, kind, count(*) FROM T GROUP BY price, kind").run(
            catalogue, view: fixture.store.snapshot()
        ).rows
        #expect(
            rows.map { "\($0[0]) \($0[1]) \($0[2])" } == ["'-3' 'a' 1", "'9.5' 'a' 1", "'10' 'a' 2", "'10' 'b' 1"])
    }

    // MARK: - Common tables

    @Test func subqueriesInsideCommonTables() throws {
        let all = try ManyFixture(seed: 2, isIndexed: true)
        let named =
            "WITH x AS (SELECT id AS number, age AS years, department, friends, tags FROM Person WHERE age > 2) "
        let plain = "FROM Person WHERE age > 2 AND "
        for (text, other) in [
            (
                "years > (SELECT min(age) FROM Pet WHERE owner = x.number)",
                "age > (SELECT min(age) FROM Pet WHERE owner = Person.id)"
            ),
            // Inside a sub-query's sub-query, and where one names nothing outside.
            (
                "EXISTS (SELECT 1 FROM Pet WHERE age IN (SELECT budget FROM Department WHERE id = x.department))",
                "EXISTS (SELECT 1 FROM Pet WHERE age IN (SELECT budget FROM Department WHERE id = Person.department))"
            ),
            (
                "EXISTS (SELECT 1 FROM Pet WHERE age = (SELECT budget FROM Department WHERE id = x.department LIMIT 1))",
                "EXISTS (SELECT 1 FROM Pet WHERE age = (SELECT budget FROM Department WHERE id = Person.department LIMIT 1))"
            ),
            ("years IN (SELECT age FROM Pet)", "age IN (SELECT age FROM Pet)"),
            // Here the name is the sub-query's own.
            (
                "years IN (SELECT x.age FROM Pet AS x WHERE x.name = 'Rex')",
                "age IN (SELECT age FROM Pet WHERE name = 'Rex')"
            ),
            (
                "years IN (SELECT p.age FROM Pet p JOIN Person o ON o.id = p.owner)",
                "age IN (SELECT p.age FROM Pet p JOIN Person o ON o.id = p.owner)"
            ),
            (
                "EXISTS (SELECT 1 FROM Pet WHERE age = (SELECT max(d.budget) FROM Department d, Pet) AND age = x.years)",
                "EXISTS (SELECT 1 FROM Pet WHERE age = (SELECT max(d.budget) FROM Department d, Pet) AND age = Person.age)"
            ),
            ("friends.@count > 1", "friends.@count > 1"), ("x.friends.@count > 1", "friends.@count > 1"),
            ("tags.@count > 1", "tags.@count > 1"), ("ANY x.tags = 'x'", "ANY tags = 'x'"),
        ] {
            let expected = try all.rows("SELECT id \(plain)\(other) ORDER BY id")
            #expect(try all.rows("\(named)SELECT number FROM x WHERE \(text) ORDER BY number") == expected, "\(text)")
        }
        let value = "(SELECT count(*) FROM Pet WHERE owner ="
        #expect(
            try all.rows("\(named)SELECT number, \(value) x.number) FROM x ORDER BY 1")
                == all.rows("SELECT id, \(value) Person.id) FROM Person WHERE age > 2 ORDER BY 1"))
        let error = Fixture.error {
            _ = try all.rows("WITH x AS (SELECT age + 1 AS a FROM Person) SELECT a.@count FROM x")
        }
        #expect("\(error.map { "\($0)" } ?? "")".contains("a leads to no more than one row or value"))
    }
}
