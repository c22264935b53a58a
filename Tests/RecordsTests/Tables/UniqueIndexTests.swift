import MakoRecords
import MakoStorage
import Testing

/// Tables with several unique indexes: what one has taken is given back when the next refuses.
@Suite struct UniqueIndexTests {
    private static let schema = EntitySchema(
        name: "P",
        columns: [
            ColumnSchema("mail", .text, isOptional: true), ColumnSchema("number", .integer, isOptional: true),
            ColumnSchema("notes", .text, isOptional: true),
        ],
        indexes: [
            IndexSchema("mail", [IndexColumn("mail", noCase: true)], isUnique: true),
            IndexSchema("notes", [IndexColumn("notes", noCase: true)], isUnique: true),
            IndexSchema("number", [IndexColumn("number")], isUnique: true),
        ])

    private static let long = String(repeating: "note ", count: 400)

    private func filled() throws -> Fixture {
        let fixture = try Fixture(Self.schema)
        try fixture.insertAll(
            "P",
            [
                [.text("ada@x"), .integer(1), .text(Self.long + "a")],
                [.text("bob@x"), .integer(2), .text(Self.long + "b")], [.null, .null, .null],
            ])
        return fixture
    }

    /// Other spellings of the row's own values are the same entries: those stay.
    @Test(arguments: ["ADA@X", "new@x"], [long + "A", long + "c", "short"])
    func aRefusedUpdateLeavesTheEntriesOfTheRow(mail: String, notes: String) throws {
        let fixture = try filled()
        let table = try fixture.table("P")
        try fixture.store.write { tx in
            var changes = ChangeSet()
            var row = RowWriter()
            func set(_ number: Int64) {
                row.begin(table.layout)
                row.set(0, mail)
                row.set(1, number)
                row.set(2, notes)
            }
            set(2)
            #expect(
                throws: RecordError.uniqueViolation(
                    table: "P", columns: ["number"], values: [.integer(2)], existing: .rowID(2))
            ) { try table.update(&row, key: .rowID(1), in: tx, changes: &changes) }
            #expect(changes.isEmpty)
            #expect(try table.verify(in: tx.view) == [])
            set(9)
            let isThere = try table.update(&row, key: .rowID(1), in: tx, changes: &changes)
            #expect(isThere)
        }
        #expect(try fixture.values("P", .rowID(1)) == [.text(mail), .integer(9), .text(notes)])
        try fixture.expectSound()
    }

    /// Index entries have only a prefix of long values; the rows are compared by the index's own rules.
    @Test func longValuesAreComparedAsShortOnesAre() throws {
        let fixture = try filled()
        for notes in [Self.long + "a", Self.long.uppercased() + "A"] {
            #expect(
                throws: RecordError.uniqueViolation(
                    table: "P", columns: ["notes"], values: [.text(notes)], existing: .rowID(1))
            ) { try fixture.insert("P", [.null, .null, .text(notes)]) }
        }
        try fixture.insert("P", [.null, .null, .text(Self.long + "c")])
        try fixture.expectSound()
    }
}
