import MakoStorage
import MakoTestSupport
import ReplicationTestSupport
import Testing

@testable import MakoReplication

/// What a writer hears that continues no branch because its log is gone.
@Suite struct AttachingTests {
    // MARK: Logs that are gone

    private func expectLogGone(
        _ commit: UInt64, _ location: SourceLocation = #_sourceLocation, _ body: () throws -> Void
    ) {
        #expect(throws: ReplicationError.logGone(branch: 1, commit: commit), sourceLocation: location) { try body() }
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
}
