import MakoRecords
import MakoStorage
import Testing

/// Sub-queries and conditions on many in unusual shapes, against plain loops.
@Suite struct SubqueryShapeTests {
    private typealias Model = @Sendable (ManyFixture, ManyFixture.Person) -> Bool

    private static let ofPeople: [(String, Model)] = [
        // Columns of the outer row.
        (
            "EXISTS (SELECT 1 FROM Pet WHERE owner = Person.id AND id <> Person.id)",
            { all, one in all.pets(of: one).contains { $0.id != one.id } }
        ),
        (
            "(SELECT sum(Pet.age + Person.salary) FROM Pet) > 100",
            { all, one in all.pets.compactMap(\.age).map { $0 + one.salary }.reduce(0, +) > 100 }
        ),
        (
            "(SELECT count(*) FROM Pet WHERE age = Person.salary / 2.0) > 1",
            { all, one in all.pets.filter { $0.age.map { Double($0) == Double(one.salary) / 2 } ?? false }.count > 1 }
        ),
        (
            "age IN (SELECT age FROM Pet WHERE owner = Person.id)",
            { all, one in one.age != nil && all.pets(of: one).contains { $0.age == one.age } }
        ),
        (
            "EXISTS (SELECT 1 FROM Person AS other WHERE other.boss = Person.id AND other.tags.@count > Person.salary)",
            { all, one in all.staff(of: one).contains { ($0.tags?.count ?? -1) > one.salary } }
        ),
        (
            "EXISTS (SELECT 1 FROM Person AS other WHERE other.boss = Person.id AND ANY other.tags = 'x')",
            { all, one in all.staff(of: one).contains { $0.tags?.contains("x") == true } }
        ),
        // The result columns of a sub-query.
        (
            "salary = (SELECT count(*) FROM Department ORDER BY budget)",
            { all, one in one.salary == all.departments.count }
        ),
        (
            "age IN (SELECT DISTINCT age FROM Pet WHERE age IS NOT NULL ORDER BY age DESC LIMIT 2)",
            { all, one in Set(all.pets.compactMap(\.age)).sorted().suffix(2).contains(one.age ?? -1) }
        ),
        (
            "age IN (SELECT DISTINCT age FROM Pet WHERE age IS NOT NULL ORDER BY age OFFSET 1)",
            { all, one in Set(all.pets.compactMap(\.age)).sorted().dropFirst().contains(one.age ?? -1) }
        ),
        (
            "EXISTS (SELECT 1 FROM Pet WHERE owner.age = Person.age AND owner <> Person.id)",
            { all, one in
                all.pets.contains { pet in
                    pet.owner.map { $0 != one.id && one.age != nil && all.people[$0 - 1].age == one.age } ?? false
                }
            }
        ),
        (
            "(SELECT max(age) FROM Pet) = salary OR (SELECT max(age) FROM Pet) = 3 OR (SELECT min(age) FROM Pet) = 3",
            { all, one in
                let ages = all.pets.compactMap(\.age)
                return ages.max() == one.salary || ages.max() == 3 || ages.min() == 3
            }
        ),
        (
            "salary IN (SELECT (SELECT max(age) FROM Pet) FROM Department)",
            { all, one in one.salary == all.pets.compactMap(\.age).max() }
        ),
        ("EXISTS (SELECT age, count(*) FROM Pet GROUP BY age HAVING count(*) > 1000)", { _, _ in false }),
        ("EXISTS (SELECT age, count(*) FROM Pet GROUP BY age)", { all, _ in !all.pets.isEmpty }),
        ("EXISTS (SELECT max(age) FROM Pet WHERE age > 1000)", { _, _ in true }),
        ("(SELECT max(age) FROM Pet GROUP BY age HAVING max(age) > 1000) IS NULL", { _, _ in true }),
        // Conditions on many.
        (
            "ANY friends.age NOT IN (1, 2, 3)",
            { all, one in all.friends(of: one).contains { $0.age.map { $0 > 3 || $0 < 1 } ?? false } }
        ),
        (
            "ANY friends.age > -friends.salary + 9",
            { all, one in all.friends(of: one).contains { $0.age ?? -99 > 9 - $0.salary } }
        ),
        ("ANY friends.name COLLATE NOCASE = 'ada'", { all, one in all.friends(of: one).contains { $0.name == "Ada" } }),
        (
            "ANY friends.age = CASE WHEN friends.salary > 3 THEN friends.salary END",
            { all, one in all.friends(of: one).contains { $0.salary > 3 && $0.age == $0.salary } }
        ),
        (
            "ANY friends.age > CASE friends.name WHEN 'Ada' THEN 3 ELSE 6 END",
            { all, one in all.friends(of: one).contains { $0.age ?? 0 > ($0.name == "Ada" ? 3 : 6) } }
        ),
        (
            "ANY friends.age = abs(friends.salary)",
            { all, one in all.friends(of: one).contains { $0.age == $0.salary } }
        ),
        (
            "ANY friends.staff.@count > 1",
            { all, one in all.friends(of: one).contains { all.staff(of: $0).count > 1 } }
        ),
        (
            "ALL friends.friends.@max.age > 5",
            { all, one in
                all.friends(of: one).allSatisfy { all.friends(of: $0).compactMap(\.age).max() ?? 0 > 5 }
            }
        ),
        (
            "ANY friends.friends.tags.@count > 2",
            { all, one in
                all.friends(of: one).contains { all.friends(of: $0).contains { $0.tags?.count ?? 0 > 2 } }
            }
        ),
        ("ANY friends.tags.@count > 1", { all, one in all.friends(of: one).contains { $0.tags?.count ?? 0 > 1 } }),
        ("ANY friends.name LIKE 'x%' ESCAPE '!'", { _, _ in false }),
        ("tags.@avg > 2", { _, _ in false }),
        ("tags.@count = 1 OR tags.@count = 2", { _, one in [1, 2].contains(one.tags?.count ?? 0) }),
        ("boss.fans.@count = 0", { all, one in one.boss.map { all.fans(of: all.people[$0 - 1]).isEmpty } ?? true }),
        (
            "ANY boss.fans.name = 'Ada'",
            { all, one in one.boss.map { all.fans(of: all.people[$0 - 1]).contains { $0.name == "Ada" } } ?? false }
        ),
        (
            "CASE WHEN ANY friends.age > 6 THEN 1 WHEN EXISTS (SELECT 1 FROM Pet WHERE owner = Person.id) THEN 2 END = 2",
            { all, one in
                !all.friends(of: one).contains { $0.age ?? 0 > 6 } && !all.pets(of: one).isEmpty
            }
        ),
        ("CASE 3 WHEN age THEN 'x' ELSE 'y' END = 'x'", { _, one in one.age == 3 }),
    ]

    /// Conditions built by code that no text can express.
    private static let built: [(Quantifier, String, Model)] = [
        (
            .any, "NOT friends.age > 6",
            { all, one in all.friends(of: one).contains { $0.age.map { $0 <= 6 } ?? false } }
        ),
        (
            .any, "friends.age > 3 AND ANY friends.tags = 'x'",
            { all, one in
                all.friends(of: one).contains { $0.age ?? 0 > 3 && $0.tags?.contains("x") == true }
            }
        ),
        (
            .all, "friends.age > 3 OR friends.name = 'Ada' AND friends.salary > salary",
            { all, one in
                all.friends(of: one).allSatisfy { $0.age ?? 0 > 3 || $0.name == "Ada" && $0.salary > one.salary }
            }
        ),
        (
            .none, "-friends.age < -6 OR friends.age IS NULL",
            { all, one in !all.friends(of: one).contains { $0.age ?? 9 > 6 } }
        ),
        (
            .any, "tags = 'x' OR tags = name",
            { _, one in one.tags?.contains { $0 == "x" || $0 == one.name } == true }
        ),
    ]

    @Test func conditionsOnManyMayHaveParts() throws {
        let all = try ManyFixture(seed: 21, isIndexed: true)
        for (quantifier, text, model) in Self.built {
            let condition = Condition.quantified(quantifier, try Condition.parse(text))
            let ids = try Selection(table: "Person", condition: condition).plan(all.catalogue)
                .ids(in: all.fixture.store.snapshot()).map { Int($0) }.sorted()
            #expect(ids == all.people.filter { model(all, $0) }.map(\.id), "\(text)")
        }
    }

    @Test(arguments: [true, false]) func answersAreThoseOfPlainLoops(isIndexed: Bool) throws {
        for seed in UInt64(11)...13 {
            let all = try ManyFixture(seed: seed, isIndexed: isIndexed)
            for (text, model) in Self.ofPeople {
                let expected = all.people.filter { model(all, $0) }.map(\.id)
                #expect(try all.ids("Person", text) == expected, "\(text), seed \(seed)")
            }
        }
    }

    /// With so many outer rows the sub-query's rows are scanned once.
    @Test func scansAgreeWithTheModelForManyRows() throws {
        let all = try ManyFixture(seed: 14, departments: 20, people: 600, pets: 500, isIndexed: false)
        for (text, model) in Self.ofPeople {
            let expected = all.people.filter { model(all, $0) }.map(\.id)
            #expect(try all.ids("Person", text) == expected, "\(text)")
        }
    }

    /// Texts beside values of types that are written as texts.
    @Test(
        arguments: [
            ("'2020-01-01' IN (SELECT at FROM T)", [1, 2, 3]), ("'2020-01-05' IN (SELECT at FROM T)", []),
            ("'00000000-0000-0000-0000-000000000007' IN (SELECT u FROM T)", [1, 2, 3]),
            ("1 IN (SELECT b FROM T WHERE id = 1)", [1, 2, 3]), ("0 IN (SELECT b FROM T WHERE id = 1)", []),
            ("NULL IN (SELECT b FROM T)", []), ("1 IN (SELECT d FROM T)", [1, 2, 3]),
            ("price IN (SELECT price FROM T)", [1, 2, 3]),
            ("id IN (SELECT id FROM T WHERE price = '1.50')", [1]), ("'1.50' = price", [1]), ("1.5 = price", [1]),
            ("price = 'NaN'", [3]), ("price < 'NaN'", []), ("price < NULL", []), ("NULL >= price", []),
            ("price < 10", [1, 2]),
            ("price < d", [2]), ("d > price", [2]), ("price > n", [1]), ("n < price", [1]), ("'2' < price", [2]),
            ("price BETWEEN 1 AND 2", [1]), ("price IN ('1.50', 7)", [1]),
        ] as [(String, [Int64])]) func textsAreWhatTheySay(text: String, ids: [Int64]) throws
    {
        let fixture = try Fixture(
            EntitySchema(
                name: "T",
                columns: [
                    ColumnSchema("at", .date, isOptional: true), ColumnSchema("u", .uuid, isOptional: true),
                    ColumnSchema("b", .bool, isOptional: true), ColumnSchema("d", .double, isOptional: true),
                    ColumnSchema("price", .text, isOptional: true), ColumnSchema("n", .integer, isOptional: true),
                ]))
        let day = try #require(ColumnType.date.coerced(.text("2020-01-01")))
        try fixture.insertAll(
            "T",
            [
                [day, .uuid(0, 7), .bool(true), .double(1), .text("1.5"), .integer(1)],
                [.null, .null, .bool(false), .double(20.5), .text("3"), .integer(9)],
                [.null, .null, .null, .double(.nan), .text("NaN"), .null],
            ])
        let catalogue = fixture.catalogue.describing(["T": TableRelations(decimals: ["price"])])
        let plan = try Selection(table: "T", condition: .parse(text), orderBy: Order.parse("id")).plan(catalogue)
        #expect(try plan.ids(in: fixture.store.snapshot()) == ids)
    }

    /// A sub-query's value is an equation between tables as well.
    @Test func valuesOfSubqueriesJoin() throws {
        let all = try ManyFixture(seed: 9, isIndexed: true)
        let found = try all.rows(
            """
            SELECT p.id, x.id FROM Person p JOIN Pet x ON x.name = (SELECT max(name) FROM Pet WHERE owner = p.id)
            AND x.name = p.tags.@max ORDER BY p.id, x.id
            """)
        #expect(found == [])
        let names = try all.rows(
            """
            SELECT p.id, x.id FROM Person p JOIN Pet x ON x.name = (SELECT max(name) FROM Pet WHERE owner = p.id)
            ORDER BY p.id, x.id
            """)
        var expected: [[Value]] = []
        for person in all.people {
            guard let name = all.pets(of: person).map(\.name).max() else { continue }
            for pet in all.pets where pet.name == name {
                expected.append([.integer(Int64(person.id)), .integer(Int64(pet.id))])
            }
        }
        #expect(names == expected)
        let others = try all.rows("SELECT p.id, q.id FROM Person p JOIN Person q ON q.tags.@max = p.tags.@max")
        let tags = all.people.compactMap { $0.tags?.max() }
        #expect(others.count == tags.reduce(0) { sum, tag in sum + tags.filter { $0 == tag }.count })
    }

    @Test func scansOfHeldKeysAreCancelled() throws {
        let all = try ManyFixture(seed: 9, isIndexed: true)
        let cancellation = Cancellation()
        cancellation.cancel()
        var plan = try all.plan("Person", "ANY friends.age > 3")
        plan.cancellation = cancellation
        #expect(throws: RecordError.cancelled) { try plan.count(in: all.fixture.store.snapshot()) }
    }

    /// Keys of rows that are not there, of other tables, and of a kind that the table has not.
    @Test func heldKeysThatLeadNowhere() throws {
        let fixture = try Fixture(
            ElementIndexTests.person, ElementIndexTests.tag,
            EntitySchema(
                name: "Holder", columns: [ColumnSchema("tags", .keys, isOptional: true, target: "Tag")],
                indexes: [IndexSchema("Holder.tags", [IndexColumn("tags")])]))
        func held(_ trees: [KeyTree]) -> Value { .blob(KeyTree.list(trees).encoded) }
        let (ada, code) = (RowKey.rowID(1), RowKey(values: [.text("x")]))
        let long = RowKey.bytes([UInt8](repeating: 1, count: 5000))
        try fixture.insertAll(
            "Person",
            [
                [.text("Ada"), held([.key(.rowID(1)), .key(.rowID(77)), .foreign(table: 9, .rowID(1))])],
                [.text("Bob"), held([.foreign(table: 9, .rowID(1)), .key(.bytes([1, 2]))])],
            ])
        try fixture.insertAll("Tag", [[.text("x"), held([.key(ada)])], [.text("y"), held([])]])
        try fixture.insertAll("Holder", [[held([.key(code), .key(ada), .key(long)])], [held([.key(long)])], [.null]])
        let catalogue = fixture.catalogue.describing([
            "Person": TableRelations(inverses: ["tags": .init(table: "Tag", column: "people")]),
            "Tag": TableRelations(inverses: ["holders": .init(table: "Holder", column: "tags")]),
        ])
        func count(_ table: String, _ condition: String) throws -> Int {
            try Selection(table: table, condition: .parse(condition)).plan(catalogue).count(
                in: fixture.store.snapshot())
        }
        #expect(try count("Person", "ANY friends.name = 'Ada'") == 1)
        #expect(try count("Person", "ALL friends.name = 'Ada'") == 2)
        #expect(try count("Person", "friends.@count = 3") == 1)
        #expect(try count("Person", "tags.@count = 1") == 1)
        #expect(try count("Holder", "ANY tags.code = 'x'") == 1)
        #expect(try count("Holder", "NONE tags.code = 'x'") == 2)
        #expect(try count("Tag", "holders.@count = 1") == 1)
        #expect(try count("Tag", "holders.@count = 0") == 1)
    }

    @Test func tablesWithKeysOfTheirOwnAreLinkedByThem() throws {
        let fixture = try Fixture(
            EntitySchema(
                name: "Wolf", columns: [ColumnSchema("pack", .integer), ColumnSchema("name", .text)],
                key: .columns(["pack", "name"])),
            EntitySchema(name: "Cub", columns: [ColumnSchema("pack", .integer), ColumnSchema("mother", .text)]))
        try fixture.insertAll(
            "Wolf", [[.integer(1), .text("a")], [.integer(1), .text("b")], [.integer(2), .text("a")]])
        try fixture.insertAll(
            "Cub", [[.integer(1), .text("b")], [.integer(2), .text("b")], [.integer(3), .text("a")]])
        for (text, ids) in [
            ("EXISTS (SELECT 1 FROM Wolf WHERE pack = Cub.pack AND name = Cub.mother)", [1]),
            ("EXISTS (SELECT 1 FROM Wolf WHERE name = Cub.mother AND pack = Cub.pack)", [1]),
            ("EXISTS (SELECT 1 FROM Wolf WHERE pack = Cub.pack)", [1, 2]),
            ("EXISTS (SELECT 1 FROM Wolf WHERE name = Cub.mother)", [1, 2, 3]),
            ("(SELECT count(*) FROM Wolf WHERE pack = Cub.pack) = 2", [1]),
        ] as [(String, [Int64])] {
            let plan = try Selection(table: "Cub", condition: .parse(text)).plan(fixture.catalogue)
            #expect(try plan.ids(in: fixture.store.snapshot()) == ids, "\(text)")
        }
    }

    /// MATCH uses the index with the fewest columns, and over a path needs a target table with row ids.
    @Test func wordsAreSoughtInTheNarrowestIndex() throws {
        let fixture = try Fixture(
            EntitySchema(
                name: "Song", columns: [ColumnSchema("title", .text), ColumnSchema("text", .text)],
                key: .columns(["title"]),
                indexes: [
                    IndexSchema("both", [IndexColumn("title"), IndexColumn("text")], fullText: FullTextOptions()),
                    IndexSchema("own", [IndexColumn("text")], fullText: FullTextOptions()),
                ]),
            EntitySchema(name: "Play", columns: [ColumnSchema("song", .text, target: "Song")]))
        try fixture.insertAll("Song", [[.text("a"), .text("over the sea")], [.text("b"), .text("under the sky")]])
        try fixture.insertAll("Play", [[.text("a")], [.text("b")]])
        let view = try fixture.store.snapshot()
        let plan = try Selection(table: "Song", condition: .parse("text MATCH 'sea'")).plan(fixture.catalogue)
        #expect(plan.description.contains("own") && !plan.description.contains("both"))
        #expect(try plan.count(in: view) == 1)
        let error = Fixture.error {
            _ = try Selection(table: "Play", condition: .parse("song.text MATCH 'sea'")).plan(fixture.catalogue)
        }
        #expect(
            "\(String(describing: error))".contains("Song has no row ids, so MATCH cannot search it through song.text"))
    }
}
