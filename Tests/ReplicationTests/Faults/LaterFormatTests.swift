import MakoReplication
import MakoStorage
import MakoTestSupport
import ReplicationTestSupport
import Testing

/// Objects of a sequence that a later version of Mako has shipped: they are not damaged, and what they hold is not ignored.
@Suite struct LaterFormatTests {
    /// Gives the header of the newest object of a branch a format that this version does not know.
    ///
    /// - Returns: the error of what needs the object.
    private func makeNewestLater(_ branch: Int, _ ledger: Ledger) throws -> ReplicationError {
        let name = try #require(ledger.objects.names.filter { $0.contains("00000\(branch)/seq/") }.max())
        let object = try #require(ledger.objects.objects[name])
        ledger.objects.objects[name] = ObjectHeader.object(object, ofFormat: 2)
        return .storage(.unsupportedVersion(path: name, found: 2, supported: 1))
    }

    @Test func anObjectOfALaterFormatIsListedAndNotUsed() throws {
        let ledger = try Ledger(seed: 321)
        try ledger.commit(.several)
        let replicator = try ledger.replicator()
        try replicator.ship()
        let known = try ledger.commitNumber()
        let bench = FollowerBench(ledger)
        try bench.check(known)
        try ledger.commit(.small)
        try replicator.ship()
        let newest = try ledger.commitNumber()
        let refusal = try makeNewestLater(1, ledger)
        let left = ledger.objects.objects
        #expect(try ledger.replica.restorePoints().map(\.findings) == [["\(refusal)"]])
        // An older state than the newest one would be taken for it.
        #expect(throws: refusal) { try ledger.restored(nil) }
        #expect(throws: refusal) { try ledger.restored(newest) }
        #expect(try ledger.restored(known) == ledger.states[known])
        #expect(throws: refusal) { _ = try ledger.replicator() }
        // The follower stays where it is, and does not begin anew.
        #expect(throws: refusal) { try bench.current().follow() }
        try bench.checkReaders(known)
        #expect(ledger.objects.objects == left)
    }

    /// A later version has restored the database and shipped the restored one: its branch is the newest.
    @Test func aBranchOfLaterObjectsAloneIsNotPassedOver() throws {
        let ledger = try Ledger(seed: 322)
        try ledger.commit(.several)
        try ledger.replicator().ship()
        var options = Ledger.options(MemoryFileSystem(), seed: 3)
        options.logArchiveBytes = 1 << 20
        #expect(try ledger.replica.restore(to: "restored.mako", options: options).branch == 2)
        let restored = try Store(at: "restored.mako", options: options)
        try Replicator(restored, to: ledger.place).ship()
        try restored.close()
        #expect(try ledger.replica.restorePoints().map(\.objects) == [1, 1])
        let refusal = try makeNewestLater(2, ledger)
        #expect(throws: refusal) { try ledger.restored(nil) }
        #expect(throws: refusal) { try ledger.replica.newestCommit(shippedBy: .max) }
        #expect(try ledger.restored(nil, branch: 1) == ledger.state)
        // The writer of the first branch is not concerned.
        try ledger.commit(.small)
        let replicator = try ledger.replicator()
        #expect(replicator.branch == 1)
        try replicator.ship()
        #expect(try ledger.restored(nil, branch: 1) == ledger.state)
    }
}
