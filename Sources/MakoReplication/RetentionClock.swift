import MakoStorage

/// The time that retention counts by: the clock, but not where it runs ahead of the uptime.
///
/// A clock that jumps ahead would make everything look old at once. It is believed when it has been there for a day, as it is after it was
/// corrected. A clock that is behind deletes nothing.
struct RetentionClock {
    /// What the clock and the uptime may differ by.
    static let slack: UInt64 = 3_600_000
    private static let trial: Duration = .seconds(86_400)

    /// A moment of the clock, in milliseconds since 1970, and the uptime then.
    private var anchor: (clock: UInt64, uptime: Duration)
    /// The uptime since which the clock is ahead.
    private var aheadSince: Duration?

    /// - Parameter newest: the date of the newest object, from which the time goes on where the clock is behind. One of a clock which was ahead
    ///   is no anchor: a clock that jumps there again would be believed.
    init(_ clock: UInt64, newest: UInt64 = 0, uptime: Duration) {
        anchor = (RetentionClock.isAhead(newest, of: clock) ? clock : max(clock, newest), uptime)
    }

    /// The time at a moment of the clock and of the uptime.
    mutating func time(_ clock: UInt64, uptime: Duration) -> UInt64 {
        let passed = (uptime - anchor.uptime).inMilliseconds
        let bound = anchor.clock.addingReportingOverflow(passed).partialValue
        guard RetentionClock.isAhead(clock, of: bound) else {
            aheadSince = nil
            return clock
        }
        let since = aheadSince ?? uptime
        aheadSince = since
        if uptime - since < RetentionClock.trial { return bound }
        (anchor, aheadSince) = ((clock, uptime), nil)
        return clock
    }

    /// Whether a date is that of a clock which was ahead.
    static func isAhead(_ date: UInt64, of clock: UInt64) -> Bool { date > clock && date - clock > slack }
}

/// The retention clock of all replicators that one program makes with the same options.
///
/// The first attaching is the anchor: a later one, which finds a clock that is ahead, has that of the first to compare it with.
final class SharedRetentionClock: @unchecked Sendable {
    private let lock = Lock()
    // Guarded by `lock`.
    private var clock: RetentionClock?

    /// Begins at the first attaching; later ones change nothing.
    func attach(_ now: UInt64, newest: UInt64, uptime: Duration) {
        lock.withLock { clock = clock ?? RetentionClock(now, newest: newest, uptime: uptime) }
    }

    /// The time at a moment of the clock and of the uptime.
    func time(_ now: UInt64, uptime: Duration) -> UInt64 {
        lock.withLock { clock?.time(now, uptime: uptime) ?? now }
    }
}

/// Dates in ascending order, of which the latest of each hour is kept.
///
/// One of a clock that was ahead does not hide those of a clock that was right, and a month of objects needs 720 of them.
struct HourlyDates: Hashable {
    private var dates: [UInt64] = []

    private static func hour(_ date: UInt64) -> UInt64 { date / 3_600_000 }

    /// The number of dates up to a moment.
    private func count(through moment: UInt64) -> Int {
        var range = 0..<dates.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range = dates[middle] <= moment ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }

    /// Whether the next date behind a moment is of its hour.
    private func hasLater(in moment: UInt64, at place: Int) -> Bool {
        place < dates.count && HourlyDates.hour(dates[place]) == HourlyDates.hour(moment)
    }

    mutating func insert(_ date: UInt64) {
        let place = count(through: date)
        if hasLater(in: date, at: place) { return }
        if place > 0, HourlyDates.hour(dates[place - 1]) == HourlyDates.hour(date) {
            dates[place - 1] = date
        } else {
            dates.insert(date, at: place)
        }
    }

    /// The latest date that is not in the future of a moment; the moment itself where a later date of its hour has replaced those before it.
    func latest(by moment: UInt64) -> UInt64? {
        let place = count(through: moment)
        if hasLater(in: moment, at: place) { return moment }
        return place > 0 ? dates[place - 1] : nil
    }
}

/// Dates of the objects of a branch that ascend, whatever the clocks of the writers did.
///
/// A header has the date of the writer's clock. One that is later than now is of a clock that was ahead: the object was made before the next one with
/// another date. One that is earlier than that of an object before it is of a clock that was behind.
struct BranchDates {
    private var ranges: [UInt64: ClosedRange<UInt64>] = [:]
    /// The dates of the newest objects, where no later one has a date up to now: the clock of the writer was ahead, or that of the reader is behind.
    private var open: [UInt64: UInt64] = [:]

    /// - Parameters:
    ///   - headers: of the objects that are there, in the order of their numbers.
    ///   - now: milliseconds since 1970.
    init(_ headers: [SequenceHeader], now: UInt64) {
        var bounds = [UInt64](repeating: now, count: headers.count)
        var next = now
        for index in headers.indices.reversed() {
            if headers[index].date <= now { next = headers[index].date }
            bounds[index] = next
        }
        var latest: UInt64?
        for (header, bound) in zip(headers, bounds) {
            let date = max(bound, latest ?? 0)
            let before = max(min(header.dateBefore, date), latest ?? 0)
            ranges[header.number] = before...date
            latest = date
        }
        var last: UInt64 = 0
        for header in headers.reversed().prefix(while: { $0.date > now }).reversed() {
            last = max(last, header.date)
            open[header.number] = last
        }
    }

    /// The time in which the commits of an object were made.
    func range(of header: SequenceHeader) -> ClosedRange<UInt64> { ranges[header.number] ?? header.date...header.date }

    /// The date of an object.
    func date(of header: SequenceHeader) -> UInt64 { range(of: header).upperBound }

    /// Whether an object was made by a moment for sure: one of the newest, whose date is in the future, is not before that date.
    func isMade(_ header: SequenceHeader, by moment: UInt64) -> Bool {
        (open[header.number] ?? date(of: header)) <= moment
    }
}
