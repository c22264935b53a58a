import MakoTestSupport
import Testing

@testable import MakoStorage

/// A store starts its background thread with its first work, so that a program that opens a file
/// to read has no thread of it.
@Suite struct BackgroundThreadConcurrencyTests {
    private static let path = "d/s.mako"

    private func options(on disk: SimulatedDisk) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = disk
        options.entropy = SeededEntropy(seed: 3)
        options.logSegmentBytes = 1 << 20
        options.cacheBytes = 1 << 20
        return options
    }

    /// A closed file with one tree of so many large entries.
    private func closedFile(_ disk: SimulatedDisk, entries: UInt64 = 10) throws -> Tree {
        let store = try Store(at: Self.path, options: options(on: disk))
        let tree = try store.write { tx in
            let tree = try tx.createTree(named: "t", keys: .integer)
            for key in 0..<entries { try tx.put(ValueShape(bytes: 3800).value(seed: key), for: key, in: tree) }
            return tree
        }
        try store.close()
        return tree
    }

    @Test func openingReadingAndClosingStartNoThread() throws {
        let disk = SimulatedDisk()
        let tree = try closedFile(disk)
        let store = try Store(at: Self.path, options: options(on: disk))
        #expect(try store.read { try $0.count(of: tree) } == 10)
        let value = try store.write { try $0.view.get(3, in: tree) }
        #expect(value != nil)
        #expect(!store.background.isRunning)
        try store.close()
    }

    @Test func theFirstCommitStartsTheThread() throws {
        let disk = SimulatedDisk()
        let tree = try closedFile(disk)
        let store = try Store(at: Self.path, options: options(on: disk))
        try store.write { try $0.put([1], for: 1, in: tree) }
        #expect(store.background.isRunning)
        try store.close()
        #expect(!store.background.isRunning)
    }

    /// The log is there to be removed by a checkpoint when nothing is committed.
    @Test func aReplayedLogStartsTheThread() throws {
        let disk = SimulatedDisk()
        let tree = try closedFile(disk)
        let before = try Store(at: Self.path, options: options(on: disk))
        try before.write { try $0.put([1], for: 1, in: tree) }
        disk.cutPower()
        withExtendedLifetime(before) {}
        let after = SimulatedDisk(disk.settledImage())
        let store = try Store(at: Self.path, options: options(on: after))
        #expect(store.recovery.replayedCommits == 1)
        #expect(store.background.isRunning)
        try store.close()
    }

    /// An idle store shrinks its file, also one that nothing is written to.
    @Test func aLongFileOfFewPagesStartsTheThread() throws {
        let disk = SimulatedDisk()
        let tree = try closedFile(disk, entries: 2000)
        var manual = options(on: disk)
        manual.background = .manual
        let emptied = try Store(at: Self.path, options: manual)
        try emptied.write { try $0.deleteAll(in: tree) }
        try emptied.close()
        let store = try Store(at: Self.path, options: options(on: disk))
        #expect(store.background.isRunning)
        try store.close()
        var still = options(on: disk)
        still.shrinksWhenIdle = false
        let left = try Store(at: Self.path, options: still)
        #expect(!left.background.isRunning)
        try left.close()
    }

    @Test func readingMoreThanTheCacheStartsTheThread() throws {
        let disk = SimulatedDisk()
        let tree = try closedFile(disk, entries: 2000)
        let store = try Store(at: Self.path, options: options(on: disk))
        try store.read { snapshot in
            // A running operation keeps the frames that were read since, so that more pages take more memory.
            let entry = Epochs.enter()
            defer { Epochs.leave(entry) }
            for key in UInt64(0)..<2000 { _ = try snapshot.get(key, in: tree) }
        }
        #expect(store.stats.overBudget > 0)
        #expect(store.background.isRunning)
        try store.close()
    }

    @Test func whatIsLookedAfterByTimeStartsTheThread() throws {
        let disk = SimulatedDisk()
        _ = try closedFile(disk)
        let changes: [(inout StoreOptions) -> Void] = [
            { $0.snapshotAgeLimit = .seconds(60) }, { $0.statisticsInterval = .seconds(60) },
            { $0.eventHandler = { _ in } },
        ]
        for change in changes {
            var timed = options(on: disk)
            change(&timed)
            let store = try Store(at: Self.path, options: timed)
            #expect(store.background.isRunning)
            try store.close()
        }
    }
}
