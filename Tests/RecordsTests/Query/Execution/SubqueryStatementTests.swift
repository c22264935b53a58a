import MakoRecords
import Testing

/// Sub-queries inside statements that join, group and rename, and statements of that kind as sub-queries.
@Suite struct SubqueryStatementTests {
    private static func numbers(_ rows: [[Value]]) -> [[Int?]] {
        rows.map { row in row.map { if case .integer(let number) = $0 { Int(number) } else { nil } } }
    }

    /// The same sub-query is a key of the groups and one of their columns, also with a parameter between the two.
    @Test func groupsOfASubquery() throws {
        let all = try ManyFixture(seed: 5, isIndexed: true)
        let pets = "(SELECT count(*) FROM Pet AS other WHERE other.owner = Person.id)"
        let found = try all.rows(
            "SELECT \(pets), count(*) FROM Person WHERE id > ? GROUP BY \(pets) HAVING \(pets) < ? ORDER BY \(pets) DESC",
            [.integer(3), .integer(5)])
        let counts = all.people.filter { $0.id > 3 }.map { all.pets(of: $0).count }
        let wanted = Set(counts.filter { $0 < 5 }).sorted(by: >).map { count in
            [count, counts.filter { $0 == count }.count]
        }
        #expect(Self.numbers(found) == wanted)
    }

    private static let joined = "SELECT Person.id, Pet.id FROM Person JOIN Pet ON Pet.owner = Person.id WHERE "

    @Test(arguments: [true, false]) func subqueriesWithJoinsReadTheirOwnTables(isIndexed: Bool) throws {
        let all = try ManyFixture(seed: 5, isIndexed: isIndexed)
        func pairs(_ isWanted: (ManyFixture.Person, ManyFixture.Pet) -> Bool) -> [[Int?]] {
            all.people.flatMap { person in
                all.pets(of: person).filter { isWanted(person, $0) }.map { [person.id, $0.id] }
            }
        }
        let staffed = "EXISTS (SELECT 1 FROM Person AS other WHERE other.boss = Person.id AND other.age > Pet.age)"
        let queries: [(String, (ManyFixture.Person, ManyFixture.Pet) -> Bool)] = [
            (
                "Pet.age IN (SELECT budget FROM Department)",
                { _, pet in all.departments.contains { $0.budget != nil && $0.budget == pet.age } }
            ),
            (staffed, { person, pet in all.staff(of: person).contains { ($0.age ?? -1) > (pet.age ?? 99) } }),
            (
                "(SELECT count(*) FROM Pet AS other WHERE other.owner = Person.id) > 2",
                { person, _ in all.pets(of: person).count > 2 }
            ),
            (
                "Pet.age = (SELECT max(age) FROM Pet AS other WHERE other.owner = Person.id)",
                { person, pet in pet.age != nil && pet.age == all.pets(of: person).compactMap(\.age).max() }
            ),
            ("staff.@count > 1", { person, _ in all.staff(of: person).count > 1 }),
            ("ANY Person.staff.age > 5", { person, _ in all.staff(of: person).contains { $0.age ?? 0 > 5 } }),
            ("ANY tags = 'x'", { person, _ in person.tags?.contains("x") == true }),
            ("Person.tags.@count = 2", { person, _ in person.tags?.count == 2 }),
        ]
        for (text, model) in queries {
            let found = Self.numbers(try all.rows(Self.joined + text + " ORDER BY Person.id, Pet.id"))
            #expect(found == pairs(model), "\(text)")
        }
    }

    /// Rows without a match are joined with NULLs, which sub-queries read.
    @Test func leftJoinsKeepWhatSubqueriesLeave() throws {
        let all = try ManyFixture(seed: 6, isIndexed: true)
        let start = "SELECT Person.id FROM Person LEFT JOIN Pet ON Pet.owner = Person.id WHERE "
        let without = try all.rows(
            start + "NOT EXISTS (SELECT 1 FROM Pet AS p WHERE p.id = Pet.id) ORDER BY Person.id")
        #expect(Self.numbers(without) == all.people.filter { all.pets(of: $0).isEmpty }.map { [$0.id] })
        let none = try all.rows(start + "Pet.age NOT IN (SELECT age FROM Pet WHERE age > 100) ORDER BY Person.id")
        #expect(none.count == all.people.reduce(0) { $0 + max(1, all.pets(of: $1).count) })
    }

    @Test func otherNamesOfTablesReachInwards() throws {
        let all = try ManyFixture(seed: 7, isIndexed: true)
        let texts = [
            "SELECT id FROM Person p WHERE EXISTS (SELECT 1 FROM Person WHERE boss = p.id AND age > p.age) ORDER BY id",
            "SELECT id FROM Person WHERE EXISTS (SELECT 1 FROM Person s WHERE s.boss = Person.id AND s.age > Person.age) ORDER BY id",
            "SELECT p.id FROM Person AS p WHERE EXISTS (SELECT * FROM Person AS s WHERE s.boss = P.id AND age > p.age) ORDER BY p.id",
        ]
        let expected = all.people.filter { person in
            all.staff(of: person).contains { $0.age ?? -1 > person.age ?? 99 }
        }
        #expect(!expected.isEmpty)
        for text in texts { #expect(Self.numbers(try all.rows(text)) == expected.map { [$0.id] }, "\(text)") }
    }

    @Test func groupsAreComparedWithSubqueries() throws {
        let all = try ManyFixture(seed: 8, isIndexed: true)
        let found = try all.rows(
            """
            SELECT department, count(*) AS n FROM Person WHERE department IS NOT NULL GROUP BY department
            HAVING count(*) >= (SELECT count(*) FROM Pet WHERE age = 3) AND department IN (SELECT id FROM Department
            WHERE budget > 2) ORDER BY department
            """)
        let least = all.pets.filter { $0.age == 3 }.count
        let expected = all.departments.filter { ($0.budget ?? 0) > 2 && all.people(in: $0).count >= max(1, least) }
        #expect(Self.numbers(found) == expected.map { [$0.id, all.people(in: $0).count] })
        #expect(
            Fixture.error { _ = try all.rows("SELECT age FROM Person GROUP BY age HAVING staff.@count > 1") } != nil)
        #expect(
            Fixture.error { _ = try all.rows("SELECT age FROM Person GROUP BY age HAVING ANY staff.age > 1") } != nil)
    }

    @Test func wholeStatementsAreLists() throws {
        let all = try ManyFixture(seed: 9, isIndexed: true)
        let queries: [(String, (ManyFixture.Person) -> Bool)] = [
            (
                "id IN (SELECT Person.id FROM Person JOIN Pet ON Pet.owner = Person.id WHERE Pet.name = 'Rex')",
                { person in all.pets(of: person).contains { $0.name == "Rex" } }
            ),
            (
                "id IN (SELECT owner FROM Pet GROUP BY owner HAVING count(*) > ?)",
                { person in all.pets(of: person).count > 1 }
            ),
            (
                "age IN (SELECT age FROM Pet EXCEPT SELECT budget FROM Department WHERE budget > ?)",
                { person in
                    let budgets = all.departments.compactMap(\.budget).filter { $0 > 1 }
                    return person.age.map { age in all.pets.contains { $0.age == age } && !budgets.contains(age) }
                        ?? false
                }
            ),
            ("age = (SELECT max(age) + 0 FROM Pet)", { $0.age == all.pets.compactMap(\.age).max() }),
            (
                "salary = (SELECT count(DISTINCT name) FROM Pet)",
                { $0.salary == Set(all.pets.map(\.name)).count }
            ),
        ]
        for (text, model) in queries {
            let values: [Value] = text.contains("?") ? [.integer(1)] : []
            #expect(try all.ids("Person", text, values) == all.people.filter(model).map(\.id), "\(text)")
        }
        let correlated = "id IN (SELECT a.owner FROM Pet a JOIN Pet b ON a.owner = b.owner WHERE a.age > Person.age)"
        let found = all.people.filter { person in
            all.pets(of: person).contains { pet in pet.age.flatMap { age in person.age.map { age > $0 } } ?? false }
        }
        #expect(try all.ids("Person", correlated) == found.map(\.id))
    }

    /// Sorting by a sub-query of a sub-query names it twice at each level.
    @Test func manySubqueriesAreRefusedBeforeTheyAreRun() throws {
        let all = try ManyFixture(seed: 1, isIndexed: true)
        var text = "1"
        for _ in 0..<30 { text = "(SELECT DISTINCT age + \(text) AS x FROM Pet GROUP BY age ORDER BY x, 1 LIMIT 1)" }
        let error = try #require(Fixture.error { _ = try all.rows("SELECT \(text) FROM Person") })
        #expect("\(error)".contains("too many sub-queries"))
    }
}
