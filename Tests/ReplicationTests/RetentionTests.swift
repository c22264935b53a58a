import MakoStorage
import MakoTestSupport
import ReplicationTestSupport
import Synchronization
import Testing

@testable import MakoReplication

/// What retention deletes, and what it leaves.
@Suite struct RetentionTests {
    /// A clock that both the dates of objects and the silence of a writer follow.
    final class Time: @unchecked Sendable {
        private let lock = Lock()
        private var hours: UInt64 = 0
        func advance() { lock.withLock { hours += 1 } }
        var milliseconds: UInt64 { lock.withLock { hours * 3_600_000 } }
        var options: Replicator.Options {
            var options = Replicator.Options()
            options.now = { self.milliseconds }
            options.uptime = { .milliseconds(Int64(self.milliseconds)) }
            options.retention = Retention(commits: 4)
            return options
        }
    }

    private func kept(_ ledger: Ledger) throws -> RestorePoints { try ledger.replica.restorePoints()[0] }

    /// Commits and ships once an hour.
    private func rounds(_ count: Int, _ ledger: Ledger, _ replicator: Replicator, _ time: Time) throws {
        for _ in 0..<count {
            try ledger.commit(.small)
            try replicator.ship()
            time.advance()
        }
    }

    @Test func objectsBehindTheMinimumAreDeleted() throws {
        let ledger = try Ledger(seed: 121)
        let time = Time()
        let replicator = try Replicator(ledger.store, to: ledger.objects, options: time.options)
        try rounds(40, ledger, replicator, time)
        let points = try kept(ledger)
        let newest = try ledger.commitNumber()
        #expect(points.newest == newest)
        #expect(points.gaps == [])
        let oldest = try #require(points.keptFrom)
        #expect(oldest <= newest - 3)
        #expect(oldest > newest - 16)
        #expect(ledger.objects.names.count < 30)
        let commits = try ledger.checkAll()
        #expect(commits.first == oldest)
        #expect(throws: ReplicationError.notKept(commit: oldest - 1, oldest: oldest)) {
            try ledger.restored(oldest - 1)
        }
        // Another replicator of the branch goes on from there.
        let next = try Replicator(ledger.store, to: ledger.objects, options: time.options)
        try rounds(3, ledger, next, time)
        try ledger.checkAll()
    }

    /// Objects that were shipped once an hour.
    private func keptRounds(_ seed: UInt64, _ retention: Retention) throws -> (Ledger, RestorePoints, Time) {
        let ledger = try Ledger(seed: seed)
        let time = Time()
        var options = time.options
        options.retention = retention
        let replicator = try Replicator(ledger.store, to: ledger.objects, options: options)
        try rounds(60, ledger, replicator, time)
        let points = try kept(ledger)
        let commits = try ledger.checkAll()
        #expect(points.newest == (try ledger.commitNumber()))
        #expect(points.gaps == [])
        #expect(commits.first == points.keptFrom)
        return (ledger, points, time)
    }

    @Test func everyMomentUpToTheAgeIsKept() throws {
        let age: UInt64 = 12
        let (ledger, points, time) = try keptRounds(128, Retention(age: .seconds(Int64(age) * 3600)))
        // The objects were shipped at the hours from 0 to 59, and it is 60.
        let moment = time.milliseconds - age * 3_600_000
        #expect(try ledger.replica.newestCommit(shippedBy: moment) != nil)
        let oldest = try #require(points.runs.first?.dates.lowerBound)
        #expect(oldest <= moment)
        #expect(oldest > moment - (age + 3) * 3_600_000)
        #expect(throws: ReplicationError.self) {
            try ledger.restored(try #require(points.keptFrom) - 1)
        }
    }

    @Test func theNewestBytesAreKept() throws {
        let least: UInt64 = 40_000
        let (ledger, points, _) = try keptRounds(129, Retention(bytes: least))
        #expect(points.bytes >= least)
        #expect(points.bytes < 4 * least)
        #expect(try #require(points.keptFrom) > 2)
        // Full backups count as what they are, and go with the objects that name them.
        let fulls = ledger.objects.names.filter { $0.contains("/full/") }
        let named = ledger.objects.objects.filter { name, bytes in
            name.contains("/seq/") && SequenceHeader(Array(bytes.prefix(SequenceHeader.bytes)))?.kind == .full
        }
        #expect(fulls.count == named.count)
    }

    /// Each minimum counts: the one that keeps most decides.
    @Test func severalMinimumsAreAllKept() throws {
        let (_, points, time) = try keptRounds(130, Retention(age: .seconds(3600), bytes: 1, commits: 20))
        #expect(try #require(points.keptFrom) + 19 <= (try #require(points.newest)))
        #expect(try #require(points.runs.first?.dates.lowerBound) <= time.milliseconds - 20 * 3_600_000)
    }

    /// The objects of a branch as a plain list, whose sums are computed anew for each query.
    private struct PlainBranch {
        var objects: [SequenceHeader] = []

        func satisfies(_ retention: Retention, from index: Int, now: UInt64) -> Bool {
            let kept = objects[index...]
            let bytes = kept.reduce(0) { $0 + $1.contentBytes + UInt64(SequenceHeader.bytes) }
            let hours = retention.age.map { UInt64($0.components.seconds) / 3600 } ?? 0
            let commits = objects[objects.count - 1].after.commit - objects[index].after.commit + 1
            return bytes >= retention.bytes ?? 0 && commits >= retention.commits ?? 0
                && objects[index].date + hours * 3_600_000 <= now
        }

        func floor(_ retention: Retention, now: UInt64) -> UInt64? {
            objects.indices.last { objects[$0].kind == .full && satisfies(retention, from: $0, now: now) }
                .map { objects[$0].number }
        }
    }

    @Test(arguments: 0..<50 as Range<UInt64>) func theFloorIsTheNewestBackupThatEachMinimumAllows(_ seed: UInt64) {
        var random = SplitMix(seed: seed)
        var (branch, backups) = (PlainBranch(), KeptBackups())
        var place = LogPlace(commit: 0, lsn: 0, chain: 0)
        var now: UInt64 = 0
        for number in 1...60 as ClosedRange<UInt64> {
            let before = place
            place.commit += UInt64(random.below(4))
            place.lsn += 1
            let kind: SequenceKind = number == 1 || random.chance(20) ? .full : .frames
            var header = SequenceHeader(ReplicaIdentity(high: 1, low: 2), 1, number, kind, from: before, to: place)
            header.contentBytes = UInt64(random.below(kind == .full ? 9000 : 2000))
            now += UInt64(random.below(3)) * 3_600_000
            header.date = now
            branch.objects.append(header)
            backups.accept(header)
            let retention = Retention(
                age: random.chance(50) ? .seconds(3600 * random.below(30)) : nil,
                bytes: random.chance(50) ? UInt64(random.below(60_000)) : nil,
                commits: random.chance(50) ? UInt64(random.below(60)) : nil)
            #expect(backups.floor(retention, now: now)?.number == branch.floor(retention, now: now))
        }
    }

    @Test func nothingIsDeletedWithinTheGraceTime() throws {
        let ledger = try Ledger(seed: 122)
        let time = Time()
        let replicator = try Replicator(ledger.store, to: ledger.objects, options: time.options)
        var first: [String] = []
        for _ in 0..<40 where try kept(ledger).keptFrom == nil {
            time.advance()
            first = ledger.objects.names
            try ledger.commit(.small)
            try replicator.ship()
        }
        // The mark is set, and the time is the same.
        try ledger.commit(.small)
        try replicator.ship()
        #expect(try kept(ledger).keptFrom != nil)
        #expect(Set(first).isSubset(of: ledger.objects.names))
        // An hour later, by a replicator that keeps more from now on: exactly what is below the mark is deleted.
        let oldest = try kept(ledger).keptFrom
        time.advance()
        var options = time.options
        options.retention = Retention(commits: 1000)
        let next = try Replicator(ledger.store, to: ledger.objects, options: options)
        try ledger.commit(.small)
        try next.ship()
        #expect(!Set(first).isSubset(of: ledger.objects.names))
        #expect(try kept(ledger).keptFrom == oldest)
        #expect(try ledger.checkAll().first == oldest)
    }

    @Test func aLateListingDoesNotHideTheBranch() throws {
        let ledger = try Ledger(seed: 123)
        let time = Time()
        let replicator = try Replicator(ledger.store, to: ledger.objects, options: time.options)
        try rounds(30, ledger, replicator, time)
        // The hint is lost, too.
        ledger.objects.objects = ledger.objects.objects.filter { !$0.key.hasSuffix("/head") }
        ledger.objects.lateNames = 1000
        let next = try Replicator(ledger.store, to: ledger.objects, options: time.options)
        try ledger.commit(.small)
        try next.ship()
        ledger.objects.lateNames = 0
        #expect(try kept(ledger).newest == (try ledger.commitNumber()))
        try ledger.checkAll()
    }

    /// Retention frees names, and a writer that slept meanwhile must not take one.
    @Test func aWriterThatSleptIsFenced() throws {
        let ledger = try Ledger(seed: 124)
        let time = Time()
        let first = try Replicator(ledger.store, to: ledger.objects, options: time.options)
        try rounds(1, ledger, first, time)
        let copy = try Ledger(copying: ledger, seed: 125)
        let sleeper = try Replicator(copy.store, to: copy.objects, options: time.options)
        try rounds(30, ledger, first, time)
        try copy.commit(.several)
        #expect {
            try sleeper.ship()
        } throws: { error in
            if case ReplicationError.fenced(branch: 1, _) = error { true } else { false }
        }
        try ledger.checkAll()
    }

    @Test func aDamagedMarkIsReported() throws {
        let ledger = try Ledger(seed: 126)
        let time = Time()
        let replicator = try Replicator(ledger.store, to: ledger.objects, options: time.options)
        try rounds(30, ledger, replicator, time)
        let name = try #require(ledger.objects.names.first { $0.hasSuffix("/kept") })
        ledger.objects.objects[name]?[20] ^= 1
        #expect(try kept(ledger).findings.contains { $0.contains("/kept") })
        #expect(try ledger.restored(nil) == ledger.state)
    }

    /// An object store that refuses deletions until they are permitted, as one whose policy lacks `s3:DeleteObject`.
    private final class RefusingObjectStore: ObjectStore {
        static let refusal = ObjectStoreError.setup(.accessDenied, reason: "s3:DeleteObject is denied")
        let base = SimulatedObjectStore()
        let mayDelete = Atomic(false)

        func put(
            _ name: String, _ content: ObjectContent, _ condition: PutCondition
        ) throws(ObjectStoreError) -> ObjectTag { try base.put(name, content, condition) }
        func get(_ name: String, _ range: Range<UInt64>?) throws(ObjectStoreError) -> ObjectBytes {
            try base.get(name, range)
        }
        func list(_ prefix: String, after name: String?, limit: Int) throws(ObjectStoreError) -> [String] {
            try base.list(prefix, after: name, limit: limit)
        }
        func delete(_ name: String) throws(ObjectStoreError) {
            guard mayDelete.load(ordering: .relaxed) else { throw RefusingObjectStore.refusal }
            try base.delete(name)
        }
    }

    @Test func aRefusedDeletionIsReportedAndShippingGoesOn() throws {
        let place = RefusingObjectStore()
        let ledger = try Ledger(seed: 133, objects: place.base, place: place)
        let time = Time()
        let replicator = try Replicator(ledger.store, to: place, options: time.options)
        try rounds(30, ledger, replicator, time)
        #expect(replicator.retentionFailure == .objects(RefusingObjectStore.refusal))
        #expect(replicator.failure == nil)
        #expect(replicator.shippedCommit == (try ledger.commitNumber()))
        try ledger.checkAll()
        let names = place.base.names
        place.mayDelete.store(true, ordering: .relaxed)
        try rounds(3, ledger, replicator, time)
        #expect(replicator.retentionFailure == nil)
        #expect(!Set(names).isSubset(of: place.base.names))
        try ledger.checkAll()
    }

    @Test func aDamagedHeaderIsReportedAndRetentionGoesOn() throws {
        let ledger = try Ledger(seed: 134)
        let time = Time()
        var options = time.options
        options.retention = Retention(commits: 1000)
        try rounds(10, ledger, try Replicator(ledger.store, to: ledger.objects, options: options), time)
        let name = try #require(ledger.objects.names.filter { $0.contains("/seq/") }.dropFirst(3).first)
        ledger.objects.objects[name]?[20] ^= 1
        let replicator = try Replicator(ledger.store, to: ledger.objects, options: time.options)
        try rounds(1, ledger, replicator, time)
        #expect(replicator.retentionFailure == .damaged(object: name, reason: "its header is damaged"))
        try rounds(30, ledger, replicator, time)
        #expect(replicator.retentionFailure == nil)
        #expect(!ledger.objects.names.contains(name))
        try ledger.checkAll()
    }

    /// The process ends at calls; each restore point that is listed is restored.
    ///
    /// - Returns: the number of calls.
    private func run(_ faults: [(call: Int, fault: SimulatedObjectStore.Fault)], checksAll: Bool) throws -> Int {
        let disk = SimulatedDisk()
        let objects = SimulatedObjectStore { disk.endProcess() }
        let ledger = try Ledger(seed: 127, disk: disk, objects: objects)
        for (call, fault) in faults { objects.inject(fault, atCall: call) }
        let time = Time()
        var replicator: Replicator?
        var round = 0
        while round < 14 {
            do {
                let next = try replicator ?? Replicator(ledger.store, to: objects, options: time.options)
                replicator = next
                try rounds(1, ledger, next, time)
                round += 1
            } catch { replicator = nil }
            // A shipment succeeds though the process ends in its retention.
            guard objects.hasEnded else { continue }
            replicator = nil
            objects.restart()
            try ledger.kill()
            // A reader at this moment.
            if checksAll, objects.names.contains(where: { $0.contains("/seq/") }) { try ledger.checkAll() }
        }
        let calls = objects.calls
        objects.clearFaults()
        let points = try kept(ledger)
        #expect(points.newest == (try ledger.commitNumber()))
        #expect(points.findings == [])
        #expect(points.gaps == [])
        if checksAll { try ledger.checkAll() }
        return calls
    }

    @Test(arguments: [SimulatedObjectStore.Fault.endBefore, .endAfter, .answerLost])
    func anEndAtAnyCallLeavesEachKeptPoint(_ fault: SimulatedObjectStore.Fault) throws {
        var call = 0
        while call < (try run([(call, fault)], checksAll: true)) { call += 1 }
        #expect(call > 30)
    }

    @Test func twoEndsLeaveEachKeptPoint() throws {
        let calls = try run([], checksAll: false)
        #expect(calls > 30)
        for first in stride(from: 0, to: calls, by: 3) {
            for second in stride(from: first + 1, to: min(first + 12, calls), by: 2) {
                _ = try run([(first, .endBefore), (second, .endAfter)], checksAll: false)
            }
        }
    }
}
