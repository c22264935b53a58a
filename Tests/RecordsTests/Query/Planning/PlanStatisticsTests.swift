import MakoStorage
import Testing

@testable import MakoRecords

/// The planner's use of index statistics (decision 38).
@Suite struct PlanStatisticsTests {
    /// 1500 countries, two users of each, two events of each user: three of five are logins.
    private static func events() throws -> Fixture {
        let fixture = try Fixture(
            EntitySchema(
                name: "Country", columns: [ColumnSchema("name", .text)],
                indexes: [IndexSchema("Country.name", [IndexColumn("name")])]),
            EntitySchema(
                name: "User", columns: [ColumnSchema("country", .reference, target: "Country")],
                indexes: [IndexSchema("User.country", [IndexColumn("country")])]),
            EntitySchema(
                name: "Event",
                columns: [
                    ColumnSchema("user", .reference, target: "User"), ColumnSchema("type", .text),
                    ColumnSchema("value", .integer),
                ],
                indexes: [
                    IndexSchema("Event.user", [IndexColumn("user")]), IndexSchema("Event.type", [IndexColumn("type")]),
                    IndexSchema("Event.value", [IndexColumn("value")]),
                ]))
        try fixture.insertAll("Country", (0..<1500).map { [.text("c\($0)")] })
        try fixture.insertAll("User", (0..<3000).map { [.integer(Int64($0 % 1500 + 1))] })
        try fixture.insertAll("Event", (0..<6000).map(event))
        return fixture
    }

    private static func event(_ number: Int) -> [Value] {
        let type = ["login", "login", "view", "login", "buy"][number % 5]
        return [.integer(Int64(number % 3000 + 1)), .text(type), .integer(Int64(number % 1000))]
    }

    private func examined(_ text: String, _ fixture: Fixture) throws -> (rows: Int, values: [[Value]]) {
        let statement = try SelectStatement.parse(text)
        let view = try fixture.store.snapshot()
        let analysis = try statement.analysis(fixture.catalogue, view: view)
        // Steps without a table read nothing.
        let read = analysis.steps.filter { $0.node.table != nil }
        return (read.reduce(0) { $0 + $1.examinedRows }, try statement.run(fixture.catalogue, view: view).rows)
    }

    /// A value of most rows is not searched by index.
    @Test func theMoreSelectiveIndexIsScanned() throws {
        let (rows, values) = try examined(
            "SELECT count(id), sum(value) FROM Event WHERE type = 'login' AND value > 979", try Self.events())
        #expect(rows <= 120 && values == [[.integer(72), .integer(71_196)]])
        // Of many values as well.
        let (some, _) = try examined(
            "SELECT count(value) FROM Event WHERE type IN ('login', 'view', 'buy', 'a', 'b', 'c') AND value > 979",
            try Self.events())
        #expect(some <= 120)
    }

    /// A value that few rows have leads to them, beside a range that most are in.
    @Test func rareValuesAreSought() throws {
        let fixture = try Self.events()
        try fixture.insertAll("Event", (0..<70).map { [.integer(Int64($0 + 1)), .text("ban"), .integer(5)] })
        let (rows, _) = try examined("SELECT count(value) FROM Event WHERE type = 'ban' AND value < 900", fixture)
        #expect(rows == 70)
    }

    /// Today's commonest mistake of a join: to begin with a condition that leaves most rows.
    @Test func aJoinBeginsWhereFewRowsAre() throws {
        let fixture = try Self.events()
        let (rows, values) = try examined(
            """
            SELECT count(e.id), sum(e.value) FROM Event e JOIN User u ON u.id = e.user JOIN Country c ON c.id = u.country
            WHERE c.name = 'c5' AND e.type = 'login'
            """, fixture)
        #expect(rows < 50)
        #expect(
            try values
                == SelectStatement.parse(
                    "SELECT count(id), sum(value) FROM Event WHERE type = 'login' AND user.country.name = 'c5'"
                ).run(fixture.catalogue, view: fixture.store.snapshot()).rows)
        let (fewer, _) = try examined(
            "SELECT sum(e.value) FROM Event e JOIN User u ON u.id = e.user WHERE u.country = 6 AND e.type = 'login'",
            fixture)
        #expect(fewer < 50)
    }

    private static func numbers(_ values: [Value]) throws -> Fixture {
        let fixture = try Fixture(
            EntitySchema(
                name: "T",
                columns: [ColumnSchema("k", .integer, isOptional: true), ColumnSchema("j", .integer)],
                indexes: [IndexSchema("T.k", [IndexColumn("k"), IndexColumn("j")])]))
        try fixture.insertAll("T", values.enumerated().map { [$1, .integer(Int64($0 / 10))] })
        return fixture
    }

    private func values(_ fixture: Fixture, prefix: Int = 1) throws -> Double {
        let index = try fixture.table("T").indexes[0]
        return try #require(
            fixture.catalogue.statistics.values(of: index, prefix: prefix, in: fixture.store.snapshot()))
    }

    @Test(arguments: [1, 2, 7, 60, 500, 6000])
    func howManyValuesThereAre(count: Int) throws {
        let fixture = try Self.numbers((0..<6000).map { .integer(Int64($0 % count)) })
        let found = try values(fixture)
        #expect(found > Double(count) / 1.6 && found < Double(count) * 1.6, "\(found)")
        #expect(try values(fixture, prefix: 2) >= found)
    }

    /// Nine of ten rows have none: the others have the value of few.
    @Test func nothingEqualsNull() throws {
        let found = try values(Self.numbers((0..<6000).map { $0 % 10 == 0 ? .integer(Int64($0 % 50)) : .null }))
        // 600 rows with five values: 120 rows for each, as if there were fifty values.
        #expect(found > 25 && found < 100, "\(found)")
    }

    @Test func analyzeLooksAnew() throws {
        let fixture = try Self.numbers((0..<2000).map { .integer(Int64($0 % 4)) })
        #expect(try values(fixture) < 8)
        try fixture.store.write { tx in
            var changes = ChangeSet()
            _ = try Statement.parse("UPDATE T SET k = id").run(fixture.catalogue, in: tx, changes: &changes)
        }
        // With the same number of rows the statistics are cached.
        #expect(try values(fixture) < 8)
        for text in ["ANALYZE T", "ANALYZE"] {
            _ = try Statement.parse(text).read(fixture.catalogue, view: fixture.store.snapshot())
            #expect(try values(fixture) > 1000)
        }
    }
}
