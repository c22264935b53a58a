import MakoTestSupport
import Testing

@testable import MakoStorage

/// Flips each bit of a small database and its log, one at a time: the right result or an error that names the fault,
/// never a wrong result, never a trap. A bit of the log's last group may cost that group.
@Suite struct EveryBitTests {
    private static let path = ScriptRun.path
    private static let parts = 16

    /// Both kinds of trees with an inner node each, values on pages of their own, one packed; then commits that only the
    /// log has, over two segments.
    private static let text = """
        options log 16384
        begin
        tree t int
        tree u bytes 30
        put t 20 6000b
        put t 21 9000z
        put t 1..9 600b
        put u 1..14 300b
        commit
        checkpoint
        put t 3 20b
        checkpoint
        put t 30..32 300b
        delete u 5
        put t 33 2000z
        put t 1 40b
        delete t 30
        """

    private enum Answer: Equatable {
        case state(ModelStore)
        case refusal
    }

    /// A sample with its permitted results, and the place of its last group.
    private struct Sample {
        var files: [(name: String, bytes: Int)]
        var image: DiskImage
        var latest: ModelStore
        var before: ModelStore
        /// The bytes of the log's last group, header to end.
        var lastGroup: (file: String, range: Range<Int>)?

        var bits: Int { files.reduce(0) { $0 + $1.bytes * 8 } }
    }

    private static func sample(closing: Bool, _ cipher: Encryption.Cipher? = nil) throws -> Sample {
        let disk = SimulatedDisk()
        var script = try Script(name: "every bit", text)
        script.cipher = cipher
        let run = ScriptRun(script, on: disk)
        try run.run(closing: closing)
        let image = disk.settledImage()
        let files = image.files.keys.sorted().map { (name: $0, bytes: Int(image.files[$0]?.size ?? 0)) }
        var sample = Sample(
            files: files, image: image, latest: try #require(run.states.last),
            before: run.states[run.states.count - 2], lastGroup: nil)
        if !closing, let log = run.openStore?.pipeline.log {
            // The last commit's frame is small: it lies in the block that its end is in.
            let segment = log.newestSegment
            let end = Int(log.position.lsn - segment * UInt64(log.segmentBytes))
            let start = (end - 1) / SegmentHeader.blockBytes * SegmentHeader.blockBytes
            sample.lastGroup = (LogFile.segmentPath(path, segment), start..<end)
        }
        run.abandon()
        return sample
    }

    private static func open(_ image: DiskImage, _ cipher: Encryption.Cipher? = nil) throws -> Answer {
        var options = StoreOptions()
        options.fileSystem = SimulatedDisk(image)
        options.background = .manual
        options.entropy = SeededEntropy(seed: 5)
        options.cacheBytes = 1 << 18
        options.encryption = cipher.map { TestKeys.encryption(0, $0) }
        do {
            let store = try Store(at: path, options: options)
            let found = try store.read { try ModelStore(reading: $0) }
            _ = try store.verify()
            try store.close()
            return .state(found)
        } catch let error as StorageError {
            #expect(!error.description.isEmpty)
            return .refusal
        }
    }

    private static func turn(_ bit: Int, of sample: Sample) -> (image: DiskImage, file: String, byte: Int) {
        var byte = bit / 8
        var image = sample.image
        for file in sample.files {
            if byte < file.bytes {
                let old = image.files[file.name]?.bytes(at: UInt64(byte), count: 1) ?? [0]
                image.files[file.name]?.replace(at: UInt64(byte), with: old.map { $0 ^ 1 << UInt8(bit % 8) })
                return (image, file.name, byte)
            }
            byte -= file.bytes
        }
        return (image, "", 0)
    }

    /// Every bit of the page headers, metas and frames is among the sample's; of the rest it takes some.
    private static func chosen(_ part: Int, _ sample: Sample) -> [Int] {
        let all = stride(from: part, to: sample.bits, by: parts)
        if TestEffort.isFull { return Array(all) }
        var random = SplitMix(seed: UInt64(part) &+ 77)
        return (0..<90).map { _ in
            // Half of them where a block's header is.
            let bit = random.below(sample.bits)
            return random.chance(50) ? bit : bit / 32768 * 32768 + random.below(128 * 8)
        }
    }

    @Test(arguments: [true, false], 0..<parts) func theAnswerIsRightOrAnError(closing: Bool, part: Int) throws {
        try EveryBitTests.expectRightAnswersOrErrors(closing, part, nil)
    }

    @Test(.enabled(if: Encryption.isAvailable, "needs the trait Encryption"), arguments: [true, false], 0..<parts)
    func soItIsWhereTheDatabaseIsEncrypted(closing: Bool, part: Int) throws {
        try EveryBitTests.expectRightAnswersOrErrors(closing, part, part % 2 == 0 ? .aesGCM : .chaChaPoly)
    }

    private static func expectRightAnswersOrErrors(_ closing: Bool, _ part: Int, _ cipher: Encryption.Cipher?) throws {
        let sample = try EveryBitTests.sample(closing: closing, cipher)
        var wrong: [String] = []
        var right = 0
        var refused = 0
        var shortened = 0
        for bit in EveryBitTests.chosen(part, sample) {
            let (image, file, byte) = EveryBitTests.turn(bit, of: sample)
            switch try EveryBitTests.open(image, cipher) {
            case .refusal: refused += 1
            case .state(sample.latest): right += 1
            case .state(sample.before):
                if let group = sample.lastGroup, group.file == file, group.range.contains(byte) {
                    shortened += 1
                } else {
                    wrong.append("\(file), byte \(byte), bit \(bit % 8): the last commit is lost")
                }
            case .state: wrong.append("\(file), byte \(byte), bit \(bit % 8): another state")
            }
            if wrong.count > 3 { break }
        }
        #expect(wrong.isEmpty)
        #expect(right > 0 && refused > 0)
        if TestEffort.isFull || TestEffort.isChatty {
            print(
                "bits, closed \(closing), part \(part): \(right) right, \(refused) refused, \(shortened) without the last commit"
            )
        }
    }

    /// The sample is what it is meant to be.
    @Test func theSampleHasALogOfSeveralSegments() throws {
        let killed = try EveryBitTests.sample(closing: false)
        #expect(killed.files.filter { $0.name.contains("-wal-") }.count >= 2)
        #expect(try EveryBitTests.open(killed.image) == .state(killed.latest))
        let closed = try EveryBitTests.sample(closing: true)
        #expect(closed.files.count == 1)
        #expect(closed.latest == killed.latest && killed.latest != killed.before)
    }
}
