import MakoTestSupport
import Testing

@testable import MakoStorage

/// The output of `mako page` and `mako log` for intact and damaged files.
@Suite struct InspectionTests {
    private static let path = ScriptRun.path

    private static let text = """
        options log 65536
        tree t int
        put t 1..400 60b
        tree u bytes
        put u 1..300 40b
        put t 500 9000b
        checkpoint
        delete t 50..60
        begin
        put u 400 700z
        deleterange t 70 90
        commit
        """

    /// A store that was left open, and the commits it made.
    private static func sample() throws -> (image: DiskImage, model: ModelStore) {
        let disk = SimulatedDisk()
        let run = ScriptRun(try Script(name: "inspection", text), on: disk)
        try run.run(closing: false)
        let model = try #require(try run.visible())
        let image = disk.settledImage()
        run.abandon()
        return (image, model)
    }

    /// Parts of a census add up to the whole, and their kinds are those of single pages.
    @Test func aCensusCountsEachPageOnce() throws {
        let disk = SimulatedDisk()
        let run = ScriptRun(try Script(name: "inspection", Self.text), on: disk)
        try run.run()
        let inspection = try PageInspection(path: Self.path, fileSystem: disk)
        let whole = try inspection.census(from: 0, count: .max)
        var sum: [PageCensusGroup: PageCensusCount] = [:]
        for first in stride(from: 0, to: inspection.pageCount, by: 7) {
            for (group, count) in try inspection.census(from: first, count: 7).counts {
                sum[group, default: PageCensusCount()].pages += count.pages
                sum[group]?.usedBytes += count.usedBytes
            }
        }
        #expect(sum == whole.counts)
        #expect(whole.counts.values.reduce(0) { $0 + $1.pages } == Int(inspection.pageCount))
        let pages = try (0..<inspection.pageCount).map { try inspection.page($0) }
        for (name, tree) in [("integerLeaf", "t"), ("byteLeaf", "u")] {
            let leaves = pages.filter { $0.use == .inUse && $0.header.typeName == name && $0.treeName == tree }
            let counted = try #require(whole.counts[PageCensusGroup(kind: .leaf, tree: tree)])
            #expect(counted.pages == leaves.count && counted.usedBytes <= leaves.count * pageBytes)
            #expect(counted.usedBytes > leaves.count * pageBytes / 4)
        }
        #expect(whole.counts[PageCensusGroup(kind: .value, tree: "t")]?.pages == 3)
        #expect(try inspection.census(from: inspection.pageCount + 5, count: 9).counts.isEmpty)
        #expect(try inspection.census(from: .max, count: .max).counts.isEmpty)
    }

    /// The leaves in use, put together, are the trees as of the checkpoint, and each is reached from its root.
    @Test func thePagesInUseAreTheTrees() throws {
        let disk = SimulatedDisk()
        let run = ScriptRun(try Script(name: "inspection", Self.text), on: disk)
        try run.run()
        let model = try #require(run.states.last)
        let inspection = try PageInspection(path: Self.path, fileSystem: disk)
        var entries: [String: Int] = [:]
        var children = Set<UInt64>()
        var roots = Set<UInt64>()
        for number in 0..<inspection.pageCount {
            let page = try inspection.page(number)
            #expect(page.number == number && page.bytes.count == pageBytes)
            #expect(page.problem == nil)
            guard page.use == .inUse, page.header.typeName != "directory" else { continue }
            let name = try #require(page.treeName)
            guard page.header.typeName != "overflow" else { continue }
            let treePath = try #require(page.treePath, "page \(number)")
            if treePath.isEmpty { roots.insert(number) }
            for entry in page.entries {
                switch entry.content {
                case .child(let child): children.insert(child)
                case .malformed: Issue.record("page \(number)")
                case .overflow(_, let pages, let length, _): #expect(pages == 3 && length == 9000)
                case .value(let bytes):
                    guard case .integer(let key) = entry.key else { break }
                    #expect(model.trees[name]?[.integer(key)] == bytes)
                }
            }
            if page.header.level == 0 { entries[name, default: 0] += page.entries.count }
        }
        #expect(entries == model.trees.mapValues(\.count))
        #expect(roots.count == 2 && roots.isDisjoint(with: children))
        #expect(throws: StorageError.self) { _ = try inspection.page(inspection.pageCount) }
    }

    @Test func fixedPagesAreNamed() throws {
        let disk = SimulatedDisk(try Self.sample().image)
        let inspection = try PageInspection(path: Self.path, fileSystem: disk)
        #expect(try inspection.page(0).use == .fixed("header block, copy 0"))
        #expect(try inspection.page(5).use == .fixed("meta slot B, copy 1"))
        #expect(try inspection.page(8).use == .fixed("bitmap of region 0, place 2"))
        let metas = try (2..<6).map { try inspection.page($0).fields }
        #expect(metas[0] == metas[1] && metas[2] == metas[3] && metas[0] != metas[2])
        #expect(try inspection.page(1).fields.first { $0.name == "segment bytes" }?.value == 65536)
    }

    @Test func aDamagedPageSaysSoAndStillShowsItsHeader() throws {
        let (image, _) = try Self.sample()
        let disk = SimulatedDisk(image)
        let before = try PageInspection(path: Self.path, fileSystem: disk)
        let leaf = try #require(
            try (9..<before.pageCount).first { try before.page($0).header.typeName == "integerLeaf" })
        let sound = try before.page(leaf)
        disk.flipBit(3, inByte: Int(leaf) * pageBytes + 4000, of: Self.path)
        let page = try PageInspection(path: Self.path, fileSystem: disk).page(leaf)
        #expect(page.problem == "its checksum does not match its bytes")
        #expect(page.header == sound.header)
    }

    /// A page shows itself while a store has the file open for writing.
    @Test func aStoreThatIsOpenCanBeLookedAt() throws {
        let disk = SimulatedDisk()
        let run = ScriptRun(try Script(name: "inspection", Self.text), on: disk)
        try run.run(closing: false)
        #expect(try PageInspection(path: Self.path, fileSystem: disk).page(2).problem == nil)
        #expect(try #require(run.openStore).verify().isClean)
    }

    // MARK: The log

    private struct Seen {
        var segments: [SegmentDescription] = []
        var frames: [FrameDescription] = []
    }

    private static func log(_ disk: SimulatedDisk, operations: Bool = true) throws -> Seen {
        var seen = Seen()
        try LogInspection.log(
            of: path, fileSystem: disk, operations: operations, segment: { seen.segments.append($0) },
            frame: { seen.frames.append($0) })
        return seen
    }

    @Test func theLogListsEachCommit() throws {
        let seen = try Self.log(SimulatedDisk(try Self.sample().image))
        #expect(seen.segments.allSatisfy { $0.header?.segmentBytes == 65536 })
        #expect(seen.frames.allSatisfy { $0.isWhole && $0.gap == 0 })
        let commits = seen.frames.map(\.commit)
        #expect(commits == Array(commits[0]..<commits[0] + UInt64(commits.count)))
        let last = try #require(seen.frames.last?.operations)
        #expect(last.map(\.kind) == [.put, .deleteRange])
        #expect(last[0].key == .bytes(Array("000400".utf8)) && last[0].valueBytes == 700)
        #expect(last[1].key == .integer(70) && last[1].last == .integer(90))
        let deletes = try #require(seen.frames.dropLast().last?.operations)
        #expect(deletes.map(\.kind) == Array(repeating: .delete, count: 11))
        let created = seen.frames.compactMap(\.operations).joined().filter { $0.kind == .createTree }
        #expect(created.map(\.name) == ["t", "u"])
    }

    @Test func damageInTheLogIsAGapAndTheRestIsShown() throws {
        let (image, _) = try Self.sample()
        let disk = SimulatedDisk(image)
        let whole = try Self.log(disk)
        let hurt = whole.frames[1]
        let segment = try #require(whole.segments.first { $0.header?.number == hurt.segment }).path
        disk.flipBit(0, inByte: hurt.offset + 10, of: segment)
        let seen = try Self.log(disk)
        #expect(seen.frames.map(\.commit) == whole.frames.map(\.commit).filter { $0 != hurt.commit })
        #expect(seen.frames[1].gap > 0 && !seen.frames[1].isWhole)
        #expect(seen.frames.dropFirst(2).allSatisfy { $0.isWhole })
    }

    /// Any bytes: a description or a typed error, and never a trap.
    @Test(arguments: 0..<4) func noBytesStopTheInspection(part: Int) throws {
        let (image, _) = try Self.sample()
        var random = SplitMix(seed: UInt64(part) &+ 5)
        var described = 0
        for _ in 0..<(TestEffort.isFull ? 2000 : 30) {
            var files = image.files
            for (path, content) in image.files {
                var bytes = content.bytes
                for _ in 0..<1 + random.below(30) {
                    // Mostly the beginnings of pages and blocks, where lengths and numbers stand.
                    let block = random.below(bytes.count / 4096) * 4096
                    let place = block + (random.chance(70) ? random.below(80) : random.below(4096))
                    bytes[place] = random.chance(40) ? 0xff : UInt8(truncatingIfNeeded: random.next())
                    if random.chance(50) { Self.seal(&bytes, block, path) }
                }
                if random.chance(10) { bytes.removeLast(random.below(bytes.count)) }
                files[path] = ByteImage(bytes)
            }
            let disk = SimulatedDisk(DiskImage(files: files))
            do throws(StorageError) {
                let inspection = try PageInspection(path: Self.path, fileSystem: disk)
                for number in 0..<inspection.pageCount { _ = try inspection.page(number) }
                described += 1
            } catch {}
            do { _ = try Self.log(disk) } catch is StorageError {}
        }
        #expect(described > 0, "most damage leaves the file describable")
    }

    /// Makes the checksum of a page or of a segment's beginning right.
    private static func seal(_ bytes: inout [UInt8], _ block: Int, _ path: String) {
        guard block + pageBytes <= bytes.count else { return }
        let isLog = path.contains("-wal-")
        bytes.withUnsafeMutableBytes { buffer in
            guard let base = buffer.baseAddress else { return }
            let page = base + block
            if isLog {
                if block == 0 { page.storeBytes(of: Checksum.hash(page + 8, count: 64, seed: 0), as: UInt64.self) }
            } else if let copy = FileHeader.read(base, copy: 0).header {
                Page.seal(page, page: UInt64(block / pageBytes), seed: block < 2 * pageBytes ? 0 : copy.id.seed)
            }
        }
    }
}

extension FileHeader.Reading {
    fileprivate var header: FileHeader? { if case .good(let header) = self { header } else { nil } }
}
