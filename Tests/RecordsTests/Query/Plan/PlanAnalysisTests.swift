import MakoStorage
import Testing

import MakoRecords

/// The output of `EXPLAIN ANALYZE`.
@Suite struct PlanAnalysisTests {
    /// 3000 people, a hundred of each age from 0 to 29, in ten departments.
    private static func people() throws -> Fixture {
        let fixture = try Fixture(
            EntitySchema(name: "Department", columns: [ColumnSchema("name", .text)]),
            EntitySchema(
                name: "Person",
                columns: [
                    ColumnSchema("name", .text), ColumnSchema("age", .integer),
                    ColumnSchema("department", .reference, isOptional: true, target: "Department"),
                ],
                indexes: [IndexSchema("Person.age", [IndexColumn("age")])]))
        let departments: [[Value]] = (1...10).map { [.text("d\($0)")] }
        try fixture.insertAll("Department", departments)
        try fixture.insertAll("Person", (0..<3000).map(person))
        return fixture
    }

    private static func person(_ number: Int) -> [Value] {
        let name = number % 2 == 0 ? "even" : "odd"
        let department = number % 10
        return [
            .text(name), .integer(Int64(number % 30)), department == 0 ? .null : .integer(Int64(department)),
        ]
    }

    private func analysis(_ text: String, _ fixture: Fixture) throws -> PlanAnalysis {
        try SelectStatement.parse(text).analysis(fixture.catalogue, view: fixture.store.snapshot())
    }

    private func counts(_ analysis: PlanAnalysis) -> [[Int]] {
        analysis.steps.map { [$0.examinedEntries, $0.examinedRows, $0.passed] }
    }

    @Test func anIndexAFilterAndASort() throws {
        let found = try analysis(
            "SELECT name FROM Person WHERE age = 7 AND id > 1500 ORDER BY name LIMIT 20", Self.people())
        #expect(
            found.steps.map(\.text) == [
                "search Person using index Person.age (age = 7)", "filter id > 1500", "sort by name limit 20",
            ])
        #expect(counts(found) == [[100, 100, 100], [0, 100, 50], [0, 50, 20]] && found.rows == 20)
    }

    @Test func aFilterLeavesRowsOut() throws {
        let fixture = try Self.people()
        let found = try analysis("SELECT id FROM Person WHERE name = 'even'", fixture)
        #expect(counts(found) == [[0, 3000, 3000], [0, 3000, 1500]])
        let both = try analysis("SELECT id FROM Person WHERE age = 7 AND name = 'even'", fixture)
        #expect(counts(both) == [[100, 100, 100], [0, 100, 0]] && both.rows == 0)
    }

    /// Rows that a limit saves are not counted.
    @Test func aLimitEndsTheScan() throws {
        let found = try analysis("SELECT id FROM Person LIMIT 3 OFFSET 2", Self.people())
        #expect(counts(found) == [[0, 5, 5], [0, 5, 3]])
    }

    /// Rows that an offset leaves out are not read where an index alone finds them.
    @Test func anOffsetReadsNoRows() throws {
        let fixture = try Self.people()
        for text in [
            "SELECT name FROM Person WHERE age = 7 LIMIT 10 OFFSET 80",
            "SELECT name FROM Person WHERE age = 7 ORDER BY id DESC LIMIT 10 OFFSET 80",
        ] {
            let found = try analysis(text, fixture)
            #expect(counts(found) == [[90, 10, 90], [0, 90, 10]], "\(text)")
        }
        let ids = try SelectStatement.parse("SELECT id FROM Person WHERE age = 7 LIMIT 2 OFFSET 98")
            .run(fixture.catalogue, view: fixture.store.snapshot()).rows
        #expect(ids == [[.integer(2948)], [.integer(2978)]])
    }

    @Test func timesAreThoseOfTheSteps() throws {
        let found = try analysis("SELECT name FROM Person ORDER BY name", Self.people())
        let sum = found.steps.reduce(Duration.zero) { $0 + $1.time }
        #expect(found.steps.allSatisfy { $0.time > .zero } && sum <= found.time)
    }

    @Test func groups() throws {
        let fixture = try Self.people()
        let found = try analysis(
            "SELECT age, count(*) FROM Person GROUP BY age HAVING age > 19 ORDER BY 2 DESC, age LIMIT 4", fixture)
        #expect(
            found.steps.dropFirst().map(\.text) == [
                "group by age in order", "having age > 19", "sort by count(*) DESC, age limit 4",
            ])
        #expect(counts(found) == [[3000, 0, 3000], [0, 3000, 30], [0, 30, 10], [0, 10, 4]])
        let summed = try analysis("SELECT sum(age) FROM Person", fixture)
        #expect(counts(summed) == [[0, 3000, 3000], [0, 3000, 1]])
    }

    /// Index-only queries read no rows.
    @Test func indexesAlone() throws {
        let fixture = try Self.people()
        let counted = try analysis("SELECT count(*) FROM Person WHERE age = 3", fixture)
        #expect(counts(counted) == [[100, 0, 100], [0, 100, 1]])
        let different = try analysis("SELECT DISTINCT age FROM Person", fixture)
        #expect(different.steps[0].examinedRows == 0 && different.steps[0].examinedEntries > 0 && different.rows == 30)
        let best = try analysis("SELECT max(age) FROM Person", fixture)
        #expect(best.steps[0].examinedRows <= 8 && best.rows == 1)
    }

    /// Where the result is a count, or smallest and largest values, the lines of the plan are the steps that run.
    @Test(arguments: [
        ("SELECT count(*) FROM Person", ["count of Person"], 0),
        (
            "SELECT count(*) FROM Person WHERE age < 2",
            ["count", "  search Person using covering index Person.age (age < 2)"], 200
        ),
        ("SELECT count(*) FROM Person WHERE id < 4", ["count", "  search Person by key range (id < 4)"], 3),
        (
            "SELECT max(age), min(id) FROM Person",
            [
                "max(age), min(id) by index order", "  limit 1",
                "    search Person using covering index Person.age (age IS NOT NULL), already in order of age DESC",
                "  limit 1", "    scan Person, already in order of id",
            ], 2
        ),
    ])
    func shortResultsAreStepsOfThePlan(text: String, lines: [String], read: Int) throws {
        let fixture = try Self.people()
        let view = try fixture.store.snapshot()
        let plan = try SelectStatement.parse(text).explanation(fixture.catalogue, view: view)
        let found = try analysis(text, fixture)
        #expect(plan.outline.split(separator: "\n").map(String.init) == lines)
        #expect(found.plan.outline == plan.outline)
        let examined = found.steps.filter { $0.text.hasSuffix("scan") || $0.node.table != nil }
            .reduce(0) { $0 + $1.examinedEntries + $1.examinedRows }
        #expect(examined == read)
    }

    /// A sub-query that groups is planned with the outer query, and runs with that plan.
    @Test func subqueriesThatGroupRunAsPlanned() throws {
        let fixture = try Self.people()
        let text = "SELECT id FROM Department WHERE id IN (SELECT age FROM Person GROUP BY age HAVING count(*) > 99)"
        let view = try fixture.store.snapshot()
        let plan = try SelectStatement.parse(text).explanation(fixture.catalogue, view: view)
        let found = try analysis(text, fixture)
        let subquery = try #require(found.subqueries.first)
        #expect(
            plan.outline.contains("\n    having count(*) > 99\n      group by age in order\n        scan Person using"))
        #expect(plan.outline.contains("\n  " + subquery.text + "\n"))
        #expect([subquery.examinedEntries, subquery.examinedRows] == [3000, 0] && found.rows == 10)
    }

    @Test func unitedIndexes() throws {
        let found = try analysis("SELECT id FROM Person WHERE age = 3 OR id = 7", Self.people())
        #expect(
            found.steps.map(\.text) == [
                "index Person.age", "given keys", "union of row ids", "search Person by row ids (age = 3 OR id = 7)",
            ])
        #expect(counts(found) == [[100, 0, 100], [0, 0, 1], [0, 0, 101], [0, 101, 101]] && found.rows == 101)
    }

    @Test func joins() throws {
        let fixture = try Self.people()
        let looked = try analysis(
            "SELECT p.name, d.name FROM Person p JOIN Department d ON d.id = p.department WHERE p.id < 21", fixture)
        #expect(looked.steps.map(\.passed) == [20, 10, 18] && looked.rows == 18, "\(looked)")
        let every = try analysis(
            "SELECT d.name, count(*) FROM Department d LEFT JOIN Person p ON d.id = p.department GROUP BY d.name",
            fixture)
        // Department 10 has no person, and is in the result.
        #expect(
            every.steps.map(\.node.operation) == [.scan, .scan, .hashJoin, .hashAggregate],
            "\(every)")
        #expect(every.rows == 10 && every.steps.map(\.passed) == [10, 3000, 2701, 10])
        #expect(every.steps[1].examinedRows == 3000 && every.steps[3].examinedRows == 2701)
        #expect(every.steps[2].memory > 3000 * 8 && every.steps[3].memory > 0 && every.steps[0].memory == 0)
    }

    /// The reads of sub-queries are in lines of their own, not in those of the steps.
    @Test func subqueries() throws {
        let fixture = try Self.people()
        let listed = try analysis(
            "SELECT id FROM Person WHERE name = 'odd' AND age IN (SELECT id FROM Department WHERE name < 'd3')", fixture
        )
        #expect(listed.subqueries.map { [$0.examinedEntries, $0.examinedRows] } == [[0, 10]])
        let named = try #require(listed.subqueries.first)
        #expect("\(named)" == "sub-query (id of Department), once (10 rows examined)")
        #expect(listed.description.contains("  sub-query (id of Department), once ("))
        #expect(listed.steps[0].examinedRows + listed.steps[0].examinedEntries > 0)
        // All people are scanned once, whatever the number of departments.
        let grouped = try analysis(
            """
            SELECT id FROM Department d
            WHERE (SELECT count(*) FROM Person p WHERE p.department = d.id AND name = 'odd') > 3
            """, fixture)
        #expect(grouped.steps.filter { $0.node.table == "Person" }.map(\.examinedRows) == [3000], "\(grouped)")
        #expect(grouped.steps.last?.text == "search Department by row ids ((count(*) of Person) > 3)")
        #expect(grouped.steps.last?.examinedRows ?? 0 <= 10)
        // By the index alone for each of ten, a hundred entries of each.
        let counted = try analysis(
            "SELECT id, (SELECT count(*) FROM Person p WHERE p.age = d.id) FROM Department d", fixture)
        #expect(counted.subqueries.map { [$0.examinedEntries, $0.examinedRows] } == [[1000, 0]])
        // One nested in another, and one that groups.
        let nested = try analysis(
            """
            SELECT id FROM Department WHERE id IN (SELECT department FROM Person WHERE id < 21 AND age =
            (SELECT max(id) FROM Department)) OR id IN (SELECT age FROM Person GROUP BY age HAVING count(*) > 99)
            """, fixture)
        #expect(nested.subqueries.count == 3)
        #expect(nested.subqueries.map { $0.examinedEntries + $0.examinedRows }.reduce(0, +) > 3000)
        #expect(try analysis("SELECT id FROM Person", fixture).subqueries.isEmpty)
        let parts = try analysis(
            """
            SELECT id FROM Person WHERE age = (SELECT max(id) FROM Department)
            UNION SELECT id FROM Person WHERE age = (SELECT min(id) FROM Department)
            """, fixture)
        #expect(parts.subqueries.count == 2)
    }

    /// Conditions on many are sub-queries.
    @Test func conditionsOnMany() throws {
        let all = try ManyFixture(seed: 3, isIndexed: true)
        func found(_ table: String, _ text: String) throws -> PlanAnalysis {
            try #require(
                try Selection(table: table, condition: .parse(text)).explanation(
                    all.catalogue, in: all.fixture.store.snapshot(), analyzing: true
                ).analysis)
        }
        let friends = all.people.reduce(0) { $0 + $1.friends.count }
        let held = try found("Person", "NONE friends.age > 100")
        #expect(held.subqueries.map { [$0.examinedEntries, $0.examinedRows] } == [[0, friends]])
        let holders = try found("Person", "NONE fans.age > 100")
        #expect(holders.subqueries.map(\.examinedEntries) == holders.subqueries.map(\.examinedRows))
        let people = all.people.filter { $0.department != nil }.count
        let linked = try found("Department", "NONE people.salary > 100")
        #expect(linked.subqueries.map { [$0.examinedEntries, $0.examinedRows] } == [[people, people]])
    }

    @Test func compoundQueries() throws {
        let found = try analysis(
            "SELECT age FROM Person WHERE id = 1 UNION SELECT age FROM Person WHERE id < 4 ORDER BY 1 LIMIT 2",
            Self.people())
        #expect(found.steps.map(\.text).suffix(3) == ["union", "sort by age", "limit 2"] && found.rows == 2)
        #expect(counts(found).suffix(3) == [[0, 4, 3], [0, 3, 3], [0, 3, 2]])
    }

    @Test func theStatement() throws {
        let fixture = try Self.people()
        let statement = try Statement.parse("EXPLAIN ANALYZE SELECT id FROM Person WHERE age = ?")
        #expect(statement.isReadOnly && statement.parameterCount == 1)
        let rows = try statement.read(fixture.catalogue, view: fixture.store.snapshot(), parameters: [.integer(7)])
        guard case .text(let text)? = rows.rows.first?.first else {
            Issue.record("no text")
            return
        }
        let lines = text.split(separator: "\n")
        #expect(lines[0].hasPrefix("search Person using covering index Person.age (age = 7) (about "))
        #expect(lines[0].contains(") (100 entries, 0 rows examined, 100 passed, ") && lines[0].hasSuffix(" ms)"))
        #expect(lines.count == 2 && lines[1].hasPrefix("100 rows in "))
    }

    /// A measured run gives the numbers of rows that an ordinary one gives.
    @Test func whatIsMeasuredIsWhatIsRun() throws {
        let fixture = try Self.people()
        for text in [
            "SELECT * FROM Person", "SELECT DISTINCT name, age FROM Person ORDER BY age LIMIT 9 OFFSET 4",
            "SELECT * FROM Person ORDER BY id DESC LIMIT 5", "SELECT * FROM Person WHERE id IN (4, 9, 70000)",
            "SELECT min(age), max(age) FROM Person", "SELECT * FROM Person WHERE age IN (1, 2) AND id > 2000",
            "SELECT a.id FROM Person a JOIN Person b ON a.age = b.id WHERE a.id < 100 ORDER BY b.name, a.id",
            "SELECT count(*) FROM Department d JOIN Person p ON p.department = d.id",
            "SELECT id FROM Person WHERE department IN (SELECT id FROM Department WHERE name = 'd3')",
            "SELECT age FROM Person EXCEPT SELECT age FROM Person WHERE age < 12",
            "SELECT count(*) FROM Person LIMIT 0",
        ] {
            let statement = try SelectStatement.parse(text)
            let view = try fixture.store.snapshot()
            let rows = try statement.run(fixture.catalogue, view: view).rows.count
            #expect(try statement.analysis(fixture.catalogue, view: view).rows == rows, "\(text)")
        }
    }
}
