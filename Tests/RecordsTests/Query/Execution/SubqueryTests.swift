import MakoRecords
import MakoStorage
import Testing

/// Sub-queries in conditions and in SELECT, against plain loops over the same data.
@Suite struct SubqueryTests {
    private typealias Model = @Sendable (ManyFixture, ManyFixture.Person) -> Bool

    /// NULL-aware `x IN (…)` and its opposite; nil is SQL's unknown.
    private static func isIn(_ value: Int?, _ list: [Int?]) -> Bool? {
        if list.isEmpty { return false }
        guard let value else { return nil }
        if list.contains(value) { return true }
        return list.contains(nil) ? nil : false
    }

    private static let queries: [(String, Model)] = [
        (
            "department IN (SELECT id FROM Department WHERE budget > 4)",
            { all, person in
                isIn(person.department, all.departments.filter { $0.budget ?? 0 > 4 }.map(\.id)) == true
            }
        ),
        (
            "department NOT IN (SELECT id FROM Department WHERE budget > 4)",
            { all, person in
                isIn(person.department, all.departments.filter { $0.budget ?? 0 > 4 }.map(\.id)) == false
            }
        ),
        (
            "age NOT IN (SELECT budget FROM Department)",
            { all, person in
                isIn(person.age, all.departments.map(\.budget)) == false
            }
        ),
        (
            "age NOT IN (SELECT budget FROM Department WHERE budget IS NOT NULL)",
            { all, person in
                isIn(person.age, all.departments.compactMap(\.budget)) == false
            }
        ),
        ("age IN (SELECT budget FROM Department WHERE budget > 100)", { _, _ in false }),
        ("age NOT IN (SELECT budget FROM Department WHERE budget > 100)", { _, _ in true }),
        (
            "age + 0.0 IN (SELECT budget FROM Department)",
            { all, person in
                isIn(person.age, all.departments.map(\.budget)) == true
            }
        ),
        (
            "name IN (SELECT name FROM Person WHERE age = 3) AND salary < 4",
            { all, person in
                person.salary < 4 && all.people.contains { $0.age == 3 && $0.name == person.name }
            }
        ),
        (
            "id IN (SELECT owner FROM Pet WHERE name = 'Rex')",
            { all, person in
                all.pets(of: person).contains { $0.name == "Rex" }
            }
        ),
        (
            "EXISTS (SELECT 1 FROM Pet WHERE owner = Person.id AND name = 'Tom')",
            { all, person in
                all.pets(of: person).contains { $0.name == "Tom" }
            }
        ),
        ("NOT EXISTS (SELECT * FROM Pet WHERE Person.id = Pet.owner)", { all, person in all.pets(of: person).isEmpty }),
        (
            "EXISTS (SELECT 1 FROM Pet WHERE owner = Person.id AND age > Person.age)",
            { all, person in
                all.pets(of: person).contains { pet in pet.age.flatMap { age in person.age.map { age > $0 } } ?? false }
            }
        ),
        (
            "EXISTS (SELECT 1 FROM Pet WHERE age > Person.age)",
            { all, person in
                all.pets.contains { pet in pet.age.flatMap { age in person.age.map { age > $0 } } ?? false }
            }
        ),
        (
            "EXISTS (SELECT 1 FROM Department WHERE id = Person.department AND budget > 4)",
            { all, person in
                all.departments.contains { $0.id == person.department && $0.budget ?? 0 > 4 }
            }
        ),
        (
            "EXISTS (SELECT 1 FROM Pet WHERE owner = Person.id AND age = Person.age)",
            { all, person in
                all.pets(of: person).contains { $0.age != nil && $0.age == person.age }
            }
        ),
        ("EXISTS (SELECT 1 FROM Department WHERE budget > 100)", { _, _ in false }),
        ("EXISTS (SELECT 1 FROM Department) AND age = 3", { _, person in person.age == 3 }),
        (
            "age = (SELECT max(age) FROM Person)",
            { all, person in
                person.age != nil && person.age == all.people.compactMap(\.age).max()
            }
        ),
        (
            "age > (SELECT avg(age) FROM Pet WHERE owner = Person.id)",
            { all, person in
                let ages = all.pets(of: person).compactMap(\.age)
                guard let age = person.age, !ages.isEmpty else { return false }
                return Double(age) > Double(ages.reduce(0, +)) / Double(ages.count)
            }
        ),
        ("(SELECT count(*) FROM Pet WHERE owner = Person.id) > 1", { all, person in all.pets(of: person).count > 1 }),
        ("(SELECT count(*) FROM Pet WHERE owner = Person.id) = 0", { all, person in all.pets(of: person).isEmpty }),
        (
            "(SELECT count(age) FROM Pet WHERE owner = Person.id) < 2",
            { all, person in
                all.pets(of: person).filter { $0.age != nil }.count < 2
            }
        ),
        (
            "(SELECT name FROM Pet WHERE owner = Person.id ORDER BY age DESC, id LIMIT 1) = 'Rex'",
            { all, person in
                let order = all.pets(of: person).sorted { ($1.age ?? -1, $0.id) < ($0.age ?? -1, $1.id) }
                return order.first?.name == "Rex"
            }
        ),
        (
            "salary IN (SELECT age FROM Pet WHERE owner = Person.id)",
            { all, person in
                all.pets(of: person).contains { $0.age == person.salary }
            }
        ),
        (
            "salary NOT IN (SELECT age FROM Pet WHERE owner = Person.id)",
            { all, person in
                isIn(person.salary, all.pets(of: person).map(\.age)) == false
            }
        ),
        (
            """
            EXISTS (SELECT 1 FROM Department WHERE id = Person.department
            AND budget IN (SELECT age FROM Pet WHERE owner = Person.id))
            """,
            { all, person in
                guard let place = person.department, let budget = all.departments[place - 1].budget else {
                    return false
                }
                return all.pets(of: person).contains { $0.age == budget }
            }
        ),
        (
            "name || 'x' IN (SELECT name || 'x' FROM Person WHERE boss IS NULL)",
            { all, person in
                all.people.contains { $0.boss == nil && $0.name == person.name }
            }
        ),
        (
            "boss.age IN (SELECT age FROM Pet WHERE name = 'Rex')",
            { all, person in
                guard let boss = person.boss, let age = all.people[boss - 1].age else { return false }
                return all.pets.contains { $0.name == "Rex" && $0.age == age }
            }
        ),
        (
            "EXISTS (SELECT 1 FROM Pet WHERE owner = Person.boss)",
            { all, person in
                all.pets.contains { $0.owner != nil && $0.owner == person.boss }
            }
        ),
        ("id IN (SELECT owner FROM Pet GROUP BY owner)", { all, person in !all.pets(of: person).isEmpty }),
        (
            "salary IN (SELECT DISTINCT age FROM Pet ORDER BY age LIMIT 3)",
            { all, person in
                Set(all.pets.map { $0.age ?? -1 }).sorted().prefix(3).contains(person.salary)
            }
        ),
        (
            "salary IN (SELECT min(age) FROM Pet WHERE age > 1)",
            { all, person in
                person.salary == all.pets.compactMap(\.age).filter { $0 > 1 }.min()
            }
        ),
    ]

    @Test(arguments: [true, false]) func answersAreThoseOfPlainLoops(isIndexed: Bool) throws {
        for seed in UInt64(1)...4 {
            let all = try ManyFixture(seed: seed, isIndexed: isIndexed)
            for (text, model) in SubqueryTests.queries {
                let expected = all.people.filter { model(all, $0) }.map(\.id)
                #expect(try all.ids("Person", text) == expected, "\(text), seed \(seed)")
                let negated = try all.ids("Person", "NOT (\(text))")
                #expect(Set(negated).isDisjoint(with: expected), "\(text), seed \(seed)")
            }
        }
    }

    /// With so many outer rows one scan replaces the look-ups.
    @Test func scansAgreeWithLookUps() throws {
        let all = try ManyFixture(seed: 9, people: 700, pets: 900, isIndexed: true)
        for (text, model) in SubqueryTests.queries where text.contains("Person.") {
            let expected = all.people.filter { model(all, $0) }.map(\.id)
            #expect(try all.ids("Person", text) == expected, "\(text)")
        }
    }

    @Test func parametersAreCountedThroughTheText() throws {
        let all = try ManyFixture(seed: 1, isIndexed: true)
        let text = "salary > ? AND department IN (SELECT id FROM Department WHERE budget > ?) AND age < ?"
        let inline = "salary > 1 AND department IN (SELECT id FROM Department WHERE budget > 3) AND age < 8"
        let values: [Value] = [.integer(1), .integer(3), .integer(8)]
        #expect(try all.ids("Person", text, values) == all.ids("Person", inline))
        #expect(try !all.ids("Person", inline).isEmpty)
        let short = Fixture.error { _ = try all.ids("Person", text, Array(values.prefix(2))) }
        #expect("\(try #require(short))".contains("parameter 3 has no value"))
        let filled = try Subquery.parse("SELECT id FROM Department WHERE budget > ?").filled([.integer(3)], named: [:])
        let plan = try Selection(table: "Person", condition: .isInQuery(.path("department"), filled)).plan(
            all.catalogue)
        let same = try all.ids("Person", "department IN (SELECT id FROM Department WHERE budget > 3)")
        #expect(try plan.ids(in: all.fixture.store.snapshot()).map { Int($0) }.sorted() == same)
    }

    @Test func valuesOfSubqueriesAreColumns() throws {
        let all = try ManyFixture(seed: 2, isIndexed: true)
        let rows = try all.rows(
            "SELECT id, (SELECT count(*) FROM Pet WHERE owner = Person.id) AS pets FROM Person ORDER BY id")
        #expect(rows == all.people.map { [.integer(Int64($0.id)), .integer(Int64(all.pets(of: $0).count))] })
        let byPets = try all.rows(
            "SELECT id FROM Person ORDER BY (SELECT count(*) FROM Pet WHERE owner = Person.id) DESC, id LIMIT 3")
        let expected = all.people.sorted { (all.pets(of: $1).count, $0.id) < (all.pets(of: $0).count, $1.id) }
        #expect(byPets == expected.prefix(3).map { [.integer(Int64($0.id))] })
    }

    @Test(arguments: [
        ("age IN (SELECT id, name FROM Pet)", "one column, not 2"), ("age IN (SELECT id FROM Pat)", "no table Pat"),
        ("age IN (SELECT nmae FROM Pet)", "no column nmae"), ("age IN (SELECT name FROM Pet)", "gives text"),
        ("EXISTS (SELECT 1 FROM Pet WHERE owner = Persn.id)", "no column Persn"),
        ("age IN (SELECT id FROM Pet", "\")\" is expected"), ("EXISTS (SELECT 1 2)", "FROM is expected"),
        ("age = (SELECT age FROM Pet ORDER BY age - Person.age LIMIT 1)", "cannot name the query around"),
        ("age = (SELECT max(name) FROM Pet)", "cannot be compared"),
        ("age = (SELECT sum(name) FROM Pet)", "needs numbers"),
    ])
    func faultsAreShownInTheText(text: String, message: String) throws {
        let all = try ManyFixture(seed: 1, isIndexed: true)
        let error = try #require(Fixture.error { _ = try all.plan("Person", text) })
        #expect("\(error)".contains(message))
        guard case .syntax(let fault) = error else { throw error }
        #expect(fault.text == text && fault.offset > 0)
    }

    @Test func nestingHasALimit() throws {
        let all = try ManyFixture(seed: 1, isIndexed: true)
        var text = "TRUE"
        for _ in 0..<20 { text = "EXISTS (SELECT 1 FROM Pet WHERE \(text))" }
        #expect(try all.plan("Person", text).count(in: all.fixture.store.snapshot()) == all.people.count)
        for _ in 0..<200 { text = "EXISTS (SELECT 1 FROM Pet WHERE \(text))" }
        #expect(throws: RecordError.self) { try all.plan("Person", text) }
    }

    @Test func wordsOfSubqueriesMayBeNames() throws {
        let fixture = try Fixture(
            EntitySchema(
                name: "T", columns: ["any", "all", "none", "exists", "some"].map { ColumnSchema($0, .integer) }))
        try fixture.insertAll("T", [[1, 2, 3, 4, 5].map { .integer($0) }])
        let text = "any = 1 AND all + 1 = 3 AND none IN (3) AND exists > 3 AND (some) = 5 AND any IS NOT NULL"
        let plan = try Selection(table: "T", condition: .parse(text)).plan(fixture.catalogue)
        #expect(try plan.count(in: fixture.store.snapshot()) == 1)
    }

    @Test func plansShowTheirSubqueries() throws {
        let all = try ManyFixture(seed: 1, isIndexed: true)
        func outline(_ condition: String) throws -> String {
            try Selection(table: "Person", condition: .parse(condition)).explanation(all.catalogue).plan.outline
        }
        let linked = "salary = 1 AND EXISTS (SELECT 1 FROM Pet WHERE owner = Person.id)"
        let exists = try all.plan("Person", linked)
        #expect("\(exists)" == "scan Person, then filter salary = 1 AND EXISTS (rows of Pet)")
        #expect(
            try outline(linked).contains(
                """
                  sub-query (rows of Pet), kept for all rows after 32 look-ups and one for each 128 rows
                    look up Pet using index Pet.owner (owner)
                    keep by owner
                      scan Pet using covering index Pet.owner
                """))
        #expect(
            try outline("salary IN (SELECT age FROM Person WHERE age = 3)").contains(
                """
                  sub-query (age of Person), once
                    search Person using covering index Person.age (age = 3)
                """))
        #expect(
            try outline("salary = (SELECT max(age) FROM Pet)").contains(
                """
                  sub-query (max(age) of Pet), once
                    aggregate max(age)
                      scan Pet
                """))
    }

    @Test func batchedCursorsAndOrdersAgree() throws {
        let all = try ManyFixture(seed: 3, people: 300, pets: 500, isIndexed: true)
        let view = try all.fixture.store.snapshot()
        let text = "EXISTS (SELECT 1 FROM Pet WHERE owner = Person.id AND age > Person.salary)"
        let plan = try all.plan("Person", text, order: "name, id DESC")
        var batches = BatchedCursor(of: plan)
        var found: [Int64] = []
        while !batches.isAtEnd { try batches.next(7, in: view) { key, _ in found.append(key.rowID ?? 0) } }
        #expect(try !found.isEmpty && found == plan.ids(in: view))
        let limited = try all.plan("Person", text, order: "name, id DESC", limit: 5)
        #expect(try limited.ids(in: view) == Array(found.prefix(5)))
    }

    @Test func liveRowsFollowTheTablesOfSubqueries() throws {
        let all = try ManyFixture(seed: 4, isIndexed: true)
        let text =
            "age IN (SELECT age FROM Pet WHERE name = 'Rex') OR EXISTS (SELECT 1 FROM Department WHERE budget = 77)"
        let selection = Selection(table: "Person", condition: try .parse(text), orderBy: [Order("id")])
        var rows = try LiveRows(selection, all.catalogue, in: all.fixture.store.snapshot())
        #expect(rows.tables == ["Person", "Pet", "Department"])
        let pets = try all.catalogue.requireTable("Pet")
        let departments = try all.catalogue.requireTable("Department")
        func changed(_ table: TableHandle, _ body: (borrowing WriteTransaction, inout ChangeSet) throws -> Void) throws
        {
            var changes = ChangeSet()
            try all.fixture.store.write { tx in try body(tx, &changes) }
            let view = try all.fixture.store.snapshot()
            let mine = try #require(changes.changes(of: table.schema.name))
            _ = try rows.update([mine], in: view)
            #expect(try rows.keys == selection.plan(all.catalogue).keys(in: view))
        }
        let before = rows.keys
        try changed(pets) { tx, changes in
            for pet in all.pets where pet.name == "Rex" {
                try pets.delete(.rowID(Int64(pet.id)), in: tx, changes: &changes)
            }
        }
        #expect(!before.isEmpty && rows.keys.isEmpty)
        try changed(departments) { tx, changes in
            var row = RowWriter()
            row.begin(departments.layout)
            row.set(0, .text("New"))
            row.set(1, .integer(77))
            _ = try departments.insert(&row, key: nil, in: tx, changes: &changes)
        }
        #expect(rows.keys.count == all.people.count)
    }
}
