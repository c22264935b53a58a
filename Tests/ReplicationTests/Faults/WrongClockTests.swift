import MakoStorage
import MakoTestSupport
import Testing

@testable import MakoReplication

/// Dates and retention where the clock of a writer jumps ahead or back for a while.
@Suite struct WrongClockTests {
    /// A clock, and the uptime, which never goes back. In hours.
    private final class Clocks: @unchecked Sendable {
        private let lock = Lock()
        // Guarded by `lock`.
        private var uptime: UInt64 = 400_000
        private var wrong: UInt64?

        /// The right time.
        var time: UInt64 { lock.withLock { uptime } }

        func advance() { lock.withLock { uptime += 1 } }

        /// What the clock shows in place of the right time; nil for that.
        func show(_ hour: UInt64?) { lock.withLock { wrong = hour } }

        func options(_ retention: Retention?) -> Replicator.Options {
            var options = Replicator.Options()
            options.now = { self.lock.withLock { (self.wrong ?? self.uptime) * WrongClockTests.hour } }
            options.uptime = { .seconds(Int64(self.lock.withLock { self.uptime * 3600 })) }
            options.retention = retention
            return options
        }
    }

    private static let hour: UInt64 = 3_600_000
    /// In the year 2106.
    private static let future: UInt64 = 1_200_000

    private func rounds(_ count: Int, _ ledger: Ledger, _ replicator: Replicator, _ clocks: Clocks) throws {
        for _ in 0..<count {
            clocks.advance()
            try ledger.commit(.small)
            try replicator.ship()
        }
    }

    private func headers(_ dates: [UInt64]) -> [SequenceHeader] {
        let place = LogPlace(commit: 0, lsn: 0, chain: 0)
        return dates.enumerated().map { index, date in
            let number = UInt64(index) + 1
            var header = SequenceHeader(ReplicaIdentity(high: 1, low: 2), 1, number, .frames, from: place, to: place)
            (header.date, header.dateBefore) = (date, index == 0 ? date : dates[index - 1])
            return header
        }
    }

    @Test(
        arguments: [
            ([10, 20, 30], [10, 20, 30]), ([10, 20, 900, 30, 40], [10, 20, 30, 30, 40]),
            ([10, 20, 5, 40], [10, 20, 20, 40]), ([10, 900, 800], [10, 100, 100]), ([900, 5, 20], [5, 5, 20]), ([], []),
        ] as [([UInt64], [UInt64])])
    func datesAscend(_ found: [UInt64], _ expected: [UInt64]) {
        let headers = headers(found)
        let dates = BranchDates(headers, now: 100)
        #expect(headers.map { dates.date(of: $0) } == expected)
        #expect(headers.dropFirst().map { dates.range(of: $0).lowerBound } == Array(expected.dropLast()))
    }

    /// The reader's clock shows 100. The newest object at a moment is found, and never one that was made behind it.
    @Test(
        arguments: [
            ([10, 20, 130, 160], [(100, 2), (129, 2), (140, 3), (170, 4)]),
            ([900, 800], [(100, 0), (850, 0), (900, 2)]),
            ([10, 900, 30, 140], [(20, 1), (30, 3), (100, 3), (140, 4)]),
        ] as [([UInt64], [(UInt64, Int)])])
    func aReaderWhoseClockIsBehindFindsNoCommitTooEarly(_ found: [UInt64], _ expected: [(UInt64, Int)]) {
        let headers = headers(found)
        let dates = BranchDates(headers, now: 100)
        for (moment, newest) in expected {
            #expect((headers.last { dates.isMade($0, by: moment) }?.number ?? 0) == newest, "\(moment)")
        }
    }

    @Test func aMomentIsFoundThoughTheClockWasAheadBeforeIt() throws {
        let ledger = try Ledger(seed: 151)
        let clocks = Clocks()
        let replicator = try Replicator(ledger.store, to: ledger.objects, options: clocks.options(nil))
        var commits: [(hour: UInt64, commit: UInt64)] = []
        for round in 0..<6 {
            clocks.show(round == 2 ? WrongClockTests.future : nil)
            try rounds(1, ledger, replicator, clocks)
            if round != 2 { commits.append((clocks.time, try ledger.commitNumber())) }
        }
        for (hour, commit) in commits {
            #expect(try ledger.replica.newestCommit(shippedBy: hour * WrongClockTests.hour) == commit)
        }
        let dates = try ledger.replica.restorePoints()[0].runs.map(\.dates)
        #expect(dates.last?.upperBound == clocks.time * WrongClockTests.hour)
    }

    @Test func aClockThatJumpsAheadDeletesAndHidesNothing() throws {
        let ledger = try Ledger(seed: 152)
        let clocks = Clocks()
        let age: UInt64 = 12
        let replicator = try Replicator(
            ledger.store, to: ledger.objects, options: clocks.options(Retention(age: .seconds(Int64(age) * 3600))))
        try rounds(20, ledger, replicator, clocks)
        for shown in [WrongClockTests.future, nil, 1, nil] {
            clocks.show(shown)
            try rounds(3, ledger, replicator, clocks)
            let moment = (clocks.time - age) * WrongClockTests.hour
            #expect(try ledger.replica.newestCommit(shippedBy: moment) != nil, "\(String(describing: shown))")
        }
        // It deletes again, as before.
        try rounds(60, ledger, replicator, clocks)
        let points = try ledger.replica.restorePoints()[0]
        #expect(points.gaps == [])
        let oldest = try #require(points.runs.first).dates.lowerBound / WrongClockTests.hour
        #expect((clocks.time - 2 * age - 6...clocks.time - age).contains(oldest))
        #expect(!ledger.objects.names.contains { $0.hasSuffix("/seq/000000000020") })
        try ledger.checkAll()
    }

    /// The object before the attaching was dated by a clock that was ahead; later the clock jumps there again.
    @Test func aDateOfTheFutureIsNoAnchorForTheNextProcess() throws {
        let ledger = try Ledger(seed: 154)
        let clocks = Clocks()
        let age: UInt64 = 12
        let retention = Retention(age: .seconds(Int64(age) * 3600))
        clocks.show(WrongClockTests.future)
        try rounds(
            1, ledger, try Replicator(ledger.store, to: ledger.objects, options: clocks.options(retention)), clocks)
        clocks.show(nil)
        let next = try Replicator(ledger.store, to: ledger.objects, options: clocks.options(retention))
        try rounds(20, ledger, next, clocks)
        clocks.show(WrongClockTests.future)
        try rounds(3, ledger, next, clocks)
        let moment = (clocks.time - age) * WrongClockTests.hour
        #expect(try ledger.replica.newestCommit(shippedBy: moment) != nil)
        try ledger.checkAll()
    }

    /// As `mako replicate` does: it attaches for each shipment, and the clock jumps ahead between two of them.
    @Test func replicatorsWithTheSameOptionsCountByOneClock() throws {
        let ledger = try Ledger(seed: 155)
        let clocks = Clocks()
        let age: UInt64 = 12
        let options = clocks.options(Retention(age: .seconds(Int64(age) * 3600)))
        for round in 0..<23 {
            if round == 20 { clocks.show(WrongClockTests.future) }
            try rounds(1, ledger, try Replicator(ledger.store, to: ledger.objects, options: options), clocks)
        }
        let moment = (clocks.time - age) * WrongClockTests.hour
        #expect(try ledger.replica.newestCommit(shippedBy: moment) != nil)
        try ledger.checkAll()
    }

    /// The second full backup was made at hour 30, by a clock that was behind. An object before it is dated ahead, another one rightly.
    @Test func aDateOfTheFutureHidesNoRightOne() {
        let place = LogPlace(commit: 0, lsn: 0, chain: 0)
        var backups = KeptBackups()
        let objects: [(SequenceKind, UInt64)] = [(.full, 10), (.frames, 900), (.frames, 30), (.full, 12)]
        for (number, (kind, hour)) in zip((1 as UInt64)..., objects) {
            var header = SequenceHeader(ReplicaIdentity(high: 1, low: 2), 1, number, kind, from: place, to: place)
            header.date = hour * WrongClockTests.hour
            backups.accept(header)
        }
        let retention = Retention(age: .seconds(12 * 3600))
        for (hour, floor) in [(31, 1), (41, 1), (42, 4)] as [(UInt64, UInt64)] {
            #expect(backups.floor(retention, now: hour * WrongClockTests.hour)?.number == floor, "hour \(hour)")
        }
    }

    /// The newest object is dated ahead, and later the clock jumps to that date.
    @Test func aDateOfTheFutureIsNoAnchor() {
        let hour = WrongClockTests.hour
        var clock = RetentionClock(100 * hour, newest: 900 * hour, uptime: .zero)
        #expect(clock.time(101 * hour, uptime: .seconds(3600)) == 101 * hour)
        #expect(clock.time(902 * hour, uptime: .seconds(7200)) == 102 * hour)
    }

    @Test(arguments: [(900, true), (99, false)] as [(UInt64, Bool)])
    func behindAFullBackupOfTheFutureAnotherIsDue(_ date: UInt64, _ isDue: Bool) {
        let hour = WrongClockTests.hour
        var backups = KeptBackups()
        for (number, kind) in [(1, .full), (2, .frames)] as [(UInt64, SequenceKind)] {
            let (before, after) = (number, number + 1)
            var header = SequenceHeader(
                ReplicaIdentity(high: 1, low: 2), 1, number, kind, from: LogPlace(commit: before, lsn: 0, chain: 0),
                to: LogPlace(commit: after, lsn: 0, chain: 0))
            header.date = (kind == .full ? date : 100) * hour
            backups.accept(header)
        }
        let retention = Retention(age: .seconds(12 * 3600))
        #expect(backups.isFullDue(retention, now: 100 * hour, clock: 100 * hour) == isDue)
    }

    @Test(arguments: 0..<50 as Range<UInt64>) func hourlyDatesKnowTheLatestOne(_ seed: UInt64) {
        var random = SplitMix(seed: seed)
        var (dates, all) = (HourlyDates(), [] as [UInt64])
        for _ in 0..<100 {
            let date = UInt64(random.below(30 * 3_600_000))
            dates.insert(date)
            all.append(date)
            let moment = UInt64(random.below(30 * 3_600_000))
            let exact = all.filter { $0 <= moment }.max()
            let isLater = all.contains { $0 > moment && $0 / 3_600_000 == moment / 3_600_000 }
            #expect(dates.latest(by: moment) == (isLater ? moment : exact))
        }
    }

    @Test func aMarkOfAClockThatWasAheadIsDatedAgain() throws {
        let ledger = try Ledger(seed: 153)
        let clocks = Clocks()
        clocks.show(WrongClockTests.future)
        let replicator = try Replicator(
            ledger.store, to: ledger.objects, options: clocks.options(Retention(commits: 4)))
        for _ in 0..<40 where try ledger.replica.restorePoints().first?.keptFrom == nil {
            try rounds(1, ledger, replicator, clocks)
        }
        let first = try #require(ledger.objects.names.first { $0.contains("/seq/") })
        clocks.show(nil)
        try rounds(1, ledger, replicator, clocks)
        #expect(ledger.objects.names.contains(first))
        try rounds(3, ledger, replicator, clocks)
        #expect(!ledger.objects.names.contains(first))
        try ledger.checkAll()
    }

    @Test func aClockThatStaysAheadIsBelievedAfterADay() {
        var clock = RetentionClock(1000 * WrongClockTests.hour, uptime: .zero)
        for hour in 1...60 as ClosedRange<UInt64> {
            let uptime = Duration.seconds(Int64(hour) * 3600)
            let (right, shown) = (1000 + hour, hour < 10 ? 1000 + hour : 9000 + hour)
            let time = clock.time(shown * WrongClockTests.hour, uptime: uptime) / WrongClockTests.hour
            #expect(time == (hour < 34 ? right : shown), "hour \(hour)")
        }
        // Back, and ahead again.
        let back = clock.time(5 * WrongClockTests.hour, uptime: .seconds(61 * 3600))
        #expect(back == 5 * WrongClockTests.hour)
        let ahead = clock.time(20_000 * WrongClockTests.hour, uptime: .seconds(62 * 3600))
        #expect(ahead == 9062 * WrongClockTests.hour)
    }
}
