import MakoRecords
import MakoStorage
import Testing

/// Queries that are refused, each with its error.
@Suite struct QueryErrorTests {
    private static let ofPeople: [(String, String)] = [
        ("ANY tags = tags.size", "tags holds plain values, which have no size"),
        ("friends.age.@count > 3", "@count follows what is counted"),
        ("friends.@min.nothing > 3", "no column nothing"),
        ("name IN (SELECT age FROM Pet)", "and the sub-query gives"),
        ("'x' IN (SELECT age FROM Pet)", "and the sub-query gives"),
        ("age IN (SELECT nothing FROM Pet)", "nothing"),
        ("age IN (SELECT name, age FROM Pet)", "must give one column, not 2"),
        ("name = replace(?, 'a', ?)", "replace would make a text of more than"),
        ("ANY friends.friends.friends.friends.nobody.x > 3", "no column nobody"),
        ("sum(age) > 3", "is of many rows"), ("count(DISTINCT age) > 3", "is of many rows"),
    ]

    @Test(arguments: ofPeople) func conditionsSayWhatIsWrong(text: String, message: String) throws {
        let all = try ManyFixture(seed: 1, departments: 2, people: 3, pets: 2, isIndexed: true)
        let long = Value.text(String(repeating: "a", count: 20_000))
        let error = Fixture.error {
            _ = try all.ids("Person", text, text.contains("?") ? [long, long] : [])
        }
        #expect("\(String(describing: error))".contains(message), "\(String(describing: error))")
    }

    private static let statements: [(String, String)] = [
        // Unknown names in joins.
        ("SELECT p.id FROM Person p, Pet WHERE ANY nobody.age > 1", "ANY needs a path that leads to many"),
        ("SELECT p.id FROM Person p, Person q WHERE ANY staff.age > 1", "ANY needs a path that leads to many"),
        ("SELECT p.id FROM Person p, Pet WHERE Nobody.age > 1", "no table or column Nobody"),
        (
            "SELECT p.id FROM Person p, Pet x WHERE EXISTS (SELECT 1 FROM Pet AS o WHERE o.owner = nobody.id)",
            "nobody"
        ),
        ("SELECT x.* FROM (SELECT id FROM Person) q JOIN Pet ON Pet.owner = q.id", "there is no table x"),
        ("SELECT q.id FROM (SELECT id FROM Person) q JOIN Nobody ON 1 = 1", "there is no table Nobody"),
        ("SELECT q.id.x FROM (SELECT id + 1 AS id FROM Person) q", "refers to no other table"),
        ("WITH x AS (SELECT nothing.age FROM Person) SELECT 1 FROM x", "nothing"),
        ("WITH 3 AS (SELECT age FROM Person) SELECT 1 FROM x", "a name is expected here"),
        ("WITH x (3) AS (SELECT age FROM Person) SELECT 1 FROM x", "the name of a column is expected here"),
        ("SELECT 1 FROM Person AS 3", "a name is expected here"),
        // Groups.
        ("SELECT sum() FROM Person", "sum takes 1 value, not 0"), ("SELECT count(DISTINCT) FROM Person", "DISTINCT"),
        (
            "SELECT age FROM Person GROUP BY age HAVING EXISTS (SELECT 1 FROM Pet WHERE owner = Person.salary)",
            "must stand in GROUP BY"
        ),
        ("SELECT age FROM Person GROUP BY age + 1", "must stand in GROUP BY"),
        ("SELECT name FROM Person GROUP BY name HAVING name MATCH 'x'", "write it in WHERE"),
        ("SELECT age FROM Person GROUP BY sum(age)", "not grouped by what is known of groups only"),
        ("SELECT sum(max(age)) FROM Person", "an aggregate of aggregates is not there"),
        // How many.
        ("SELECT age FROM Person LIMIT ?", "LIMIT takes a whole number from 0 on, not text 'x'"),
        ("SELECT age FROM Person LIMIT 3 OFFSET ?", "OFFSET takes a whole number from 0 on, not text 'x'"),
    ]

    @Test(arguments: statements) func statementsSayWhatIsWrong(text: String, message: String) throws {
        let all = try ManyFixture(seed: 1, departments: 2, people: 3, pets: 2, isIndexed: true)
        let error = Fixture.error { _ = try all.rows(text, text.contains("?") ? [.text("x")] : []) }
        #expect("\(String(describing: error))".contains(message), "\(String(describing: error))")
    }

    @Test func decimalsOfManyAreNotWorkedOut() throws {
        let fixture = try Fixture(
            EntitySchema(name: "Shop", columns: [ColumnSchema("name", .text)]),
            EntitySchema(
                name: "Sale",
                columns: [ColumnSchema("shop", .reference, target: "Shop"), ColumnSchema("price", .text)]))
        let catalogue = fixture.catalogue.describing([
            "Shop": TableRelations(inverses: ["sales": .init(table: "Sale", column: "shop")]),
            "Sale": TableRelations(decimals: ["price"]),
        ])
        for (text, message) in [
            ("sales.@max.price > 3", "@max is not worked out of decimals"),
            ("sales.@sum.price > 3", "@sum needs numbers, and this is"),
            ("(SELECT min(price) FROM Sale) > 3", "min is not worked out of decimals here"),
        ] {
            let error = Fixture.error { _ = try Selection(table: "Shop", condition: .parse(text)).plan(catalogue) }
            #expect("\(String(describing: error))".contains(message), "\(text)")
        }
    }

    /// Conditions that are built, not read: no text can say them.
    @Test(arguments: [
        (Condition.comparison(.equal, .subject(), .literal(.integer(3))), "no CASE is around this"),
        (.elements(.any, ["name"], .constant(true)), "name leads to no more than one row or value"),
        (.elements(.all, ["friends", "age"], .constant(true)), "friends.age leads to no more than one row or value"),
        (
            .comparison(.greater, .collection(["friends"], .count, ["age"]), .literal(.integer(3))),
            "@count follows what is counted"
        ),
        (
            .truth(
                .choice(
                    .init(
                        subject: .path("name"), [.init(.comparison(.equal, .path("age"), .subject()), .path("age"))]))),
            "cannot be compared with name, which holds text"
        ),
        (
            .truth(
                .choice(
                    .init(
                        subject: .function("lower", [.path("name")]),
                        [.init(.comparison(.equal, .path("age"), .subject()), .path("age"))]))),
            "cannot be compared with the subject, which holds text"
        ),
        (.comparison(.equal, .column([]), .literal(.integer(3))), "a name is expected here"),
        (.match(.path("name"), .literal(.text("x"))), "has no full-text index"),
    ]) func builtConditionsSayWhatIsWrong(condition: Condition, message: String) throws {
        let all = try ManyFixture(seed: 1, departments: 2, people: 3, pets: 2, isIndexed: true)
        let error = Fixture.error { _ = try Selection(table: "Person", condition: condition).plan(all.catalogue) }
        #expect("\(String(describing: error))".contains(message), "\(String(describing: error))")
    }

    @Test func conditionsOnManyAreRefusedOnGroups() throws {
        let all = try ManyFixture(seed: 1, departments: 2, people: 3, pets: 2, isIndexed: true)
        let having = Condition.elements(.any, ["friends"], .comparison(.greater, .path("age"), .literal(.integer(1))))
        let statement = SelectStatement(
            Selection(table: "Person"), outputs: [(.path("name"), "name")], groupBy: [.path("name")], having: having,
            orderBy: [], limit: nil, offset: nil)
        let error = Fixture.error { _ = try statement.run(all.catalogue, view: all.fixture.store.snapshot()) }
        #expect("\(String(describing: error))".contains("tests rows, not groups"))
    }

    /// Each step leads on to many, so that each is a condition in the one before it.
    @Test func nestingThatNoTextCanSayIsRefused() throws {
        let all = try ManyFixture(seed: 1, departments: 2, people: 3, pets: 2, isIndexed: true)
        var condition = Condition.comparison(.greater, .path("age"), .literal(.integer(1)))
        for _ in 0..<300 { condition = .elements(.any, ["friends"], condition) }
        for deep in [condition, .not(condition)] {
            let error = Fixture.error { _ = try Selection(table: "Person", condition: deep).plan(all.catalogue) }
            #expect("\(String(describing: error))".contains("nested too deeply"))
        }
        var inner = Condition.comparison(.greater, .path("age"), .literal(.integer(1)))
        for _ in 0..<300 {
            inner = .exists(
                Subquery(
                    SelectStatement(
                        Selection(table: "Person", condition: inner), outputs: [(.path("id"), "id")], groupBy: [],
                        having: nil, orderBy: [], limit: nil, offset: nil)))
        }
        for deep in [inner, .not(inner)] {
            let error = Fixture.error { _ = try Selection(table: "Person", condition: deep).plan(all.catalogue) }
            #expect("\(String(describing: error))".contains("nested too deeply"))
        }
    }

    /// A declared relation that the tables do not have.
    @Test func inversesThatHoldNoKeyAreRefused() throws {
        let fixture = try Fixture(
            EntitySchema(
                name: "Wolf", columns: [ColumnSchema("pack", .integer), ColumnSchema("name", .text)],
                key: .columns(["pack", "name"])),
            EntitySchema(name: "Cub", columns: [ColumnSchema("mother", .text), ColumnSchema("pack", .integer)]))
        let relations = [
            "Wolf": TableRelations(inverses: ["cubs": .init(table: "Cub", column: "mother")]),
            "Cub": TableRelations(inverses: ["others": .init(table: "Cub", column: "mother")]),
        ]
        let catalogue = fixture.catalogue.describing(relations)
        for (table, text) in [("Wolf", "cubs.@count > 1"), ("Cub", "ANY others.pack = 3")] {
            let error = Fixture.error { _ = try Selection(table: table, condition: .parse(text)).plan(catalogue) }
            #expect("\(String(describing: error))".contains("does not hold the key of \(table)"))
        }
    }

    @Test(arguments: [
        ("SELECT title FROM Article GROUP BY title HAVING title MATCH 'steam'", "MATCH tests rows, not groups"),
        ("SELECT highlight() FROM Article WHERE Article MATCH 'steam'", "highlight takes 1 to 3 values, not 0"),
        (
            "SELECT highlight(body, 'a', 'b', 'c') FROM Article WHERE Article MATCH 'steam'",
            "highlight takes 1 to 3 values, not 4"
        ),
        (
            "SELECT snippet(body, 'a', 'b', 'c', 3, 4) FROM Article WHERE Article MATCH 'steam'",
            "snippet takes 1 to 5 values, not 6"
        ),
        ("SELECT snippet() FROM Article WHERE Article MATCH 'steam'", "snippet takes 1 to 5 values, not 0"),
        ("SELECT title FROM Article WHERE author.name MATCH 'x'", "Author.name has no full-text index"),
    ]) func wordsAreSoughtWhereTheyAre(text: String, message: String) throws {
        let fixture = try MatchTests.library()
        let error = Fixture.error {
            _ = try SelectStatement.parse(text).run(fixture.catalogue, view: fixture.store.snapshot())
        }
        #expect("\(String(describing: error))".contains(message), "\(String(describing: error))")
    }
}
