import MakoStorage
import Testing

@testable import MakoRecords

/// Tables whose trees contradict each other: an error names the fault, `verify` finds it, and nothing traps.
@Suite struct DamagedTableTests {
    private static let person = EntitySchema(
        name: "Person", columns: [ColumnSchema("age", .integer), ColumnSchema("mail", .text, isOptional: true)],
        indexes: [
            IndexSchema("Person.age", [IndexColumn("age")]),
            IndexSchema("Person.mail", [IndexColumn("mail")], isUnique: true),
        ])

    private func fixture() throws -> Fixture {
        let fixture = try Fixture(Self.person)
        try fixture.insertAll("Person", (0..<5).map { [.integer($0), .text("mail \($0)")] })
        return fixture
    }

    private func index(_ number: Int, _ fixture: Fixture) throws -> Tree {
        try fixture.table("Person").indexes[number].tree
    }

    @Test func anIndexThatNamesAMissingRowIsAnError() throws {
        let fixture = try fixture()
        let table = try fixture.table("Person")
        try fixture.store.write { tx in _ = try tx.delete(KeyOrder.treeKey(3), in: table.rows) }
        let plan = try Selection(table: "Person", condition: .parse("age > 0")).plan(fixture.catalogue)
        let reason = "it names row 3, which is not there"
        #expect(throws: RecordError.indexDamaged(table: "Person", index: "Person.age", reason: reason)) {
            try plan.rows([.path("mail")], in: fixture.store.snapshot())
        }
        #expect(
            try table.verify(in: fixture.store.snapshot()) == [
                "Person: index Person.age has 5 entries for 4 rows",
                "Person: index Person.mail has 5 entries for 4 rows",
            ])
    }

    /// Entries that were cut are put in order by their rows: also where a row is missing.
    @Test func longEntriesThatNameAMissingRowAreAnError() throws {
        let fixture = try Fixture(
            EntitySchema(
                name: "L", columns: [ColumnSchema("t", .text)], indexes: [IndexSchema("L.t", [IndexColumn("t")])]))
        let long = String(repeating: "q", count: 1000)
        try fixture.insertAll("L", ["b", "a", "c"].map { [.text(long + $0)] })
        let table = try fixture.table("L")
        try fixture.store.write { tx in _ = try tx.delete(KeyOrder.treeKey(1), in: table.rows) }
        let plan = try Selection(table: "L", orderBy: Order.parse("t"), limit: 9).plan(fixture.catalogue)
        #expect(plan.description.contains("using index L.t"))
        let reason = "it names row 1, which is not there"
        #expect(throws: RecordError.indexDamaged(table: "L", index: "L.t", reason: reason)) {
            try plan.rows([.path("t")], in: fixture.store.snapshot())
        }
    }

    @Test func anEntryThatNamesAnImpossibleKeyIsAnError() throws {
        let fixture = try Fixture(QueryFixture.b, QueryFixture.c)
        try fixture.insertAll("C", [[.text("x"), .double(1), .null], [.text("y"), .double(2), .null]])
        let table = try fixture.table("C")
        let tree = table.indexes[0].tree
        for key in [[7], [UInt8](repeating: 7, count: 1000)] as [[UInt8]] {
            try fixture.store.write { tx in
                var cursor = try tx.view.cursor(in: tree)
                _ = try cursor.first()
                try tx.put(key, for: cursor.key, in: tree)
            }
            let plan = try Selection(table: "C", condition: .parse("w < 5")).plan(fixture.catalogue)
            let reason = "it names row \(RowKey.bytes(key)), which is not there"
            #expect(throws: RecordError.indexDamaged(table: "C", index: "C.w", reason: reason)) {
                try plan.rows([.path("k")], in: fixture.store.snapshot())
            }
        }
    }

    @Test func missingAndForeignEntriesAreFound() throws {
        let fixture = try fixture()
        let table = try fixture.table("Person")
        let (age, mail) = (try index(0, fixture), try index(1, fixture))
        try fixture.store.write { tx in
            var cursor = try tx.view.cursor(in: age)
            _ = try cursor.first()
            let first = cursor.key
            _ = try tx.delete(first, in: age)
            try tx.put([], for: [1, 2, 3], in: age)
            cursor = try tx.view.cursor(in: mail)
            _ = try cursor.last()
            try tx.put([7], for: cursor.key, in: mail)
        }
        #expect(
            try table.verify(in: fixture.store.snapshot()) == [
                "Person: row 1 is missing in index Person.age", "Person: row 5 is missing in index Person.mail",
            ])
        // A query reads an entry too short for an id.
        let plan = try Selection(table: "Person", orderBy: Order.parse("age"), limit: 2).plan(fixture.catalogue)
        let error = #expect(throws: RecordError.self) { try plan.keys(in: fixture.store.snapshot()) }
        guard case .indexDamaged("Person", "Person.age", _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        // Also where a unique index looks up the owner of a value.
        #expect(
            throws: RecordError.indexDamaged(
                table: "Person", index: "Person.mail", reason: "an entry does not name a row")
        ) { try fixture.insert("Person", [.integer(9), .text("mail 4")]) }
    }

    /// Every index scan ends with an error at an entry that names no row, whether it reads rows or not.
    @Test func everyScanEndsAtAnEntryThatNamesNoRow() throws {
        let fixture = try fixture()
        let table = try fixture.table("Person")
        let age = try index(0, fixture)
        try fixture.store.write { tx in try tx.put([], for: [1, 2, 3], in: age) }
        let view = try fixture.store.snapshot()
        let expected = RecordError.indexDamaged(
            table: "Person", index: "Person.age", reason: "an entry names no row")
        var batches = BatchedCursor(
            of: try Selection(table: "Person", orderBy: Order.parse("age"), limit: 2).plan(fixture.catalogue))
        #expect(throws: expected) { try batches.next(10, in: view) { _, _ in } }
        #expect(throws: expected) { try IndexGroups.forEach(table.indexes[0], "Person", view, nil) { _, _ in } }
    }

    /// Entries that are cut say no order, and where their rows are alike as well, there is none.
    @Test func longEntriesOfTablesWithKeysOfTheirOwn() throws {
        let fixture = try Fixture(
            EntitySchema(
                name: "L", columns: [ColumnSchema("k", .text), ColumnSchema("t", .text)], key: .columns(["k"]),
                indexes: [IndexSchema("L.t", [IndexColumn("t")])]))
        let long = String(repeating: "q", count: 1000)
        try fixture.insertAll("L", ["b", "a", "c", "a"].enumerated().map { [.text("\($0)"), .text(long + $1)] })
        for (order, texts) in [("t", ["a", "a", "b", "c"]), ("t DESC", ["c", "b", "a", "a"])] {
            let plan = try Selection(table: "L", orderBy: Order.parse(order), limit: 9).plan(fixture.catalogue)
            #expect(plan.description.contains("using index L.t"))
            let found = try plan.rows([.path("t")], in: fixture.store.snapshot())
            #expect(found == texts.map { [.text(long + $0)] })
        }
    }

    @Test func damagedCataloguesAreErrors() throws {
        func damaged(_ damage: (borrowing WriteTransaction, Snapshot) throws -> Void) throws -> RecordError? {
            let fixture = try fixture()
            try fixture.store.write { try damage($0, $0.view) }
            return Fixture.error {
                let catalogue = try Catalogue.load(view: fixture.store.snapshot())
                try fixture.store.write { tx in
                    _ = try Catalogue.migrate(to: EntitySchema(name: "New", columns: []), in: tx)
                    _ = try catalogue.requireTable("Person").reserveRowID(in: tx)
                }
            }
        }
        func tree(_ name: String, _ view: Snapshot) throws -> Tree { try #require(view.tree(named: name)) }
        let record = try #require(try StoredCatalogue.records(in: fixture().store.snapshot()).first)
        func reason(_ error: RecordError?) -> String? {
            if case .catalogueDamaged(let reason) = error { reason } else { nil }
        }
        #expect(
            reason(try damaged { tx, view in try tx.dropTree(tree(RowIDSequence.treeName, view)) })
                == "the tree mako.ids is missing")
        // Nor is a migration planned that would have to look at the rows.
        var demanding = Self.person
        demanding.columns[1] = ColumnSchema("mail", .text, default: .text(""))
        let bare = try fixture()
        try bare.store.write { tx in try tx.dropTree(tree(RowIDSequence.treeName, tx.view)) }
        #expect(
            reason(Fixture.error { _ = try Catalogue.plan(to: demanding, view: bare.store.snapshot()) })
                == "the tree mako.ids is missing")
        #expect(
            reason(try damaged { tx, view in try tx.dropTree(tree(record.rowsTree, view)) })
                == "the rows of table Person are missing")
        #expect(
            reason(try damaged { tx, view in try tx.dropTree(tree(record.indexTree(record.indexes[1].id), view)) })
                == "index Person.mail of table Person is missing")
        #expect(
            reason(
                try damaged { tx, view in
                    try tx.put([1, 2], for: UInt64(record.id), in: tree(RowIDSequence.treeName, view))
                }) == "the next id of Person is not a number")
        #expect(
            reason(
                try damaged { tx, view in try tx.put([99, 0, 0, 0, 0], for: [0], in: tree(Catalogue.treeName, view)) })
                == "its header has another format")
        #expect(
            reason(
                try damaged { tx, view in
                    try tx.put([TableRecord.format, 255, 255, 255, 255], for: [0], in: tree(Catalogue.treeName, view))
                }) == "it has given out every table number")
        #expect(
            reason(
                try damaged { tx, view in
                    try tx.put(
                        record.encoded() + [0], for: StoredCatalogue.key("Person"), in: tree(Catalogue.treeName, view))
                }) != nil)
    }
}
