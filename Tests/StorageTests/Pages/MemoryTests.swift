import MakoStorage
import MakoTestSupport
import Testing

/// The cache stays within its budget, whatever is read and written.
///
/// A frame is reused only after all operations of the process that began before have ended, including those of other
/// tests. So each test is repeated until no other operation interferes: a defect of the engine shows each time.
@Suite(.serialized) struct MemoryTests {
    private static let keys: UInt64 = 40_000
    private static let budget = 640 << 10
    private static let mostBytes = budget / 10 * 11

    private struct Sample {
        var store: Store
        var tree: Tree
        var random = SplitMix(seed: 11)
        var peak = 0

        mutating func look() { peak = max(peak, store.stats.cacheUsedBytes) }
        mutating func key() -> UInt64 { UInt64(random.below(Int(MemoryTests.keys))) }
    }

    /// Data of ten times the budget.
    private func sample(_ background: BackgroundWork) throws -> Sample {
        var options = StoreOptions()
        options.background = background
        options.cacheBytes = MemoryTests.budget
        options.logSegmentBytes = 1 << 20
        let store = try Store.inMemory(options: options)
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        for part in UInt64(0)..<40 {
            try store.write { tx in
                for key in part * 1000..<(part + 1) * 1000 {
                    try tx.put(ValueShape(bytes: 140).value(seed: key), for: key, in: tree)
                }
            }
        }
        try store.checkpoint()
        #expect(store.stats.livePages > MemoryTests.budget / 4096 * 9)
        return Sample(store: store, tree: tree)
    }

    private func expectWithin(
        _ background: BackgroundWork = .manual, _ sourceLocation: SourceLocation = #_sourceLocation,
        _ body: (inout Sample) throws -> Void
    ) throws {
        var peaks: [Int] = []
        while peaks.count < 40 {
            var sample = try sample(background)
            try body(&sample)
            #expect(try sample.store.verify().isClean)
            try sample.store.close()
            peaks.append(sample.peak)
            if sample.peak <= MemoryTests.mostBytes { return }
        }
        Issue.record("\(peaks) of \(MemoryTests.budget)", sourceLocation: sourceLocation)
    }

    @Test func randomReadsKeepWithinTheBudget() throws {
        try expectWithin { sample in
            let view = try sample.store.snapshot()
            for round in 0..<10_000 {
                let key = sample.key()
                let value = try view.get(key, in: sample.tree)
                if value != ValueShape(bytes: 140).value(seed: key) { Issue.record("key \(key)") }
                // By then the frames of the load have been evicted.
                if round > 500 && round % 16 == 0 { sample.look() }
            }
            // While other operations interfere, it exceeds the budget instead of evicting.
            if sample.peak <= MemoryTests.mostBytes { #expect(sample.store.stats.evictions > 1000) }
            view.close()
        }
    }

    @Test(arguments: [BackgroundWork.manual, .threads])
    func randomWritesKeepWithinTheBudget(background: BackgroundWork) throws {
        try expectWithin(background) { sample in
            for round in UInt64(0)..<1000 {
                try sample.store.write(durability: .async) { tx in
                    for _ in 0..<8 {
                        try tx.put(ValueShape(bytes: 140).value(seed: round), for: sample.key(), in: sample.tree)
                    }
                }
                if round % 50 == 49 { while try background == .manual && sample.store.step() {} }
                if round > 100 { sample.look() }
            }
        }
    }

    /// Its pages are handed over to the file while it goes on.
    @Test func oneLargeTransactionKeepsWithinTheBudget() throws {
        try expectWithin { sample in
            try sample.store.write { tx in
                for round in 0..<4000 {
                    try tx.put(ValueShape(bytes: 140).value(seed: 5), for: sample.key(), in: sample.tree)
                    if round > 500 && round % 16 == 0 { sample.look() }
                }
            }
        }
    }

    /// A pass over a whole tree, as one operation or many, holds few of its pages.
    @Test(arguments: ["verify", "count", "rank", "seek"]) func passesOverATreeKeepWithinTheBudget(kind: String) throws {
        try expectWithin { sample in
            while try sample.store.step() {}
            switch kind {
            case "verify": #expect(try sample.store.verify().isClean)
            case "count":
                let count = try sample.store.read { [sample] in try $0.count(of: 5...39_994, in: sample.tree) }
                #expect(count == 39_990)
            case "rank":
                let rank = try sample.store.read { [sample] in try $0.rank(of: UInt64(39_000), in: sample.tree) }
                #expect(rank == 39_000)
            default:
                try sample.store.read { [sample] view in
                    var cursor = try view.cursor(in: sample.tree)
                    #expect(try cursor.seek(offset: 39_000) && cursor.integerKey == 39_000)
                }
            }
            sample.peak = sample.store.stats.cacheMappedBytes
        }
    }

    /// Dirty pages cannot be evicted: the cache exceeds its budget then, and counts it.
    @Test func whatGoesBeyondTheBudgetIsCounted() throws {
        let sample = try sample(.manual)
        let before = sample.store.stats.overBudget
        let view = try sample.store.snapshot()
        // A scan that pauses holds the frames that other threads evict meanwhile.
        try view.forEach(in: sample.tree) { _, _ in
            for key in UInt64(0)..<MemoryTests.keys where key % 20 == 0 { _ = try view.get(key, in: sample.tree) }
            return false
        }
        let most = sample.store.stats
        #expect(most.overBudget > before && most.cacheMappedBytes > most.cacheBudgetBytes)
        view.close()
        // Memory returns to the system once no operation of the process holds it, and may be allocated again.
        var after = most
        let limit = ContinuousClock.now + .seconds(60)
        while after.cacheMappedBytes > after.cacheBudgetBytes, ContinuousClock.now < limit {
            while try sample.store.step() {}
            yieldThread()
            after = sample.store.stats
        }
        #expect(after.cacheMappedBytes <= after.cacheBudgetBytes)
        #expect(after.cacheUsedBytes <= after.cacheMappedBytes)
        try sample.store.read { view in
            try view.forEach(in: sample.tree) { _, _ in
                for key in UInt64(0)..<MemoryTests.keys where key % 20 == 0 {
                    let value = try view.get(key, in: sample.tree)
                    if value != ValueShape(bytes: 140).value(seed: key) { Issue.record("key \(key)") }
                }
                return false
            }
        }
        #expect(sample.store.stats.cacheMappedBytes > after.cacheBudgetBytes)
        #expect(try sample.store.verify().isClean)
        try sample.store.close()
    }
}
