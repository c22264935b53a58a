import MakoStorage
import MakoTestSupport
import ReplicationTestSupport
import Testing

@testable import MakoReplication

/// What a writer hears that continues no branch: that another database extended its own, that its log is gone, or that a later version of Mako
/// began it.
@Suite struct AttachingTests {
    // MARK: Fences

    /// The branch that another database is said to extend. Every other outcome is thrown.
    private func fencingBranch(_ body: () throws -> Void) throws -> UInt64 {
        do {
            try body()
            Issue.record("the writer goes on")
            return 0
        } catch ReplicationError.fenced(let branch, let reason) {
            #expect("\(ReplicationError.fenced(branch: branch, reason: reason))".hasPrefix("branch \(branch) "))
            return branch
        }
    }

    private func restore(_ ledger: Ledger) throws -> UInt64 {
        let options = Ledger.options(MemoryFileSystem(), seed: 3)
        return try ledger.replica.restore(to: "restored.mako", options: options).branch
    }

    /// Restored databases have begun branches behind the one that two copies of a database extend. The loser has few commits of its own, or more
    /// than the winner.
    @Test(arguments: [1, 2, 7], [1, 60]) func aFenceNamesTheBranchOfTheWriter(_ shipments: Int, own: Int) throws {
        let ledger = try Ledger(seed: 301)
        let old = try ledger.replicator()
        for round in 0..<shipments {
            try ledger.commit(.small)
            try old.ship()
            if round == shipments / 2 { #expect(try restore(ledger) == 2) }
        }
        #expect(try restore(ledger) == 3)
        let other = try Ledger(copying: ledger, seed: 302)
        let new = try other.replicator()
        #expect(new.branch == 1)
        for _ in 0..<shipments {
            try other.commit(.small)
            try new.ship()
        }
        for _ in 0..<own { try ledger.commit(.several) }
        #expect(try fencingBranch { try old.ship() } == 1)
        #expect(try fencingBranch { try old.ship() } == 1)
        #expect(try fencingBranch { _ = try ledger.replicator() } == 1)
        // As of a store that is opened again.
        try ledger.reopen()
        #expect(try fencingBranch { _ = try ledger.replicator() } == 1)
        #expect(try other.restored(nil, branch: 1) == other.state)
    }

    private func link(_ branch: UInt64, _ ledger: Ledger) throws -> Replicator.Link {
        let names = ReplicaNames(prefix: "", database: try ledger.replica.databases()[0])
        let reader = try #require(try BranchReader.find(ledger.place, names, branch))
        return try Replicator.link(try Replicator.State(of: reader).end, ledger.store)
    }

    /// The store has left branch 1 for branch 2, where a copy has gone on.
    @Test func aFenceStaysBeforeAnEarlierBranchWhoseLogIsGone() throws {
        let ledger = try Ledger(seed: 303)
        try ledger.commit(.small)
        try ledger.replicator().ship()
        let second = try ledger.replicator(branch: .new)
        try second.ship()
        try ledger.commit(.small)
        try second.ship()
        let other = try Ledger(copying: ledger, seed: 304)
        // Everything is shipped, so that closing removes the log.
        try ledger.reopen()
        try ledger.commit(.small)
        try other.commit(.several)
        let new = try other.replicator()
        #expect(new.branch == 2)
        try new.ship()
        #expect(try link(1, ledger) == .gone)
        #expect(try fencingBranch { _ = try ledger.replicator() } == 2)
    }

    /// A copy has begun branch 2, and a follower was promoted on branch 1.
    @Test func aFenceStaysBehindALaterBranchWhoseLogIsGone() throws {
        let ledger = try Ledger(seed: 305)
        try ledger.commit(.small)
        let old = try ledger.replicator()
        try old.ship()
        try Ledger(copying: ledger, seed: 306).replicator(branch: .new).ship()
        try ledger.commit(.small)
        try old.ship()
        let bench = FollowerBench(ledger)
        bench.options.branch = 1
        let promoted = try bench.promote()
        // Everything is shipped, so that closing removes the log.
        try ledger.reopen()
        try ledger.commit(.small)
        #expect(try link(2, ledger) == .gone)
        #expect(try fencingBranch { _ = try ledger.replicator() } == 1)
        try promoted.close()
    }

    // MARK: Logs that are gone

    private func expectLogGone(
        _ commit: UInt64, _ location: SourceLocation = #_sourceLocation, _ body: () throws -> Void
    ) {
        #expect(throws: ReplicationError.logGone(branch: 1, commit: commit), sourceLocation: location) { try body() }
    }

    /// The branch of a restored database is no fence: it never was the writer's.
    @Test func theBranchOfARestoredDatabaseHidesNoLogThatIsGone() throws {
        let ledger = try Ledger(seed: 307, archiveBytes: 0)
        try ledger.commit(.small)
        try ledger.replicator().ship()
        let shipped = try ledger.commitNumber()
        var options = Ledger.options(MemoryFileSystem(), seed: 3)
        #expect(try ledger.replica.restore(to: "restored.mako", options: options).branch == 2)
        options.logArchiveBytes = 1 << 20
        let restored = try Store(at: "restored.mako", options: options)
        let replicator = try Replicator(restored, to: ledger.place)
        #expect(replicator.branch == 2)
        for number in UInt64(1)...3 {
            try restored.write { tx in
                let tree = try tx.createTree(named: "tree \(number)", keys: .integer)
                try tx.put([1], for: number, in: tree)
            }
            try replicator.ship()
        }
        try restored.close()
        try ledger.commit(.small)
        // Without an archive, closing removes the log.
        try ledger.reopen()
        #expect(try link(2, ledger) == .foreign)
        expectLogGone(shipped) { _ = try ledger.replicator() }
    }

    /// The next process after a killed one reads commits from the system's cache and makes them durable in a checkpoint, but not the log, which nothing
    /// is to read again. What a power cut leaves of it ends at the shipped commit, and does not lead to the checkpoint.
    @Test func withoutAnArchiveThePowerCutAfterAKilledProcessIsNoFence() throws {
        let ledger = try Ledger(seed: 308, archiveBytes: 0)
        try ledger.commit(.small)
        try ledger.replicator().ship()
        let shipped = try ledger.commitNumber()
        for _ in 0..<3 { try ledger.commit(.several, durability: .ordered) }
        try ledger.kill()
        #expect(try ledger.commitNumber() == shipped + 3)
        var refusals = 0
        for image in ledger.disk.crashState().images(.structured) {
            var options = Ledger.options(SimulatedDisk(image), seed: 9)
            options.logArchiveBytes = 0
            let store = try Store(at: Ledger.path, options: options)
            #expect(try LedgerState(reading: store) == ledger.state)
            do throws(ReplicationError) {
                let replicator = try Replicator(store, to: ledger.place)
                #expect(replicator.branch == 1)
            } catch {
                #expect(error == .logGone(branch: 1, commit: shipped))
                refusals += 1
            }
            try store.close()
        }
        #expect(refusals > 0)
    }

    private func segment(_ place: LogPlace) -> UInt64 { (place.lsn - 1) / UInt64(64 << 10) }

    private func remove(segment: UInt64, of ledger: Ledger) {
        let path = "\(Ledger.path)-wal-\(segment)"
        #expect(ledger.disk.contents(of: path) != nil)
        ledger.disk.setContents(of: path, to: nil)
    }

    /// A branch ends where a segment does, and the next segment is missing, but not the one behind it.
    @Test func aMissingSegmentIsNoFence() throws {
        let ledger = try Ledger(seed: 309)
        try ledger.commit(.small)
        let replicator = try ledger.replicator()
        var shipped = ledger.store.newestPlace
        repeat {
            try replicator.ship()
            shipped = ledger.store.newestPlace
            try ledger.commit(.small)
        } while segment(ledger.store.newestPlace) == segment(shipped)
        let missing = segment(ledger.store.newestPlace)
        while segment(ledger.store.newestPlace) < missing + 2 { try ledger.commit(.small) }
        remove(segment: missing, of: ledger)
        expectLogGone(shipped.commit) { _ = try ledger.replicator() }
        // A replicator that knows its branch goes on with a backup.
        try replicator.ship()
        let newest = try ledger.commitNumber()
        let points = try ledger.replica.restorePoints()[0]
        #expect(points.findings == [])
        #expect(points.gaps == [shipped.commit + 1...newest - 1])
        #expect(try ledger.restored(nil) == ledger.state)
        #expect(try ledger.replicator().branch == 1)
    }

    /// The answer to a shipment is lost, and its log goes before the next one.
    @Test func aShipmentWhoseLogIsGoneIsNoFence() throws {
        let ledger = try Ledger(seed: 310)
        let replicator = try ledger.replicator()
        try ledger.commit(.small)
        try replicator.ship()
        try ledger.commit(.small)
        let commit = try ledger.commitNumber()
        ledger.objects.inject(.answerLost, atCall: ledger.objects.calls)
        #expect {
            try replicator.ship()
        } throws: { error in
            if case ReplicationError.objects(.unavailable) = error { true } else { false }
        }
        let missing = segment(ledger.store.newestPlace)
        while segment(ledger.store.newestPlace) < missing + 2 { try ledger.commit(.small) }
        remove(segment: missing, of: ledger)
        expectLogGone(commit) { try replicator.ship() }
        expectLogGone(commit) { _ = try ledger.replicator() }
        let next = try ledger.replicator(branch: .new)
        try next.ship()
        #expect(try ledger.restored(nil, branch: 2) == ledger.state)
    }

    // MARK: Later formats

    /// Gives the origin of a branch a format that this version does not know.
    ///
    /// - Returns: its name.
    private func makeLater(_ branch: UInt64, _ ledger: Ledger) throws -> String {
        let names = ReplicaNames(prefix: "", database: try ledger.replica.databases()[0])
        let name = names.origin(branch)
        let words = Words(try #require(ledger.objects.objects[name]))
        let rest = (3..<BranchOrigin.bytes / 8).map { words.word($0) }
        ledger.objects.objects[name] = Words.encode(
            [BranchOrigin.magic, BranchOrigin.format + 1] + rest, bytes: BranchOrigin.bytes)
        return name
    }

    @Test(arguments: [false, true]) func aBranchOfALaterFormatIsListedAndNotUsed(hasObjects: Bool) throws {
        let ledger = try Ledger(seed: 311)
        try ledger.commit(.small)
        let replicator = try ledger.replicator()
        if hasObjects {
            try replicator.ship()
            try ledger.commit(.small)
            try replicator.ship()
        }
        let runs = try ledger.replica.restorePoints()[0].runs
        let name = try makeLater(1, ledger)
        let left = ledger.objects.objects
        let points = try ledger.replica.restorePoints()
        #expect(points.map(\.findings) == [["the origin \(name) has format 2, of a later version"]])
        #expect(points.map(\.runs) == [runs])
        let refusal = ReplicationError.storage(.unsupportedVersion(path: name, found: 2, supported: 1))
        #expect(throws: refusal) { _ = try ledger.replicator() }
        #expect(throws: refusal) { try ledger.restored(nil) }
        #expect(throws: refusal) { try ledger.restored(nil, branch: 1) }
        if hasObjects { #expect(throws: refusal) { _ = try FollowerBench(ledger).current() } }
        #expect(ledger.objects.objects == left)
        let second = try ledger.replicator(branch: .new)
        #expect(second.branch == 2)
        try second.ship()
        #expect(try ledger.replicator().branch == 2)
        #expect(try ledger.restored(nil) == ledger.state)
    }

    /// A later version has restored the database.
    @Test func aBranchOfALaterFormatStopsNoWriterOfAnother() throws {
        let ledger = try Ledger(seed: 312)
        try ledger.commit(.small)
        try ledger.replicator().ship()
        #expect(try restore(ledger) == 2)
        _ = try makeLater(2, ledger)
        try ledger.commit(.small)
        let replicator = try ledger.replicator()
        #expect(replicator.branch == 1)
        try replicator.ship()
        #expect(try ledger.restored(nil) == ledger.state)
    }
}
