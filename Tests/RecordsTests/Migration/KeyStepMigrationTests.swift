import MakoRecords
import MakoStorage
import MakoTestSupport
import Testing

/// Changes of keys together with manual steps, and the survey of them.
@Suite struct KeyStepMigrationTests {
    private static let plain = EntitySchema(
        name: "A",
        columns: [ColumnSchema("name", .text), ColumnSchema("next", .reference, isOptional: true, target: "A")],
        indexes: [IndexSchema("next", [IndexColumn("next")])])

    private static func keyed(_ type: ColumnType = .text, _ name: String = "A") -> EntitySchema {
        EntitySchema(
            name: name,
            columns: [
                ColumnSchema("name", .text), ColumnSchema("next", type, isOptional: true, target: name),
                ColumnSchema("code", type),
            ], key: .columns(["code"]), indexes: [IndexSchema("next", [IndexColumn("next")])])
    }

    private static func holder(_ type: ColumnType) -> EntitySchema {
        EntitySchema(
            name: "Holder",
            columns: [
                ColumnSchema("a", type, isOptional: true, target: "A"),
                ColumnSchema("b", .text, isOptional: true, target: "B"),
            ], indexes: [IndexSchema("a", [IndexColumn("a")]), IndexSchema("b", [IndexColumn("b")])])
    }

    private func fixture() throws -> Fixture {
        let fixture = try Fixture(Self.plain, Self.holder(.reference))
        try fixture.insertAll("A", [[.text("x"), .integer(2)], [.text("y"), .null], [.text("z"), .integer(7)]])
        try fixture.insertAll("Holder", [[.integer(2), .null], [.integer(9), .null]])
        return fixture
    }

    private func request(
        _ schema: EntitySchema, version: UInt64 = 1, _ steps: TableStep...
    ) -> TableMigration {
        TableMigration(schema) { from in from < version ? (steps, version) : ([], max(from, version)) }
    }

    @discardableResult
    private func migrate(_ fixture: Fixture, _ requests: TableMigration...) throws -> [MigrationReport] {
        try fixture.store.write { tx in try Catalogue.migrate(requests, previous: fixture.catalogue, in: tx) }
    }

    private func rows(_ fixture: Fixture, _ name: String) throws -> [[Value]] {
        let view = try fixture.store.snapshot()
        let table = try Catalogue.load(view: view).requireTable(name)
        #expect(try table.verify(in: view) == [])
        var rows: [[Value]] = []
        try table.scan(in: view) { key, row in
            rows.append((0..<table.layout.count).map { row.value($0) })
            if let code = table.layout.position(of: "code"), key.rowID == nil {
                #expect(key == RowKey(values: [row.value(code)]))
            }
            return true
        }
        return rows
    }

    /// The closure is called twice; its first result counts.
    @Test func aComputedKeyIsDrawnOnce() throws {
        let fixture = try fixture()
        var drawn: UInt64 = 10
        let reports = try migrate(
            fixture,
            request(
                Self.keyed(.uuid),
                .compute("code", .uuid) { row in
                    drawn += 1
                    return .uuid(1, drawn)
                }))
        #expect(
            reports.map(\.description) == [
                "A (3 rows): have column next refer to the new keys of A, compute code, change the key from id to code",
                "Holder (2 rows): have column a refer to the new keys of A",
            ])
        #expect(drawn == 16)
        #expect(
            try rows(fixture, "A") == [
                [.text("x"), .uuid(1, 12), .uuid(1, 11)], [.text("y"), .null, .uuid(1, 12)],
                [.text("z"), .null, .uuid(1, 13)],
            ])
        #expect(try rows(fixture, "Holder") == [[.uuid(1, 12), .null], [.null, .null]])
    }

    /// A column may take the name that the ids had.
    @Test func aKeyIsComputedUnderTheNameOfTheId() throws {
        let fixture = try fixture()
        var wanted = Self.keyed()
        wanted.columns[2].name = "id"
        wanted.key = .columns(["id"])
        try migrate(fixture, request(wanted, .compute("id", .text) { .text("n\(try $0["id"])") }))
        #expect(
            try rows(fixture, "A") == [
                [.text("x"), .text("n2"), .text("n1")], [.text("y"), .null, .text("n2")],
                [.text("z"), .null, .text("n3")],
            ])
        #expect(try rows(fixture, "Holder") == [[.text("n2"), .null], [.null, .null]])
    }

    @Test func aTransformedKeyIsFollowed() throws {
        let fixture = try Fixture(Self.keyed(), Self.holder(.text))
        try fixture.insertAll("A", [[.text("x"), .text("b"), .text("a")], [.text("y"), .text("?"), .text("b")]])
        try fixture.insert("Holder", [.text("b"), .null])
        try migrate(
            fixture,
            request(
                Self.keyed(),
                .transform("code", nil) { if case .text(let text) = $0 { .text(text.uppercased()) } else { $0 } }))
        #expect(try rows(fixture, "A") == [[.text("x"), .text("B"), .text("A")], [.text("y"), .null, .text("B")]])
        #expect(try rows(fixture, "Holder") == [[.text("B"), .null]])
        let error = Fixture.error {
            try migrate(fixture, request(Self.keyed(), version: 2, .transform("code", nil) { _ in .text("one") }))
        }
        #expect(
            error
                == .duplicateKey(
                    table: "A", key: RowKey(values: [.text("one")]), columns: ["code"], values: [.text("one")]))
    }

    /// The rows of another table come in after the own ones have their keys, and the version stays with the table.
    @Test func rowsAreMergedIntoATableWithAnotherKey() throws {
        let fixture = try fixture()
        try fixture.store.write { tx in
            _ = try Catalogue.migrate(to: Self.keyed(.text, "B"), in: tx)
            let table = try Catalogue.load(view: tx.view).requireTable("B")
            var changes = ChangeSet()
            var row = RowWriter()
            row.begin(table.layout)
            for (place, value) in [Value.text("other"), .null, .text("q")].enumerated() { row.set(place, value) }
            try table.insert(&row, in: tx, changes: &changes)
            let holder = try Catalogue.load(view: tx.view).requireTable("Holder")
            row.begin(try holder.layout(for: ["b"]))
            row.set(0, .text("q"))
            _ = try holder.update(&row, key: .rowID(1), in: tx, changes: &changes)
        }
        var wanted = Self.keyed()
        wanted.columns[1].originalName = nil
        try migrate(
            fixture,
            request(
                wanted, .compute("code", .text) { try .text("c\($0.key)" + "\($0["name"])") },
                .merge(from: "B", nil)))
        let names = try rows(fixture, "A").map { $0[0] }
        #expect(names == [.text("x"), .text("y"), .text("z"), .text("other")])
        #expect(try rows(fixture, "Holder") == [[.text("c2'y'"), .text("q")], [.null, .null]])
        // Another key once more, without a further step.
        var ids = wanted
        ids.key = .rowID(column: "id")
        ids.columns[1] = ColumnSchema("next", .reference, isOptional: true, target: "A")
        try migrate(fixture, request(ids))
        #expect(try rows(fixture, "Holder")[0][0] == .integer(2))
        let error = Fixture.error { try migrate(fixture, TableMigration(ids)) }
        #expect("\(try #require(error))".contains("version 1"))
    }

    @Test func aTableGetsAnotherNameAndAnotherKey() throws {
        let fixture = try fixture()
        try migrate(
            fixture,
            request(
                Self.keyed(.text, "New"), .renameTable(from: "A"), .compute("code", .text) { try $0["name"] }))
        #expect(
            try rows(fixture, "New") == [
                [.text("x"), .text("y"), .text("x")], [.text("y"), .null, .text("y")], [.text("z"), .null, .text("z")],
            ])
        #expect(try rows(fixture, "Holder") == [[.text("y"), .null], [.null, .null]])
        let catalogue = try Catalogue.load(view: fixture.store.snapshot())
        #expect(catalogue.tables.map(\.name) == ["Holder", "New"])
        #expect(catalogue.table(named: "Holder")?.schema.column(named: "a")?.target == "New")
    }

    // MARK: Beforehand

    @Test func aSurveySaysWhatWouldBe() throws {
        let fixture = try fixture()
        let view = try fixture.store.snapshot()
        let good = request(Self.keyed(), .compute("code", .text) { try $0["name"] })
        let surveys = try Catalogue.survey([good], view: view)
        #expect(surveys.map(\.table) == ["A", "Holder"])
        #expect(
            surveys.map { $0.steps.map { "\($0.step): \($0.rows), \($0.failures)" } } == [
                [
                    "have column next refer to the new keys of A: 0, 0", "compute code: 3, 0",
                    "change the key from id to code: 3, 0",
                ], ["have column a refer to the new keys of A: 0, 0"],
            ])
        let bad = request(
            Self.keyed(), .compute("code", .text) { row in try row["next"].isNull ? .text("n") : .text("same") })
        let steps = try #require(
            try Catalogue.survey([bad, TableMigration(Self.holder(.text))], view: view).first?.steps)
        #expect(steps.last?.failures == 1)
        #expect(steps.last?.example == "A has a row with key code = 'same' already")
        #expect(try rows(fixture, "A").count == 3)
        let notified = try Catalogue.survey([good, TableMigration(Self.holder(.text))], view: view)
        #expect(notified.last?.steps.map { "\($0.step)" } == ["have column a refer to the new keys of A"])
        let reports = try migrate(fixture, good, TableMigration(Self.holder(.text)))
        #expect(reports.map(\.steps) == notified.map { $0.steps.map(\.step) })
    }

    @Test func progressCountsAllRows() throws {
        var fixture = try fixture()
        try fixture.insertAll("A", (0..<5000).map { [.text("\($0)"), .null] })
        try fixture.insertAll("Holder", (0..<5000).map { [.integer(Int64($0)), .null] })
        var notified: [MigratedRows] = []
        try fixture.store.write { tx in
            _ = try Catalogue.migrate(
                [request(Self.keyed(), .compute("code", .text) { try $0["name"] })], progress: { notified.append($0) },
                in: tx)
        }
        #expect(notified.contains { $0.table == "Holder" && $0.done == 5002 && $0.total == 5002 })
        let last = try #require(notified.last)
        #expect(last.table == "A" && last.done == 5003 && last.total == 5003)
        fixture = try self.fixture()
        try fixture.expectSound()
    }
}
