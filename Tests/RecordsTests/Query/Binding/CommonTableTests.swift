import MakoRecords
import MakoStorage
import Testing

/// Common tables and sub-queries in FROM: `WITH x AS (SELECT …)` and `FROM (SELECT …) AS x`.
@Suite struct CommonTableTests {
    private func run(_ text: String, _ parameters: [Value] = []) throws -> QueryRows {
        let fixture = try JoinFixture.make()
        return try SelectStatement.parse(text).run(
            fixture.catalogue, view: fixture.store.snapshot(), parameters: parameters)
    }

    /// Queries with common table expressions, and the same without.
    private static let pairs: [(String, String)] = [
        (
            "WITH old AS (SELECT name, age FROM Person WHERE age > 30) SELECT name FROM old WHERE age < 50 ORDER BY name",
            "SELECT name FROM Person WHERE age > 30 AND age < 50 ORDER BY name"
        ),
        (
            "WITH old (who, years) AS (SELECT name, age + 1 FROM Person) SELECT * FROM old WHERE years > 37 ORDER BY who DESC",
            "SELECT name AS who, age + 1 AS years FROM Person WHERE age + 1 > 37 ORDER BY name DESC"
        ),
        // Rows that nothing else orders.
        (
            "SELECT name FROM (SELECT name, age FROM Person ORDER BY age DESC, name) LIMIT 2",
            "SELECT name FROM Person ORDER BY age DESC, name LIMIT 2"
        ),
        (
            "SELECT id AS name FROM (SELECT * FROM Person ORDER BY name) x WHERE age > 20",
            "SELECT id AS name FROM Person p WHERE age > 20 ORDER BY p.name"
        ),
        (
            "WITH x AS (SELECT age AS a, name FROM Person p ORDER BY a DESC, 2) SELECT name AS a FROM x",
            "SELECT name AS a FROM Person ORDER BY age DESC, Person.name"
        ),
        (
            "SELECT n, d FROM (SELECT p.name AS n, q.name AS d FROM Person p JOIN Department q ON p.department = q.id ORDER BY q.name, n DESC)",
            "SELECT p.name AS n, q.name AS d FROM Person p JOIN Department q ON p.department = q.id ORDER BY q.name, p.name DESC"
        ),
        // Names that change places.
        (
            "WITH x (boss, id) AS (SELECT id, boss FROM Person) SELECT boss, id FROM x ORDER BY boss DESC",
            "SELECT id AS boss, boss AS id FROM Person ORDER BY 1 DESC"
        ),
        (
            "WITH x (a, b) AS (SELECT age, id FROM Person) SELECT a AS b FROM x ORDER BY x.b DESC",
            "SELECT age AS b FROM Person ORDER BY Person.id DESC"
        ),
        (
            "WITH x (a, b) AS (SELECT age, id FROM Person) SELECT a AS id FROM x ORDER BY b DESC",
            "SELECT age AS id FROM Person ORDER BY Person.id DESC"
        ),
        // A name whose value is a whole number is not a result's number in ORDER BY.
        (
            "WITH x (i, n) AS (SELECT id, 2 FROM Person) SELECT i, i % 2 AS r FROM x ORDER BY n, i DESC",
            "SELECT id AS i, id % 2 AS r FROM Person ORDER BY id DESC"
        ),
        (
            "WITH x (i, n) AS (SELECT id, -9 FROM Person) SELECT i FROM x ORDER BY n, i",
            "SELECT id AS i FROM Person ORDER BY id"
        ),
        (
            "WITH x (d, n) AS (SELECT age, 2 FROM Person) SELECT max(d) AS m, count(*) AS c FROM x GROUP BY n",
            "SELECT max(age) AS m, count(*) AS c FROM Person"
        ),
        (
            "SELECT p.id AS i FROM Person p JOIN (SELECT id AS j, 1 AS n FROM Person) q ON q.j = p.id ORDER BY q.n, p.id DESC",
            "SELECT id AS i FROM Person ORDER BY id DESC"
        ),
        ("SELECT count(*) AS c, 1 AS n FROM Person GROUP BY n", "SELECT count(*) AS c, 1 AS n FROM Person"),
        // Where a left join matches no row of a common table, its columns are NULL, whatever their expressions.
        (
            "SELECT p.id AS i, q.c AS c, q.n AS n, q.m AS m FROM Person p LEFT JOIN "
                + "(SELECT id AS j, 7 AS c, age IS NULL AS n, coalesce(age, -1) AS m FROM Person WHERE age > 36) q "
                + "ON q.j = p.id ORDER BY p.id",
            "SELECT id AS i, CASE WHEN age > 36 THEN 7 END AS c, CASE WHEN age > 36 THEN 0 END AS n, "
                + "CASE WHEN age > 36 THEN age END AS m FROM Person ORDER BY id"
        ),
        (
            "SELECT q.c AS c, count(*) AS n FROM Person p LEFT JOIN (SELECT id AS j, 7 AS c FROM Person WHERE age > 36) q "
                + "ON q.j = p.id WHERE q.c IS NULL OR q.c = 7 GROUP BY q.c ORDER BY q.c",
            "SELECT CASE WHEN age > 36 THEN 7 END AS c, count(*) AS n FROM Person GROUP BY 1 ORDER BY 1"
        ),
        // A common table that aggregates all rows to one gives one row, whatever the query selects.
        (
            "WITH x AS (SELECT count(*) AS n FROM Person) SELECT 1 AS one FROM x",
            "SELECT 1 AS one FROM Person HAVING TRUE"
        ),
        (
            "WITH x AS (SELECT max(age) AS n FROM Person WHERE age > 1000) SELECT 5 AS five, 6 AS six FROM x ORDER BY six",
            "SELECT 5 AS five, 6 AS six FROM Person WHERE age > 1000 HAVING count(*) = 0"
        ),
        // One behind the other.
        (
            "WITH a AS (SELECT * FROM Person WHERE age > 30), b AS (SELECT name AS n, department FROM a WHERE boss = 2) "
                + "SELECT n, department.name FROM b ORDER BY n",
            "SELECT name AS n, department.name FROM Person WHERE age > 30 AND boss = 2 ORDER BY name"
        ),
        // A name hides the table of that name, but not in its own definition.
        (
            "WITH Person AS (SELECT * FROM Person WHERE age > 36) SELECT count(*) FROM Person",
            "SELECT count(*) FROM Person WHERE age > 36"
        ),
        (
            "SELECT y.name FROM (SELECT name, age FROM Person p WHERE p.age = 36) AS y ORDER BY y.name",
            "SELECT name FROM Person WHERE age = 36 ORDER BY name"
        ),
        // Groups of plain rows, and rows of groups.
        (
            "WITH x (d, a) AS (SELECT department, age FROM Person WHERE age > 20) "
                + "SELECT d, sum(a) AS total FROM x GROUP BY d HAVING total > 36 ORDER BY total",
            "SELECT department AS d, sum(age) AS total FROM Person WHERE age > 20 GROUP BY department "
                + "HAVING sum(age) > 36 ORDER BY 2"
        ),
        (
            "WITH t AS (SELECT department AS d, count(*) AS n, max(age) AS oldest FROM Person GROUP BY department) "
                + "SELECT oldest, n FROM t WHERE n > 1 OR oldest < 30 ORDER BY oldest",
            "SELECT max(age) AS oldest, count(*) AS n FROM Person GROUP BY department "
                + "HAVING count(*) > 1 OR max(age) < 30 ORDER BY 1"
        ),
        (
            "WITH t AS (SELECT department, count(*) AS n FROM Person GROUP BY department) SELECT * FROM t ORDER BY n DESC, 1 LIMIT 2",
            "SELECT department, count(*) AS n FROM Person GROUP BY department ORDER BY 2 DESC, 1 LIMIT 2"
        ),
        // A common table with a limit or a set operation is not flattened.
        (
            "WITH t (x) AS (SELECT name FROM Person ORDER BY age DESC, name LIMIT 2) SELECT * FROM t",
            "SELECT name AS x FROM Person ORDER BY age DESC, name LIMIT 2"
        ),
        (
            "WITH t (x) AS (SELECT name FROM Person UNION SELECT kind FROM Pet) SELECT * FROM t ORDER BY x DESC LIMIT 3",
            "SELECT name AS x FROM Person UNION SELECT kind FROM Pet ORDER BY 1 DESC LIMIT 3"
        ),
        (
            "WITH t AS (SELECT DISTINCT age FROM Person) SELECT * FROM t ORDER BY age",
            "SELECT DISTINCT age FROM Person ORDER BY age"
        ),
        (
            "WITH a AS (SELECT name FROM Person WHERE age = 36), b AS (SELECT kind FROM Pet) "
                + "SELECT name FROM a UNION SELECT * FROM b ORDER BY 1",
            "SELECT name FROM Person WHERE age = 36 UNION SELECT kind FROM Pet ORDER BY 1"
        ),
        // In a join, rows that the common table omits do not match.
        (
            "WITH p AS (SELECT id, name AS n FROM Person WHERE age > 30), c AS (SELECT owner, kind FROM Pet WHERE kind = 'cat') "
                + "SELECT n, kind FROM p LEFT JOIN c ON c.owner = p.id ORDER BY n",
            "SELECT p.name AS n, c.kind AS kind FROM Person p LEFT JOIN Pet c ON c.owner = p.id AND c.kind = 'cat' "
                + "WHERE p.age > 30 ORDER BY p.name"
        ),
        (
            "SELECT d.name, q.n FROM Department d JOIN (SELECT department AS dep, name AS n FROM Person) AS q ON q.dep = d.id "
                + "ORDER BY n",
            "SELECT d.name, q.name AS n FROM Department d JOIN Person q ON q.department = d.id ORDER BY q.name"
        ),
        (
            "WITH p AS (SELECT id, boss, name FROM Person) SELECT a.name, b.name FROM p a JOIN p b ON a.boss = b.id ORDER BY 1",
            "SELECT a.name, b.name FROM Person a JOIN Person b ON a.boss = b.id ORDER BY 1"
        ),
        (
            "WITH j AS (SELECT p.name AS who, d.name AS place FROM Person p JOIN Department d ON d.id = p.department) "
                + "SELECT who FROM j WHERE place = 'Engines' ORDER BY who",
            "SELECT p.name AS who FROM Person p JOIN Department d ON d.id = p.department WHERE d.name = 'Engines' ORDER BY p.name"
        ),
        // In sub-queries, around them and inside.
        (
            "SELECT name FROM Person WHERE id IN (WITH c AS (SELECT owner FROM Pet WHERE kind = 'cat') SELECT owner FROM c)",
            "SELECT name FROM Person WHERE id IN (SELECT owner FROM Pet WHERE kind = 'cat')"
        ),
        (
            "WITH c (who) AS (SELECT owner FROM Pet) SELECT name FROM Person WHERE id IN (SELECT who FROM c) ORDER BY 1",
            "SELECT name FROM Person WHERE id IN (SELECT owner FROM Pet) ORDER BY 1"
        ),
        (
            "WITH p (key, n) AS (SELECT id, name FROM Person) SELECT n FROM p WHERE EXISTS (SELECT 1 FROM Pet WHERE owner = p.key)",
            "SELECT name AS n FROM Person WHERE EXISTS (SELECT 1 FROM Pet WHERE owner = Person.id)"
        ),
        (
            "WITH p (owner, n) AS (SELECT id, name FROM Person) "
                + "SELECT n, k.kind FROM p JOIN Pet k ON k.owner = p.owner WHERE NOT EXISTS (SELECT 1 FROM Kind WHERE code = k.kind)",
            "SELECT p.name AS n, k.kind FROM Person p JOIN Pet k ON k.owner = p.id "
                + "WHERE NOT EXISTS (SELECT 1 FROM Kind WHERE code = k.kind)"
        ),
        (
            "WITH p AS (SELECT name, age FROM Person WHERE EXISTS (SELECT 1 FROM Pet WHERE owner = Person.id)) "
                + "SELECT name FROM p x WHERE x.age > 36",
            "SELECT name FROM Person WHERE EXISTS (SELECT 1 FROM Pet WHERE owner = Person.id) AND age > 36"
        ),
        // Every kind of condition and value.
        (
            "WITH x (n, a, c) AS (SELECT name, age, -age FROM Person) SELECT n FROM x WHERE n COLLATE NOCASE LIKE 'A%' "
                + "OR n GLOB 'M*' OR a BETWEEN 40 AND 41 OR c IN (-50) OR NOT n IS NOT NULL ORDER BY n COLLATE NOCASE",
            "SELECT name AS n FROM Person WHERE name COLLATE NOCASE LIKE 'A%' OR name GLOB 'M*' OR age BETWEEN 40 AND 41 "
                + "OR -age IN (-50) OR name IS NULL ORDER BY name COLLATE NOCASE"
        ),
        (
            "WITH x (k, n) AS (SELECT id, name COLLATE NOCASE FROM Person) SELECT k FROM x WHERE TRUE AND n = 'ADA' "
                + "AND CASE WHEN EXISTS (SELECT 1 FROM Pet WHERE owner = x.k) AND n LIKE 'ada!' ESCAPE '?' THEN FALSE ELSE TRUE END",
            "SELECT id AS k FROM Person WHERE name = 'Ada'"
        ),
        (
            "WITH x (k) AS (SELECT -age FROM Person) SELECT sum(k) AS s, CASE WHEN count(*) BETWEEN 1 AND 9 AND max(k) IN (-20) "
                + "AND NOT min(k) IS NULL THEN 'few' END AS f FROM x",
            "SELECT sum(-age) AS s, 'few' AS f FROM Person"
        ),
        // Orders by what columns are called inside and outside.
        (
            "WITH x (a, b) AS (SELECT DISTINCT age AS years, name FROM Person ORDER BY years DESC, name) SELECT * FROM x",
            "SELECT DISTINCT age AS a, name AS b FROM Person ORDER BY age DESC, name"
        ),
        (
            "SELECT * FROM (SELECT DISTINCT *, age + 1 AS more FROM Person ORDER BY more, name) AS x",
            "SELECT DISTINCT *, age + 1 AS more FROM Person ORDER BY age, name"
        ),
        (
            "SELECT * FROM (SELECT age, count(*) AS n FROM Person GROUP BY age ORDER BY n DESC, age) x",
            "SELECT age, count(*) AS n FROM Person GROUP BY age ORDER BY 2 DESC, 1"
        ),
        // Joined, with paths, names in other cases, and all columns.
        (
            "SELECT N, Q.Place FROM Department d JOIN (SELECT Person.name AS n, department.name AS place, department AS dep "
                + "FROM Person WHERE Person.age > 20) \"q\" ON Q.DEP = d.id ORDER BY n",
            "SELECT q.name AS N, q.department.name AS Place FROM Department d JOIN Person q ON q.department = d.id "
                + "WHERE q.age > 20 ORDER BY q.name"
        ),
        (
            "WITH q AS (SELECT id, name FROM Person) SELECT * FROM q JOIN (SELECT owner, kind AS name FROM Pet) AS k "
                + "ON k.owner = q.id ORDER BY q.id, k.name",
            "SELECT q.id AS id, q.name AS \"q.name\", k.owner AS owner, k.kind AS \"k.name\" FROM Person q JOIN Pet k ON k.owner = q.id "
                + "ORDER BY q.id, k.kind"
        ),
        (
            "SELECT q.*, d.budget AS b FROM Department d JOIN (SELECT id AS who, department AS dep FROM Person) q ON q.dep = d.id "
                + "ORDER BY b, who",
            "SELECT q.id AS who, q.department AS dep, d.budget AS b FROM Department d JOIN Person q ON q.department = d.id "
                + "ORDER BY d.budget, q.id"
        ),
        (
            "SELECT q.who, (SELECT count(*) FROM Pet WHERE owner = q.who) AS pets FROM Department d "
                + "JOIN (SELECT id AS who, department AS dep FROM Person) q ON q.dep = d.id ORDER BY 1",
            "SELECT q.id AS who, (SELECT count(*) FROM Pet WHERE owner = q.id) AS pets FROM Department d "
                + "JOIN Person q ON q.department = d.id ORDER BY 1"
        ),
    ]

    @Test(arguments: pairs.indices) func aCommonTableEqualsItsQuery(pair: Int) throws {
        let (named, plain) = Self.pairs[pair]
        let found = try run(named)
        let expected = try run(plain)
        #expect(found.rows == expected.rows, "\(named)")
        #expect(!found.rows.isEmpty)
        #expect(found.columns == expected.columns, "\(named)")
    }

    @Test func parametersKeepTheirNumbers() throws {
        let text = """
            WITH old AS (SELECT * FROM Person WHERE age > ?) SELECT name FROM old WHERE age < ? AND name <> ? ORDER BY 1
            """
        #expect(
            try run(text, [.integer(30), .integer(50), .text("Ada")]).rows == [[.text("Joseph")], [.text("Mary")]])
        let grouped =
            "WITH t AS (SELECT department AS d, count(*) AS n FROM Person WHERE age > ? GROUP BY d) SELECT n FROM t WHERE n > ?"
        #expect(try run(grouped, [.integer(30), .integer(1)]).rows == [[.integer(2)]])
        #expect(throws: RecordError.self) { try run(grouped, [.integer(30), .integer(1), .integer(2)]) }
    }

    @Test func aNameIsFoundByItsIndexes() throws {
        let fixture = try JoinFixture.make()
        let text = "WITH p AS (SELECT * FROM Person WHERE name > 'A') SELECT name FROM p WHERE age = 36"
        #expect(
            try SelectStatement.parse(text).explanation(fixture.catalogue).outline
                == "filter name > 'A'\n  search Person using index Person.age (age = 36)")
    }

    @Test(arguments: [
        // Columns that it has not, though its table has them.
        "WITH x AS (SELECT name FROM Person) SELECT age FROM x",
        "WITH x AS (SELECT name FROM Person) SELECT x.age FROM x",
        "WITH x AS (SELECT id FROM Person) SELECT kind FROM x JOIN Pet ON owner = x.id WHERE name = 'Ada'",
        "WITH x AS (SELECT id FROM Person) SELECT kind FROM x JOIN Pet ON owner = x.id WHERE x.name = 'Ada'",
        "WITH x AS (SELECT id FROM Person) SELECT id FROM x WHERE EXISTS (SELECT 1 FROM Pet WHERE owner = x.boss)",
        // Names that could be two.
        "WITH x (a, a) AS (SELECT id, age FROM Person) SELECT a FROM x",
        "WITH x AS (SELECT id AS kind FROM Person) SELECT kind FROM x JOIN Pet ON owner = 1",
        "WITH x AS (SELECT id FROM Person), x AS (SELECT id FROM Pet) SELECT id FROM x",
        "WITH x (a) AS (SELECT id, age FROM Person) SELECT a FROM x",
        "WITH RECURSIVE x AS (SELECT id FROM Person) SELECT id FROM x",
        "WITH x AS SELECT 1 FROM Person SELECT 1 FROM x",
        "WITH x SELECT 1 FROM x",
        "WITH x AS (SELECT nothing FROM Person) SELECT 1 FROM x", "WITH x AS (SELECT name FROM y) SELECT 1 FROM x",
    ]) func unsupportedQueriesAreRefused(text: String) throws {
        #expect(throws: RecordError.self) { try run(text) }
    }

    /// Flattening multiplies the text with each step; its size must stay bounded.
    @Test func namesDoNotGrowWithoutEnd() throws {
        var text = "WITH x0 AS (SELECT age AS a FROM Person)"
        for number in 1..<40 { text += ", x\(number) AS (SELECT a + a AS a FROM x\(number - 1))" }
        // A query that would be too long when flattened is run by itself.
        #expect(try run(text + " SELECT a FROM x39 WHERE a > 21000000000000").rows.count == 2)
        #expect(try run(text + " SELECT a FROM x3 WHERE a > 399").rows == [[.integer(400)]])
        var deep = "WITH x0 AS (SELECT age AS a FROM Person)"
        for number in 1..<45 {
            let ones = String(repeating: "(", count: 20) + "a" + String(repeating: " + 1)", count: 20)
            deep += ", x\(number) AS (SELECT \(ones) AS a FROM x\(number - 1))"
        }
        #expect(throws: RecordError.self) { try run(deep + " SELECT a FROM x44") }
        #expect(try run(deep + " SELECT a FROM x2 WHERE a = 60").rows == [[.integer(60)]])
        var many = "WITH x0 AS (SELECT age AS a FROM Person)"
        for number in 1..<60 { many += ", x\(number) AS (SELECT a FROM x\(number - 1))" }
        #expect(throws: RecordError.self) { try run(many + " SELECT a FROM x59") }
    }
}
