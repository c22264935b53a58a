import MakoStorage
import MakoTestSupport
import Testing

@testable import MakoRecords

/// Table descriptions that contradict each other or their rows: a salvage makes the rest usable, and reports its
/// repairs.
@Suite struct CatalogueSalvageTests {
    private typealias Base = TableSalvageTests

    /// A database with the tables Person (1) and City (2), changed by a hand that knows the engine alone.
    private static func changed(_ change: (borrowing WriteTransaction) throws -> Void) throws -> DiskImage {
        let disk = SimulatedDisk(try Base.sample())
        let store = try Store(at: Base.path, options: Base.options(disk))
        try store.write { tx in try change(tx) }
        try store.close()
        return disk.settledImage()
    }

    private static func put(_ record: TableRecord, as name: String, _ tx: borrowing WriteTransaction) throws {
        let catalogue = try #require(tx.view.tree(named: Catalogue.treeName))
        try tx.put(record.encoded(), for: StoredCatalogue.key(name), in: catalogue)
    }

    private static func record(_ name: String, _ view: Snapshot) throws -> TableRecord {
        try #require(try StoredCatalogue.records(in: view).first { $0.schema.name == name })
    }

    /// Opens what was salvaged and works with it.
    private static func use(
        _ image: DiskImage, _ work: (Catalogue, borrowing WriteTransaction) throws -> Void
    ) throws {
        let disk = SimulatedDisk(image)
        _ = try Catalogue.salvage(from: Base.path, to: Base.target, options: Base.options(disk))
        let store = try Store(at: Base.target, options: Base.options(disk))
        let catalogue = try Catalogue.load(view: store.snapshot())
        try store.write { tx in try work(catalogue, tx) }
        for table in catalogue.handles { #expect(try table.verify(in: store.snapshot()) == []) }
        try store.close()
    }

    private static func insertCity(_ catalogue: Catalogue, _ tx: borrowing WriteTransaction) throws -> RowKey {
        var changes = ChangeSet()
        var row = RowWriter()
        let table = try catalogue.requireTable("City")
        row.begin(table.layout)
        row.set(0, "Turin")
        row.set(1, Int64(5))
        return try table.insert(&row, in: tx, changes: &changes)
    }

    /// A table was renamed, and the entry under its old name came back.
    @Test(arguments: ["Abc", "Zed"]) func ofTwoDescriptionsTheNewerCounts(old: String) throws {
        let image = try Self.changed { tx in
            var record = try Self.record("Person", tx.view)
            record.schema.version = 0
            try Self.put(record, as: old, tx)
        }
        let (report, state) = try Base.salvage(image)
        #expect(report.findings == ["table \(old) is an older description of Person"])
        #expect(report.undescribed.isEmpty && report.tables.map(\.name) == ["City", "Person"])
        #expect(try state == Base.state(Base.sample()))
    }

    @Test func aDescriptionThatDoesNotFitItsRowsIsTakenAway() throws {
        let image = try Self.changed { tx in
            var record = try Self.record("Person", tx.view)
            record.schema.key = .columns(["name"])
            try Self.put(record, as: "Person", tx)
        }
        let (report, state) = try Base.salvage(image)
        #expect(report.findings == ["the description of table Person does not fit its rows"])
        #expect(report.undescribed.map(\.name) == ["Person"] && report.undescribed.map(\.tree) == ["mako.rows.1"])
        #expect(report.undescribed.allSatisfy { $0.rows > 100 } && !report.isComplete)
        #expect(Array(state.tables.keys) == ["City"])
        #expect(try state.tables["City"] == Base.state(Base.sample()).tables["City"])
    }

    @Test func aTableWhoseRowsAreNowhereIsEmpty() throws {
        let image = try Self.changed { tx in try tx.dropTree(try #require(tx.view.tree(named: "mako.rows.2"))) }
        let (report, state) = try Base.salvage(image)
        #expect(report.findings == ["the rows of table City were not found under their name; it is empty"])
        #expect(!report.isComplete && report.tables.first { $0.name == "City" }?.missing == nil)
        #expect(state.tables["City"]?.rows.isEmpty == true)
        #expect(try state.tables["Person"] == Base.state(Base.sample()).tables["Person"])
        try Self.use(image) { catalogue, tx in
            let key = try Self.insertCity(catalogue, tx)
            #expect(key == RowKey(values: [.text("Turin")]))
        }
    }

    @Test func nextIDsThatAreNoNumbersAreFoundAnew() throws {
        let image = try Self.changed { tx in
            let ids = try #require(tx.view.tree(named: RowIDSequence.treeName))
            for table in 1...2 as ClosedRange<UInt64> { try tx.put([1, 2], for: table, in: ids) }
        }
        let last = try Base.state(Base.sample()).tables["Person"]?.rows.keys.compactMap(\.rowID).max()
        try Self.use(image) { catalogue, tx in
            let id = try catalogue.requireTable("Person").reserveRowID(in: tx)
            #expect(id == (last ?? 0) + 1)
            _ = try Self.insertCity(catalogue, tx)
        }
    }

    /// Its number is the largest there is: no other table can get one above it, but those that are there go on.
    @Test func rowsUnderTheLargestNumberKeepNewTablesOut() throws {
        let image = try Self.changed { tx in
            let tree = try tx.createTree(named: "mako.rows.\(UInt32.max)", keys: .integer)
            try tx.put([1], for: 1, in: tree)
        }
        let (report, _) = try Base.salvage(image)
        #expect(report.undescribed.map(\.tree) == ["mako.rows.\(UInt32.max)"])
        try Self.use(image) { catalogue, tx in
            let full = RecordError.catalogueDamaged(reason: "it has given out every table number")
            #expect(throws: full) { try Catalogue.migrate(to: EntitySchema(name: "New", columns: []), in: tx) }
            _ = try Self.insertCity(catalogue, tx)
        }
    }

    @Test func aCatalogueThatIsEmptyIsWhole() throws {
        let image = try Self.changed { tx in
            for name in ["Person", "City"] {
                let isDropped = try Catalogue.dropTable(name, in: tx)
                #expect(isDropped)
            }
        }
        let (report, state) = try Base.salvage(image)
        #expect(report.isComplete && report.tables.isEmpty && state.tables.isEmpty)
    }

    // MARK: Values that are too long for their page or their index

    private static let poem = EntitySchema(
        name: "Poem", columns: [ColumnSchema("title", .text), ColumnSchema("text", .text)], key: .columns(["title"]),
        indexes: [IndexSchema("Poem.text", [IndexColumn("text")], isUnique: true)])

    private static func poems(_ texts: [String]) throws -> DiskImage {
        let disk = SimulatedDisk()
        let store = try Store(at: Base.path, options: Base.options(disk))
        try store.write { tx in
            _ = try Catalogue.migrate(to: poem, in: tx)
            let table = try Catalogue.load(view: tx.view).requireTable("Poem")
            var changes = ChangeSet()
            var row = RowWriter()
            for (number, text) in texts.enumerated() {
                row.begin(table.layout)
                row.set(0, "poem \(number)")
                row.set(1, text)
                _ = try table.insert(&row, in: tx, changes: &changes)
            }
        }
        try store.close()
        return disk.settledImage()
    }

    private static func key(_ number: Int) -> RowKey { RowKey(values: [.text("poem \(number)")]) }

    @Test func rowsWithLostValuesAreNamedByTheirKeyColumns() throws {
        let long = String(repeating: "la ", count: 8000)
        let image = try Self.poems((0..<30).map { $0 % 10 == 7 ? long + "\($0)" : "short \($0)" })
        let pages = try Base.pages(image, ofTrees: "mako.rows.", ["overflow"])
        let (report, state) = try Base.salvage(Base.destroy(pages, in: image))
        let poem = try #require(report.tables.first)
        #expect(poem.lostKeys.map(\.key) == [17, 27, 7].map(Self.key) && poem.lost == 3 && poem.missing == 0)
        #expect(!report.isComplete)
        #expect(state.tables["Poem"]?.rows.count == 27 && state.tables["Poem"]?.rows[Self.key(8)] != nil)
    }

    /// Such values stand in the index by their beginning: only the rows tell whether they are the same.
    @Test func ofRowsThatShareALongUniqueValueTheLastStays() throws {
        let long = String(repeating: "la ", count: 800)
        let disk = SimulatedDisk(try Self.poems([long + "a", long + "b", long + "c", long + "d", "e"]))
        let store = try Store(at: Base.path, options: Base.options(disk))
        try store.write { tx in
            let table = try Catalogue.load(view: tx.view).requireTable("Poem")
            var row = RowWriter()
            for number in [1, 3] {
                row.begin(table.layout)
                row.set(0, "poem \(number)")
                row.set(1, long + "a")
                guard case .bytes(let key) = Self.key(number) else { return }
                try tx.put([UInt8](row.finish()), for: key, in: table.rows)
            }
        }
        try store.close()
        let (report, state) = try Base.salvage(disk.settledImage())
        let poem = try #require(report.tables.first)
        #expect(poem.conflicts.map(\.key) == [0, 1].map(Self.key) && !report.isComplete)
        #expect(Set(state.tables["Poem"]?.rows.keys.map { $0 } ?? []) == Set([2, 3, 4].map(Self.key)))
    }
}
