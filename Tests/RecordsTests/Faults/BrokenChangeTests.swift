import MakoRecords
import MakoStorage
import MakoTestSupport
import Testing

/// The disk fails in the middle of a change, and the transaction catches the error and commits: rows and indexes still
/// agree.
@Suite struct BrokenChangeTests {
    private static let path = "d/t.mako"
    private static let schema = EntitySchema(
        name: "T",
        columns: [ColumnSchema("name", .text), ColumnSchema("number", .integer), ColumnSchema("text", .text)],
        indexes: [
            IndexSchema("name", [IndexColumn("name")], isUnique: true), IndexSchema("number", [IndexColumn("number")]),
            IndexSchema("text", [IndexColumn("text"), IndexColumn("number")]),
        ])

    private static func options(_ disk: SimulatedDisk) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.entropy = SeededEntropy(seed: 3)
        options.logSegmentBytes = 256 << 10
        // Nothing stays in memory: each call reads.
        options.cacheBytes = 1
        return options
    }

    private static func fill(_ writer: inout RowWriter, _ layout: RowLayout, _ number: Int) {
        writer.begin(layout)
        writer.set(0, .text("name \(number * 7919 % 1000) of \(number)"))
        writer.set(1, .integer(Int64(number * 31 % 977)))
        writer.set(2, .text(String(repeating: "\(number * 13 % 89) ", count: 60)))
    }

    private static let image: Result<DiskImage, any Error> = Result {
        let disk = SimulatedDisk(seed: 1)
        let store = try Store(at: path, options: options(disk))
        try store.write { tx in
            _ = try Catalogue.migrate(to: schema, in: tx)
            let table = try Catalogue.load(view: tx.view).requireTable("T")
            var writer = RowWriter()
            var changes = ChangeSet()
            for number in 0..<1500 {
                fill(&writer, table.layout, number)
                _ = try table.insert(&writer, in: tx, changes: &changes)
            }
        }
        try store.close()
        return disk.settledImage()
    }

    enum Change: CaseIterable { case insert, update, move, delete, deleteAll, batch }

    private func make(
        _ change: Change, _ table: TableHandle, _ tx: borrowing WriteTransaction, _ batch: IndexBatch
    ) throws {
        var writer = RowWriter()
        var changes = ChangeSet()
        switch change {
        case .insert:
            BrokenChangeTests.fill(&writer, table.layout, 5000)
            _ = try table.insert(&writer, in: tx, changes: &changes)
        case .update:
            writer.begin(table.layout)
            writer.set(1, .integer(3))
            writer.set(0, .text("another"))
            _ = try table.update(&writer, key: .rowID(700), in: tx, changes: &changes)
        case .move:
            BrokenChangeTests.fill(&writer, table.layout, 5001)
            _ = try table.put(&writer, key: .rowID(300), in: tx, changes: &changes)
        case .delete: _ = try table.delete(.rowID(900), in: tx, changes: &changes)
        case .deleteAll: _ = try table.deleteAll(in: tx, changes: &changes)
        case .batch:
            for number in 0..<40 {
                BrokenChangeTests.fill(&writer, table.layout, 6000 + number)
                _ = try table.insert(&writer, in: tx, changes: &changes, batch: batch)
            }
            try batch.flush(in: tx)
        }
    }

    @Test(arguments: Change.allCases) func aBrokenChangeIsNotCommitted(change: Change) throws {
        let image = try BrokenChangeTests.image.get()
        var refused = 0
        for call in 0..<400 {
            let disk = SimulatedDisk(image)
            let store = try Store(at: BrokenChangeTests.path, options: BrokenChangeTests.options(disk))
            let tx = try store.beginWrite()
            let table = try Catalogue.load(view: tx.view).requireTable("T")
            disk.inject(.inputOutput, atCall: disk.callCount + call)
            let isWhole = (try? make(change, table, tx, IndexBatch())) != nil
            disk.clearFaults()
            do {
                try tx.commit()
            } catch {
                #expect(!isWhole)
                refused += 1
            }
            let view = try store.snapshot()
            #expect(try table.verify(in: view) == [], "\(change), call \(call)")
            try store.close()
            if isWhole { break }
        }
        #expect(refused > 0)
    }

    /// A rollback to a savepoint repairs a broken change.
    @Test func aBrokenChangeIsRolledBackToASavepoint() throws {
        let disk = SimulatedDisk(try BrokenChangeTests.image.get())
        let store = try Store(at: BrokenChangeTests.path, options: BrokenChangeTests.options(disk))
        let tx = try store.beginWrite()
        let table = try Catalogue.load(view: tx.view).requireTable("T")
        let savepoint = tx.savepoint()
        disk.inject(.inputOutput, atCall: disk.callCount + 6)
        #expect(throws: RecordError.self) { try make(.insert, table, tx, IndexBatch()) }
        disk.clearFaults()
        #expect(throws: RecordError.self) { try make(.insert, table, tx, IndexBatch()) }
        try tx.rollback(to: savepoint)
        try make(.insert, table, tx, IndexBatch())
        try tx.commit()
        let view = try store.snapshot()
        #expect(try table.verify(in: view) == [])
        #expect(try table.count(in: view) == 1501)
        try store.close()
    }
}
