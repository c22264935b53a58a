import MakoRecords
import Testing

/// The names of a result's columns.
@Suite struct ResultNameTests {
    private let fixture: Fixture

    init() throws { fixture = try JoinFixture.make() }

    private func run(_ text: String) throws -> QueryRows {
        try SelectStatement.parse(text).run(fixture.catalogue, view: fixture.store.snapshot())
    }

    private func names(_ text: String) throws -> [String] { try run(text).columns }

    @Test func aQualifiedColumnIsCalledByItsLastName() throws {
        #expect(try names("SELECT k.code FROM Kind k") == ["code"])
        #expect(try names("SELECT k . code, \"k\".\"legs\" FROM Kind AS k") == ["code", "legs"])
        #expect(try names("SELECT \"code\", [legs] FROM Kind") == ["code", "legs"])
        #expect(try names("SELECT p.name, Location.city FROM Person p, Location") == ["name", "city"])
        #expect(try names("SELECT department.name, department.location.city FROM Person") == ["name", "city"])
        #expect(try names("SELECT k.code, count(*) FROM Kind k GROUP BY k.code") == ["code", "count(*)"])
        #expect(try names("SELECT DISTINCT k.code, k.legs + 1 FROM Kind k") == ["code", "k.legs + 1"])
    }

    /// Where columns share a name, each has the name with which it is written, so that all are read by name.
    @Test func columnsThatShareANameKeepTheirPaths() throws {
        let from = " FROM Person p JOIN Department d ON p.department = d.id"
        #expect(try names("SELECT p.name, d.name, d.budget" + from) == ["p.name", "d.name", "budget"])
        #expect(try names("SELECT p.name, d.budget AS name" + from) == ["p.name", "name"])
        #expect(try names("SELECT p.name, d.budget AS NAME" + from) == ["p.name", "NAME"])
        #expect(
            try names("SELECT name, department.name, department.id FROM Person") == ["name", "department.name", "id"])
        #expect(try names("SELECT p.id, d.*" + from) == ["p.id", "d.id", "name", "location", "budget"])
        #expect(
            try names("SELECT d.*, x.* FROM Department d, Location x")
                == ["d.id", "name", "location", "budget", "x.id", "city"])
    }

    /// Queries in FROM, views and tables give the same names, whether they are flattened or run by themselves.
    @Test func queriesInFromNameAsTablesDo() throws {
        let inner = "(SELECT p.name, p.age FROM Person p)"
        #expect(try names("SELECT * FROM \(inner)") == ["name", "age"])
        #expect(try names("SELECT x.name, x.age FROM \(inner) x WHERE x.age > 1") == ["name", "age"])
        #expect(try names("SELECT x.name, d.name FROM \(inner) x, Department d") == ["x.name", "d.name"])
        #expect(try names("SELECT x.name, d.budget FROM \(inner) x, Department d") == ["name", "budget"])
        let cut = "(SELECT p.name, p.age FROM Person p LIMIT 2)"
        #expect(try names("SELECT x.name, x.age FROM \(cut) x WHERE x.age > 1") == ["name", "age"])
        #expect(try names("SELECT y.name FROM (SELECT x.name FROM \(inner) x) y") == ["name"])
    }

    /// An unnamed column is no alias: in ORDER BY its last name is that of a column first.
    @Test func namesOfPathsAreNotAliases() throws {
        let plain = try run("SELECT department.name FROM Person p ORDER BY p.name").rows
        #expect(try run("SELECT department.name FROM Person ORDER BY name").rows == plain)
        #expect(try run("SELECT x.department.name FROM (SELECT * FROM Person) x ORDER BY name").rows == plain)
    }

    /// A result may be ordered by the column that it has, of whichever table of the query in FROM.
    @Test func ordersByColumnsOfAQueryInFrom() throws {
        let text = """
            SELECT x.budget, x.n FROM (SELECT p.name AS n, budget FROM Person p JOIN Department d ON p.department = d.id) x
            ORDER BY
            """
        #expect(try run(text + " x.budget DESC, x.n") == run(text + " 1 DESC, 2"))
        #expect(try run(text + " budget DESC, n") == run(text + " 1 DESC, 2"))
        #expect(try run(text + " budget DESC, n").columns == ["budget", "n"])
    }

    @Test func compoundsAreOrderedByEitherName() throws {
        let union = "SELECT k.code FROM Kind k UNION SELECT kind FROM Pet ORDER BY "
        #expect(try run(union + "code DESC") == run(union + "1 DESC"))
        #expect(try run(union + "k.code DESC") == run(union + "1 DESC"))
        #expect(try run(union + "code").columns == ["code"])
        #expect(throws: RecordError.self) { try run(union + "x.code") }
    }
}
