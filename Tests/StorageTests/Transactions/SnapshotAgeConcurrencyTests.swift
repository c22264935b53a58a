import MakoStorage
import MakoTestSupport
import Synchronization
import Testing

/// Snapshots that are ended by the store's own thread while others read in them.
@Suite(.serialized) struct SnapshotAgeConcurrencyTests {
    @Test func aReadIsRightOrSaysThatTheSnapshotHasEnded() throws {
        var options = StoreOptions()
        options.fileSystem = MemoryFileSystem()
        options.cacheBytes = 512 << 10
        options.logSegmentBytes = 128 << 10
        options.checkpointBytes = 64 << 10
        options.snapshotAgeLimit = .milliseconds(1)
        let store = try Store(at: "s.mako", options: options)
        let keys: UInt64 = 1200
        let tree = try store.write { tx throws -> Tree in
            let tree = try tx.createTree(named: "t", keys: .integer)
            for key in 0..<keys { try tx.put(ValueShape(bytes: 60).value(seed: 1), for: key, in: tree) }
            return tree
        }
        let isDone = Atomic<Bool>(false)
        let ended = Atomic<Int>(0)
        let writer = try startThread(name: "writer") {
            // Each commit writes all keys with one value: a read that mixes two commits is seen.
            for round in UInt64(2)..<80 {
                do {
                    try store.write(durability: .async) { tx in
                        for key in 0..<keys { try tx.put(ValueShape(bytes: 60).value(seed: round), for: key, in: tree) }
                    }
                } catch { Issue.record(error) }
                // The ticker of the store: without waiting for it.
                _ = try? store.step()
            }
            isDone.store(true, ordering: .releasing)
        }
        let readers = try (0..<3).map { reader in
            try startThread(name: "reader \(reader)") {
                while !isDone.load(ordering: .acquiring) {
                    do {
                        let view = try store.snapshot()
                        let expected = try view.get(0, in: tree)
                        for round in 0..<20 {
                            switch (round + reader) % 3 {
                            case 0:
                                for key in 0..<keys where try view.get(key, in: tree) != expected {
                                    Issue.record("key \(key) is of another commit")
                                }
                            case 1:
                                var cursor = try view.cursor(in: tree)
                                var more = try cursor.first()
                                while more {
                                    if try cursor.value() != expected { Issue.record("\(cursor.integerKey)") }
                                    more = try cursor.next()
                                }
                            default:
                                try view.forEach(in: tree) { key, value in
                                    if [UInt8](value) != expected { Issue.record("scan: \(key)") }
                                    return true
                                }
                            }
                        }
                    } catch StorageError.snapshotExpired { ended.add(1, ordering: .relaxed) } catch {
                        Issue.record(error)
                    }
                }
            }
        }
        for thread in readers + [writer] { thread.join() }
        #expect(ended.load(ordering: .relaxed) > 0)
        let limit = ContinuousClock.now.advanced(by: .seconds(120))
        while store.stats.openSnapshots > 0, ContinuousClock.now < limit { yieldThread() }
        #expect(store.stats.openSnapshots == 0)
        #expect(try store.verify().isClean)
        try store.close()
    }
}
