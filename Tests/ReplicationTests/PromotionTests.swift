import MakoReplication
import MakoStorage
import MakoTestSupport
import ReplicationTestSupport
import Testing

/// Promotion of a follower, with and without the writer before it.
@Suite struct PromotionTests {
    private func shipped(_ seed: UInt64, selfContained: Bool = true) throws -> (Ledger, Replicator) {
        let ledger = try Ledger(seed: seed)
        try ledger.commit(.small)
        let replicator = try ledger.replicator(objectBytes: 2000)
        try replicator.ship()
        for _ in 0..<6 { try ledger.commitAtRandom(selfContained: selfContained) }
        try replicator.ship()
        return (ledger, replicator)
    }

    private func put(_ number: UInt64, in store: Store) throws {
        try store.write { tx in
            let tree = try tx.view.tree(named: "numbers") ?? tx.createTree(named: "numbers", keys: .integer)
            try tx.put(Array("promoted \(number)".utf8), for: number, in: tree)
        }
    }

    private func replicator(_ store: Store, _ ledger: Ledger) throws -> Replicator {
        var options = Replicator.Options()
        options.now = { 3_000_000 }
        return try Replicator(store, to: ledger.place, options: options)
    }

    @Test(arguments: [true, false]) func aPromotedFollowerHasEverythingThatWasShipped(selfContained: Bool) throws {
        let (ledger, old) = try shipped(81, selfContained: selfContained)
        let bench = FollowerBench(ledger)
        let newest = try ledger.commitNumber()
        let store = try bench.promote()
        #expect(try store.read { $0.commitNumber } == newest + 1)
        #expect(try LedgerState(reading: store) == ledger.state)
        #expect(try store.verify().findings == [])
        // The writer before is fenced, whether it has something to ship or not.
        try ledger.commit(.small)
        #expect {
            try old.ship()
        } throws: { error in
            if case ReplicationError.fenced(branch: 1, _) = error { true } else { false }
        }
        #expect(throws: ReplicationError.self) { _ = try ledger.replicator() }
        // The promoted one continues the branch.
        let new = try replicator(store, ledger)
        #expect(new.branch == 1)
        try put(1001, in: store)
        try new.ship()
        #expect(try ledger.replica.restorePoints()[0].gaps.isEmpty || !selfContained)
        let restored = try ledger.restored(nil)
        #expect(restored == (try LedgerState(reading: store)))
        // Commits before, and the promotion itself, are restore points.
        #expect(try ledger.restored(newest) == ledger.states[newest])
        #expect(try ledger.restored(newest + 1) == ledger.states[newest])
        try store.close()
    }

    /// The promoted file has other pages than the backups of the branch.
    @Test func theFirstBackupOfAnEpochIsAFullOne() throws {
        let (ledger, old) = try shipped(82)
        let bench = FollowerBench(ledger)
        try bench.check(try ledger.commitNumber())
        // The follower has these commits by frames, and passes by the backup.
        var options = Replicator.Options()
        options.backupAfterBytes = 1
        for _ in 0..<5 { try ledger.commitAtRandom(selfContained: true) }
        try old.ship()
        let backingUp = try Replicator(ledger.store, to: ledger.place, options: options)
        for _ in 0..<3 {
            try ledger.commit(.several)
            try backingUp.ship()
        }
        let report = try bench.check(try ledger.commitNumber())
        #expect(report.restart == nil)
        let store = try bench.promote()
        let new = try Replicator(store, to: ledger.place, options: options)
        var states: [UInt64: LedgerState] = [:]
        for number in UInt64(1)...6 {
            try put(number, in: store)
            try new.ship()
            states[try store.read { $0.commitNumber }] = try LedgerState(reading: store)
        }
        for (commit, state) in states { #expect(try ledger.restored(commit) == state, "commit \(commit)") }
        let kinds = try kinds(ledger)
        let promotion = try #require(kinds.firstIndex { $0.epoch == 2 })
        #expect(kinds[promotion].kind == .frames)
        #expect(kinds[promotion...].first { $0.kind != .frames }?.kind == .full)
        #expect(kinds[promotion...].contains { $0.kind == .part })
        #expect(kinds[promotion...].allSatisfy { $0.epoch == 2 })
        // A replicator that attaches again knows the epoch.
        let again = try Replicator(store, to: ledger.place, options: options)
        try put(7, in: store)
        try again.ship()
        #expect(try ledger.restored(nil) == (try LedgerState(reading: store)))
        // Another follower takes all of it.
        let other = FollowerBench(ledger)
        let follower = try other.current()
        try follower.follow()
        let reader = try other.open()
        #expect(try LedgerState(reading: reader) == (try LedgerState(reading: store)))
    }

    /// The full backup is so large that nothing but the promotion makes the next one full. The follower has the commits of the last incremental one by
    /// frames, and other pages than that.
    @Test func noBackupOfAPromotedFileBuildsOnOneOfTheFileBefore() throws {
        let ledger = try Ledger(seed: 88, archiveBytes: 4 << 20)
        for _ in 0..<20 { try ledger.commit(.large) }
        // Incremental backups have what changed since the checkpoint before their base.
        try ledger.store.checkpoint()
        try ledger.replicator().ship()
        let bench = FollowerBench(ledger)
        bench.options.checkpointBytes = 1
        try bench.check(try ledger.commitNumber())
        var options = Replicator.Options()
        options.backupAfterBytes = 1
        let old = try Replicator(ledger.store, to: ledger.place, options: options)
        for _ in 0..<2 {
            try ledger.commit(.several)
            try old.ship()
            try bench.check(try ledger.commitNumber())
        }
        #expect(try kinds(ledger).last?.kind == .part)
        let store = try bench.promote()
        let new = try Replicator(store, to: ledger.place, options: options)
        var states: [UInt64: LedgerState] = [:]
        for number in UInt64(1)...3 {
            try put(number, in: store)
            try new.ship()
            states[try store.read { $0.commitNumber }] = try LedgerState(reading: store)
        }
        let later = try kinds(ledger).drop { $0.epoch == 1 }
        #expect(later.filter { $0.kind != .frames }.map(\.kind) == [.full, .part, .part])
        for (commit, state) in states { #expect(try ledger.restored(commit) == state, "commit \(commit)") }
    }

    private func sequence(_ ledger: Ledger) -> [String] { ledger.objects.names.filter { $0.contains("/seq/") } }

    private func kinds(_ ledger: Ledger) throws -> [ObjectHeader] {
        try sequence(ledger).map { name in
            let bytes = try #require(ledger.objects.objects[name])
            return try #require(ObjectHeader(bytes))
        }
    }

    @Test func anotherFollowerFollowsThePromotedOne() throws {
        let (ledger, _) = try shipped(83)
        let (first, second) = (FollowerBench(ledger), FollowerBench(ledger, seed: 6))
        let newest = try ledger.commitNumber()
        try second.check(newest)
        let store = try first.promote()
        let new = try replicator(store, ledger)
        try put(1001, in: store)
        try new.ship()
        try second.current().follow()
        let reader = try second.open()
        #expect(try LedgerState(reading: reader) == (try LedgerState(reading: store)))
        #expect(try second.current().commit == newest + 2)
        try reader.close()
        // A second promotion fences the first one.
        let third = try second.promote()
        try put(1002, in: store)
        #expect {
            try new.ship()
        } throws: { error in
            if case ReplicationError.fenced(branch: 1, _) = error { true } else { false }
        }
        try replicator(third, ledger).ship()
        #expect(try ledger.restored(nil) == (try LedgerState(reading: third)))
    }

    // MARK: Orders

    /// All orders of three steps of the old writer, which commits and ships, and three of the follower, which follows,
    /// is promoted, and commits and ships.
    @Test(arguments: FenceTests.orders) func oneOfWriterAndPromotedFollowerExtendsTheBranch(_ order: Int) throws {
        let (ledger, old) = try shipped(84)
        let bench = FollowerBench(ledger)
        var acknowledged = ledger.state
        var isFenced = false
        var store: Store?
        var new: Replicator?
        var step = 0
        for bit in 0..<6 {
            if order >> bit & 1 == 0 {
                guard !isFenced else { continue }
                try ledger.commit(.small)
                do {
                    try old.ship()
                    #expect(store == nil)
                    acknowledged = ledger.state
                } catch ReplicationError.fenced { isFenced = true }
                #expect(isFenced == (store != nil))
            } else {
                switch step {
                case 0: try bench.current().follow()
                case 1:
                    let promoted = try bench.promote()
                    #expect(try LedgerState(reading: promoted) == acknowledged)
                    store = promoted
                default:
                    let promoted = try #require(store)
                    new = try replicator(promoted, ledger)
                    try put(5000, in: promoted)
                    try new?.ship()
                }
                step += 1
            }
        }
        let promoted = try #require(store)
        var expected = acknowledged
        expected.numbers[5000] = Array("promoted 5000".utf8)
        #expect(try LedgerState(reading: promoted) == expected)
        #expect(try ledger.restored(nil) == expected)
        if !isFenced {
            #expect(throws: ReplicationError.self) {
                try ledger.commit(.small); try old.ship()
            }
        }
        #expect(try ledger.replica.restorePoints()[0].findings == [])
    }

    /// The old writer ships between the follower's last step and its promotion, at every call of the promotion.
    @Test func aPromotionThatLosesTheNumberTriesTheNext() throws {
        var index = 0
        while index < 12 {
            let (ledger, old) = try shipped(85)
            try ledger.commit(.small)
            let interposed = InterposedObjectStore(ledger.objects)
            var options = Follower.Options()
            let disk = SimulatedDisk()
            options.store = Ledger.options(disk, seed: 5)
            let follower = try Follower(interposed, at: FollowerBench.path, options: options)
            try follower.follow()
            var hasShipped = false
            interposed.inject(atCall: index) { hasShipped = (try? old.ship()) != nil }
            let store = try follower.promote(options: options.store)
            let state = try LedgerState(reading: store)
            if hasShipped { #expect(state == ledger.state, "call \(index)") }
            if !interposed.hasRun { #expect(throws: ReplicationError.self) { try old.ship() } }
            index += 1
        }
    }

    /// An object behind the follower's last one is gone, as after a long pause, and its number is free.
    @Test func aFollowerIsNotPromotedOverAGap() throws {
        let (ledger, old) = try shipped(87)
        var options = Follower.Options()
        options.store = Ledger.options(SimulatedDisk(), seed: 5)
        let follower = try Follower(ledger.objects, at: FollowerBench.path, options: options)
        // The second step finds nothing, and the next ones do not look behind a missing object.
        for _ in 0..<2 { try follower.follow() }
        let taken = sequence(ledger).count
        for _ in 0..<3 {
            try ledger.commit(.small)
            try old.ship()
        }
        try ledger.objects.delete(sequence(ledger)[taken])
        #expect(throws: ReplicationError.self) { try follower.promote(options: options.store) }
        // The writer is not fenced.
        try ledger.commit(.small)
        try old.ship()
    }

    @Test(arguments: [SimulatedObjectStore.Fault.unavailable, .answerLost, .doubled, .endBefore, .endAfter])
    func aPromotionThatFailsAtAnyCallIsTriedAgain(_ fault: SimulatedObjectStore.Fault) throws {
        for index in 0..<40 {
            let (ledger, old) = try shipped(86)
            let bench = FollowerBench(ledger)
            let before = ledger.objects.calls
            ledger.objects.inject(fault, atCall: before + index)
            var store: Store?
            while store == nil {
                do { store = try bench.promote() } catch ReplicationError.objects(.unavailable) {
                    guard ledger.objects.hasEnded else { continue }
                    ledger.objects.restart()
                    bench.end()
                    bench.disk.endProcess()
                }
            }
            let calls = ledger.objects.calls - before
            ledger.objects.clearFaults()
            let promoted = try #require(store)
            #expect(try LedgerState(reading: promoted) == ledger.state, "call \(index)")
            try put(1001, in: promoted)
            try replicator(promoted, ledger).ship()
            #expect(try ledger.restored(nil) == (try LedgerState(reading: promoted)), "call \(index)")
            #expect(throws: ReplicationError.self) {
                try ledger.commit(.small); try old.ship()
            }
            try promoted.close()
            if index >= calls { return }
        }
        Issue.record("the runs did not end")
    }

    @Test func aPowerCutInAPromotionLeavesAFollowerOrAPromotedFile() throws {
        let (ledger, _) = try shipped(87)
        let objects = ledger.objects.objects
        var index = 0
        while true {
            ledger.objects.objects = objects
            let disk = SimulatedDisk()
            let bench = FollowerBench(ledger, disk: disk)
            try bench.check(try ledger.commitNumber())
            let before = disk.callCount
            disk.inject(index % 2 == 0 ? .crashBefore : .crashAfter, atCall: before + index)
            let store = try? bench.promote()
            let hasEnded = disk.hasCrashed
            if let store {
                try? store.close()
                if !hasEnded { break }
            }
            bench.end()
            let image = try #require(disk.crashState().images(.structured).first)
            let after = FollowerBench(ledger, disk: SimulatedDisk(image))
            do {
                let promoted = try after.promote()
                #expect(try LedgerState(reading: promoted) == ledger.state)
                try promoted.close()
            } catch ReplicationError.notFollowing {
                // It was promoted before the cut.
                let promoted = try Store(at: FollowerBench.path, options: after.options.store)
                #expect(try LedgerState(reading: promoted) == ledger.state)
                try promoted.close()
            }
            index += 1
        }
        #expect(index > 20)
    }

    @Test func aPromotedFollowerFollowsNoMore() throws {
        let (ledger, _) = try shipped(88)
        let bench = FollowerBench(ledger)
        let follower = try bench.current()
        let store = try bench.promote()
        #expect(throws: ReplicationError.storage(.closed(path: FollowerBench.path))) { try follower.follow() }
        try store.close()
        #expect {
            _ = try Follower(ledger.place, at: FollowerBench.path, options: bench.options)
        } throws: { error in
            if case ReplicationError.notFollowing(_, "it is a database of its own") = error { true } else { false }
        }
    }
}
