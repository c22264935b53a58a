import MakoTestSupport
import Testing

@testable import MakoStorage

/// Commits at the end of a log segment: a commit with `async` durability does not wait there either, and no frame of
/// the next segment is written before the segment is durable.
@Suite struct SegmentEndTests {
    private static let path = "d/s.mako"

    private static func options(_ disk: SimulatedDisk) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.logSegmentBytes = 32 << 10
        return options
    }

    /// A store, and what its commits are to be.
    private struct Opened {
        var disk = SimulatedDisk(seed: 5)
        var store: Store
        var tree: Tree
        var last: UInt64 = 0

        init(clock: TestClock? = nil) throws {
            var options = SegmentEndTests.options(disk)
            options.clock = clock
            store = try Store(at: SegmentEndTests.path, options: options)
            tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        }

        mutating func commit(_ durability: Durability) throws {
            last += 1
            let (key, tree) = (last, tree)
            try store.write(durability: durability) {
                try $0.put(ValueShape(bytes: 900).value(seed: key), for: key, in: tree)
            }
        }

        var newestSegment: UInt64 { store.pipeline.lock.withLock { store.pipeline.log.newestSegment } }
        var isEndWaiting: Bool { store.pipeline.lock.withLock { store.pipeline.log.closedEnd != nil } }

        /// Commits until another segment has been begun, the end of the one before being in memory.
        mutating func passEnd() throws {
            let segment = newestSegment
            while newestSegment == segment { try commit(.async) }
            #expect(isEndWaiting)
        }

        /// How many of the commits an image holds, which are the first ones.
        func kept(_ image: DiskImage) throws -> UInt64 { try kept(SimulatedDisk(image)) }

        func kept(_ disk: SimulatedDisk) throws -> UInt64 {
            let store = try Store(at: SegmentEndTests.path, options: SegmentEndTests.options(disk))
            defer { try? store.close() }
            return try store.read { snapshot throws in
                guard let tree = snapshot.tree(named: "t") else { return 0 }
                let count = try snapshot.count(of: tree)
                for key in 0..<count { _ = try #require(try snapshot.get(key + 1, in: tree)) }
                return count
            }
        }
    }

    @Test func asyncCommitsPassWithoutASync() throws {
        var opened = try Opened()
        while !opened.store.pipeline.log.wantsSpare { try opened.commit(.async) }
        while try opened.store.step() {}
        let calls = opened.disk.callCount
        try opened.passEnd()
        let kinds = opened.disk.callLog[calls...]
        #expect(!kinds.contains { $0 == .sync || $0 == .write || $0 == .syncDirectory }, "\(kinds)")
        // One segment end at a time: a writer that is faster than the device waits for it at the next end.
        while opened.newestSegment < 4 { try opened.commit(.async) }
        let isWritten = opened.store.pipeline.lock.withLock { opened.store.pipeline.log.durable > 2 * (32 << 10) }
        #expect(isWritten)
        #expect(try opened.kept(opened.disk.crashState().image([])) > 30)
        opened.disk.cutPower()
    }

    /// Whatever pending writes survive a power cut, the surviving commits are the first ones, and those made durable by
    /// a flush are among them.
    @Test func aPowerCutLeavesTheFirstCommits() throws {
        var opened = try Opened()
        var points = 0
        opened.disk.startRecording()
        for round in 0..<6 {
            try opened.passEnd()
            for _ in 0..<round { try opened.commit(.async) }
            try opened.store.flush(.durable)
            let flushed = opened.last
            for point in opened.disk.crashPoints() {
                points += 1
                for image in point.state.images(CrashChoice(exhaustiveBits: 3, structuredUnits: 4, sampled: 2, torn: 2))
                {
                    #expect(try opened.kept(image) <= opened.last, "round \(round), call \(point.call)")
                }
            }
            #expect(try opened.kept(opened.disk.crashState().image([])) == flushed)
            opened.disk.startRecording()
        }
        #expect(points > 30)
        opened.disk.cutPower()
    }

    /// A commit behind the end is acknowledged when it has been written itself, not with the end.
    @Test func whatIsAcknowledgedBehindTheEndIsWritten() throws {
        var opened = try Opened()
        try opened.passEnd()
        try opened.commit(.ordered)
        #expect(!opened.isEndWaiting)
        opened.disk.endProcess()
        #expect(try opened.kept(opened.disk) == opened.last)
        opened.disk.cutPower()
    }

    /// When another flush has written them, commits behind the segment end still become durable after their delay.
    @Test func commitsBehindTheEndKeepTheirDelay() throws {
        let clock = TestClock()
        var opened = try Opened(clock: clock)
        try opened.passEnd()
        try opened.commit(.ordered)
        clock.advance(by: .seconds(3600))
        while try opened.store.step() {}
        #expect(try opened.kept(opened.disk.crashState().image([])) == opened.last)
        opened.disk.cutPower()
    }

    /// Nothing is added to a log behind the end that a failing device did not take.
    @Test func anEndThatCannotBeWrittenEndsTheLog() throws {
        var opened = try Opened()
        try opened.passEnd()
        opened.disk.inject(.inputOutput, atCall: opened.disk.callCount)
        #expect(throws: StorageError.self) { try opened.store.flush(.durable) }
        opened.disk.clearFaults()
        #expect(throws: StorageError.self) { try opened.commit(.full) }
        opened.disk.endProcess()
        #expect(try opened.kept(opened.disk) < opened.last)
        opened.disk.cutPower()
    }
}
