import MakoTestSupport
import Testing

@testable import MakoStorage

/// The log that a turn leaves beside the file, for the next turn of the same process or for another one.
@Suite struct RestingLogTests: RoundValues {
    private static let path = "d/s.mako"

    private func open(_ files: any FileSystem, readOnly: Bool = false) throws -> Store {
        try Store(at: Self.path, options: options(files, readOnly: readOnly))
    }

    private func rest(_ store: Store) throws { try store.suspendSilently(timeout: nil, leavingLog: true) }

    /// The log is not begun again, and no checkpoint is written.
    @Test func aShortLogStaysForTheNextTurn() throws {
        let disk = SimulatedDisk()
        let store = try open(disk)
        try fill(store, round: 1)
        try store.checkpoint()
        try fill(store, round: 2, .async)
        try rest(store)
        let files = try disk.list(directory: "d")
        #expect(files == ["s.mako", "s.mako-wal-1"])
        for image in disk.crashImages() { #expect(try round(open(image)) == [2]) }
        let checkpoints = store.stats.checkpoints
        for step in 3...6 as ClosedRange<UInt8> {
            #expect(try !store.resume())
            #expect(try round(store) == [step - 1])
            try fill(store, round: step)
            try rest(store)
            #expect(try disk.list(directory: "d") == files)
        }
        #expect(store.stats.checkpoints == checkpoints)
        try store.close()
        #expect(try disk.list(directory: "d") == ["s.mako"])
        #expect(try round(open(disk)) == [6])
    }

    @Test func aLongLogDoesNotStay() throws {
        let disk = SimulatedDisk()
        var options = options(disk)
        options.cacheBytes = 32 << 20
        let store = try Store(at: Self.path, options: options)
        try fill(store, round: 1)
        var random = SplitMix(seed: 1)
        var turns: UInt64 = 0
        while try turns == 0 || disk.list(directory: "d").count > 1, turns < 100 {
            try store.write { transaction in
                let tree = try transaction.view.tree(named: "r") ?? transaction.createTree(named: "r", keys: .integer)
                for key in 0..<20 {
                    let value = (0..<1000).map { _ in UInt8(truncatingIfNeeded: random.next()) }
                    try transaction.put(value, for: turns * 20 + UInt64(key), in: tree)
                }
            }
            turns += 1
            try rest(store)
            try store.resume()
        }
        // A MiB of log is left to the next process at most.
        #expect((40...60).contains(turns))
        #expect(try round(store) == [1])
        #expect(try store.read { try $0.count(of: #require($0.tree(named: "r"))) } == turns * 20)
    }

    /// The process that comes next replays the log and removes it; the one that left it goes on behind that.
    @Test func theNextProcessReplaysTheLogThatStays() throws {
        let disk = SimulatedDisk()
        let first = try open(disk)
        try fill(first, round: 1)
        try rest(first)
        let second = try open(disk)
        #expect(second.recovery.replayedCommits == 1)
        try rest(second)
        #expect(try !first.resume())
        for step in 1...4 as ClosedRange<UInt8> {
            try fill(first, round: 2 * step)
            try rest(first)
            #expect(try second.resume())
            #expect(try round(second) == [2 * step])
            try fill(second, round: 2 * step + 1)
            try rest(second)
            #expect(try first.resume())
            #expect(try round(first) == [2 * step + 1])
            #expect(try first.verify().isClean)
        }
        try rest(first)
        // The log is the first one's, and a store that ends does not touch it.
        try second.close()
        #expect(try round(open(disk, readOnly: true)) == [9])
        try first.close()
        #expect(try disk.list(directory: "d") == ["s.mako"])
    }

    /// A log without a frame behind the checkpoint is the first one's, which goes on in it. So the other one removes it when
    /// it rests, although it has written nothing.
    @Test func alsoALogWithoutFramesIsOnesOwn() throws {
        for count in [0, 1, 2] {
            let disk = SimulatedDisk()
            let first = try open(disk)
            try fill(first, round: 1)
            try first.checkpointer.lock.withLock { () throws(StorageError) in
                for _ in 0..<2 {
                    _ = try first.checkpointer.begin(first, anyway: true)
                    try first.checkpointer.runToEnd(first)
                }
            }
            try rest(first)
            #expect(try disk.list(directory: "d").count == 2)
            let second = try open(disk)
            #expect(second.recovery.replayedCommits == 0)
            try rest(second)
            #expect(try !first.resume())
            try fill(first, round: 2)
            try rest(first)
            if count == 0 {
                try second.close()
            } else {
                #expect(try second.resume())
                #expect(try round(second) == [2])
                if count == 2 { try fill(second, round: 3, .ordered) }
                try rest(second)
            }
            #expect(try first.resume() == (count == 2))
            #expect(try round(first) == [count == 2 ? 3 : 2])
            try first.close()
            #expect(try round(open(disk)) == [count == 2 ? 3 : 2])
        }
    }

    /// The header of a segment that was begun, and got no frame, is not written with the next log.
    @Test func aSegmentThatWasBegunInVainIsForgotten() throws {
        let disk = SimulatedDisk()
        let first = try open(disk)
        try fill(first, round: 1)
        try first.checkpoint()
        try rest(first)
        let second = try open(disk)
        try fill(second, round: 2)
        try rest(second)
        try first.resume()
        try first.pipeline.lock.withLock { () throws in try first.pipeline.log.addSegment() }
        try rest(first)
        try second.resume()
        try fill(second, round: 3)
        try rest(second)
        #expect(try first.resume())
        try fill(first, round: 4)
        let image = SimulatedDisk(disk.settledImage())
        #expect(try round(open(image)) == [4])
    }

    /// Unused pages that another process has cut off are not counted as space of the file.
    @Test func aFileThatWasCutIsMeasuredAgain() throws {
        let disk = SimulatedDisk()
        let store = try open(disk)
        try fill(store, round: 1)
        try store.suspend()
        let file = try disk.open(Self.path, .readWrite)
        let size = try file.size()
        try file.resize(to: size + 100 * 4096)
        try store.resume()
        try store.suspend()
        try file.resize(to: size)
        #expect(try !store.resume())
        #expect(store.versions.lock.withLock { store.versions.room.pages } <= size / 4096)
        try fill(store, round: 2)
        #expect(try store.verify().isClean)
    }

    /// What a store has in memory beyond the checkpoint is never written while another process may have the file.
    @Test func aStoreThatLeftItsLogWritesNothing() throws {
        let disk = SimulatedDisk()
        let store = try open(disk)
        try fill(store, round: 1)
        try rest(store)
        let image = disk.contents(of: Self.path)
        try store.setCacheBytes(256 << 10)
        #expect(try !store.step())
        #expect(disk.contents(of: Self.path) == image)
        let other = try open(disk)
        try fill(other, round: 2)
        try store.close()
        try fill(other, round: 3)
        #expect(try other.verify().isClean)
        try other.close()
        #expect(try round(open(disk)) == [3])
    }

    /// What is written between two checkpoints counts, not what was ever written: also later the log stays.
    @Test func logsStayAgainAfterALongOne() throws {
        let disk = SimulatedDisk()
        var options = options(disk)
        options.cacheBytes = 32 << 20
        options.logSegmentBytes = 16 << 20
        let store = try Store(at: Self.path, options: options)
        for turn in 0..<600 {
            try fill(store, round: UInt8(turn % 200) + 1, count: 2)
            try rest(store)
            #expect(try !store.resume())
        }
        // One for each MiB, in two slots.
        #expect((1...8).contains(store.stats.checkpoints))
    }

    /// Others have begun many segments meanwhile.
    @Test func numbersGoOnBehindThoseOfOthers() throws {
        let store = try open(SimulatedDisk())
        try fill(store, round: 1)
        try rest(store)
        try store.resume()
        let log = store.pipeline.log
        let number = log.highestNumber + 70_000
        try store.finish()
        log.adopt(
            LogReader.Tail(
                end: LogPosition(lsn: number * UInt64(log.segmentBytes) + 8192, chain: log.position.chain),
                lastCommit: 1, highestNumber: number))
        #expect(log.highestNumber == number)
    }
}
