import Foundation
import MakoTestSupport
import Testing

@testable import MakoStorage

/// The budget of memory: what it is, what lowering it gives back, and how much address space a store takes.
@Suite struct CacheBudgetTests {
    // MARK: Lowering

    @Test(arguments: [4096, 16 << 10]) func loweringTheBudgetGivesMemoryBack(unitBytes: Int) throws {
        let sample = try CacheBudgetSample(megabytes: 12, unitBytes: unitBytes)
        try sample.expectAllValues()
        #expect(sample.store.cacheBytes == 64 << 20)
        #expect(sample.store.stats.cacheMappedBytes > 10 << 20)
        try sample.store.setCacheBytes(4 << 20)
        #expect(sample.store.cacheBytes == 4 << 20)
        let after = try sample.settle { $0.cacheMappedBytes <= 4 << 20 }
        #expect(after.cacheBudgetBytes == 4 << 20 && after.cacheMappedBytes <= 4 << 20, "\(after)")
        try sample.expectAllValues()
        #expect(try sample.store.verify().isClean)
        try sample.store.close()
    }

    /// Frames that are allocated again after their memory was returned hold what is read into them.
    @Test(arguments: [4096, 16 << 10]) func aBudgetThatIsRaisedAgainIsUsed(unitBytes: Int) throws {
        let sample = try CacheBudgetSample(megabytes: 8, unitBytes: unitBytes)
        for _ in 0..<3 {
            try sample.store.setCacheBytes(1 << 20)
            let low = try sample.settle { $0.cacheMappedBytes <= 1 << 20 }
            #expect(low.cacheMappedBytes <= 1 << 20)
            try sample.store.setCacheBytes(64 << 20)
            try sample.expectAllValues()
            #expect(sample.store.stats.cacheUsedBytes > 7 << 20)
        }
        #expect(try sample.store.verify().isClean)
        try sample.store.close()
    }

    /// Memory that a transaction counts beside pages reduces the pages at once, not at the next background step.
    @Test func memoryBesidePagesIsTakenFromThem() throws {
        let sample = try CacheBudgetSample(megabytes: 12, cacheBytes: 8 << 20)
        try sample.expectAllValues()
        let frames = sample.store.frames
        #expect(frames.frameCounts.mapped > 1900)
        try sample.store.write { tx in
            let limit = ContinuousClock.now + .seconds(60)
            repeat {
                tx.countSide(bytes: 2 << 20)
                // Operations of other tests may keep some frames from being given back.
            } while frames.frameCounts.mapped > 1560 && ContinuousClock.now < limit
            #expect(frames.frameCounts.mapped <= 1560)
            tx.countSide(bytes: 0)
        }
        try sample.expectAllValues()
        try sample.store.close()
    }

    /// Pages that only memory has stay until the checkpoint has written them.
    @Test(arguments: [4096, 16 << 10]) func dirtyPagesStayUntilTheyAreWritten(unitBytes: Int) throws {
        let sample = try CacheBudgetSample(megabytes: 8, unitBytes: unitBytes)
        try sample.putAll()
        let dirty = sample.store.frames.dirtyFrames * pageBytes
        #expect(dirty > 6 << 20)
        try sample.store.setCacheBytes(1 << 20)
        #expect(sample.store.stats.cacheUsedBytes >= dirty)
        #expect(sample.store.frames.dirtyFrames * pageBytes == dirty)
        let after = try sample.settle { $0.cacheMappedBytes <= 1 << 20 }
        #expect(after.cacheMappedBytes <= 1 << 20 && sample.store.frames.dirtyFrames == 0)
        try sample.expectAllValues()
        #expect(try sample.store.verify().isClean)
        try sample.store.close()
    }

    @Test func snapshotsCursorsAndTransactionsGoOn() throws {
        let sample = try CacheBudgetSample(megabytes: 6)
        let view = try sample.store.snapshot()
        var cursor = try view.cursor(in: sample.tree)
        #expect(try cursor.first())
        let writer = try sample.store.beginWrite()
        for key in UInt64(0)..<500 { try writer.put([1], for: key, in: sample.tree) }
        try sample.store.setCacheBytes(256 << 10)
        var count: UInt64 = 0
        repeat {
            if try cursor.value() != CacheBudgetSample.value(cursor.integerKey) {
                Issue.record("key \(cursor.integerKey)")
            }
            count += 1
        } while try cursor.next()
        #expect(count == sample.keys)
        for key in UInt64(500)..<5000 { try writer.put([2], for: key, in: sample.tree) }
        try writer.commit()
        view.close()
        let after = try sample.settle { $0.cacheMappedBytes <= 256 << 10 }
        #expect(after.cacheMappedBytes <= 256 << 10)
        #expect(try sample.store.read { try $0.get(UInt64(499), in: sample.tree) } == [1])
        #expect(try sample.store.read { try $0.get(UInt64(500), in: sample.tree) } == [2])
        #expect(try sample.store.verify().isClean)
        try sample.store.close()
    }

    /// A store that only reads does no work in the background; what it gives back it gives back at once.
    @Test func aReaderKeepsItsBudgetWhenItFollowsTheWriter() throws {
        let disk = SimulatedDisk(seed: 1)
        let sample = try CacheBudgetSample(megabytes: 6, on: disk)
        var options = StoreOptions()
        options.fileSystem = disk
        options.readOnly = true
        options.cacheBytes = 64 << 20
        let reader = try Store(at: "d/s.mako", options: options)
        try reader.read { view in
            for key in 0..<sample.keys { _ = try view.get(key, in: sample.tree) }
        }
        #expect(reader.stats.cacheMappedBytes > 5 << 20)
        var mapped = Int.max
        let limit = ContinuousClock.now + .seconds(60)
        while mapped > 1 << 20, ContinuousClock.now < limit {
            try reader.setCacheBytes(1 << 20)
            mapped = reader.stats.cacheMappedBytes
        }
        #expect(mapped <= 1 << 20)
        // Two checkpoints later the reader must reopen the file.
        for round in UInt64(0)..<4 {
            try sample.store.write { try $0.put([7], for: round, in: sample.tree) }
            try sample.store.checkpoint()
            _ = try reader.refresh()
        }
        #expect(try reader.read { try $0.get(UInt64(3), in: sample.tree) } == [7])
        #expect(reader.cacheBytes == 1 << 20 && reader.stats.cacheBudgetBytes == 1 << 20)
        try reader.close()
        try sample.store.close()
        #expect(throws: StorageError.closed(path: reader.path)) { try reader.setCacheBytes(1 << 20) }
    }

    @Test(arguments: [Int.min, -1, 0, 1, 1 << 20, .max]) func aBudgetMayBeAnyNumber(bytes: Int) throws {
        let sample = try CacheBudgetSample(megabytes: 1)
        try sample.store.setCacheBytes(bytes)
        #expect(sample.store.cacheBytes >= 256 << 10)
        try sample.expectAllValues()
        try sample.store.close()
    }

    // MARK: What the process takes

    #if os(Linux)
        /// In a process of its own, whose memory is this test's alone.
        @Test func theResidentSetFalls() async throws {
            let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
                try CacheBudgetTests.lowerAndMeasure()
            }
            CacheBudgetTests.show(result)
        }

        private static func lowerAndMeasure() throws {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let path = folder.appendingPathComponent("s.mako").path
            let sample = try CacheBudgetSample(megabytes: 56, at: path, on: POSIXFileSystem())
            try sample.expectAllValues()
            let full = ProcessMemory.now
            try sample.store.setCacheBytes(4 << 20)
            let low = ProcessMemory.now
            try sample.expectAllValues()
            let after = ProcessMemory.now
            try sample.store.close()
            print("resident: \(full.resident), lowered: \(low.resident), read again: \(after.resident)")
            // 52 MiB of the 56 go back. What the allocator keeps meanwhile is not the store's.
            guard full.resident - low.resident > 48 << 20, full.resident - after.resident > 45 << 20 else {
                throw StorageError.invalidArgument("resident: \(full), lowered: \(low), later: \(after)")
            }
        }

        @Test func twentyStoresTakeLittleAddressSpace() async throws {
            let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
                let before = ProcessMemory.now
                let samples = try (0..<20).map { _ in try CacheBudgetSample(megabytes: 1) }
                let after = ProcessMemory.now
                print("address space of 20 stores: \(after.reserved - before.reserved)")
                for sample in samples { try sample.store.close() }
                guard after.reserved - before.reserved < 20 * 96 << 20 else {
                    throw StorageError.invalidArgument("20 stores take \(after.reserved - before.reserved) bytes")
                }
            }
            CacheBudgetTests.show(result)
        }

        private static func show(_ result: ExitTest.Result?) {
            guard TestEffort.isChatty, let result else { return }
            print(String(decoding: result.standardOutputContent, as: UTF8.self))
        }
    #endif

    /// The default budget is more than one chunk, and reserved chunk by chunk.
    @Test func addressSpaceIsReservedAsNeeded() throws {
        let small = try CacheBudgetSample(megabytes: 1, cacheBytes: 256 << 20)
        // The marks of the table's blocks take some KiB.
        #expect(small.store.frames.reservedBytes >> 20 == 48)
        for page in UInt64(100_000)..<120_000 { _ = try small.store.frames.makeDirty(page: page) }
        #expect(small.store.frames.reservedBytes >> 20 == 16 + 4 * 32)
        for page in UInt64(100_000)..<120_000 {
            let frame = try #require(small.store.frames.dirtyFrame(page: page))
            #expect(small.store.frames.isDirty(Page(frame)) && UInt(bitPattern: frame) % 4096 == 0)
        }
        small.store.frames.discard(100_000..<120_000)
        try small.expectAllValues()
        try small.store.close()
    }

    // MARK: The table

    /// A file beyond 16 GiB needs a larger page table, which must take over the entries of the smaller one: dirty pages
    /// are in memory only.
    @Test func aTableThatGrowsKeepsItsEntries() throws {
        let sample = try CacheBudgetSample(megabytes: 4)
        let writer = try sample.store.beginWrite()
        for key in 0..<sample.keys { try writer.put([UInt8(key & 255)], for: key, in: sample.tree) }
        let before = sample.store.frames.reservedBytes
        sample.store.frames.cover(below: 5_000_000)
        // With a mark for each block of entries.
        #expect((64 << 20..<65 << 20).contains(sample.store.frames.reservedBytes - before))
        let far = try sample.store.frames.makeDirty(page: 20_000_000)
        #expect(sample.store.frames.dirtyFrame(page: 20_000_000) == far)
        sample.store.frames.discard(20_000_000..<20_000_001)
        #expect(sample.store.frames.dirtyFrame(page: 20_000_000) == nil)
        try writer.commit()
        try sample.store.read { view in
            for key in 0..<sample.keys where try view.get(key, in: sample.tree) != [UInt8(key & 255)] {
                Issue.record("key \(key)")
            }
        }
        try sample.store.checkpoint()
        #expect(try sample.store.verify().isClean)
        try sample.store.close()
    }

    /// A scan touches the entries of all pages of the file. A small cache needs those of few.
    @Test func tableEntriesOfEvictedPagesTakeNoMemory() throws {
        let sample = try CacheBudgetSample(megabytes: 40, cacheBytes: 512 << 10)
        let frames = sample.store.frames
        try sample.expectAllValues()
        frames.evictToBudget()
        let used = frames.tableBytes.load(ordering: .relaxed)
        #expect(used > 0 && used < sample.store.stats.livePages * 4 / 2)
        // Dirty pages are in memory only.
        let writer = try sample.store.beginWrite()
        for key in stride(from: 0, to: sample.keys, by: 1000) { try writer.put([1], for: key, in: sample.tree) }
        frames.tableLimit.store(0, ordering: .relaxed)
        frames.returnTable()
        for key in stride(from: 0, to: sample.keys, by: 1000) {
            #expect(try writer.view.get(key, in: sample.tree) == [1])
        }
        writer.rollback()
        try sample.expectAllValues()
        #expect(try sample.store.verify().isClean)
        try sample.store.close()
    }

    @Test func aPageBeyondTheTableIsRefused() throws {
        let sample = try CacheBudgetSample(megabytes: 1)
        #expect(throws: StorageError.self) {
            _ = try sample.store.frames.makeDirty(page: UInt64(PageTables.mostEntries))
        }
        let far = PageReference(page: 9_000_000, writeID: 1)
        #expect(
            throws: StorageError.corrupted(
                page: 9_000_000, reason: "the file ends before it (cut short, or a lost write)")
        ) { _ = try sample.store.frames.resolve(far, type: .integerLeaf, level: 0) }
        try sample.store.close()
    }

    // MARK: The default

    @Test func theDefaultIsAShareOfWhatTheProcessMayHave() {
        func bytes(_ available: UInt64, isExtension: Bool = false) -> Int {
            MemoryShare.bytes(ofAvailable: available, isExtension: isExtension)
        }
        #expect(bytes(16 << 30) == 256 << 20 && bytes(0) == 256 << 20 && bytes(.max) == 256 << 20)
        #expect(bytes(512 << 20) == 64 << 20 && bytes(2 << 20) == 4 << 20)
        #expect(bytes(16 << 30, isExtension: true) == 4 << 20 && bytes(0, isExtension: true) == 4 << 20)
        #expect(MemoryShare.isExtension(path: "/var/A.app/PlugIns/W.appex/W"))
        #expect(!MemoryShare.isExtension(path: "/var/A.app/A") && !MemoryShare.isExtension(path: "/var/W.appexes/W"))
        #expect(StoreOptions().cacheBytes == StoreOptions.defaultCacheBytes)
        #expect((4 << 20...256 << 20).contains(StoreOptions.defaultCacheBytes))
    }

    @Test func controlGroupsLimitIt() {
        func limit(_ groups: String, _ files: [String: String]) -> UInt64? {
            MemoryShare.limit(ofGroups: groups) { files[$0] }
        }
        // Version 2: a limit of a group around it holds, too.
        let nested = [
            "/sys/fs/cgroup/a/b/memory.max": "max\n", "/sys/fs/cgroup/a/memory.max": "536870912\n",
            "/sys/fs/cgroup/memory.max": "1073741824\n",
        ]
        #expect(limit("0::/a/b\n", nested) == 512 << 20)
        #expect(limit("0::/\n", nested) == 1 << 30)
        #expect(limit("0::/elsewhere\n", ["/sys/fs/cgroup/memory.max": "max\n"]) == nil)
        // Version 1: no limit is a number near 2^63, and in a container the path is the host's.
        let old = [
            "/sys/fs/cgroup/memory/x/memory.limit_in_bytes": "9223372036854771712\n",
            "/sys/fs/cgroup/memory/memory.limit_in_bytes": "268435456\n",
        ]
        #expect(limit("9:cpu:/y\n4:memory:/x\n0::/\n", old) == 256 << 20)
        #expect(limit("5:hugetlb,memory:/host/path\n", old) == 256 << 20)
        #expect(limit("4:cpu:/x\n", old) == nil && limit("", old) == nil && limit("memory", old) == nil)
    }
}

/// The memory and the address space of the process, in bytes.
struct ProcessMemory {
    var reserved = 0
    var resident = 0

    static var now: ProcessMemory {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        let pages = text.split(separator: " ").compactMap { Int($0) }
        guard pages.count > 1 else { return ProcessMemory() }
        return ProcessMemory(
            reserved: pages[0] * SystemMemory.pageBytes, resident: pages[1] * SystemMemory.pageBytes)
    }
}
