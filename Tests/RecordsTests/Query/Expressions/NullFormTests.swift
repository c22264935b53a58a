import MakoRecords
import MakoStorage
import Testing

/// `IS` between values, NULLS FIRST and LAST, and the functions that take any value; the answers are those of SQLite.
@Suite struct NullFormTests {
    private let fixture: Fixture

    init() throws { fixture = try NullFormTests.fixture(indexes: []) }

    private static func fixture(indexes: [IndexSchema]) throws -> Fixture {
        let fixture = try Fixture(
            EntitySchema(
                name: "T",
                columns: [
                    ColumnSchema("a", .integer, isOptional: true), ColumnSchema("b", .integer, isOptional: true),
                    ColumnSchema("s", .text, isOptional: true), ColumnSchema("n", .integer),
                ], indexes: indexes))
        try fixture.insertAll(
            "T",
            [
                [.integer(1), .integer(1), .text("x"), .integer(5)],
                [.integer(1), .integer(2), .text("X"), .integer(4)],
                [.null, .integer(1), .null, .integer(3)], [.integer(2), .null, .text("y"), .integer(2)],
                [.null, .null, .null, .integer(1)],
            ])
        return fixture
    }

    private func run(_ text: String, _ parameters: [Value] = []) throws -> [[Value]] {
        try SelectStatement.parse(text).run(
            fixture.catalogue, view: fixture.store.snapshot(), parameters: parameters
        ).rows
    }

    private func ids(_ rest: String, _ parameters: [Value] = []) throws -> [Int64] {
        try run("SELECT id FROM T " + rest, parameters).compactMap {
            if case .integer(let id) = $0[0] { id } else { nil }
        }
    }

    @Test(
        arguments: [
            ("a IS b", [1, 5]), ("a IS NOT b", [2, 3, 4]), ("a IS DISTINCT FROM b", [2, 3, 4]),
            ("a IS NOT DISTINCT FROM b", [1, 5]), ("a IS 1", [1, 2]), ("a IS NOT 1", [3, 4, 5]),
            ("NOT a IS 1", [3, 4, 5]),
            ("1 IS a", [1, 2]), ("a IS b + 0", [1, 5]), ("s IS 'x'", [1]), ("s COLLATE NOCASE IS 'X'", [1, 2]),
            ("s IS NOT 'x'", [2, 3, 4, 5]), ("a IS TRUE", [1, 2, 4]), ("a IS NOT TRUE", [3, 5]), ("a IS FALSE", []),
            ("(a = b) IS NULL", [3, 4, 5]), ("(a > 1) IS TRUE", [4]), ("(a > 1) IS NOT TRUE", [1, 2, 3, 5]),
            ("(a > 1) IS FALSE", [1, 2]), ("a IS (b IS 1)", [1]), ("a IS NOT NULL AND b IS 1 OR id IS 5", [1, 5]),
            ("a IS 1.0", [1, 2]), ("a IS (SELECT max(a) FROM T)", [4]),
        ] as [(String, [Int64])]) func isComparesWithNull(condition: String, found: [Int64]) throws
    {
        #expect(try ids("WHERE \(condition) ORDER BY id") == found)
    }

    @Test func isTakesParameters() throws {
        #expect(try ids("WHERE a IS ? ORDER BY id", [.null]) == [3, 5])
        #expect(try ids("WHERE a IS NOT ? ORDER BY id", [.null]) == [1, 2, 4])
        #expect(try ids("WHERE a IS ? ORDER BY id", [.integer(2)]) == [4])
    }

    /// A row that a left join does not find has NULLs, which IS finds.
    @Test func isKeepsTheRowsOfLeftJoins() throws {
        let text = "SELECT p.id FROM T p LEFT JOIN T q ON q.id = p.id + 100 WHERE q.a IS p.b ORDER BY p.id"
        #expect(try run(text) == [[.integer(4)], [.integer(5)]])
    }

    /// With a constant, IS is answered by an index, and its negation is not.
    @Test func isUsesAnIndex() throws {
        let indexed = try NullFormTests.fixture(indexes: [IndexSchema("T.a", [IndexColumn("a")])])
        func explained(_ condition: String) throws -> String {
            try Selection(table: "T", condition: .parse(condition)).explanation(indexed.catalogue).plan.description
        }
        #expect(try explained("a IS 1") == explained("a = 1"))
        #expect(try explained("a IS NOT DISTINCT FROM 1 AND b > 0") == explained("a = 1 AND b > 0"))
        #expect(try explained("a IS 1").contains("T.a") && !explained("a IS NOT 1").contains("T.a"))
    }

    @Test(
        arguments: [
            ("a NULLS LAST, id", [1, 2, 4, 3, 5]), ("a NULLS FIRST, id", [3, 5, 1, 2, 4]),
            ("a DESC NULLS FIRST, id", [3, 5, 4, 1, 2]), ("a DESC NULLS LAST, id", [4, 1, 2, 3, 5]),
            ("s NULLS LAST, id DESC", [2, 1, 4, 5, 3]), ("a ASC NULLS LAST, b NULLS LAST, id", [1, 2, 4, 3, 5]),
            ("a + b NULLS LAST, id", [1, 2, 3, 4, 5]), ("2 NULLS LAST, 1", [1, 2, 4, 3, 5]),
            ("v NULLS LAST, 1", [1, 2, 4, 3, 5]), ("n NULLS LAST", [5, 4, 3, 2, 1]),
            ("id DESC NULLS FIRST", [5, 4, 3, 2, 1]),
        ] as [(String, [Int64])]) func nullsSortWhereTheOrderSays(order: String, found: [Int64]) throws
    {
        let rows = try run("SELECT id, a AS v FROM T ORDER BY \(order)")
        #expect(rows.map { $0[0] } == found.map { .integer($0) })
        let joined = try run("SELECT T.id, T.a AS v FROM T JOIN T u ON u.id = T.id ORDER BY \(Self.qualified(order))")
        #expect(joined.map { $0[0] } == found.map { .integer($0) })
    }

    private static func qualified(_ order: String) -> String {
        order.split(separator: " ", omittingEmptySubsequences: false).map { word in
            let name = word.prefix { $0 != "," }
            return ["a", "b", "s", "n", "id"].contains(String(name)) ? "T.\(word)" : String(word)
        }.joined(separator: " ")
    }

    @Test func nullsOfGroupsDistinctRowsAndUnionsSortWhereTheOrderSays() throws {
        let last: [[Value]] = [[.integer(1)], [.integer(2)], [.null]]
        #expect(try run("SELECT DISTINCT a FROM T ORDER BY a NULLS LAST") == last)
        #expect(try run("SELECT a FROM T GROUP BY a ORDER BY a NULLS LAST") == last)
        #expect(try run("SELECT a FROM T GROUP BY a ORDER BY a DESC NULLS FIRST") == last.reversed())
        #expect(try run("SELECT a FROM T UNION SELECT b FROM T ORDER BY a NULLS LAST") == last)
        #expect(try run("SELECT a FROM T UNION SELECT b FROM T ORDER BY 1 DESC NULLS FIRST") == last.reversed())
        #expect(try run("SELECT x.a FROM (SELECT a FROM T) x GROUP BY x.a ORDER BY a NULLS LAST") == last)
    }

    /// An index serves only the order of NULL that it has, and each one of a column without NULL.
    @Test func anIndexServesTheOrderOfNullThatItHas() throws {
        let indexes = [IndexSchema("T.a", [IndexColumn("a")]), IndexSchema("T.n", [IndexColumn("n")])]
        let indexed = try NullFormTests.fixture(indexes: indexes)
        func explained(_ order: String) throws -> String {
            try Selection(table: "T", orderBy: Order.parse(order), limit: 1).explanation(indexed.catalogue).plan
                .description
        }
        #expect(try explained("a NULLS FIRST") == explained("a") && !explained("a").contains("sort"))
        #expect(try explained("a DESC NULLS LAST") == explained("a DESC"))
        #expect(try explained("a NULLS LAST").contains("sort by a NULLS LAST"))
        #expect(try explained("a DESC NULLS FIRST").contains("sort by a DESC NULLS FIRST"))
        #expect(try explained("n NULLS LAST") == explained("n"))
        let view = try indexed.store.snapshot()
        // The cached plan of one order is not that of the other.
        for _ in 0..<2 {
            for (order, found) in [("a, id", [3, 5, 1, 2, 4]), ("a NULLS LAST, id", [1, 2, 4, 3, 5])]
                as [(String, [Int64])]
            {
                let plan = try Selection(table: "T", orderBy: Order.parse(order)).plan(indexed.catalogue, in: view)
                #expect(try plan.ids(in: view) == found)
            }
        }
    }

    @Test(
        arguments: [
            ("1 IS 1", .integer(1)), ("NULL IS 1", .integer(0)), ("NULL IS NULL", .integer(1)),
            ("NULL IS NOT DISTINCT FROM NULL", .integer(1)), ("max(1, 2.5, 2)", .double(2.5)),
            ("min(1, 2.5, 2)", .integer(1)), ("max('a', 'b')", .text("b")), ("max(1, NULL)", .null),
            ("min(NULL, 1)", .null),
            ("min(1, 1.0)", .double(1)), ("max(1, 1.0)", .integer(1)), ("min(1.0, 1)", .integer(1)),
            ("max(3, 3.0, 2)", .integer(3)), ("typeof(1)", .text("integer")), ("typeof(1.5)", .text("real")),
            ("typeof('x')", .text("text")), ("typeof(NULL)", .text("null")), ("typeof(x'00')", .text("blob")),
            ("typeof(1 > 2)", .text("integer")), ("typeof(1 / 0)", .text("null")),
        ] as [(String, Value)]) func valuesAreThoseOfSQLite(text: String, value: Value) throws
    {
        #expect(try run("SELECT \(text)") == [[value]])
    }

    @Test func functionsOfRows() throws {
        #expect(
            try run("SELECT max(a, b) FROM T ORDER BY id").map { $0[0] } == [
                .integer(1), .integer(2), .null, .null, .null,
            ])
        #expect(try run("SELECT max(min(a, b)), max(s) FROM T") == [[.integer(1), .text("y")]])
        #expect(
            try run("SELECT typeof(a), typeof(s) FROM T WHERE id > 2 ORDER BY id").last == [
                .text("null"), .text("null"),
            ])
        #expect(try run("SELECT typeof(date('2026-01-31')), typeof(TRUE)") == [[.text("date"), .text("boolean")]])
        #expect(try ids("WHERE typeof(a) = 'null' ORDER BY id") == [3, 5])
        let collated = #expect(throws: RecordError.self) { try run("SELECT max(s COLLATE NOCASE, 'b') FROM T") }
        #expect(collated?.description.contains("compares texts by bytes") == true)
        #expect(throws: RecordError.self) { try run("SELECT max(a, s) FROM T") }
    }
}
