import MakoTestSupport
import Synchronization
import Testing

@testable import MakoStorage

/// Opening the files of a process that did not close them: leftover files, failing checkpoints, and threads in
/// progress.
@Suite(.serialized) struct ReopenedTests {
    private static let path = "d/r.mako"

    private func options(_ disk: SimulatedDisk) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.logSegmentBytes = 32_768
        options.checkpointBytes = 1 << 30
        return options
    }

    private func fill(_ store: Store, _ tree: Tree, _ keys: Range<UInt64>, _ byte: UInt8 = 1) throws {
        for key in keys {
            var random = SplitMix(seed: key)
            let value = (0..<2000).map { _ in UInt8(truncatingIfNeeded: random.next()) ^ byte }
            try store.write { try $0.put(value, for: key, in: tree) }
        }
    }

    private func content(_ image: DiskImage) throws -> ModelStore {
        let store = try Store(at: ReopenedTests.path, options: options(SimulatedDisk(image)))
        let found = try store.read { try ModelStore(reading: $0) }
        #expect(try store.verify().isClean)
        try store.close()
        return found
    }

    // MARK: Files of the log

    /// Files that were to become segments when the power went lie between those that were.
    @Test func aSegmentThatWasNeverBegunHidesNoneBehindIt() throws {
        var disk = SimulatedDisk()
        var store = try Store(at: ReopenedTests.path, options: options(disk))
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        try fill(store, tree, 0..<4)
        var image = disk.settledImage()
        let newest = store.pipeline.lock.withLock { store.pipeline.log.newestSegment }
        disk.cutPower()
        let nothing = ByteImage([UInt8](repeating: 0, count: 32_768))
        for name in ["\(newest + 1)", "\(newest + 2)", "spare"] {
            image.files["\(ReopenedTests.path)-wal-\(name)"] = nothing
        }
        for round in UInt64(1)...6 {
            disk = SimulatedDisk(image)
            store = try Store(at: ReopenedTests.path, options: options(disk))
            try fill(store, tree, round * 40..<round * 40 + 4)
            let latest = try store.read { try ModelStore(reading: $0) }
            image = disk.settledImage()
            disk.cutPower()
            #expect(try content(image) == latest, "round \(round)")
            // From the checkpoint before, the log is read across the files that the last process found.
            #expect(try content(FallbackTests.withoutNewestMeta(image, ReopenedTests.path)) == latest, "round \(round)")
        }
        #expect(try content(image).trees["t"]?.count == 28)
    }

    /// A segment that no header names may have frames, but its directory entry may not be durable. What recovery made
    /// of its frames must not depend on it.
    @Test func aSegmentThatWasNotNamedIsNotMissedAfterRecovery() throws {
        var unnamed = 0
        for call in 0..<60 {
            let disk = SimulatedDisk()
            let store = try Store(at: ReopenedTests.path, options: options(disk))
            let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
            try fill(store, tree, 0..<12)
            disk.inject(.noSpace, atCall: disk.callCount + call)
            do { try fill(store, tree, 12..<24) } catch is StorageError {}
            disk.clearFaults()
            let named = store.dataFile.header.newestSegment
            disk.endProcess()
            let next = try Store(at: ReopenedTests.path, options: options(disk))
            let shown = try next.read { try ModelStore(reading: $0) }
            unnamed += next.pipeline.lock.withLock { next.pipeline.log.newestSegment } > named ? 1 : 0
            let left = disk.crashState().image([])
            disk.cutPower()
            #expect(try content(left) == shown, "call \(call)")
            #expect(try content(FallbackTests.withoutNewestMeta(left, ReopenedTests.path)) == shown, "call \(call)")
            withExtendedLifetime(store) {}
        }
        #expect(unnamed > 0)
    }

    /// Opening reads the log behind the latest checkpoint alone, and writes over the rest.
    @Test func theOlderCheckpointIsNotReliedUponWithoutItsLog() throws {
        var disk = SimulatedDisk()
        var store = try Store(at: ReopenedTests.path, options: options(disk))
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        try fill(store, tree, 0..<20)
        try store.checkpoint()
        try fill(store, tree, 20..<80)
        try store.checkpoint()
        let image = disk.settledImage()
        disk.cutPower()
        disk = SimulatedDisk(image)
        store = try Store(at: ReopenedTests.path, options: options(disk))
        for end in stride(from: UInt64(90), to: 200, by: 10) {
            try fill(store, tree, end - 10..<end)
            let latest = try store.read { try ModelStore(reading: $0) }
            #expect(try content(FallbackTests.withoutNewestMeta(disk.settledImage(), ReopenedTests.path)) == latest)
        }
        disk.cutPower()
    }

    /// The checkpoint that retires the older one finds its pages in the file, also where the file cannot grow and there
    /// is no reserve.
    @Test func aFullDiskDoesNotPreventOpening() throws {
        for keys in [UInt64(21), 40, 60] {
            let disk = SimulatedDisk()
            var options = options(disk)
            options.diskReserveBytes = 0
            let store = try Store(at: ReopenedTests.path, options: options)
            let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
            try fill(store, tree, 0..<20)
            try store.checkpoint()
            try fill(store, tree, 20..<keys)
            try store.checkpoint()
            var image = disk.settledImage()
            disk.cutPower()
            // Not a byte behind the last page in use.
            let used = store.versions.lock.withLock { store.versions.space.extent }
            let bytes = try #require(image.files[ReopenedTests.path]).bytes(at: 0, count: Int(used) * pageBytes)
            image.files[ReopenedTests.path] = ByteImage(bytes)
            let next = SimulatedDisk(image)
            next.capacity = image.files.values.reduce(0) { $0 + $1.size }
            options.fileSystem = next
            let reopened = try Store(at: ReopenedTests.path, options: options)
            #expect(try reopened.read { try $0.count(of: tree) } == keys)
            #expect(next.contents(of: ReopenedTests.path)?.count == Int(used) * pageBytes)
            next.cutPower()
        }
    }

    /// Wherever a commit that is too large for the log is interrupted, its mark in the log does no harm later.
    @Test func aBrokenOffLargeCommitLeavesNoMark() throws {
        var calls = 1
        while true {
            let disk = SimulatedDisk()
            let store = try Store(at: ReopenedTests.path, options: options(disk))
            let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
            try store.checkpoint()
            try fill(store, tree, 0..<8)
            disk.inject(.crashBefore, atCall: disk.callCount + calls)
            calls += 1
            var isDone = true
            do {
                try store.write { transaction in
                    for key in UInt64(100)..<200 {
                        try transaction.put([UInt8](repeating: 3, count: 1500), for: key, in: tree)
                    }
                }
            } catch { isDone = false }
            disk.clearFaults()
            let image = disk.settledImage()
            disk.cutPower()
            try goOn(from: image, tree)
            if isDone { break }
        }
        #expect(calls > 10)
    }

    private func goOn(from image: DiskImage, _ tree: Tree) throws {
        let disk = SimulatedDisk(image)
        let store = try Store(at: ReopenedTests.path, options: options(disk))
        try fill(store, tree, 300..<340)
        let latest = try store.read { try ModelStore(reading: $0) }
        let left = disk.settledImage()
        disk.cutPower()
        #expect(try content(FallbackTests.withoutNewestMeta(left, ReopenedTests.path)) == latest)
    }

    // MARK: The next segment

    /// Two threads that do background work at the same time make one.
    @Test func theNextSegmentIsMadeReadyOnce() throws {
        let disk = GatedDisk()
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.logSegmentBytes = 32_768
        let store = try Store(at: "s.mako", options: options)
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        try fill(store, tree, 0..<10)
        try store.flush(.durable)
        #expect(store.pipeline.lock.withLock { store.pipeline.log.wantsSpare })
        disk.close()
        let ended = Atomic(0)
        let threads = try (0..<2).map { thread in
            let running = try startThread(name: "step \(thread)") {
                do { _ = try store.step() } catch { Issue.record(error) }
                ended.add(1, ordering: .acquiringAndReleasing)
            }
            wait { disk.waiting == thread + 1 || ended.load(ordering: .acquiring) == 1 }
            return running
        }
        #expect(disk.waiting == 1)
        disk.open()
        for thread in threads { thread.join() }
        try fill(store, tree, 10..<60)
        #expect(try store.read { try $0.count(of: tree) } == 60)
        try store.close()
    }

    private func wait(_ condition: () -> Bool) {
        let limit = ContinuousClock.now.advanced(by: .seconds(120))
        while !condition(), ContinuousClock.now < limit { yieldThread() }
    }

    /// On a full disk the preparation of a segment must not delay the checkpoint, which may free its space.
    @Test func withoutSpaceForTheNextSegmentOtherWorkGoesOn() throws {
        let disk = SimulatedDisk()
        let clock = TestClock()
        var options = options(disk)
        options.clock = clock
        options.checkpointBytes = 20_000
        options.diskReserveBytes = 1 << 20
        let store = try Store(at: ReopenedTests.path, options: options)
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        try fill(store, tree, 0..<11)
        disk.capacity = disk.settledImage().files.values.reduce(0) { $0 + $1.size }
        let checkpoints = store.stats.checkpoints
        #expect(throws: StorageError.self) { while try store.step() {} }
        while try store.step() {}
        #expect(store.stats.checkpoints > checkpoints)
        disk.capacity = nil
        clock.advance(by: .seconds(3))
        while try store.step() {}
        #expect(disk.exists("\(ReopenedTests.path)-wal-spare"))
        try store.close()
    }

    // MARK: Closing

    /// A flush in progress holds the log file until it ends, whatever made the store read-only meanwhile.
    @Test func closingWaitsForWritesToTheLog() throws {
        let disk = GatedDisk()
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        let store = try Store(at: "s.mako", options: options)
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        disk.close()
        let writing = try startThread(name: "writer") {
            try? store.write { try $0.put([1], for: 1, in: tree) }
        }
        wait { disk.waiting == 1 }
        store.pipeline.fail("for a test", FileError(operation: "sync", path: "s.mako", code: 5))
        let isClosed = Atomic(false)
        let closing = try startThread(name: "close") {
            try? store.close()
            isClosed.store(true, ordering: .releasing)
        }
        // It would be closed in a moment if nothing held it.
        let limit = ContinuousClock.now.advanced(by: .milliseconds(200))
        while ContinuousClock.now < limit, !isClosed.load(ordering: .acquiring) { yieldThread() }
        let wasClosed = isClosed.load(ordering: .acquiring)
        #expect(!wasClosed)
        disk.open()
        closing.join()
        writing.join()
    }
}
