import MakoStorage
import Testing

import MakoRecords

/// Tables whose rows are known by columns instead of ids.
@Suite struct KeyedTableTests {
    private static let wolf = EntitySchema(
        name: "Wolf",
        columns: [
            ColumnSchema("name", .text), ColumnSchema("pack", .integer, default: .integer(3)),
            ColumnSchema("weight", .double, isOptional: true), ColumnSchema("tag", .text, isOptional: true),
        ],
        key: .columns(["pack", "name"]),
        indexes: [
            IndexSchema("Wolf.weight", [IndexColumn("weight")]),
            IndexSchema("Wolf.tag", [IndexColumn("tag")], isUnique: true),
        ])

    private func key(_ pack: Int64, _ name: String) -> RowKey { RowKey(values: [.integer(pack), .text(name)]) }
    private func named(_ pack: Int64, _ name: String) -> NamedKey { NamedKey(key(pack, name), in: nil) }

    private struct Wolf: Equatable {
        var name: String
        var pack: Int64
        var weight: Double?
        var values: [Value] {
            [.text(name), .integer(pack), weight.map(Value.double) ?? .null, .text("\(pack) \(name)")]
        }
    }

    private static let pack: [Wolf] = (0..<6).flatMap { pack in
        (0..<50).map { Wolf(name: "wolf \($0)", pack: pack, weight: $0 % 7 == 0 ? nil : Double($0 * 37 % 50)) }
    }

    private func filled() throws -> Fixture {
        let fixture = try Fixture(Self.wolf)
        try fixture.insertAll("Wolf", Self.pack.shuffled().map(\.values))
        return fixture
    }

    @Test func rowsAreFoundChangedAndDeletedByTheirKey() throws {
        let fixture = try filled()
        let table = try fixture.table("Wolf")
        try fixture.store.write { tx in
            #expect(try table.contains(key(2, "wolf 7"), in: tx.view))
            #expect(try !table.contains(key(9, "wolf 7"), in: tx.view))
            var changes = ChangeSet()
            var row = RowWriter()
            row.begin(try table.layout(for: ["weight"]))
            row.set(0, 99.5)
            let isThere = try table.update(&row, key: key(2, "wolf 7"), in: tx, changes: &changes)
            let isDeleted = try table.delete(key(2, "wolf 8"), in: tx, changes: &changes)
            let isDeletedAgain = try table.delete(key(2, "wolf 8"), in: tx, changes: &changes)
            #expect(isThere && isDeleted && !isDeletedAgain)
            #expect(changes.changes.map(\.kind) == [.update, .delete])
        }
        #expect(try fixture.values("Wolf", key(2, "wolf 7"))?[2] == .double(99.5))
        #expect(try table.count(in: fixture.store.snapshot()) == Self.pack.count - 1)
        try fixture.expectSound()
        try fixture.store.write { tx in
            var changes = ChangeSet()
            let count = try table.deleteAll(in: tx, changes: &changes)
            let again = try table.deleteAll(in: tx, changes: &changes)
            #expect(count == Self.pack.count - 1 && again == 0 && changes.count == count)
        }
        try fixture.expectSound()
    }

    /// Only those: also where there are as many keys as rows.
    @Test func theRowsOfSomeKeysAreDeleted() throws {
        let fixture = try filled()
        let table = try fixture.table("Wolf")
        let all = try table.allKeys(in: fixture.store.snapshot())
        let missing = key(9, "nobody")
        let lists = [
            [], [all[3]], Array(all.dropFirst()), all.dropLast() + [missing], all.dropLast() + [all[0]],
            all.reversed(), all,
        ]
        for keys in lists {
            let gone = Set(keys).intersection(all)
            var changes = ChangeSet()
            let attempt = try fixture.store.beginWrite()
            #expect(try table.delete(keys, in: attempt, changes: &changes) == gone.count)
            #expect(Set(changes.changes.map(\.key)) == gone && changes.changes.allSatisfy { $0.kind == .delete })
            #expect(try Set(table.allKeys(in: attempt.view)) == Set(all).subtracting(gone))
            #expect(try table.verify(in: attempt.view) == [])
            attempt.rollback()
        }
    }

    @Test func aMissingKeyColumnTakesItsDefault() throws {
        let fixture = try Fixture(Self.wolf)
        let table = try fixture.table("Wolf")
        try fixture.store.write { tx in
            var changes = ChangeSet()
            var row = RowWriter()
            row.begin(try table.layout(for: ["name"]))
            row.set(0, "Hati")
            #expect(try table.insert(&row, in: tx, changes: &changes) == key(3, "Hati"))
        }
        #expect(try fixture.values("Wolf", key(3, "Hati")) == [.text("Hati"), .integer(3), .null, .null])
    }

    @Test func aRowWithoutAKeyIsRefused() throws {
        let fixture = try Fixture(Self.wolf)
        let table = try fixture.table("Wolf")
        try fixture.store.write { tx in
            var changes = ChangeSet()
            var row = RowWriter()
            #expect(throws: RecordError.invalidKey(table: "Wolf", reason: "the row was not begun")) {
                try table.insert(&row, in: tx, changes: &changes)
            }
            row.begin(table.layout)
            row.set(0, Int64(3))
            #expect(
                throws: RecordError.typeMismatch(table: "Wolf", column: "name", expected: .text, found: "integer 3")
            ) { try table.insert(&row, in: tx, changes: &changes) }
            #expect(changes.isEmpty)
        }
        #expect(try table.count(in: fixture.store.snapshot()) == 0)
    }

    @Test func idsAndKeysAreNotMistakenForEachOther() throws {
        let fixture = try filled()
        let table = try fixture.table("Wolf")
        let view = try fixture.store.snapshot()
        let kinds = "it is of another kind than the table's keys"
        #expect(throws: RecordError.invalidKey(table: "Wolf", reason: kinds)) {
            try table.contains(.rowID(1), in: view)
        }
        #expect(throws: RecordError.invalidKey(table: "Wolf", reason: kinds)) {
            try RowKey.rowID(1).values(in: table.schema)
        }
        #expect(throws: RecordError.invalidKey(table: "Wolf", reason: "its bytes are not a key of this table")) {
            try RowKey.bytes([255, 255]).values(in: table.schema)
        }
        #expect(throws: RecordError.invalidKey(table: "Wolf", reason: "it has too many columns")) {
            try RowKey(values: [.integer(1), .text("a"), .text("b")]).values(in: table.schema)
        }
        let noIDs = RecordError.invalidKey(table: "Wolf", reason: "the table has key columns, not ids")
        let refusal = #expect(throws: RecordError.self) {
            try Selection(table: "Wolf").plan(fixture.catalogue).ids(in: view)
        }
        #expect(try #require(refusal).description == "\(noIDs); use keys(), or select the columns")
        try fixture.store.write { tx in
            _ = #expect(throws: noIDs) { try table.reserveRowID(in: tx) }
        }
    }

    @Test func uniqueIndexesNameTheRowByItsKey() throws {
        let fixture = try filled()
        let taken = #expect(throws: RecordError.self) {
            try fixture.insert("Wolf", [.text("other"), .integer(9), .null, .text("1 wolf 4")])
        }
        #expect(
            taken
                == .uniqueViolation(
                    table: "Wolf", columns: ["tag"], values: [.text("1 wolf 4")], existing: named(1, "wolf 4")))
        try fixture.expectSound()
    }

    private static let queries: [(text: String, isWanted: @Sendable (Wolf) -> Bool)] = [
        ("", { _ in true }), ("pack = 2", { $0.pack == 2 }),
        ("pack > 1 AND pack <= 4", { $0.pack > 1 && $0.pack <= 4 }),
        ("pack = 2 AND name >= 'wolf 3'", { $0.pack == 2 && $0.name >= "wolf 3" }),
        ("pack = 2 AND name = 'wolf 3'", { $0.pack == 2 && $0.name == "wolf 3" }),
        ("pack = 9 AND name = 'wolf 3'", { _ in false }),
        ("pack IN (5, 1, 9) AND name = 'wolf 3'", { [1, 5].contains($0.pack) && $0.name == "wolf 3" }),
        ("pack IN (5, 1, 9)", { [1, 5].contains($0.pack) }),
        ("pack = 2 AND weight > 20", { $0.pack == 2 && $0.weight ?? 0 > 20 }),
        ("weight = 11", { $0.weight == 11 }), ("weight < 5", { $0.weight ?? 9 < 5 }),
        ("weight IS NULL", { $0.weight == nil }),
        ("weight > 30 AND name LIKE '%9'", { $0.weight ?? 0 > 30 && $0.name.hasSuffix("9") }),
        ("pack = 2 AND FALSE", { _ in false }),
    ]

    /// Each access path, in both directions, against a filter over an array.
    @Test(arguments: queries.indices) func everyAccessPathFindsTheSameRows(number: Int) throws {
        let (text, isWanted) = Self.queries[number]
        let fixture = try filled()
        let view = try fixture.store.snapshot()
        let wanted = Self.pack.filter(isWanted).sorted { ($0.pack, $0.name) < ($1.pack, $1.name) }
        let byWeight = wanted.sorted {
            ($0.weight ?? -1, -$0.pack, $0.name) < ($1.weight ?? -1, -$1.pack, $1.name)
        }
        for (order, rows) in [
            ("pack, name", wanted), ("pack DESC, name DESC", wanted.reversed()), ("weight, pack DESC, name", byWeight),
            ("weight DESC, pack, name DESC", byWeight.reversed()),
        ] {
            for (limit, offset) in [(nil, nil), (3, nil), (0, nil), (4, 2), (1000, 1), (nil, 5)] as [(Int?, Int?)] {
                let plan = try Selection(
                    table: "Wolf", condition: text.isEmpty ? nil : .parse(text), orderBy: Order.parse(order),
                    limit: limit, offset: offset
                ).plan(fixture.catalogue)
                let part = rows.dropFirst(offset ?? 0).prefix(limit ?? .max)
                #expect(try plan.keys(in: view) == part.map { key($0.pack, $0.name) }, "\(plan)")
                #expect(try plan.count(in: view) == part.count, "\(plan)")
                #expect(try plan.exists(in: view) == !part.isEmpty, "\(plan)")
                #expect(try plan.rows([.path("name")], in: view) == part.map { [.text($0.name)] }, "\(plan)")
                var first: RowKey?
                try plan.forEachRow(in: view) { found, _ in
                    first = found
                    return false
                }
                #expect(first == part.first.map { key($0.pack, $0.name) }, "\(plan)")
            }
        }
    }

    /// A key too long to stand in an index entry is known there by a hash.
    @Test func longKeysAreFoundThroughIndexes() throws {
        let fixture = try Fixture(Self.wolf)
        let names = (0..<20).map { String(repeating: "long ", count: 100) + "\($0)" }
        try fixture.insertAll("Wolf", names.map { [.text($0), .integer(1), .double(7), .null] })
        let plan = try Selection(table: "Wolf", condition: .parse("weight = 7")).plan(fixture.catalogue)
        #expect("\(plan)".contains("index Wolf.weight"))
        let found = try plan.rows([.path("name")], in: fixture.store.snapshot())
        #expect(Set(found) == Set(names.map { [.text($0)] }))
        try fixture.expectSound()
        let table = try fixture.table("Wolf")
        try fixture.store.write { tx in
            var changes = ChangeSet()
            for name in names.prefix(10) { _ = try table.delete(key(1, name), in: tx, changes: &changes) }
        }
        try fixture.expectSound()
    }

    @Test func batchesOfRowsWithKeysAreRefusedWhereTheyClash() throws {
        let fixture = try filled()
        let table = try fixture.table("Wolf")
        let error = #expect(throws: RecordError.self) {
            try fixture.store.write { tx in
                var changes = ChangeSet()
                var row = RowWriter()
                let batch = IndexBatch()
                for (number, tag) in ["a", "5 wolf 1", "b"].enumerated() {
                    row.begin(table.layout)
                    for (place, value) in Wolf(name: "new \(number)", pack: 7, weight: 1).values.enumerated() {
                        row.set(place, place == 3 ? .text(tag) : value)
                    }
                    try table.insert(&row, in: tx, changes: &changes, batch: batch)
                }
                try batch.flush(in: tx)
            }
        }
        #expect(
            error
                == .uniqueViolation(
                    table: "Wolf", columns: ["tag"], values: [.text("5 wolf 1")], existing: named(5, "wolf 1")))
        #expect(try table.count(in: fixture.store.snapshot()) == Self.pack.count)
    }

    /// Keys that follow each other directly are rows of their own.
    @Test func aListOfNeighbouringKeysFindsEachOfThem() throws {
        for type in [ColumnType.integer, .unsigned] {
            let fixture = try Fixture(
                EntitySchema(
                    name: "Den", columns: [ColumnSchema("number", type)], key: .columns(["number"])))
            try fixture.insertAll("Den", (0..<10).map { [type == .integer ? .integer($0) : .unsigned(UInt64($0))] })
            let plan = try Selection(table: "Den", condition: .parse("number IN (7, 3, 4, 3, 5)")).plan(
                fixture.catalogue)
            #expect(plan.description.contains("search Den by key"))
            #expect(try plan.keys(in: fixture.store.snapshot()).count == 4)
        }
    }
}
