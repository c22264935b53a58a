import MakoStorage
import Testing

@testable import MakoRecords

@Suite struct MigrationTests {
    private static let first = EntitySchema(
        name: "P", columns: [ColumnSchema("name", .text), ColumnSchema("age", .text)],
        indexes: [IndexSchema("P.age", [IndexColumn("age")])])

    private func fixture() throws -> Fixture {
        let fixture = try Fixture(Self.first)
        try fixture.insertAll("P", [[.text("a"), .text("30")], [.text("b"), .text("31")]])
        return fixture
    }

    @Test func theCatalogueComesBack() throws {
        let schema = EntitySchema(
            name: "Q",
            columns: [
                ColumnSchema("a", .text, isOptional: true, default: .text("x")),
                ColumnSchema("b", .uuid, default: .uuid(1, 2)),
                ColumnSchema("c", .reference, isOptional: true, target: "P"),
                ColumnSchema("d", .blob, default: .blob([1, 2])),
                ColumnSchema("e", .double, default: .double(1.5)),
                ColumnSchema("f", .unsigned, default: .unsigned(.max)),
                ColumnSchema("g", .date, default: .date(5)), ColumnSchema("h", .bool, default: .bool(true)),
            ],
            key: .columns(["b"]),
            indexes: [
                IndexSchema("i", [IndexColumn("a", descending: true, noCase: true), IndexColumn("f")], isUnique: true)
            ])
        let fixture = try Fixture(schema, Self.first)
        let loaded = try Catalogue.load(view: fixture.store.snapshot())
        #expect(loaded.tables.map(\.name) == ["P", "Q"])
        let back = try loaded.requireTable("Q").schema
        #expect(back.columns.map(\.name) == schema.columns.map(\.name))
        #expect(back.columns.map(\.type) == schema.columns.map(\.type))
        #expect(back.columns.map(\.defaultValue) == schema.columns.map(\.defaultValue))
        #expect(back.columns.map(\.ordinal) == Array(0..<8))
        #expect(back.key == schema.key && back.indexes == schema.indexes && back.version == 1)
        #expect(try Catalogue.plan(to: schema, view: fixture.store.snapshot()).isEmpty)
    }

    @Test func damagedCatalogueEntriesAreErrors() throws {
        let fixture = try fixture()
        let view = try fixture.store.snapshot()
        let record = try StoredCatalogue.records(in: view)[0]
        let bytes = record.encoded()
        #expect(try TableRecord(name: "P", bytes: bytes) == record)
        var random = Seeded(4)
        for place in bytes.indices {
            for _ in 0..<4 {
                var damaged = bytes
                damaged[place] = UInt8(truncatingIfNeeded: random.next())
                do { _ = try TableRecord(name: "P", bytes: damaged) } catch {
                    #expect("\(error)".contains("catalogue"))
                }
            }
            #expect(throws: RecordError.self) { _ = try TableRecord(name: "P", bytes: Array(bytes[..<place])) }
        }
    }

    /// An older program takes no INSERT for one that begins with the id.
    @Test func hiddenIDsHaveAFormatOfTheirOwn() throws {
        var column = ColumnSchema("a", .integer)
        column.ordinal = 0
        var schema = EntitySchema(name: "T", columns: [column])
        func record() -> TableRecord {
            TableRecord(id: 1, schema: schema, columns: schema.columns, indexes: [], nextIndexID: 1)
        }
        #expect(record().encoded()[0] == 1)
        schema.hidesID = true
        let bytes = record().encoded()
        #expect(bytes[0] == 3)
        #expect(try TableRecord(name: "T", bytes: bytes).schema.hidesID)
    }

    /// A row's header counts its columns in two bytes, those that were given up included.
    @Test func aRecordOfMoreColumnsThanARowCanHaveIsDamaged() throws {
        var record = try #require(try StoredCatalogue.records(in: fixture().store.snapshot()).first)
        for ordinal in record.columns.count..<65_535 {
            if ordinal == 65_534 { _ = try TableRecord(name: "P", bytes: record.encoded()) }
            var gone = ColumnSchema("", .bool)
            gone.isRetired = true
            gone.ordinal = ordinal
            record.columns.append(gone)
        }
        let bytes = record.encoded()
        let error = Fixture.error { _ = try TableRecord(name: "P", bytes: bytes) }
        guard case .catalogueDamaged = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func addedColumnsFillInWithoutRewriting() throws {
        var fixture = try fixture()
        var wanted = Self.first
        wanted.columns.insert(ColumnSchema("size", .double, default: .double(1.5)), at: 0)
        wanted.indexes.append(IndexSchema("P.size", [IndexColumn("size"), IndexColumn("name", descending: true)]))
        let plan = try Catalogue.plan(to: wanted, view: fixture.store.snapshot())
        let report = try fixture.migrate(wanted)
        #expect(report == plan)
        #expect(report.steps == [.addColumn("size"), .addIndex("P.size")])
        #expect(report.rows == 2)
        #expect(try fixture.values("P", .rowID(1)) == [.double(1.5), .text("a"), .text("30")])
        try fixture.expectSound()
        // A new default is for new rows only.
        wanted.columns[0].defaultValue = .double(9)
        #expect(try fixture.migrate(wanted).steps == [.changeColumnRules("size")])
        #expect(try fixture.values("P", .rowID(1)) == [.double(1.5), .text("a"), .text("30")])
        let key = try fixture.store.write { [table = try fixture.table("P")] tx in
            var changes = ChangeSet()
            var row = RowWriter()
            row.begin(try table.layout(for: ["name", "age"]))
            row.set(0, "c")
            row.set(1, "5")
            return try table.insert(&row, in: tx, changes: &changes)
        }
        #expect(try fixture.values("P", key)?[0] == .double(9))
        try fixture.expectSound()
        #expect(try fixture.migrate(wanted).isEmpty)
    }

    /// An editor that normalises a source file changes the bytes of a name, and the table stays the same one.
    @Test func aNameInAnotherCompositionIsTheSame() throws {
        let (composed, decomposed) = ("Caf\u{e9}", "Cafe\u{301}")
        func schema(_ name: String, _ columns: String...) -> EntitySchema {
            EntitySchema(
                name: name,
                columns: columns.map { ColumnSchema($0, .integer, isOptional: true) } + [
                    ColumnSchema("next", .reference, isOptional: true, target: name)
                ])
        }
        var fixture = try Fixture(schema(composed, "a"))
        try fixture.migrate(schema(decomposed, "a", "b"))
        try fixture.migrate(schema(decomposed, "a", "b", "c"))
        try fixture.store.write { tx in
            let catalogue = try Catalogue.load(view: tx.view)
            var rules = ReferenceRules()
            rules.set(.init(.cascade, isOwned: false), table: decomposed, column: "next", target: decomposed)
            let adopted = try catalogue.adopting(rules, in: tx)
            #expect(try adopted.deleteRules(of: "next", in: adopted.requireTable(composed).schema) == "cascade")
        }
        let entries = try StoredCatalogue.entries(in: fixture.store.snapshot())
        #expect(entries.map { Array($0.name.utf8) } == [Array(composed.utf8)])
        try fixture.expectSound()
        let isDropped = try fixture.store.write { tx in try Catalogue.dropTable(decomposed, in: tx) }
        let view = try fixture.store.snapshot()
        #expect(isDropped)
        #expect(try StoredCatalogue.entries(in: view).isEmpty)
        #expect(try ReferenceRules.stored(in: view).isEmpty)
    }

    /// A key of one table means nothing in another one.
    @Test func aReferenceDoesNotChangeToAnotherTableWithItsValues() throws {
        func table(_ name: String) -> EntitySchema { EntitySchema(name: name, columns: [ColumnSchema("x", .integer)]) }
        func holder(_ target: String) -> EntitySchema {
            EntitySchema(
                name: "Holder",
                columns: [
                    ColumnSchema("pet", .reference, isOptional: true, target: target),
                    ColumnSchema("pets", .keys, isOptional: true, target: target),
                ], indexes: [IndexSchema("pets", [IndexColumn("pets")])])
        }
        let list = Value.blob(KeyTree.list([.key(.rowID(1))]).encoded)
        for (row, name) in [([Value.integer(1), .null], "pet"), ([.null, list], "pets")] {
            var fixture = try Fixture(table("Dog"), table("Cat"), holder("Dog"))
            try fixture.insertAll("Dog", [[.integer(7)]])
            try fixture.insertAll("Cat", [[.integer(8)]])
            try fixture.insertAll("Holder", [[.null, .null], row])
            let view = try fixture.store.snapshot()
            let error = Fixture.error { try fixture.migrate(holder("Cat")) }
            #expect("\(String(describing: error))".contains("\(name) has keys of rows of Dog, which are none of Cat"))
            let survey = try #require(try Catalogue.survey([TableMigration(holder("Cat"))], view: view).first)
            #expect("\(String(describing: survey.refusal))".contains("another name"))
            // A target that is renamed is the same.
            let renamed = [
                TableMigration(holder("Hound")),
                TableMigration(table("Hound")) { from in (from < 1 ? [.renameTable(from: "Dog")] : [], 1) },
            ]
            #expect(try Catalogue.survey(renamed, view: view).allSatisfy { $0.refusal == nil })
            try fixture.store.write { tx in _ = try Catalogue.migrate(renamed, in: tx) }
            let catalogue = try Catalogue.load(view: fixture.store.snapshot())
            #expect(try catalogue.requireTable("Holder").schema.column(named: name)?.target == "Hound")
        }
        var fixture = try Fixture(table("Dog"), table("Cat"), holder("Dog"))
        try fixture.insertAll("Holder", [[.null, .null], [.null, .blob(KeyTree.list([]).encoded)]])
        #expect(try fixture.migrate(holder("Cat")).steps == [.changeColumnRules("pet"), .changeColumnRules("pets")])
        try fixture.expectSound()
    }

    @Test func retiredColumnsKeepTheirBytes() throws {
        var fixture = try fixture()
        var narrow = Self.first
        narrow.columns.removeLast()
        narrow.indexes = []
        #expect(try fixture.migrate(narrow).steps == [.retireColumn("age"), .dropIndex("P.age")])
        #expect(try fixture.table("P").schema.retiredColumns.map(\.name) == ["age"])
        // A row that is rewritten meanwhile keeps the hidden column.
        let table = try fixture.table("P")
        try fixture.store.write { tx in
            var changes = ChangeSet()
            var row = RowWriter()
            row.begin(table.layout)
            row.set(0, "changed")
            try table.put(&row, key: .rowID(1), in: tx, changes: &changes)
        }
        #expect(try fixture.migrate(Self.first).steps == [.restoreColumn("age"), .addIndex("P.age")])
        #expect(try fixture.values("P", .rowID(1)) == [.text("changed"), .text("30")])
        try fixture.expectSound()
        #expect(try fixture.migrate(narrow, dropsRetired: true).steps.contains(.removeColumn("age")))
        var again = Self.first
        again.columns[1].defaultValue = .text("new")
        #expect(try fixture.migrate(again).steps == [.addColumn("age"), .addIndex("P.age")])
        #expect(try fixture.values("P", .rowID(1)) == [.text("changed"), .text("new")])
        #expect(try fixture.table("P").schema.column(named: "age")?.ordinal == 2)
        try fixture.expectSound()
        // A column that was retired before goes too, from a table that is as declared.
        #expect(try fixture.migrate(narrow).steps.contains(.retireColumn("age")))
        #expect(try fixture.migrate(narrow, dropsRetired: true).steps.contains(.removeColumn("age")))
        try fixture.expectSound()
    }

    @Test func typesAreConvertedWhereEveryValueFits() throws {
        var fixture = try fixture()
        var wanted = Self.first
        wanted.columns[1].type = .integer
        let report = try fixture.migrate(wanted)
        #expect(
            report.steps == [.changeColumn("age", from: .text, to: .integer), .addIndex("P.age"), .dropIndex("P.age")])
        #expect(try fixture.values("P", .rowID(2)) == [.text("b"), .integer(31)])
        try fixture.expectSound()
        wanted.columns[0].type = .integer
        let error = #expect(throws: RecordError.self) { try fixture.migrate(wanted) }
        #expect(
            error
                == .conversionFailed(
                    table: "P", column: "name", rows: [.rowID(1), .rowID(2)],
                    reason: "a text such as 'a' does not become an integer"))
        #expect(error?.description.contains("(rows 1, 2)") == true)
        let one = RecordError.conversionFailed(table: "P", column: "name", rows: [.rowID(2)], reason: "it is old")
        #expect(one.description.contains("(row 2)"))
    }

    @Test func rowsThatCannotBeConvertedAreNamedWhereOthersCould() throws {
        var fixture = try fixture()
        try fixture.insertAll(
            "P", [[.text("c"), .text("old")], [.text("d"), .text("32")], [.text("e"), .text("?")]])
        var wanted = Self.first
        wanted.columns[1].type = .integer
        let error = #expect(throws: RecordError.self) { try fixture.migrate(wanted) }
        #expect(
            error
                == .conversionFailed(
                    table: "P", column: "age", rows: [.rowID(3), .rowID(5)],
                    reason: "a text such as 'old' does not become an integer"))
    }

    @Test func aColumnMayTakeTheNameOfARetiredOne() throws {
        var fixture = try fixture()
        var narrow = Self.first
        narrow.columns = [ColumnSchema("years", .text, originalName: "age")]
        narrow.indexes = []
        try fixture.migrate(narrow)
        // "name" is retired, and "years" is called so now.
        var renamed = narrow
        renamed.columns = [ColumnSchema("name", .text, originalName: "years")]
        #expect(try fixture.migrate(renamed).steps == [.renameColumn(from: "years", to: "name")])
        #expect(try fixture.values("P", .rowID(1)) == [.text("30")])
        // Repeating it is no change: the retired column must not be mistaken for it.
        #expect(try fixture.migrate(renamed).isEmpty)
        renamed.columns.append(ColumnSchema("size", .integer, default: .integer(1)))
        #expect(try fixture.migrate(renamed).steps == [.addColumn("size")])
        #expect(try fixture.values("P", .rowID(1)) == [.text("30"), .integer(1)])
    }

    @Test func namesChangeWithoutTouchingRows() throws {
        var fixture = try fixture()
        var wanted = Self.first
        wanted.columns[0] = ColumnSchema("fullName", .text, originalName: "name")
        wanted.name = "Person"
        wanted.originalName = "P"
        #expect(
            try fixture.migrate(wanted).steps == [
                .renameTable(from: "P", to: "Person"), .renameColumn(from: "name", to: "fullName"),
            ])
        #expect(fixture.catalogue.table(named: "P") == nil)
        #expect(try fixture.values("Person", .rowID(1)) == [.text("a"), .text("30")])
        #expect(try fixture.migrate(wanted).isEmpty)
        try fixture.expectSound()
    }

    private static func renaming(_ columns: ColumnSchema...) -> EntitySchema {
        EntitySchema(name: "P", columns: columns)
    }

    @Test func aNewColumnMayTakeTheNameThatAnotherGivesUp() throws {
        var fixture = try fixture()
        let wanted = Self.renaming(
            ColumnSchema("name", .text, default: .text("?")), ColumnSchema("age", .text),
            ColumnSchema("fullName", .text, originalName: "name"))
        #expect(
            try Set(fixture.migrate(wanted).steps)
                == [.addColumn("name"), .renameColumn(from: "name", to: "fullName"), .dropIndex("P.age")])
        #expect(try fixture.values("P", .rowID(1)) == [.text("?"), .text("30"), .text("a")])
        // The same once more is no change: the name is the new column's now.
        #expect(try fixture.migrate(wanted).isEmpty)
        try fixture.expectSound()
        // Without a value for the rows that are there it is refused, as every new column is.
        var other = try self.fixture()
        let bare = Self.renaming(
            ColumnSchema("name", .text), ColumnSchema("age", .text),
            ColumnSchema("fullName", .text, originalName: "name"))
        let refusal = #expect(throws: RecordError.self) { try other.migrate(bare) }
        #expect(try #require(refusal).description.hasSuffix("; give it a default value, or make it optional"))
        #expect(try other.values("P", .rowID(1)) == [.text("a"), .text("30")])
    }

    @Test(arguments: [[0, 1], [1, 0]]) func renamesFormAChain(_ order: [Int]) throws {
        var fixture = try fixture()
        let columns = [
            ColumnSchema("age", .text, originalName: "name"), ColumnSchema("years", .text, originalName: "age"),
        ]
        var wanted = Self.renaming(columns[order[0]], columns[order[1]])
        wanted.indexes = [IndexSchema("P.years", [IndexColumn("years")])]
        try fixture.migrate(wanted)
        let values = try #require(try fixture.values("P", .rowID(1)))
        #expect(order.map { values[$0] } == [.text("a"), .text("30")])
        #expect(try fixture.migrate(wanted).isEmpty)
        try fixture.expectSound()
    }

    @Test func originalNamesInACircleAreRefused() throws {
        var fixture = try fixture()
        let swapped = Self.renaming(
            ColumnSchema("name", .text, originalName: "age"), ColumnSchema("age", .text, originalName: "name"))
        let error = #expect(throws: RecordError.self) { try fixture.migrate(swapped) }
        #expect("\(error.map { "\($0)" } ?? "")".contains("the original names of name, age form a circle"))
        let circle = Self.renaming(
            ColumnSchema("size", .text, originalName: "c"), ColumnSchema("a", .text, originalName: "c"),
            ColumnSchema("b", .text, originalName: "a"), ColumnSchema("c", .text, originalName: "b"))
        #expect(throws: RecordError.self) { try fixture.migrate(circle) }
        // Its own name is no circle, and one that only the other column has is none either.
        try fixture.migrate(
            Self.renaming(
                ColumnSchema("name", .text, originalName: "name"), ColumnSchema("age", .text, originalName: "name")))
        #expect(try fixture.values("P", .rowID(1)) == [.text("a"), .text("30")])
    }

    @Test func oneOriginalNameOfTwoColumnsIsRefused() throws {
        var fixture = try fixture()
        let wanted = Self.renaming(
            ColumnSchema("first", .text, originalName: "name"), ColumnSchema("last", .text, originalName: "name"),
            ColumnSchema("age", .text))
        let error = #expect(throws: RecordError.self) { try fixture.migrate(wanted) }
        #expect("\(error.map { "\($0)" } ?? "")".contains("name is the original name of both first and last"))
        #expect(try fixture.values("P", .rowID(1)) == [.text("a"), .text("30")])
    }

    @Test func nullsGetADefaultWhenTheColumnStopsBeingOptional() throws {
        var schema = EntitySchema(name: "O", columns: [ColumnSchema("a", .integer, isOptional: true)])
        schema.indexes = [IndexSchema("O.a", [IndexColumn("a")])]
        var fixture = try Fixture(schema)
        try fixture.insertAll("O", [[.null], [.integer(2)]])
        schema.columns[0].isOptional = false
        let error = #expect(throws: RecordError.self) { try fixture.migrate(schema) }
        #expect("\(error.map { "\($0)" } ?? "")".contains("(row 1)"))
        schema.columns[0].defaultValue = .integer(7)
        try fixture.migrate(schema)
        #expect(try fixture.values("O", .rowID(1)) == [.integer(7)])
        #expect(try fixture.values("O", .rowID(2)) == [.integer(2)])
        try fixture.expectSound()
    }

    @Test func aUniqueIndexOverEqualRowsIsRefused() throws {
        var fixture = try Fixture(EntitySchema(name: "U", columns: [ColumnSchema("a", .text)]))
        let long = String(repeating: "y", count: 1500)
        try fixture.insertAll(
            "U", ["1", "2", long, long + "z", "x" + long, long.dropLast() + "a", long + "a"].map { [.text($0)] })
        let unique = EntitySchema(
            name: "U", columns: [ColumnSchema("a", .text)],
            indexes: [IndexSchema("u", [IndexColumn("a")], isUnique: true)])
        try fixture.migrate(unique)
        try fixture.expectSound()
        try fixture.migrate(EntitySchema(name: "U", columns: [ColumnSchema("a", .text)]))
        for (twice, noCase) in [("1", false), (long, false), (long.uppercased(), true)] {
            let key = try fixture.insert("U", [.text(twice)])
            var wanted = unique
            wanted.indexes[0].columns[0].noCase = noCase
            let error = #expect(throws: RecordError.self) { try fixture.migrate(wanted) }
            guard case .uniqueViolation(_, ["a"], [.text(noCase ? long : twice)], _) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            let table = try fixture.table("U")
            try fixture.store.write { tx in
                var changes = ChangeSet()
                try table.delete(key, in: tx, changes: &changes)
            }
        }
    }

    @Test func whatCannotBeIsRefused() throws {
        var fixture = try fixture()
        var bad = Self.first
        bad.columns.append(ColumnSchema("must", .integer))
        #expect(throws: RecordError.self) { try fixture.migrate(bad) }
        bad = Self.first
        bad.key = .columns(["nope"])
        #expect(throws: RecordError.self) { try fixture.migrate(bad) }
        bad = Self.first
        bad.columns.append(ColumnSchema("id", .integer, default: .integer(1)))
        #expect(throws: RecordError.self) { try fixture.migrate(bad) }
        bad = Self.first
        bad.indexes.append(IndexSchema("x", [IndexColumn("nope")]))
        #expect(throws: RecordError.self) { try fixture.migrate(bad) }
        #expect(try fixture.migrate(Self.first).isEmpty)
    }

    @Test func droppedTablesAreGone() throws {
        let fixture = try fixture()
        let trees = try fixture.store.snapshot().trees.count
        try fixture.store.write { tx in
            let first = try Catalogue.dropTable("P", in: tx)
            let second = try Catalogue.dropTable("P", in: tx)
            #expect(first && !second)
        }
        let view = try fixture.store.snapshot()
        #expect(try Catalogue.load(view: view).tables.isEmpty)
        #expect(view.trees.count == trees - 2)
    }
}
