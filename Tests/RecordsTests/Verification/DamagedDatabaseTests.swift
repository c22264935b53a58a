import MakoRecords
import MakoStorage
import MakoTestSupport
import Testing

/// The check of a whole database with damaged pages and tables, and the salvage of tables that hold keys.
@Suite struct DamagedDatabaseTests {
    private typealias Base = TableSalvageTests

    private func report(_ image: DiskImage) throws -> DatabaseReport {
        let store = try Store(at: Base.path, options: Base.options(SimulatedDisk(image)))
        let report = try Catalogue.verify(store)
        try store.close()
        return report
    }

    @Test func anUndamagedDatabaseHasNoFindings() throws {
        let report = try report(Base.sample())
        #expect(report.findings.isEmpty && report.tables == 2 && report.rows > 500)
    }

    /// The page is named, and the table that cannot be read to its end; the others are looked at all the same.
    @Test func damagedPagesOfRowsAreFound() throws {
        let image = try Base.sample()
        let pages = try Base.pages(image, ofTrees: "mako.rows.1", ["integerLeaf"])
        let report = try report(Base.destroy([pages[pages.count / 2]], in: image))
        #expect(report.findings.contains { $0.contains("page \(pages[pages.count / 2])") }, "\(report.findings)")
        #expect(report.findings.contains { $0.hasPrefix("table Person: ") }, "\(report.findings)")
        #expect(report.tables == 2 && report.rows > 0)
    }

    @Test func tablesThatCannotBeReadAreAFinding() throws {
        let disk = SimulatedDisk(try Base.sample())
        let store = try Store(at: Base.path, options: Base.options(disk))
        try store.write { tx in try tx.dropTree(try #require(tx.view.tree(named: "mako.ids"))) }
        let report = try Catalogue.verify(store)
        #expect(report.findings.count == 1 && report.tables == 0)
        #expect(report.findings.first?.hasPrefix("the tables cannot be read: ") == true)
        try store.close()
    }

    /// A salvage rebuilds the index of held keys, without the row whose bytes are not keys.
    @Test func keysThatRowsHoldAreSalvaged() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: Base.path, options: Base.options(disk))
        let holder = EntitySchema(
            name: "Holder", columns: [ColumnSchema("held", .keys, isOptional: true, target: "Holder")],
            indexes: [IndexSchema("held", [IndexColumn("held")])])
        try store.write { tx in
            _ = try Catalogue.migrate(to: holder, in: tx)
            let table = try Catalogue.load(view: tx.view).requireTable("Holder")
            var changes = ChangeSet()
            var row = RowWriter()
            for keys in [[2, 3], [3], []] as [[Int64]] {
                row.begin(table.layout)
                row.set(0, .blob(KeyTree.list(keys.map { .key(.rowID($0)) }).encoded))
                _ = try table.insert(&row, in: tx, changes: &changes)
            }
            row.begin(table.layout)
            row.set(0, [9, 9])
            let bytes = Array(try row.finish())
            try tx.put(bytes, for: KeyOrder.treeKey(9), in: table.rows)
        }
        try store.close()
        let report = try Catalogue.salvage(from: Base.path, to: Base.target, options: Base.options(disk))
        #expect(report.tables.map(\.rows) == [3])
        #expect(report.tables.first?.lostKeys == [.rowID(9)])
        let saved = try Store(at: Base.target, options: Base.options(disk))
        let view = try saved.snapshot()
        let table = try Catalogue.load(view: view).requireTable("Holder")
        #expect(try table.verify(in: view) == [])
        #expect(try table.keys(holding: .rowID(3), in: "held", view: view) == [.rowID(1), .rowID(2)])
        view.close()
        try saved.close()
    }
}
