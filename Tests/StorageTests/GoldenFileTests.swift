import Foundation
import MakoTestSupport
import Testing

@testable import MakoStorage

/// Databases that released formats wrote, kept in `Golden/` for ever: whatever Mako becomes, it reads them and writes on in them.
///
/// `NAME.mako` is the data file, `NAME.mako-wal-N` are log segments of one that was killed, `NAME.txt` says what both hold.
@Suite struct GoldenFileTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
        "Golden")

    /// Everything that pages and operations can hold, the first two without any feature: nodes of both kinds on three levels, common prefixes, keys of all lengths,
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
        // Each bit of the header's features, in small files: values on runs of pages, whose leaves name them and whose log does.
        "v1-blobs-closed": """
        options log 16384 reserve 0
        begin
        tree numbers int
        tree words bytes 12
        commit
        stream numbers 1 9000b
        stream words 2 5000b
        put numbers 3 4500b
        put words 4 9000z
        """,
        "v1-blobs-killed": """
        options log 16384 reserve 0
        begin
        tree numbers int
        tree words bytes 12
        commit
        checkpoint
        put numbers 1 4500z
        stream words 2 4200b
        put numbers 3 6000z
        put numbers 1 9b
        """,
        // Ranges within a leaf, over whole subtrees, and to the end.
        "v1-ranges-killed": """
        options log 16384 reserve 0
        begin
        tree words bytes 200
        tree others bytes
        put words 1..60 20b
        put others 1..40 20b
        commit
        checkpoint
        deleterange words 3 5
        deleterange words 15 45
        put words 30 9b
        deleterange others 30 end
        deleterange words 58 end
        """,
        "v1-renamed-killed": """
        options log 16384 reserve 0
        begin
        tree a int
        tree b bytes
        tree gone int
        put a 1..20 20b
        put b 1..20 20b
        commit
        checkpoint
        begin
        rename a c
        rename b a
        commit
        put a 21 5b
        rename gone went
        drop went
        begin
        tree gone bytes
        put gone 1 3b
        rename c b
        put b 30 4b
        commit
        """,
        // Inner nodes with counts, of both kinds, and a log that makes and changes such trees.
        "v1-counted-closed": """
        options log 16384 reserve 0
        begin
        tree numbers int counted
        tree words bytes 700 counted
        tree plain int
        put numbers 1..120 40b
        put words 1..18 3b
        put plain 1..3 3b
        commit
        """,
        "v1-counted-killed": """
        options log 16384 reserve 0
        begin
        tree numbers int counted
        put numbers 1..130 40b
        commit
        checkpoint
        delete numbers 20
        put numbers 200..210 30b
        begin
        tree words bytes 300 counted
        put words 1..9 20b
        commit
        deleterange numbers 40 90
        put words 10 9b
        """,
        // Both ciphers; a key and a passphrase, which is the database's second.
        "v1-encrypted-closed": """
        options log 16384 reserve 0 encrypted 1
        begin
        tree numbers int
        tree words bytes 24
        put numbers 1..90 40b
        put words 1..40 20b
        commit
        put numbers 100 6000b
        put words 100 9000z
        """,
        "v1-encrypted-killed": """
        options log 16384 reserve 0 encrypted 2
        begin
        tree numbers int
        tree words bytes 24 counted
        put numbers 1..20 40b
        put words 1..20 20b
        commit
        changekey
        changekey
        put numbers 21..25 50b
        put words 30..45 20z
        stream words 50 4200b
        begin
        delete numbers 3
        deleterange words 4 8
        rename words more
        commit
        """,
    ]

    /// The keys of the encrypted files.
    private static let secrets: [String: PlainCipher.Secret] = [
        "v1-encrypted-closed": .key((0..<32).map { $0 * 7 + 1 }),
        "v1-encrypted-killed": .passphrase("passphrase 2"),
    ]

    private static func encryption(of name: String) -> Encryption? {
        switch secrets[name] {
        case .key(let bytes): .key(bytes)
        case .passphrase(let text): .passphrase(text)
        case nil: nil
        }
    }

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

    private static func options(_ disk: SimulatedDisk, _ name: String) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.encryption = encryption(of: name)
        return options
    }

    /// The content of the files, read as `docs/format.md` describes them.
    private static func plainly(_ image: DiskImage, _ name: String) throws -> ModelStore {
        let bytes = image.files[ScriptRun.path]?.bytes ?? []
        let cipher = try secrets[name].map { try PlainCipher(bytes, $0) }
        let file = try PlainFile(cipher?.opened(bytes) ?? bytes)
        var segments: [Int: [UInt8]] = [:]
        for (path, bytes) in image.files {
            guard let range = path.range(of: "-wal-"), let number = Int(path[range.upperBound...]) else { continue }
            segments[number] = bytes.bytes
        }
        var operations = PlainOperations(file.content, names: file.names) { try? file.named($0) }
        for payload in try PlainLog(segments, of: file.id, cipher: cipher).payloads(from: file.logStart()) {
            guard operations.apply(payload) else { throw Disagreement("a logged commit cannot be read") }
        }
        return operations.model
    }

    private static var names: [String] {
        get throws { try files().filter { $0.hasSuffix(".mako") }.map { String($0.dropLast(5)) } }
    }

    @Test func thereIsAGoldenFileForEachFeature() throws {
        let features = try GoldenFileTests.names.map { name in
            let file = try GoldenFileTests.image(name).files[ScriptRun.path]
            return try PlainBytes(bytes: file?.bytes(at: 0, count: 4096) ?? []).number(72, 8)
        }
        #expect(features.contains(0))
        #expect(features.reduce(0, |) == FormatFeatures.known.rawValue)
    }

    @Test(arguments: try names) func goldenFilesAreReadAndWrittenOn(name: String) throws {
        let expected = try String(
            contentsOf: GoldenFileTests.folder.appendingPathComponent(name + ".txt"), encoding: .utf8)
        let image = try GoldenFileTests.image(name)
        let disk = SimulatedDisk(image)
        let options = GoldenFileTests.options(disk, name)
        guard options.encryption == nil || Encryption.isAvailable else {
            #expect(throws: StorageError.encryptionUnavailable(path: ScriptRun.path)) {
                _ = try Store(at: ScriptRun.path, options: options)
            }
            return
        }
        #expect(try GoldenFileTests.text(of: GoldenFileTests.plainly(image, name)) == expected)
        let store = try Store(at: ScriptRun.path, options: options)
        #expect(try GoldenFileTests.text(of: store.read { try ModelStore(reading: $0) }) == expected)
        #expect(try store.verify().isClean)
        try store.read { view in for info in view.trees { try GoldenFileTests.checkRanks(info.tree, view) } }
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
        let again = try Store(at: ScriptRun.path, options: options)
        #expect(try again.read { try ModelStore(reading: $0) } == later)
        try again.close()
    }

    /// Each entry is where a scan finds it, whether its tree counts or not.
    private static func checkRanks(_ tree: Tree, _ view: Snapshot) throws {
        var cursor = try view.cursor(in: tree)
        var number: UInt64 = 0
        while try number == 0 ? cursor.first() : cursor.next() {
            let rank =
                tree.keys == .integer
                ? try view.rank(of: cursor.integerKey, in: tree) : try view.rank(of: cursor.key, in: tree)
            #expect(rank == number)
            number += 1
        }
    }

    @Test func countedTreesStayCounted() throws {
        let disk = SimulatedDisk(try GoldenFileTests.image("v1-counted-killed"))
        let store = try Store(at: ScriptRun.path, options: GoldenFileTests.options(disk, "v1-counted-killed"))
        let trees = try store.read { $0.trees }
        #expect(trees.map(\.name) == ["numbers", "words"] && trees.allSatisfy { $0.options == .subtreeCounts })
        try store.close()
    }

    /// The format on paper is the one that is written: a reader that knows nothing else reads the same.
    @Test(arguments: scripts.keys.sorted().filter { secrets[$0] == nil || Encryption.isAvailable })
    func whatIsWrittenIsTheFormatOnPaper(name: String) throws {
        let disk = SimulatedDisk()
        let run = ScriptRun(try Script(name: name, try #require(GoldenFileTests.scripts[name])), on: disk, seed: 1)
        try run.run(closing: name.hasSuffix("closed"))
        let image = disk.settledImage()
        #expect(image.files.keys.contains { $0.contains("-wal-") } == name.hasSuffix("killed"))
        let found = try GoldenFileTests.plainly(image, name)
        #expect(found.difference(from: try #require(run.states.last)) == nil)
        // Existing files are not replaced.
        if ProcessInfo.processInfo.environment["MAKO_WRITE_GOLDEN"] != nil, try !GoldenFileTests.names.contains(name) {
            try keep(image, found, as: name)
        }
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
