import MakoReplication
import MakoStorage
import MakoTestSupport
import ReplicationTestSupport
import Testing

/// Branches whose origin is lost or damaged: what is listed, restored and followed, and which writers go on.
@Suite struct LostOriginTests {
    enum Loss: CaseIterable, Sendable {
        case lost, flipped, cut

        /// What a finding says.
        var text: String { self == .lost ? "is missing" : "is damaged" }
    }

    /// Ships a backup, frames, an incremental backup and frames again, in two attachments.
    private func shipped(_ seed: UInt64) throws -> Ledger {
        let ledger = try Ledger(seed: seed)
        for change in [Ledger.Change.small, .several, .small, .many, .small] {
            try ledger.commit(change)
            try ledger.replicator().ship()
        }
        return ledger
    }

    private func origin(_ ledger: Ledger, _ branch: UInt64) throws -> String {
        let number = String(branch)
        let suffix = "/" + String(repeating: "0", count: 6 - number.count) + number + "/origin"
        return try #require(ledger.objects.names.first { $0.hasSuffix(suffix) })
    }

    /// Loses or damages an origin.
    ///
    /// - Returns: its name.
    @discardableResult
    private func lose(_ loss: Loss, _ ledger: Ledger, branch: UInt64 = 1) throws -> String {
        let name = try origin(ledger, branch)
        switch loss {
        case .lost: ledger.objects.objects[name] = nil
        case .flipped: ledger.objects.objects[name]?[75] ^= 4
        case .cut: ledger.objects.objects[name]?.removeLast(60)
        }
        return name
    }

    // MARK: Listing and restoring

    @Test(arguments: Loss.allCases) func theBranchIsListedWithAFindingAndRestored(_ loss: Loss) throws {
        let ledger = try shipped(201)
        let before = try ledger.replica.restorePoints()
        #expect(before.map(\.findings) == [[]])
        let name = try lose(loss, ledger)
        let points = try ledger.replica.restorePoints()
        #expect(points.map(\.findings) == [["the origin \(name) \(loss.text)"]])
        #expect(points.map(\.runs) == before.map(\.runs))
        #expect(points.map(\.gaps) == before.map(\.gaps))
        #expect(points.map(\.start) == before.map(\.start))
        for commit in points[0].runs.flatMap(\.commits) {
            #expect(try ledger.restored(commit) == ledger.states[commit], "commit \(commit)")
            #expect(try ledger.restored(commit, branch: 1) == ledger.states[commit], "commit \(commit)")
        }
        // A restored database begins a branch behind it, and makes no origin in its place.
        let left = ledger.objects.objects[name]
        let newest = try ledger.commitNumber()
        let report = try ledger.replica.restore(
            to: "restored.mako", options: Ledger.options(MemoryFileSystem(), seed: 3))
        #expect(report.commit == newest)
        #expect(report.branch == 2)
        #expect(ledger.objects.objects[name] == left)
        let later = try ledger.replica.restorePoints()
        #expect(later.map(\.branch) == [1, 2])
        #expect(later[1].parent?.branch == 1)
        #expect(later[1].parent?.commit == newest)
    }

    @Test(arguments: Loss.allCases, [1, 2] as [UInt64]) func otherBranchesAreListedAsBefore(
        _ loss: Loss, branch: UInt64
    ) throws {
        let ledger = try shipped(202)
        let ends = [try ledger.commitNumber()]
        let second = try ledger.replicator(branch: .new)
        try second.ship()
        try ledger.commit(.small)
        try second.ship()
        let before = try ledger.replica.restorePoints()
        #expect(before.map(\.branch) == [1, 2])
        let name = try lose(loss, ledger, branch: branch)
        let points = try ledger.replica.restorePoints()
        #expect(points.map(\.branch) == [1, 2])
        #expect(points.map(\.runs) == before.map(\.runs))
        let (own, other) = branch == 1 ? (0, 1) : (1, 0)
        #expect(points[own].findings == ["the origin \(name) \(loss.text)"])
        #expect(points[other] == before[other])
        #expect(try ledger.restored(nil, branch: 1) == ledger.states[ends[0]])
        #expect(try ledger.restored(nil, branch: 2) == ledger.state)
        #expect(try ledger.restored(nil) == ledger.state)
        // The store continues the newest branch, and a new one gets a number of its own.
        #expect(try ledger.replicator().branch == 2)
        #expect(try ledger.replicator(branch: .new).branch == 3)
    }

    /// The objects of an old branch were deleted by hand.
    @Test func aBranchWithoutObjectsHidesNoOther() throws {
        let ledger = try shipped(203)
        let first = try origin(ledger, 1)
        try ledger.replicator(branch: .new).ship()
        for name in ledger.objects.names where name.contains("/000001/") { ledger.objects.objects[name] = nil }
        let points = try ledger.replica.restorePoints()
        #expect(points.map(\.branch) == [1, 2])
        #expect(points.map(\.findings) == [["the origin \(first) is missing"], []])
        #expect(points[0].runs == [])
        #expect(throws: ReplicationError.noBranch(1)) { try ledger.restored(nil, branch: 1) }
        #expect(try ledger.restored(nil) == ledger.state)
        let newest = try ledger.commitNumber()
        try FollowerBench(ledger).check(newest)
        #expect(try ledger.replicator().branch == 2)
        #expect(ledger.objects.objects[first] == nil)
    }

    // MARK: Followers

    @Test(arguments: Loss.allCases) func aFollowerBeginsFollowsAndTakesOver(_ loss: Loss) throws {
        let ledger = try shipped(204)
        let replicator = try ledger.replicator()
        let name = try lose(loss, ledger)
        let left = ledger.objects.objects[name]
        let bench = FollowerBench(ledger)
        try bench.check(try ledger.commitNumber())
        for change in [Ledger.Change.small, .many, .small] {
            try ledger.commit(change)
            try replicator.ship()
            try bench.check(try ledger.commitNumber())
        }
        // The next follower of the file finds its place.
        bench.end()
        bench.options.branch = 1
        try ledger.commit(.small)
        try replicator.ship()
        try bench.check(try ledger.commitNumber())
        let store = try bench.promote()
        #expect(try LedgerState(reading: store) == ledger.state)
        var options = Replicator.Options()
        options.now = { 3_000_000 }
        let next = try Replicator(store, to: ledger.place, options: options)
        #expect(next.branch == 1)
        try next.ship()
        #expect(try ledger.restored(nil) == ledger.state)
        try ledger.commit(.small)
        #expect {
            try replicator.ship()
        } throws: { error in
            if case ReplicationError.fenced(branch: 1, _) = error { true } else { false }
        }
        #expect(ledger.objects.objects[name] == left)
    }

    // MARK: Writers

    @Test(arguments: Loss.allCases) func theWriterGoesOnByItsLog(_ loss: Loss) throws {
        let ledger = try shipped(205)
        let name = try lose(loss, ledger)
        let left = ledger.objects.objects[name]
        for round in 0..<4 {
            if round == 2 { try ledger.kill() }
            try ledger.commit(round == 1 ? .many : .small)
            let replicator = try ledger.replicator()
            #expect(replicator.branch == 1)
            try replicator.ship()
            #expect(ledger.objects.objects[name] == left)
        }
        let points = try ledger.replica.restorePoints()
        #expect(points.count == 1)
        #expect(points[0].findings == ["the origin \(name) \(loss.text)"])
        #expect(points[0].newest == (try ledger.commitNumber()))
        for commit in points[0].runs.flatMap(\.commits) {
            #expect(try ledger.restored(commit) == ledger.states[commit], "commit \(commit)")
        }
    }

    @Test(arguments: Loss.allCases) func aWriterThatIsBehindIsFenced(_ loss: Loss) throws {
        let ledger = try shipped(206)
        let old = try Ledger(copying: ledger, seed: 207)
        try ledger.commit(.small)
        try ledger.replicator().ship()
        let name = try lose(loss, ledger)
        let left = ledger.objects.objects
        #expect {
            _ = try old.replicator()
        } throws: { error in
            if case ReplicationError.fenced(branch: 1, _) = error { true } else { false }
        }
        #expect(ledger.objects.objects == left, "nothing is created, not even \(name)")
        let other = try old.replicator(branch: .new)
        #expect(other.branch == 2)
        try other.ship()
        #expect(try old.restored(nil) == old.state)
        #expect(try ledger.restored(nil, branch: 1) == ledger.state)
    }

    @Test(arguments: Loss.allCases) func aWriterWithoutItsLogMakesNoOrigin(_ loss: Loss) throws {
        let ledger = try Ledger(seed: 208, archiveBytes: 0)
        try ledger.commit(.small)
        try ledger.replicator().ship()
        try ledger.commit(.small)
        // Without an archive, closing removes the log.
        try ledger.reopen()
        try lose(loss, ledger)
        let left = ledger.objects.objects
        #expect {
            _ = try ledger.replicator()
        } throws: { error in
            if case ReplicationError.logGone(branch: 1, _) = error { true } else { false }
        }
        #expect(ledger.objects.objects == left)
        try ledger.replicator(branch: .new).ship()
        #expect(try ledger.restored(nil, branch: 2) == ledger.state)
    }

    /// Without objects, only the origin says where the branch begins.
    @Test func aDamagedOriginWithoutObjectsIsContinuedByNoWriter() throws {
        let ledger = try Ledger(seed: 209)
        try ledger.commit(.small)
        _ = try ledger.replicator()
        let name = try lose(.flipped, ledger)
        #expect {
            _ = try ledger.replicator()
        } throws: { error in
            if case ReplicationError.damaged(name, _) = error { true } else { false }
        }
        let points = try ledger.replica.restorePoints()
        #expect(points.map(\.findings) == [["the origin \(name) is damaged"]])
        #expect(points.map(\.runs) == [[]])
        let second = try ledger.replicator(branch: .new)
        #expect(second.branch == 2)
        try second.ship()
        #expect(try ledger.replicator().branch == 2)
        #expect(try ledger.restored(nil) == ledger.state)
        // A later branch without objects stops no writer of an earlier one.
        #expect(try ledger.replicator(branch: .new).branch == 3)
        try lose(.flipped, ledger, branch: 3)
        #expect(try ledger.replicator().branch == 2)
    }

    /// What another program has left beside the branches.
    @Test func aNumberOfMoreDigitsIsNoBranch() throws {
        let ledger = try Ledger(seed: 241)
        try ledger.replicator().ship()
        let database = try ledger.replica.databases()[0]
        ledger.objects.objects["\(database)/\(UInt64.max)/origin"] = [1]
        #expect(try ledger.replica.restorePoints().map(\.branch) == [1])
    }
}
