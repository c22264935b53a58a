import MakoRecords
import MakoStorage
import Testing

/// Steps by hand that bear on each other, on tables that are not there yet, and on rows that come from other tables.
@Suite struct StepOrderTests {
    private static func schema(_ name: String, _ columns: ColumnSchema...) -> EntitySchema {
        EntitySchema(name: name, columns: columns)
    }

    private static let p = schema("P", ColumnSchema("name", .text), ColumnSchema("size", .integer))

    private func fixture() throws -> Fixture {
        let fixture = try Fixture(
            Self.p, Self.schema("Q", ColumnSchema("name", .text), ColumnSchema("size", .integer)),
            Self.schema("R", ColumnSchema("word", .text)))
        try fixture.insertAll("P", [[.text("a"), .integer(1)], [.text("b"), .integer(2)]])
        try fixture.insertAll("Q", [[.text("q"), .integer(9)]])
        return fixture
    }

    @discardableResult
    private func migrate(_ store: Store, _ schema: EntitySchema, _ steps: TableStep...) throws -> [MigrationStep] {
        let request = TableMigration(schema) { from in from < 1 ? (steps, 1) : ([], from) }
        let surveys = try Catalogue.survey([request], view: store.snapshot())
        let report = try store.write { tx in try #require(try Catalogue.migrate([request], in: tx).first) }
        // The migration does what the survey announced.
        #expect(surveys.map(\.refusal) == [nil])
        #expect(surveys.first?.steps.map(\.step) == report.steps)
        #expect(surveys.first?.steps.allSatisfy { $0.failures == 0 } == true)
        return report.steps
    }

    private func rows(_ store: Store, _ name: String) throws -> [RowKey: [Value]] {
        let view = try store.snapshot()
        let table = try Catalogue.load(view: view).requireTable(name)
        #expect(try table.verify(in: view) == [])
        var rows: [RowKey: [Value]] = [:]
        try table.scan(in: view) { key, row in
            rows[key] = (0..<table.layout.count).map { row.value($0) }
            return true
        }
        return rows
    }

    @Test func whatIsTransformedMayGoAfterwards() throws {
        let store = try fixture().store
        let wanted = Self.schema("P", ColumnSchema("name", .text))
        try migrate(
            store, wanted, .transform("size", nil) { $0 }, .transform("size", .text) { .text("\($0)") }, .remove("size")
        )
        #expect(try rows(store, "P") == [.rowID(1): [.text("a")], .rowID(2): [.text("b")]])
    }

    /// A statement has no steps, and changes a table at any version of them, which stays.
    @Test func aStatementLeavesTheVersionOfTheSteps() throws {
        let store = try fixture().store
        try migrate(store, Self.p, .transform("size", nil) { _ in .integer(3) })
        var indexed = Self.p
        indexed.indexes = [IndexSchema("P.size", [IndexColumn("size")])]
        let error = Fixture.error { _ = try store.write { try Catalogue.migrate([TableMigration(indexed)], in: $0) } }
        guard case .migrationFailed("P", _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        let report = try store.write { try Catalogue.migrate(to: indexed, in: $0) }
        #expect(report.steps == [.addIndex("P.size")])
        // The steps are not run again.
        #expect(try migrate(store, indexed, .transform("size", nil) { _ in .integer(4) }) == [])
        #expect(try rows(store, "P").values.allSatisfy { $0[1] == .integer(3) })
    }

    /// A table gets another name and another key at once.
    @Test func aRenamedTableMayChangeItsKey() throws {
        let store = try fixture().store
        var wanted = Self.schema("Person", ColumnSchema("name", .text), ColumnSchema("size", .integer))
        (wanted.originalName, wanted.key) = ("P", .columns(["name"]))
        let report = try store.write { try Catalogue.migrate(to: wanted, in: $0) }
        #expect(report.changesKey && report.table == "Person" && report.rows == 2)
        let rows = try rows(store, "Person").values.sorted { "\($0)" < "\($1)" }
        #expect(rows == [[.text("a"), .integer(1)], [.text("b"), .integer(2)]])
        #expect(try Catalogue.load(view: store.snapshot()).table(named: "P") == nil)
    }

    /// A column that no property has is there for the steps behind, and out of sight in the end.
    @Test func whatNoPropertyHasIsKeptOutOfSight() throws {
        let store = try fixture().store
        try migrate(
            store, Self.p, .compute("half", .double) { .double(try $0["size"] == .integer(1) ? 0.5 : 1) },
            .compute("none", .integer) { _ in .text("no number") },
            .transform("name", nil) { $0 })
        let view = try store.snapshot()
        let schema = try Catalogue.load(view: view).requireTable("P").schema
        #expect(schema.retiredColumns.map(\.name) == ["half", "none"])
        var wide = Self.p
        wide.columns.append(ColumnSchema("half", .double, isOptional: true))
        wide.columns.append(ColumnSchema("none", .integer, isOptional: true))
        let wanted = wide
        try store.write { tx in _ = try Catalogue.migrate([TableMigration(wanted) { _ in ([], 1) }], in: tx) }
        #expect(
            try rows(store, "P") == [
                .rowID(1): [.text("a"), .integer(1), .double(0.5), .null],
                .rowID(2): [.text("b"), .integer(2), .double(1), .null],
            ])
    }

    /// A constant of another type is none: the column has no value before its property's type is looked at.
    @Test func aConstantOfAnotherTypeIsRefused() throws {
        let store = try fixture().store
        var wanted = Self.p
        wanted.columns.append(ColumnSchema("day", .integer, isOptional: true))
        let request = TableMigration(wanted) { _ in ([.add("day", .integer, .text("noon"))], 1) }
        let error = Fixture.error { try store.write { tx in _ = try Catalogue.migrate([request], in: tx) } }
        #expect("\(String(describing: error))".contains("'noon' was added as day"))
    }

    /// The closure sees the columns by name, and the id.
    @Test func rowsHaveTheirColumnsAndTheirId() throws {
        let store = try fixture().store
        var wanted = Self.p
        wanted.columns.append(ColumnSchema("all", .text))
        try migrate(store, wanted, .compute("all", .text) { .text("\($0.columns) \(try $0["id"])") })
        #expect(
            try rows(store, "P").mapValues { $0[2] } == [
                .rowID(1): .text("[\"name\", \"size\"] 1"), .rowID(2): .text("[\"name\", \"size\"] 2"),
            ])
    }

    // MARK: Tables that are not there yet

    /// A new program on a file that never had the tables of before.
    @Test func stepsOnANewTableDoNothing() throws {
        let store = try fixture().store
        let wanted = Self.schema("New", ColumnSchema("title", .text), ColumnSchema("size", .integer))
        let steps = try migrate(
            store, wanted, .renameTable(from: "Old"), .rename("name", to: "title"), .transform("size", nil) { $0 },
            .remove("gone"), .merge(from: "Missing", nil))
        #expect(steps == [.createTable("New")])
        #expect(try rows(store, "New").isEmpty)
    }

    /// The same, but rows come from a table that there is: the steps behind take hold of them, those before do not.
    @Test func rowsEnterANewTableAtTheirStep() throws {
        let store = try fixture().store
        let wanted = Self.schema("New", ColumnSchema("title", .text), ColumnSchema("size", .integer))
        try migrate(
            store, wanted, .renameTable(from: "Old"), .rename("was", to: "title"), .transform("older", nil) { $0 },
            .rename("nothing", to: "other"), .remove("gone"), .merge(from: "Missing", nil),
            .merge(from: "Q") { ["title": try $0["name"], "size": try $0["size"]] },
            .transform("size", nil) { $0 == .integer(9) ? .integer(10) : $0 })
        #expect(try rows(store, "New") == [.rowID(1): [.text("q"), .integer(10)]])
    }

    // MARK: Rows of other tables

    @Test func stepsBehindAMergeTakeHoldOfItsRows() throws {
        let store = try fixture().store
        var wanted = Self.p
        wanted.columns.append(ColumnSchema("kind", .integer))
        wanted.columns.append(ColumnSchema("part", .reference, isOptional: true, target: "R"))
        try migrate(
            store, wanted, .add("kind", .integer, .integer(3)), .merge(from: "Q", nil),
            .split(into: "R", linking: "part") { [["word": try $0["name"]], ["word": .text("more")]] })
        let parts = try rows(store, "R")
        #expect(parts.count == 6)
        let all = try rows(store, "P")
        #expect(
            all.mapValues { Array($0.prefix(3)) } == [
                .rowID(1): [.text("a"), .integer(1), .integer(3)], .rowID(2): [.text("b"), .integer(2), .integer(3)],
                .rowID(3): [.text("q"), .integer(9), .integer(3)],
            ])
        for row in all.values {
            guard case .integer(let part) = row[3] else { Issue.record("\(row)"); continue }
            #expect(parts[.rowID(part)] == [row[0]])
        }
    }

    @Test func aMergedRowMayBeGivenItsId() throws {
        let store = try fixture().store
        try migrate(
            store, Self.p, .merge(from: "Q") { ["id": .integer(70), "name": try $0["name"], "size": try $0["size"]] })
        #expect(try rows(store, "P")[.rowID(70)] == [.text("q"), .integer(9)])
    }

    /// Rows with keys of their own get ids.
    @Test func keyedRowsAreMergedIntoOnesWithIds() throws {
        var fixture = try fixture()
        try fixture.migrate(EntitySchema(name: "K", columns: [ColumnSchema("code", .text)], key: .columns(["code"])))
        try fixture.insertAll("K", [[.text("x")], [.text("y")]])
        try migrate(fixture.store, Self.p, .merge(from: "K") { ["name": try $0["code"], "size": .integer(0)] })
        #expect(
            try rows(fixture.store, "P").values.map { $0[0] }.sorted { "\($0)" < "\($1)" }
                == ["a", "b", "x", "y"].map { .text($0) })
    }

    /// The closure of a merge may look at what its table has put out of sight, unless a later column has the name.
    @Test func retiredColumnsOfTheSourceAreSeen() throws {
        var fixture = try Fixture(
            Self.p,
            Self.schema("Q", ColumnSchema("name", .text), ColumnSchema("old", .integer), ColumnSchema("size", .integer))
        )
        try fixture.insertAll("Q", [[.text("q"), .integer(5), .integer(6)]])
        // Both out of sight; a new size of another type.
        try fixture.migrate(Self.schema("Q", ColumnSchema("name", .text)))
        let request = TableMigration(
            Self.schema(
                "Q", ColumnSchema("name", .text), ColumnSchema("size", .text, isOptional: true, originalName: "other"))
        ) { _ in ([.add("other", .text, .text("new"))], 1) }
        try fixture.store.write { tx in _ = try Catalogue.migrate([request], in: tx) }
        try migrate(
            fixture.store, Self.p,
            .merge(from: "Q") { row in
                #expect(try row["size"] == .text("new") || row["size"] == .integer(6))
                return ["name": try row["name"], "size": try row["old"]]
            })
        #expect(try rows(fixture.store, "P") == [.rowID(1): [.text("q"), .integer(5)]])
    }

    /// Very many rows made of others, which get the ids that the closure gives.
    @Test func manyRowsAreMadeOfOthers() throws {
        let store = try fixture().store
        try migrate(
            store, Self.p,
            .split(into: "R", linking: nil) { row in
                guard case .integer(let size) = try row["size"] else { return [] }
                return (0..<3000).map { ["id": .integer(size * 10_000 + $0), "word": .text("w\($0)")] }
            })
        let parts = try rows(store, "R")
        #expect(parts.count == 6000)
        #expect(parts[.rowID(22_999)] == [.text("w2999")])
    }

    /// Nothing refers to the rows that are made, so that any key is good.
    @Test func rowsWithKeysOfSeveralColumnsAreMade() throws {
        var fixture = try fixture()
        try fixture.migrate(
            EntitySchema(
                name: "Pair", columns: [ColumnSchema("a", .text), ColumnSchema("b", .integer)],
                key: .columns(["a", "b"])))
        try migrate(
            fixture.store, Self.p,
            .split(into: "Pair", linking: nil) { [["a": try $0["name"], "b": try $0["size"]]] })
        #expect(try rows(fixture.store, "Pair").count == 2)
        // But a column cannot hold such a key.
        var linking = Self.p
        linking.columns.append(ColumnSchema("part", .text, isOptional: true))
        let request = TableMigration(linking) { from in
            from < 2
                ? (
                    [.split(into: "Pair", linking: "part") { [["a": .text("x\(try $0["size"])"), "b": .integer(1)]] }],
                    2
                )
                : ([], from)
        }
        let error = Fixture.error { try fixture.store.write { tx in _ = try Catalogue.migrate([request], in: tx) } }
        #expect("\(String(describing: error))".contains("a row with a key of several columns cannot be referred to"))
    }

    // MARK: References

    /// A migration leaves bytes that are not keys as they are.
    @Test func listsThatAreDamagedStay() throws {
        let fixture = try Fixture(
            Self.p, Self.schema("Q", ColumnSchema("name", .text), ColumnSchema("size", .integer)),
            EntitySchema(
                name: "List", columns: [ColumnSchema("held", .keys, isOptional: true, target: "Q")],
                indexes: [IndexSchema("held", [IndexColumn("held")])]))
        try fixture.insertAll("Q", [[.text("q"), .integer(9)]])
        let table = try fixture.table("List")
        var row = RowWriter()
        row.begin(table.layout)
        row.set(0, [9, 9])
        let bytes = Array(try row.finish())
        try fixture.store.write { tx in try tx.put(bytes, for: KeyOrder.treeKey(1), in: table.rows) }
        try migrate(fixture.store, Self.p, .merge(from: "Q", nil))
        let view = try fixture.store.snapshot()
        #expect(try view.get(KeyOrder.treeKey(1), in: table.rows) == bytes)
        #expect(try Catalogue.load(view: view).requireTable("List").schema.column(named: "held")?.target == "P")
    }

    /// The new id of a moved row may be the old one of another, of which a row further on gives the reference up.
    @Test func uniqueReferencesFollow() throws {
        let holder = EntitySchema(
            name: "Holder", columns: [ColumnSchema("held", .reference, isOptional: true, target: "Q")],
            indexes: [IndexSchema("held", [IndexColumn("held")], isUnique: true)])
        let fixture = try Fixture(
            Self.p, Self.schema("Q", ColumnSchema("name", .text), ColumnSchema("size", .integer)), holder)
        try fixture.insertAll(
            "P", [[.text("a"), .integer(1)], [.text("b"), .integer(2)], [.text("c"), .integer(3)]])
        try fixture.insertAll("Q", (1...600).map { [.text("q"), .integer($0)] })
        try fixture.insertAll("Holder", (1...600).map { [.integer($0)] })
        try migrate(fixture.store, Self.p, .merge(from: "Q", nil))
        let held = try rows(fixture.store, "Holder")
        #expect(held.count == 600)
        #expect((1...600).allSatisfy { held[.rowID($0)] == [.integer($0 + 3)] })
    }

    /// A key of no row of the table that moves may be that of a row of the other one.
    @Test func referencesToNoRowDoNotFollow() throws {
        let fixture = try Fixture(
            Self.p, Self.schema("Q", ColumnSchema("name", .text), ColumnSchema("size", .integer)),
            EntitySchema(
                name: "Holder",
                columns: [
                    ColumnSchema("held", .reference, isOptional: true, target: "Q"),
                    ColumnSchema("list", .keys, isOptional: true, target: "Q"),
                    ColumnSchema("any", .text, isOptional: true, target: AnyReference.anyTable),
                ], indexes: [IndexSchema("list", [IndexColumn("list")])]))
        try fixture.insertAll("P", (1...4).map { [.text("p"), .integer($0)] })
        try fixture.insertAll("Q", [[.text("q"), .integer(9)]])
        func list(_ keys: [Int64]) -> Value { .blob(KeyTree.list(keys.map { .key(.rowID($0)) }).encoded) }
        try fixture.insertAll(
            "Holder",
            [
                [.integer(3), list([3, 1, 4]), .text("Q:2")], [.integer(1), list([2]), .text("Q:1")],
                [.null, .null, .text("P:2")],
            ])
        try migrate(fixture.store, Self.p, .merge(from: "Q", nil))
        let held = try rows(fixture.store, "Holder")
        #expect(held[.rowID(1)] == [.null, list([5]), .null])
        #expect(held[.rowID(2)] == [.integer(5), list([]), .text("P:5")])
        #expect(held[.rowID(3)] == [.null, .null, .text("P:2")])
    }

    /// References to any table, and keys of other tables in lists, follow rows and names; everything else stays as it
    /// is.
    @Test func referencesOfAllKindsFollow() throws {
        let fixture = try Fixture(
            Self.p, Self.schema("Q", ColumnSchema("name", .text), ColumnSchema("size", .integer)),
            Self.schema("R", ColumnSchema("word", .text)),
            Self.schema(
                "Any", ColumnSchema("to", .text, isOptional: true, target: AnyReference.anyTable)),
            EntitySchema(
                name: "List", columns: [ColumnSchema("held", .keys, isOptional: true, target: "R")],
                indexes: [IndexSchema("held", [IndexColumn("held")])]))
        try fixture.insertAll("P", [[.text("a"), .integer(1)]])
        try fixture.insertAll("Q", [[.text("q"), .integer(9)]])
        try fixture.insertAll("Any", ["Q:1", "P:1", "R:1", "nonsense"].map { [.text($0)] } + [[.null]])
        let (p, q) = (try fixture.table("P").number, try fixture.table("Q").number)
        func held(_ trees: [KeyTree]) -> Value { .blob(KeyTree.list(trees).encoded) }
        try fixture.insert(
            "List", [held([.key(.rowID(1)), .foreign(table: q, .rowID(1)), .foreign(table: p, .rowID(1))])])
        try migrate(fixture.store, Self.p, .merge(from: "Q", nil))
        #expect(
            try (1...5).map { try rows(fixture.store, "Any")[.rowID($0)] } == [
                [.text("P:2")], [.text("P:1")], [.text("R:1")], [.text("nonsense")], [.null],
            ])
        #expect(
            try rows(fixture.store, "List").values.first == [
                held([.key(.rowID(1)), .foreign(table: p, .rowID(2)), .foreign(table: p, .rowID(1))])
            ])
        // A table that gets another name takes its references along.
        let renamed = TableMigration(Self.schema("S", ColumnSchema("word", .text))) { _ in
            ([.renameTable(from: "R")], 1)
        }
        try fixture.store.write { tx in _ = try Catalogue.migrate([renamed], in: tx) }
        #expect(try rows(fixture.store, "Any")[.rowID(3)] == [.text("S:1")])
    }

    // MARK: Encrypted columns

    /// No value that is or becomes encrypted is shown, and none can be looked at without the key.
    @Test func whatIsEncryptedIsNotShown() throws {
        let fixture = try Fixture(
            Self.schema("T", ColumnSchema("a", .text), ColumnSchema("secret", .blob, isOptional: true, sealing: .text)))
        let table = try fixture.table("T")
        try fixture.store.write { tx in
            var changes = ChangeSet()
            var row = RowWriter()
            for number in 0..<12 {
                row.begin(table.layout)
                row.set(0, .text("word \(number)"))
                if number == 0 { row.set(1, [1, 2, 3]) }
                _ = try table.insert(&row, in: tx, changes: &changes)
            }
        }
        func refusal(_ request: TableMigration) -> String {
            Fixture.error { try fixture.store.write { tx in _ = try Catalogue.migrate([request], in: tx) } }
                .map { "\($0)" } ?? ""
        }
        // A column of texts becomes an encrypted one of numbers: the ten first rows are named, and no text.
        let sealing = TableMigration(
            Self.schema(
                "T", ColumnSchema("a", .blob, isOptional: true, sealing: .integer),
                ColumnSchema("secret", .blob, isOptional: true, sealing: .text)))
        let error = Fixture.error { try fixture.store.write { tx in _ = try Catalogue.migrate([sealing], in: tx) } }
        guard case .conversionFailed("T", "a", let rows, let reason)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(rows == (1...10).map { .rowID($0) })
        #expect(!reason.contains("word") && reason.contains("integer"), "\(reason)")
        let step = try #require(
            try Catalogue.survey([sealing], view: fixture.store.snapshot()).first?.steps.first { $0.failures > 0 })
        #expect(step.failures == 12)
        #expect(step.example == "row 1: a value of type text does not become an integer")
        // A step that makes values of an encrypted column.
        let computing = TableMigration(
            Self.schema(
                "T", ColumnSchema("a", .text), ColumnSchema("secret", .blob, isOptional: true, sealing: .text),
                ColumnSchema("b", .text, isOptional: true))
        ) { _ in ([.compute("b", .text) { try $0["secret"] }], 1) }
        let words = refusal(computing)
        #expect(words.contains("secret"), "\(words)")
        let survey = try Catalogue.survey([computing], view: fixture.store.snapshot()).first
        #expect(survey?.refusal.map { "\($0)" } == words)
        // The result of a closure for an encrypted column is not shown either.
        let bare = try Fixture(Self.schema("T", ColumnSchema("a", .text)))
        try bare.insert("T", [.text("word")])
        let giving = TableMigration(
            Self.schema(
                "T", ColumnSchema("a", .text), ColumnSchema("number", .blob, isOptional: true, sealing: .integer))
        ) { _ in ([.compute("number", .integer) { try $0["a"] }], 1) }
        let given = Fixture.error { try bare.store.write { tx in _ = try Catalogue.migrate([giving], in: tx) } }
        #expect(
            "\(String(describing: given))".contains(
                "a value of type text is given for number, which holds encrypted integer"),
            "\(String(describing: given))")
    }
}
