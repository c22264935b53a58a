import Foundation
import MakoRecords
import MakoStorage
import MakoTestSupport
import Testing

/// A database with partial and spatial indexes that version 1 of the format wrote, kept forever:
/// `Golden/v1-places.mako`, and the content of its catalogue and indexes, read as `docs/format.md` describes them.
@Suite struct GoldenPlaceTests {
    private static let path = "d/places.mako"
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
        "Golden")

    private static func options(_ disk: SimulatedDisk) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.entropy = SeededEntropy(seed: 1)
        options.logSegmentBytes = 64 << 10
        return options
    }

    private static let schema = EntitySchema(
        name: "Inn",
        columns: [
            ColumnSchema("name", .text, isOptional: true), ColumnSchema("latitude", .double, isOptional: true),
            ColumnSchema("longitude", .double, isOptional: true), ColumnSchema("stars", .integer, isOptional: true),
        ],
        indexes: [
            IndexSchema("near", [IndexColumn("latitude"), IndexColumn("longitude")], isSpatial: true),
            IndexSchema("good", [IndexColumn("stars", descending: true)], where: "stars > 3 OR name = 'Bø'"),
            IndexSchema("once", [IndexColumn("name")], isUnique: true, where: "stars IS NOT NULL"),
        ])

    private static func write(on disk: SimulatedDisk) throws {
        let store = try Store(at: path, options: options(disk))
        try store.write { tx in _ = try Catalogue.migrate(to: schema, in: tx) }
        try fill(store, 0..<60)
        try store.close()
    }

    private static func fill(_ store: Store, _ numbers: Range<Int>) throws {
        let places: [(Double, Double)] = [
            (0, 0), (90, 0), (-90, 180), (59.9139, 10.7522), (-33.9, 18.4), (-18.1, 178.5), (-18.1, -179.9), (91, 0),
            (12.5, 370.25),
        ]
        try store.write { tx in
            let table = try Catalogue.load(view: tx.view).requireTable("Inn")
            var writer = RowWriter()
            var changes = ChangeSet()
            for number in numbers {
                writer.begin(table.layout)
                writer.set(0, number % 11 == 4 ? "Bø" : "inn \(number)")
                let place = places[number % places.count]
                if number % 13 > 0 { writer.set(1, place.0 + Double(number / 9) / 1024) }
                writer.set(2, place.1)
                if number % 11 != 4 && number % 7 > 0 { writer.set(3, Int64(number % 6)) }
                _ = try table.insert(&writer, in: tx, changes: &changes)
            }
        }
    }

    // MARK: On paper

    /// Of a cell's number: the bits of its row and of its column, which alternate, the row's first.
    private static func cell(_ number: UInt64) -> String {
        if number == .max { return "nowhere" }
        var (row, column): (UInt64, UInt64) = (0, 0)
        for bit in 0..<31 {
            row |= (number >> UInt64(2 * bit + 1) & 1) << UInt64(bit)
            column |= (number >> UInt64(2 * bit) & 1) << UInt64(bit)
        }
        let latitude = Double(row) / 0x1p31 * 180 - 90
        let longitude = Double(column) / 0x1p31 * 360 - 180
        return String(format: "%.5f %.5f", latitude, longitude)
    }

    private static func hex(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { String(format: "%02x", $0) }.joined()
    }

    private static func shown(_ view: Snapshot) throws -> String {
        var text = ""
        guard let catalogue = view.tree(named: "mako.catalogue"),
            let entry = try view.get([1] + Array("Inn".utf8), in: catalogue)
        else { throw Disagreement("there is no entry of the table") }
        // The indexes stand at its end.
        let start = entry.lastRange(of: Array("near".utf8))?.lowerBound ?? 0
        text += "format \(entry[0]), indexes \(hex(entry[start...]))\n"
        for (number, index) in schema.indexes.enumerated() {
            text += "\(index.name)\n"
            let names = view.trees.map(\.name).filter { $0.hasPrefix("mako.index.1.") }.sorted()
            guard let tree = view.tree(named: names[number]) else { throw Disagreement("there is no index") }
            var cursor = try view.cursor(in: tree)
            var isThere = try cursor.first()
            while isThere {
                let key = cursor.key
                if index.isSpatial {
                    let cell = cell(key.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
                    text += "    \(cell) - \(hex(key.dropFirst(8)))\n"
                } else {
                    text += "    \(hex(key)) \(hex(try cursor.value()))\n"
                }
                isThere = try cursor.next()
            }
        }
        return text
    }

    private static func expectSound(_ store: Store) throws {
        let faults = try store.read { try Catalogue.load(view: $0).requireTable("Inn").verify(in: $0) }
        #expect(faults == [])
    }

    @Test func goldenPlacesAreReadAndWrittenOn() throws {
        let data = try Data(contentsOf: Self.folder.appendingPathComponent("v1-places.mako"))
        let expected = try String(contentsOf: Self.folder.appendingPathComponent("v1-places.txt"), encoding: .utf8)
        let disk = SimulatedDisk(DiskImage(files: [Self.path: ByteImage(Array(data))], directories: ["d"]))
        let store = try Store(at: Self.path, options: Self.options(disk))
        #expect(try store.verify().isClean)
        #expect(try store.read { try Self.shown($0) } == expected)
        #expect(
            try store.read { try Catalogue.load(view: $0).requireTable("Inn").schema.indexes } == Self.schema.indexes)
        try Self.expectSound(store)
        try Self.fill(store, 100..<130)
        try Self.expectSound(store)
        try store.close()
    }

    /// A new file has the content of the golden one.
    @Test func whatIsWrittenIsTheFormatOnPaper() throws {
        let disk = SimulatedDisk()
        try Self.write(on: disk)
        let store = try Store(at: Self.path, options: Self.options(disk))
        let shown = try store.read { try Self.shown($0) }
        try store.close()
        if ProcessInfo.processInfo.environment["MAKO_WRITE_GOLDEN"] != nil {
            let bytes = disk.settledImage().files[Self.path]?.bytes ?? []
            try Data(bytes).write(
                to: Self.folder.appendingPathComponent("v1-places.mako"), options: .withoutOverwriting)
            try Data(shown.utf8).write(
                to: Self.folder.appendingPathComponent("v1-places.txt"), options: .withoutOverwriting)
        }
        #expect(
            shown == (try String(contentsOf: Self.folder.appendingPathComponent("v1-places.txt"), encoding: .utf8)))
    }

    /// Salvage rebuilds such indexes over the rows that they hold.
    @Test func salvageBuildsThemAnew() throws {
        let disk = SimulatedDisk()
        try Self.write(on: disk)
        let target = "d/saved.mako"
        let report = try Catalogue.salvage(from: Self.path, to: target, options: Self.options(disk))
        #expect(report.isComplete && report.tables.map(\.rows) == [60])
        let before = try Store(at: Self.path, options: Self.options(disk))
        let after = try Store(at: target, options: Self.options(disk))
        #expect(try after.read { try Self.shown($0) } == before.read { try Self.shown($0) })
        try Self.expectSound(after)
        try before.close()
        try after.close()
    }
}
