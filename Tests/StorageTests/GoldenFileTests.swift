import Foundation
import MakoStorage
import MakoTestSupport
import Testing

/// Databases that released formats wrote, kept in `Golden/` for ever: whatever Mako becomes, it reads them and writes on in them.
///
/// `NAME.mako` is the data file, `NAME.mako-wal-N` are log segments of one that was killed, `NAME.txt` says what both hold.
@Suite struct GoldenFileTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
        "Golden")

    /// Everything that pages and operations can hold: nodes of both kinds on three levels, common prefixes, keys of all lengths,
    /// values of none, of some and of many bytes, packed ones, empty trees, numbers of trees that were dropped.
    private static let scripts = [
        "v1-closed": """
        options log 65536
        begin
        tree numbers int
        tree words bytes 40
        tree long bytes 900
        tree nothing int
        tree none bytes
        tree gone int
        commit
        put numbers 1..700 40b
        put numbers 100000..100400/7 9b
        put numbers 18446744073709551614..18446744073709551615 0b
        put numbers 900 9000b
        put numbers 901 20000z
        put words 1..900 12b
        put words 1000 5000b
        put words 1001 30000z
        put long 1..30 3b
        put gone 1 1b
        drop gone
        delete numbers 300..420
        """,
        "v1-killed": """
        options log 16384
        begin
        tree numbers int
        tree words bytes 24
        tree gone int
        put numbers 1..300 30b
        put words 1..200 20b
        put gone 1..5 9b
        commit
        checkpoint
        put numbers 301..340 50b
        checkpoint
        put words 201..240 60z
        delete numbers 5
        deleterange numbers 50 99
        put numbers 20 6000b
        begin
        put words 300 10b
        savepoint a
        put words 301 10b
        rollbackto a
        commit
        drop gone
        begin
        tree later bytes 12
        put later 1..9 4b
        deleteall words
        put words 7 5000z
        commit ordered
        put numbers 1000 9b
        """,
    ]

    private static func text(of store: ModelStore) -> String {
        var lines: [String] = []
        for (name, tree) in store.trees.sorted(by: { $0.key < $1.key }) {
            lines.append("\(name): \(tree.kind == .integer ? "integer" : "byte") keys, \(tree.count) entries")
            switch tree {
            case .integers(let map): lines += zip(map.keys, map.values).map { "    \($0) \(words($1))" }
            case .bytes(let map): lines += zip(map.keys, map.values).map { "    \(hex($0.bytes)) \(words($1))" }
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Short values whole, of others their length and a sum (FNV-1a).
    private static func words(_ value: [UInt8]) -> String {
        if value.count <= 16 { return "= \(hex(value))" }
        let sum = value.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return "of \(value.count) bytes, \(String(sum, radix: 16))"
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private static func files() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { !$0.hasPrefix(".") }.sorted()
    }

    /// A golden database on a simulated disk.
    private static func image(_ name: String) throws -> DiskImage {
        var files: [String: ByteImage] = [:]
        for file in try GoldenFileTests.files() where file.hasPrefix(name + ".mako") {
            files["d/store.mako" + file.dropFirst((name + ".mako").count)] = ByteImage(
                Array(try Data(contentsOf: folder.appendingPathComponent(file))))
        }
        return DiskImage(files: files, directories: ["d"])
    }

    private static func options(_ disk: SimulatedDisk) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        return options
    }

    /// What the files hold by the letter of the format.
    private static func plainly(_ image: DiskImage) throws -> ModelStore {
        let file = try PlainFile(image.files[ScriptRun.path]?.bytes ?? [])
        var segments: [Int: [UInt8]] = [:]
        for (path, bytes) in image.files {
            guard let range = path.range(of: "-wal-"), let number = Int(path[range.upperBound...]) else { continue }
            segments[number] = bytes.bytes
        }
        var operations = PlainOperations(file.content, names: file.names) { try? file.named($0) }
        for payload in try PlainLog(segments, of: file.id).payloads(from: file.logStart()) {
            guard operations.apply(payload) else { throw Disagreement("a logged commit cannot be read") }
        }
        return operations.model
    }

    private static var names: [String] {
        get throws { try files().filter { $0.hasSuffix(".mako") }.map { String($0.dropLast(5)) } }
    }

    @Test func goldenFilesAreReadAndWrittenOn() throws {
        #expect(try GoldenFileTests.names.count >= 2)
        for name in try GoldenFileTests.names {
            let expected = try String(
                contentsOf: GoldenFileTests.folder.appendingPathComponent(name + ".txt"), encoding: .utf8)
            let image = try GoldenFileTests.image(name)
            #expect(try GoldenFileTests.text(of: GoldenFileTests.plainly(image)) == expected, "\(name)")
            let disk = SimulatedDisk(image)
            let store = try Store(at: ScriptRun.path, options: GoldenFileTests.options(disk))
            #expect(try GoldenFileTests.text(of: store.read { try ModelStore(reading: $0) }) == expected, "\(name)")
            #expect(try store.verify().isClean)
            try store.write { tx in
                for info in tx.view.trees {
                    switch info.tree.keys {
                    case .integer: for key in 0..<500 { try tx.put([1, 2, 3], for: UInt64(key) * 3, in: info.tree) }
                    case .bytes:
                        for key in 0..<500 { try tx.put([4, 5], for: Array("key \(key)".utf8), in: info.tree) }
                    }
                }
            }
            let later = try store.read { try ModelStore(reading: $0) }
            #expect(try store.verify().isClean)
            try store.close()
            let again = try Store(at: ScriptRun.path, options: GoldenFileTests.options(disk))
            #expect(try again.read { try ModelStore(reading: $0) } == later)
            try again.close()
        }
    }

    /// The format on paper is the one that is written: a reader that knows nothing else reads the same.
    @Test(arguments: scripts.keys.sorted()) func whatIsWrittenIsTheFormatOnPaper(name: String) throws {
        let disk = SimulatedDisk()
        let run = ScriptRun(try Script(name: name, try #require(GoldenFileTests.scripts[name])), on: disk, seed: 1)
        try run.run(closing: name.hasSuffix("closed"))
        let image = disk.settledImage()
        #expect(image.files.keys.contains { $0.contains("-wal-") } == name.hasSuffix("killed"))
        let found = try GoldenFileTests.plainly(image)
        #expect(found.difference(from: try #require(run.states.last)) == nil)
        if ProcessInfo.processInfo.environment["MAKO_WRITE_GOLDEN"] != nil { try keep(image, found, as: name) }
        run.abandon()
    }

    private func keep(_ image: DiskImage, _ content: ModelStore, as name: String) throws {
        let folder = GoldenFileTests.folder
        for (path, bytes) in image.files {
            let file = name + ".mako" + path.dropFirst(ScriptRun.path.count)
            try Data(bytes.bytes).write(to: folder.appendingPathComponent(file), options: .withoutOverwriting)
        }
        try Data(GoldenFileTests.text(of: content).utf8).write(
            to: folder.appendingPathComponent(name + ".txt"), options: .withoutOverwriting)
    }
}
