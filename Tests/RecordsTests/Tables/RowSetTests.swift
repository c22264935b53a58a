import MakoStorage
import Testing

@testable import MakoRecords

/// Deleting and changing many rows at a time: as row by row.
@Suite struct RowSetTests {
    // MARK: Random schemas

    private static let main = "Main"

    /// A table with random indexes, and tables that refer to it by columns with random delete rules.
    private struct Schema {
        let store: Store

        init(_ seed: UInt64) throws {
            var random = Seeded(seed)
            store = try Store.inMemory()
            let hasID = random.chance(60)
            var tables = [Schema.table(main, hasID, refersTo: nil, &random)]
            var rules = ReferenceRules()
            for number in 1...Int.random(in: 1...3, using: &random) {
                let target = random.pick(tables)
                let table = Schema.table("Other\(number)", random.chance(60), refersTo: target, &random)
                tables.append(table)
                for column in table.columns where column.target != nil {
                    guard let rule = random.pick([ReferenceRule.cascade, .cascade, .nullify, .deny, nil]) else {
                        continue
                    }
                    let entry = ReferenceRules.Entry(rule, isOwned: random.chance(20))
                    rules.set(entry, table: table.name, column: column.name, target: target.name)
                }
            }
            try store.write { tx in
                for table in tables { _ = try Catalogue.migrate(to: table, in: tx) }
                _ = try Catalogue.load(view: tx.view).adopting(rules, in: tx)
            }
            try store.write { tx in
                let catalogue = try Catalogue.load(view: tx.view)
                for table in tables {
                    try Schema.fill(try catalogue.requireTable(table.name), catalogue, tx, &random)
                }
            }
        }

        private static func table(
            _ name: String, _ hasID: Bool, refersTo target: EntitySchema?, _ random: inout Seeded
        ) -> EntitySchema {
            var columns = [
                ColumnSchema("k", .text), ColumnSchema("n", .integer, isOptional: true),
                ColumnSchema("t", .text, isOptional: true), ColumnSchema("place", .double),
                ColumnSchema("way", .double),
            ]
            var indexes: [IndexSchema] = []
            if random.chance(60) { indexes.append(IndexSchema("n", [IndexColumn("n", descending: random.chance(30))])) }
            if random.chance(60) {
                indexes.append(IndexSchema("t", [IndexColumn("t", noCase: true), IndexColumn("n")]))
            }
            if random.chance(60) { indexes.append(IndexSchema("k", [IndexColumn("k")], isUnique: true)) }
            if random.chance(30) {
                indexes.append(IndexSchema("words", [IndexColumn("t")], fullText: FullTextOptions()))
            }
            guard let target else {
                return EntitySchema(name: name, columns: columns, key: key(hasID), indexes: indexes)
            }
            let type = target.key == key(true) ? ColumnType.reference : .text
            columns.append(ColumnSchema("one", type, isOptional: true, target: target.name))
            columns.append(ColumnSchema("many", .keys, isOptional: true, target: target.name))
            if random.chance(60) { indexes.append(IndexSchema("one", [IndexColumn("one"), IndexColumn("n")])) }
            indexes.append(IndexSchema("many", [IndexColumn("many")]))
            return EntitySchema(name: name, columns: columns, key: key(hasID), indexes: indexes)
        }

        private static func key(_ hasID: Bool) -> KeySchema { hasID ? .rowID(column: "id") : .columns(["k"]) }

        private static func fill(
            _ table: TableHandle, _ catalogue: Catalogue, _ tx: borrowing WriteTransaction, _ random: inout Seeded
        ) throws {
            var changes = ChangeSet()
            var row = RowWriter()
            let target = table.schema.column(named: "many")?.target.flatMap { catalogue.table(named: $0) }
            let keys = try target?.allKeys(in: tx.view) ?? []
            for number in 0..<Int.random(in: 0...300, using: &random) {
                row.begin(table.layout)
                row.set(0, .text("\(random.text(3))\(number)"))
                row.set(1, random.chance(20) ? .null : .integer(Int64.random(in: 0...9, using: &random)))
                row.set(2, random.chance(20) ? .null : .text("\(random.pick(["a", "B", "b"])) \(random.text())"))
                row.set(3, .double(Double.random(in: -80...80, using: &random)))
                row.set(4, .double(Double.random(in: -170...170, using: &random)))
                if let target, !keys.isEmpty {
                    if random.chance(50) { row.set(5, try random.pick(keys).values(in: target.schema)[0]) }
                    if random.chance(50) {
                        row.set(6, .blob(KeyTree.list((0..<3).map { _ in .key(random.pick(keys)) }).encoded))
                    }
                }
                _ = try table.insert(&row, in: tx, changes: &changes)
            }
        }
    }

    /// The rows of every table, the faults of its indexes, and the changes; the error instead where there is one.
    private func outcome(
        _ store: Store, _ body: (Catalogue, borrowing WriteTransaction, inout ChangeSet) throws -> Int
    ) throws -> [String] {
        let tx = try store.beginWrite()
        var changes = ChangeSet()
        do {
            let count = try body(try Catalogue.load(view: tx.view), tx, &changes)
            let lines = changes.changes.map { "\($0.table) \($0.key) \($0.kind)" }.sorted()
            // The numbers of entries are verified; an emptied full-text index may keep its totals.
            let contents = try Fixture.contents(of: tx.view).filter { !$0.hasPrefix("mako.index") }
            return ["\(count)"] + lines + contents
        } catch let error as RecordError {
            return [String("\(error)".prefix { $0 != " " })]
        }
    }

    @Test(arguments: UInt64(0)..<60) func manyRowsAreDeletedAsOneByOne(seed: UInt64) throws {
        let store = try Schema(seed).store
        let share = [1, 3, 5, 8, 9][Int(seed % 5)]
        let condition = seed % 7 == 0 ? "TRUE" : "n < \(share) OR n IS NULL"
        let text = "DELETE FROM Main WHERE \(condition)"
        let together = try outcome(store) { catalogue, tx, changes in
            try Statement.parse(text).run(catalogue, in: tx, changes: &changes).changed
        }
        let single = try outcome(store) { catalogue, tx, changes in
            guard case .delete(let statement) = try Statement.parse(text) else { return -1 }
            var removal = RowRemoval(catalogue)
            let table = try catalogue.requireTable(Self.main)
            var count = 0
            for key in try statement.rows(catalogue, view: tx.view) {
                if try removal.delete(key, of: table, tx, &changes) { count += 1 }
            }
            try removal.finish(tx, &changes)
            return count
        }
        #expect(together == single)
    }

    @Test(arguments: UInt64(0)..<20) func manyRowsAreChangedAsOneByOne(seed: UInt64) throws {
        let store = try Schema(seed).store
        let together = try outcome(store) { catalogue, tx, changes in
            try Statement.parse("UPDATE Main SET n = n + 1, t = 'b ' || t WHERE n < 7")
                .run(catalogue, in: tx, changes: &changes).changed
        }
        let single = try outcome(store) { catalogue, tx, changes in
            let table = try catalogue.requireTable(Self.main)
            let layout = try table.layout(for: ["n", "t"])
            var row = RowWriter()
            var count = 0
            for key in try table.allKeys(in: tx.view) {
                let values = try table.withRow(key, layout: layout, in: tx.view) { ($0.value(0), $0.value(1)) }
                guard let (number, text) = values, case .integer(let number) = number, number < 7 else { continue }
                row.begin(layout)
                row.set(0, .integer(number + 1))
                if case .text(let text) = text { row.set(1, .text("b \(text)")) } else { row.setNull(1) }
                if try table.update(&row, key: key, in: tx, changes: &changes) { count += 1 }
            }
            return count
        }
        #expect(together == single)
    }

    // MARK: Ranges

    private func numbered(_ count: Int) throws -> StatementSession {
        let session = try StatementSession(
            "CREATE TABLE P (id INTEGER PRIMARY KEY, n INTEGER)", "CREATE INDEX pn ON P (n)")
        let rows = (1...count).map { "(\($0 * 2), \($0 % 100))" }.joined(separator: ", ")
        try session.run("INSERT INTO P (id, n) VALUES \(rows)")
        return session
    }

    /// Also where keys are missing or given twice, and where single rows follow.
    @Test func rangesOfRowsAreDeletedAndRowsBetweenThemStay() throws {
        let session = try numbered(2_000)
        let table = try session.table("P")
        var keys = (100..<900).filter { $0 != 500 }.map { RowKey.rowID(Int64($0) * 2) }
        keys += [.rowID(7), .rowID(2_000), .rowID(2_004), .rowID(2_006), .rowID(2_004), .rowID(4_000), .rowID(9_999)]
        var changes = ChangeSet()
        let count = try session.store.write { tx in try table.delete(keys.reversed(), in: tx, changes: &changes) }
        #expect(count == 803 && changes.count == 803)
        #expect(try session.rows("SELECT count(*) FROM P")[0] == [.integer(1_197)])
        #expect(try session.rows("SELECT id FROM P WHERE id BETWEEN 190 AND 1802").count == 8)
        #expect(try session.rows("SELECT id FROM P WHERE id IN (1000, 2002, 2008)").count == 3)
        #expect(try session.faults() == [])
    }

    /// As many keys as there are rows, ids without a gap among them, and ends alike: only the same ids are all rows.
    @Test(
        arguments: [[1, 2, 3, 4], [1, 2, 4, 5], [0, 2, 3, 4], [1, 2, 3, 5], [2, 3, 4, 5], [-9, 99]] as [[Int64]])
    func asManyKeysAsRows(ids: [Int64]) throws {
        let session = try StatementSession("CREATE TABLE P (id INTEGER PRIMARY KEY)")
        for id in ids { try session.run("INSERT INTO P (id) VALUES (\(id))") }
        let table = try session.table("P")
        var changes = ChangeSet()
        let keys = (1...Int64(ids.count)).map { RowKey.rowID($0) }
        let count = try session.store.write { tx in try table.delete(keys, in: tx, changes: &changes) }
        let deleted = ids.filter { $0 >= 1 && $0 <= ids.count }
        #expect(count == deleted.count && changes.changes.map(\.key) == deleted.map { .rowID($0) })
        #expect(
            try session.rows("SELECT id FROM P ORDER BY id").map { $0[0] }
                == ids.filter { !deleted.contains($0) }.map { .integer($0) })
    }

    /// In the order of the keys given.
    @Test func deletionsAreRecordedInTheOrderOfTheQuery() throws {
        let session = try numbered(20)
        var changes = ChangeSet()
        let keys: [RowKey] = [.rowID(8), .rowID(4), .rowID(3), .rowID(30)]
        let table = try session.table("P")
        try session.store.write { tx in _ = try table.delete(keys, in: tx, changes: &changes) }
        #expect(changes.changes.map(\.key) == [.rowID(8), .rowID(4), .rowID(30)])
    }

    @Test func theIDsOfDeletedLastRowsAreNotGivenAgain() throws {
        let session = try numbered(200)
        try session.run("DELETE FROM P WHERE id > 100")
        let reopened = StatementSession(store: session.store)
        try reopened.run("INSERT INTO P (n) VALUES (1)")
        #expect(try reopened.rows("SELECT max(id) FROM P")[0] == [.integer(401)])
    }

    @Test func rowImagesAreKeptOfEachDeletedRow() throws {
        let session = try numbered(300)
        let table = try session.table("P")
        var changes = ChangeSet()
        changes.keepRows(ofTables: ["P"])
        try session.store.write { tx in
            _ = try table.delete((1...200).map { .rowID($0 * 2) }, in: tx, changes: &changes)
        }
        for change in changes.changes {
            let image = changes.images(of: change, in: table)
            #expect(
                try image?.old?.withRow { $0.value(0) } == .integer((change.key.rowID ?? 0) / 2 % 100)
                    && image?.new == nil)
        }
        #expect(changes.count == 200)
    }

    // MARK: Rules

    /// The row and the number of the rows that refer to it, as if it were deleted alone.
    @Test func aDeniedSetNamesTheFirstRow() throws {
        let session = try numbered(50)
        try session.run("CREATE TABLE Q (id INTEGER PRIMARY KEY, p INTEGER REFERENCES P)")
        try session.run("INSERT INTO Q (p) VALUES (40), (20), (20), (60)")
        try session.store.write { tx in
            let catalogue = try Catalogue.load(view: tx.view)
            var rules = catalogue.rules
            rules.set(.init(.deny, isOwned: false), table: "Q", column: "p", target: "P")
            _ = try catalogue.adopting(rules, in: tx)
        }
        #expect(session.refusal("DELETE FROM P WHERE id < 50") == session.refusal("DELETE FROM P WHERE id = 20"))
        #expect(try session.run("DELETE FROM P WHERE id > 60").changed == 20)
    }

    @Test func aCancelledDeletionDeletesNothing() throws {
        let session = try numbered(5_000)
        let cancellation = Cancellation()
        let tx = try session.store.beginWrite()
        let table = try session.table("P")
        cancellation.cancel()
        var changes = ChangeSet()
        #expect(throws: RecordError.cancelled) {
            try table.delete(
                (1...4_000).map { .rowID($0 * 2) }, in: tx, changes: &changes, cancellation: cancellation)
        }
        #expect(try table.count(in: tx.view) == 5_000 && changes.isEmpty)
    }
}
