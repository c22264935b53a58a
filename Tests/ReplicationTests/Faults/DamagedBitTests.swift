import Foundation
import MakoStorage
import MakoTestSupport
import ReplicationTestSupport
import Testing

@testable import MakoReplication

/// Each bit of each kind of object, and each kind of object cut short: a listing and a restore refuse it, report it or do
/// not need it.
///
/// A sample of the bits; all of them with `MAKO_TEST_EFFORT=full`, for some minutes. The steps are odd, so that a sample
/// has each bit of a byte.
@Suite struct DamagedBitTests {
    private static let isFull = ProcessInfo.processInfo.environment["MAKO_TEST_EFFORT"] == "full"

    /// A ledger and the objects that it shipped.
    private struct Shipped {
        let ledger: Ledger
        let objects: [String: [UInt8]]

        init(_ ledger: Ledger) throws {
            self.ledger = ledger
            objects = ledger.objects.objects
            #expect(try ledger.replica.restorePoints().map(\.findings) == [[]])
        }

        func name(_ part: String) throws -> String { try #require(objects.keys.first { $0.contains(part) }) }

        func header(_ name: String) throws -> SequenceHeader {
            let bytes = try #require(objects[name])
            return try #require(SequenceHeader(Array(bytes.prefix(SequenceHeader.bytes))))
        }

        /// A commit whose restore reads an object: the newest one where a backup repeats the commit of the frames before
        /// it, which lead there, too.
        func commit(needing index: Int) throws -> UInt64 {
            index == 2 ? try ledger.commitNumber() : try header(sequence[index]).after.commit
        }

        /// The names of the objects of the sequence, in order.
        var sequence: [String] { objects.keys.filter { $0.contains("/seq/") }.sorted() }
    }

    /// A full backup, frames, an incremental backup of the same commit, and frames behind it; small ones.
    private func shipped(_ seed: UInt64) throws -> Shipped {
        let ledger = try Ledger(seed: seed)
        // A backup follows the frames of the second commit.
        for backupAfterBytes: UInt64 in [1 << 20, 1, 1 << 20] {
            var options = Replicator.Options()
            options.backupAfterBytes = backupAfterBytes
            options.now = { 1_000_000 }
            try ledger.commit(.small)
            try Replicator(ledger.store, to: ledger.objects, options: options).ship()
        }
        let shipped = try Shipped(ledger)
        let kinds = try shipped.sequence.map { try shipped.header($0).kind }
        try #require(kinds == [.full, .frames, .part, .frames])
        return shipped
    }

    private struct Outcome {
        var findings: [String] = []
        var isRestored = false
    }

    /// Lists and restores with other bytes in the place of an object. What is restored must equal the model, and no error
    /// may be untyped.
    private func outcome(_ shipped: Shipped, _ name: String, _ bytes: [UInt8], _ commit: UInt64) throws -> Outcome {
        let ledger = shipped.ledger
        ledger.objects.objects[name] = bytes
        defer { ledger.objects.objects[name] = shipped.objects[name] }
        let replica = try ledger.replica
        var outcome = Outcome()
        do {
            let points = try replica.restorePoints()
            #expect(points.map(\.branch) == [1])
            outcome.findings = points.flatMap(\.findings)
            let listed = points.flatMap(\.runs).flatMap(\.commits)
            #expect(listed.allSatisfy { ledger.states[$0] != nil }, "no commit is listed that was not made")
            #expect(try ledger.restored(commit, from: replica) == ledger.states[commit])
            outcome.isRestored = true
        } catch is ReplicationError {}
        return outcome
    }

    /// Calls `body` with each bit of a range of bytes flipped, or with each `step`th.
    private func forEachBit(
        _ bytes: [UInt8], _ range: Range<Int>, step: Int, _ body: ([UInt8], Comment) throws -> Void
    ) throws {
        var count = 0
        for bit in stride(from: range.lowerBound * 8, to: range.upperBound * 8, by: Self.isFull ? 1 : step) {
            var damaged = bytes
            damaged[bit / 8] ^= 1 << UInt8(bit % 8)
            try body(damaged, "bit \(bit)")
            count += 1
        }
        #expect(count > 0)
    }

    // MARK: Bits

    @Test func eachBitOfAnOriginIsReportedAndHarmless() throws {
        try checkHarmless(shipped(221), "/origin", findings: 1, step: 5)
    }

    @Test func eachBitOfAHintIsHarmless() throws { try checkHarmless(hinted(222), "/head", findings: 0, step: 3) }

    @Test func eachBitOfAMarkIsReportedAndHarmless() throws {
        try checkHarmless(marked(223), "/kept", findings: 1, step: 3)
    }

    /// The newest commit is restored whatever the object says, and so many findings name it.
    private func checkHarmless(_ shipped: Shipped, _ suffix: String, findings: Int, step: Int) throws {
        let newest = try shipped.ledger.commitNumber()
        let name = try shipped.name(suffix)
        let bytes = try #require(shipped.objects[name])
        try forEachBit(bytes, 0..<bytes.count, step: step) { damaged, bit in
            let outcome = try outcome(shipped, name, damaged, newest)
            #expect(outcome.findings.count == findings, bit)
            #expect(outcome.findings.allSatisfy { $0.contains(name) }, bit)
            #expect(outcome.isRestored, bit)
        }
    }

    /// With the hint that a long branch has.
    private func hinted(_ seed: UInt64) throws -> Shipped {
        let ledger = try shipped(seed).ledger
        let names = ReplicaNames(prefix: "", database: try ledger.replica.databases()[0])
        try #require(try BranchReader(ledger.objects, names, 1)).noteHead(3)
        return try Shipped(ledger)
    }

    /// With a mark of retention, below which nothing is deleted yet.
    private func marked(_ seed: UInt64) throws -> Shipped {
        let ledger = try Ledger(seed: seed)
        var options = Replicator.Options()
        options.retention = Retention(commits: 2)
        options.now = { 1_000_000 }
        let replicator = try Replicator(ledger.store, to: ledger.objects, options: options)
        for _ in 0..<5 {
            try ledger.commit(.small)
            try replicator.ship()
        }
        return try Shipped(ledger)
    }

    @Test(arguments: 0..<4) func eachBitOfAHeaderIsReported(_ index: Int) throws {
        let shipped = try shipped(224)
        let name = shipped.sequence[index]
        let commit = try shipped.commit(needing: index)
        let bytes = try #require(shipped.objects[name])
        // The incremental backup has the commit of the frames before it, which lead past it, too.
        let isNeeded = index != 1 && index != 2
        try forEachBit(bytes, 0..<SequenceHeader.bytes, step: 11) { damaged, bit in
            let outcome = try outcome(shipped, name, damaged, commit)
            #expect(!outcome.findings.isEmpty, bit)
            #expect(outcome.isRestored == !isNeeded, bit)
        }
    }

    @Test(arguments: [1, 3]) func eachBitOfFramesIsRefusedWhereTheyAreNeeded(_ index: Int) throws {
        let shipped = try shipped(225)
        let name = shipped.sequence[index]
        let header = try shipped.header(name)
        let bytes = try #require(shipped.objects[name])
        try forEachBit(bytes, SequenceHeader.bytes..<bytes.count, step: 11) { damaged, bit in
            let outcome = try outcome(shipped, name, damaged, header.after.commit)
            #expect(outcome.isRestored == (index == 1), bit)
        }
    }

    /// The full backup and the frames lead past it.
    @Test func eachBitOfAnIncrementalBackupIsHarmless() throws {
        let shipped = try shipped(226)
        let name = shipped.sequence[2]
        let bytes = try #require(shipped.objects[name])
        let newest = try shipped.ledger.commitNumber()
        let commit = try shipped.header(name).after.commit
        try forEachBit(bytes, SequenceHeader.bytes..<bytes.count, step: 997) { damaged, bit in
            // The commit of the backup, and one behind it.
            for commit in [commit, newest] {
                let outcome = try outcome(shipped, name, damaged, commit)
                #expect(outcome.isRestored, bit)
            }
        }
    }

    @Test func eachBitOfAFullBackupIsRefused() throws {
        let shipped = try shipped(227)
        let name = try shipped.name("/full/")
        let bytes = try #require(shipped.objects[name])
        let first = try shipped.header(shipped.sequence[0]).after.commit
        try forEachBit(bytes, 0..<bytes.count, step: 997) { damaged, bit in
            let outcome = try outcome(shipped, name, damaged, first)
            #expect(!outcome.isRestored, bit)
        }
    }

    // MARK: Sizes

    /// The lengths of an object that is cut short or too long.
    private func resized(_ bytes: [UInt8]) -> [[UInt8]] {
        let counts = Set([0, 1, 7, 8, 31, 100, 255, 256, 257, 4096, bytes.count / 2, bytes.count - 1])
        let cut = counts.filter { $0 < bytes.count }.sorted().map { Array(bytes.prefix($0)) }
        return cut + [bytes + [0], bytes + bytes]
    }

    @Test func objectsOfAnotherSizeAreRefusedWhereTheyAreNeeded() throws {
        let shipped = try shipped(228)
        for (index, name) in shipped.sequence.enumerated() {
            let commit = try shipped.commit(needing: index)
            for bytes in resized(try #require(shipped.objects[name])) {
                let outcome = try outcome(shipped, name, bytes, commit)
                #expect(!outcome.findings.isEmpty, "\(bytes.count) bytes of \(name)")
                #expect(outcome.isRestored == (index == 1 || index == 2), "\(bytes.count) bytes of \(name)")
            }
        }
        let full = try shipped.name("/full/")
        let first = try shipped.header(shipped.sequence[0]).after.commit
        for bytes in resized(try #require(shipped.objects[full])) {
            #expect(try !outcome(shipped, full, bytes, first).isRestored, "\(bytes.count) bytes of \(full)")
        }
    }

    @Test func otherObjectsOfAnotherSizeAreReportedOrHarmless() throws {
        let all = [("/origin", try shipped(229)), ("/kept", try marked(230)), ("/head", try hinted(231))]
        for (part, shipped) in all {
            let name = try shipped.name(part)
            let newest = try shipped.ledger.commitNumber()
            for bytes in resized(try #require(shipped.objects[name])) {
                let outcome = try outcome(shipped, name, bytes, newest)
                #expect(outcome.isRestored, "\(bytes.count) bytes of \(name)")
                #expect(outcome.findings.count == (part == "/head" ? 0 : 1), "\(bytes.count) bytes of \(name)")
            }
        }
    }
}
