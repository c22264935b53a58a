import MakoStorage
import MakoTestSupport
import Testing

/// When a checkpoint begins by itself: by the length of the log, by the memory that waits to be written, and when nothing happens.
@Suite struct CheckpointTriggerTests {
    private struct Sample {
        let files = MemoryFileSystem()
        let store: Store
        let tree: Tree
        private var next: UInt64 = 0

        init(_ change: (inout StoreOptions) -> Void = { _ in }) throws {
            var options = StoreOptions()
            options.background = .manual
            options.logSegmentBytes = 4 << 20
            options.checkpointBytes = 1 << 30
            options.shrinksWhenIdle = false
            change(&options)
            options.fileSystem = files
            store = try Store(at: "s.mako", options: options)
            tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
            try store.checkpoint()
        }

        var checkpoints: UInt64 { store.stats.checkpoints }

        /// Bytes of all segments that there are.
        func logFileBytes() throws -> UInt64 {
            let segments = try files.list(directory: ".").filter { $0.contains("-wal-") }
            return try segments.reduce(0) { try $0 + files.open($1, .readOnly).size() }
        }

        /// Commits of 100 entries each, until the log is so much longer. The values cannot be packed.
        mutating func write(logBytes: Int) throws {
            let end = store.stats.logBytes + UInt64(logBytes)
            while store.stats.logBytes < end {
                try store.write(durability: .ordered) { tx in
                    for _ in 0..<100 {
                        try tx.put(ValueShape(bytes: 200).value(seed: next), for: next, in: tree)
                        next += 1
                    }
                }
            }
        }

        /// Steps with nothing between them, as the store's own thread makes one each tenth of a second.
        func idle(_ count: Int) throws {
            for _ in 0..<count { while try store.step() {} }
        }
    }

    /// The steps of two seconds, after which a store is idle.
    private static let patience = 20

    @Test func anIdleStoreShortensWhatIsToBeReplayed() throws {
        var sample = try Sample()
        try sample.write(logBytes: 2 << 20)
        let before = sample.checkpoints
        try sample.idle(Self.patience / 2)
        #expect(sample.checkpoints == before, "more may come at once")
        try sample.idle(Self.patience)
        #expect(sample.checkpoints == before + 1)
        // And then there is peace.
        try sample.idle(Self.patience * 5)
        #expect(sample.checkpoints == before + 1)
        try sample.store.close()
    }

    @Test func aStoreWithOccasionalCommitsIsNotIdle() throws {
        var sample = try Sample()
        try sample.write(logBytes: 2 << 20)
        let before = sample.checkpoints
        for _ in 0..<6 {
            try sample.idle(Self.patience / 2)
            try sample.write(logBytes: 1)
        }
        #expect(sample.checkpoints == before)
        try sample.store.close()
    }

    @Test func aShortLogIsLeftAlone() throws {
        var sample = try Sample()
        try sample.write(logBytes: 100 << 10)
        let before = sample.checkpoints
        try sample.idle(Self.patience * 5)
        #expect(sample.checkpoints == before)
        try sample.store.close()
    }

    @Test func memoryThatWaitsToBeWrittenBeginsOne() throws {
        var sample = try Sample { $0.cacheBytes = 4 << 20 }
        try sample.write(logBytes: 512 << 10)
        let before = sample.checkpoints
        try sample.idle(1)
        #expect(sample.checkpoints == before, "an eighth of the memory is no reason")
        try sample.write(logBytes: 1 << 20)
        try sample.idle(1)
        #expect(sample.checkpoints == before + 1)
        try sample.store.close()
    }

    /// A snapshot holds pages, but neither the log nor the memory for pages.
    @Test func anOpenSnapshotKeepsNeitherTheLogNorMemory() throws {
        var sample = try Sample {
            $0.cacheBytes = 4 << 20
            $0.logSegmentBytes = 256 << 10
            $0.checkpointBytes = 512 << 10
        }
        let snapshot = try sample.store.snapshot()
        for _ in 0..<40 {
            try sample.write(logBytes: 256 << 10)
            try sample.idle(1)
            let stats = sample.store.stats
            #expect(try sample.logFileBytes() <= 3 << 20)
            #expect(stats.cacheUsedBytes <= stats.cacheBudgetBytes + stats.cacheBudgetBytes / 10)
        }
        #expect(try snapshot.count(of: sample.tree) == 0)
        snapshot.close()
        try sample.store.close()
    }
}
