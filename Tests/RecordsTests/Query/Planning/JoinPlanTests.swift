import MakoStorage
import Testing

@testable import MakoRecords

/// The choice of join methods, and that all of them give the same rows.
@Suite struct JoinPlanTests {
    private func plan(_ text: String, _ sizes: [String: Int], indexed: Bool = true) throws -> String {
        let fixture = try JoinFixture.make(indexed: indexed)
        return try SizedQuery(SelectStatement.parse(text), fixture.catalogue, [], [:]) { sizes[$0.schema.name] }
            .plan().node(nil).outline
    }

    private static let employed = "SELECT p.name, d.name FROM Person p JOIN Department d ON p.department = d.id"

    @Test func aSmallTableIsKept() throws {
        #expect(
            try plan(Self.employed, ["Person": 100_000, "Department": 10])
                == """
                join Department AS d by hash (d.id = p.department)
                  scan Person AS p
                  scan Department AS d
                """)
    }

    @Test func fewRowsAreLookedUp() throws {
        #expect(
            try plan(Self.employed + " WHERE p.id = 3", ["Person": 100_000, "Department": 10_000])
                == """
                join Department AS d by key (p.department)
                  search Person AS p by key (p.id = 3)
                """)
        #expect(
            try plan(
                "SELECT * FROM Pet JOIN Person p ON Pet.owner = p.id WHERE p.id = 3 AND Pet.kind LIKE '%x'",
                ["Person": 100_000, "Pet": 100_000])
                    == """
                    join Pet using index Pet.owner (p.id), test Pet.kind LIKE '%x'
                      search Person AS p by key (p.id = 3)
                    """)
    }

    /// The smaller rows before a large table are hashed, instead of the table.
    @Test func aLargeTableIsScanned() throws {
        let text = """
            SELECT count(*) FROM Person p JOIN Department d ON d.id = p.department JOIN Location l ON l.id = d.location
            WHERE l.city = 'London'
            """
        let sizes = ["Person": 1_000_000, "Department": 1000, "Location": 50]
        let hashed = "join Person AS p by hash of the rows before it (p.department = d.id)"
        #expect(try plan(text, sizes, indexed: false).contains(hashed))
        // With an order or a limit the rows come in the order of the first table.
        for ending in [" ORDER BY l.id", " LIMIT 3"] {
            let rows = text.replacing("count(*)", with: "p.id") + ending
            #expect(try !plan(rows, sizes, indexed: false).contains("rows before it"))
        }
        let left = "SELECT count(*) FROM Department d LEFT JOIN Person p ON d.id = p.department"
        #expect(try !plan(left, sizes, indexed: false).contains("rows before it"))
    }

    /// The rows before the scanned table may be missing, match nothing, or suffice before all were read.
    @Test(arguments: [
        """
        SELECT d.name, l.city, p.name FROM Department d LEFT JOIN Location l ON d.location = l.id
        JOIN Person p ON p.department = d.id
        """,
        "SELECT p.name, x.kind FROM Department d JOIN Pet x ON x.owner = d.location JOIN Person p ON p.boss = x.owner",
        "SELECT DISTINCT d.location FROM Department d JOIN Person p ON p.department = d.id WHERE d.id = 1 LIMIT 1",
    ])
    func aScannedTableMatchesHashedRows(text: String) throws {
        let fixture = try JoinFixture.make(indexed: false)
        try fixture.insert("Person", [.text("Zoe"), .integer(30), .integer(3), .null])
        let statement = try SelectStatement.parse(text)
        let sizes = ["Person": 1_000_000, "Pet": 100_000, "Department": 1000, "Location": 50]
        let plan = try SizedQuery(statement, fixture.catalogue, [], [:]) { sizes[$0.schema.name] }.plan()
        #expect(plan.node(nil).outline.contains("by hash of the rows before it"), "\(plan.node(nil))")
        let view = try fixture.store.snapshot()
        let rows = try plan.rows(in: view)
        let expected = try SizedQuery(statement, fixture.catalogue, [], [:]) { _ in 3 }.plan().rows(in: view)
        #expect(!rows.isEmpty && Set(rows) == Set(expected) && rows.count == expected.count)
    }

    @Test func leftJoinsStayLeftWhereTheyMust() throws {
        #expect(
            try plan(
                "SELECT 1 FROM Person p LEFT JOIN Department d ON p.department = d.id AND d.budget > 3 WHERE d.id IS NULL",
                ["Person": 10, "Department": 100_000])
                    == """
                    filter d.id IS NULL
                      left join Department AS d by key (p.department), test d.budget > 3.0
                        scan Person AS p
                    """)
        #expect(
            try plan(
                "SELECT 1 FROM Person p LEFT JOIN Department d ON p.department = d.id WHERE d.name = 'x'",
                ["Person": 100_000, "Department": 10]
            ).contains("left") == false)
    }

    @Test func ordersAndLimits() throws {
        let ordered = try plan(
            "SELECT * FROM Person p JOIN Department d ON p.department = d.id ORDER BY p.age LIMIT 5",
            ["Person": 100_000, "Department": 10_000])
        let expected = """
            limit 5
              join Department AS d by key (p.department)
                scan Person AS p using index Person.age, already in order of p.age
            """
        #expect(ordered == expected)
        #expect(
            try plan(
                "SELECT d.name, count(*) FROM Person p JOIN Department d ON p.department = d.id GROUP BY d.name HAVING count(*) > 2 ORDER BY 2 DESC LIMIT 5",
                ["Person": 100_000, "Department": 10])
                    == """
                    sort by count(*) DESC limit 5
                      having count(*) > 2
                        group by d.name
                          join Department AS d by hash (d.id = p.department)
                            scan Person AS p
                            scan Department AS d
                    """)
        #expect(
            try plan("SELECT * FROM Location, Kind WHERE 1 = 2", [:]) == "nothing to read")
    }

    /// The table sizes that the planner gets decide the join order and the methods, never the result.
    @Test(arguments: [
        (
            "SELECT p.id, d.id, l.id FROM Person p JOIN Department d ON p.department = d.id JOIN Location l ON d.location = l.id",
            2
        ),
        (
            "SELECT p.id, d.id, x.id FROM Person p LEFT JOIN Department d ON p.department = d.id LEFT JOIN Pet x ON x.owner = p.id AND x.kind COLLATE NOCASE = 'CAT'",
            2
        ),
        (
            "SELECT p.id, x.id, k.code FROM Person p JOIN Pet x ON x.owner = p.id LEFT JOIN Kind k ON k.code = x.kind WHERE p.age < 45",
            2
        ),
        (
            "SELECT a.id, b.id, x.id FROM Person a, Person b, Pet x WHERE a.boss = b.id AND x.owner = b.id AND a.age <= b.age",
            2
        ),
        (
            "SELECT a.id, x.id FROM Person a JOIN Pet x ON x.owner > a.id", 2
        ),
        (
            "SELECT d.id, p.id FROM Department d LEFT JOIN Person p ON p.department = d.id WHERE p.age IS NULL OR p.age > 36",
            1
        ),
        (
            "SELECT x.id, y.id FROM Pet x JOIN Pet y ON x.kind = y.kind COLLATE NOCASE AND x.owner = y.owner", 1
        ),
        (
            "SELECT p.id, x.id, y.id FROM Person p JOIN Pet x ON x.owner = p.id LEFT JOIN Pet y ON y.owner = p.boss AND y.kind = x.kind",
            2
        ),
    ])
    func everyJoinMethodGivesTheSameRows(text: String, methods: Int) throws {
        var answers: Set<[[Value]]> = []
        var plans: Set<String> = []
        for indexed in [true, false] {
            let fixture = try JoinFixture.make(indexed: indexed, more: 60)
            let view = try fixture.store.snapshot()
            let names = ["Person", "Department", "Location", "Pet", "Kind"]
            for seed in 0..<40 {
                var random = Seeded(UInt64(seed))
                let sizes = Dictionary(uniqueKeysWithValues: names.map { ($0, random.pick([1, 20, 3000, 5_000_000])) })
                let plan = try SizedQuery(SelectStatement.parse(text), fixture.catalogue, [], [:]) {
                    sizes[$0.schema.name]
                }.plan()
                plans.insert(plan.node(nil).outline)
                let rows = try plan.rows(in: view)
                answers.insert(rows.sorted { KeyOrder.precedes(Self.bytes($0), Self.bytes($1)) })
            }
        }
        #expect(answers.count == 1)
        #expect(plans.count >= methods)
        #expect(answers.first?.isEmpty == false)
    }

    private static func bytes(_ row: [Value]) -> [UInt8] {
        var buffer = KeyBuffer()
        for value in row { buffer.append(value) }
        return buffer.bytes
    }
}
