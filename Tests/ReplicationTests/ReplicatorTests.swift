import MakoReplication
import MakoStorage
import MakoTestSupport
import ReplicationTestSupport
import Testing

/// The objects that a replicator sends, and the log that the store retains for it.
@Suite struct ReplicatorTests {
    private func segments(_ ledger: Ledger) throws -> Int {
        try ledger.disk.list(directory: ".").count { $0.contains("-wal-") && !$0.hasSuffix("spare") }
    }

    @Test func nothingIsSentWithoutNewCommits() throws {
        let ledger = try Ledger(seed: 51)
        let replicator = try ledger.replicator()
        try ledger.commit(.small)
        try replicator.ship()
        let calls = ledger.objects.calls
        for _ in 0..<5 { #expect(try replicator.ship().objects == 0) }
        #expect(ledger.objects.calls == calls)
    }

    @Test func oneObjectTakesAllCommitsThatCameMeanwhile() throws {
        let ledger = try Ledger(seed: 52)
        let replicator = try ledger.replicator()
        try ledger.commit(.small)
        try replicator.ship()
        for _ in 0..<50 { try ledger.commit(.small) }
        let puts = ledger.objects.puts
        let report = try replicator.ship()
        #expect(report.objects == 1)
        #expect(ledger.objects.puts == puts + 1)
        // 62 bytes of header and padding for a frame of some 60, and 336 for the object and its segment.
        #expect(report.bytes < 50 * 200 + 400)
        #expect(report.commit == (try ledger.commitNumber()))
        try ledger.checkAll()
    }

    @Test func segmentsStayUntilTheyAreShippedAndUpToTheLimit() throws {
        let ledger = try Ledger(seed: 53, archiveBytes: 6 * 64 << 10)
        let replicator = try ledger.replicator()
        try ledger.commit(.small)
        try replicator.ship()
        func fill() throws {
            for _ in 0..<30 { try ledger.commit(.several) }
            try ledger.store.checkpoint()
            try ledger.store.checkpoint()
        }
        try fill()
        // Unshipped segments stay.
        let kept = try segments(ledger)
        #expect(kept > 1)
        try replicator.ship()
        #expect(try ledger.replica.restorePoints()[0].gaps == [])
        try ledger.store.checkpoint()
        #expect(try segments(ledger) < kept + 2)
        // During hours of 503 the archive reaches its limit; an incremental backup follows.
        ledger.objects.isDown = true
        for _ in 0..<12 {
            try fill()
            #expect(throws: ReplicationError.objects(.unavailable(reason: "503"))) { try replicator.ship() }
        }
        // The archive's segments, those for recovery, and two for reuse.
        #expect(try segments(ledger) <= 6 + 5)
        ledger.objects.isDown = false
        try replicator.ship()
        let points = try ledger.replica.restorePoints()[0]
        #expect(points.gaps.count == 1)
        #expect(points.newest == (try ledger.commitNumber()))
        try ledger.checkAll()
    }

    @Test func aCleanCloseKeepsWhatIsNotShipped() throws {
        let ledger = try Ledger(seed: 54)
        let first = try ledger.replicator()
        try ledger.commit(.small)
        try first.ship()
        for _ in 0..<20 { try ledger.commit(.several) }
        try ledger.reopen()
        for _ in 0..<20 { try ledger.commit(.several) }
        try ledger.reopen()
        for _ in 0..<20 { try ledger.commit(.several) }
        let replicator = try ledger.replicator()
        try replicator.ship()
        #expect(try ledger.replica.restorePoints()[0].gaps == [])
        try ledger.checkAll()
        // All is shipped, so that no segment stays.
        try ledger.store.close()
        #expect(try ledger.disk.list(directory: ".") == [Ledger.path])
    }

    @Test func anArchiveIsNoMatterToAStoreWithoutOne() throws {
        let ledger = try Ledger(seed: 55)
        for _ in 0..<40 { try ledger.commit(.several) }
        ledger.options.logArchiveBytes = 0
        try ledger.reopen()
        for _ in 0..<40 { try ledger.commit(.several) }
        #expect(try LedgerState(reading: ledger.store) == ledger.state)
        try ledger.store.close()
        #expect(try ledger.disk.list(directory: ".") == [Ledger.path])
    }

    @Test func aClockThatGoesBackKeepsTheOrderOfDates() throws {
        let ledger = try Ledger(seed: 56)
        var options = Replicator.Options()
        let clock = SettableClock()
        options.now = { clock.now }
        let replicator = try Replicator(ledger.store, to: ledger.objects, options: options)
        var commits: [UInt64] = []
        for now: UInt64 in [5000, 9000, 2000, 9500] {
            clock.now = now
            try ledger.commit(.small)
            try replicator.ship()
            commits.append(try ledger.commitNumber())
        }
        #expect(try ledger.replica.restorePoints()[0].runs.map(\.dates).last?.upperBound == 9500)
        // The commit of the wrong 2000 counts as one of 9000, which it was shipped after.
        let moments: [UInt64] = [4999, 5000, 8999, 9000, 9499, 9500]
        let found = try moments.map { try ledger.replica.newestCommit(shippedBy: $0) }
        #expect(found == [nil, commits[0], commits[0], commits[2], commits[2], commits[3]])
    }

    @Test func backupsFollowMuchLogAndManyParts() throws {
        let ledger = try Ledger(seed: 57)
        var options = Replicator.Options()
        options.backupAfterBytes = 8 << 10
        let replicator = try Replicator(ledger.store, to: ledger.objects, options: options)
        for _ in 0..<60 {
            try ledger.commitAtRandom(selfContained: true)
            try replicator.ship()
        }
        #expect(ledger.objects.names.count { $0.contains("/full/") } > 1)
        #expect(try ledger.replica.restorePoints()[0].gaps == [])
        try ledger.checkAll()
    }

    /// Two commits come while an object is sent, after which a backup is due: it has both, and the first stays a restore point, too.
    @Test func commitsThatComeBeforeABackupStayRestorePoints() throws {
        let place = InterruptedObjectStore()
        let ledger = try Ledger(seed: 60, place: place)
        var options = Replicator.Options()
        options.backupAfterBytes = 1
        let replicator = try Replicator(ledger.store, to: place, options: options)
        try ledger.commit(.small)
        try replicator.ship()
        let first = try ledger.commitNumber()
        try ledger.commit(.small)
        place.next = {
            try? ledger.commit(.small)
            try? ledger.commit(.small)
        }
        try replicator.ship()
        let commits = try ledger.checkAll()
        #expect(commits.suffix(4) == Array(first...first + 3))
        #expect(try ledger.replica.restorePoints()[0].gaps == [])
    }

    @Test func severalDatabasesShareAPlace() throws {
        let first = try Ledger(seed: 58)
        let second = try Ledger(seed: 59, objects: first.objects)
        for ledger in [first, second] {
            try ledger.commit(.small)
            try ledger.replicator().ship()
        }
        let replica = try Replica(first.objects)
        let databases = try replica.databases()
        #expect(databases.count == 2)
        #expect(throws: ReplicationError.self) { try replica.restorePoints() }
        let files = MemoryFileSystem()
        for (index, database) in databases.enumerated() {
            let path = "restored-\(index).mako"
            let own = Ledger.options(files, seed: 1)
            try replica.restore(to: path, database: database, options: own)
            let store = try Store(at: path, options: own)
            let state = try LedgerState(reading: store)
            #expect([first.state, second.state].contains(state))
        }
    }
}

private final class SettableClock: @unchecked Sendable {
    var now: UInt64 = 0
}

/// An object store in memory that does something else after the next object was put.
private final class InterruptedObjectStore: ObjectStore, @unchecked Sendable {
    private let objects = SimulatedObjectStore()
    // Used by one thread alone.
    var next: (() -> Void)?

    func put(
        _ name: String, _ content: ObjectContent, _ condition: PutCondition
    ) throws(ObjectStoreError) -> ObjectTag {
        let tag = try objects.put(name, content, condition)
        let interruption = next
        next = nil
        interruption?()
        return tag
    }

    func get(_ name: String, _ range: Range<UInt64>?) throws(ObjectStoreError) -> ObjectBytes {
        try objects.get(name, range)
    }

    func list(_ prefix: String, after name: String?, limit: Int) throws(ObjectStoreError) -> [String] {
        try objects.list(prefix, after: name, limit: limit)
    }

    func delete(_ name: String) throws(ObjectStoreError) { try objects.delete(name) }
}
