import MakoReplication
import MakoStorage
import MakoTestSupport
import Testing

/// Two databases that continue one branch.
@Suite struct FenceTests {
    private enum Outcome: Hashable { case shipping, fenced }

    /// A copy of the database, which attaches, and then commits and ships twice.
    private final class Writer {
        let ledger: Ledger
        var replicator: Replicator?
        var step = 0
        var outcome = Outcome.shipping
        /// The commits that were acknowledged as shipped, and what they left.
        var shipped: [UInt64: LedgerState] = [:]

        init(_ ledger: Ledger) { self.ledger = ledger }

        func advance() throws {
            defer { step += 1 }
            guard outcome == .shipping else { return }
            do throws(ReplicationError) {
                if let replicator {
                    try? ledger.commit(.small)
                    let report = try replicator.ship()
                    shipped[report.commit] = ledger.state
                } else {
                    replicator = try ledger.replicator()
                }
            } catch {
                guard case .fenced = error else { throw error }
                outcome = .fenced
            }
        }
    }

    /// All orders of three steps of one and three of the other, as bits.
    static let orders = (0..<64).filter { $0.nonzeroBitCount == 3 }

    @Test(arguments: orders) func oneOfTwoWritersIsFenced(_ order: Int) throws {
        try FenceTests.check(order, try Ledger(seed: 31))
    }

    static func check(_ order: Int, _ first: Ledger) throws {
        for _ in 0..<3 { try first.commit(.small) }
        try first.replicator().ship()
        let second = try Ledger(copying: first, seed: 32)
        let writers = [Writer(first), Writer(second)]
        for bit in 0..<6 { try writers[order >> bit & 1].advance() }
        // A writer may not have seen the other's objects yet.
        for writer in writers where writer.outcome == .shipping { try writer.advance() }
        for writer in writers where writer.outcome == .shipping { try writer.advance() }
        let outcomes = writers.map(\.outcome)
        #expect(Set(outcomes) == [.shipping, .fenced])
        // All acknowledged commits are restore points of the winner.
        let winner = writers[outcomes.firstIndex(of: .shipping) ?? 0]
        let loser = writers[outcomes.firstIndex(of: .fenced) ?? 0]
        #expect(loser.shipped.isEmpty)
        for (commit, state) in winner.shipped { #expect(try winner.ledger.restored(commit) == state) }
        // Attaching again fails; a new branch succeeds.
        #expect(throws: ReplicationError.self) { _ = try loser.ledger.replicator() }
        let other = try loser.ledger.replicator(branch: .new)
        #expect(other.branch == 2)
        try other.ship()
        #expect(try loser.ledger.restored(nil, branch: 2) == loser.ledger.state)
    }

    @Test func twoReplicatorsOfOneStoreShipTheSameBranch() throws {
        let ledger = try Ledger(seed: 33)
        let replicators = [try ledger.replicator(), try ledger.replicator()]
        for round in 0..<10 {
            try ledger.commitAtRandom(selfContained: true)
            try replicators[round % 2].ship()
        }
        #expect(try ledger.replica.restorePoints()[0].gaps == [])
        try ledger.checkAll()
    }

    @Test func aDatabaseWhoseLogIsGoneAsksForANewBranch() throws {
        let ledger = try Ledger(seed: 34, archiveBytes: 0)
        try ledger.commit(.small)
        try ledger.replicator().ship()
        try ledger.commit(.small)
        // Without an archive, closing removes the log.
        try ledger.reopen()
        #expect {
            _ = try ledger.replicator()
        } throws: { error in
            if case ReplicationError.logGone(branch: 1, _) = error { true } else { false }
        }
        try ledger.replicator(branch: .new).ship()
        #expect(try ledger.restored(nil) == ledger.state)
    }
}
