import Foundation
import MakoStorage
import MakoTestSupport
import ReplicationTestSupport
import Testing

@testable import MakoReplication

/// The bytes of objects: those of format 1 are read for ever, and no others are taken for objects.
@Suite struct ObjectFormatTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Golden")

    // MARK: Golden objects

    /// The objects of `Golden/v1`: a full backup, frames, an incremental backup, frames, a promotion, and frames and both
    /// kinds of backups of the promoted database.
    private func golden() throws -> SimulatedObjectStore {
        let objects = SimulatedObjectStore()
        let root = Self.folder.appendingPathComponent("v1")
        for name in try FileManager.default.subpathsOfDirectory(atPath: root.path) {
            guard let content = FileManager.default.contents(atPath: root.appendingPathComponent(name).path) else {
                continue
            }
            objects.objects[name] = Array(content)
        }
        return objects
    }

    private func restored(_ commit: UInt64, from objects: any ObjectStore) throws -> LedgerState {
        let options = Ledger.options(MemoryFileSystem(), seed: commit)
        _ = try Replica(objects).restore(to: "golden.mako", at: commit, beginsBranch: false, options: options)
        let store = try Store(at: "golden.mako", options: options)
        defer { try? store.close() }
        #expect(try store.verify().findings == [])
        return try LedgerState(reading: store)
    }

    private func line(_ commit: UInt64, _ state: LedgerState) -> String {
        var bytes: [UInt8] = []
        for (key, value) in state.numbers.sorted(by: { $0.key < $1.key }) { bytes += Words.bytes(of: key) + value }
        for (key, value) in state.words.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            bytes += key + value
        }
        return "\(commit): \(state.numbers.count) numbers, \(state.words.count) words, \(Digest.of(bytes))"
    }

    @Test func goldenObjectsAreRestoredAndFollowed() throws {
        let objects = try golden()
        let text = try String(contentsOf: Self.folder.appendingPathComponent("v1.txt"), encoding: .utf8)
        let points = try #require(try Replica(objects).restorePoints().first)
        #expect(points.findings == [])
        let lines = try points.runs.flatMap(\.commits).map { line($0, try restored($0, from: objects)) }
        #expect(lines.joined(separator: "\n") + "\n" == text)
        #expect(lines.count >= 8)
        var options = Follower.Options()
        options.store = Ledger.options(SimulatedDisk(), seed: 3)
        let follower = try Follower(objects, at: "golden.mako", options: options)
        try follower.follow()
        #expect(follower.commit == points.newest)
        let promoted = try follower.promote(options: options.store)
        #expect(try LedgerState(reading: promoted) == (try restored(try #require(points.newest), from: objects)))
        try promoted.close()
    }

    @Test func goldenHeadersAreEncodedAsTheyAre() throws {
        let objects = try golden().objects
        var kinds: [SequenceKind] = []
        for (name, bytes) in objects.sorted(by: { $0.key < $1.key }) {
            if name.hasSuffix("/origin") { #expect(BranchOrigin(bytes)?.encoded == bytes) }
            guard name.contains("/seq/") else { continue }
            let header = try #require(SequenceHeader(Array(bytes.prefix(SequenceHeader.bytes))))
            let content = Array(bytes.dropFirst(SequenceHeader.bytes))
            #expect(header.encoded + content == bytes)
            kinds.append(header.kind)
            guard header.kind == .frames else { continue }
            #expect(FrameContent.decode(content).map(FrameContent.encode) == content)
        }
        #expect(kinds == [.full, .frames, .frames, .part, .frames, .frames, .frames, .full, .frames, .part])
    }

    /// Writes the golden objects: once for each format.
    @Test(.enabled(if: ProcessInfo.processInfo.environment["MAKO_TEST_WRITE_GOLDEN"] == "v1", "writes Golden/v1"))
    func writeGoldenObjects() throws {
        let ledger = try Ledger(seed: 501)
        let old = try ledger.replicator()
        for change in [Ledger.Change.small, .several, .small, .many, .delete] {
            try ledger.commit(change)
            try old.ship()
        }
        let bench = FollowerBench(ledger)
        let store = try bench.promote()
        var options = Replicator.Options()
        options.now = { 2_000_000 }
        options.backupAfterBytes = 1
        let next = try Replicator(store, to: ledger.objects, options: options)
        for number in UInt64(1)...2 {
            try store.write { tx in
                let tree = try #require(tx.view.tree(named: "numbers"))
                try tx.put([UInt8](repeating: 7, count: 30), for: number, in: tree)
            }
            try next.ship()
        }
        for (name, bytes) in ledger.objects.objects {
            let file = Self.folder.appendingPathComponent("v1").appendingPathComponent(name)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(bytes).write(to: file)
        }
        let points = try #require(try ledger.replica.restorePoints().first)
        let lines = try points.runs.flatMap(\.commits).map { line($0, try restored($0, from: ledger.objects)) }
        try (lines.joined(separator: "\n") + "\n").write(
            to: Self.folder.appendingPathComponent("v1.txt"), atomically: true, encoding: .utf8)
    }

    // MARK: Any bytes

    /// Each bit of the small objects is covered by a checksum.
    @Test func everyFlippedBitOfAnOriginOrAMarkIsRefused() {
        let place = LogPlace(commit: 7, lsn: 4096, chain: 99)
        let origin = BranchOrigin(
            ReplicaIdentity(high: 1, low: 2), branch: 3, parent: (2, 5), start: place, date: 1_000_000)
        let mark = RetentionMark(number: 5, commit: 70, date: 1_000_000)
        #expect(BranchOrigin(origin.encoded) == origin && RetentionMark(mark.encoded) == mark)
        for (bytes, isRead) in [
            (origin.encoded, { BranchOrigin($0) != nil }), (mark.encoded, { RetentionMark($0) != nil }),
        ] as [([UInt8], ([UInt8]) -> Bool)] {
            let bits = (0..<bytes.count * 8).filter { bit in
                var damaged = bytes
                damaged[bit / 8] ^= 1 << UInt8(bit % 8)
                return isRead(damaged)
            }
            #expect(bits == [])
            #expect((0..<bytes.count).allSatisfy { !isRead(Array(bytes.prefix($0))) })
            #expect(!isRead(bytes + [0]))
        }
    }

    /// Objects with right checksums and any words: each is refused, or says nothing beyond its fields.
    @Test(arguments: 0..<20) func forgedWordsAreRefusedOrHaveOneMeaning(_ seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let base = SequenceHeader(
            ReplicaIdentity(high: 1, low: 2), 1, 5, .frames, from: LogPlace(commit: 7, lsn: 4096, chain: 99),
            to: LogPlace(commit: 9, lsn: 8192, chain: 98))
        let whole = Words(base.encoded)
        let original = (1..<32).map { whole.word($0) }
        var read = 0
        for _ in 0..<200 {
            var words = original
            for _ in 0...random.below(3) {
                let value = [0, 1, 2, 3, .max, 1 << 62, random.next()][random.below(7)]
                words[random.below(words.count)] = value
            }
            let bytes = Words.encode(words, bytes: SequenceHeader.bytes)
            guard let header = SequenceHeader(bytes) else { continue }
            read += 1
            #expect(header.encoded == bytes)
            if let commits = header.commits { #expect(commits.lowerBound > header.before.commit) }
        }
        #expect(read > 20 && read < 200)
    }

    /// Contents of frames with lengths that are wrong: each is refused, or has one meaning.
    @Test(arguments: 0..<20) func forgedFramesAreRefusedOrHaveOneMeaning(_ seed: UInt64) {
        var random = SplitMix(seed: seed)
        func noise(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) } }
        for _ in 0..<50 {
            let segments = (0..<random.below(4)).map { _ in
                SegmentFrames(header: noise(SegmentFrames.headerBytes), frames: noise(random.below(40)))
            }
            var bytes = FrameContent.encode(segments)
            #expect(FrameContent.decode(bytes)?.map(\.frames) == segments.map(\.frames))
            if !bytes.isEmpty && random.chance(80) {
                bytes[random.below(bytes.count)] = [0, 1, 0x7f, 0xff][random.below(4)]
            }
            bytes.removeLast(min(bytes.count, random.below(3)))
            guard let decoded = FrameContent.decode(bytes) else { continue }
            #expect(FrameContent.encode(decoded) == bytes)
        }
    }

    /// A forged header with a right checksum, in the place of a real one, is a finding or an error, and never another state.
    @Test(arguments: 0..<3) func forgedObjectsChangeNoState(_ seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let objects = try golden()
        let names = objects.names.filter { $0.contains("/seq/") }
        let newest = try #require(try Replica(objects).restorePoints().first?.newest)
        let expected = try restored(newest, from: objects)
        for _ in 0..<12 {
            let name = names[random.below(names.count)]
            let bytes = try #require(objects.objects[name])
            let real = Words(bytes)
            var words = (1..<32).map { real.word($0) }
            words[2 + random.below(20)] = [0, 1, 3, .max >> 3, random.next() >> 2][random.below(5)]
            let header = Words.encode(words, bytes: SequenceHeader.bytes)
            objects.objects[name] = header + bytes.dropFirst(SequenceHeader.bytes)
            do {
                #expect(try restored(newest, from: objects) == expected, "\(name) \(words)")
            } catch is ReplicationError {}
            objects.objects[name] = bytes
        }
    }
}
