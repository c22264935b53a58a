import Foundation
import MakoTestSupport
import Testing

@testable import MakoStorage

/// Bits of the header that are reserved for formats to come: this program refuses such files, and its copies of them
/// keep the bits.
@Suite struct ReservedFeatureTests {
    private static let path = "d/a.mako"

    private func options(_ disk: SimulatedDisk, readOnly: Bool = false) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.readOnly = readOnly
        return options
    }

    /// Makes a database whose header has bits that this program does not set.
    private func disk(_ change: (inout FileHeader) -> Void) throws -> SimulatedDisk {
        let disk = SimulatedDisk()
        let store = try Store(at: Self.path, options: options(disk))
        try store.write { tx in
            let tree = try tx.createTree(named: "t", keys: .integer)
            for key in UInt64(0)..<50 { try tx.put([UInt8(key)], for: key, in: tree) }
        }
        try store.dataFile.update(change)
        try store.close()
        return disk
    }

    private func expectRefusal(
        _ bits: UInt64, of path: String = ReservedFeatureTests.path, _ body: () throws -> Void
    ) {
        let error = #expect(throws: StorageError.unsupportedFeatures(path: path, bits: bits), performing: body)
        #expect(error?.description.contains("open it with the version of Mako that wrote it") == true)
    }

    /// The bits of both tables of `docs/format.md`, apart from those that are reserved there.
    @Test func theDocumentHasTheBitsOfTheProgram() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let text = try String(contentsOf: root.appendingPathComponent("docs/format.md"), encoding: .utf8)
        for (word, known, reserved) in [
            ("must read", FormatFeatures.known.rawValue, FormatFeatures.versionsInRows.rawValue),
            ("must write", WriterFeatures.known.rawValue, WriterFeatures.versionTrees.rawValue),
        ] {
            let table = try #require(text.components(separatedBy: "\n\n").first { $0.hasPrefix("| \(word) | since") })
            var found: (known: UInt64, reserved: UInt64) = (0, 0)
            for line in table.split(separator: "\n").dropFirst(2) {
                let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
                let bit = try #require(UInt64(cells[0]))
                #expect(bit.nonzeroBitCount == 1 && (found.known | found.reserved) & bit == 0)
                if cells[1] == "reserved" { found.reserved |= bit } else { found.known |= bit }
            }
            #expect(found.known == known)
            #expect(found.reserved == reserved)
        }
    }

    @Test func aFileWithTheReservedBitOfReadersIsRefused() throws {
        let bit = FormatFeatures.versionsInRows.rawValue
        #expect(bit == 32)
        let disk = try disk { $0.mustRead |= bit }
        let image = disk.contents(of: Self.path)
        for readOnly in [false, true] {
            expectRefusal(bit) { try Store(at: Self.path, options: options(disk, readOnly: readOnly)).close() }
        }
        expectRefusal(bit) { _ = try Store.salvage(from: Self.path, to: "d/b.mako", options: options(disk)) }
        expectRefusal(bit) { try Store.compact(at: Self.path, options: options(disk)) }
        #expect(disk.contents(of: Self.path) == image)
        #expect(!disk.exists("d/b.mako"))
    }

    @Test func aFileWithTheReservedBitOfWritersIsReadAndNotWritten() throws {
        let bit = WriterFeatures.versionTrees.rawValue
        #expect(bit == 4)
        let disk = try disk { $0.mustWrite |= bit }
        let image = disk.contents(of: Self.path)
        expectRefusal(bit) { try Store(at: Self.path, options: options(disk)).close() }
        expectRefusal(bit) { try Store.compact(at: Self.path, options: options(disk)) }
        expectRefusal(bit) { _ = try Store.salvage(from: Self.path, to: "d/b.mako", options: options(disk)) }
        #expect(!disk.exists("d/b.mako"))

        let store = try Store(at: Self.path, options: options(disk, readOnly: true))
        try store.copy(to: "d/copy.mako")
        try store.backup(to: "d/backup.mako")
        try store.close()
        for path in ["d/copy.mako", "d/backup.mako"] {
            expectRefusal(bit, of: path) { try Store(at: path, options: options(disk)).close() }
            let copy = try Store(at: path, options: options(disk, readOnly: true))
            #expect(try copy.read { view in try view.tree(named: "t").map { try view.count(of: $0) } } == 50)
            try copy.close()
        }
        #expect(disk.contents(of: Self.path) == image)
    }
}
