import MakoReplication
import MakoStorage
import MakoTestSupport
import Testing

/// Restores of shipped commits, compared with the model after each commit.
@Suite struct RestoreTests {
    @Test(arguments: 0..<12) func everyShippedCommitIsRestoredAsItWas(_ seed: Int) throws {
        let ledger = try Ledger(seed: UInt64(seed), archiveBytes: seed % 3 == 0 ? 0 : 1 << 20)
        try RestoreTests.check(ledger, seed, commits: 40)
    }

    /// Ships random commits, and restores each that can be restored.
    static func check(_ ledger: Ledger, _ seed: Int, commits count: Int) throws {
        var random = SplitMix(seed: UInt64(seed) &+ 5)
        var replicator = try ledger.replicator(objectBytes: seed % 2 == 0 ? 1 << 20 : 2000)
        for _ in 0..<count {
            try ledger.commitAtRandom()
            if random.chance(40) { try replicator.ship() }
            if random.chance(5) {
                try replicator.ship()
                try ledger.reopen()
                replicator = try ledger.replicator()
            }
        }
        let report = try replicator.ship()
        let newest = try ledger.commitNumber()
        #expect(report.commit == newest)
        let commits = try ledger.checkAll()
        #expect(commits.last == newest)
        #expect(commits.count > count / 4)
    }

    @Test func selfContainedCommitsAreAllRestorable() throws {
        let ledger = try Ledger(seed: 3)
        let replicator = try ledger.replicator()
        try replicator.ship()
        let first = try ledger.commitNumber()
        for _ in 0..<60 {
            try ledger.commitAtRandom(selfContained: true)
            try replicator.ship()
        }
        let points = try ledger.replica.restorePoints()[0]
        #expect(points.gaps == [])
        #expect(points.runs.map(\.commits) == [first...(try ledger.commitNumber())])
        try ledger.checkAll()
    }

    /// The disk fails at each call: the error names no temporary file, which is removed again.
    @Test(arguments: [false, true]) func anErrorNamesTheFileOfTheCaller(isFollower: Bool) throws {
        let ledger = try Ledger(seed: 21)
        let replicator = try ledger.replicator()
        for change in [Ledger.Change.several, .many, .small, .small] {
            try ledger.commit(change)
            try replicator.ship()
        }
        var (call, failures) = (0, 0)
        while call < 2000 {
            let disk = SimulatedDisk()
            disk.inject(.inputOutput, atCall: call)
            var options = Follower.Options()
            options.store = Ledger.options(disk, seed: 9)
            do {
                if isFollower {
                    try Follower(ledger.place, at: "restored.mako", options: options).close()
                } else {
                    try ledger.replica.restore(to: "restored.mako", beginsBranch: false, options: options.store)
                }
            } catch {
                failures += 1
                #expect(!"\(error)".contains("-new-"), "call \(call)")
            }
            if disk.callCount <= call { break }
            call += 1
        }
        #expect((20..<2000).contains(call) && failures > 10)
    }

    @Test(.enabled(if: Encryption.isAvailable, "needs the trait Encryption")) func encryptedDatabasesStayEncrypted()
        throws
    {
        let ledger = try Ledger(seed: 4, encryption: TestKeys.encryption(1))
        let replicator = try ledger.replicator()
        for _ in 0..<20 {
            try ledger.commitAtRandom()
            try replicator.ship()
        }
        try ledger.checkAll()
        // Another key does not open it.
        ledger.options.encryption = TestKeys.encryption(2)
        #expect(throws: ReplicationError.self) { _ = try ledger.restored(nil) }
    }

    @Test func commitsInsideAPartAreRefusedWithTheNearestOnes() throws {
        let ledger = try Ledger(seed: 5)
        let replicator = try ledger.replicator()
        for _ in 0..<3 { try ledger.commit(.small) }
        try replicator.ship()
        let before = try ledger.commitNumber()
        try ledger.commit(.many)
        try ledger.commit(.large)
        try ledger.commit(.small)
        try replicator.ship()
        let after = try ledger.commitNumber()
        #expect(try ledger.replica.restorePoints()[0].gaps == [before + 1...after - 1])
        #expect(throws: ReplicationError.noRestorePoint(commit: before + 1, before: before, after: after)) {
            _ = try ledger.restored(before + 1)
        }
        #expect(throws: ReplicationError.noRestorePoint(commit: after + 1, before: after, after: nil)) {
            _ = try ledger.restored(after + 1)
        }
    }

    @Test func nothingIsReplacedAndNothingIsLeftByAFailure() throws {
        let ledger = try Ledger(seed: 6)
        let replicator = try ledger.replicator()
        try ledger.commit(.small)
        try replicator.ship()
        try ledger.commit(.small)
        try replicator.ship()
        let files = MemoryFileSystem()
        let own = Ledger.options(files, seed: 1)
        try ledger.replica.restore(to: "restored.mako", options: own)
        #expect(throws: ReplicationError.self) { try ledger.replica.restore(to: "restored.mako", options: own) }
        let full = try #require(ledger.objects.names.first { $0.contains("/full/") })
        ledger.objects.objects[full]?[9000] ^= 1
        #expect(throws: ReplicationError.self) { try ledger.replica.restore(to: "other.mako", options: own) }
        #expect(try files.list(directory: ".") == ["restored.mako"])
    }

    @Test func aRestoredDatabaseGoesOnOnABranchOfItsOwn() throws {
        let ledger = try Ledger(seed: 7)
        let replicator = try ledger.replicator()
        for _ in 0..<6 {
            try ledger.commit(.small)
            try replicator.ship()
        }
        let newest = try ledger.commitNumber()
        let files = MemoryFileSystem()
        var own = Ledger.options(files, seed: 2)
        own.logArchiveBytes = 1 << 20
        let report = try ledger.replica.restore(to: "restored.mako", at: newest - 2, options: own)
        #expect(report.branch == 2)
        let restored = try Store(at: "restored.mako", options: own)
        let other = try Replicator(restored, to: ledger.objects)
        #expect(other.branch == 2)
        try restored.write { tx in
            guard let tree = tx.view.tree(named: "numbers") else { return }
            try tx.put([1, 2, 3], for: 1, in: tree)
        }
        try other.ship()
        // The first database continues its branch.
        try ledger.commit(.small)
        try replicator.ship()
        #expect(try ledger.replicator().branch == 1)
        let points = try ledger.replica.restorePoints()
        #expect(points.map(\.branch) == [1, 2])
        #expect(points[1].parent?.branch == 1)
        #expect(points[1].parent?.commit == newest - 2)
        #expect(points[0].newest == newest + 1)
        #expect(points[1].newest == newest - 1)
        try ledger.checkAll(branch: 1)
        #expect(try ledger.restored(newest - 1, branch: 2) == LedgerState(reading: restored))
    }

    @Test func theNewestCommitMayGoOnOnItsBranchAndFencesTheFirstDatabase() throws {
        let ledger = try Ledger(seed: 8)
        let replicator = try ledger.replicator()
        for _ in 0..<3 { try ledger.commit(.small) }
        try replicator.ship()
        let own = Ledger.options(MemoryFileSystem(), seed: 2)
        let report = try ledger.replica.restore(to: "restored.mako", beginsBranch: false, options: own)
        #expect(report.branch == 1)
        let restored = try Store(at: "restored.mako", options: own)
        let other = try Replicator(restored, to: ledger.objects)
        try restored.write { tx in _ = try tx.createTree(named: "more", keys: .bytes) }
        try other.ship()
        try ledger.commit(.small)
        #expect {
            try replicator.ship()
        } throws: { error in
            if case ReplicationError.fenced(branch: 1, _) = error { true } else { false }
        }
    }

    @Test func headersAreReadOnce() throws {
        let ledger = try Ledger(seed: 9)
        let replicator = try ledger.replicator()
        for _ in 0..<100 {
            try ledger.commit(.small)
            try replicator.ship()
        }
        let replica = try ledger.replica
        let calls = ledger.objects.calls
        let points = try replica.restorePoints()
        let first = ledger.objects.calls - calls
        // The database, the branch, the hint and the end of the sequence.
        #expect((100...115).contains(first))
        try ledger.commit(.small)
        try replicator.ship()
        let before = ledger.objects.calls
        #expect(try replica.restorePoints()[0].newest == points[0].newest.map { $0 + 1 })
        #expect(ledger.objects.calls - before <= 15)
        // A service that does not answer ends the reading.
        let other = try ledger.replica
        ledger.objects.isDown = true
        #expect(throws: ReplicationError.objects(.unavailable(reason: "503"))) { try other.restorePoints() }
    }
}
