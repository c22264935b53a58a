import MakoRecords
import MakoStorage
import Testing

/// `CASE … END`. `ExpressionTests` covers its values with columns and constants, `docs/where.md` what is refused.
@Suite struct ChoiceTests {
    private static func fixture() throws -> Fixture {
        let fixture = try Fixture(
            EntitySchema(name: "Shop", columns: [ColumnSchema("name", .text), ColumnSchema("end", .integer)]),
            EntitySchema(
                name: "Sale",
                columns: [
                    ColumnSchema("shop", .reference, isOptional: true, target: "Shop"),
                    ColumnSchema("amount", .integer, isOptional: true), ColumnSchema("case", .text),
                ]))
        try fixture.insertAll("Shop", [[.text("a"), .integer(1)], [.text("b"), .integer(2)]])
        try fixture.insertAll(
            "Sale",
            [
                [.integer(1), .integer(5), .text("x")], [.integer(1), .integer(30), .text("y")],
                [.integer(2), .null, .text("x")], [.null, .integer(12), .text("z")],
            ])
        return fixture
    }

    private func rows(_ text: String, _ parameters: [Value] = []) throws -> [String] {
        let fixture = try Self.fixture()
        return JoinFixture.text(
            try SelectStatement.parse(text).run(
                fixture.catalogue, view: fixture.store.snapshot(), parameters: parameters
            ).rows)
    }

    private let size = "CASE WHEN amount >= 20 THEN 'large' WHEN amount >= 10 THEN 'fair' ELSE 'small' END"

    @Test func amongTheColumns() throws {
        #expect(try rows("SELECT id, \(size) AS size FROM Sale") == ["1 small", "2 large", "3 small", "4 fair"])
        #expect(try rows("SELECT CASE amount WHEN 5 THEN 'five' WHEN 12 THEN 'twelve' END FROM Sale").count == 4)
        #expect(
            try rows("SELECT CASE WHEN amount IS NULL THEN 0.5 ELSE amount END FROM Sale") == ["5", "30", "0.5", "12"])
        #expect(try rows("SELECT id FROM Sale WHERE CASE ? WHEN 1 THEN amount END > 10", [.integer(1)]) == ["2", "4"])
    }

    @Test func inGroupsOrdersAndAggregates() throws {
        #expect(
            try rows("SELECT \(size) AS size, count(*) FROM Sale GROUP BY size ORDER BY size")
                == ["fair 1", "large 1", "small 2"])
        #expect(
            try rows(
                "SELECT sum(CASE WHEN shop = 1 THEN 1 ELSE 0 END), count(CASE WHEN amount > 10 THEN 1 END) FROM Sale")
                == ["2 2"])
        #expect(
            try rows(
                "SELECT shop, CASE WHEN count(*) > 1 THEN max(amount) ELSE -1 END FROM Sale GROUP BY shop "
                    + "HAVING CASE WHEN shop IS NULL THEN FALSE ELSE TRUE END ORDER BY CASE shop WHEN 2 THEN 0 ELSE 1 END"
            )
                == ["2 -1", "1 30"])
        #expect(
            try rows("SELECT id FROM Sale ORDER BY CASE WHEN amount IS NULL THEN 1 ELSE 0 END, amount DESC LIMIT 2")
                == ["2", "4"])
        #expect(throws: RecordError.self) {
            try rows("SELECT shop, CASE WHEN amount > 1 THEN 1 END FROM Sale GROUP BY shop")
        }
    }

    @Test func overPathsJoinsAndSubqueries() throws {
        #expect(
            try rows("SELECT id FROM Sale WHERE CASE shop.name WHEN 'a' THEN amount ELSE 100 END >= 30") == [
                "2", "3", "4",
            ])
        #expect(
            try rows(
                "SELECT s.id, CASE WHEN h.name = 'a' THEN s.amount ELSE h.\"end\" END FROM Sale s "
                    + "LEFT JOIN Shop h ON h.id = s.shop ORDER BY 1") == ["1 5", "2 30", "3 2", "4 NULL"])
        #expect(
            try rows(
                "SELECT id FROM Sale WHERE CASE WHEN shop IN (SELECT id FROM Shop WHERE name = 'b') THEN 1 "
                    + "WHEN EXISTS (SELECT 1 FROM Sale o WHERE o.id > Sale.id AND o.shop = Sale.shop) THEN 1 END = 1")
                == ["1", "3"])
        #expect(
            try rows(
                "WITH big AS (SELECT id, \(size) AS size FROM Sale) SELECT CASE WHEN size = 'large' THEN id END FROM big "
                    + "WHERE size <> 'small'") == ["2", "NULL"])
        // The row of NULLs decides as well.
        #expect(
            try rows(
                "SELECT s.id FROM Sale s LEFT JOIN Shop h ON h.id = s.shop WHERE CASE WHEN h.id IS NULL THEN 1 ELSE 0 END = 1"
            )
                == ["4"])
    }

    @Test func choicesInsideChoices() throws {
        let inner = "CASE WHEN amount > 10 THEN 1 ELSE 2 END"
        #expect(
            try rows(
                "SELECT CASE \(inner) WHEN 1 THEN 'a' WHEN CASE shop WHEN 1 THEN 2 END THEN 'b' ELSE 'c' END FROM Sale")
                == ["b", "a", "c", "a"])
        // Subjects inside subjects are worked out once each, however deep they are.
        var text = "amount"
        for _ in 0..<20 { text = "CASE \(text) WHEN 5 THEN 5 WHEN 30 THEN 30 WHEN 12 THEN 12 END" }
        #expect(try rows("SELECT \(text) FROM Sale") == ["5", "30", "NULL", "12"])
    }

    /// None of the words is reserved.
    @Test func columnsMayBeCalledSo() throws {
        #expect(try rows("SELECT case FROM Sale WHERE case = 'z'") == ["z"])
        #expect(try rows("SELECT id FROM Sale WHERE case IN ('y') OR case || 'q' = 'zq'") == ["2", "4"])
        #expect(try rows("SELECT CASE \"case\" WHEN 'x' THEN 1 ELSE 0 END FROM Sale") == ["1", "0", "1", "0"])
        #expect(try rows("SELECT CASE WHEN case = 'x' THEN case ELSE 'no' END FROM Sale ORDER BY case DESC").count == 4)
        #expect(try rows("SELECT end FROM Shop WHERE end > 1") == ["2"])
    }

    /// `||` joins texts inside a branch, and is OR before a condition.
    @Test func barsInsideBranches() throws {
        #expect(
            try rows("SELECT CASE WHEN case = 'x' || '' THEN 'p' || \"case\" WHEN amount = 12 THEN 'q' END FROM Sale")
                == ["px", "NULL", "px", "q"])
        #expect(
            try rows("SELECT id FROM Sale WHERE case = 'y' || CASE WHEN amount = 12 THEN '' ELSE '' END") == ["2"])
        #expect(try rows("SELECT id FROM Sale WHERE case = 'y' || CASE shop WHEN 2 THEN 1 END = 1") == ["2", "3"])
    }

    @Test func setByAnUpdate() throws {
        let fixture = try Self.fixture()
        let outcome = try fixture.store.write { tx in
            var changes = ChangeSet()
            return try Statement.parse("UPDATE Sale SET amount = CASE WHEN amount > 10 THEN amount - 10 ELSE 0 END")
                .run(fixture.catalogue, in: tx, changes: &changes)
        }
        #expect(outcome.changed == 4)
        let amounts = try (1...4).map { try fixture.values("Sale", .rowID($0))?[1] }
        #expect(amounts == [.integer(0), .integer(20), .integer(0), .integer(2)])
    }

    @Test func whatIsDecidedIsLeftOut() throws {
        let fixture = try Self.fixture()
        func plan(_ text: String) throws -> String {
            try Selection(table: "Sale", condition: .parse(text), parameters: [.integer(3)])
                .explanation(fixture.catalogue).chosen.text
        }
        #expect(try plan("CASE ? WHEN 2 THEN amount WHEN 3 THEN id END = 7") == "search Sale by key (id = 7)")
        #expect(
            try plan("CASE amount WHEN ? THEN 1 ELSE 2 END = 2")
                == "scan Sale, then filter CASE WHEN amount = 3 THEN 1 ELSE 2 END = 2")
    }

    /// Aggregates inside every kind of condition.
    @Test func aggregatesInItsConditions() throws {
        let all = try ManyFixture(seed: 2, isIndexed: true)
        let found = try all.rows(
            """
            SELECT CASE WHEN EXISTS (SELECT 1 FROM Pet WHERE age > 1000) AND max(name) LIKE 'Z%' ESCAPE '!' THEN 1
            WHEN max(name) GLOB 'Z*' OR count(*) IN (0, -1) OR NOT count(*) BETWEEN 1 AND 1000 THEN 2
            WHEN min(age) IN (SELECT age FROM Pet WHERE age > 1000) OR sum(salary) IS NULL THEN 3
            WHEN max(name) LIKE 'Z%' THEN 5 WHEN CASE count(*) WHEN 0 THEN TRUE ELSE FALSE END THEN 4 ELSE count(*) END,
            CASE WHEN FALSE THEN 1 WHEN max(salary) > 1000 THEN 2 END, CASE WHEN TRUE THEN count(*) ELSE 3 END FROM Person
            """)
        #expect(found == [[.integer(40), .null, .integer(40)]])
        #expect(try all.rows("SELECT 3 FROM Person HAVING TRUE") == [[.integer(3)]])
        #expect(try all.rows("SELECT 3 FROM Person WHERE age > 1000 HAVING count(*) = 0") == [[.integer(3)]])
        let grouped = try all.rows("SELECT Person.department, age + 1 FROM Person GROUP BY age + 1, department")
        let expected = Set(all.people.map { [$0.department, $0.age.map { $0 + 1 }] })
        #expect(grouped.count == expected.count)
    }

    /// The condition of a partial index may contain CASE.
    @Test func inTheConditionOfAnIndex() throws {
        var fixture = try Self.fixture()
        var schema = try fixture.table("Sale").schema
        schema.indexes.append(
            IndexSchema(
                "large", [IndexColumn("amount")], where: "CASE WHEN amount > 10 THEN TRUE ELSE FALSE END"))
        schema.indexes.append(
            IndexSchema("own", [IndexColumn("amount")], where: "CASE shop WHEN 1 THEN TRUE END"))
        try fixture.migrate(schema)
        try fixture.expectSound()
    }
}
