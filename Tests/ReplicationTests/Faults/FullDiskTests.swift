import Foundation
import MakoReplication
import MakoStorage
import MakoTestSupport
import ReplicationTestSupport
import Testing

/// A disk that becomes full while the log waits for an object store that does not answer.
///
/// `MAKO_TEST_EFFORT=full` begins the shortage at every call to the disk.
@Suite struct FullDiskTests {
    private static let isFull = ProcessInfo.processInfo.environment["MAKO_TEST_EFFORT"] == "full"

    /// How the disk is full.
    enum Shortage: CaseIterable, Sendable {
        /// Some calls in a row find no space.
        case passing
        /// No call that needs space succeeds until space returns. Writes in place need it, as on a copy-on-write file system.
        case lasting
        /// The disk never has space for a new segment, and one call fails besides.
        case noSegment
    }

    /// A run on a disk that becomes full, which checks what each commit throws.
    private final class Bench {
        let ledger: Ledger
        var disk: SimulatedDisk { ledger.disk }
        private var replicator: Replicator?
        private let isConfirming: Bool
        private var refusesSegments = false
        private var failures = 0
        /// The newest commit that the log has.
        private var newest: UInt64
        /// What a store that became read-only may have, beside the model: the commits that threw since the last that did not.
        private var candidates: [LedgerState] = []

        /// Less than a segment, and more than the pages of a commit.
        static let restBytes: UInt64 = 60 << 10
        /// Space returns after so many errors.
        private static let mostFailures = 6

        init(isConfirming: Bool) throws {
            self.isConfirming = isConfirming
            ledger = try Ledger(seed: 201)
            try ledger.commit(.small)
            let replicator = try ledger.replicator()
            if isConfirming {
                try replicator.confirmCommits(timeout: .milliseconds(1))
                // The test ships by itself, so that the calls to the disk are the same in each run.
                replicator.stop()
            } else {
                try replicator.ship()
            }
            self.replicator = replicator
            newest = try ledger.commitNumber()
            ledger.objects.isDown = true
            guard !isConfirming else { return }
            for _ in 0..<3 {
                for _ in 0..<12 { try ledger.commit(.several) }
                try ledger.store.checkpoint()
            }
            newest = try ledger.commitNumber()
        }

        /// - Parameters:
        ///   - index: the call that fails, counted from now; nil for none.
        ///   - count: how many calls a passing shortage has.
        func begin(_ shortage: Shortage, atCall index: Int?, count: Int) {
            refusesSegments = shortage == .noSegment
            guard let call = index.map({ disk.callCount + $0 }) else { return }
            switch shortage {
            case .passing: for next in call..<call + count { disk.inject(.noSpace, atCall: next) }
            case .lasting: disk.inject(.staysFull, atCall: call)
            case .noSegment: disk.inject(.noSpace, atCall: call)
            }
        }

        private func returnSpace() {
            refusesSegments = false
            disk.capacity = nil
            disk.clearFaults()
        }

        private func noteFailure() {
            failures += 1
            if failures == Bench.mostFailures { returnSpace() }
        }

        // MARK: Steps

        func commit(_ change: Ledger.Change) throws {
            if refusesSegments { disk.capacity = disk.usedBytes + Bench.restBytes }
            let waits = isConfirming && replicator != nil
            do {
                try ledger.commit(change)
                #expect(!waits, "no object has the commit")
                newest = try ledger.commitNumber()
                candidates = []
            } catch let error as StorageError {
                switch error {
                case .unconfirmed(let commit) where waits:
                    #expect(commit == newest + 1, "the commit that is there is this one")
                    newest = commit
                    ledger.adoptAttempt(as: commit)
                    candidates = []
                case .diskFull:
                    candidates.append(ledger.attempted)
                    noteFailure()
                case .readOnly:
                    candidates.append(ledger.attempted)
                    noteFailure()
                    try reopen()
                default: throw error
                }
            }
        }

        /// Ends the process of a store that became read-only, and opens the file until that succeeds.
        private func reopen() throws {
            replicator = nil
            while true {
                do {
                    try ledger.kill()
                    let content = try LedgerState(reading: ledger.store)
                    #expect(content == ledger.state || candidates.contains(content), "a commit is whole or absent")
                    try ledger.adoptContent()
                    newest = try ledger.commitNumber()
                    candidates = []
                    return
                } catch let error as StorageError {
                    noteFailure()
                    guard failures < 40 else { throw error }
                }
            }
        }

        func checkpoint() throws {
            do throws(StorageError) { try ledger.store.checkpoint() } catch {
                switch error {
                case .diskFull, .readOnly: noteFailure()
                default: throw error
                }
            }
        }

        /// Ships to the object store that does not answer.
        func shipInVain() throws {
            guard let replicator else { return }
            do throws(ReplicationError) { try replicator.ship() } catch {
                switch error {
                case .objects(.unavailable), .objects(.source), .storage(.diskFull), .storage(.readOnly): break
                default: throw error
                }
            }
        }

        // MARK: The end

        private func attached() throws(ReplicationError) -> Replicator {
            if let replicator { return replicator }
            do throws(ReplicationError) { return try ledger.replicator() } catch {
                // Without the log that a full disk took, a new process has no proof that it continues the branch.
                guard case .logGone = error else { throw error }
                return try ledger.replicator(branch: .new)
            }
        }

        /// Ships everything after space and the object store are back, and checks what was shipped.
        ///
        /// - Returns: whether there is a gap.
        func finish(checksAll: Bool) throws -> Bool {
            returnSpace()
            // The first commit reopens a store that became read-only.
            try commit(.small)
            ledger.objects.isDown = false
            let replicator = try attached()
            self.replicator = replicator
            #expect(try replicator.ship().commit == newest)
            #expect(replicator.unconfirmedCommits == nil)
            #expect(try ledger.commitNumber() == newest)
            #expect(try LedgerState(reading: ledger.store) == ledger.state)
            replicator.stopConfirming()
            for _ in 0..<3 { try ledger.commit(.several) }
            newest = try ledger.commitNumber()
            #expect(try replicator.ship().commit == newest)
            #expect(try ledger.store.verify().findings == [])
            let points = try ledger.replica.restorePoints()
            #expect(points.last?.newest == newest)
            #expect(try ledger.restored(newest) == ledger.state)
            if checksAll { for point in points { try ledger.checkAll(branch: point.branch) } }
            return points.contains { !$0.gaps.isEmpty }
        }
    }

    /// Makes commits on a disk that becomes full, then ships and checks.
    ///
    /// - Returns: the calls to the disk until space was back, and whether there is a gap.
    @discardableResult
    private func run(
        _ shortage: Shortage, atCall index: Int?, count: Int = 1, isConfirming: Bool, checksAll: Bool
    ) throws -> (calls: [CallKind], hasGap: Bool) {
        let bench = try Bench(isConfirming: isConfirming)
        let start = bench.disk.callCount
        bench.begin(shortage, atCall: index, count: count)
        for attempt in 0..<40 {
            try bench.commit(attempt % 3 == 0 ? .small : .several)
            if !isConfirming && attempt % 8 == 7 { try bench.checkpoint() }
            if attempt % 10 == 9 { try bench.shipInVain() }
        }
        let calls = Array(bench.disk.callLog[start...])
        return (calls, try bench.finish(checksAll: checksAll))
    }

    /// Expects that a shortage that begins at one call after another loses no acknowledged commit.
    private func expectNothingLost(_ shortage: Shortage, isConfirming: Bool) throws {
        let (calls, hasGap) = try run(shortage, atCall: nil, isConfirming: isConfirming, checksAll: true)
        // The archive goes for the space of a segment, and with it the restore points of its commits. Unconfirmed commits stay.
        #expect(hasGap == (shortage == .noSegment && !isConfirming))
        #expect(calls.count > 60)
        let step = FullDiskTests.isFull ? 1 : max(1, calls.count / 30)
        // Also each removal, because a file that was removed before another one failed must not be used again.
        let removals = calls.indices.filter { calls[$0] == .remove }.prefix(12)
        let chosen = Set(stride(from: 0, to: calls.count, by: step)).union(removals).sorted()
        for (number, index) in chosen.enumerated() {
            try run(
                shortage, atCall: index, count: max(8, step), isConfirming: isConfirming, checksAll: number % 5 == 0)
        }
    }

    @Test(arguments: Shortage.allCases) func aShortageAtAnyCallLosesNoAcknowledgedCommit(_ shortage: Shortage) throws {
        try expectNothingLost(shortage, isConfirming: false)
    }

    /// A commit that throws `unconfirmed` is there later, and one that throws `diskFull` is not: the log of unconfirmed commits cannot make
    /// space for a segment.
    @Test(arguments: Shortage.allCases) func aShortageAtAnyCallKeepsWhatIsUnconfirmed(_ shortage: Shortage) throws {
        try expectNothingLost(shortage, isConfirming: true)
    }

    // MARK: The archive gives its space back

    private func segments(_ ledger: Ledger) throws -> Int {
        try ledger.disk.list(directory: ".").count { $0.contains("-wal-") }
    }

    /// Ships on a disk that has no space for the file of the backup.
    private func expectNoSpace(_ ledger: Ledger, _ replicator: Replicator, rest: UInt64) throws {
        ledger.disk.capacity = ledger.disk.usedBytes + rest
        #expect {
            try replicator.ship()
        } throws: { error in
            guard case ReplicationError.storage(.diskFull) = error else { return false }
            return "\(error)".contains("no space left")
        }
        #expect(try !ledger.disk.list(directory: ".").contains { $0.contains("-new-") })
        ledger.disk.capacity = nil
    }

    @Test func commitsGoOnWithoutTheArchiveAndABackupFollows() throws {
        let ledger = try Ledger(seed: 202)
        try ledger.commit(.small)
        let replicator = try ledger.replicator()
        try expectNoSpace(ledger, replicator, rest: 0)
        let shipped = try replicator.ship().commit
        ledger.objects.isDown = true
        for _ in 0..<6 {
            for _ in 0..<16 { try ledger.commit(.several) }
            try ledger.store.checkpoint()
        }
        let archived = try segments(ledger)
        #expect(archived > 4)
        for _ in 0..<40 {
            // Never enough for a segment.
            ledger.disk.capacity = ledger.disk.usedBytes + Bench.restBytes
            try ledger.commit(.small)
        }
        #expect(try segments(ledger) < archived)

        ledger.objects.isDown = false
        try expectNoSpace(ledger, replicator, rest: 8192)
        let newest = try ledger.commitNumber()
        #expect(try replicator.ship().commit == newest)
        #expect(try ledger.replica.restorePoints()[0].gaps == [shipped + 1...newest - 1])
        #expect(try ledger.checkAll() == [shipped, newest])

        // From there on each commit is a restore point again.
        for _ in 0..<3 { try ledger.commit(.small) }
        try replicator.ship()
        #expect(try ledger.checkAll() == [shipped] + Array(newest...newest + 3))
    }
}
