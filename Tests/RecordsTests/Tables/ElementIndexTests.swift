import MakoStorage
import Testing

@testable import MakoRecords

/// Columns that hold keys of other rows, and the index from those keys to the rows that hold them.
@Suite struct ElementIndexTests {
    static let person = EntitySchema(
        name: "Person",
        columns: [ColumnSchema("name", .text), ColumnSchema("friends", .keys, isOptional: true, target: "Person")],
        indexes: [
            IndexSchema("friends", [IndexColumn("friends")]),
            IndexSchema("name", [IndexColumn("name")], isUnique: true),
        ])
    static let tag = EntitySchema(
        name: "Tag",
        columns: [ColumnSchema("code", .text), ColumnSchema("people", .keys, default: empty, target: "Person")],
        key: .columns(["code"]), indexes: [IndexSchema("people", [IndexColumn("people")])])
    static let empty = Value.blob(KeyTree.list([]).encoded)

    private func held(_ ids: Int64...) -> Value { .blob(KeyTree.list(ids.map { .key(.rowID($0)) }).encoded) }

    private func holders(_ fixture: Fixture, _ id: Int64, _ table: String = "Person", _ column: String = "friends")
        throws
        -> Set<RowKey>
    {
        Set(try fixture.table(table).keys(holding: .rowID(id), in: column, view: try fixture.store.snapshot()))
    }

    private func write(
        _ fixture: Fixture, _ name: String, _ body: (TableHandle, borrowing WriteTransaction) throws -> Void
    ) throws {
        let table = try fixture.table(name)
        try fixture.store.write { tx in try body(table, tx) }
        try fixture.expectSound()
    }

    @Test func rowsAreFoundByWhatTheyHold() throws {
        let fixture = try Fixture(Self.person)
        let ada = try fixture.insert("Person", [.text("Ada"), held(2, 3, 2)])
        let bob = try fixture.insert("Person", [.text("Bob"), held(3)])
        let eve = try fixture.insert("Person", [.text("Eve"), .null])
        #expect(try holders(fixture, 2) == [ada])
        #expect(try holders(fixture, 3) == [ada, bob])
        #expect(try holders(fixture, 4) == [])
        try fixture.expectSound()

        try write(fixture, "Person") { table, tx in
            var changes = ChangeSet()
            var row = RowWriter()
            row.begin(table.layout)
            row.set(1, held(3, 1))
            let adaIsThere = try table.update(&row, key: ada, in: tx, changes: &changes)
            #expect(adaIsThere)
            row.begin(table.layout)
            row.set(1, held(1))
            let eveIsThere = try table.update(&row, key: eve, in: tx, changes: &changes)
            #expect(eveIsThere)
            #expect(changes.changes.count == 2)
        }
        #expect(try holders(fixture, 2) == [])
        #expect(try holders(fixture, 1) == [ada, eve])

        try write(fixture, "Person") { table, tx in
            var changes = ChangeSet()
            let wasThere = try table.delete(ada, in: tx, changes: &changes)
            #expect(wasThere)
        }
        #expect(try holders(fixture, 3) == [bob])
        #expect(try holders(fixture, 1) == [eve])
        try write(fixture, "Person") { table, tx in
            var changes = ChangeSet()
            let count = try table.deleteAll(in: tx, changes: &changes)
            #expect(count == 2)
        }
        #expect(try holders(fixture, 3) == [])
    }

    @Test func keyedRowsHoldAndAreHeld() throws {
        let fixture = try Fixture(Self.person, Self.tag)
        let long = String(repeating: "k", count: 850)
        for code in ["a", "b", long] { try fixture.insert("Tag", [.text(code), held(5, 6)]) }
        #expect(
            try holders(fixture, 5, "Tag", "people")
                == Set(["a", "b", long].map { RowKey(values: [.text($0)]) }))
        try write(fixture, "Tag") { table, tx in
            var changes = ChangeSet()
            let wasThere = try table.delete(RowKey(values: [.text(long)]), in: tx, changes: &changes)
            #expect(wasThere)
        }
        #expect(try holders(fixture, 6, "Tag", "people").count == 2)
    }

    /// A key is no prefix of another, however long; the same key in another table is another one.
    @Test func heldKeysAreDistinguished() throws {
        let fixture = try Fixture(Self.person)
        let long = Array(repeating: UInt8(9), count: 700)
        let keys: [(UInt32, RowKey)] = [
            (0, .rowID(1)), (1, .rowID(1)), (0, .bytes(Array(repeating: 0, count: 8))), (0, .bytes(long)),
            (0, .bytes(long + [1])), (0, .bytes(long + [1, 2])),
            (0, .bytes(Array(long.dropLast()) + [0])), (7, .bytes(long + [1])),
        ]
        for (place, (table, key)) in keys.enumerated() {
            let tree: KeyTree = table == 0 ? .key(key) : .foreign(table: table, key)
            try fixture.insert(
                "Person", [.text("\(place)"), .blob(KeyTree.list([tree]).encoded)], key: .rowID(Int64(place + 1)))
        }
        try fixture.expectSound()
        let people = try fixture.table("Person")
        for (place, (table, key)) in keys.enumerated() {
            let found = try people.keys(
                holding: key, ofTable: table, in: "friends", view: try fixture.store.snapshot())
            #expect(found == [.rowID(Int64(place + 1))], "\(place)")
        }
    }

    @Test func otherBytesAreRefusedAndNothingIsLeft() throws {
        let fixture = try Fixture(Self.person)
        let ada = try fixture.insert("Person", [.text("Ada"), held(1)])
        let refused = Fixture.error { try fixture.insert("Person", [.text("Bob"), .blob([1, 2, 3])]) }
        guard case .typeMismatch("Person", "friends", _, _) = refused else {
            Issue.record("\(String(describing: refused))")
            return
        }
        // Bytes that no dynamic value checked.
        let table = try fixture.table("Person")
        for key in [nil, ada] {
            let error = Fixture.error {
                try fixture.store.write { tx in
                    var changes = ChangeSet()
                    var row = RowWriter()
                    row.begin(table.layout)
                    row.set(0, "Bob")
                    row.set(1, [9, 9])
                    _ = try table.put(&row, key: key, in: tx, changes: &changes)
                }
            }
            #expect(error == .typeMismatch(table: "Person", column: "friends", expected: .keys, found: "x'0909'"))
        }
        #expect(try fixture.values("Person", ada) == [.text("Ada"), held(1)])
        #expect(try table.count(in: try fixture.store.snapshot()) == 1)
        try fixture.expectSound()
    }

    @Test func aRefusedRowLeavesNoKeys() throws {
        let fixture = try Fixture(Self.person)
        try fixture.insert("Person", [.text("Ada"), held(1)])
        #expect(throws: RecordError.self) { try fixture.insert("Person", [.text("Ada"), held(2)]) }
        #expect(try holders(fixture, 2) == [])
        try fixture.expectSound()
    }

    @Test func anIndexIsBuiltOverRowsThatAreThere() throws {
        var fixture = try Fixture(
            EntitySchema(name: "Person", columns: [ColumnSchema("name", .text)]))
        let ada = try fixture.insert("Person", [.text("Ada")])
        var schema = Self.person
        schema.columns[1].isOptional = false
        schema.columns[1].defaultValue = held(8)
        schema.indexes.removeLast()
        try fixture.migrate(schema)
        #expect(try holders(fixture, 8) == [ada])
        try fixture.expectSound()
        // The column goes and comes back with what it held.
        try fixture.migrate(EntitySchema(name: "Person", columns: [ColumnSchema("name", .text)]))
        #expect(try holders(fixture, 8) == [])
        try fixture.migrate(schema)
        #expect(try holders(fixture, 8) == [ada])
        try fixture.expectSound()
    }

    @Test(arguments: [
        "name no table", "one index", "cannot be a key",
    ])
    func columnsOfKeysThatCannotBeAreRefused(reason: String) throws {
        var schema = Self.person
        switch reason {
        case "name no table": schema.columns[1].target = nil
        case "one index": schema.indexes[0].columns.append(IndexColumn("name"))
        default:
            schema.columns[1].isOptional = false
            schema.key = .columns(["friends"])
        }
        var fixture = try Fixture()
        let error = Fixture.error { try fixture.migrate(schema) }
        #expect(error.map { "\($0)".contains(reason) } == true, "\(String(describing: error))")
    }

    @Test func conditionsCannotNameColumnsOfMany() throws {
        let fixture = try Fixture(Self.person)
        for text in ["friends.name = 'Ada'", "friends.id = 1"] {
            let error = Fixture.error {
                _ = try Selection(table: "Person", condition: try Condition.parse(text)).plan(fixture.catalogue)
            }
            #expect(error.map { "\($0)".contains("leads to many rows; use ANY") } == true, "\(text)")
        }
        // The index serves no query of the column itself.
        try fixture.insert("Person", [.text("Ada"), held(1)])
        let plan = try Selection(table: "Person", condition: try Condition.parse("friends IS NULL")).plan(
            fixture.catalogue)
        #expect(try plan.count(in: try fixture.store.snapshot()) == 0)
        #expect(plan.description.hasPrefix("scan Person"))
    }

    @Test func verifyReportsMissingAndSuperfluousEntries() throws {
        let fixture = try Fixture(Self.person)
        try fixture.insert("Person", [.text("Ada"), held(1, 2)])
        let index = try #require(try fixture.table("Person").elementIndexes.first)
        let entry = index.entry(ElementIndex.element(0, .rowID(2)), .rowID(1))
        try fixture.store.write { tx in _ = try tx.delete(entry, in: index.tree) }
        #expect(try fixture.table("Person").verify(in: try fixture.store.snapshot()).count == 2)
        try fixture.store.write { tx in
            try tx.put([], for: entry, in: index.tree)
            try tx.put([], for: [0, 1], in: index.tree)
        }
        #expect(
            try fixture.table("Person").verify(in: try fixture.store.snapshot())
                == ["Person: index friends has 3 entries for 2 held keys"])
    }
}
