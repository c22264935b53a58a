import MakoReplication
import MakoStorage
import MakoTestSupport
import ReplicationTestSupport
import Testing

/// Commits that wait for the object store.
@Suite struct ConfirmationTests {
    /// A ledger whose commits wait, and its replicator.
    private func confirming(
        seed: UInt64, timeout: Duration = .seconds(60)
    ) throws -> (ledger: Ledger, replicator: Replicator) {
        let ledger = try Ledger(seed: seed)
        let replicator = try ledger.replicator()
        try replicator.confirmCommits(timeout: timeout)
        return (ledger, replicator)
    }

    @Test func eachCommitThatReturnsIsInTheObjectStore() throws {
        let (ledger, replicator) = try confirming(seed: 101)
        defer { replicator.stop() }
        for _ in 0..<40 {
            try ledger.commitAtRandom()
            try ledger.commit(.small)
            #expect(replicator.shippedCommit == (try ledger.commitNumber()))
        }
        #expect(replicator.unconfirmedCommits == nil)
        try ledger.checkAll()
    }

    @Test(arguments: [Ledger.Change.large, .many]) func aCommitThatOnlyABackupHasWaits(_ change: Ledger.Change) throws {
        let (ledger, replicator) = try confirming(seed: 102)
        defer { replicator.stop() }
        for _ in 0..<3 {
            try ledger.commit(.small)
            try ledger.commit(change)
            #expect(replicator.shippedCommit == (try ledger.commitNumber()))
        }
        try ledger.checkAll()
    }

    @Test func anUnconfirmedCommitIsNotSeenAndPublishedLater() throws {
        let (ledger, replicator) = try confirming(seed: 103, timeout: .milliseconds(20))
        defer { replicator.stop() }
        // The first commits may need more than 20 ms on a busy machine.
        let before = try ledger.commitNumber()
        ledger.objects.isDown = true
        #expect(throws: StorageError.unconfirmed(commit: before + 1)) { try ledger.commit(.small) }
        #expect(throws: StorageError.unconfirmed(commit: before + 2)) { try ledger.commit(.several) }
        // A commit that does not wait stays behind those that do.
        try ledger.commit(.small, durability: .async)
        #expect(try ledger.commitNumber() == before)
        #expect(replicator.unconfirmedCommits == before + 1...before + 2)
        #expect(replicator.lag.commits >= 2)
        #expect(replicator.lag.bytes > 0)
        // A transaction too large for the log needs all before it, and fails alone.
        expectRefused { try ledger.commit(.many) }
        try ledger.store.checkpoint()
        #expect(try ledger.store.verify().findings == [])
        ledger.objects.isDown = false
        try replicator.ship()
        #expect(try ledger.commitNumber() == before + 3)
        #expect(replicator.unconfirmedCommits == nil)
        #expect(try ledger.store.verify().findings == [])
        #expect(replicator.lag.commits == 0)
    }

    /// Expects that a transaction fails without a commit because others are unconfirmed.
    private func expectRefused(_ location: SourceLocation = #_sourceLocation, _ body: () throws -> Void) {
        #expect(sourceLocation: location) {
            try body()
        } throws: { error in
            if case StorageError.unconfirmedLimit(let bytes) = error { bytes > 0 } else { false }
        }
    }

    /// `unconfirmed` says that the caller's own commit is durable and must not be repeated; this one is neither made nor in the log.
    @Test func aLargeTransactionBehindUnconfirmedCommitsIsRepeated() throws {
        let (ledger, replicator) = try confirming(seed: 109, timeout: .milliseconds(20))
        defer { replicator.stop() }
        let before = try ledger.commitNumber()
        ledger.objects.isDown = true
        #expect(throws: StorageError.unconfirmed(commit: before + 1)) { try ledger.commit(.small) }
        ledger.adoptAttempt(as: before + 1)
        for _ in 0..<2 { expectRefused { try ledger.commit(.many) } }
        // The next commit has the number.
        #expect(throws: StorageError.unconfirmed(commit: before + 2)) { try ledger.commit(.several) }
        ledger.adoptAttempt(as: before + 2)
        ledger.objects.isDown = false
        try replicator.ship()
        #expect(try ledger.commitNumber() == before + 2)
        #expect(try LedgerState(reading: ledger.store) == ledger.state)
        try ledger.commit(.many, durability: .ordered)
        #expect(try replicator.ship().commit == before + 3)
        try ledger.checkAll()
    }

    @Test func theUnconfirmedLogHasALimit() throws {
        let ledger = try Ledger(seed: 104, archiveBytes: 1)
        let replicator = try ledger.replicator()
        try replicator.confirmCommits(timeout: .milliseconds(1))
        defer { replicator.stop() }
        ledger.objects.isDown = true
        var last: StorageError?
        for _ in 0..<200 {
            do { try ledger.commit(.several) } catch let error as StorageError { last = error }
            if case .unconfirmedLimit = last { break }
        }
        guard case .unconfirmedLimit(let bytes) = last else {
            Issue.record("no limit")
            return
        }
        #expect(bytes > 64 << 10)
        ledger.objects.isDown = false
        try replicator.ship()
        replicator.stopConfirming()
        try ledger.commit(.small)
        #expect(try ledger.store.verify().findings == [])
    }

    /// The tail after a crash, or a close, is shipped before `confirmCommits` returns.
    @Test(arguments: [false, true]) func theTailIsShippedBeforeItIsServed(closes: Bool) throws {
        let (ledger, first) = try confirming(seed: 105, timeout: .milliseconds(1))
        let before = try ledger.commitNumber()
        ledger.objects.isDown = true
        for _ in 0..<3 { #expect(throws: StorageError.self) { try ledger.commit(.small) } }
        first.stop()
        if closes { try ledger.reopen() } else { try ledger.kill() }
        #expect(try ledger.commitNumber() == before + 3)
        #expect(throws: ReplicationError.self) { _ = try ledger.replicator() }
        ledger.objects.isDown = false
        let replicator = try ledger.replicator()
        #expect(replicator.shippedCommit == before)
        try replicator.confirmCommits()
        defer { replicator.stop() }
        #expect(replicator.shippedCommit == before + 3)
        #expect(try ledger.restored(before + 3) == (try LedgerState(reading: ledger.store)))
    }

    @Test func aFencedStoreIsReadOnlyAndListsItsTail() throws {
        let (first, replicator) = try confirming(seed: 106, timeout: .seconds(10))
        defer { replicator.stop() }
        try first.commit(.small)
        let before = try first.commitNumber()
        let second = try Ledger(copying: first, seed: 107)
        try second.commit(.several)
        try second.replicator().ship()
        #expect {
            try first.commit(.small)
        } throws: { error in
            if case StorageError.readOnly(let reason) = error { reason.contains("branch 1") } else { false }
        }
        #expect(try first.commitNumber() == before)
        #expect(replicator.unconfirmedCommits == before + 1...before + 1)
        #expect(throws: StorageError.self) { try first.commit(.small) }
        // The process that comes after it is refused, too.
        try first.kill()
        #expect {
            _ = try first.replicator()
        } throws: { error in
            if case ReplicationError.fenced(branch: 1, _) = error { true } else { false }
        }
    }

    /// Commits that begin to wait after another database has extended the branch, which an earlier shipment may have found.
    @Test(arguments: [false, true]) func aFenceFoundWhenCommitsBeginToWaitMakesTheStoreReadOnly(isKnown: Bool) throws {
        let first = try Ledger(seed: 114)
        let replicator = try first.replicator()
        try first.commit(.small)
        try replicator.ship()
        let second = try Ledger(copying: first, seed: 115)
        try second.commit(.several)
        try second.replicator().ship()
        try first.commit(.small)
        if isKnown {
            #expect(throws: ReplicationError.self) { try replicator.ship() }
            // No commit waits: what is not shipped is the program's choice.
            try first.commit(.small)
        }
        #expect {
            try replicator.confirmCommits()
        } throws: { error in
            if case ReplicationError.fenced(branch: 1, _) = error { true } else { false }
        }
        #expect {
            try first.commit(.small)
        } throws: { error in
            if case StorageError.readOnly(let reason) = error { reason.contains("branch 1") } else { false }
        }
    }

    /// A fault at one call, or at two: what was acknowledged is in the object store.
    ///
    /// - Parameter timeout: how long a commit waits, which an end of the process takes as long.
    /// - Returns: the number of calls.
    private func run(
        _ faults: [(call: Int, fault: SimulatedObjectStore.Fault)], timeout: Duration = .milliseconds(300)
    ) throws -> Int {
        let disk = SimulatedDisk()
        let objects = SimulatedObjectStore { disk.endProcess() }
        let ledger = try Ledger(seed: 108, disk: disk, objects: objects)
        for (call, fault) in faults { objects.inject(fault, atCall: call) }
        var acknowledged: UInt64 = 0
        var replicator: Replicator?
        for round in 0..<6 {
            do {
                if replicator == nil {
                    let next = try ledger.replicator(objectBytes: 3000)
                    try next.confirmCommits(timeout: timeout)
                    replicator = next
                    // A commit that the last replicator did not confirm in time is published by this one.
                    try ledger.adoptContent()
                }
                try ledger.commit(round == 3 ? .many : .small)
                acknowledged = try ledger.commitNumber()
            } catch {
                replicator?.stop()
                replicator = nil
                if objects.hasEnded {
                    objects.restart()
                    try ledger.kill()
                }
                // What was not confirmed is in the log all the same.
                try ledger.adoptContent()
            }
        }
        replicator?.stop()
        objects.clearFaults()
        let calls = objects.calls
        if objects.hasEnded {
            objects.restart()
            try ledger.kill()
        }
        // The branch goes on, with what was not acknowledged, too.
        let shipped = try ledger.replicator().ship().commit
        #expect(shipped == (try ledger.commitNumber()))
        #expect(try ledger.restored(shipped) == (try LedgerState(reading: ledger.store)))
        let newest = try ledger.replica.restorePoints()[0].newest ?? 0
        #expect(newest >= acknowledged)
        if acknowledged > 0 {
            #expect(try ledger.restored(acknowledged) == ledger.states[acknowledged])
        }
        return calls
    }

    @Test(arguments: [SimulatedObjectStore.Fault.endBefore, .endAfter])
    func whatIsAcknowledgedSurvivesAnEndAtAnyCall(_ fault: SimulatedObjectStore.Fault) throws {
        var call = 0
        while call < (try run([(call, fault)])) { call += 1 }
        #expect(call > 12)
    }

    /// The second end hits what follows the first: attaching, shipping the tail, confirming the next commits.
    @Test(
        arguments: [SimulatedObjectStore.Fault.endBefore, .endAfter],
        [SimulatedObjectStore.Fault.endBefore, .endAfter])
    func whatIsAcknowledgedSurvivesEndsAtAnyTwoCalls(
        _ first: SimulatedObjectStore.Fault, _ second: SimulatedObjectStore.Fault
    ) throws {
        let timeout = Duration.milliseconds(100)
        let pairs = try CallPairs.forEach(sample: 8, seed: 213) { call in
            try run(call.map { [($0, first)] } ?? [], timeout: timeout)
        } _: { one, other in
            try run([(one, first), (other, second)], timeout: timeout)
        }
        #expect(pairs.reached >= pairs.runs / 4)
    }
}
