import MakoStorage
import MakoTestSupport
import Testing

/// Files with garbage under valid checksums and tags, which no accident produces: a typed error or some result, but
/// never a trap, a load from beyond the page or an endless loop.
@Suite struct GarbageTests {
    /// A database that is to be garbled.
    enum Sample: CaseIterable {
        case pages, later, log, encryptedPages, encryptedLog, lockedByPassphrase

        static let possible = allCases.filter { $0.cipher == nil || Encryption.isAvailable }
        static let withLog = possible.filter(\.hasLog)
        static let encrypted = possible.filter { $0.cipher != nil }

        var cipher: Encryption.Cipher? {
            switch self {
            case .pages, .later, .log: nil
            case .encryptedPages, .encryptedLog: .aesGCM
            case .lockedByPassphrase: .chaChaPoly
            }
        }

        var hasLog: Bool { [.log, .encryptedLog, .lockedByPassphrase].contains(self) }

        /// The key that opens it.
        var encryption: Encryption? {
            cipher.map { TestKeys.encryption(self == .lockedByPassphrase ? 2 : 0, $0) }
        }

        private var text: String {
            switch self {
            case .pages: Sample.trees
            case .later, .encryptedPages: Sample.features
            case .log, .encryptedLog, .lockedByPassphrase: Sample.features + "\n" + Sample.commits
            }
        }

        private static let trees = """
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

        /// All that inner nodes and values can be.
        private static let features = """
            options log 16384
            begin
            tree t int counted
            tree u bytes counted
            tree w bytes 200
            commit
            put t 1..400 60b
            put u 1..300 40b
            put w 1..60 30b
            stream t 500 30000b
            put u 400 9000b
            put w 70 12000z
            checkpoint
            """

        /// All that a log can say, over two segments.
        private static let commits = """
            put t 501 9000b
            put t 502 5000z
            stream u 401 20000b
            begin
            deleterange u 20 60
            deleterange t 30 90
            delete t 7
            delete u 7
            commit
            rename w v
            put v 61..64 30b
            begin
            tree x int counted
            tree gone bytes
            put x 1..9 9b
            commit
            drop gone
            put u 10..14 300z
            deleteall v
            deleterange u 200 end
            put t 503 6000b
            put t 10..20 90b
            """

        struct Files {
            var image: DiskImage
            var states: [ModelStore]
            var forger: Forger
        }

        func make() throws -> Files {
            let disk = SimulatedDisk()
            var script = try Script(name: "garbage", text)
            script.cipher = cipher
            var start = ModelStore()
            start.keyNumber = self == .lockedByPassphrase ? 2 : 0
            let run = ScriptRun(script, on: disk, from: start)
            try run.run(closing: !hasLog)
            let image = disk.settledImage()
            run.abandon()
            return Files(image: image, states: run.states, forger: try Forger(of: image, encryption))
        }
    }

    @Test(arguments: Sample.possible, 0..<4) func wellFormedGarbageIsNeverFollowedOutOfAPage(
        sample: Sample, part: Int
    ) throws {
        let files = try sample.make()
        let file = try #require(files.image.files[ScriptRun.path])
        let pages = Int(file.size) / pageBytes
        let use = GarbageUse(seed: UInt64(part) &+ 77, sample.encryption)
        let rounds =
            sample == .pages ? (TestEffort.isFull ? 5000 : 80) : TestEffort.isFull ? 1000 : TestEffort.isSmall ? 5 : 15
        for round in 0..<rounds {
            var damaged = file
            for _ in 0..<1 + use.random.below(2) {
                // Rarely a fixed page: most of its content is compared with the rest of the file.
                let page = use.random.chance(15) ? use.random.below(pages) : 6 + use.random.below(pages - 6)
                files.forger.garble(&damaged, page: page, &use.random)
            }
            var image = files.image
            image.files[ScriptRun.path] = damaged
            try use.run(image)
            if round % 10 == 0 { try use.inspect(image) }
        }
        #expect(use.refused > 0)
    }

    /// The log has other operations than were committed, in a consistent chain.
    @Test(arguments: Sample.withLog, 0..<4) func forgedCommitsAreReplayedOrRefused(sample: Sample, part: Int) throws {
        let files = try sample.make()
        var frames = 0
        var unchanged = files.image
        files.forger.changeLog(of: &unchanged) { _ in frames += 1 }
        #expect(unchanged.fingerprint == files.image.fingerprint, "forged without a change, the log is what it was")
        #expect(frames > 12)
        let use = GarbageUse(seed: UInt64(part) &+ 1077, sample.encryption)
        for round in 0..<(TestEffort.isFull ? 1000 : TestEffort.isSmall ? 10 : 30) {
            var image = files.image
            let chosen = Set((0..<1 + use.random.below(2)).map { _ in frames - 1 - use.random.below(frames * 3 / 4) })
            var number = 0
            files.forger.changeLog(of: &image) { frame in
                if chosen.contains(number) { Self.garble(&frame, &use.random) }
                number += 1
            }
            try use.run(image)
            if round % 10 == 0 { try use.inspect(image) }
        }
        #expect(use.refused > 0)
    }

    private static let frameHeaderBytes = 56

    /// Mostly operations and their lengths, rarely the frame's header.
    private static func garble(_ frame: inout [UInt8], _ random: inout SplitMix) {
        for _ in 0..<1 + random.below(3) {
            let payload = frame.count - frameHeaderBytes
            if payload == 0 || random.chance(10) {
                Forger.garble(&frame[4 + random.below(36)], &random)
            } else {
                let place = random.chance(50) ? random.below(min(payload, 48)) : random.below(payload)
                Forger.garble(&frame[frameHeaderBytes + place], &random)
            }
        }
    }

    /// Without the key no content can be forged: what can be read was written at some time.
    @Test(arguments: Sample.encrypted, 0..<4) func garbledBytesAreNeverTakenForAnything(
        sample: Sample, part: Int
    ) throws {
        let files = try sample.make()
        var random = SplitMix(seed: UInt64(part) &+ 2077)
        var (refused, read) = (0, 0)
        for _ in 0..<(TestEffort.isFull ? 2000 : TestEffort.isSmall ? 10 : 60) {
            var image = files.image
            for _ in 0..<1 + random.below(3) { Self.damage(&image, &random) }
            do {
                let store = try Store(at: ScriptRun.path, options: GarbageUse.options(image, sample.encryption))
                _ = try store.verify()
                let found = try store.read { try ModelStore(reading: $0) }
                #expect(files.states.contains { $0.difference(from: found) == nil })
                read += 1
                try store.close()
            } catch is StorageError { refused += 1 }
        }
        #expect(refused > 0 && read > 0, "\(refused) refused, \(read) read")
    }

    /// A run of random bytes, zeros, a bit, or another part of the file.
    private static func damage(_ image: inout DiskImage, _ random: inout SplitMix) {
        let names = image.files.keys.sorted()
        let name = names[random.below(names.count)]
        guard var file = image.files[name] else { return }
        let place = UInt64(random.below(Int(file.size)))
        let count = min(Int(file.size - place), [1, 16, 600, pageBytes][random.below(4)])
        var bytes = file.bytes(at: place, count: count)
        switch random.below(4) {
        case 0: bytes[0] ^= 1 << UInt8(random.below(8))
        case 1: bytes = bytes.map { _ in 0 }
        case 2: bytes = bytes.map { _ in UInt8(truncatingIfNeeded: random.next()) }
        default:
            let page = UInt64(pageBytes)
            let from = UInt64(random.below(Int(file.size))) / page * page
            file.replace(at: place / page * page, with: file.bytes(at: from, count: pageBytes))
            image.files[name] = file
            return
        }
        file.replace(at: place, with: bytes)
        image.files[name] = file
    }

    /// The header block is not encrypted, and its checksum can be forged: each byte of what it says of key and
    /// features.
    @Test(arguments: Sample.encrypted) func forgedHeadersOpenNothing(sample: Sample) throws {
        let files = try sample.make()
        let file = try #require(files.image.files[ScriptRun.path])
        var random = SplitMix(seed: 3077)
        var (refused, read) = (0, 0)
        // All fields of one byte, and one byte in seven of the longer ones. Derivations that take long are tried elsewhere.
        let places =
            Array(72..<80) + Array(120..<128).filter { $0 != 122 }
            + Array(stride(from: 128, to: 220, by: 7))
        for place in places {
            let byte = random.chance(50) ? UInt8(random.below(4)) : UInt8(truncatingIfNeeded: random.next())
            var damaged = file
            for copy in 0..<2 {
                files.forger.change(page: copy, of: &damaged) { $0[place] = byte }
            }
            var image = files.image
            image.files[ScriptRun.path] = damaged
            do {
                let store = try Store(at: ScriptRun.path, options: GarbageUse.options(image, sample.encryption))
                let found = try store.read { try ModelStore(reading: $0) }
                #expect(files.states.contains { $0.difference(from: found) == nil }, "byte \(place), \(byte)")
                read += 1
                try store.close()
            } catch is StorageError { refused += 1 }
        }
        #expect(refused > 10, "\(refused) refused, \(read) read")
    }
}
