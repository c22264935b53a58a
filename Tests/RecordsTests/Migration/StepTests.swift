import Foundation
import MakoRecords
import MakoStorage
import MakoTestSupport
import Testing

/// Steps by hand on tables without types.
@Suite struct StepTests {
    private static let first = EntitySchema(
        name: "P", columns: [ColumnSchema("name", .text), ColumnSchema("age", .text)],
        indexes: [IndexSchema("P.age", [IndexColumn("age")])])

    private func fixture() throws -> Fixture {
        let fixture = try Fixture(Self.first)
        try fixture.insertAll("P", [[.text("a"), .text("30")], [.text("b"), .text("31")]])
        return fixture
    }

    @discardableResult
    private func migrate(
        _ store: Store, _ schema: EntitySchema, version: UInt64 = 1, _ steps: TableStep...
    ) throws -> MigrationReport {
        try store.write { tx in
            let request = TableMigration(schema) { from in from < version ? (steps, version) : ([], max(from, version))
            }
            return try #require(try Catalogue.migrate([request], in: tx).first)
        }
    }

    private func rows(_ store: Store, _ name: String) throws -> [[Value]] {
        let view = try store.snapshot()
        let table = try Catalogue.load(view: view).requireTable(name)
        #expect(try table.verify(in: view) == [])
        var rows: [[Value]] = []
        try table.scan(in: view) { _, row in
            rows.append((0..<table.layout.count).map { row.value($0) })
            return true
        }
        return rows
    }

    /// As in `docs/format.md`; a reader of table entries does not see it.
    @Test func theVersionIsStoredWithTheTable() throws {
        let store = try fixture().store
        let tables = try Catalogue.load(view: store.snapshot()).tables.map(\.name)
        try migrate(store, Self.first, version: 258)
        let view = try store.snapshot()
        let tree = try #require(view.tree(named: "mako.catalogue"))
        #expect(try view.get([0, 0, 0, 0, 1], in: tree) == [2, 1, 0, 0, 0, 0, 0, 0])
        #expect(try Catalogue.load(view: view).tables.map(\.name) == tables)
        try store.write { tx in
            try tx.put([1, 2], for: [0, 0, 0, 0, 1], in: tree)
        }
        let damaged = Fixture.error { try migrate(store, Self.first) }
        guard case .catalogueDamaged = damaged else {
            Issue.record("\(String(describing: damaged))")
            return
        }
        try store.write { tx in _ = try Catalogue.dropTable("P", in: tx) }
        #expect(try store.snapshot().get([0, 0, 0, 0, 1], in: tree) == nil)
    }

    @Test func removedValuesAreWrittenOver() throws {
        let store = try fixture().store
        var narrow = Self.first
        narrow.columns.removeLast()
        narrow.indexes = []
        // The column is retired first, and removed then.
        try store.write { tx in _ = try Catalogue.migrate(to: narrow, in: tx) }
        try migrate(store, narrow, .remove("age"))
        let view = try store.snapshot()
        let tree = try #require(view.tree(named: "mako.rows.1"))
        let bytes = try #require(try view.get(KeyOrder.treeKey(1), in: tree))
        #expect(!bytes.contains(UInt8(ascii: "3")))
        #expect(try Catalogue.load(view: view).requireTable("P").schema.retiredColumns.isEmpty)
        #expect(try rows(store, "P") == [[.text("a")], [.text("b")]])
        // A new column of that name does not get the removed values.
        var again = Self.first
        again.columns[1].defaultValue = .text("?")
        try store.write { tx in
            _ = try Catalogue.migrate([TableMigration(again) { _ in ([], 1) }], in: tx)
        }
        #expect(try rows(store, "P") == [[.text("a"), .text("?")], [.text("b"), .text("?")]])
    }

    @Test func aConstantTouchesNoRowAndIsNoDefault() throws {
        var fixture = try fixture()
        var wanted = Self.first
        wanted.columns.append(ColumnSchema("size", .double, default: .double(1)))
        try migrate(fixture.store, wanted, .add("size", .integer, .integer(7)))
        #expect(try rows(fixture.store, "P").map { $0[2] } == [.double(7), .double(7)])
        try migrate(fixture.store, wanted, version: 2, .transform("name", nil) { .text("\($0)!") })
        #expect(try rows(fixture.store, "P")[0] == [.text("'a'!"), .text("30"), .double(7)])
        let error = Fixture.error {
            var worse = wanted
            worse.columns.append(ColumnSchema("day", .date, isOptional: true))
            try migrate(fixture.store, worse, version: 3, .add("day", .text, .text("noon")))
        }
        #expect("\(String(describing: error))".contains("'noon' was added as day"))
        try fixture.migrate(EntitySchema(name: "Other", columns: [ColumnSchema("x", .integer)]))
        try fixture.expectSound()
    }

    /// A value that has been out of sight can be looked at, and come back under another name.
    @Test func retiredColumnsTakePart() throws {
        let store = try fixture().store
        var narrow = Self.first
        narrow.columns.removeLast()
        narrow.indexes = []
        try store.write { tx in _ = try Catalogue.migrate(to: narrow, in: tx) }
        var wanted = narrow
        wanted.columns.append(ColumnSchema("years", .text))
        wanted.columns.append(ColumnSchema("months", .integer, isOptional: true))
        wanted.indexes = [IndexSchema("years", [IndexColumn("years")])]
        try migrate(
            store, wanted,
            .compute("months", .integer) { row in
                guard case .text(let years) = try row["age"] else { return .null }
                return Int64(years).map { .integer($0 * 12) } ?? .null
            }, .rename("age", to: "years"))
        #expect(
            try rows(store, "P") == [
                [.text("a"), .text("30"), .integer(360)], [.text("b"), .text("31"), .integer(372)],
            ])
    }

    @Test func stepsAndConversionsAreOnePass() throws {
        let store = try fixture().store
        var wanted = Self.first
        wanted.columns[1] = ColumnSchema("age", .integer)
        wanted.columns.append(ColumnSchema("upper", .text, originalName: "shout"))
        wanted.indexes = [IndexSchema("P.age", [IndexColumn("age")])]
        try migrate(
            store, wanted, .compute("loud", .text) { try .text("\($0["name"])".uppercased()) },
            .rename("loud", to: "shout"))
        #expect(
            try rows(store, "P") == [
                [.text("a"), .integer(30), .text("'A'")], [.text("b"), .integer(31), .text("'B'")],
            ])
        let error = Fixture.error {
            try migrate(store, wanted, version: 2, .transform("age", nil) { $0 == .integer(31) ? .text("x") : $0 })
        }
        #expect(
            error
                == .stepFailed(
                    table: "P", step: "transform age", row: .rowID(2),
                    reason: "'x' is given for age, which holds integer"))
    }

    @Test func theIndexOfManyRowsIsLoaded() throws {
        var fixture = try Fixture(EntitySchema(name: "U", columns: [ColumnSchema("a", .integer)]))
        try fixture.insertAll("U", (0..<12_000).map { [.integer(Int64($0 * 7919 % 12_007))] })
        let unique = EntitySchema(
            name: "U", columns: [ColumnSchema("a", .integer)],
            indexes: [
                IndexSchema("u", [IndexColumn("a")], isUnique: true),
                IndexSchema("d", [IndexColumn("a", descending: true)]),
            ])
        try fixture.migrate(unique)
        try fixture.expectSound()
        try fixture.migrate(EntitySchema(name: "U", columns: [ColumnSchema("a", .integer)]))
        let key = try fixture.insert("U", [.integer(7919 * 3 % 12_007)])
        let error = Fixture.error { try fixture.migrate(unique) }
        guard case .uniqueViolation("U", ["a"], [.integer(7919 * 3 % 12_007)], .rowID(4)) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        try fixture.store.write { [table = try fixture.table("U")] tx in
            var changes = ChangeSet()
            try table.delete(key, in: tx, changes: &changes)
        }
        try fixture.migrate(unique)
        try fixture.expectSound()
    }

    // MARK: Rows of other tables

    /// Lists that hold rows of several tables find them under their new numbers, wherever the list is.
    @Test func keysInListsFollow() throws {
        func list(_ name: String, of target: String) -> EntitySchema {
            EntitySchema(
                name: name, columns: [ColumnSchema("held", .keys, isOptional: true, target: target)],
                indexes: [IndexSchema("held", [IndexColumn("held")])])
        }
        let simple = { (name: String) in EntitySchema(name: name, columns: [ColumnSchema("x", .integer)]) }
        let fixture = try Fixture(simple("A"), simple("B"), list("OfA", of: "A"), list("OfB", of: "B"))
        try fixture.insertAll("A", [[.integer(1)], [.integer(2)]])
        try fixture.insertAll("B", [[.integer(3)], [.integer(4)]])
        let a = try fixture.table("A").number
        let b = try fixture.table("B").number
        let mixed = { (own: RowKey, number: UInt32, other: RowKey) in
            Value.blob(
                KeyTree.named([
                    .init(name: .text("n"), tree: .list([.key(own), .foreign(table: number, other), .key(own)]))
                ]).encoded)
        }
        try fixture.insert("OfA", [mixed(.rowID(2), b, .rowID(1))])
        try fixture.insert("OfB", [mixed(.rowID(2), a, .rowID(1))])
        try fixture.insert("OfB", [.null])
        try fixture.store.write { tx in
            _ = try Catalogue.migrate(
                [
                    TableMigration(simple("A")) { from in ([.merge(from: "B", nil)], 1) },
                    TableMigration(list("OfB", of: "A")),
                ], in: tx)
        }
        let store = fixture.store
        #expect(try rows(store, "A") == [[.integer(1)], [.integer(2)], [.integer(3)], [.integer(4)]])
        func held(_ keys: [Int64]) -> Value {
            .blob(KeyTree.named([.init(name: .text("n"), tree: .list(keys.map { .key(.rowID($0)) }))]).encoded)
        }
        #expect(try rows(store, "OfA") == [[held([2, 3, 2])]])
        #expect(try rows(store, "OfB") == [[held([4, 1, 4])], [.null]])
        let view = try store.snapshot()
        let table = try Catalogue.load(view: view).requireTable("OfB")
        #expect(try table.keys(holding: .rowID(4), in: "held", view: view) == [.rowID(1)])
        #expect(try Catalogue.load(view: view).table(named: "B") == nil)
    }

    @Test func keysThatOthersReferToStay() throws {
        let keyed = { (name: String) in
            EntitySchema(name: name, columns: [ColumnSchema("code", .text)], key: .columns(["code"]))
        }
        let holder = EntitySchema(
            name: "Holder", columns: [ColumnSchema("held", .text, isOptional: true, target: "B")],
            indexes: [IndexSchema("held", [IndexColumn("held")])])
        let fixture = try Fixture(keyed("A"), keyed("B"), holder)
        try fixture.insertAll("A", [[.text("a")]])
        try fixture.insertAll("B", [[.text("b")], [.text("c")]])
        try fixture.insert("Holder", [.text("c")])
        let error = Fixture.error {
            try migrate(fixture.store, keyed("A"), .merge(from: "B") { try ["code": .text("\($0["code"])")] })
        }
        #expect("\(String(describing: error))".contains("which would get another key"))
        try migrate(fixture.store, keyed("A"), .merge(from: "B") { try ["code": $0["code"]] })
        #expect(try rows(fixture.store, "A") == [[.text("a")], [.text("b")], [.text("c")]])
        let schema = try Catalogue.load(view: fixture.store.snapshot()).requireTable("Holder").schema
        #expect(schema.column(named: "held")?.target == "A")
    }

    @Test func tablesThatWaitForEachOtherAreRefused() throws {
        let simple = { (name: String) in EntitySchema(name: name, columns: [ColumnSchema("x", .integer)]) }
        let fixture = try Fixture(simple("A"), simple("B"))
        let error = Fixture.error {
            try fixture.store.write { tx in
                _ = try Catalogue.migrate(
                    [
                        TableMigration(simple("A")) { _ in ([.split(into: "B", linking: nil) { _ in [] }], 1) },
                        TableMigration(simple("B")) { _ in ([.split(into: "A", linking: nil) { _ in [] }], 1) },
                    ], in: tx)
            }
        }
        #expect("\(String(describing: error))".contains("wait for each other"))
    }

    @Test func versionsThatDoNotFollowEachOtherAreRefused() throws {
        let store = try fixture().store
        try migrate(store, Self.first)
        let error = Fixture.error {
            try store.write { tx in
                _ = try Catalogue.migrate(
                    [TableMigration(Self.first) { from in ([], from == 0 ? 3 : 2) }], in: tx)
            }
        }
        #expect("\(String(describing: error))".contains("lead from version 1 to 2, and from 0 to 3"))
    }

    // MARK: Files

    /// A file of version 1 of the format from before there were steps.
    @Test func goldenTablesAreMigrated() throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Golden")
        let data = try Data(contentsOf: folder.appendingPathComponent("v1-tables.mako"))
        let disk = SimulatedDisk(DiskImage(files: ["d/t.mako": ByteImage(Array(data))], directories: ["d"]))
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        let store = try Store(at: "d/t.mako", options: options)
        let before = try rows(store, "Keyed")
        let stored = try Catalogue.load(view: store.snapshot()).requireTable("Keyed").schema
        var wanted = stored
        wanted.columns = stored.liveColumns.map { column in
            var column = column
            if column.name == "note" { column.name = "remark" }
            return column
        }
        wanted.columns.append(ColumnSchema("length", .integer))
        wanted.indexes = [IndexSchema("remarks", [IndexColumn("remark"), IndexColumn("length")])]
        try migrate(
            store, wanted, .rename("note", to: "remark"),
            .compute("length", .integer) { row in
                guard case .text(let text) = try row["remark"] else { return .null }
                return .integer(Int64(text.utf8.count))
            }, .remove("old"))
        let after = try rows(store, "Keyed")
        #expect(after.map { Array($0.dropLast()) } == before)
        #expect(
            after.allSatisfy { row in
                guard case .text(let text) = row[2], case .integer(let length)? = row.last else { return false }
                return length == text.utf8.count
            })
        #expect(try store.verify().isClean)
        try store.close()
    }
}
