import MakoStorage
import MakoTestSupport
import Testing

@testable import MakoRecords

/// Numbers of the catalogue, the row ids and the history set to others: what they say is refused, found by the check of the database, or makes
/// no difference.
@Suite struct ForgedCatalogueTests {
    private static let partial: IndexSchema = {
        var index = IndexSchema("A.few", [IndexColumn("n")])
        index.condition = "n > 5"
        return index
    }()
    private static let schemas = [
        EntitySchema(
            name: "A", columns: [ColumnSchema("name", .text), ColumnSchema("n", .integer, default: .integer(3))],
            indexes: [
                IndexSchema("A.name", [IndexColumn("name")]),
                Self.partial,
            ]),
        EntitySchema(
            name: "B", columns: [ColumnSchema("code", .text), ColumnSchema("size", .double)], key: .columns(["code"]),
            indexes: [IndexSchema("B.size", [IndexColumn("size")], isUnique: true)]),
    ]

    private let fixture: Fixture
    private let history = HistoryWriter(SeededEntropy(seed: 4))

    init() throws {
        fixture = try Fixture(Self.schemas[0], Self.schemas[1])
        try fixture.store.write { tx in try history.begin(HistoryLimits(), date: 0, in: tx) }
        for number in 0..<3 {
            try fixture.store.write { tx in
                var changes = ChangeSet()
                try insert(number, tx, &changes)
                // The next id is stored when the row with the last one goes.
                if number == 2 {
                    let table = try Catalogue.load(view: tx.view).requireTable("A")
                    _ = try table.delete(.rowID(3), in: tx, changes: &changes)
                }
                try history.append(changes, fixture.catalogue, date: 1, in: tx)
            }
        }
    }

    private func insert(_ number: Int, _ tx: borrowing WriteTransaction, _ changes: inout ChangeSet) throws {
        let catalogue = try Catalogue.load(view: tx.view)
        var row = RowWriter()
        for (name, values) in [
            ("A", [Value.text("row \(number)"), .integer(Int64(number * 4))]),
            ("B", [.text("code \(number)"), .double(Double(number))]),
        ] {
            let table = try catalogue.requireTable(name)
            row.begin(table.layout)
            for (place, value) in values.enumerated() { row.set(place, value) }
            _ = try table.insert(&row, in: tx, changes: &changes)
        }
    }

    /// All rows, by table and key.
    private func rows(_ view: Snapshot) throws -> [String] {
        var rows: [String] = []
        for table in try Catalogue.load(view: view).handles {
            try table.scan(in: view) { key, row in
                rows.append("\(table.schema.name) \(key): \((0..<table.layout.count).map { row.value($0) })")
                return true
            }
        }
        return rows
    }

    private func change(
        _ name: String, _ key: [UInt8], _ forged: [UInt8], in store: Store
    ) throws {
        let number = key.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        try store.write { tx in
            let tree = try #require(tx.view.tree(named: name))
            if tree.keys == .integer {
                try tx.put(forged, for: number, in: tree)
            } else {
                try tx.put(forged, for: key, in: tree)
            }
        }
    }

    /// Each byte of each entry of the catalogue, the ids and the history, set to some other values.
    @Test(arguments: ["mako.catalogue", "mako.ids", "mako.history"])
    func forgedEntriesAreRefusedFoundOrHarmless(name: String) throws {
        let store = fixture.store
        let view = try store.snapshot()
        let wanted = try rows(view)
        let tree = try #require(view.tree(named: name))
        var entries: [(key: [UInt8], bytes: [UInt8])] = []
        var cursor = try view.cursor(in: tree)
        var isThere = try cursor.first()
        while isThere {
            let number = (0..<8).map { UInt8(truncatingIfNeeded: cursor.integerKey >> UInt64(56 - $0 * 8)) }
            entries.append((tree.keys == .integer ? number : cursor.key, try cursor.value()))
            isThere = try cursor.next()
        }
        #expect(!entries.isEmpty)
        var (refused, found, harmless) = (0, 0, 0)
        for (key, bytes) in entries {
            for place in bytes.indices {
                for value in [0, 1, 0x7f, 0x80, 0xff, bytes[place] ^ 1] as [UInt8] where value != bytes[place] {
                    var forged = bytes
                    forged[place] = value
                    try change(name, key, forged, in: store)
                    do {
                        let report = try Catalogue.verify(store)
                        if report.isClean {
                            let shown = try store.read { try rows($0) }
                            // Names and fill values are no numbers: another one is another table.
                            if shown.count == wanted.count { harmless += 1 } else { found += 1 }
                            try use(store)
                        } else {
                            found += 1
                        }
                    } catch is RecordError { refused += 1 }
                }
            }
            try change(name, key, bytes, in: store)
        }
        #expect(try Catalogue.verify(store).findings == [])
        // Any number may be the next id.
        let least = name == "mako.ids" ? 2 : 20
        #expect(refused + found > least, "\(refused) refused, \(found) found, \(harmless) harmless")
    }

    /// Writes to the database, and rolls back.
    private func use(_ store: Store) throws {
        let tx = try store.beginWrite()
        do {
            var changes = ChangeSet()
            try insert(100, tx, &changes)
            _ = try Catalogue.migrate(to: EntitySchema(name: "C", columns: [ColumnSchema("n", .integer)]), in: tx)
            let writer = HistoryWriter(SeededEntropy(seed: 5))
            try writer.append(changes, try Catalogue.load(view: tx.view), date: 2, in: tx)
            _ = try HistoryPage(after: nil, limit: 10, in: tx.view)
        } catch is RecordError {}
        tx.rollback()
    }

    /// Two tables with one number would have the same rows.
    @Test func tablesWithTheSameNumberAreRefused() throws {
        let store = fixture.store
        let view = try store.snapshot()
        let tree = try #require(view.tree(named: Catalogue.treeName))
        let bytes = try #require(try view.get(StoredCatalogue.key("A"), in: tree))
        try change(Catalogue.treeName, StoredCatalogue.key("Again"), bytes, in: store)
        let error = Fixture.error { _ = try Catalogue.load(view: store.snapshot()) }
        #expect("\(try #require(error))".contains("the same number"))
        #expect(try Catalogue.verify(store).findings.count == 1)
    }

    @Test func aTableNumberIsNotGivenAgain() throws {
        let store = fixture.store
        try change(Catalogue.treeName, [0], [1, 1, 0, 0, 0], in: store)
        let found = try Catalogue.verify(store).findings
        #expect(found == ["the number of the next table is 1, but table 2 is there"])
        let error = Fixture.error {
            try store.write { tx in
                _ = try Catalogue.migrate(to: EntitySchema(name: "C", columns: [ColumnSchema("n", .integer)]), in: tx)
            }
        }
        #expect("\(try #require(error))".contains("second table"))
    }

    @Test func idsAndVersionsOfNoTableAreFound() throws {
        let store = fixture.store
        try change("mako.ids", [0, 0, 0, 0, 0, 0, 0, 9], [1, 0, 0, 0, 0, 0, 0, 0], in: store)
        try change("mako.ids", [0, 0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0, 0, 0x80], in: store)
        try change(Catalogue.treeName, [0, 0, 0, 0, 7], [1, 0, 0, 0, 0, 0, 0, 0], in: store)
        #expect(try Catalogue.verify(store).findings.count == 3)
    }

    // MARK: Conditions of indexes

    private static func alternatives(_ count: Int) -> String {
        (0..<count).map { "n = \($0)" }.joined(separator: " OR ")
    }

    @Test func aConditionHasALimit() throws {
        var schema = Self.schemas[0]
        schema.indexes[1].condition = Self.alternatives(100_000)
        let error = Fixture.error {
            try fixture.store.write { tx in _ = try Catalogue.migrate(to: schema, in: tx) }
        }
        #expect("\(try #require(error))".contains("longer than 16384 bytes"))
        schema.indexes[1].condition = Self.alternatives(1000)
        try fixture.store.write { tx in _ = try Catalogue.migrate(to: schema, in: tx) }
        let began = ContinuousClock.now
        for _ in 0..<5 { _ = try Catalogue.load(view: fixture.store.snapshot()) }
        #expect(ContinuousClock.now - began < .seconds(10))
    }

    /// A query with many alternatives is bound once.
    @Test func manyAlternativesAreLinearWork() throws {
        let began = ContinuousClock.now
        let statement = try SelectStatement.parse("SELECT name FROM A WHERE \(Self.alternatives(20_000))")
        #expect(try statement.run(fixture.catalogue, view: fixture.store.snapshot()).rows.count == 2)
        #expect(ContinuousClock.now - began < .seconds(30))
    }

    /// A forged description of one index does not cost the table its rows, nor its other indexes.
    @Test(arguments: ["n >", "missing = 1", "long"]) func salvageLeavesOutAnIndexWhoseConditionCannotBeUsed(
        condition: String
    ) throws {
        let disk = SimulatedDisk()
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        let store = try Store(at: "d/a.mako", options: options)
        try store.write { tx in
            for schema in Self.schemas { _ = try Catalogue.migrate(to: schema, in: tx) }
            var changes = ChangeSet()
            for number in 0..<40 { try insert(number, tx, &changes) }
        }
        var record = try #require(
            try StoredCatalogue.records(in: store.snapshot()).first { $0.schema.name == "A" })
        record.indexes[1].schema.condition = condition == "long" ? Self.alternatives(100_000) : condition
        try change(Catalogue.treeName, StoredCatalogue.key("A"), record.encoded(), in: store)
        #expect(try Catalogue.verify(store).findings.first?.hasPrefix("the tables cannot be read") == true)
        try store.close()
        let report = try Catalogue.salvage(from: "d/a.mako", to: "d/b.mako", options: options)
        #expect(report.findings.contains { $0.hasPrefix("index A.few of table A is left out: ") }, "\(report.findings)")
        #expect(report.tables.map(\.rows) == [40, 40] && report.undescribed.isEmpty)
        let saved = try Store(at: "d/b.mako", options: options)
        #expect(try Catalogue.verify(saved).findings == [])
        let tables = try Catalogue.load(view: saved.snapshot())
        #expect(try tables.requireTable("A").schema.indexes.map(\.name) == ["A.name"])
        #expect(try !saved.read { $0.trees.contains { $0.name == record.indexTree(record.indexes[1].id) } })
        try saved.close()
    }
}
