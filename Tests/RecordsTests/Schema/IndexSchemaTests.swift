import MakoStorage
import MakoTestSupport
import Testing

@testable import MakoRecords

/// Invalid indexes, conditions of indexes in all their forms, and conflicts between unique indexes.
@Suite struct IndexSchemaTests {
    private static func words(_ change: (inout EntitySchema) -> Void) -> EntitySchema {
        var schema = EntitySchema(
            name: "T", columns: (0..<20).map { ColumnSchema("t\($0)", .text) } + [ColumnSchema("n", .integer)],
            indexes: [IndexSchema("words", [IndexColumn("t0"), IndexColumn("t1")], fullText: FullTextOptions())])
        change(&schema)
        return schema
    }

    @Test func fullTextIndexesThatCannotBeAreRefused() throws {
        let cases: [(schema: EntitySchema, words: String)] = [
            (Self.words { $0.indexes[0].isUnique = true }, "cannot be unique"),
            (Self.words { $0.indexes[0].condition = "n > 1" }, "holds all rows, and words alone"),
            (Self.words { $0.indexes[0].isSpatial = true }, "holds all rows, and words alone"),
            (Self.words { $0.indexes[0].columns = (0..<17).map { IndexColumn("t\($0)") } }, "has more than 16 columns"),
            (Self.words { $0.indexes[0].columns[1].name = "t0" }, "names a column twice"),
            (Self.words { $0.indexes[0].columns[1].descending = true }, "gives t1 an order"),
            (Self.words { $0.indexes[0].columns[1].noCase = true }, "gives t1 an order"),
            (Self.words { $0.indexes[0].columns[1].name = "n" }, "is over n, which holds integer"),
        ]
        for (schema, words) in cases {
            let error = Fixture.error { try schema.validate() }
            #expect(error.map { "\($0)" }?.contains("the full-text index words " + words) == true, "\(words)")
        }
        // With the largest number of columns each can be queried by itself.
        let fixture = try Fixture(Self.words { $0.indexes[0].columns = (0..<16).map { IndexColumn("t\($0)") } })
        try fixture.insert("T", (0..<20).map { .text("word\($0) all") } + [.integer(1)])
        for number in 0..<16 {
            let condition = try Condition.parse("t\(number) MATCH 'word\(number) all'")
            let found = try Selection(table: "T", condition: condition).plan(fixture.catalogue)
            #expect(try found.count(in: fixture.store.snapshot()) == 1)
        }
        try fixture.expectSound()
    }

    /// A kind of words that no version knows.
    @Test func unknownStemmingIsDamage() throws {
        let fixture = try Fixture(Self.words { _ in })
        let bytes = try #require(try StoredCatalogue.entries(in: fixture.store.snapshot()).first).bytes
        var refused = 0
        for place in bytes.indices {
            var damaged = bytes
            damaged[place] = 0xEE
            do throws(RecordError) { _ = try StoredCatalogue.record("T", damaged) } catch {
                guard case .catalogueDamaged = error else { Issue.record("\(error)"); continue }
                refused += 1
            }
        }
        #expect(bytes.last == 0)
        #expect(throws: RecordError.self) { try StoredCatalogue.record("T", bytes.dropLast() + [0xEE]) }
        #expect(refused > 10)
    }

    // MARK: Conditions

    private static func tasks(_ condition: String) -> EntitySchema {
        EntitySchema(
            name: "Task",
            columns: [
                ColumnSchema("title", .text, isOptional: true), ColumnSchema("due", .integer, isOptional: true),
                ColumnSchema("boss", .reference, isOptional: true, target: "Task"),
                ColumnSchema("team", .keys, isOptional: true, target: "Task"),
            ],
            indexes: [
                IndexSchema("some", [IndexColumn("due")], where: condition), IndexSchema("team", [IndexColumn("team")]),
            ])
    }

    @Test(arguments: [
        "TRUE", "due + 1 > 2", "-due < -1", "lower(title) = 'a'", "title LIKE 'a!_%' ESCAPE '!'", "title GLOB 'a*'",
        "CASE WHEN due > 1 THEN title ELSE 'b' END = 'a'", "coalesce(due, 7) BETWEEN 2 AND 9", "id > 1",
        "NOT (due IN (1, 2) OR title IS NULL)", "boss = 1", "title COLLATE NOCASE = 'A'",
    ])
    func conditionsOfTheRowItself(condition: String) throws {
        let fixture = try Fixture(Self.tasks(condition))
        let rows: [[Value]] = [
            [.text("a"), .integer(1), .null], [.text("A_x"), .integer(2), .integer(1)],
            [.text("a_x"), .integer(3), .integer(1)],
            [.null, .null, .null], [.text("b"), .integer(9), .integer(2)],
        ]
        try fixture.insertAll("Task", rows)
        try fixture.expectSound()
        let view = try fixture.store.snapshot()
        let index = try #require(try fixture.table("Task").indexes.first)
        let wanted = try count(rows, condition)
        #expect(Int(try view.count(of: index.tree)) == wanted)
    }

    private static var bare: EntitySchema {
        var schema = tasks("TRUE")
        schema.indexes.removeFirst()
        return schema
    }

    /// How many of the rows a condition holds for, where no index is.
    private func count(_ rows: [[Value]], _ condition: String) throws -> Int {
        let fixture = try Fixture(Self.bare)
        try fixture.insertAll("Task", rows)
        return try Selection(table: "Task", condition: .parse(condition)).plan(fixture.catalogue)
            .count(in: fixture.store.snapshot())
    }

    @Test(arguments: [
        ("due >", "the text ends"), ("duee > 1", "did you mean due?"),
        ("due IN (SELECT due FROM Task)", "needs more than the columns of the row"),
        ("due = (SELECT max(due) FROM Task)", "needs more than the columns of the row"),
        ("EXISTS (SELECT 1 FROM Task)", "needs more than the columns of the row"),
        ("boss.due > 1", "needs more than the columns of the row"),
        ("ANY team.due > 1", "needs more than the columns of the row"),
        ("team.@sum.due > 1", "needs more than the columns of the row"),
        ("title MATCH 'x'", "full-text index"), ("rank > 1", "MATCH"), ("count(*) > 1", "of many rows"),
    ])
    func conditionsOnOtherRowsAreRefused(condition: String, words: String) throws {
        var fixture = try Fixture()
        let error = Fixture.error { try fixture.migrate(Self.tasks(condition)) }
        guard case .incompatibleSchema("Task", let reason)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason.contains("the condition of index some cannot be used") && reason.contains(words), "\(reason)")
    }

    // MARK: Uniqueness

    /// The first index has taken the row when the second one refuses it: its entry is removed, on whichever path it was
    /// inserted.
    @Test func whatARefusedRowTookIsGivenBack() throws {
        let schema = EntitySchema(
            name: "T",
            columns: [
                ColumnSchema("owner", .text), ColumnSchema("isDone", .bool), ColumnSchema("code", .integer),
                ColumnSchema("mail", .text),
            ],
            indexes: [
                IndexSchema("open", [IndexColumn("owner")], isUnique: true, where: "isDone = FALSE"),
                IndexSchema("mail", [IndexColumn("mail")], isUnique: true),
                IndexSchema("code", [IndexColumn("code")], isUnique: true),
            ])
        let fixture = try Fixture(schema)
        try fixture.insertAll(
            "T",
            [
                [.text("Ada"), .bool(true), .integer(1), .text("a")],
                [.text("Bob"), .bool(false), .integer(2), .text("b")],
            ])
        let table = try fixture.table("T")
        let changes: [[Int: Value]] = [
            [1: .bool(false), 2: .integer(2)], [1: .bool(true), 2: .integer(2)], [0: .text("Eve"), 2: .integer(2)],
            [0: .text("Eve"), 1: .bool(false), 2: .integer(2), 3: .text("x")], [0: .text("Ada"), 2: .integer(2)],
        ]
        for values in changes {
            try fixture.store.write { tx in
                var changes = ChangeSet()
                var row = RowWriter()
                row.begin(table.layout)
                for (place, value) in values { row.set(place, value) }
                #expect(throws: RecordError.self) { try table.update(&row, key: .rowID(1), in: tx, changes: &changes) }
            }
            try fixture.expectSound()
        }
    }

    @Test func theOwnerOfARowsValues() throws {
        let fixture = try Fixture(
            EntitySchema(
                name: "T",
                columns: [
                    ColumnSchema("owner", .text, isOptional: true), ColumnSchema("isDone", .bool, isOptional: true),
                ],
                indexes: [
                    IndexSchema("open", [IndexColumn("owner")], isUnique: true, where: "isDone = FALSE"),
                    IndexSchema("plain", [IndexColumn("owner")]),
                ]))
        try fixture.insert("T", [.text("Ada"), .bool(false)])
        let table = try fixture.table("T")
        let view = try fixture.store.snapshot()
        var row = RowWriter()
        func owner(_ values: [Value], _ index: String) throws -> RowKey? {
            row.begin(table.layout)
            for (place, value) in values.enumerated() { row.set(place, value) }
            return try table.owner(of: &row, inUnique: index, view: view)
        }
        #expect(try owner([.text("Ada"), .bool(false)], "open") == .rowID(1))
        #expect(try owner([.text("Ada"), .bool(true)], "open") == nil)
        #expect(try owner([.text("Bob"), .bool(false)], "open") == nil)
        #expect(try owner([.null, .bool(false)], "open") == nil)
        #expect(try owner([.text("Ada"), .bool(false)], "plain") == nil)
        #expect(try owner([.text("Ada"), .bool(false)], "missing") == nil)
        var never = RowWriter()
        #expect(try table.owner(of: &never, inUnique: "open", view: view) == nil)
    }

    // MARK: Columns of keys

    private static let holder = EntitySchema(
        name: "Holder",
        columns: [ColumnSchema("code", .text), ColumnSchema("held", .keys, isOptional: true, target: "Holder")],
        key: .columns(["code"]), indexes: [IndexSchema("held", [IndexColumn("held")])])

    /// A row that holds bytes which are no keys: written behind the index's back.
    private static func damage(_ store: Store) throws -> RowKey {
        let table = try Catalogue.load(view: store.snapshot()).requireTable("Holder")
        var row = RowWriter()
        row.begin(table.layout)
        row.set(0, "bad")
        row.set(1, [9, 9])
        let bytes = Array(try row.finish())
        let key = RowKey(values: [.text("bad")])
        guard case .bytes(let raw) = key else { return key }
        try store.write { tx in try tx.put(bytes, for: raw, in: table.rows) }
        return key
    }

    @Test func bytesThatAreNoKeysAreErrors() throws {
        let fixture = try Fixture(Self.holder)
        let held = Value.blob(KeyTree.list([.key(RowKey(values: [.text("a")]))]).encoded)
        try fixture.insertAll("Holder", [[.text("a"), held], [.text("b"), .null]])
        let bad = try Self.damage(fixture.store)
        let table = try fixture.table("Holder")
        #expect(
            try table.verify(in: fixture.store.snapshot()) == [
                "Holder: row \(bad.text(in: table.schema)) holds no keys in held"
            ])
        func refusal(_ body: (inout RowWriter, inout ChangeSet, borrowing WriteTransaction) throws -> Void)
            -> RecordError?
        {
            Fixture.error {
                try fixture.store.write { tx in
                    var changes = ChangeSet()
                    var row = RowWriter()
                    row.begin(table.layout)
                    try body(&row, &changes, tx)
                }
            }
        }
        let damaged = RecordError.rowDamaged(
            table: "Holder", key: NamedKey(bad, in: nil), reason: "held holds bytes that are no keys")
        #expect(refusal { _, changes, tx in _ = try table.delete(bad, in: tx, changes: &changes) } == damaged)
        #expect(
            refusal { row, changes, tx in
                row.set(1, held)
                _ = try table.update(&row, key: bad, in: tx, changes: &changes)
            } == damaged)
        var bare = Self.holder
        bare.indexes[0].name = "other"
        let wanted = bare
        let building = Fixture.error {
            try fixture.store.write { tx in _ = try Catalogue.migrate(to: wanted, in: tx) }
        }
        #expect(building == damaged)
    }
}
