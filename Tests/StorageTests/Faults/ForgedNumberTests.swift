import MakoStorage
import MakoTestSupport
import Testing

// The numbers of `docs/format.md`: where a page's own bytes begin, the bound of counters, and the bits of the first region's fixed pages.
private let bodyOffset = 40
private let largestCounter: UInt64 = 1 << 62
private let reservedPages: UInt64 = 1 << 9 - 1

/// Each number of the fixed pages and of the directory replaced, under a valid checksum: it is refused, found by
/// `verify`, or makes no difference, neither now nor for later writes.
@Suite struct ForgedNumberTests {
    private static let text = """
        options log 16384
        tree t int
        put t 1..200 90b
        tree u bytes counted
        put u 1..150 70b
        checkpoint
        put t 50..90 60b
        stream t 900 30000b
        checkpoint
        delete u 20..40
        """

    private func sample() throws -> SalvageSample { try SalvageSample(closing: true, Self.text) }

    /// The values that replace a number.
    private func forgeries(of number: UInt64, bits: Int) -> [UInt64] {
        let mask = bits == 64 ? UInt64.max : 1 << UInt64(bits) - 1
        let wanted: [UInt64] = [
            0, 1, 2, number &- 1, number &+ 1, number &+ 2, number &* 2, number &+ 1 << 20, number ^ 1 << 31,
            number ^ 1 << 40,
            1 << 61, largestCounter - 1, largestCounter, .max - 1, .max, number ^ 1 << 63, 0x0123_4567_89ab_cdef,
        ]
        return Array(Set(wanted.map { $0 & mask })).filter { $0 != number }.sorted()
    }

    /// How a file with a forged number fares; nil: as it should.
    private func fault(of image: DiskImage, _ wanted: ModelStore) -> String? {
        let disk = SimulatedDisk(image)
        let options = SalvageSample.options(disk)
        let store: Store
        let found: ModelStore
        do {
            store = try Store(at: SalvageSample.path, options: options)
            if try !store.verify().isClean { return nil }
            found = try store.read { try ModelStore(reading: $0) }
        } catch is StorageError { return nil } catch { return "\(error)" }
        if found.trees != wanted.trees { return "shows something else, and verify finds nothing" }
        do {
            let tree = try store.write { tx in
                let tree = try tx.createTree(named: "new", keys: .integer)
                for key in UInt64(0)..<300 { try tx.put([UInt8](repeating: 3, count: 100), for: key, in: tree) }
                return tree
            }
            try store.checkpoint()
            try store.write { try $0.put([4], for: 5, in: tree) }
            try store.close()
            let again = try Store(at: SalvageSample.path, options: options)
            let verified = try again.verify()
            if !verified.isClean { return "what was written on top is damaged: \(verified.findings)" }
            let later = try again.read { try ModelStore(reading: $0) }
            if try again.read({ try $0.get(5, in: tree) }) != [4] { return "what was written on top is not there" }
            if later.trees.filter({ $0.key != "new" }) != wanted.trees {
                return "what was there before is not, after something was written"
            }
            try again.close()
            return nil
        } catch { return "what is written on top fails: \(error)" }
    }

    private func expectHarmless(
        _ sample: SalvageSample, pages: [Int], at offset: Int, bytes: Int, _ what: String
    ) throws -> Int {
        let old = sample.file.bytes(at: UInt64(pages[0] * pageBytes + offset), count: bytes)
        let number = old.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        var count = 0
        for forged in forgeries(of: number, bits: bytes * 8) {
            let image = sample.changing(pages) { page in
                for index in 0..<bytes {
                    page.storeBytes(
                        of: UInt8(truncatingIfNeeded: forged >> UInt64(index * 8)), toByteOffset: offset + index,
                        as: UInt8.self)
                }
            }.image
            if let fault = fault(of: image, sample.latest) {
                Issue.record("\(what), \(number) forged as \(forged): \(fault)")
            }
            count += 1
        }
        return count
    }

    @Test func forgedMetasAreRefusedOrHarmless() throws {
        let sample = try sample()
        var count = 0
        let words = [
            "number", "commit", "point", "lsn", "chain", "nextTree", "directory", "write id", "length", "regions",
            "plain trees",
        ]
        for (index, word) in words.enumerated() {
            let offset = bodyOffset + index * 8
            if word == "number" {
                // The slots are different by it.
                for slot in [[2, 3], [4, 5]] {
                    count += try expectHarmless(sample, pages: slot, at: offset, bytes: 8, word)
                }
                continue
            }
            count += try expectHarmless(sample, pages: [2, 3, 4, 5], at: offset, bytes: 8, word)
            count += try expectHarmless(sample, pages: [4, 5], at: offset, bytes: 8, "\(word) of one slot")
        }
        count += try expectHarmless(sample, pages: [2, 3, 4, 5], at: pageBytes - 8, bytes: 8, "basis")
        #expect(count > 200)
    }

    @Test func forgedHeadersAreRefusedOrHarmless() throws {
        let sample = try sample()
        let words = [
            "identity", "identity", "must read", "must write", "high-water mark", "segment", "newest", "generation",
        ]
        for (index, word) in words.enumerated() {
            // Segments are written whole before their first use, and the largest would fill the memory.
            if word == "segment" { continue }
            _ = try expectHarmless(sample, pages: [0, 1], at: 56 + index * 8, bytes: 8, word)
        }
    }

    @Test func forgedDirectoriesAreRefusedOrHarmless() throws {
        let sample = try sample()
        let directory = try sample.layout().directory
        var offset = bodyOffset
        for (what, bytes) in [("bitmap copy", 1), ("bitmap write id", 8)] {
            _ = try expectHarmless(sample, pages: directory, at: offset, bytes: bytes, what)
            offset += bytes
        }
        for tree in ["t", "u"] {
            let fields = [("number", 4), ("kind", 1), ("levels", 1), ("name length", 2), ("root", 8), ("entries", 8)]
            for (what, bytes) in fields {
                _ = try expectHarmless(sample, pages: directory, at: offset, bytes: bytes, "\(what) of \(tree)")
                offset += bytes
            }
            offset += 1
        }
    }

    @Test func forgedBitmapsAreRefusedOrHarmless() throws {
        let sample = try sample()
        let bitmap = try sample.layout().bitmap
        for word in [0, 1, 2, 40, 506] {
            _ = try expectHarmless(sample, pages: [bitmap], at: bodyOffset + word * 8, bytes: 8, "word \(word)")
        }
    }

    /// A store that took the places of the headers and metas for free would write over them.
    @Test func fixedPlacesAreNeverFree() throws {
        let sample = try sample()
        let forged = sample.changing([try sample.layout().bitmap]) { page in
            let word = page.load(fromByteOffset: bodyOffset, as: UInt64.self)
            page.storeBytes(
                of: word & ~reservedPages, toByteOffset: bodyOffset, as: UInt64.self)
        }
        let error = #expect(throws: StorageError.self) {
            try Store(at: SalvageSample.path, options: SalvageSample.options(SimulatedDisk(forged.image)))
        }
        #expect("\(try #require(error))".contains("gives fixed pages away"))
    }

    /// The counter of trees must be above those that are there: else two would have one number.
    @Test(arguments: [0, 1, 2] as [UInt64]) func aTreeNumberIsNotGivenTwice(next: UInt64) throws {
        let forged = try sample().changing([2, 3, 4, 5]) { page in
            page.storeBytes(of: next, toByteOffset: bodyOffset + 40, as: UInt64.self)
        }
        let error = #expect(throws: StorageError.self) {
            try Store(at: SalvageSample.path, options: SalvageSample.options(SimulatedDisk(forged.image)))
        }
        #expect("\(try #require(error))".contains("next tree"))
        #expect(try SalvageSample.salvage(forged.image).found == sample().latest)
    }

    /// Counters with which the file that is written next could not be opened any more.
    @Test func absurdCountersCanBeReadAndNotWritten() throws {
        let sample = try sample()
        let forged = sample.changing([2, 3, 4, 5]) { page in
            page.storeBytes(of: largestCounter - 1, toByteOffset: bodyOffset + 8, as: UInt64.self)
        }
        var options = SalvageSample.options(SimulatedDisk(forged.image))
        let error = #expect(throws: StorageError.self) { try Store(at: SalvageSample.path, options: options) }
        #expect("\(try #require(error))".contains("commits"))
        options.readOnly = true
        let store = try Store(at: SalvageSample.path, options: options)
        #expect(try store.read { try ModelStore(reading: $0) }.trees == sample.latest.trees)
        try store.close()
    }

    /// One frame that makes so many trees is replayed, and each command on the file ends soon.
    @Test func manyTreesInOneFrameAreLinearWork() throws {
        let disk = SimulatedDisk()
        var options = SalvageSample.options(disk)
        options.logSegmentBytes = 16 << 20
        options.cacheBytes = 32 << 20
        let clock = ContinuousClock()
        let began = clock.now
        let store = try Store(at: SalvageSample.path, options: options)
        let count = 20_000
        try store.write { tx in
            for number in 0..<count { _ = try tx.createTree(named: "tree \(number)", keys: .integer) }
        }
        options.fileSystem = SimulatedDisk(disk.settledImage())
        let again = try Store(at: SalvageSample.path, options: options)
        #expect(again.recovery.replayedCommits == 1)
        #expect(try again.read { $0.trees.count } == count)
        #expect(try again.verify().isClean)
        try again.close()
        // Work that grows with the square of their number takes minutes.
        #expect(clock.now - began < .seconds(40))
    }
}
