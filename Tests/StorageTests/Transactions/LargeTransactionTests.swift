import MakoTestSupport
import Testing

@testable import MakoStorage

/// A transaction that outgrows the cache takes little more of the file than what it leaves, and little memory beyond the budget.
@Suite(.serialized) struct LargeTransactionTests {
    private static let entries: UInt64 = 30_000
    private static let budget = 256 << 10

    private struct Sample {
        var store: Store
        var tree: Tree
        var livePagesBefore: Int

        init(entries: UInt64 = 0, valueBytes: Int = 8, budget: Int = LargeTransactionTests.budget) throws {
            var options = StoreOptions()
            options.background = .manual
            options.cacheBytes = budget
            options.logSegmentBytes = 1 << 20
            store = try Store.inMemory(options: options)
            tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
            if entries > 0 {
                _ = try store.write { [tree] tx in
                    try tx.bulkLoad(into: tree) { load in
                        for key in 0..<entries {
                            try load.append(ValueShape(bytes: valueBytes).value(seed: key), for: key)
                        }
                    }
                }
            }
            livePagesBefore = store.stats.livePages
        }

        /// Runs one transaction, and compares what the file takes with what it held before and holds then.
        func expectSmallFile(
            beyond pages: Int = 0, _ sourceLocation: SourceLocation = #_sourceLocation,
            _ body: (borrowing WriteTransaction) throws -> Void
        ) throws {
            var lists = 0
            try store.write { tx in
                try body(tx)
                #expect(tx.writer.hasSpilled, sourceLocation: sourceLocation)
                lists = tx.writer.lists.bytes
            }
            let stats = store.stats
            let data = stats.livePages + (livePagesBefore > 20 ? livePagesBefore : 0)
            #expect(
                Int(stats.filePages) * 2 <= data * 3 + pages * 2, "\(stats.filePages) pages for \(data)",
                sourceLocation: sourceLocation)
            #expect(lists * 10 <= stats.cacheBudgetBytes, "\(lists) bytes of lists", sourceLocation: sourceLocation)
            #expect(try store.verify().findings == [], sourceLocation: sourceLocation)
            try store.close()
        }
    }

    private static func scattered(_ index: UInt64) -> UInt64 { index &* 7919 % entries }

    private static func value(_ bytes: Int, _ seed: UInt64) -> [UInt8] { ValueShape(bytes: bytes).value(seed: seed) }

    @Test func putsAtRandomKeysUseTheirPagesAgain() throws {
        let sample = try Sample()
        try sample.expectSmallFile { tx in
            for index in 0..<Self.entries {
                try tx.put(Self.value(8, index), for: Self.scattered(index), in: sample.tree)
            }
        }
    }

    @Test func updatesUseTheirPagesAgain() throws {
        let sample = try Sample(entries: Self.entries)
        try sample.expectSmallFile { tx in
            for round in UInt64(0)..<2 {
                for index in 0..<Self.entries {
                    try tx.put(Self.value(8 + Int(round), index), for: Self.scattered(index), in: sample.tree)
                }
            }
        }
    }

    @Test func deletesUseTheirPagesAgain() throws {
        let sample = try Sample(entries: Self.entries)
        try sample.expectSmallFile { tx in
            for index in 0..<Self.entries where index % 4 != 0 {
                _ = try tx.delete(Self.scattered(index), in: sample.tree)
            }
        }
    }

    @Test func groupsOfDeletesUseTheirPagesAgain() throws {
        let sample = try Sample(entries: Self.entries)
        try sample.expectSmallFile { tx in
            let keys = (0..<Self.entries).filter { $0 % 4 != 0 }.map(Self.scattered)
            let removed = try tx.delete(keys: keys, in: sample.tree)
            #expect(removed == keys.count)
        }
    }

    /// Entries inserted and deleted within the transaction leave nothing behind.
    @Test func aMovingWindowTakesNoMoreThanItHolds() throws {
        let sample = try Sample()
        try sample.expectSmallFile(beyond: 200) { tx in
            for index in 0..<Self.entries / 2 {
                try tx.put(Self.value(200, index), for: index, in: sample.tree)
                if index >= 1000 { _ = try tx.delete(index - 1000, in: sample.tree) }
            }
        }
    }

    @Test func aTreeThatIsEmptiedAndFilledAgainTakesNoMoreThanItHolds() throws {
        let sample = try Sample()
        try sample.expectSmallFile(beyond: 100) { tx in
            for round in UInt64(0)..<20 {
                try tx.deleteAll(in: sample.tree)
                for index in UInt64(0)..<2000 {
                    try tx.put(Self.value(250, round), for: index &* 7919 % 2000, in: sample.tree)
                }
            }
        }
    }

    /// Values with pages of their own, replaced over and over.
    @Test func valuesThatAreReplacedGiveUpTheirPages() throws {
        let sample = try Sample()
        try sample.expectSmallFile(beyond: 100) { tx in
            for round in UInt64(0)..<3000 {
                try tx.put(Self.value(9000, round), for: round &* 31 % 150, in: sample.tree)
            }
        }
    }

    /// Values that are written past memory: nothing names their pages in a transaction that is not logged.
    @Test func longValuesOfAnUnloggedTransactionGiveUpTheirPages() throws {
        let sample = try Sample()
        let other = try sample.store.write { try $0.createTree(named: "u", keys: .integer) }
        try sample.store.write { tx in
            try tx.bulkLoad(into: other) { try $0.append([1], for: 1) }
            for round in UInt64(0)..<60 { try tx.put(Self.value(400_000, round), for: round % 3, in: sample.tree) }
        }
        #expect(sample.store.stats.filePages < 800)
        for key in UInt64(0)..<3 {
            #expect(try sample.store.read { try $0.get(key, in: sample.tree) } == Self.value(400_000, 57 + key))
        }
        #expect(try sample.store.verify().findings == [])
    }

    /// Those that the log names stay as they were, because replay reads them.
    @Test func longValuesOfALoggedTransactionAreReplayed() throws {
        let disk = SimulatedDisk()
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.logSegmentBytes = 1 << 20
        let store = try Store(at: "d/s.mako", options: options)
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        try store.write { tx in
            for round in UInt64(0)..<12 { try tx.put(Self.value(400_000, round), for: round % 3, in: tree) }
            for key in UInt64(10)..<50 { try tx.put(Self.value(3000, key), for: key, in: tree) }
        }
        options.fileSystem = SimulatedDisk(disk.crashState().image([]))
        let again = try Store(at: "d/s.mako", options: options)
        #expect(again.recovery.replayedCommits > 0)
        for key in UInt64(0)..<3 {
            #expect(try again.read { try $0.get(key, in: tree) } == Self.value(400_000, 9 + key))
        }
        #expect(try again.verify().findings == [])
        try again.close()
        try store.close()
    }

    /// One for each statement is what the layers above make; each would keep the pages that are changed behind it.
    @Test func releasedSavepointsKeepNothing() throws {
        let sample = try Sample(entries: Self.entries)
        try sample.expectSmallFile { tx in
            for part in 0..<Self.entries / 20 {
                let savepoint = tx.savepoint()
                for index in part * 4..<part * 4 + 4 {
                    // Puts alone would wait until the next savepoint is made.
                    _ = try tx.delete(Self.scattered(index), in: sample.tree)
                    try tx.put(Self.value(9, index), for: Self.scattered(index), in: sample.tree)
                }
                if part % 3 == 0 { try tx.rollback(to: savepoint) }
                try tx.release(savepoint)
            }
        }
    }

    /// Rollbacks to savepoints, and releases, in a transaction whose pages are on the device.
    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func savepointsOfASpilledTransactionEqualAModel(seed: UInt64) throws {
        let sample = try Sample(entries: 400, valueBytes: 600)
        var random = SplitMix(seed: seed)
        var map = SortedMap<UInt64>()
        for key in UInt64(0)..<400 { map.put(Self.value(600, key), for: key) }
        for _ in 0..<4 {
            let tx = try sample.store.beginWrite()
            var saved: [(Savepoint, SortedMap<UInt64>)] = []
            for _ in 0..<60 {
                switch random.below(6) {
                case 0: saved.append((tx.savepoint(), map))
                case 1 where !saved.isEmpty:
                    let index = random.below(saved.count)
                    try tx.rollback(to: saved[index].0)
                    map = saved[index].1
                    saved.removeLast(saved.count - index - 1)
                case 2 where !saved.isEmpty:
                    let index = random.below(saved.count)
                    try tx.release(saved[index].0)
                    saved.removeLast(saved.count - index)
                default:
                    for _ in 0..<random.below(90) {
                        let key = UInt64(random.below(500))
                        if random.chance(35) {
                            #expect(try tx.delete(key, in: sample.tree) == map.delete(key))
                        } else {
                            let value = Self.value(random.chance(4) ? 9000 : random.below(800), random.next())
                            try tx.put(value, for: key, in: sample.tree)
                            map.put(value, for: key)
                        }
                    }
                }
            }
            #expect(tx.writer.hasSpilled)
            #expect(try ModelTree(reading: sample.tree, of: tx.view) == .integers(map))
            try tx.commit()
            #expect(try sample.store.verify().findings == [])
            #expect(
                try sample.store.read { try ModelTree(reading: sample.tree, of: $0) } == .integers(map))
        }
        try sample.store.close()
    }

    @Test func aSavepointOfAnotherTransactionIsNotReleased() throws {
        let store = try Store.inMemory()
        let first = try store.beginWrite()
        let savepoint = first.savepoint()
        first.rollback()
        let second = try store.beginWrite()
        let own = second.savepoint()
        #expect(throws: StorageError.self) { try second.release(savepoint) }
        try second.release(own)
        #expect(throws: StorageError.self) { try second.release(own) }
        second.rollback()
        try store.close()
    }

    /// The log operations of a transaction in memory take at most a sixteenth of the cache, or a fixed limit with a
    /// large cache.
    @Test(arguments: [(8 << 20, 512 << 10), (1 << 20, 256 << 10), (256 << 20, 4 << 20)])
    func whatIsNotedForTheLogKeepsToTheBudget(cacheBytes: Int, most: Int) throws {
        var options = StoreOptions()
        options.background = .manual
        options.cacheBytes = cacheBytes
        let store = try Store.inMemory(options: options)
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        try store.write { tx in
            var peak = 0
            for index in 0..<Self.entries * 6 where tx.writer.isRecording {
                try tx.put(Self.value(16, index), for: index &* 7919 % 500, in: tree)
                peak = max(peak, tx.writer.memory.operations.count)
            }
            #expect(!tx.writer.isRecording && peak <= most && peak > most / 10 * 9, "\(peak) bytes")
        }
        try store.close()
    }

    /// The memory of a transaction's lists is taken off that for pages while it runs.
    @Test func listsCountAgainstTheBudget() throws {
        let sample = try Sample(entries: Self.entries)
        let frames = sample.store.frames
        let whole = frames.budgetFrames
        try sample.expectSmallFile { tx in
            for index in 0..<Self.entries {
                try tx.put(Self.value(9, index), for: Self.scattered(index), in: sample.tree)
            }
            let counted = frames.budgetFrames
            frames.reserve(bytes: 0)
            let reserved = (frames.budgetFrames - counted) * 4096
            #expect(reserved > 0 && reserved >= tx.writer.lists.bytes / 2, "\(reserved) bytes")
            #expect(sample.store.stats.cacheBudgetBytes == Self.budget)
        }
        // The entries for pages that the file has now stay in memory: four bytes each.
        let grown = Int(sample.store.stats.filePages) * 4 / 4096
        #expect(frames.budgetFrames >= whole - grown - 1, "\(frames.budgetFrames) of \(whole)")
    }

    /// The memory of a transaction for each page that it allocates or frees, and of the space map for dead pages until
    /// no reader sees them.
    @Test func aPageTakesAFewBytesOfMemory() throws {
        let sample = try Sample(entries: 300_000, valueBytes: 100, budget: 8 << 20)
        let pages = sample.livePagesBefore
        #expect(pages > 8000)
        let snapshot = try sample.store.snapshot()
        try sample.store.write { tx in
            for key in stride(from: UInt64(0), to: 300_000, by: 12) {
                try tx.put(Self.value(100, key), for: key &* 7919 % 300_000, in: sample.tree)
            }
            let random = tx.writer.lists.changed
            #expect(random.freed.count > pages / 2)
            #expect(random.bytes < random.freed.count * 10 + 20_000, "\(random.bytes) bytes of \(random.freed.count)")
            try tx.dropTree(sample.tree)
            let all = tx.writer.lists.changed
            #expect(all.freed.count >= pages - 10)
            #expect(all.bytes < all.freed.count * 8 + 20_000, "\(all.bytes) bytes of \(all.freed.count)")
        }
        let space = sample.store.versions.space
        #expect(space.waitingCount >= pages - 10)
        #expect(space.listBytes < space.waitingCount * 6 + 20_000, "\(space.listBytes) bytes of \(space.waitingCount)")
        snapshot.close()
        try sample.store.checkpoint()
        try sample.store.checkpoint()
        #expect(try sample.store.verify().findings == [])
        try sample.store.close()
    }

    /// Filling a database at random keys, at a scale far beyond the cache.
    @Test func manyPutsAtRandomKeysKeepWithinFileAndMemory() throws {
        let count: UInt64 = 250_000
        let budget = 2 << 20
        let sample = try Sample(budget: budget)
        var peak = 0
        try sample.expectSmallFile { tx in
            for index in 0..<count {
                let key = index &* 7_368_787 % count
                try withUnsafeBytes(of: key) { try tx.put($0, for: key, in: sample.tree) }
                if index % 4096 == 0 { peak = max(peak, sample.store.stats.cacheUsedBytes) }
            }
        }
        // Other tests' operations keep some frames from serving again.
        #expect(peak <= budget / 10 * 15, "\(peak) bytes of frames")
    }
}
