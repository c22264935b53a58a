import MakoReplication
import MakoStorage
import MakoTestSupport
import ReplicationTestSupport
import Synchronization
import Testing

/// Committers, readers and the thread of a replicator at once.
@Suite struct ConfirmationConcurrencyTests {
    /// An object store whose requests take some time.
    private final class SlowObjectStore: ObjectStore {
        let base = SimulatedObjectStore()

        func put(
            _ name: String, _ content: ObjectContent, _ condition: PutCondition
        ) throws(ObjectStoreError) -> ObjectTag {
            for _ in 0..<200 { yieldThread() }
            return try base.put(name, content, condition)
        }
        func get(_ name: String, _ range: Range<UInt64>?) throws(ObjectStoreError) -> ObjectBytes {
            try base.get(name, range)
        }
        func list(_ prefix: String, after name: String?, limit: Int) throws(ObjectStoreError) -> [String] {
            try base.list(prefix, after: name, limit: limit)
        }
        func delete(_ name: String) throws(ObjectStoreError) { try base.delete(name) }
    }

    @Test func committersShareRequestsAndReadersSeeWhatIsConfirmed() throws {
        let objects = SlowObjectStore()
        var options = Ledger.options(MemoryFileSystem(), seed: 1)
        options.background = .threads
        options.logArchiveBytes = 1 << 20
        let store = try Store(at: "shared.mako", options: options)
        let replicator = try Replicator(store, to: objects)
        try replicator.confirmCommits()
        try store.write { _ = try $0.createTree(named: "t", keys: .integer) }
        let puts = objects.base.puts
        let isDone = Atomic<Bool>(false)
        let failures = Atomic<Int>(0)
        let reader = try startThread(name: "reader") {
            while !isDone.load(ordering: .acquiring) {
                let seen = try? store.read { $0.commitNumber }
                if let seen, seen > replicator.shippedCommit ?? 0 { failures.add(1, ordering: .relaxed) }
                yieldThread()
            }
        }
        let writers = try (0..<4).map { writer in
            try startThread(name: "writer") {
                for round in 0..<25 {
                    do {
                        try store.write { tx in
                            guard let tree = tx.view.tree(named: "t") else { return }
                            try tx.put([1, 2, 3], for: UInt64(writer * 100 + round), in: tree)
                        }
                    } catch { failures.add(1, ordering: .relaxed) }
                }
            }
        }
        for thread in writers { thread.join() }
        isDone.store(true, ordering: .releasing)
        reader.join()
        #expect(failures.load(ordering: .relaxed) == 0)
        #expect(replicator.shippedCommit == (try store.read { $0.commitNumber }))
        #expect(objects.base.puts - puts < 100)
        replicator.stop()
        try store.close()
    }

    /// The replicator's thread sleeps without news, and the shipment of another thread fails: no later commit is news.
    @Test func aShipmentOfAnotherThreadThatFailsWakesTheThread() async throws {
        let signal = LogSignal()
        signal.take()
        signal.finish(isShipped: true)
        let isAwake = Atomic(false)
        let thread = try startThread(name: "replicator") {
            if signal.wait(until: .now, isFirm: false) { isAwake.store(true, ordering: .relaxed) }
        }
        // For the thread to sleep; one that does not sleep yet would see the news.
        try await Task.sleep(for: .milliseconds(50))
        signal.take()
        signal.finish(isShipped: false)
        for _ in 0..<1000 where !isAwake.load(ordering: .relaxed) { try await Task.sleep(for: .milliseconds(5)) }
        signal.stop()
        thread.join()
        let hasWoken = isAwake.load(ordering: .relaxed)
        #expect(hasWoken)
    }

    @Test func theThreadShipsByItselfAndSleepsWhenIdle() throws {
        let ledger = try Ledger(seed: 111)
        let replicator = try ledger.replicator()
        try replicator.start(interval: .milliseconds(1))
        ledger.objects.isDown = true
        for _ in 0..<5 { try ledger.commit(.small) }
        while replicator.failure == nil { yieldThread() }
        #expect(replicator.lag.commits > 0)
        ledger.objects.isDown = false
        while replicator.lag.commits > 0 { yieldThread() }
        #expect(replicator.shippedCommit == (try ledger.commitNumber()))
        replicator.stop()
        let calls = ledger.objects.calls
        try replicator.ship()
        #expect(ledger.objects.calls == calls)
        // It starts again.
        try replicator.start()
        try ledger.commit(.small)
        while replicator.lag.commits > 0 { yieldThread() }
        replicator.stop()
        try ledger.checkAll()
    }
}
