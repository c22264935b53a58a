import MakoReplication
import MakoStorage
import MakoTestSupport
import Testing

/// Restores and followers that begin while retention deletes what they read, and retention by a clock that jumps.
@Suite struct RetentionRaceTests {
    /// The dates of objects, and the time that a writer is silent for.
    private final class Clocks: @unchecked Sendable {
        private let lock = Lock()
        // Guarded by `lock`.
        private var hours: (date: UInt64, uptime: UInt64) = (1, 1)

        func advance() { lock.withLock { hours = (hours.date + 1, hours.uptime + 1) } }

        /// The date jumps; the uptime never goes back.
        func jump(to date: UInt64) { lock.withLock { hours = (date, hours.uptime + 1) } }

        func options(_ retention: Retention?) -> Replicator.Options {
            var options = Replicator.Options()
            options.now = { self.lock.withLock { self.hours.date * 3_600_000 } }
            options.uptime = { .seconds(Int64(self.lock.withLock { self.hours.uptime * 3600 })) }
            options.retention = retention
            return options
        }
    }

    /// A ledger that was shipped once an hour, and its replicator, which keeps four commits from now on.
    private struct Bench {
        let ledger: Ledger
        let clocks = Clocks()
        let replicator: Replicator

        /// - Parameter isRetained: whether retention has deleted objects before.
        init(_ rounds: Int, isRetained: Bool = true) throws {
            ledger = try Ledger(seed: 141)
            let retained = clocks.options(Retention(commits: 4))
            let first = try Replicator(
                ledger.store, to: ledger.objects, options: isRetained ? retained : clocks.options(nil))
            for _ in 0..<rounds {
                try ledger.commit(.small)
                try first.ship()
                clocks.advance()
            }
            replicator = isRetained ? first : try Replicator(ledger.store, to: ledger.objects, options: retained)
        }

        /// Ships commits at the same time, in which nothing may be deleted, or one an hour, which deletes all but a few.
        func ship(_ rounds: Int, hourly: Bool) throws {
            for _ in 0..<rounds {
                if hourly { clocks.advance() }
                try ledger.commit(.small)
                try replicator.ship()
            }
        }
    }

    private enum Outcome {
        case restored, notKept
    }

    /// Restores a commit, before each call of which something else happens to the object store.
    ///
    /// - Parameters:
    ///   - commit: nil for the newest.
    ///   - isCached: whether the replica has read the headers before.
    /// - Returns: the outcomes by the index of the call. Every other error is thrown.
    private func restores(
        of commit: UInt64?, isCached: Bool, from make: () throws -> Bench, beside: @escaping (Bench) throws -> Void
    ) throws -> [Outcome] {
        var outcomes: [Outcome] = []
        while outcomes.count < 100 {
            let bench = try make()
            let objects = InterposedObjectStore(bench.ledger.objects)
            let replica = try Replica(objects)
            if isCached { _ = try replica.restorePoints() }
            var failure: (any Error)?
            objects.inject(atCall: outcomes.count) { do { try beside(bench) } catch { failure = error } }
            let files = MemoryFileSystem()
            let own = Ledger.options(files, seed: 9)
            do {
                let report = try replica.restore(to: "restored.mako", at: commit, options: own)
                if let commit { #expect(report.commit == commit) }
                let restored = try Store(at: "restored.mako", options: own)
                #expect(try LedgerState(reading: restored) == bench.ledger.states[report.commit])
                try restored.close()
                outcomes.append(.restored)
            } catch ReplicationError.notKept(let refused, let oldest) {
                #expect(refused == commit)
                #expect(oldest > refused)
                #expect(try files.list(directory: ".") == [])
                outcomes.append(.notKept)
            }
            if let failure { throw failure }
            if !objects.hasRun { return outcomes }
        }
        Issue.record("the restores did not end")
        return outcomes
    }

    /// The oldest commit that is kept: the mark of retention is raised over it, before or after the restore reads the mark.
    @Test(arguments: [false, true]) func aRestoreWithinTheGraceTimeEndsWithItsCommit(isCached: Bool) throws {
        let oldest = try #require(try Bench(12).ledger.replica.restorePoints()[0].runs.first?.commits.lowerBound)
        let outcomes = try restores(of: oldest, isCached: isCached, from: { try Bench(12) }) { bench in
            try bench.ship(6, hourly: false)
        }
        // Which restore had read the mark is a matter of the order of calls alone.
        let refused = outcomes.prefix { $0 == .notKept }.count
        #expect(refused > 0)
        #expect(outcomes.dropFirst(refused).allSatisfy { $0 == .restored })
        #expect(outcomes.count > refused + 4)
    }

    @Test(arguments: [false, true]) func aRestoreBeyondTheGraceTimeEndsWithItsCommitOrNotKept(isCached: Bool) throws {
        let points = try Bench(12).ledger.replica.restorePoints()[0]
        let oldest = try #require(points.runs.first?.commits.lowerBound)
        let newest = try #require(points.newest)
        for commit in [oldest, newest] {
            let outcomes = try restores(of: commit, isCached: isCached, from: { try Bench(12) }) { bench in
                try bench.ship(12, hourly: true)
            }
            // Before the first call, and behind the last one.
            #expect(outcomes.first == .notKept)
            #expect(outcomes.last == .restored)
        }
        // The newest one is there at each moment, if not the same.
        let outcomes = try restores(of: nil, isCached: isCached, from: { try Bench(12) }) { bench in
            try bench.ship(12, hourly: true)
        }
        #expect(outcomes.allSatisfy { $0 == .restored })
    }

    /// The commit stays as that of a full backup which is made during the restore; the objects that the restore began with are deleted.
    @Test(arguments: [false, true]) func aRestoreGoesOnFromTheBackupThatIsKept(isCached: Bool) throws {
        let newest = try Bench(6, isRetained: false).ledger.commitNumber()
        let make = { try Bench(6, isRetained: false) }
        let outcomes = try restores(of: newest, isCached: isCached, from: make) { bench in
            // The backup of this commit, without a commit; three more raise the mark to it, and an hour later it is cleared.
            try bench.replicator.ship()
            try bench.ship(4, hourly: true)
            let points = try bench.ledger.replica.restorePoints()[0]
            try #require(points.keptFrom == newest)
            try #require(points.runs.first?.commits.lowerBound == newest)
        }
        #expect(outcomes.allSatisfy { $0 == .restored })
    }

    @Test func aFollowerBeginsWithABackupThatIsKept() throws {
        for hourly in [false, true] {
            var index = 0
            while index < 100 {
                let bench = try Bench(12)
                let objects = InterposedObjectStore(bench.ledger.objects)
                var failure: (any Error)?
                objects.inject(atCall: index) { do { try bench.ship(12, hourly: hourly) } catch { failure = error } }
                let disk = SimulatedDisk()
                var options = Follower.Options()
                options.store = Ledger.options(disk, seed: 9)
                let follower = try Follower(objects, at: FollowerBench.path, options: options)
                #expect(follower.firstRestart == .newFile)
                let begun = follower.commit
                let reader = try FollowerBench.open(disk, options.store)
                #expect(try LedgerState(reading: reader) == bench.ledger.states[begun], "call \(index)")
                // What comes later leads it to the end in any case.
                let report = try follower.follow()
                if let failure { throw failure }
                #expect(report.commit == (try bench.ledger.commitNumber()), "call \(index)")
                try reader.refresh()
                #expect(try LedgerState(reading: reader) == bench.ledger.state, "call \(index)")
                if !objects.hasRun { break }
                index += 1
            }
            #expect((8..<100).contains(index))
        }
    }

    /// The file of an earlier follower, whose next commit comes with a backup: retention deletes that at any call of the next follower.
    @Test func aFollowerGoesOnFromABackupThatIsKept() throws {
        for hourly in [false, true] {
            var index = 0
            while index < 100 {
                let bench = try Bench(12)
                let objects = InterposedObjectStore(bench.ledger.objects)
                let disk = SimulatedDisk()
                var options = Follower.Options()
                options.store = Ledger.options(disk, seed: 9)
                let first = try Follower(objects, at: FollowerBench.path, options: options)
                _ = try first.follow()
                #expect(first.commit == (try bench.ledger.commitNumber()))
                first.close()
                try bench.ledger.commit(.many)
                try bench.replicator.ship()
                var failure: (any Error)?
                objects.inject(atCall: index) { do { try bench.ship(12, hourly: hourly) } catch { failure = error } }
                let next = try Follower(objects, at: FollowerBench.path, options: options)
                let report = try next.follow()
                if let failure { throw failure }
                #expect(report.commit == (try bench.ledger.commitNumber()), "call \(index)")
                let reader = try FollowerBench.open(disk, options.store)
                #expect(try LedgerState(reading: reader) == bench.ledger.state, "call \(index)")
                if !objects.hasRun { break }
                index += 1
            }
            #expect((8..<100).contains(index))
        }
    }

    /// A newer branch has a commit of the same number, whose object retention deletes while it is compared with the file.
    @Test func aFollowerPassesByABranchThatRetentionCuts() throws {
        var index = 0
        while index < 100 {
            let ledger = try Ledger(seed: 143)
            let first = try ledger.replicator()
            for _ in 0..<2 {
                try ledger.commit(.small)
                try first.ship()
            }
            let commit = try ledger.commitNumber()
            let objects = InterposedObjectStore(ledger.objects)
            var options = Follower.Options()
            options.store = Ledger.options(SimulatedDisk(), seed: 9)
            let follower = try Follower(objects, at: FollowerBench.path, options: options)
            _ = try follower.follow()
            follower.close()

            var own = Ledger.options(SimulatedDisk(), seed: 144)
            own.logArchiveBytes = 1 << 20
            try ledger.replica.restore(to: "other.mako", at: commit - 1, options: own)
            let other = try Store(at: "other.mako", options: own)
            let clocks = Clocks()
            let replicator = try Replicator(
                other, to: ledger.objects, options: clocks.options(Retention(commits: 4)))
            try replicator.ship()
            func ship(_ number: Int) throws {
                clocks.advance()
                try other.write { tx in _ = try tx.createTree(named: "tree \(number)", keys: .integer) }
                try replicator.ship()
            }
            try ship(0)
            #expect(try other.read { $0.commitNumber } == commit)

            var failure: (any Error)?
            objects.inject(atCall: index) {
                do { for number in 1...12 { try ship(number) } } catch { failure = error }
            }
            let next = try Follower(objects, at: FollowerBench.path, options: options)
            if let failure { throw failure }
            #expect(next.branch == 1 && next.firstRestart == nil && next.commit == commit, "call \(index)")
            #expect(try next.follow().objects == 0)
            try other.close()
            if !objects.hasRun { break }
            index += 1
        }
        #expect((8..<100).contains(index))
    }

    /// A clock that is far ahead at some shipments, and right at the others: the number of commits counts in any case.
    @Test func aClockThatJumpsDeletesNoneOfTheNewestCommits() throws {
        let ledger = try Ledger(seed: 142)
        let clocks = Clocks()
        let replicator = try Replicator(
            ledger.store, to: ledger.objects, options: clocks.options(Retention(age: .seconds(7200), commits: 4)))
        let first = try ledger.commitNumber() + 1
        for round in 0..<40 as Range<UInt64> {
            clocks.jump(to: round % 8 == 7 ? 50_000 * (round / 8 + 1) : round + 1)
            try ledger.commit(.small)
            try replicator.ship()
            let newest = try ledger.commitNumber()
            let points = try ledger.replica.restorePoints()[0]
            let kept = max(first + 3, newest) - 3...newest
            #expect(points.findings == [] && points.gaps == [])
            #expect(kept.allSatisfy { points.contains($0) }, "round \(round)")
            #expect(try ledger.restored(kept.lowerBound) == ledger.states[kept.lowerBound], "round \(round)")
        }
        // It deletes others.
        let oldest = try #require(try ledger.replica.restorePoints()[0].keptFrom)
        #expect(oldest > first)
        try ledger.checkAll()
    }
}
