import MakoTestSupport
import Synchronization
import Testing

@testable import MakoStorage

/// The budget is lowered and raised while readers, cursors and a writer are at work.
@Suite struct CacheBudgetConcurrencyTests {
    private static let keys: UInt64 = 10_000

    /// The faults that threads found, for the test to check.
    private final class Findings: Sendable {
        private let lock = Lock()
        nonisolated(unsafe) private var list: [String] = []

        func add(_ finding: String) { lock.withLock { list.append(finding) } }

        var all: [String] { lock.withLock { list } }
    }

    @Test(arguments: [4096, 16 << 10]) func loweringGoesOnBesideReadersAndWriters(unitBytes: Int) throws {
        var options = StoreOptions()
        options.fileSystem = MemoryFileSystem()
        options.cacheBytes = 64 << 20
        options.memoryUnitBytes = unitBytes
        let store = try Store(at: "s.mako", options: options)
        let tree = try store.write { tx throws -> Tree in
            let tree = try tx.createTree(named: "t", keys: .integer)
            for key in 0..<Self.keys { try tx.put(CacheBudgetSample.value(key), for: key, in: tree) }
            return tree
        }
        let mapped = store.stats.cacheMappedBytes
        #expect(mapped > 8 << 20)
        let findings = Findings()
        let isDone = Atomic<Bool>(false)
        let rounds = Atomic<Int>(0)
        func work(_ name: String, _ round: @escaping @Sendable (Int) throws -> Void) throws -> JoinableThread {
            try startThread(name: name) {
                var number = 0
                while !isDone.load(ordering: .acquiring) || number < 2 {
                    do { try round(number) } catch { findings.add("\(name): \(error)") }
                    number += 1
                    rounds.wrappingAdd(1, ordering: .relaxed)
                }
            }
        }
        let threads = try [
            work("gets") { number in
                var random = SplitMix(seed: UInt64(number))
                let view = try store.snapshot()
                for _ in 0..<200 {
                    let key = UInt64(random.below(Int(Self.keys)))
                    if try view.get(key, in: tree) != CacheBudgetSample.value(key) { findings.add("get \(key)") }
                }
                view.close()
            },
            work("cursor") { number in
                let view = try store.snapshot()
                var cursor = try view.cursor(in: tree)
                var isThere = try cursor.first()
                var count: UInt64 = 0
                while isThere {
                    // Each value would take most of the time.
                    if cursor.integerKey % 64 == UInt64(number % 64),
                        try cursor.value() != CacheBudgetSample.value(cursor.integerKey)
                    {
                        findings.add("cursor at \(cursor.integerKey)")
                    }
                    count += 1
                    isThere = try cursor.next()
                }
                if count != Self.keys { findings.add("\(count) keys") }
                view.close()
            },
            work("writer") { number in
                var random = SplitMix(seed: UInt64(number) << 32)
                try store.write(durability: .async) { tx in
                    for _ in 0..<100 {
                        let key = UInt64(random.below(Int(Self.keys)))
                        try tx.put(CacheBudgetSample.value(key), for: key, in: tree)
                    }
                }
                // A table grows under all of them.
                if number == 3 { try store.write { _ in store.frames.cover(below: 5_000_000) } }
            },
        ]
        for bytes in [4 << 20, 32 << 20, 1 << 20, 64 << 20, 4 << 20] {
            let before = rounds.load(ordering: .relaxed)
            try store.setCacheBytes(bytes)
            while rounds.load(ordering: .relaxed) < before + 12 { yieldThread() }
        }
        isDone.store(true, ordering: .releasing)
        for thread in threads { thread.join() }
        #expect(findings.all.prefix(5).isEmpty)
        let limit = ContinuousClock.now + .seconds(60)
        while store.stats.cacheMappedBytes > 4 << 20, ContinuousClock.now < limit { yieldThread() }
        #expect(store.stats.cacheMappedBytes <= 4 << 20 && mapped - store.stats.cacheMappedBytes > 4 << 20)
        #expect(try store.verify().isClean)
        try store.close()
    }
}
