import MakoStorage
import Testing

@testable import MakoRecords

/// Every join method, over indexes of each kind, gives the rows that nested loops without indexes give.
@Suite struct JoinMethodTests {
    private static let indexes = [
        IndexSchema("Item.owner", [IndexColumn("owner"), IndexColumn("price", descending: true)]),
        IndexSchema("Item.price", [IndexColumn("price", descending: true)]),
        IndexSchema("Item.name", [IndexColumn("name")]),
        IndexSchema("Item.number", [IndexColumn("number")], isUnique: true),
        IndexSchema("Item.kind", [IndexColumn("kind", noCase: true), IndexColumn("owner")]),
        IndexSchema("Item.much", [IndexColumn("much")]), IndexSchema("Item.flag", [IndexColumn("flag")]),
    ]

    private static let long = String(repeating: "n", count: 1000)

    private func fixture(isIndexed: Bool, items: Int = 60) throws -> Fixture {
        let fixture = try Fixture(
            EntitySchema(
                name: "Owner",
                columns: [
                    ColumnSchema("name", .text), ColumnSchema("rank", .integer, isOptional: true),
                    ColumnSchema("weight", .double, isOptional: true), ColumnSchema("flag", .bool),
                ], indexes: isIndexed ? [IndexSchema("Owner.weight", [IndexColumn("weight")])] : []),
            EntitySchema(
                name: "Item",
                columns: [
                    ColumnSchema("owner", .integer, isOptional: true), ColumnSchema("price", .double),
                    ColumnSchema("name", .text), ColumnSchema("number", .integer), ColumnSchema("kind", .text),
                    ColumnSchema("much", .unsigned), ColumnSchema("flag", .bool),
                ], indexes: isIndexed ? JoinMethodTests.indexes : []),
            EntitySchema(
                name: "Part",
                columns: [
                    ColumnSchema("code", .text), ColumnSchema("place", .integer),
                    ColumnSchema("owner", .integer, isOptional: true),
                ], key: .columns(["code", "place"]),
                indexes: isIndexed ? [IndexSchema("Part.owner", [IndexColumn("owner")])] : []))
        let names = ["a", "b", Self.long + "1", Self.long + "2", "a very long name that nobody has"]
        var rows: [[Value]] = []
        for number in 0..<10 {
            let rank: Value = number == 3 ? .null : .integer(Int64(number))
            let weight: Value = number == 4 ? .null : .double(number == 9 ? 1e19 : Double(number) / 2)
            rows.append([.text(names[number % 5]), rank, weight, .bool(number % 2 == 0)])
        }
        try fixture.insertAll("Owner", rows)
        rows = []
        for number in 0..<items {
            let owner: Value = number % 9 == 0 ? .null : .integer(Int64(number % 8))
            let much: Value = number % 10 == 0 ? .unsigned(10_000_000_000_000_000_000) : .integer(Int64(number % 5))
            let kind = ["x", "X", "y"][number % 3]
            rows.append([
                owner, .double(Double(number % 7)), .text(names[number % 4]), .integer(Int64(number)), .text(kind),
                much,
                .bool(number % 3 == 0),
            ])
        }
        try fixture.insertAll("Item", rows)
        rows = []
        for number in 0..<12 {
            let owner: Value = number == 5 ? .null : .integer(Int64(number % 4))
            rows.append([.text(["a", "b", "c"][number % 3]), .integer(Int64(number)), owner])
        }
        try fixture.insertAll("Part", rows)
        return fixture
    }

    /// Queries, each with a part of one of its plans.
    private static let queries: [(String, String)] = [
        (
            "SELECT o.id, i.id FROM Owner o JOIN Item i ON i.owner = o.id WHERE o.id IN (1, 2, 3, 9)",
            "index Item.owner (o.id)"
        ),
        ("SELECT o.id, i.id FROM Owner o JOIN Item i ON i.owner = o.weight", "index Item.owner (o.weight)"),
        ("SELECT o.id, i.id FROM Owner o JOIN Item i ON i.owner = o.rank AND i.price = o.weight", "(o.rank, o.weight)"),
        ("SELECT o.id, i.id FROM Owner o JOIN Item i ON i.price = o.rank", "index Item.price (o.rank)"),
        ("SELECT o.id, i.id FROM Owner o LEFT JOIN Item i ON i.price = o.weight", "index Item.price (o.weight)"),
        ("SELECT o.id, i.id FROM Owner o JOIN Item i ON i.much = o.weight", "index Item.much (o.weight)"),
        ("SELECT o.id, i.id FROM Owner o JOIN Item i ON i.name = o.name", "index Item.name (o.name)"),
        ("SELECT o.id, i.id FROM Owner o JOIN Item i ON i.number = o.rank", "index Item.number (o.rank)"),
        (
            "SELECT o.id, i.id FROM Owner o JOIN Item i ON i.owner = o.id WHERE i.kind COLLATE NOCASE = 'X' AND o.id IN (1, 2)",
            "index Item.kind ('x', o.id)"
        ),
        (
            "SELECT o.id, i.id FROM Owner o JOIN Item i ON i.flag = o.flag AND i.price < o.weight AND i.much <> o.id",
            "o.flag"
        ),
        ("SELECT o.id, i.id FROM Item i JOIN Owner o ON o.id = i.price", "by key (i.price)"),
        (
            "SELECT o.id, i.id FROM Item i JOIN Owner o ON o.weight = i.number WHERE i.number IN (1, 2)",
            "index Owner.weight (i.number)"
        ),
        (
            "SELECT o.id, p.code, p.place FROM Owner o JOIN Part p ON p.owner = o.id WHERE o.id IN (2, 3)",
            "index Part.owner (o.id)"
        ),
        (
            "SELECT o.id, p.place FROM Owner o JOIN Part p ON p.code = o.name AND p.place = o.rank AND p.owner <> 9",
            "by key (o.name, o.rank)"
        ),
        // The selectivity of a table's own condition is estimated by its shape.
        ("SELECT o.id, i.id FROM Owner o, Item i WHERE i.owner = o.id AND i.flag = TRUE", "i.flag"),
        ("SELECT o.id, i.id FROM Owner o, Item i WHERE i.owner = o.id AND i.number = 17", "i.number"),
        ("SELECT o.id, i.id FROM Owner o, Item i WHERE i.owner = o.id AND i.number + 1 = 18", "i.number"),
        ("SELECT o.id, i.id FROM Owner o, Item i WHERE i.owner = o.id AND i.number IN (3, 4, 50)", "i.number"),
        ("SELECT o.id, i.id FROM Owner o, Item i WHERE i.owner = o.id AND i.number + 1 IN (3, 4, 50)", "i.number"),
        ("SELECT o.id, o.rank FROM Owner o LEFT JOIN Item i ON i.owner = o.id WHERE o.rank IS NULL", "IS NULL"),
        (
            "SELECT o.id, i.id FROM Owner o, Item i WHERE i.owner = o.id AND (i.number = 3 OR i.price > 4 AND i.much < 3)",
            "i.number"
        ),
        (
            "SELECT o.id, i.id FROM Owner o, Item i WHERE i.owner = o.id AND NOT (i.number = 3 OR i.price > 4)",
            "i.number"
        ),
        ("SELECT o.id, p.place FROM Owner o, Part p WHERE p.owner = o.id AND p.code > 'a'", "p.code"),
        (
            "SELECT o.id, i.id FROM Owner o LEFT JOIN Item i ON i.owner = o.rank AND i.id = 9223372036854775808",
            "nothing"
        ),
        ("SELECT o.id, i.id FROM Owner o LEFT JOIN Item i ON i.owner = o.rank AND i.id > 7 AND i.id < 30", "o.rank"),
        // More tables than every order is tried of.
        (
            """
            SELECT a.id, g.place FROM Owner a JOIN Owner b ON b.id = a.rank JOIN Owner c ON c.id = b.rank
            JOIN Item d ON d.number = c.id LEFT JOIN Item e ON e.number = d.owner JOIN Owner f ON f.id = a.id
            JOIN Part g ON g.owner = f.id LEFT JOIN Part h ON h.owner = e.id
            """, "join Part AS h"
        ),
    ]

    /// Queries whose joined rows lie in a range, each with a part of one of its plans.
    private static let ranges: [(String, String)] = [
        (
            "SELECT o.id, i.id FROM Owner o JOIN Item i ON i.number BETWEEN o.rank AND o.rank + 3",
            "index Item.number (i.number >= o.rank AND i.number <= (o.rank + 3))"
        ),
        (
            "SELECT o.id, i.id FROM Owner o JOIN Item i ON i.number > o.weight AND o.weight * 3 > i.number",
            "index Item.number (i.number > o.weight AND (o.weight * 3) > i.number)"
        ),
        (
            "SELECT o.id, i.id FROM Owner o JOIN Item i ON i.number > o.weight AND i.number < o.weight + 1.5",
            "index Item.number"
        ),
        (
            "SELECT o.id, i.id FROM Owner o JOIN Item i ON i.much >= o.weight - 2 AND i.much <= o.weight + 1",
            "index Item.much"
        ),
        (
            "SELECT o.id, i.id FROM Owner o JOIN Item i ON i.price > o.rank AND i.price <= o.weight + 4",
            "index Item.price"
        ),
        ("SELECT o.id, i.id FROM Item i JOIN Owner o ON o.weight > i.price AND o.weight <= i.number", "Owner.weight"),
        (
            "SELECT o.id, i.id FROM Owner o JOIN Item i ON i.owner = o.id AND i.price >= o.weight",
            "index Item.owner (i.owner = o.id AND i.price >= o.weight)"
        ),
        (
            "SELECT o.id, i.id FROM Owner o LEFT JOIN Item i ON i.owner = o.id AND i.price > o.rank - 2 AND i.price < o.rank",
            "index Item.owner"
        ),
        (
            "SELECT o.id, i.id FROM Owner o JOIN Item i ON i.name >= o.name AND i.name <= o.name || 'c' WHERE i.flag",
            "index Item.name"
        ),
        (
            "SELECT o.id, i.id FROM Owner o JOIN Item i ON i.kind COLLATE NOCASE > o.name AND i.kind COLLATE NOCASE < 'x' || o.name",
            "index Item.kind"
        ),
        (
            "SELECT o.id, i.id FROM Owner o JOIN Item i ON i.kind COLLATE NOCASE = 'X' AND i.owner > o.rank AND i.owner < o.rank + 3",
            "index Item.kind (kind = 'x' AND i.owner > o.rank AND i.owner < (o.rank + 3))"
        ),
        (
            "SELECT o.id, i.id FROM Owner o JOIN Item i ON i.id > o.rank AND i.id <= o.rank + 2 AND i.price > 1",
            "by key range (i.id > o.rank AND i.id <= (o.rank + 2))"
        ),
        (
            "SELECT o.id, i.id FROM Owner o JOIN Item i ON i.id >= o.weight AND i.id < o.weight * 1.5 + 2",
            "by key range"
        ),
        (
            "SELECT o.id, p.place FROM Owner o JOIN Part p ON p.code = o.name AND p.place >= o.rank AND p.place < o.rank + 5",
            "by key range (p.code = o.name AND p.place >= o.rank AND p.place < (o.rank + 5))"
        ),
        (
            "SELECT o.id, p.place FROM Owner o JOIN Part p ON p.code >= o.name AND p.code <= o.name || 'z' AND p.owner = 2",
            "by key range"
        ),
        ("SELECT a.id, b.id FROM Owner a JOIN Owner b ON b.id < a.id AND b.weight IS NOT NULL", "b.id < a.id"),
    ]

    @Test(arguments: queries + ranges) func everyJoinMethodGivesTheSameRows(text: String, words: String) throws {
        var answers: Set<Set<[Value]>> = []
        var counts: Set<Int> = []
        var plans: Set<String> = []
        for isIndexed in [true, false] {
            let fixture = try fixture(isIndexed: isIndexed)
            let view = try fixture.store.snapshot()
            for seed in 0..<12 {
                var random = Seeded(UInt64(seed))
                var sizes = ["Owner": 100_000, "Item": 5_000_000, "Part": 5_000_000]
                if seed == 1 { sizes = ["Owner": 5_000_000, "Item": 1, "Part": 5_000_000] }
                if seed > 1 { for name in sizes.keys.sorted() { sizes[name] = random.pick([1, 30, 4000, 6_000_000]) } }
                let known = sizes
                let plan = try SizedQuery(SelectStatement.parse(text), fixture.catalogue, [], [:]) {
                    known[$0.schema.name]
                }.plan()
                plans.insert(plan.node(nil).outline)
                let rows = try plan.rows(in: view)
                answers.insert(Set(rows))
                counts.insert(rows.count)
            }
        }
        #expect(answers.count == 1 && counts.count == 1)
        #expect(answers.first?.isEmpty == false)
        #expect(plans.contains { $0.contains(words) }, "\(plans)")
    }

    /// The statement itself over large enough tables, where indexes are looked at.
    @Test func indexStatisticsDoNotChangeTheResult() throws {
        let (indexed, plain) = (try fixture(isIndexed: true, items: 1500), try fixture(isIndexed: false, items: 1500))
        try indexed.insertAll("Owner", (0..<1200).map { [.text("m\($0)"), .null, .null, .bool($0 % 2 == 0)] })
        try plain.insertAll("Owner", (0..<1200).map { [.text("m\($0)"), .null, .null, .bool($0 % 2 == 0)] })
        let texts = [
            "SELECT o.id, i.id FROM Owner o JOIN Item i ON i.owner = o.rank AND i.price = o.weight",
            "SELECT o.id, i.id FROM Item i JOIN Owner o ON o.weight = i.price WHERE length(i.name) = 1 AND i.kind COLLATE NOCASE = 'x'",
            "SELECT o.id, i.id FROM Item i JOIN Owner o ON o.id = i.owner WHERE i.kind COLLATE NOCASE = 'x' AND i.price > 3",
            "SELECT o.id, i.id FROM Owner o JOIN Item i ON i.owner = o.id AND i.kind = o.name COLLATE NOCASE WHERE o.rank > 2",
            "SELECT o.id, p.place FROM Owner o JOIN Part p ON p.owner = o.rank WHERE o.weight IS NOT NULL",
        ]
        for text in texts {
            func rows(_ fixture: Fixture) throws -> [[Value]] {
                try SelectStatement.parse(text).run(fixture.catalogue, view: fixture.store.snapshot()).rows
            }
            let (found, expected) = (try rows(indexed), try rows(plain))
            #expect(found.count == expected.count && Set(found) == Set(expected), "\(text)")
        }
    }

    /// A table without rows has nothing that its indexes could tell.
    @Test func emptyTablesAreJoined() throws {
        let fixture = try fixture(isIndexed: true, items: 0)
        let statement = try SelectStatement.parse(
            "SELECT o.id, i.id FROM Owner o JOIN Item i ON i.owner = o.rank AND i.price = o.weight")
        let view = try fixture.store.snapshot()
        let plan = try SizedQuery(statement, fixture.catalogue, [], [:], view) { _ in 2_000_000 }.plan()
        #expect(try plan.rows(in: view) == [])
    }

    @Test func limitsEndTheLookingUp() throws {
        let fixture = try fixture(isIndexed: true)
        let view = try fixture.store.snapshot()
        for (text, words) in [
            ("SELECT i.owner FROM Owner o JOIN Item i ON i.owner = o.id WHERE o.id = 2 LIMIT 1", "index Item.owner"),
            ("SELECT p.owner FROM Owner o JOIN Part p ON p.owner = o.id WHERE o.id = 2 LIMIT 1", "index Part.owner"),
        ] {
            let plan = try SizedQuery(SelectStatement.parse(text), fixture.catalogue, [], [:]) { table in
                table.schema.name == "Owner" ? 100_000 : 5_000_000
            }.plan()
            #expect(plan.node(nil).outline.contains(words))
            #expect(try plan.rows(in: view) == [[.integer(2)]])
        }
    }

    /// The scan of a large table against the hashed rows before it ends at the limit.
    @Test func aLimitEndsTheJoin() throws {
        let fixture = try fixture(isIndexed: false)
        let plan = try SizedQuery(
            SelectStatement.parse("SELECT DISTINCT o.flag FROM Owner o JOIN Item i ON i.owner = o.rank LIMIT 1"),
            fixture.catalogue, [], [:]
        ) { table in table.schema.name == "Owner" ? 1000 : 5_000_000 }.plan()
        #expect(plan.node(nil).outline.contains("by hash of the rows before it"))
        #expect(try plan.rows(in: fixture.store.snapshot()).count == 1)
    }

    /// The order and the limit go along one table, which has a condition of its own.
    @Test func firstRowsInOrderAreTestedByTheirOwnCondition() throws {
        let fixture = try fixture(isIndexed: true)
        let plan = try SizedQuery(
            SelectStatement.parse(
                "SELECT i.price FROM Item i JOIN Owner o ON o.id = i.owner WHERE i.number <> 6 ORDER BY i.price DESC LIMIT 3"
            ),
            fixture.catalogue, [], [:]
        ) { _ in 100_000 }.plan()
        #expect(
            plan.node(nil).summary.contains(
                "scan Item AS i using index Item.price, already in order of i.price DESC, then filter i.number != 6")
        )
        #expect(try plan.rows(in: fixture.store.snapshot()) == [[.double(6)], [.double(6)], [.double(6)]])
        let nothing = try SizedQuery(
            SelectStatement.parse(
                "SELECT i.price FROM Item i JOIN Owner o ON o.id = i.owner WHERE i.id IN (9223372036854775808) ORDER BY i.price LIMIT 3"
            ),
            fixture.catalogue, [], [:]
        ) { _ in 100_000 }.plan()
        #expect(try nothing.rows(in: fixture.store.snapshot()) == [])
        let neither = try SizedQuery(
            SelectStatement.parse(
                "SELECT i.price FROM Item i JOIN Owner o ON o.id = i.owner WHERE i.id = 1 AND i.id = 2 ORDER BY i.price LIMIT 3"
            ),
            fixture.catalogue, [], [:]
        ) { _ in 100_000 }.plan()
        #expect(try neither.rows(in: fixture.store.snapshot()) == [])
    }

    // MARK: - Damage

    private func damaged(
        _ fixture: Fixture, _ text: String, owners: Int = 100_000, _ damage: (borrowing WriteTransaction) throws -> Void
    ) throws -> RecordError? {
        try fixture.store.write { tx in try damage(tx) }
        let plan = try SizedQuery(SelectStatement.parse(text), fixture.catalogue, [], [:]) { table in
            table.schema.name == "Owner" ? owners : 5_000_000
        }.plan()
        return Fixture.error { _ = try plan.rows(in: fixture.store.snapshot()) }
    }

    @Test func rowsThatAnIndexNamesAndThatAreNotThereAreAnError() throws {
        let fixture = try fixture(isIndexed: true)
        let (item, part) = (try fixture.table("Item"), try fixture.table("Part"))
        let reason = "it names row 2, which is not there"
        #expect(
            try damaged(fixture, "SELECT i.id FROM Owner o JOIN Item i ON i.owner = o.id WHERE o.id IN (1, 2)") { tx in
                _ = try tx.delete(KeyOrder.treeKey(2), in: item.rows)
            } == .indexDamaged(table: "Item", index: "Item.owner", reason: reason))
        let key = RowKey(values: [.text("b"), .integer(1)])
        guard case .bytes(let bytes) = key else { return }
        #expect(
            try damaged(fixture, "SELECT p.place FROM Owner o JOIN Part p ON p.owner = o.id WHERE o.id IN (1, 2)") {
                tx in
                _ = try tx.delete(bytes, in: part.rows)
            } == .indexDamaged(table: "Part", index: "Part.owner", reason: "it names row ('b', 1), which is not there"))
    }

    @Test func entriesThatNameNoRowAreAnError() throws {
        let fixture = try fixture(isIndexed: true)
        let table = try fixture.table("Item")
        let index = try #require(table.indexes.first { $0.schema.name == "Item.flag" })
        var key = KeyBuffer()
        key.append(Value.bool(true))
        let entry = key.bytes
        #expect(
            try damaged(fixture, "SELECT i.id FROM Owner o JOIN Item i ON i.flag = o.flag", owners: 1) { tx in
                try tx.put([], for: entry, in: index.tree)
            } == .indexDamaged(table: "Item", index: "Item.flag", reason: "an entry names no row"))
    }
}
