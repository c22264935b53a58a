import Foundation
import MakoStorage
import MakoTestSupport
import ReplicationTestSupport
import Testing

import MakoReplication

/// The log of a day, restored at random places. `MAKO_TEST_EFFORT=full` commits each second of it.
@Suite struct LongLogTests {
    private static let isFull = ProcessInfo.processInfo.environment["MAKO_TEST_EFFORT"] == "full"
    private static let commits = isFull ? 86_400 : 1440
    private static let commitsPerShipment = isFull ? 60 : 10
    private static let restores = 100

    /// The time of day, in milliseconds.
    private final class Day: @unchecked Sendable {
        private let lock = Lock()
        private var time: UInt64 = 0
        var now: UInt64 { lock.withLock { time } }
        func advance(by milliseconds: UInt64) { lock.withLock { time += milliseconds } }
        var options: Replicator.Options {
            var options = Replicator.Options()
            options.now = { self.now }
            // Some backups among the frames of the day.
            options.backupAfterBytes = LongLogTests.isFull ? 8 << 20 : 1 << 20
            return options
        }
    }

    /// Commits of all kinds, large transactions and values among them, shipped a few at a time. A commit at random is restored as it was, or refused
    /// with the nearest restore points, as `mako replicas` has them.
    @Test(arguments: isFull ? [141, 142] : [141]) func aHundredCommitsAreRestoredOrRefusedWithTheNearest(_ seed: UInt64)
        throws
    {
        var random = SplitMix(seed: seed)
        let ledger = try Ledger(seed: seed)
        ledger.chosen = Set((0..<LongLogTests.restores * 2).map { _ in UInt64(random.below(LongLogTests.commits) + 2) })
        let day = Day()
        let replicator = try Replicator(ledger.store, to: ledger.objects, options: day.options)
        try replicator.ship()
        // The newest commit that was shipped by each moment.
        var shipped: [(date: UInt64, commit: UInt64)] = []
        // Commits that no backup of their shipment may swallow: those before the first that is not in the log, and the last.
        var certain: [UInt64] = []
        var isInLog = true
        for index in 1...LongLogTests.commits {
            day.advance(by: 86_400_000 / UInt64(LongLogTests.commits))
            try ledger.commitAtRandom()
            isInLog = isInLog && ledger.isSelfContained
            if isInLog { certain.append(try ledger.commitNumber()) }
            guard index % LongLogTests.commitsPerShipment == 0 else { continue }
            shipped.append((day.now, try replicator.ship().commit))
            certain.append(try ledger.commitNumber())
            isInLog = true
        }
        let replica = try ledger.replica
        let points = try #require(try replica.restorePoints().first)
        #expect(points.findings == [])
        #expect(!points.gaps.isEmpty)
        #expect(certain.filter { !points.contains($0) } == [])
        let commits = points.runs.flatMap { Array($0.commits) }
        let places = ledger.states.keys.filter { $0 >= points.start }.sorted().shuffled(using: &random)
        try #require(places.count >= LongLogTests.restores)
        var refused = 0
        for place in places.prefix(LongLogTests.restores) {
            let outcome: ReplicationError?
            do {
                #expect(try ledger.restored(place, from: replica) == ledger.states[place], "commit \(place)")
                outcome = nil
            } catch let error as ReplicationError {
                outcome = error
                refused += 1
            }
            let nearest = ReplicationError.noRestorePoint(
                commit: place, before: commits.last { $0 < place }, after: commits.first { $0 > place })
            #expect(outcome == (points.contains(place) ? nil : nearest), "commit \(place)")
        }
        #expect((1..<LongLogTests.restores).contains(refused), "\(refused) refused")
        for moment in shipped.shuffled(using: &random).prefix(20) {
            #expect(try replica.newestCommit(shippedBy: moment.date) == moment.commit)
        }
    }
}
