import MakoTestSupport
import Testing

@testable import MakoStorage

/// Pages that hold nonsense under a checksum that is right, as no accident makes them: a typed error or some answer,
/// but never a trap, a load from beyond the page or a walk without end.
@Suite struct GarbageTests {
    private static let text = """
        options log 32768
        tree t int
        put t 1..400 60b
        tree u bytes
        put u 1..300 40b
        put t 500 9000b
        put u 400 6000z
        checkpoint
        delete t 50..90
        put u 310..330 700b
        """

    private static func sample() throws -> DiskImage {
        let disk = SimulatedDisk()
        let run = ScriptRun(try Script(name: "garbage", text), on: disk)
        try run.run(closing: true)
        let image = disk.settledImage()
        run.abandon()
        return image
    }

    @Test(arguments: 0..<4) func wellFormedGarbageIsNeverFollowedOutOfAPage(part: Int) throws {
        let image = try GarbageTests.sample()
        let file = try #require(image.files[ScriptRun.path])
        let pages = Int(file.size) / pageBytes
        let seed = try GarbageTests.seed(of: file)
        var random = SplitMix(seed: UInt64(part) &+ 77)
        var refused = 0
        let rounds = TestEffort.isFull ? 5000 : 80
        for _ in 0..<rounds {
            var damaged = file
            for _ in 0..<1 + random.below(2) {
                // Fixed pages seldom: most of what they say is compared with what the rest of the file says.
                let page = random.chance(15) ? random.below(pages) : 6 + random.below(pages - 6)
                GarbageTests.garble(&damaged, page: page, seed: page < 2 ? 0 : seed, &random)
            }
            var files = image.files
            files[ScriptRun.path] = damaged
            do { try GarbageTests.use(DiskImage(files: files), &random) } catch is StorageError { refused += 1 }
        }
        #expect(refused > 0)
    }

    private static func seed(of file: ByteImage) throws -> UInt64 {
        let bytes = file.bytes(at: 0, count: pageBytes)
        let reading = bytes.withUnsafeBytes { $0.baseAddress.map { FileHeader.read($0, copy: 0) } }
        guard case .good(let header)? = reading else { throw Disagreement("the sample has no header") }
        return header.id.seed
    }

    /// Changes some bytes of a page, mostly where counts, offsets, lengths and references stand, and seals it again.
    static func garble(_ file: inout ByteImage, page: Int, seed: UInt64, _ random: inout SplitMix) {
        var bytes = file.bytes(at: UInt64(page * pageBytes), count: pageBytes)
        for _ in 0..<1 + random.below(4) {
            let place = [24 + random.below(40), 40 + random.below(200), 8 + random.below(pageBytes - 8)][
                random.below(3)]
            switch random.below(4) {
            case 0: bytes[place] ^= 1 << UInt8(random.below(8))
            case 1: bytes[place] = 0xff
            case 2: bytes[place] = 0
            default: bytes[place] = UInt8(truncatingIfNeeded: random.next())
            }
        }
        bytes.withUnsafeMutableBytes { buffer in
            guard let base = buffer.baseAddress else { return }
            Page.seal(base, page: UInt64(page), seed: seed)
        }
        file.replace(at: UInt64(page * pageBytes), with: bytes)
    }

    /// Reads all there is, both ways and by key, writes here and there, and closes.
    private static func use(_ image: DiskImage, _ random: inout SplitMix) throws {
        var options = StoreOptions()
        options.fileSystem = SimulatedDisk(image)
        options.background = .manual
        options.entropy = SeededEntropy(seed: 5)
        options.cacheBytes = 1 << 20
        let store = try Store(at: ScriptRun.path, options: options)
        _ = try store.verify()
        try store.read { view in
            for info in view.trees {
                do { try walk(view, info.tree, forwards: true) } catch is StorageError {}
                do { try walk(view, info.tree, forwards: false) } catch is StorageError {}
                for _ in 0..<20 {
                    let number = UInt64(random.below(600))
                    switch info.tree.keys {
                    case .integer: _ = try? view.get(number, in: info.tree)
                    case .bytes: _ = try? view.get(ScriptRun.bytes(number, length: 0), in: info.tree)
                    }
                }
            }
        }
        for _ in 0..<3 {
            try store.write { transaction in
                for info in transaction.view.trees {
                    for _ in 0..<10 {
                        let number = UInt64(random.below(600))
                        let value = [UInt8](repeating: 1, count: random.below(300))
                        switch info.tree.keys {
                        case .integer:
                            try transaction.put(value, for: number, in: info.tree)
                            _ = try transaction.delete(number / 2, in: info.tree)
                        case .bytes:
                            try transaction.put(value, for: ScriptRun.bytes(number, length: 0), in: info.tree)
                            _ = try transaction.delete(ScriptRun.bytes(number / 2, length: 0), in: info.tree)
                        }
                    }
                }
            }
            try store.checkpoint()
        }
        try store.close()
    }

    private static func walk(_ view: Snapshot, _ tree: Tree, forwards: Bool) throws {
        var cursor = try view.cursor(in: tree)
        var isThere = try forwards ? cursor.first() : cursor.last()
        var steps = 0
        while isThere {
            _ = try cursor.value()
            isThere = try forwards ? cursor.next() : cursor.previous()
            steps += 1
            guard steps < 200_000 else { throw Disagreement("a walk without end") }
        }
    }
}
