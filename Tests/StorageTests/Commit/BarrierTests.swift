import MakoTestSupport
import Testing

@testable import MakoStorage

/// Commits with `Durability.barrier`, on a disk that has barriers and keeps nothing before a sync.
@Suite struct BarrierTests {
    private struct Opened {
        let disk: SimulatedDisk
        let store: Store
        let tree: Tree
    }

    private static func options(_ disk: SimulatedDisk) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.entropy = SeededEntropy(seed: 1)
        options.logSegmentBytes = 64 << 10
        options.cacheBytes = 1 << 20
        return options
    }

    private static func open(barriers: Bool) throws -> Opened {
        let disk = SimulatedDisk(seed: 1)
        disk.hasBarriers = barriers
        let store = try Store(at: "d/b", options: options(disk))
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        try store.checkpoint()
        return Opened(disk: disk, store: store, tree: tree)
    }

    /// The last commit that a disk has, all before it being there: each writes its number.
    private static func last(on image: DiskImage) throws -> UInt64 {
        let store = try Store(at: "d/b", options: options(SimulatedDisk(image)))
        defer { try? store.close() }
        #expect(try store.verify().isClean)
        return try store.read { view in
            let tree = try #require(view.tree(named: "t"))
            var cursor = try view.cursor(in: tree)
            var count: UInt64 = 0
            var isThere = try cursor.first()
            while isThere {
                count += 1
                #expect(cursor.integerKey == count)
                isThere = try cursor.next()
            }
            return count
        }
    }

    @Test func aPowerCutTakesNoMoreThanTheEndOfWhatBarriersHaveOrdered() throws {
        let opened = try Self.open(barriers: true)
        var random = SplitMix(seed: 7)
        var (committed, durable): (UInt64, UInt64) = (0, 0)
        var lost = 0
        for round in 0..<60 {
            let durability: Durability = random.chance(20) ? .full : random.chance(80) ? .barrier : .ordered
            committed += 1
            let value = [UInt8](repeating: UInt8(round), count: random.below(900))
            try opened.store.write(durability: durability) { try $0.put(value, for: committed, in: opened.tree) }
            if durability == .full { durable = committed }
            if random.chance(15) {
                try opened.store.checkpoint()
                durable = committed
            }
            if random.chance(30) { _ = try opened.store.step() }
            for state in opened.disk.statesBeforeBarriers.suffix(3) + [opened.disk.crashState()] {
                for image in state.images(CrashChoice(exhaustiveBits: 2, structuredUnits: 2, sampled: 1, torn: 1)) {
                    let found = try Self.last(on: image)
                    #expect(found >= durable && found <= committed, "\(found) of \(committed), \(durable) durable")
                    if found < committed { lost += 1 }
                }
            }
        }
        #expect(lost > 10, "nothing was ever lost: barriers were syncs")
        // A full flush makes durable what barriers have only ordered.
        try opened.store.write(durability: .barrier) { try $0.put([1], for: committed + 1, in: opened.tree) }
        #expect(!opened.disk.statesBeforeBarriers.isEmpty)
        try opened.store.flush(.durable)
        #expect(opened.disk.statesBeforeBarriers.isEmpty)
    }

    @Test func aBarrierSurvivesTheEndOfTheProcess() throws {
        let opened = try Self.open(barriers: true)
        for number in 1...20 as ClosedRange<UInt64> {
            try opened.store.write(durability: .barrier) { try $0.put([1], for: number, in: opened.tree) }
        }
        opened.disk.endProcess()
        #expect(try Self.last(on: opened.disk.settledImage()) == 20)
    }

    @Test func withoutBarriersTheCommitIsDurable() throws {
        let opened = try Self.open(barriers: false)
        for number in 1...5 as ClosedRange<UInt64> {
            try opened.store.write(durability: .barrier) { try $0.put([1], for: number, in: opened.tree) }
            for image in opened.disk.crashState().images(CrashChoice()).prefix(4) {
                #expect(try Self.last(on: image) == number)
            }
        }
    }

    /// Of data and log the order alone counts.
    @Test func aCheckpointSyncsOnce() throws {
        let opened = try Self.open(barriers: true)
        try opened.store.write(durability: .full) { try $0.put([1], for: 1, in: opened.tree) }
        let before = opened.disk.flushes
        #expect(
            try opened.store.checkpointer.lock.withLock { () throws(StorageError) in
                try opened.store.checkpointer.begin(opened.store)
            })
        try opened.store.checkpointer.lock.withLock { () throws(StorageError) in
            try opened.store.checkpointer.runToEnd(opened.store)
        }
        #expect(opened.disk.flushes.syncs == before.syncs + 1 && opened.disk.flushes.barriers > before.barriers)
    }
}
