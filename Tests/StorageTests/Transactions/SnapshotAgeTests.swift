import MakoStorage
import MakoTestSupport
import Testing

/// What old snapshots hold, how they expire, and that none expires during a read.
@Suite struct SnapshotAgeTests {
    private struct Sample {
        var store: Store
        var tree: Tree
        var clock: TestClock

        /// Overwrites all keys: every leaf gets a new version.
        func overwrite(_ round: Int) throws {
            try store.write { tx in
                for key in UInt64(0)..<600 { try tx.put(SnapshotAgeTests.value(key, round), for: key, in: tree) }
            }
        }

        /// Two checkpoints of nearly the same: what they hold beyond the snapshots is next to nothing.
        func settle(_ round: Int) throws {
            for _ in 0..<3 {
                try store.write { try $0.put(SnapshotAgeTests.value(0, round), for: 0, in: tree) }
                try store.checkpoint()
            }
        }

        /// Advances the clock and runs the background steps.
        ///
        /// - Parameter open: the number of open snapshots to wait for: when expired ones are released depends on
        ///   operations of other tests.
        func pass(_ time: Duration, leaving open: Int? = nil) throws {
            clock.advance(by: time)
            let limit = ContinuousClock.now.advanced(by: .seconds(120))
            repeat {
                for _ in 0..<4 { _ = try store.step() }
            } while store.stats.openSnapshots > open ?? .max && ContinuousClock.now < limit
        }

        /// A snapshot that the background work has seen: its age counts from there.
        func snapshot(label: String? = nil) throws -> Snapshot {
            let snapshot = try store.snapshot(label: label)
            try pass(.zero)
            return snapshot
        }

        func holds(_ round: Int, _ view: Snapshot) throws -> Bool {
            for key in UInt64(0)..<600 where try view.get(key, in: tree) != SnapshotAgeTests.value(key, round) {
                return false
            }
            return true
        }
    }

    private static func value(_ key: UInt64, _ round: Int) -> [UInt8] {
        ValueShape(bytes: 100).value(seed: key &* 1000 &+ UInt64(round))
    }

    private func sample(limit: Duration? = nil) throws -> Sample {
        let clock = TestClock()
        var options = StoreOptions()
        options.background = .manual
        options.clock = clock
        options.snapshotAgeLimit = limit
        options.cacheBytes = 1 << 20
        let store = try Store.inMemory(options: options)
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        let sample = Sample(store: store, tree: tree, clock: clock)
        try sample.overwrite(0)
        return sample
    }

    private let expired = StorageError.snapshotExpired(limitSeconds: 10)

    // MARK: Reports

    @Test func theOldestSnapshotIsNamedWithWhatItHolds() throws {
        let sample = try sample()
        let store = sample.store
        #expect(store.stats.oldestSnapshot == nil)
        try sample.pass(.seconds(1))
        let report = try sample.snapshot(label: "report")
        #expect(store.stats.oldestSnapshot?.seconds == 0)
        try sample.overwrite(1)
        try sample.pass(.seconds(5))
        let plain = try sample.snapshot()
        #expect(store.stats.openSnapshots == 2)
        try sample.overwrite(2)
        try sample.pass(.milliseconds(2500))
        let oldest = try #require(store.stats.oldestSnapshot)
        #expect(oldest.label == "report")
        #expect(oldest.seconds == 7.5)
        #expect(oldest.commits == 2)
        // Its version of the leaves, 25 of them at least, and not that of the second one.
        #expect(oldest.heldBytes >= 15 * 4096 && oldest.heldBytes < 40 * 4096, "\(oldest.heldBytes)")
        let waiting = store.stats.waitingPages
        report.close()
        #expect(store.stats.openSnapshots == 1)
        #expect(store.stats.oldestSnapshot?.label == nil)
        #expect(store.stats.oldestSnapshot?.seconds == 2.5)
        try store.checkpoint()
        try store.checkpoint()
        #expect(store.stats.waitingPages < waiting)
        #expect(try sample.holds(1, plain))
        plain.close()
        #expect(store.stats.oldestSnapshot == nil)
        try store.close()
    }

    /// The interval rule: what lived and died between two readers is used again while both live.
    @Test func pagesUnseenBetweenTwoReadersAreReused() throws {
        let sample = try sample()
        let store = sample.store
        let first = try store.snapshot()
        for round in 1...3 { try sample.overwrite(round) }
        let middle = try store.snapshot()
        for round in 4...6 { try sample.overwrite(round) }
        let last = try store.snapshot()
        for round in 7...9 { try sample.overwrite(round) }
        try sample.settle(9)
        let pages = store.stats.filePages
        let held = store.stats.waitingPages
        // However many versions follow: neither the held pages nor the file grow.
        for round in 10...40 {
            try sample.overwrite(round)
            try store.checkpoint()
        }
        try sample.settle(40)
        #expect(store.stats.waitingPages <= held + 8)
        #expect(store.stats.filePages <= pages + 64)
        // The version between the two goes while both live.
        let before = store.stats.waitingPages
        middle.close()
        try sample.settle(40)
        let freed = before - store.stats.waitingPages
        #expect(freed >= 15, "\(freed) pages")
        #expect(try sample.holds(0, first))
        #expect(try sample.holds(6, last))
        #expect(try store.verify().isClean)
        try store.close()
    }

    // MARK: Ending

    @Test func aSnapshotBeyondTheLimitEndsAndItsPagesAreFree() throws {
        let sample = try sample(limit: .seconds(10))
        let store = sample.store
        let old = try sample.snapshot()
        var cursor = try old.cursor(in: sample.tree)
        #expect(try cursor.first())
        let scan = try old._leafScan(sample.tree, .integer, integer: 0, bytes: [])
        defer { scan._end() }
        try sample.overwrite(1)
        try sample.pass(.seconds(6))
        let young = try sample.snapshot()
        try sample.overwrite(2)
        try sample.pass(.seconds(4))
        #expect(try sample.holds(0, old))
        let held = store.stats.waitingPages
        try sample.pass(.seconds(1), leaving: 1)
        #expect(store.stats.openSnapshots == 1)
        #expect(store.stats.waitingPages <= held - 15)
        #expect(throws: expired) { _ = try old.get(1, in: sample.tree) }
        #expect(throws: expired) { _ = try old.withValue(of: 1, in: sample.tree) { _ in } }
        #expect(throws: expired) { while try cursor.next() {} }
        #expect(throws: expired) { _ = try scan._advance() }
        // It does not look like a snapshot of an empty database.
        #expect(old.tree(named: "t") == sample.tree && old.trees.map(\.name) == ["t"])
        #expect(throws: expired) {
            var again = try old.cursor(in: sample.tree)
            _ = try again.first()
        }
        #expect(throws: expired) { _ = try old.count(of: sample.tree) }
        for round in 3...6 {
            try sample.overwrite(round)
            try store.checkpoint()
        }
        #expect(try sample.holds(1, young))
        old.close()
        #expect(throws: expired) { _ = try old.get(1, in: sample.tree) }
        #expect("\(expired)" == "the snapshot is older than the limit of 10.0 seconds and was ended; take a new one")
        try store.close()
    }

    @Test func aReadInProgressIsNotExpired() throws {
        let sample = try sample(limit: .seconds(10))
        let store = sample.store
        let old = try sample.snapshot()
        let expected = SnapshotAgeTests.value(7, 0)
        _ = try old.withValue(of: 7, in: sample.tree) { bytes in
            try sample.pass(.seconds(11))
            #expect(throws: expired) { _ = try old.get(7, in: sample.tree) }
            for round in 1...20 {
                try sample.overwrite(round)
                try store.checkpoint()
                try sample.pass(.milliseconds(10))
                #expect([UInt8](bytes) == expected)
            }
            // Its pages are held as long as that lasts.
            #expect(store.stats.openSnapshots == 1)
        }
        try sample.pass(.milliseconds(10), leaving: 0)
        #expect(store.stats.openSnapshots == 0)
        try store.close()
    }

    /// The place of one that went while it was being ended serves another: that one must keep what it sees.
    @Test func aSnapshotThatGoesWhileItIsEndedTakesNoOtherWithIt() throws {
        let sample = try sample(limit: .seconds(10))
        let store = sample.store
        for round in 1...8 {
            var old: Snapshot? = try sample.snapshot()
            sample.clock.advance(by: .seconds(11))
            // This step marks it.
            _ = try store.step()
            withExtendedLifetime(old) {}
            old = nil
            let young = try store.snapshot()
            try sample.pass(.zero, leaving: 1)
            try sample.overwrite(round)
            try store.checkpoint()
            try sample.overwrite(round)
            try store.checkpoint()
            try sample.overwrite(round)
            #expect(try sample.holds(round - 1, young))
            #expect(store.stats.openSnapshots == 1)
        }
        #expect(store.stats.openSnapshots == 0)
        try store.close()
    }

    @Test func theEnginesOwnSnapshotsHaveNoAge() throws {
        let sample = try sample(limit: .seconds(10))
        var labels: Set<String?> = []
        try sample.store.backup(to: "copy.mako") { _ in
            try? sample.pass(.seconds(60))
            labels.insert(sample.store.stats.oldestSnapshot?.label)
        }
        #expect(labels == ["backup"])
        labels = []
        try sample.store.copy(to: "small.mako") { _ in
            try? sample.pass(.seconds(60))
            labels.insert(sample.store.stats.oldestSnapshot?.label)
        }
        #expect(labels == ["copy"])
        #expect(sample.store.stats.oldestSnapshot == nil)
        try sample.store.close()
    }
}
