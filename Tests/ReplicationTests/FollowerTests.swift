import MakoReplication
import MakoStorage
import MakoTestSupport
import Testing

/// What readers of a follower see, commit by commit.
@Suite struct FollowerTests {
    /// Expects that the follower sees each commit as the writer made it.
    ///
    /// - Returns: how often the follower began again from a backup.
    private func expectEachCommit(
        seed: UInt64, selfContained: Bool, checkpointBytes: UInt64, objectBytes: Int, encryption: Encryption? = nil
    ) throws -> Int {
        let ledger = try Ledger(seed: seed, encryption: encryption)
        let replicator = try ledger.replicator(objectBytes: objectBytes)
        let bench = FollowerBench(ledger)
        bench.options.checkpointBytes = checkpointBytes
        try ledger.commit(.small)
        try replicator.ship()
        var restarts = 0
        for round in 0..<40 {
            try ledger.commitAtRandom(selfContained: selfContained)
            try replicator.ship()
            let report = try bench.check(try ledger.commitNumber())
            if report.restart != nil { restarts += 1 }
            // The next follower continues the file.
            if round % 7 == 6 { bench.end() }
        }
        #expect(try bench.open().verify().findings == [])
        return restarts
    }

    @Test(arguments: 1..<7) func eachCommitIsSeenAsTheWriterMadeIt(_ seed: UInt64) throws {
        let restarts = try expectEachCommit(
            seed: seed, selfContained: true, checkpointBytes: 8 << 20, objectBytes: 1 << 20)
        #expect(restarts == 0)
    }

    @Test(arguments: 11..<15) func checkpointsOfTheFollowerChangeNothing(_ seed: UInt64) throws {
        let bytes = UInt64(2000 * (seed % 3))
        let restarts = try expectEachCommit(seed: seed, selfContained: true, checkpointBytes: bytes, objectBytes: 1000)
        #expect(restarts == 0)
    }

    @Test(arguments: 21..<25) func commitsOutsideOfTheLogComeWithBackups(_ seed: UInt64) throws {
        let restarts = try expectEachCommit(
            seed: seed, selfContained: false, checkpointBytes: 20_000, objectBytes: 3000)
        #expect(restarts > 0)
    }

    @Test(.enabled(if: Encryption.isAvailable, "needs the trait Encryption")) func anEncryptedDatabaseIsFollowed()
        throws
    {
        _ = try expectEachCommit(
            seed: 31, selfContained: false, checkpointBytes: 20_000, objectBytes: 3000,
            encryption: TestKeys.encryption(1))
    }

    @Test func aFollowerIsBehindByWhatItHasNotRead() throws {
        let ledger = try Ledger(seed: 41)
        let replicator = try ledger.replicator(objectBytes: 1)
        try ledger.commit(.small)
        try replicator.ship()
        let bench = FollowerBench(ledger)
        #expect(try bench.current().firstRestart == .newFile)
        for _ in 0..<5 { try ledger.commit(.small) }
        try replicator.ship()
        let report = try bench.check(try ledger.commitNumber())
        #expect(report.objects == 5 && report.commits == 5 && report.restart == nil && report.shipped == 1_000_000)
        let before = ledger.objects.calls
        #expect(try bench.current().follow().objects == 0)
        // One request says that there is nothing new.
        #expect(ledger.objects.calls - before <= 2)
        _ = try bench.current().follow()
        #expect(ledger.objects.calls - before <= 3)
    }

    /// Among others between the renaming of a restored file and the removal of the log before it, whose last segment is
    /// begun again under its number.
    @Test(arguments: 51..<55) func aReaderMayRefreshAtAnyCallOfTheFollower(_ seed: UInt64) throws {
        let ledger = try Ledger(seed: seed)
        let replicator = try ledger.replicator(objectBytes: 3000)
        try ledger.commit(.small)
        try replicator.ship()
        let bench = FollowerBench(ledger)
        let files = WatchedFiles(bench.disk)
        bench.options.checkpointBytes = 4000
        bench.options.store.fileSystem = files
        _ = try bench.current()
        let reader = try bench.open()
        var failures: [String] = []
        files.beforeCall = {
            do { try reader.refresh() } catch { failures.append("\(error)") }
        }
        for round in 0..<60 {
            try ledger.commitAtRandom(selfContained: round % 5 != 4)
            try replicator.ship()
            _ = try bench.current().follow()
            let commit = try ledger.commitNumber()
            try reader.refresh()
            try #require(try reader.read { $0.commitNumber } == commit && failures == [])
            #expect(try LedgerState(reading: reader) == ledger.states[commit])
            if round % 7 == 6 { bench.end() }
        }
    }

    /// Files that run a closure before each call that changes names, and before each opening.
    private final class WatchedFiles: PassingFileSystem, @unchecked Sendable {
        // Unchecked: one thread uses the follower and its files.
        let inner: any FileSystem
        var beforeCall: () -> Void = {}

        init(_ inner: any FileSystem) { self.inner = inner }

        func open(_ path: String, _ mode: OpenMode) throws(FileError) -> any File {
            beforeCall()
            return try inner.open(path, mode)
        }
        func remove(_ path: String) throws(FileError) {
            beforeCall()
            try inner.remove(path)
        }
        func rename(_ from: String, to: String) throws(FileError) {
            beforeCall()
            try inner.rename(from, to: to)
        }
    }

    @Test func twoFollowersOfOneBranchAgree() throws {
        let ledger = try Ledger(seed: 42)
        let replicator = try ledger.replicator(objectBytes: 2000)
        try ledger.commit(.small)
        try replicator.ship()
        let benches = [FollowerBench(ledger), FollowerBench(ledger)]
        for round in 0..<20 {
            try ledger.commitAtRandom()
            try replicator.ship()
            try benches[0].check(try ledger.commitNumber())
            if round % 4 == 0 { try benches[1].check(try ledger.commitNumber()) }
        }
        try benches[1].check(try ledger.commitNumber())
    }

    @Test func aFollowersFileIsReadOnlyForOthers() throws {
        let ledger = try Ledger(seed: 43)
        try ledger.commit(.small)
        try ledger.replicator().ship()
        let bench = FollowerBench(ledger)
        try bench.check(try ledger.commitNumber())
        #expect(throws: StorageError.alreadyOpen(path: FollowerBench.path)) {
            _ = try Store(at: FollowerBench.path, options: bench.options.store)
        }
        #expect(throws: ReplicationError.storage(.alreadyOpen(path: FollowerBench.path))) {
            _ = try Follower(ledger.place, at: FollowerBench.path, options: bench.options)
        }
        bench.end()
        #expect {
            _ = try Store(at: FollowerBench.path, options: bench.options.store)
        } throws: { error in
            if case StorageError.readOnly(let reason) = error { reason.contains("promote it") } else { false }
        }
        // Its copies and backups are databases of their own.
        let reader = try bench.open()
        try reader.copy(to: "copy.mako")
        try reader.backup(to: "backup.mako")
        for path in ["copy.mako", "backup.mako"] {
            let store = try Store(at: path, options: bench.options.store)
            #expect(try LedgerState(reading: store) == ledger.state)
            try store.close()
        }
    }

    // MARK: Which file is continued

    /// Expects that a follower refuses a file, and leaves it as it is.
    private func expectRefused(_ bench: FollowerBench, _ ledger: Ledger, _ words: String) throws {
        let before = bench.disk.settledImage().fingerprint
        #expect {
            _ = try Follower(ledger.place, at: FollowerBench.path, options: bench.options)
        } throws: { error in
            guard case ReplicationError.notFollowing(FollowerBench.path, let reason) = error else { return false }
            return reason.contains(words)
        }
        #expect(bench.disk.settledImage().fingerprint == before)
    }

    @Test func aFileOfAnotherDatabaseIsLeftAlone() throws {
        let ledgers = [try Ledger(seed: 51), try Ledger(seed: 52)]
        for ledger in ledgers {
            try ledger.commit(.small)
            try ledger.replicator().ship()
        }
        let bench = FollowerBench(ledgers[0])
        try bench.check(try ledgers[0].commitNumber())
        bench.end()
        try expectRefused(bench, ledgers[1], "of another database")
    }

    @Test func aDatabaseThatIsNoFollowersIsLeftAlone() throws {
        let ledger = try Ledger(seed: 53)
        try ledger.commit(.small)
        try ledger.replicator().ship()
        let bench = FollowerBench(ledger)
        try ledger.replica.restore(to: FollowerBench.path, beginsBranch: false, options: bench.options.store)
        try expectRefused(bench, ledger, "a database of its own")
    }

    @Test func aFileOfAnotherBranchIsLeftAlone() throws {
        let ledger = try Ledger(seed: 54)
        try ledger.commit(.small)
        try ledger.replicator().ship()
        let bench = FollowerBench(ledger)
        try bench.check(try ledger.commitNumber())
        bench.end()
        for _ in 0..<3 { try ledger.commit(.small) }
        try ledger.replicator(branch: .new).ship()
        bench.options.branch = 2
        try expectRefused(bench, ledger, "not of branch 2")
        // Without a branch it continues its own.
        bench.options.branch = nil
        #expect(try bench.current().branch == 1)
        bench.end()
        bench.options.branch = 7
        #expect(throws: ReplicationError.noBranch(7)) { _ = try bench.current() }
    }

    /// Both branches have a commit of the number.
    @Test func aFileOfABranchWithTheSameCommitsIsLeftAlone() throws {
        let ledger = try Ledger(seed: 57)
        try ledger.commit(.small)
        let replicator = try ledger.replicator()
        try replicator.ship()
        try ledger.commit(.small)
        try replicator.ship()
        let bench = FollowerBench(ledger)
        try bench.check(try ledger.commitNumber())
        bench.end()
        var options = Ledger.options(SimulatedDisk(), seed: 58)
        options.logArchiveBytes = 1 << 20
        try ledger.replica.restore(to: "other.mako", at: try ledger.commitNumber() - 1, options: options)
        let other = try Store(at: "other.mako", options: options)
        try other.write { tx in _ = try tx.createTree(named: "other", keys: .integer) }
        #expect(try other.read { $0.commitNumber } == (try ledger.commitNumber()))
        #expect(try Replicator(other, to: ledger.place).ship().objects > 0)
        bench.options.branch = 2
        try expectRefused(bench, ledger, "not of branch 2")
    }

    @Test func aNewFileFollowsTheNewestBranchWithABackup() throws {
        let ledger = try Ledger(seed: 55)
        try ledger.commit(.small)
        try ledger.replicator().ship()
        let other = FollowerBench(ledger)
        // A branch without objects.
        try ledger.replica.restore(to: "restored.mako", options: other.options.store)
        #expect(try FollowerBench(ledger).current().branch == 1)
        try ledger.commit(.small)
        try ledger.replicator(branch: .new).ship()
        let bench = FollowerBench(ledger)
        #expect(try bench.current().branch == 3)
        try bench.check(try ledger.commitNumber())
    }

    @Test func nothingToFollowIsAnError() throws {
        let ledger = try Ledger(seed: 56)
        try ledger.commit(.small)
        _ = try ledger.replicator()
        #expect(throws: ReplicationError.noRestorePoint(commit: 0, before: nil, after: nil)) {
            _ = try FollowerBench(ledger).current()
        }
    }
}
