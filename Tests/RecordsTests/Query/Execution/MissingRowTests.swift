import MakoRecords
import MakoStorage
import Testing

/// References whose rows are not there, to a table with ids and to one with keys of its own.
@Suite struct MissingRowTests {
    private static let relations: [String: TableRelations] = [
        "Plain": TableRelations(inverses: [
            "things": .init(table: "Thing", column: "plain"), "shelves": .init(table: "Shelf", column: "plains"),
        ]),
        "Keyed": TableRelations(inverses: [
            "things": .init(table: "Thing", column: "keyed"), "shelves": .init(table: "Shelf", column: "keyeds"),
        ]),
    ]

    /// Things 4 and 5 refer to row 9, which is not there, 6 to none; shelves 2 and 3 hold it.
    private static func fixture(isIndexed: Bool) throws -> Fixture {
        let fixture = try Fixture(
            EntitySchema(name: "Plain", columns: [ColumnSchema("n", .integer)]),
            EntitySchema(
                name: "Keyed", columns: [ColumnSchema("code", .text), ColumnSchema("n", .integer)],
                key: .columns(["code"])),
            EntitySchema(
                name: "Thing",
                columns: [
                    ColumnSchema("plain", .reference, isOptional: true, target: "Plain"),
                    ColumnSchema("keyed", .text, isOptional: true, target: "Keyed"),
                ],
                indexes: isIndexed
                    ? [
                        IndexSchema("Thing.plain", [IndexColumn("plain")]),
                        IndexSchema("Thing.keyed", [IndexColumn("keyed")]),
                    ] : []),
            EntitySchema(
                name: "Shelf",
                columns: [
                    ColumnSchema("plains", .keys, isOptional: true, target: "Plain"),
                    ColumnSchema("keyeds", .keys, isOptional: true, target: "Keyed"),
                    ColumnSchema("thing", .reference, isOptional: true, target: "Thing"),
                ],
                indexes: [
                    IndexSchema("Shelf.plains", [IndexColumn("plains")]),
                    IndexSchema("Shelf.keyeds", [IndexColumn("keyeds")]),
                ]))
        try fixture.insertAll("Plain", [[.integer(1)], [.integer(2)]])
        try fixture.insertAll("Keyed", [[.text("k1"), .integer(1)], [.text("k2"), .integer(2)]])
        let references: [Int64?] = [1, 1, 2, 9, 9, nil]
        try fixture.insertAll(
            "Thing",
            references.map { number in
                [number.map { .integer($0) } ?? .null, number.map { .text("k\($0)") } ?? .null]
            })
        for numbers in [[1], [9], [1, 9], [], [2, 1]] as [[Int64]] {
            let plains = KeyTree.list(numbers.map { .key(.rowID($0)) }).encoded
            let keyeds = KeyTree.list(numbers.map { .key(RowKey(values: [.text("k\($0)")])) }).encoded
            try fixture.insert("Shelf", [.blob(plains), .blob(keyeds), .integer(numbers.first ?? 9)])
        }
        return fixture
    }

    private static let ofThings: [(text: String, ids: [Int64])] = [
        ("X.things.@count = 0", [6]), ("X.things.@count = 2", [1, 2, 4, 5]), ("NONE X.things.id > 0", [6]),
        ("ANY X.things.id > 0", [1, 2, 3, 4, 5]), ("ALL X.things.id > 100", [6]), ("X.shelves.@count = 0", [6]),
        ("X.shelves.@count = 2", [4, 5]), ("NONE X.shelves.id > 0", [6]), ("X.n IS NULL", [4, 5, 6]),
        ("X IS NULL", [6]), ("NOT X.n > 0", []), ("X.things.@max.id > 0", [1, 2, 3, 4, 5]),
    ]

    private static let ofShelves: [(text: String, ids: [Int64])] = [
        ("Xs.@count = 0", [4]), ("Xs.@count = 1", [1, 2]), ("Xs.@count = 2", [3, 5]), ("NONE Xs.n > 0", [2, 4]),
        ("ANY Xs.n > 0", [1, 3, 5]), ("ALL Xs.n > 5", [2, 4]), ("ALL Xs.n = 1", [1, 2, 3, 4]),
        ("Xs.@sum.n = 0", [2, 4]), ("thing.X.things.@count = 2", [1, 3, 5]), ("NONE thing.X.things.id > 0", [2, 4]),
    ]

    /// `@count` counts the keys in a list, whether their rows exist or not; everything else reads the rows.
    @Test(arguments: [true, false]) func rowsThatAreNotThere(isIndexed: Bool) throws {
        let fixture = try Self.fixture(isIndexed: isIndexed)
        let catalogue = fixture.catalogue.describing(Self.relations)
        let view = try fixture.store.snapshot()
        for (table, queries) in [("Thing", Self.ofThings), ("Shelf", Self.ofShelves)] {
            for (text, ids) in queries {
                for target in ["plain", "keyed"] {
                    let condition = try Condition.parse(text.replacing("X", with: target))
                    let plan = try Selection(table: table, condition: condition).plan(catalogue)
                    #expect(try plan.ids(in: view) == ids, "\(text) \(target)")
                }
            }
        }
    }
}
