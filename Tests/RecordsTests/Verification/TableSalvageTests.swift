import MakoRecords
import MakoStorage
import MakoTestSupport
import RandomRuns
import Testing

/// A salvaged database has tables whose indexes agree with their rows, and the report names what is lost.
@Suite struct TableSalvageTests {
    static let path = "d/records.mako"
    static let target = "d/saved.mako"

    static let person = EntitySchema(
        name: "Person",
        columns: [
            ColumnSchema("name", .text), ColumnSchema("number", .integer, isOptional: true),
            ColumnSchema("notes", .text, default: .text("")),
        ],
        indexes: [
            IndexSchema("Person.name", [IndexColumn("name")]),
            IndexSchema("Person.number", [IndexColumn("number")], isUnique: true),
        ])
    static let city = EntitySchema(
        name: "City", columns: [ColumnSchema("code", .text), ColumnSchema("people", .integer)],
        key: .columns(["code"]), indexes: [IndexSchema("City.people", [IndexColumn("people", descending: true)])])

    static func options(_ disk: SimulatedDisk) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.entropy = SeededEntropy(seed: 12)
        options.cacheBytes = 1 << 20
        options.logSegmentBytes = 1 << 20
        return options
    }

    /// Two tables over some hundred pages, rows of which were changed and deleted over several checkpoints.
    static func sample(closing: Bool = true) throws -> DiskImage {
        let disk = SimulatedDisk()
        let store = try Store(at: path, options: options(disk))
        try store.write { tx in
            _ = try Catalogue.migrate(to: person, in: tx)
            _ = try Catalogue.migrate(to: city, in: tx)
        }
        let catalogue = try Catalogue.load(view: store.snapshot())
        let people = try catalogue.requireTable("Person")
        let cities = try catalogue.requireTable("City")
        for round in 0..<3 {
            try store.write { tx in
                var changes = ChangeSet()
                for number in round * 300..<round * 300 + 400 {
                    var row = RowWriter()
                    row.begin(people.layout)
                    row.set(0, "person \(number % 50)")
                    if number % 3 > 0 { row.set(1, Int64(round * 10_000 + number)) }
                    row.set(2, String(repeating: "note \(number) ", count: number % 200 == 7 ? 900 : 12))
                    _ = try people.insert(&row, in: tx, changes: &changes)
                    guard round == 0 || number % 400 > 300 else { continue }
                    row.begin(cities.layout)
                    row.set(0, "city \(round) \(number)")
                    row.set(1, Int64(number / 7))
                    _ = try cities.insert(&row, in: tx, changes: &changes)
                }
                for id in stride(from: 1 + Int64(round) * 300, to: Int64(round) * 300 + 300, by: 7) {
                    _ = try people.delete(.rowID(id), in: tx, changes: &changes)
                }
            }
            if round < 2 { try store.checkpoint() }
        }
        if closing { try store.close() }
        let image = disk.settledImage()
        disk.cutPower()
        return image
    }

    static func state(_ image: DiskImage, _ path: String = path) throws -> RecordState {
        let store = try Store(at: path, options: options(SimulatedDisk(image)))
        let state = try store.read { try RecordState(reading: $0) }
        try store.close()
        return state
    }

    static func salvage(_ image: DiskImage) throws -> (report: TableSalvageReport, state: RecordState) {
        let disk = SimulatedDisk(image)
        let report = try Catalogue.salvage(from: path, to: target, options: options(disk))
        let after = disk.settledImage()
        #expect(after.files[path] == image.files[path])
        let state = try state(after, target)
        for table in report.tables { #expect(state.tables[table.name]?.rows.count == table.rows) }
        return (report, state)
    }

    /// The pages of these types in trees whose names have this prefix.
    static func pages(_ image: DiskImage, ofTrees prefix: String, _ types: [String]) throws -> [Int] {
        let inspection = try PageInspection(path: path, fileSystem: SimulatedDisk(image))
        return try (0..<Int(inspection.pageCount)).filter { number in
            let page = try inspection.page(UInt64(number))
            guard page.use == .inUse, let tree = page.treeName, let type = page.header.typeName else { return false }
            return tree.hasPrefix(prefix) && types.contains(type)
        }
    }

    static func destroy(_ pages: [Int], in image: DiskImage) -> DiskImage {
        var image = image
        for page in pages {
            image.files[path]?.replace(
                at: UInt64(page * pageBytes), with: (0..<pageBytes).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        }
        return image
    }

    // MARK: Tests

    @Test(arguments: [true, false]) func anUndamagedDatabaseIsGivenBackWhole(closing: Bool) throws {
        let image = try Self.sample(closing: closing)
        let (report, state) = try Self.salvage(image)
        #expect(report.isComplete)
        #expect(try state == Self.state(image))
        #expect(report.tables.map(\.name) == ["City", "Person"])
        #expect(report.undescribed.isEmpty && report.findings.isEmpty)
    }

    @Test func aStoreWithoutTablesIsSalvagedToo() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: Self.path, options: Self.options(disk))
        try store.write { tx in
            let tree = try tx.createTree(named: "plain", keys: .integer)
            try tx.put([1, 2, 3], for: 1, in: tree)
        }
        try store.close()
        let report = try Catalogue.salvage(from: Self.path, to: Self.target, options: Self.options(disk))
        #expect(report.isComplete && report.tables.isEmpty)
        #expect(report.storage.trees.map(\.name) == ["plain"])
    }

    @Test func lostIndexesAreBuiltAnew() throws {
        let image = try Self.sample()
        let pages = try Self.pages(image, ofTrees: "mako.index.", ["byteLeaf", "byteInner"])
        #expect(pages.count > 10)
        let (report, state) = try Self.salvage(Self.destroy(pages, in: image))
        #expect(try state == Self.state(image))
        #expect(report.isComplete, "only indexes were damaged")
        #expect(!report.storage.isComplete)
    }

    @Test func indexesAgreeWithTheRowsThatAreLeft() throws {
        let image = try Self.sample()
        let whole = try Self.state(image)
        let rows = try Self.pages(image, ofTrees: "mako.rows.", ["integerLeaf", "byteLeaf", "overflow"])
        for seed in 0..<UInt64(8) {
            var random = SplitMix(seed: seed)
            let lost = (0..<4).map { _ in rows[random.below(rows.count)] }
            let (report, state) = try Self.salvage(Self.destroy(lost, in: image))
            #expect(!report.isComplete)
            #expect(report.tables.contains { $0.missing ?? 0 > 0 || $0.lost > 0 })
            for (name, table) in state.tables {
                for (key, row) in table.rows where whole.tables[name]?.rows[key] != row {
                    Issue.record("seed \(seed): \(name) \(key) never was")
                }
                let notified = report.tables.first { $0.name == name }
                for key in whole.tables[name]?.rows.keys.filter({ table.rows[$0] == nil }) ?? [] {
                    let isNotified = notified?.lostKeys.contains { $0.key == key } ?? false
                    #expect(
                        isNotified || notified?.damagedRanges.contains { Self.contains($0, key) } ?? false, "\(key)")
                }
                let lost = report.tables.first { $0.name == name }.map { Int($0.lost + ($0.missing ?? 0)) }
                #expect(table.rows.count + (lost ?? 0) == whole.tables[name]?.rows.count)
            }
        }
    }

    private static func contains(_ range: TableSalvageReport.KeyRange, _ key: RowKey) -> Bool {
        func isBelow(_ a: RowKey, _ b: RowKey) -> Bool {
            switch (a, b) {
            case (.rowID(let a), .rowID(let b)): a < b
            case (.bytes(let a), .bytes(let b)): a.lexicographicallyPrecedes(b)
            default: false
            }
        }
        return !(range.lower.map { isBelow(key, $0.key) } ?? false) && range.upper.map { isBelow(key, $0.key) } ?? true
    }

    @Test func rowsThatHoldNonsenseAreLeftOutAndNamed() throws {
        let disk = SimulatedDisk(try Self.sample())
        let store = try Store(at: Self.path, options: Self.options(disk))
        try store.write { tx in
            let people = try #require(tx.view.tree(named: "mako.rows.1"))
            try tx.put([1, 2, 3], for: KeyOrder.treeKey(2), in: people)
            let cities = try #require(tx.view.tree(named: "mako.rows.2"))
            try tx.put([1, 2, 3, 4], for: [9, 9, 9], in: cities)
        }
        try store.close()
        let (report, state) = try Self.salvage(disk.settledImage())
        #expect(report.tables.map(\.lostKeys) == [[NamedKey(.bytes([9, 9, 9]), in: nil)], [.rowID(2)]])
        #expect(report.tables.map(\.lost) == [1, 1])
        #expect(state.tables["Person"]?.rows[.rowID(2)] == nil)
        #expect(state.tables["Person"]?.rows[.rowID(3)] != nil)
    }

    @Test func aTableWithoutItsDescriptionIsReported() throws {
        let disk = SimulatedDisk(try Self.sample())
        let store = try Store(at: Self.path, options: Self.options(disk))
        try store.write { tx in
            let catalogue = try #require(tx.view.tree(named: Catalogue.treeName))
            try tx.put([1, 2, 3], for: [1] + Array("City".utf8), in: catalogue)
            try tx.put([7], for: [0], in: catalogue)
        }
        try store.close()
        let (report, state) = try Self.salvage(disk.settledImage())
        #expect(Array(state.tables.keys) == ["Person"])
        #expect(report.undescribed.contains { $0.name == "City" })
        #expect(report.undescribed.contains { $0.tree == "mako.rows.2" && $0.rows > 100 })
        #expect(!report.isComplete)
        // A table that is made now must not take the other's number, and with it its rows.
        let saved = try Store(at: Self.target, options: Self.options(try Self.salvaged(disk.settledImage())))
        try saved.write { tx in _ = try Catalogue.migrate(to: Self.city, in: tx) }
        #expect(try Catalogue.load(view: saved.snapshot()).requireTable("City").count(in: saved.snapshot()) == 0)
    }

    private static func salvaged(_ image: DiskImage) throws -> SimulatedDisk {
        let disk = SimulatedDisk(image)
        _ = try Catalogue.salvage(from: path, to: target, options: options(disk))
        return disk
    }

    @Test func aLostCatalogueLeavesTheRows() throws {
        let image = try Self.sample()
        let pages = try Self.pages(image, ofTrees: Catalogue.treeName, ["byteLeaf"])
        let (report, state) = try Self.salvage(Self.destroy(pages, in: image))
        #expect(state.tables.isEmpty)
        #expect(report.undescribed.compactMap(\.tree) == ["mako.rows.1", "mako.rows.2"])
        #expect(report.undescribed.allSatisfy { $0.rows > 100 })
    }

    /// Rows that share a unique value, as stale ones may come back with.
    @Test func ofRowsThatExcludeEachOtherOneStays() throws {
        let disk = SimulatedDisk(try Self.sample())
        let store = try Store(at: Self.path, options: Self.options(disk))
        try store.write { tx in
            let people = try #require(tx.view.tree(named: "mako.rows.1"))
            for (from, to) in [(3, 2001), (6, 2002)] as [(Int64, Int64)] {
                let bytes = try #require(try tx.view.get(KeyOrder.treeKey(from), in: people))
                try tx.put(bytes, for: KeyOrder.treeKey(to), in: people)
            }
        }
        try store.close()
        let (report, state) = try Self.salvage(disk.settledImage())
        let person = try #require(report.tables.first { $0.name == "Person" })
        #expect(Set(person.conflicts) == [.rowID(3), .rowID(6)])
        #expect(state.tables["Person"]?.rows[.rowID(2001)] != nil)
        #expect(!report.isComplete)
    }

    @Test func aHundredthOfAllPagesMayBeLost() throws {
        let image = try Self.sample(closing: false)
        let whole = try Self.state(image)
        let count = Int(image.files[Self.path]?.size ?? 0) / pageBytes
        for seed in 0..<UInt64(10) {
            var random = SplitMix(seed: seed &+ 50)
            let pages = (0..<max(2, count / 100)).map { _ in random.below(count) }
            let (report, state) = try Self.salvage(Self.destroy(pages, in: image))
            guard report.storage.isCertain else { continue }
            for (name, table) in state.tables {
                for (key, row) in table.rows where whole.tables[name]?.rows[key] != row {
                    Issue.record("seed \(seed): \(name) \(key) never was")
                }
            }
        }
    }

    @Test func aFullDiskLeavesNothing() throws {
        let image = try Self.sample()
        let calls = SimulatedDisk(image)
        _ = try Catalogue.salvage(from: Self.path, to: Self.target, options: Self.options(calls))
        for call in stride(from: 20, to: calls.callLog.count, by: 9) where calls.callLog[call].needsSpace {
            let disk = SimulatedDisk(image)
            disk.inject(.staysFull, atCall: call)
            do throws(RecordError) {
                _ = try Catalogue.salvage(from: Self.path, to: Self.target, options: Self.options(disk))
                Issue.record("call \(call) did not matter")
            } catch {
                if case .storage(.diskFull) = error {} else { Issue.record("call \(call): \(error)") }
            }
            #expect(disk.settledImage().files[Self.target] == nil)
        }
    }
}
