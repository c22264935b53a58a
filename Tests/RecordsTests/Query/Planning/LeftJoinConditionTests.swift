import MakoRecords
import MakoStorage
import Testing

/// The planner's analysis of a condition on a join: whether a row of NULLs may pass it, and which one table it reads.
/// It does not look inside `CASE`, so both forms must have the same result.
@Suite struct LeftJoinConditionTests {
    private static let conditions = [
        "b.name LIKE 'A%'", "b.name LIKE 'a!%' ESCAPE '!'", "b.name GLOB 'A*'", "NOT b.name GLOB 'A*'",
        "b.age IN (1, 2, 3)", "b.age NOT IN (1, 2, 3)", "-b.age < -3", "b.name COLLATE NOCASE = 'ADA'",
        "b.name COLLATE NOCASE IN ('ADA', 'bob')", "coalesce(b.age, 3) = 3", "coalesce(b.age, b.salary) > 3",
        "coalesce(b.age, p.age) > 3", "abs(b.age) > 3", "length(b.name) = 3", "nullif(b.age, 3) > 1",
        "b.age + 1 IN (2, 3, 4)", "b.age + p.age > 6", "b.name || 'x' = 'Adax'", "b.age BETWEEN 2 AND 5",
        "NOT b.age BETWEEN 2 AND 5", "b.age > 3 OR p.age > 3", "b.age > 3 OR b.salary > 4",
        "(b.age > 3 AND b.salary < 5) OR b.age = 1", "NOT (b.age > 3 AND p.age > 3)", "NOT b.age IS NULL",
        "b.age IS NULL OR b.age > 5", "b.age IS NULL", "b.department.budget > 3",
        "b.age IN (SELECT age FROM Pet)", "b.age + 1 IN (SELECT age FROM Pet)",
        "b.age NOT IN (SELECT age FROM Pet WHERE age > 100)", "EXISTS (SELECT 1 FROM Pet WHERE owner = b.id)",
        "NOT EXISTS (SELECT 1 FROM Pet WHERE owner = b.id)", "EXISTS (SELECT 1 FROM Department)",
        "(SELECT count(*) FROM Pet) > 0 AND b.age > 2", "(SELECT max(age) FROM Pet WHERE owner = b.id) > 3",
        "(SELECT count(*) FROM Pet WHERE owner = b.id) = 0", "ANY b.tags = 'x'", "NOT ANY b.tags = 'x'",
        "ALL b.tags = 'x'", "NONE b.tags = 'x'", "ANY b.tags BETWEEN 'a' AND 'y'", "ANY b.tags LIKE '日%'",
        "ALL b.tags IN ('x', 'y')", "ANY b.tags NOT IN ('x')", "ALL b.tags GLOB 'é*'", "ANY b.tags = b.name",
        "ALL b.tags = NULL",
        "ANY b.tags IS NULL", "b.tags.@count > 1",
        "b.tags.@max = 'y'", "b.tags.@max = b.name OR b.tags.@count = 2", "b.friends.@count = 2",
        "b.staff.@count > 1", "ANY b.staff.age > 5", "ALL b.friends.age > 2",
        "CASE b.name WHEN 'Ada' THEN 1 WHEN p.name THEN 2 END = 1",
        "CASE WHEN b.age > 3 THEN 'x' ELSE b.name END = 'x'",
        "CASE WHEN b.age > 3 THEN TRUE ELSE FALSE END", "substr(b.name, 1, b.age) = 'A'",
        "'Ada' IN (b.name, p.name)", "3 IN (b.age, b.salary)",
    ]

    private static let joins = [
        "Person p LEFT JOIN Person b ON b.id = p.boss AND b.age > 2",
        "Person p LEFT JOIN Person b ON b.id = p.boss LEFT JOIN Person c ON c.boss = b.id",
        "Person p JOIN Person b ON b.id = p.boss", "Department d JOIN Person b ON b.department = d.id, Person p",
    ]

    private func rows(_ all: ManyFixture, _ join: String, _ condition: String) throws -> [[Value]] {
        try all.rows("SELECT p.id, b.id FROM \(join) WHERE \(condition) ORDER BY p.id, b.id")
    }

    @Test(arguments: [true, false]) func conditionsOfWhereSayTheSameInsideACase(isIndexed: Bool) throws {
        let all = try ManyFixture(seed: 3, departments: 4, people: 14, pets: 12, isIndexed: isIndexed)
        var answered = 0
        for join in Self.joins {
            for condition in Self.conditions {
                let found = try rows(all, join, condition)
                let hidden = try rows(all, join, "CASE WHEN \(condition) THEN TRUE ELSE FALSE END")
                #expect(found == hidden, "\(join): \(condition)")
                if !found.isEmpty { answered += 1 }
            }
        }
        #expect(answered > 150)
    }

    @Test func conditionsOfOnSayTheSameInsideACase() throws {
        let all = try ManyFixture(seed: 4, departments: 4, people: 14, pets: 12, isIndexed: true)
        for condition in Self.conditions {
            func rows(_ condition: String) throws -> [[Value]] {
                try all.rows(
                    "SELECT p.id, b.id FROM Person p LEFT JOIN Person b ON b.id = p.boss AND (\(condition)) ORDER BY p.id, b.id"
                )
            }
            let found = try rows(condition)
            #expect(found == (try rows("CASE WHEN \(condition) THEN TRUE ELSE FALSE END")), "\(condition)")
            #expect(found.count >= all.people.count, "\(condition)")
        }
    }

    /// The words of a table that is joined, and of one that a path from there leads to.
    @Test func wordsAreNoWordsBesideNull() throws {
        let fixture = try MatchTests.library()
        func ids(_ text: String) throws -> [[Value]] {
            try SelectStatement.parse("SELECT a.id FROM \(text) ORDER BY a.id").run(
                fixture.catalogue, view: fixture.store.snapshot()
            ).rows
        }
        let left = "Article a LEFT JOIN Author w ON a.author = w.id WHERE "
        for condition in [
            "w.life MATCH 'sail'", "NOT w.life MATCH 'sail'", "w.life MATCH 'sail' OR a.title MATCH 'café'",
            "a.author.life MATCH 'sail'", "a.author.life MATCH 'engines' AND w.name = 'Ada'",
        ] {
            let found = try ids(left + condition)
            #expect(found == (try ids(left + "CASE WHEN \(condition) THEN TRUE END")), "\(condition)")
            #expect(!found.isEmpty, "\(condition)")
        }
    }
}
