import MakoStorage
import Testing

@testable import MakoRecords

/// Changes of a table's key, and differences of tables between two moments.
@Suite struct TableKeyTests {
    private static func schema(
        _ name: String, _ key: KeySchema = .rowID(column: "id"), _ columns: ColumnSchema...
    ) -> EntitySchema {
        EntitySchema(name: name, columns: columns, key: key)
    }

    private static let name = ColumnSchema("name", .text)

    private func request(_ schema: EntitySchema, _ steps: TableStep...) -> TableMigration {
        TableMigration(schema) { from in from < 1 ? (steps, 1) : ([], from) }
    }

    @discardableResult
    private func migrate(_ fixture: Fixture, _ requests: TableMigration...) throws -> [MigrationReport] {
        try fixture.store.write { tx in try Catalogue.migrate(requests, in: tx) }
    }

    /// The reason for which a migration is refused, as text.
    private func refusal(_ fixture: Fixture, _ requests: TableMigration...) -> String {
        Fixture.error { try fixture.store.write { tx in _ = try Catalogue.migrate(requests, in: tx) } }
            .map { "\($0)" } ?? ""
    }

    private func rows(_ fixture: Fixture, _ name: String) throws -> [RowKey: [Value]] {
        let view = try fixture.store.snapshot()
        let table = try Catalogue.load(view: view).requireTable(name)
        #expect(try table.verify(in: view) == [])
        var rows: [RowKey: [Value]] = [:]
        try table.scan(in: view) { key, row in
            rows[key] = (0..<table.layout.count).map { row.value($0) }
            return true
        }
        return rows
    }

    private static func bytes(_ values: Value...) -> RowKey { RowKey(values: values) }

    // MARK: Keys made of references

    private static func task(_ key: KeySchema = .rowID(column: "id")) -> EntitySchema {
        schema(
            "Task", key, ColumnSchema("owner", .reference, target: "Owner"),
            ColumnSchema("after", .reference, target: "Task"),
            ColumnSchema("about", .text, target: AnyReference.anyTable))
    }

    /// A reference to rows that keep their keys may be the key; one to rows whose keys change with it may not.
    @Test func aKeyMayReferToRowsThatKeepTheirs() throws {
        var fixture = try Fixture(Self.schema("Owner", .rowID(column: "id"), Self.name), Self.task())
        let about = AnyReference(table: "Owner", key: .rowID(1)).stored
        try fixture.insertAll("Task", [[.integer(5), .integer(1), about], [.integer(3), .integer(1), about]])
        let wrong = ["after", "about"]
        for column in wrong {
            let words = "its key \(column) refers to rows whose keys may change, and such keys do not follow"
            let wanted = Self.task(.columns([column]))
            #expect(refusal(fixture, TableMigration(wanted)).contains(words))
            let survey = try #require(
                try Catalogue.survey([TableMigration(wanted)], view: fixture.store.snapshot()).first)
            #expect("\(survey)".contains(words) || survey.refusal.map { "\($0)".contains(words) } == true)
            #expect(Fixture.error { try fixture.migrate(wanted) }.map { "\($0)".contains(words) } == true)
        }
        #expect(try rows(fixture, "Task").count == 2)
        try migrate(fixture, TableMigration(Self.task(.columns(["owner"]))))
        let found = try rows(fixture, "Task")
        #expect(Set(found.keys) == [Self.bytes(.integer(5)), Self.bytes(.integer(3))])
        // Both were after the first, which has the key of its owner now.
        #expect(found.values.allSatisfy { $0[1] == .integer(5) && $0[2] == about })
    }

    /// The row that a step makes has no key before it is made, and the key must be known before.
    @Test func aRowThatAStepMakesIsNoKey() throws {
        let fixture = try Fixture(
            Self.schema("A", .rowID(column: "id"), Self.name), Self.schema("Part", .rowID(column: "id"), Self.name))
        try fixture.insertAll("A", [[.text("x")], [.text("y")]])
        let link = ColumnSchema("part", .reference, target: "Part")
        let split = TableStep.split(into: "Part", linking: "part") { row in [["name": try row["name"]]] }
        let wrong = request(Self.schema("A", .columns(["part"]), Self.name, link), split)
        let words = "its key part refers to a row that a step makes"
        #expect(refusal(fixture, wrong).contains(words))
        let survey = try #require(try Catalogue.survey([wrong], view: fixture.store.snapshot()).first)
        #expect(survey.steps.last?.failures == 2)
        #expect(survey.steps.last?.example?.contains(words) == true)
        // Another column may be the key, and the rows made are made once.
        let wanted = Self.schema("A", .columns(["code"]), Self.name, link, ColumnSchema("code", .text))
        try migrate(fixture, request(wanted, split, .compute("code", .text) { .text("c\($0.key)") }))
        #expect(
            try rows(fixture, "A") == [
                Self.bytes(.text("c1")): [.text("x"), .integer(1), .text("c1")],
                Self.bytes(.text("c2")): [.text("y"), .integer(2), .text("c2")],
            ])
        #expect(try rows(fixture, "Part") == [.rowID(1): [.text("x")], .rowID(2): [.text("y")]])
    }

    // MARK: Ids that a column takes

    @Test func idsThatDoNotFitTheColumnThatTakesThem() throws {
        let fixture = try Fixture(Self.schema("A", .rowID(column: "id"), Self.name))
        try fixture.insertAll("A", [[.text("x")], [.text("y")]])
        let wrong = Self.schema("A", .columns(["name"]), Self.name, ColumnSchema("id", .uuid))
        #expect(refusal(fixture, TableMigration(wrong)).contains("an id such as 1 does not become a uuid"))
        #expect(try rows(fixture, "A").count == 2)
        // And one that does, with a step that comes before.
        let wanted = Self.schema(
            "A", .columns(["id"]), Self.name, ColumnSchema("id", .text), ColumnSchema("more", .text))
        try migrate(
            fixture, request(wanted, .compute("more", .text) { .text("\(try $0["id"])" + "\(try $0["name"])") }))
        #expect(
            try rows(fixture, "A") == [
                Self.bytes(.text("1")): [.text("x"), .text("1"), .text("1'x'")],
                Self.bytes(.text("2")): [.text("y"), .text("2"), .text("2'y'")],
            ])
    }

    /// A stored reference that is not an id refers to no row, and becomes NULL when the rows get other keys.
    @Test func aReferenceThatHoldsNoIDLeadsNowhere() throws {
        let fixture = try Fixture(
            Self.schema("A", .rowID(column: "id"), Self.name),
            Self.schema("Holder", .rowID(column: "id"), ColumnSchema("a", .text, isOptional: true, target: "A")))
        try fixture.insert("A", [.text("x")])
        try fixture.insertAll("Holder", [[.text("x")], [.null]])
        try migrate(fixture, TableMigration(Self.schema("A", .columns(["name"]), Self.name)))
        #expect(try rows(fixture, "Holder") == [.rowID(1): [.null], .rowID(2): [.null]])
    }

    // MARK: Tables that are merged

    /// The rows that come in get ids behind those that the own ones have got.
    @Test func aTableGetsIdsAndTheRowsOfAnother() throws {
        let fixture = try Fixture(
            Self.schema("A", .columns(["name"]), Self.name), Self.schema("B", .rowID(column: "id"), Self.name),
            Self.schema(
                "Holder", .rowID(column: "id"), ColumnSchema("a", .text, isOptional: true, target: "A"),
                ColumnSchema("b", .reference, isOptional: true, target: "B")))
        try fixture.insertAll("A", [[.text("y")], [.text("x")]])
        try fixture.insertAll("B", [[.text("p")], [.text("q")]])
        try fixture.insert("Holder", [.text("y"), .integer(2)])
        try migrate(fixture, request(Self.schema("A", .rowID(column: "id"), Self.name), .merge(from: "B", nil)))
        #expect(
            try rows(fixture, "A") == [
                .rowID(1): [.text("x")], .rowID(2): [.text("y")], .rowID(3): [.text("p")], .rowID(4): [.text("q")],
            ])
        #expect(try rows(fixture, "Holder") == [.rowID(1): [.integer(2), .integer(4)]])
    }

    /// A table whose rows were moved starts empty, with any key.
    @Test func aTableThatIsEmptiedMayHaveAnotherKey() throws {
        let fixture = try Fixture(
            Self.schema("A", .rowID(column: "id"), Self.name), Self.schema("B", .rowID(column: "id"), Self.name))
        try fixture.insertAll("A", [[.text("x")], [.text("y")]])
        try fixture.insert("B", [.text("p")])
        let new = Self.schema("A", .columns(["name"]), Self.name)
        let (first, second) = (
            TableMigration(new), request(Self.schema("B", .rowID(column: "id"), Self.name), .merge(from: "A", nil))
        )
        try migrate(fixture, first, second)
        #expect(
            try rows(fixture, "B") == [.rowID(1): [.text("p")], .rowID(2): [.text("x")], .rowID(3): [.text("y")]])
        #expect(try rows(fixture, "A").isEmpty)
        #expect(try Catalogue.load(view: fixture.store.snapshot()).requireTable("A").schema.key == new.key)
    }

    // MARK: Limits and damage

    @Test func aTableThatHasHadTooManyColumns() throws {
        let schema = Self.schema("A", .rowID(column: "id"), Self.name)
        let fixture = try Fixture(schema)
        try fixture.store.write { tx in
            var record = try #require(try StoredCatalogue.records(in: tx.view).first)
            while record.columns.count < 59_999 {
                var dead = ColumnSchema("", .bool)
                dead.ordinal = record.columns.count
                dead.isRetired = true
                record.columns.append(dead)
            }
            try StoredCatalogue.store(record, try StoredCatalogue.trees(tx).catalogue, tx)
        }
        var wanted = schema
        wanted.columns.append(ColumnSchema("more", .text, isOptional: true))
        let view = try fixture.store.snapshot()
        let error = Fixture.error { _ = try Catalogue.plan(to: wanted, view: view) }
        #expect(
            error
                == .incompatibleSchema(table: "A", reason: "it has had 60000 columns; copy it into a new table"))
        #expect(try Catalogue.plan(to: schema, view: view).isEmpty)
    }

    /// A plan of a catalogue counts 0 rows where they are missing; an operation that needs them fails.
    @Test func aTableWhoseRowsAreMissingHasNone() throws {
        let schema = Self.schema("A", .rowID(column: "id"), Self.name)
        let fixture = try Fixture(schema)
        try fixture.insert("A", [.text("x")])
        try fixture.store.write { tx in
            let record = try #require(try StoredCatalogue.records(in: tx.view).first)
            try tx.dropTree(try #require(tx.view.tree(named: record.rowsTree)))
        }
        var wanted = schema
        wanted.columns.append(ColumnSchema("more", .text, isOptional: true))
        let plan = try Catalogue.plan(to: wanted, view: fixture.store.snapshot())
        #expect("\(plan)" == "A (0 rows): add column more")
        #expect(
            Fixture.error { _ = try Catalogue.load(view: fixture.store.snapshot()) }
                == .catalogueDamaged(reason: "the rows of table A are missing"))
    }

    // MARK: Two moments

    @Test func databasesWithoutTablesAreTheSame() throws {
        let store = try Store.inMemory()
        let empty = try store.snapshot()
        #expect(try Catalogue.isSame(empty, store.snapshot()))
        try store.write { tx in _ = try Catalogue.migrate(to: Self.task(), in: tx) }
        #expect(try !Catalogue.isSame(empty, store.snapshot()))
        #expect(try !Catalogue.isSame(store.snapshot(), empty))
        #expect(try Catalogue.isSame(store.snapshot(), store.snapshot()))
    }

    /// A row that was rewritten with its values, in the current form of rows, has not changed.
    @Test func aRowInAnotherFormHasNotChanged() throws {
        var fixture = try Fixture(Self.schema("A", .rowID(column: "id"), Self.name))
        try fixture.insertAll("A", [[.text("x")], [.text("y")]])
        try fixture.migrate(
            Self.schema("A", .rowID(column: "id"), Self.name, ColumnSchema("size", .integer, default: .integer(7))))
        let table = try fixture.table("A")
        let before = try fixture.store.snapshot()
        func update(_ name: String, _ id: Int64) throws {
            try fixture.store.write { tx in
                var changes = ChangeSet()
                var row = RowWriter()
                row.begin(table.layout)
                row.set(0, .text(name))
                row.set(1, .integer(7))
                _ = try table.update(&row, key: .rowID(id), in: tx, changes: &changes)
            }
        }
        try update("z", 1)
        try update("x", 1)
        try update("w", 2)
        var notified = ChangeSet()
        let after = try fixture.store.snapshot()
        #expect(try notified.addDifferences(of: table, from: before, to: after, limit: 1))
        #expect(notified.changes.map(\.key) == [.rowID(2)])
        #expect(notified.changes.first?.changedColumns.names(in: table.schema) == ["name"])
    }

    @Test func aRowThatCameAndWentIsNoChangeOfItsTable() throws {
        let fixture = try Fixture(Self.schema("A", .rowID(column: "id"), Self.name))
        let table = try fixture.table("A")
        var changes = ChangeSet()
        try fixture.store.write { tx in
            var row = RowWriter()
            row.begin(table.layout)
            row.set(0, .text("x"))
            let key = try table.insert(&row, in: tx, changes: &changes)
            #expect(changes.changes(of: "A") != nil)
            _ = try table.delete(key, in: tx, changes: &changes)
        }
        #expect(changes.tableNames == ["A"])
        #expect(changes.changes(of: "A") == nil)
        #expect(changes.changes(of: "B") == nil)
    }

    @Test func columnsOfASetAreListedInOrder() {
        var set = ColumnSet()
        for ordinal in [130, 3, 64, 0] { set.insert(ordinal) }
        #expect(set.ordinals == [0, 3, 64, 130])
        #expect(ColumnSet.all.ordinals == [])
    }
}
