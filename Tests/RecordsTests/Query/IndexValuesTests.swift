import MakoStorage
import Testing

@testable import MakoRecords

/// Different values, their numbers and their ends, out of an index and without one.
@Suite struct IndexValuesTests {
    private static let indexes = [
        IndexSchema("T.n", [IndexColumn("n"), IndexColumn("t")]), IndexSchema("T.t", [IndexColumn("t")]),
        IndexSchema("T.d", [IndexColumn("d")]), IndexSchema("T.down", [IndexColumn("down", descending: true)]),
    ]

    /// Long runs of few values, NULLs, and texts longer than an index keeps.
    private func fixture(isIndexed: Bool, hasLong: Bool = false) throws -> Fixture {
        let fixture = try Fixture(
            EntitySchema(
                name: "T",
                columns: [
                    ColumnSchema("n", .integer, isOptional: true), ColumnSchema("t", .text, isOptional: true),
                    ColumnSchema("d", .double, isOptional: true), ColumnSchema("down", .integer),
                ], indexes: isIndexed ? IndexValuesTests.indexes : []))
        var random = Seeded(17)
        let long = String(repeating: "a", count: 900)
        var rows: [[Value]] = []
        for number in 0..<600 {
            let n: Value = random.chance(10) ? .null : .integer(Int64.random(in: -3...3, using: &random))
            var t: Value = .text(random.pick(["", "a", "ab", "é"]))
            if hasLong && number % 7 == 0 { t = .text(long + "\(number % 3)") }
            let d: Value = random.chance(30) ? .null : .double(Double(number / 20) - 3)
            rows.append([n, t, d, .integer(Int64(number % 5))])
        }
        try fixture.insertAll("T", rows)
        return fixture
    }

    private func rows(_ fixture: Fixture, _ text: String) throws -> [[Value]] {
        try SelectStatement.parse(text).run(fixture.catalogue, view: fixture.store.snapshot()).rows
    }

    @Test(arguments: [
        "SELECT DISTINCT n FROM T", "SELECT DISTINCT t FROM T", "SELECT DISTINCT d FROM T",
        "SELECT DISTINCT down FROM T",
        "SELECT DISTINCT n FROM T WHERE n > -2", "SELECT DISTINCT n FROM T WHERE n IN (3, -1, 9)",
        "SELECT DISTINCT n FROM T WHERE n = 2 AND t IN ('a', 'ab')", "SELECT DISTINCT n FROM T WHERE down = 3",
        "SELECT min(n), max(n) FROM T", "SELECT max(t) FROM T", "SELECT min(d), max(down) FROM T WHERE n = 1",
        "SELECT max(n) FROM T HAVING max(n) > 99", "SELECT max(n) FROM T HAVING count(t) > 3",
        "SELECT max(n) FROM T GROUP BY n", "SELECT max(n) FROM T LIMIT 1 OFFSET 1", "SELECT max(n), count(t) FROM T",
        "SELECT count(*) FROM T WHERE n = 2", "SELECT count(*) FROM T LIMIT 1 OFFSET 1",
        "SELECT count(*) FROM T LIMIT 0",
        "SELECT max(id) FROM T WHERE n = 2", "SELECT min(n) FROM T WHERE n > 99", "SELECT min(id), max(id) FROM T",
    ])
    func indexesAnswerAsRowsDo(text: String) throws {
        for hasLong in [false, true] {
            let indexed = try rows(fixture(isIndexed: true, hasLong: hasLong), text)
            let plain = try rows(fixture(isIndexed: false, hasLong: hasLong), text)
            #expect(indexed.count == plain.count && Set(indexed) == Set(plain), "\(indexed)")
        }
    }

    @Test func numbersOfRowsAreCountedAlongAnIndex() throws {
        for hasLong in [false, true] {
            let (indexed, plain) = (
                try fixture(isIndexed: true, hasLong: hasLong), try fixture(isIndexed: false, hasLong: hasLong)
            )
            for (column, condition) in [
                ("n", "TRUE"), ("t", "TRUE"), ("d", "TRUE"), ("n", "n >= 0"), ("n", "down = 1"),
            ] {
                func groups(_ fixture: Fixture) throws -> [[Value]] {
                    let plan = try Selection(table: "T", condition: .parse(condition)).plan(fixture.catalogue)
                    return try plan.groupCount(by: .path(column), in: fixture.store.snapshot()).map {
                        [$0.value, .integer(Int64($0.count))]
                    }
                }
                #expect(try groups(indexed) == groups(plain), "\(column), \(condition)")
                let plan = try Selection(table: "T", condition: .parse(condition)).plan(indexed.catalogue)
                let values = try plan.distinctValues(of: .path(column), in: indexed.store.snapshot())
                #expect(try values == groups(plain).map { $0[0] }, "\(column), \(condition)")
            }
        }
    }

    @Test func limitsAndOrdersOfDifferentValues() throws {
        let fixture = try fixture(isIndexed: true)
        #expect(
            try rows(fixture, "SELECT DISTINCT n FROM T WHERE n > 0 ORDER BY n DESC LIMIT 2") == [
                [.integer(3)], [.integer(2)],
            ])
        #expect(try rows(fixture, "SELECT DISTINCT n FROM T WHERE n > 0 LIMIT 1 OFFSET 1") == [[.integer(2)]])
        #expect(try rows(fixture, "SELECT max(n) FROM T LIMIT 0").isEmpty)
    }

    /// Expressions around the smallest and largest values, and names that are not columns.
    @Test func valuesThatAreNotThoseOfAnIndex() throws {
        let (indexed, plain) = (try fixture(isIndexed: true), try fixture(isIndexed: false))
        for text in [
            "SELECT max(n) + 1 FROM T", "SELECT max(n), min(n) + max(n) FROM T", "SELECT max(n) FROM T LIMIT 0",
        ] {
            #expect(try rows(indexed, text) == rows(plain, text), "\(text)")
        }
        let library = try MatchTests.library()
        let plan = try Selection(table: "Article", condition: .parse("Article MATCH 'steam'")).plan(library.catalogue)
        #expect(try plan.groupCount(by: .path("rank"), in: library.store.snapshot()).map(\.count).reduce(0, +) == 2)
        let places = try Fixture(
            EntitySchema(
                name: "P", columns: [ColumnSchema("a", .double), ColumnSchema("b", .double)],
                indexes: [
                    IndexSchema("P.near", [IndexColumn("a"), IndexColumn("b")], isSpatial: true)
                ]))
        try places.insertAll("P", [[.double(1), .double(2)], [.double(1), .double(3)]])
        let near = try Selection(table: "P", condition: .parse("distance(a, b, 1, 2) < 100")).plan(places.catalogue)
        #expect(try near.distinctValues(of: .path("a"), in: places.store.snapshot()) == [.double(1)])
        #expect(try rows(places, "SELECT DISTINCT a FROM P") == [[.double(1)]])
    }

    /// Behind the entries of a long text come shorter ones.
    @Test func shortValuesBehindLongOnes() throws {
        let fixture = try Fixture(
            EntitySchema(
                name: "T", columns: [ColumnSchema("t", .text)], indexes: [IndexSchema("T.t", [IndexColumn("t")])]))
        let texts = ["b", "a text of thirty letters or more", "a text of thirty letters or more", "", "c", "b"]
        try fixture.insertAll("T", texts.map { [.text($0)] })
        #expect(
            try rows(fixture, "SELECT DISTINCT t FROM T").map { "\($0[0])" }
                == ["''", "'a text of thirty letters or more'", "'b'", "'c'"])
    }

    /// Entries that hold no value are an error where they are all that is read.
    @Test func damagedEntriesAreNoValues() throws {
        let fixture = try fixture(isIndexed: true)
        let index = try #require(fixture.table("T").indexes.first)
        try fixture.store.write { tx in try tx.put([], for: [1, 200, 1], in: index.tree) }
        let error = Fixture.error { _ = try rows(fixture, "SELECT DISTINCT n FROM T") }
        #expect(error == .indexDamaged(table: "T", index: "T.n", reason: "an entry names no row"))
    }

    /// A cancelled query ends, also an index-only scan.
    @Test func indexOnlyScansAreCancelled() throws {
        let fixture = try Fixture(
            EntitySchema(
                name: "T", columns: [ColumnSchema("n", .integer), ColumnSchema("m", .integer)],
                indexes: [IndexSchema("T.n", [IndexColumn("n")])]))
        try fixture.insertAll("T", (0..<3000).map { [.integer($0), .integer($0)] })
        let cancellation = Cancellation()
        cancellation.cancel()
        let view = try fixture.store.snapshot()
        var plan = try Selection(table: "T").plan(fixture.catalogue)
        plan.cancellation = cancellation
        let other = try Selection(table: "T", condition: .parse("(SELECT count(*) FROM T AS o WHERE o.n = T.m) = 1"))
        var linked = try other.plan(fixture.catalogue)
        linked.cancellation = cancellation
        #expect(throws: RecordError.cancelled) { try plan.distinctValues(of: .path("n"), in: view) }
        #expect(throws: RecordError.cancelled) { try plan.aggregate(.sum, of: .path("m"), in: view) }
        #expect(throws: RecordError.cancelled) { try linked.count(in: view) }
        let table = try fixture.table("T")
        #expect(throws: RecordError.cancelled) {
            try IndexGroups.forEach(table.indexes[0], "T", view, cancellation) { _, _ in }
        }
        let join = try SizedQuery(
            SelectStatement.parse("SELECT a.n FROM T a JOIN T b ON b.m = a.m"), fixture.catalogue, [], [:]
        ) { _ in nil }.plan()
        guard case .join(var steps) = join.feed else { return }
        steps.cancellation = cancellation
        let run = try JoinExecutor(steps, view, RowContext(rows: 2, results: 0))
        #expect(throws: RecordError.cancelled) { try run.forEachRow { true } }
    }
}
