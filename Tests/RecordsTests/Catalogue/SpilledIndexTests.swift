import MakoRecords
import MakoStorage
import MakoTestSupport
import Testing

/// Indexes that are built of more entries than their share of the memory holds.
@Suite struct SpilledIndexTests {
    private static let long = String(repeating: "x", count: 900)

    private static func schema(_ indexes: [IndexSchema]) -> EntitySchema {
        EntitySchema(
            name: "P", columns: [ColumnSchema("name", .text), ColumnSchema("number", .integer, isOptional: true)],
            indexes: indexes)
    }

    /// - Parameter rows: name and number of each.
    private static func filled(_ rows: [(String, Int64?)]) throws -> Fixture {
        let fixture = try Fixture(schema([]))
        try fixture.insertAll("P", rows.map { [.text($0), $1.map { .integer($0) } ?? .null] })
        // A quarter of a megabyte is left to operations.
        try fixture.store.setCacheBytes(1 << 20)
        return fixture
    }

    private static func names(_ count: Int) -> [(String, Int64?)] {
        var random = Seeded(UInt64(count))
        return (0..<count).map { number in
            (random.text() + "\(number)", random.chance(10) ? nil : Int64.random(in: -50...50, using: &random))
        }
    }

    @Test(arguments: [false, true]) func indexesAreThoseOfTheirRows(unique: Bool) throws {
        var fixture = try Self.filled(Self.names(40_000))
        try fixture.migrate(
            Self.schema([
                IndexSchema("name", [IndexColumn("name")], isUnique: unique),
                IndexSchema("both", [IndexColumn("number", descending: true), IndexColumn("name", noCase: true)]),
            ]))
        try fixture.expectSound()
    }

    /// Twins in different pieces, both of which are sorted alone.
    @Test func twinsInDifferentPiecesAreRefused() throws {
        var rows = Self.names(40_000)
        rows[39_000].0 = rows[7].0
        var fixture = try Self.filled(rows)
        let error = #expect(throws: RecordError.self) {
            try fixture.migrate(Self.schema([IndexSchema("name", [IndexColumn("name")], isUnique: true)]))
        }
        #expect(
            error
                == .uniqueViolation(
                    table: "P", columns: ["name"], values: [.text(rows[7].0)], existing: .rowID(8)))
        try fixture.expectSound()
    }

    /// Entries of long texts are cut: equal ones may be of different rows.
    @Test(arguments: [false, true]) func longTwinsAreRefused(areTwins: Bool) throws {
        var rows = (0..<12_000).map { ("\($0)", Int64?.none) }
        rows[10] = (Self.long + "a", nil)
        rows[5000] = (Self.long + "b", nil)
        rows[11_900] = (Self.long + (areTwins ? "a" : "c"), nil)
        var fixture = try Self.filled(rows)
        let schema = Self.schema([IndexSchema("name", [IndexColumn("name")], isUnique: true)])
        if areTwins {
            #expect(
                throws: RecordError.uniqueViolation(
                    table: "P", columns: ["name"], values: [.text(Self.long + "a")], existing: .rowID(11))
            ) { try fixture.migrate(schema) }
        } else {
            try fixture.migrate(schema)
        }
        try fixture.expectSound()
    }

    /// Words of rows in different pieces, some in each row, with and without keys of their own.
    @Test(arguments: [false, true]) func textIndexesAreThoseOfTheirRows(keyed: Bool) throws {
        var text = try TextFixture(keyed: keyed)
        var bare = TextFixture.schema(keyed: keyed)
        bare.indexes = []
        try text.fixture.migrate(bare)
        var random = Seeded(9)
        try text.fixture.insertAll(
            "Note",
            (0..<15_000).map { number in
                (keyed ? [.text("k\((number * 7919) % 15_000)")] : []) + [
                    .text("all \(random.pick(PlainMatch.vocabulary)) \(number % 3000 == 1 ? "seldom" : "")"),
                    .text("w\(number % 900) \(random.text())"),
                ]
            })
        try text.fixture.store.setCacheBytes(1 << 20)
        try text.fixture.migrate(TextFixture.schema(keyed: keyed))
        try text.fixture.expectSound()
        #expect(try text.search("title MATCH ?", "seldom").count == 5)
        #expect(try text.search("title MATCH ?", "all").count == 15_000)
    }
}
