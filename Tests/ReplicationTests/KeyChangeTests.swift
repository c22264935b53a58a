import MakoReplication
import MakoStorage
import MakoTestSupport
import ReplicationTestSupport
import Testing

/// Branches of an encrypted database whose key changes. A restore point opens with the key that its last backup was made with: frames have
/// no key of their own.
@Suite(.enabled(if: Encryption.isAvailable, "needs the trait Encryption")) struct KeyChangeTests {
    private let earlier = TestKeys.encryption(1)

    private func restore(
        _ ledger: Ledger, _ commit: UInt64? = nil, with key: Encryption, database: String? = nil, branch: UInt64? = nil
    ) throws -> LedgerState {
        let files = MemoryFileSystem()
        var own = Ledger.options(files, seed: 9)
        own.encryption = key
        do {
            try ledger.replica.restore(
                to: "restored.mako", database: database, branch: branch, at: commit, beginsBranch: false, options: own)
        } catch {
            // A key that does not fit leaves nothing.
            #expect(try files.list(directory: ".") == [])
            throw error
        }
        let restored = try Store(at: "restored.mako", options: own)
        defer { try? restored.close() }
        return try LedgerState(reading: restored)
    }

    /// Expects the error of a key that does not fit, with the path that the caller named.
    private func refused(_ location: SourceLocation = #_sourceLocation, _ body: () throws -> Void) {
        #expect(sourceLocation: location) {
            try body()
        } throws: { error in
            guard case ReplicationError.storage(.wrongKey(let path, _)) = error else { return false }
            return ["restored.mako", FollowerBench.path].contains(path)
        }
    }

    private func kinds(_ ledger: Ledger) -> [ObjectHeader.Kind?] {
        ledger.objects.objects.filter { $0.key.contains("/seq/") }.sorted { $0.key < $1.key }
            .map { ObjectHeader($0.value)?.kind }
    }

    private func change(_ ledger: Ledger, to key: Encryption) throws {
        try ledger.store.changeKey(to: key)
        ledger.options.encryption = key
    }

    /// The new key is a key or a passphrase.
    @Test(arguments: [3, 2]) func theLastBackupSaysWhichKeyOpensACommit(_ number: Int) throws {
        let later = TestKeys.encryption(number)
        let ledger = try Ledger(seed: 151, encryption: earlier)
        var replicator = try ledger.replicator()
        var commits: [UInt64] = []
        func ship(_ change: Ledger.Change) throws {
            try ledger.commit(change)
            try replicator.ship()
            commits.append(try ledger.commitNumber())
        }
        try ship(.several)
        try ship(.small)
        try change(ledger, to: later)
        // Without a commit there is nothing to ship.
        #expect(try replicator.ship().objects == 0)
        try ship(.small)
        // The next process, too, goes on with the branch.
        try ledger.reopen()
        replicator = try ledger.replicator()
        #expect(replicator.branch == 1)
        try ship(.small)
        #expect(kinds(ledger) == [.full, .frames, .frames, .frames])
        // Also the newest commit, which was made with the new key, opens with the earlier one alone.
        refused { _ = try restore(ledger, with: later) }
        try ship(.many)
        try ship(.small)
        #expect(kinds(ledger) == [.full, .frames, .frames, .frames, .part, .frames])
        for (index, commit) in commits.enumerated() {
            let (right, wrong) = index < 4 ? (earlier, later) : (later, earlier)
            #expect(try restore(ledger, commit, with: right) == ledger.states[commit], "commit \(commit)")
            refused { _ = try restore(ledger, commit, with: wrong) }
        }
        #expect {
            try ledger.replica.restore(to: "restored.mako", options: Ledger.options(MemoryFileSystem(), seed: 1))
        } throws: { error in
            if case ReplicationError.storage(.encrypted) = error { true } else { false }
        }
    }

    /// A backup without a further commit: a new branch begins with one.
    @Test func aNewBranchOpensWithTheNewKeyAtOnce() throws {
        let later = TestKeys.encryption(3)
        let ledger = try Ledger(seed: 152, encryption: earlier)
        try ledger.commit(.several)
        try ledger.replicator().ship()
        try change(ledger, to: later)
        let next = try ledger.replicator(branch: .new)
        try next.ship()
        #expect(next.branch == 2)
        #expect(try restore(ledger, with: later) == ledger.state)
        refused { _ = try restore(ledger, with: earlier) }
        #expect(try restore(ledger, with: earlier, branch: 1) == ledger.state)
    }

    @Test func aFollowerHasItsKeyUntilItNeedsALaterBackup() throws {
        let later = TestKeys.encryption(3)
        let ledger = try Ledger(seed: 153, encryption: earlier)
        try ledger.commit(.several)
        try ledger.replicator().ship()
        let bench = FollowerBench(ledger)
        try bench.check(try ledger.commitNumber())
        try change(ledger, to: later)
        // Neither frames nor a backup of what it has by frames are of another key than its file's.
        var options = Replicator.Options()
        options.backupAfterBytes = 1
        let replicator = try Replicator(ledger.store, to: ledger.place, options: options)
        // The backup since then opens with the new key; before it none does.
        refused { _ = try FollowerBench(ledger).current() }
        try ledger.commit(.small)
        try replicator.ship()
        #expect(kinds(ledger) == [.full, .frames, .part])
        #expect(try bench.check(try ledger.commitNumber()).restart == nil)
        try ledger.commit(.small)
        try replicator.ship()
        #expect(try bench.check(try ledger.commitNumber()).restart == nil)
        let known = try ledger.commitNumber()
        let files = try bench.disk.list(directory: ".")
        try ledger.commit(.many)
        try replicator.ship()
        for _ in 0..<2 { refused { _ = try bench.current().follow() } }
        // Readers keep what they have.
        #expect(try bench.disk.list(directory: ".") == files)
        try bench.checkReaders(known)
        // The file is of the earlier key, so that one with the new key begins anew.
        bench.end()
        bench.options.store.encryption = later
        refused { _ = try bench.current() }
        let next = FollowerBench(ledger)
        #expect(try next.current().firstRestart == .newFile)
        try next.check(try ledger.commitNumber())
        try ledger.commit(.small)
        try replicator.ship()
        #expect(try next.check(try ledger.commitNumber()).restart == nil)
    }

    @Test func aPromotedFileHasTheKeyOfTheFollower() throws {
        let later = TestKeys.encryption(3)
        let ledger = try Ledger(seed: 154, encryption: earlier)
        try ledger.commit(.several)
        let replicator = try ledger.replicator()
        try replicator.ship()
        let bench = FollowerBench(ledger)
        try bench.check(try ledger.commitNumber())
        try change(ledger, to: later)
        try ledger.commit(.small)
        try replicator.ship()
        let promoted = try bench.promote()
        #expect(try LedgerState(reading: promoted) == ledger.state)
        let next = try Replicator(promoted, to: ledger.place)
        try promoted.write { tx in _ = try tx.createTree(named: "more", keys: .bytes) }
        try next.ship()
        #expect(try restore(ledger, with: earlier) == ledger.state)
        refused { _ = try restore(ledger, with: later) }
        try promoted.close()
    }

    @Test func aRewriteMakesAnotherDatabase() throws {
        let later = TestKeys.encryption(3)
        let ledger = try Ledger(seed: 155, encryption: earlier)
        for change in [Ledger.Change.several, .many, .small] {
            try ledger.commit(change)
            try ledger.replicator().ship()
        }
        let bench = FollowerBench(ledger)
        let newest = try ledger.commitNumber()
        try bench.check(newest)
        bench.end()
        let first = try #require(try ledger.replica.databases().first)
        let before = ledger.objects.objects
        try ledger.store.close()
        try Store.compact(at: Ledger.path, options: ledger.options, encryption: later)
        ledger.options.encryption = later
        try ledger.reopen()
        // It continues no branch of the former one, and begins its own.
        let replicator = try ledger.replicator()
        #expect(replicator.branch == 1)
        try replicator.ship()
        try ledger.commit(.small)
        try replicator.ship()
        let databases = try ledger.replica.databases()
        let second = try #require(databases.first { $0 != first })
        #expect(databases.count == 2)
        #expect(ledger.objects.objects.filter { before[$0.key] != nil } == before)
        #expect {
            _ = try ledger.replica.restorePoints()
        } throws: { error in
            if case ReplicationError.noDatabase = error { true } else { false }
        }
        #expect(try restore(ledger, with: later, database: second) == ledger.state)
        #expect(try restore(ledger, with: earlier, database: first) == ledger.states[newest])
        refused { _ = try restore(ledger, with: earlier, database: second) }
        refused { _ = try restore(ledger, with: later, database: first) }
        // The file of the former one's follower does not go on with it.
        bench.options.database = second
        #expect(throws: ReplicationError.notFollowing(path: FollowerBench.path, reason: "it is of another database")) {
            _ = try bench.current()
        }
        bench.options.database = first
        try bench.checkReaders(newest)
        #expect(try bench.current().follow().commit == newest)
    }
}
