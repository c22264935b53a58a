import MakoTestSupport
import Testing

@testable import MakoStorage

@Suite(.serialized) struct CheckpointConcurrencyTests {
    /// A device may need seconds for all pages of a checkpoint. The checkpointer must prepare the next log segment
    /// meanwhile, so that no committer waits for it.
    @Test func theLogIsLookedAfterWhileTheDataFileIsSynced() throws {
        let disk = GatedDisk(gate: .dataSyncs)
        var options = StoreOptions()
        options.fileSystem = disk
        options.durability = .ordered
        options.logSegmentBytes = 256 << 10
        options.checkpointBytes = 16 << 10
        let store = try Store(at: "s.mako", options: options)
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        var next: UInt64 = 0
        func commit() throws {
            try store.write { try $0.put(ValueShape(bytes: 400).value(seed: next), for: next, in: tree) }
            next += 1
        }
        let wantsSpare = { store.pipeline.lock.withLock { store.pipeline.log.wantsSpare } }

        disk.close()
        for _ in 0..<60 { try commit() }
        waitFor { disk.waiting == 1 }
        #expect(disk.waiting == 1, "the checkpoint waits at the gate")
        // More than half of the segment.
        while store.stats.logBytes < 160 << 10 { try commit() }
        waitFor { !wantsSpare() }
        #expect(!wantsSpare())
        #expect(disk.waiting == 1)
        disk.open()
        try store.close()
    }

    private func waitFor(_ condition: () -> Bool) {
        let limit = ContinuousClock.now.advanced(by: .seconds(20))
        while !condition(), ContinuousClock.now < limit { yieldThread() }
    }
}
