import MakoStorage
import MakoTestSupport
import Testing

@testable import MakoRecords

/// Tables of many rows that are rewritten: another tree is bulk-loaded and replaces the former one.
@Suite struct LoadedMigrationTests {
    private static let count = BulkLoading.fewestEntries + 500

    private static func first(_ isKeyed: Bool, indexed: Bool = true) -> EntitySchema {
        EntitySchema(
            name: "P",
            columns: [
                ColumnSchema("code", .text), ColumnSchema("age", .text), ColumnSchema("size", .double),
                ColumnSchema("note", .text, isOptional: true),
            ], key: isKeyed ? .columns(["code"]) : .rowID(column: "id"),
            indexes: indexed
                ? [
                    IndexSchema("P.size", [IndexColumn("size"), IndexColumn("code")]),
                    IndexSchema("P.age", [IndexColumn("age")]),
                ] : [])
    }

    private static func wanted(_ isKeyed: Bool) -> EntitySchema {
        var wanted = first(isKeyed)
        wanted.columns[1].type = .integer
        wanted.columns.append(ColumnSchema("place", .text, default: .text("here")))
        wanted.indexes.append(IndexSchema("P.note", [IndexColumn("note")]))
        return wanted
    }

    private static func values(_ number: Int) -> [Value] {
        [
            .text("code \(number % 10) \(number)"), .text("\(number % 90)"), .double(Double(number % 1000)),
            number % 3 == 0 ? .null : .text(String(repeating: "n", count: number % 50)),
        ]
    }

    private static func options(_ disk: SimulatedDisk, cache: Int = 16 << 20) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.entropy = SeededEntropy(seed: 5)
        options.cacheBytes = cache
        return options
    }

    private static func store(_ isKeyed: Bool, on disk: SimulatedDisk, rows: Int = count) throws -> Store {
        let store = try Store(at: "d/p.mako", options: options(disk))
        try store.write { tx in
            _ = try Catalogue.migrate(to: first(isKeyed), in: tx)
            try insert(1...rows, tx)
        }
        return store
    }

    private static func insert(_ numbers: some Sequence<Int>, _ tx: borrowing WriteTransaction) throws {
        let table = try Catalogue.load(view: tx.view).requireTable("P")
        let batch = IndexBatch()
        var changes = ChangeSet()
        var row = RowWriter()
        for number in numbers {
            row.begin(table.layout)
            for (position, value) in values(number).enumerated() { row.set(position, value) }
            let key: RowKey? = table.isRowID ? .rowID(Int64(number)) : nil
            try table.insert(&row, key: key, in: tx, changes: &changes, batch: batch)
            changes.removeAll()
        }
        try batch.flush(in: tx)
    }

    /// Whether the table has these rows in its new form.
    private static func expectChanged(_ numbers: some Collection<Int>, _ isKeyed: Bool, _ view: Snapshot) throws {
        let table = try Catalogue.load(view: view).requireTable("P")
        #expect(try table.count(in: view) == numbers.count)
        var wrong = 0
        for number in numbers {
            var values = values(number)
            values[1] = .integer(Int64(number % 90))
            values.append(.text("here"))
            let key: RowKey = isKeyed ? RowKey(values: [values[0]]) : .rowID(Int64(number))
            let found = try table.withRow(key, in: view) { row in (0..<5).map { row.value($0) } }
            if found != values { wrong += 1 }
        }
        #expect(wrong == 0)
    }

    @Test(arguments: [false, true]) func manyRowsAreConverted(isKeyed: Bool) throws {
        let disk = SimulatedDisk(seed: 2)
        var store = try Self.store(isKeyed, on: disk)
        try store.checkpoint()
        let before = try store.snapshot()
        let trees = before.trees
        let contents = try Fixture.contents(of: before)
        var notified: [Int] = []
        let report = try store.write { tx in
            try #require(
                try Catalogue.migrate(
                    [TableMigration(Self.wanted(isKeyed)) { _ in ([], 0) }], progress: { notified.append($0.done) },
                    in: tx
                ).first)
        }
        #expect(
            report.rows == Self.count && notified.count >= 3 && notified.last == Self.count
                && notified == notified.sorted())
        // A reader of before sees what it saw.
        #expect(try Fixture.contents(of: before) == contents)
        before.close()
        for _ in 0..<2 {
            let view = try store.snapshot()
            try Self.expectChanged(1...Self.count, isKeyed, view)
            // Not the tree of before, under the same name, and nothing besides.
            let rows = try #require(view.tree(named: "mako.rows.1"))
            #expect(trees.allSatisfy { $0.name != "mako.rows.1" || $0.tree != rows })
            #expect(Set(view.trees.map(\.name)) == Set(try Self.treeNames(view)))
            view.close()
            #expect(try Catalogue.verify(store).findings == [])
            try store.close()
            store = try Store(at: "d/p.mako", options: Self.options(disk))
        }
    }

    private static func treeNames(_ view: Snapshot) throws -> [String] {
        [Catalogue.treeName, RowIDSequence.treeName]
            + (try StoredCatalogue.records(in: view).flatMap { record in
                [record.rowsTree] + record.indexes.map { record.indexTree($0.id) }
            })
    }

    /// The pages of the rows before are free again after a checkpoint or two.
    @Test func theFileDoesNotKeepTheRowsOfBefore() throws {
        let disk = SimulatedDisk(seed: 3)
        let store = try Self.store(false, on: disk)
        try store.checkpoint()
        let before = store.stats.livePages
        var wanted = Self.first(false)
        wanted.columns[1].type = .integer
        try store.write { tx in _ = try Catalogue.migrate(to: wanted, in: tx) }
        for _ in 0..<3 {
            try store.write { tx in _ = try tx.put([1], for: 1, in: try StoredCatalogue.trees(tx).ids) }
            try store.checkpoint()
        }
        #expect(store.stats.livePages < before * 11 / 10, "\(store.stats.livePages) after \(before)")
        #expect(try store.verify().isClean)
    }

    /// The last row of all cannot be converted.
    @Test(arguments: [false, true]) func oneRowThatCannotBeConvertedLeavesEverythingAsItWas(isKeyed: Bool) throws {
        let store = try Self.store(isKeyed, on: SimulatedDisk(seed: 4))
        var key = RowKey.rowID(1)
        try store.write { tx in
            let table = try Catalogue.load(view: tx.view).requireTable("P")
            var row = RowWriter()
            row.begin(table.layout)
            row.set(0, "z")
            row.set(1, "old")
            row.set(2, 1.0)
            var changes = ChangeSet()
            key = try table.insert(
                &row, key: isKeyed ? nil : .rowID(.max - 5), in: tx, changes: &changes)
        }
        let before = try Fixture.contents(of: store.snapshot())
        for _ in 0..<2 {
            let error = Fixture.error {
                try store.write { tx in _ = try Catalogue.migrate(to: Self.wanted(isKeyed), in: tx) }
            }
            #expect(
                error
                    == .conversionFailed(
                        table: "P", column: "age", rows: [NamedKey(key, in: nil)],
                        reason: "a text such as 'old' does not become an integer"))
            #expect(try Fixture.contents(of: store.snapshot()) == before)
        }
        // The transaction goes on behind a savepoint.
        try store.write { tx in
            let savepoint = tx.savepoint()
            _ = Fixture.error { _ = try Catalogue.migrate(to: Self.wanted(isKeyed), in: tx) }
            try tx.rollback(to: savepoint)
            let table = try Catalogue.load(view: tx.view).requireTable("P")
            var changes = ChangeSet()
            try table.delete(key, in: tx, changes: &changes)
            _ = try Catalogue.migrate(to: Self.wanted(isKeyed), in: tx)
        }
        try Self.expectChanged(1...Self.count, isKeyed, store.snapshot())
        #expect(try Catalogue.verify(store).findings == [])
    }

    @Test(arguments: [false, true]) func aLoadIsUndoneAndTheTransactionGoesOn(isKeyed: Bool) throws {
        let store = try Self.store(isKeyed, on: SimulatedDisk(seed: 5))
        let before = try Fixture.contents(of: store.snapshot())
        try store.write { tx in
            let savepoint = tx.savepoint()
            _ = try Catalogue.migrate(to: Self.wanted(isKeyed), in: tx)
            try Self.expectChanged(1...Self.count, isKeyed, tx.view)
            try tx.rollback(to: savepoint)
            #expect(try Fixture.contents(of: tx.view) == before)
        }
        #expect(try Fixture.contents(of: store.snapshot()) == before)
        try store.write { tx in
            _ = try Catalogue.migrate(to: Self.wanted(isKeyed), in: tx)
            // And again, to another form, in the same transaction.
            var third = Self.wanted(isKeyed)
            third.columns[1].type = .text
            _ = try Catalogue.migrate(to: third, in: tx)
            _ = try Catalogue.migrate(to: Self.wanted(isKeyed), in: tx)
        }
        try Self.expectChanged(1...Self.count, isKeyed, store.snapshot())
        #expect(try Catalogue.verify(store).findings == [])
    }

    /// Rows that the same transaction has written all over the tree: while the load goes on they are packed and written to the file.
    @Test(arguments: [false, true]) func rowsOfTheSameTransactionAreRead(isKeyed: Bool) throws {
        let disk = SimulatedDisk(seed: 6)
        let store = try Store(at: "d/p.mako", options: Self.options(disk, cache: 256 << 10))
        var random = Seeded(7)
        let numbers = (1...30_000).shuffled(using: &random)
        let kept = numbers.prefix(16_000)
        let schema = Self.first(isKeyed, indexed: false)
        try store.write { tx in
            _ = try Catalogue.migrate(to: schema, in: tx)
            try Self.insert(numbers, tx)
            let table = try Catalogue.load(view: tx.view).requireTable("P")
            var changes = ChangeSet()
            for number in numbers.dropFirst(16_000) {
                let key = isKeyed ? RowKey(values: [Self.values(number)[0]]) : .rowID(Int64(number))
                try table.delete(key, in: tx, changes: &changes)
                changes.removeAll()
            }
            _ = try Catalogue.migrate(to: Self.wanted(isKeyed), in: tx)
            try Self.expectChanged(kept, isKeyed, tx.view)
        }
        try Self.expectChanged(kept, isKeyed, store.snapshot())
        #expect(try Catalogue.verify(store).findings == [])
    }

    /// Values on pages of their own, rows of an earlier form, and many columns.
    @Test(arguments: [3, 40, 80]) func longValuesAndOldRowsAreLoaded(columns: Int) throws {
        var schema = EntitySchema(
            name: "L",
            columns: [ColumnSchema("n", .integer), ColumnSchema("long", .blob)]
                + (2..<columns).map { ColumnSchema("c\($0)", $0 % 2 == 0 ? .text : .integer, isOptional: true) })
        var fixture = try Fixture(schema)
        var random = Seeded(8)
        func row(_ number: Int, _ count: Int) -> [Value] {
            [.integer(Int64(number)), .blob([UInt8](repeating: UInt8(number & 0xff), count: number % 7 * 3000))]
                + (2..<count).map { column in
                    if random.chance(30) { return .null }
                    return column % 2 == 0 ? .text(random.text()) : .integer(Int64(column))
                }
        }
        let old = (0..<60).map { row($0, columns) }
        let keys = try fixture.insertAll("L", old)
        schema.columns.append(ColumnSchema("late", .text, default: .text("late")))
        schema.columns.append(ColumnSchema("later", .integer, isOptional: true, default: .integer(3)))
        try fixture.migrate(schema)
        let new = (60..<90).map { row($0, columns) + [.text("given"), .null] }
        let newKeys = try fixture.insertAll("L", new)
        // Old rows keep the default that the column had when it was added.
        schema.columns[columns].defaultValue = .text("other")
        try fixture.migrate(schema)
        schema.columns[0].type = .text
        try fixture.migrate(schema)
        for (key, values) in zip(keys + newKeys, old.map { $0 + [.text("late"), .integer(3)] } + new) {
            guard case .integer(let number) = values[0] else { continue }
            #expect(try fixture.values("L", key) == [.text("\(number)")] + values.dropFirst())
        }
        try fixture.expectSound()
    }

    /// The former values of a converted column do not stay in the file, and NULL stays NULL.
    @Test func nothingOfAConvertedTextIsLeft() throws {
        var schema = EntitySchema(
            name: "S",
            columns: [
                ColumnSchema("a", .text), ColumnSchema("secret", .text, isOptional: true),
                ColumnSchema("b", .blob, isOptional: true), ColumnSchema("n", .integer, isOptional: true),
            ])
        var fixture = try Fixture(schema)
        let keys = try fixture.insertAll(
            "S",
            [
                [.text("a"), .text("31415926"), .blob([1, 2]), .null], [.text("b"), .null, .null, .integer(4)],
                [.text(""), .text("27182818"), .null, .null],
            ])
        schema.columns[1].type = .integer
        try fixture.migrate(schema)
        #expect(
            try keys.map { try fixture.values("S", $0) } == [
                [.text("a"), .integer(31_415_926), .blob([1, 2]), .null], [.text("b"), .null, .null, .integer(4)],
                [.text(""), .integer(27_182_818), .null, .null],
            ])
        let view = try fixture.store.snapshot()
        for key in keys {
            let bytes = try fixture.table("S").withBytes(key, in: view) { [UInt8]($0) }
            let text = String(decoding: try #require(bytes), as: UTF8.self)
            #expect(!text.contains("31415926") && !text.contains("27182818"))
        }
    }

    /// Steps by hand that only compute are no reason not to load; those that store rows of other tables are.
    @Test func stepsByHandRunWhileRowsAreLoaded() throws {
        let store = try Self.store(false, on: SimulatedDisk(seed: 9))
        let note = EntitySchema(name: "N", columns: [ColumnSchema("text", .text)])
        var wanted = Self.first(false)
        wanted.columns[1] = ColumnSchema("years", .integer)
        wanted.columns[3] = ColumnSchema("note", .reference, isOptional: true, target: "N")
        wanted.indexes.removeLast()
        let rows = try store.snapshot().tree(named: "mako.rows.1")
        func steps(_ isSplit: Bool) -> [TableStep] {
            var steps: [TableStep] = [
                .compute("years", .integer) { row in
                    if case .text(let text) = try row["age"] { .integer((Int64(text) ?? 0) + 1) } else { .null }
                },
                .remove("age"),
            ]
            if isSplit {
                steps += [
                    .rename("note", to: "text"),
                    .split(into: "N", linking: "note") { row in
                        try row["text"].isNull ? [] : [["text": try row["text"]]]
                    }, .remove("text"),
                ]
            }
            return steps
        }
        for isSplit in [false, true] {
            let tx = try store.beginWrite()
            var schema = wanted
            if !isSplit { schema.columns[3] = Self.first(false).columns[3] }
            _ = try Catalogue.migrate(
                [TableMigration(note) { _ in ([], 1) }, TableMigration(schema) { _ in (steps(isSplit), 1) }], in: tx)
            let view = tx.view
            let table = try Catalogue.load(view: view).requireTable("P")
            #expect((table.rows == rows) == isSplit)
            var wrong = 0
            try table.scanIDs(in: view) { id, row in
                if row.integer(1) != id % 90 + 1 { wrong += 1 }
                return true
            }
            #expect(wrong == 0)
            #expect(try table.verify(in: view) == [])
            if isSplit {
                let notes = try Catalogue.load(view: view).requireTable("N")
                #expect(try notes.count(in: view) == Self.count - Self.count / 3)
            }
        }
    }
}
