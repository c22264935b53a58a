import MakoRecords
import MakoStorage
import Testing

/// Conditions on many: rows that refer here, keys that are held, values in a list; against plain loops.
@Suite struct ToManyConditionTests {
    private static let ofDepartments: [(String, @Sendable (ManyFixture, ManyFixture.Department) -> Bool)] = [
        ("ANY people.age > 6", { all, one in all.people(in: one).contains { $0.age ?? 0 > 6 } }),
        ("SOME people.age > 6", { all, one in all.people(in: one).contains { $0.age ?? 0 > 6 } }),
        ("ALL people.age > 2", { all, one in all.people(in: one).allSatisfy { $0.age ?? 0 > 2 } }),
        ("NONE people.age > 6", { all, one in !all.people(in: one).contains { $0.age ?? 0 > 6 } }),
        ("NOT ANY people.age > 6", { all, one in !all.people(in: one).contains { $0.age ?? 0 > 6 } }),
        (
            "ANY people.age > budget",
            { all, one in
                all.people(in: one).contains { person in
                    person.age.flatMap { age in one.budget.map { age > $0 } } ?? false
                }
            }
        ),
        ("ANY people.age IS NULL", { all, one in all.people(in: one).contains { $0.age == nil } }),
        (
            "ALL people.name IN ('Ada', 'Bob', 'Eve')",
            { all, one in all.people(in: one).allSatisfy { $0.name != "Dan" } }
        ),
        ("ANY people.name LIKE 'a%'", { all, one in all.people(in: one).contains { $0.name == "Ada" } }),
        (
            "ANY people.age BETWEEN 3 AND 5 AND budget > 2",
            { all, one in
                one.budget ?? 0 > 2 && all.people(in: one).contains { (3...5).contains($0.age ?? -1) }
            }
        ),
        (
            "ANY people.boss.name = 'Ada'",
            { all, one in
                all.people(in: one).contains { $0.boss.map { all.people[$0 - 1].name == "Ada" } ?? false }
            }
        ),
        ("ANY people = 7", { all, one in all.people(in: one).contains { $0.id == 7 } }),
        (
            "ANY people.pets.name = 'Rex'",
            { all, one in
                all.people(in: one).contains { all.pets(of: $0).contains { $0.name == "Rex" } }
            }
        ),
        ("ANY people.tags = 'x'", { all, one in all.people(in: one).contains { $0.tags?.contains("x") == true } }),
        ("people.@count > 5", { all, one in all.people(in: one).count > 5 }),
        ("people.@count = 0", { all, one in all.people(in: one).isEmpty }),
        ("people.@count < 5", { all, one in all.people(in: one).count < 5 }),
        ("people.@sum.salary >= 15", { all, one in all.people(in: one).map(\.salary).reduce(0, +) >= 15 }),
        ("people.@sum.salary = 0", { all, one in all.people(in: one).isEmpty }),
        ("people.@min.age < 2", { all, one in all.people(in: one).compactMap(\.age).min() ?? 9 < 2 }),
        ("people.@max.age IS NULL", { all, one in all.people(in: one).allSatisfy { $0.age == nil } }),
        (
            "people.@avg.salary > 3",
            { all, one in
                let salaries = all.people(in: one).map(\.salary)
                return !salaries.isEmpty && Double(salaries.reduce(0, +)) / Double(salaries.count) > 3
            }
        ),
        ("people.@count + budget > 8", { all, one in one.budget.map { all.people(in: one).count + $0 > 8 } ?? false }),
    ]

    private static let ofPeople: [(String, @Sendable (ManyFixture, ManyFixture.Person) -> Bool)] = [
        ("ANY friends.age > 6", { all, one in all.friends(of: one).contains { $0.age ?? 0 > 6 } }),
        ("ALL friends.age > 2", { all, one in all.friends(of: one).allSatisfy { $0.age ?? 0 > 2 } }),
        ("NONE friends.name = 'Ada'", { all, one in !all.friends(of: one).contains { $0.name == "Ada" } }),
        ("ANY friends.salary > salary", { all, one in all.friends(of: one).contains { $0.salary > one.salary } }),
        (
            "ANY Person.friends.salary > Person.salary",
            { all, one in
                all.friends(of: one).contains { $0.salary > one.salary }
            }
        ),
        ("ANY friends = 3", { _, one in one.friends.contains(3) }),
        ("friends.@count = 2", { _, one in one.friends.count == 2 }),
        ("friends.@sum.salary > 6", { all, one in all.friends(of: one).map(\.salary).reduce(0, +) > 6 }),
        ("friends.@max.age = 9", { all, one in all.friends(of: one).compactMap(\.age).max() == 9 }),
        ("ANY fans.name = 'Bob'", { all, one in all.fans(of: one).contains { $0.name == "Bob" } }),
        ("fans.@count > 2", { all, one in all.fans(of: one).count > 2 }),
        (
            "ALL friends.friends.salary > 1",
            { all, one in
                all.friends(of: one).allSatisfy { all.friends(of: $0).allSatisfy { $0.salary > 1 } }
            }
        ),
        ("staff.@count >= 2", { all, one in all.staff(of: one).count >= 2 }),
        (
            "boss.staff.@count >= 2",
            { all, one in
                one.boss.map { boss in all.staff(of: all.people[boss - 1]).count >= 2 } ?? false
            }
        ),
        (
            "ANY department.people.name = 'Eve'",
            { all, one in
                one.department.map { all.people(in: all.departments[$0 - 1]).contains { $0.name == "Eve" } } ?? false
            }
        ),
        ("boss.friends.@count > 1", { all, one in one.boss.map { all.people[$0 - 1].friends.count > 1 } ?? false }),
        ("ANY tags = 'x'", { _, one in one.tags?.contains("x") == true }),
        ("ANY upper(tags) = 'X'", { _, one in one.tags?.contains("x") == true }),
        ("ALL length(tags) > 1", { _, one in one.tags?.allSatisfy { $0.unicodeScalars.count > 1 } ?? true }),
        ("ANY tags = ?", { _, one in one.tags?.contains("a\"b") == true }),
        ("ANY tags = 'é\\'", { _, one in one.tags?.contains("é\\") == true }),
        ("ANY tags LIKE '日%'", { _, one in one.tags?.contains("日\n") == true }),
        ("ALL tags IN ('x', 'y')", { _, one in one.tags?.allSatisfy { ["x", "y"].contains($0) } ?? true }),
        ("NONE tags = 'x'", { _, one in one.tags?.contains("x") != true }),
        ("tags.@count = 2", { _, one in one.tags?.count == 2 }),
        ("tags.@count = 0", { _, one in one.tags?.isEmpty ?? true }),
        ("tags.@max = 'y'", { _, one in one.tags?.max() == "y" }),
        ("ANY tags = name OR ANY tags > 'w'", { _, one in one.tags?.contains { $0 > "w" } == true }),
    ]

    @Test(arguments: [true, false]) func answersAreThoseOfPlainLoops(isIndexed: Bool) throws {
        for seed in UInt64(1)...4 {
            let all = try ManyFixture(seed: seed, isIndexed: isIndexed)
            for (text, model) in ToManyConditionTests.ofDepartments {
                let expected = all.departments.filter { model(all, $0) }.map(\.id)
                #expect(try all.ids("Department", text) == expected, "\(text), seed \(seed)")
            }
            for (text, model) in ToManyConditionTests.ofPeople {
                let expected = all.people.filter { model(all, $0) }.map(\.id)
                let values: [Value] = text.contains("?") ? [.text("a\"b")] : []
                #expect(try all.ids("Person", text, values) == expected, "\(text), seed \(seed)")
            }
        }
    }

    /// With so many outer rows one scan of the index replaces the look-ups.
    @Test func oneScanServesManyParents() throws {
        let all = try ManyFixture(seed: 5, departments: 400, people: 1500, pets: 1, isIndexed: true)
        for (text, model) in ToManyConditionTests.ofDepartments {
            let expected = all.departments.filter { model(all, $0) }.map(\.id)
            #expect(try all.ids("Department", text) == expected, "\(text)")
        }
    }

    @Test func nothingIsTrueOfAllAndOfNone() throws {
        let fixture = try ManyFixture(seed: 1, departments: 3, people: 1, pets: 1, isIndexed: true)
        let empty = fixture.departments.filter { fixture.people(in: $0).isEmpty }.map(\.id)
        #expect(!empty.isEmpty)
        for text in ["ALL people.age > 1000", "NONE people.age > 0", "people.@count = 0"] {
            #expect(try Set(fixture.ids("Department", text)).isSuperset(of: empty), "\(text)")
        }
        #expect(try Set(fixture.ids("Department", "ANY people.age >= 0")).isDisjoint(with: empty))
    }

    @Test(arguments: [
        ("ANY name = 'x'", "leads to many"), ("ANY age > 3", "leads to many"), ("age.@count > 3", "no more than one"),
        ("friends.@sum > 3", "needs a property"), ("friends.@mean.age > 3", "no @mean"),
        ("friends.@count.age > 3", "takes no property"), ("friends.@sum.name > 3", "needs numbers"),
        ("ANY friends.nmae = 'x'", "no column nmae"), ("tags.@sum.x > 3", "plain values"),
        ("ANY friends.age > 'x'", "cannot be compared"), ("friends.@", "expected"),
    ])
    func faultsAreShownInTheText(text: String, message: String) throws {
        let all = try ManyFixture(seed: 1, isIndexed: true)
        let error = try #require(Fixture.error { _ = try all.plan("Person", text) })
        #expect("\(error)".contains(message))
        guard case .syntax(let fault) = error else { throw error }
        #expect(fault.text == text)
    }

    @Test func damagedListsAreNoLists() throws {
        var fixture = try Fixture(EntitySchema(name: "T", columns: [ColumnSchema("list", .text, isOptional: true)]))
        let texts = [
            "", "[", "[1", "[1,", "[1,]", "{", "{\"a\"", "{\"a\":", "{\"a\":1", "[\"", "[\"\\", "[\"\\u12", "x",
            "[[1,2],3]",
            "{\"a\":3,\"b\":[1]}", "[\"\\ud83d\\ude00\", 3]", "[ 3 , 4 ]", "[3.5, -3, true, null]", "[\"\\ud83d\"]",
        ]
        try fixture.insertAll("T", texts.map { [.text($0)] } + [[.null]])
        try fixture.migrate(EntitySchema(name: "T", columns: [ColumnSchema("list", .text, isOptional: true)]))
        func ids(_ text: String) throws -> [Int64] {
            try Selection(table: "T", condition: .parse(text)).plan(fixture.catalogue).ids(in: fixture.store.snapshot())
        }
        #expect(try ids("ANY list = 3") == [14, 15, 16, 17])
        #expect(try ids("ANY list = '😀'") == [16])
        #expect(try ids("list.@count = 4 AND ANY list = -3 AND ANY list IS NULL") == [18])
        #expect(try ids("list.@sum = 7") == [17])
    }

    @Test func deepHeldKeysAreCounted() throws {
        let schema = EntitySchema(
            name: "T", columns: [ColumnSchema("held", .keys, isOptional: true, target: "T")],
            indexes: [IndexSchema("T.held", [IndexColumn("held")])])
        let fixture = try Fixture(schema)
        let tree = KeyTree.named([
            .init(
                name: .text("a"), tree: .list([.key(.rowID(1)), .key(.rowID(-5)), .foreign(table: 9, .bytes([1, 2]))])),
            .init(name: .text("b"), tree: .key(.rowID(.max))),
        ])
        try fixture.insertAll("T", [[.blob(tree.encoded)], [.null]])
        func ids(_ text: String) throws -> [Int64] {
            try Selection(table: "T", condition: .parse(text)).plan(fixture.catalogue).ids(in: fixture.store.snapshot())
        }
        #expect(try ids("held.@count = 4") == [1])
        #expect(try ids("held.@count = 0") == [2])
        #expect(try ids("ANY held = 1") == [1])
    }
}
