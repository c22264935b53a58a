import MakoRecords
import MakoStorage
import Testing

/// Groups and different rows in the order of an index, against the same without one.
@Suite struct GroupOrderTests {
    private static let indexes = [
        IndexSchema("T.abd", [IndexColumn("a"), IndexColumn("b"), IndexColumn("d")]),
        IndexSchema("T.bad", [IndexColumn("b", descending: true), IndexColumn("a")]),
        IndexSchema("T.ta", [IndexColumn("t"), IndexColumn("a", descending: true)]),
        IndexSchema("T.d", [IndexColumn("d"), IndexColumn("t", descending: true)]),
        IndexSchema("T.c", [IndexColumn("c", noCase: true), IndexColumn("a")]),
    ]

    private func pair(_ seed: UInt64, _ count: Int) throws -> (plain: Fixture, indexed: Fixture) {
        func schema(_ indexes: [IndexSchema]) -> EntitySchema {
            EntitySchema(
                name: "T",
                columns: [
                    ColumnSchema("a", .integer, isOptional: true), ColumnSchema("b", .integer),
                    ColumnSchema("c", .text), ColumnSchema("d", .double, isOptional: true),
                    ColumnSchema("t", .text, isOptional: true), ColumnSchema("e", .integer),
                ], indexes: indexes)
        }
        let fixtures = (plain: try Fixture(schema([])), indexed: try Fixture(schema(Self.indexes)))
        var random = Seeded(seed)
        let long = String(repeating: "l", count: 840)
        var rows: [[Value]] = []
        for _ in 0..<count {
            rows.append([
                random.chance(15) ? .null : .integer(Int64.random(in: -2...3, using: &random)),
                .integer(Int64.random(in: 0...40, using: &random)), .text(random.pick(["x", "X", "y"])),
                random.chance(20) ? .null : .double(random.pick([0, -0.0, 1.5, .nan, -2, 7])),
                random.chance(20) ? .null : .text(random.pick(["", "a", "b", long + "1", long + "2"])),
                .integer(Int64.random(in: 0...3, using: &random)),
            ])
        }
        try fixtures.plain.insertAll("T", rows)
        try fixtures.indexed.insertAll("T", rows)
        return fixtures
    }

    private func text(_ rows: [[Value]]) -> [String] {
        rows.map { row in
            row.map { value in if case .double(0) = value { "0.0" } else { "\(value)" } }.joined(separator: " ")
        }
    }

    @Test(arguments: [
        "a FROM T GROUP BY a", "a, count(*), sum(b) FROM T GROUP BY a", "a, b, count(*) FROM T GROUP BY a, b",
        "b, a, count(*) FROM T GROUP BY b, a", "b, a FROM T GROUP BY a, b ORDER BY b DESC, a LIMIT 9",
        "a, min(b), max(b) FROM T GROUP BY a", "a, max(b) - min(b), min(a) FROM T GROUP BY a HAVING max(b) > 3",
        "t, min(a), max(a) FROM T GROUP BY t", "t, count(DISTINCT a) FROM T GROUP BY t ORDER BY t DESC",
        "b, count(*) FROM T WHERE a = 2 GROUP BY b", "b, max(d) FROM T WHERE a = 2 GROUP BY b",
        "a, min(b) FROM T WHERE a > 0 GROUP BY a", "a, max(b) FROM T WHERE a IN (1, 3) GROUP BY a ORDER BY a DESC",
        "a, max(b) FROM T WHERE a = 1 AND b BETWEEN 5 AND 9 GROUP BY a",
        "a, count(*) FROM T GROUP BY a ORDER BY count(*) DESC, a", "c, count(*) FROM T GROUP BY c",
        "c, min(a) FROM T WHERE c = 'x' COLLATE NOCASE GROUP BY c", "a, sum(e) FROM T WHERE a = 2 GROUP BY a",
        "d, count(*), min(t), max(t) FROM T GROUP BY d", "d, min(t), max(t) FROM T GROUP BY d",
        "DISTINCT a FROM T ORDER BY a", "DISTINCT a, b FROM T ORDER BY a DESC, b DESC LIMIT 7 OFFSET 2",
        "DISTINCT b, a FROM T WHERE a >= 1 ORDER BY b DESC", "DISTINCT t FROM T ORDER BY t LIMIT 3",
        "DISTINCT b FROM T WHERE a = 3 ORDER BY b", "DISTINCT d FROM T ORDER BY d",
        "DISTINCT count(*) FROM T GROUP BY a",
        "a, count(*) FROM T WHERE b % 3 = 1 GROUP BY a", "a, max(b) FROM T WHERE b % 3 = 1 GROUP BY a",
        "e, count(*) FROM T GROUP BY e", "a, avg(b) FROM T WHERE a IS NULL GROUP BY a",
    ])
    func groupsAreTheSameInOrder(query: String) throws {
        for (seed, count) in [(1, 40), (2, 900), (3, 0), (4, 2500)] as [(UInt64, Int)] {
            let (plain, indexed) = try pair(seed, count)
            let statement = try SelectStatement.parse("SELECT " + query)
            let view = try indexed.store.snapshot()
            let found = try statement.run(indexed.catalogue, view: view).rows
            var expected = text(try statement.run(plain.catalogue, view: plain.store.snapshot()).rows)
            var rows = text(found)
            // Of two rows that are equal in the order, either may come first; different rows without an order, too.
            if query.hasPrefix("DISTINCT b, a") || query.hasPrefix("DISTINCT count") {
                expected.sort()
                rows.sort()
            }
            let plan = try statement.explanation(indexed.catalogue, view: view)
            #expect(rows == expected, "\(plan)")
            #expect(try statement.analysis(indexed.catalogue, view: view).rows == found.count)
        }
    }

    @Test(arguments: [
        ("SELECT a, count(*) FROM T GROUP BY a", "group by a in order"),
        ("SELECT b, a, sum(a) FROM T GROUP BY a, b ORDER BY a, b", "group by a, b in order"),
        ("SELECT c, count(*) FROM T GROUP BY c", "group by c"), ("SELECT e, a FROM T GROUP BY e, a", "group by e, a"),
        ("SELECT DISTINCT a, b FROM T", "distinct in order"), ("SELECT DISTINCT a, e FROM T", "distinct"),
        ("SELECT a, count(*) FROM T GROUP BY a ORDER BY 2", "sort by count(*)"),
    ])
    func plansSayWhatComesInOrder(text: String, last: String) throws {
        let indexed = try pair(1, 20).indexed
        let plan = try SelectStatement.parse(text).explanation(indexed.catalogue, view: indexed.store.snapshot())
        #expect(plan.text == last, "\(plan)")
    }

    /// Of runs of hundreds of entries a few are read, and of groups that a limit leaves out none.
    @Test func longRunsAreSkipped() throws {
        let indexed = try pair(4, 2500).indexed
        func entries(_ text: String) throws -> Int {
            let analysis = try SelectStatement.parse(text).analysis(
                indexed.catalogue, view: indexed.store.snapshot())
            #expect(analysis.steps[0].examinedRows == 0)
            return analysis.steps[0].examinedEntries
        }
        #expect(try entries("SELECT DISTINCT a FROM T") <= 7 * 33)
        #expect(try entries("SELECT a, min(b), max(b) FROM T GROUP BY a") <= 7 * 36)
        #expect(try entries("SELECT a, count(*) FROM T GROUP BY a") == 2500)
        #expect(try entries("SELECT a, count(*) FROM T GROUP BY a LIMIT 1") < 800)
    }
}
