import MakoRecords
import MakoStorage
import Testing

/// Live rows watch each column that their conditions and orders read, wherever in them it is.
@Suite struct WatchedColumnTests {
    private static let conditions = [
        "CASE WHEN age > 3 THEN salary ELSE 0 END > 2", "CASE age WHEN 4 THEN 'x' ELSE name END = 'x'",
        "age IN (SELECT age FROM Pet WHERE owner = Person.boss)",
        "EXISTS (SELECT 1 FROM Pet WHERE owner = Person.boss)",
        "ANY tags = 'x'", "ALL tags = 'x'", "tags.@count > 1", "friends.@count > 1",
        "(SELECT count(*) FROM Pet WHERE owner = Person.boss AND age > Person.age) > 0", "age IN (3, salary)",
        "name LIKE name || 'x' OR age IS NULL", "-age < -4",
    ]

    @Test(arguments: conditions) func changesAreSeen(condition: String) throws {
        let all = try ManyFixture(seed: 5, isIndexed: true)
        let selection = Selection(table: "Person", condition: try .parse(condition), orderBy: [Order("id")])
        var rows = try LiveRows(selection, all.catalogue, in: all.fixture.store.snapshot())
        let people = try all.catalogue.requireTable("Person")
        let pets = try all.catalogue.requireTable("Pet")
        var random = Seeded(7)
        var isSeen = false
        for _ in 0..<60 {
            var changes = ChangeSet()
            let key = RowKey.rowID(Int64.random(in: 1...40, using: &random))
            let new: [(Int, Value)] = [
                (1, random.chance(20) ? .null : .integer(Int64.random(in: 0...9, using: &random))),
                (2, .integer(Int64.random(in: 1...5, using: &random))),
                (4, .integer(Int64.random(in: 1...40, using: &random))),
                (5, .text(random.pick([#"["x"]"#, #"["x","y"]"#, "[]", #"["y"]"#]))),
                (
                    6,
                    .blob(
                        KeyTree.list((0..<Int.random(in: 0...3, using: &random)).map { .key(.rowID(Int64($0) + 1)) })
                            .encoded)
                ),
            ]
            let (column, value) = random.pick(new)
            let (table, place) = random.chance(25) ? (pets, 2) : (people, column)
            try all.fixture.store.write { tx in
                var row = RowWriter()
                row.begin(table.layout)
                row.set(place, place == column ? value : .integer(Int64.random(in: 0...9, using: &random)))
                _ = try table.update(&row, key: key, in: tx, changes: &changes)
            }
            let view = try all.fixture.store.snapshot()
            let before = rows
            isSeen =
                try rows.update(["Person", "Pet"].compactMap { changes.changes(of: $0) }, in: view) != nil || isSeen
            #expect(try rows.keys == LiveRows(selection, all.catalogue, in: view).keys)
            // Without knowing what happened each row that stayed may be another.
            let unknown = try rows.difference(from: before, nil, in: view)
            #expect(unknown?.updates.count ?? 0 == rows.keys.filter(before.keys.contains).count)
        }
        #expect(isSeen)
    }

    /// Sub-queries in an order are read as those of conditions are.
    @Test func ordersBySubqueries() throws {
        let all = try ManyFixture(seed: 6, isIndexed: true)
        let selection = Selection(
            table: "Person", orderBy: try Order.parse("(SELECT count(*) FROM Pet WHERE owner = Person.boss) DESC, id"))
        let rows = try LiveRows(selection, all.catalogue, in: all.fixture.store.snapshot())
        #expect(try rows.keys == selection.plan(all.catalogue).keys(in: all.fixture.store.snapshot()))
    }

    /// An excerpt reads the column of its text.
    @Test func ordersByExcerpts() throws {
        let fixture = try MatchTests.library()
        let selection = Selection(
            table: "Article", condition: try .parse("body MATCH 'rope OR steam OR sail'"),
            orderBy: try Order.parse("highlight(body, '<', '>'), id"))
        var rows = try LiveRows(selection, fixture.catalogue, in: fixture.store.snapshot())
        #expect(rows.keys.map(\.rowID) == [3, 1, 2])
        let articles = try fixture.table("Article")
        for (id, text) in [(2, "A sail"), (4, "<sail"), (1, "no word of it"), (3, "Zip, a rope")] as [(Int64, String)] {
            var changes = ChangeSet()
            try fixture.store.write { tx in
                var row = RowWriter()
                row.begin(articles.layout)
                row.set(1, .text(text))
                _ = try articles.update(&row, key: .rowID(id), in: tx, changes: &changes)
            }
            let view = try fixture.store.snapshot()
            #expect(try rows.update([changes.changes(of: "Article")].compactMap { $0 }, in: view) != nil)
            #expect(try rows.keys == LiveRows(selection, fixture.catalogue, in: view).keys)
        }
    }
}
