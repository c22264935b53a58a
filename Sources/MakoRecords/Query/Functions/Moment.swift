import CPlatform

/// A date and time as SQLite's functions represent it: milliseconds of the Julian day, in UTC.
///
///     date('now')     datetime(born, '+1 month', 'start of month')     strftime('%H', 1800000000, 'unixepoch')
///
/// Modifiers work as SQLite documents them ([decision 83](docs/decisions/0083-date-functions.md)).
struct Moment {
    /// 1970-01-01, in milliseconds of the Julian day.
    private static let unixStart: Int64 = 210_866_760_000_000
    /// The end of the year 9999.
    private static let last: Int64 = 464_269_060_799_999
    private static let day: Int64 = 86_400_000

    private var milliseconds: Int64
    /// Seconds since 1970 if the first modifier is `unixepoch`, otherwise a Julian day.
    private var number: Double?
    /// Whether the milliseconds are invalid, because the number is not a Julian day.
    private var isOnlyNumber = false

    /// - Parameter seconds: since 2001-01-01.
    init?(seconds: Double) {
        let exact = ((seconds + DateText.epoch) * 1000).rounded()
        guard exact.magnitude < 1e15 else { return nil }
        milliseconds = Int64(exact) + Moment.unixStart
        if !(0...Moment.last).contains(milliseconds) { return nil }
    }

    /// - Parameter number: a Julian day, or seconds since 1970 where the modifier `unixepoch` follows.
    init?(number: Double) {
        guard number.isFinite else { return nil }
        self.number = number
        isOnlyNumber = !(number >= 0 && number < 5_373_484.5)
        milliseconds = isOnlyNumber ? 0 : Int64(number * 86_400_000 + 0.5)
    }

    /// Parses a date, a time of 2000-01-01, or a number.
    init?(_ text: String) {
        if let seconds = DateText.parse(text) ?? DateText.parse("2000-01-01 " + text) {
            self.init(seconds: seconds)
        } else if let number = Double(text),
            text.utf8.first.map({ $0 == 45 || $0 == 43 || $0 == 46 || (48...57).contains($0) }) == true
        {
            self.init(number: number)
        } else {
            return nil
        }
    }

    /// Seconds since 2001-01-01; `nil` for years that have no text.
    var seconds: Double? {
        guard !isOnlyNumber, (0...Moment.last).contains(milliseconds) else { return nil }
        return Double(milliseconds - Moment.unixStart) / 1000 - DateText.epoch
    }

    /// The same, truncated to seconds.
    var wholeSeconds: Double? { seconds.map { $0.rounded(.down) } }

    var julianDay: Double { Double(milliseconds) / 86_400_000 }

    var unixSeconds: Int64 { milliseconds / 1000 - Moment.unixStart / 1000 }

    /// The start of its day.
    var midnight: Moment {
        var copy = self
        copy.milliseconds -= timeOfDay
        return copy
    }

    /// Julian days start at noon.
    private var timeOfDay: Int64 { (milliseconds + Moment.day / 2) % Moment.day }

    /// The current time, in seconds since 2001-01-01.
    static var now: Double {
        var time = timespec()
        // The literal 1 is TIME_UTC, which some systems do not import, and neither the ids of their clocks.
        timespec_get(&time, 1)
        return (Double(time.tv_sec) * 1000 + (Double(time.tv_nsec) / 1_000_000).rounded(.down)) / 1000 - DateText.epoch
    }

    // MARK: Modifiers

    /// The hint of an error about an invalid modifier.
    static let hint =
        "a date is changed by '+1 day', '-2 hours', '+01:30', 'start of month', 'weekday 0', 'unixepoch', 'julianday' or 'auto'"

    /// Returns whether a text is a modifier, whatever it is applied to.
    static func isModifier(_ text: String) -> Bool {
        let word = Folding.folded(text)
        if ["unixepoch", "julianday", "auto"].contains(word) { return true }
        var sample = Moment(seconds: 0)
        return sample?.apply(text, isFirst: false) ?? false
    }

    /// Applies a modifier.
    ///
    /// - Parameter isFirst: whether no modifier precedes it.
    /// - Returns: `false` if the text is not a modifier, or the result is out of range.
    mutating func apply(_ text: String, isFirst: Bool) -> Bool {
        let word = Folding.folded(text)
        switch word {
        case "unixepoch": return isFirst && takeUnixSeconds()
        case "julianday":
            guard isFirst, number != nil, !isOnlyNumber else { return false }
            number = nil
            return true
        case "auto":
            guard isFirst else { return false }
            if !isOnlyNumber {
                number = nil
                return true
            }
            return takeUnixSeconds()
        default: break
        }
        if isOnlyNumber { return false }
        number = nil
        if word.hasPrefix("weekday ") { return moveToWeekday(word.dropFirst(8)) }
        if word.hasPrefix("start of ") { return moveToStart(word.dropFirst(9)) }
        return shift(word)
    }

    private mutating func takeUnixSeconds() -> Bool {
        guard let number else { return false }
        let exact = number * 1000 + Double(Moment.unixStart)
        guard exact >= 0, exact < 464_269_060_800_000 else { return false }
        (milliseconds, self.number, isOnlyNumber) = (Int64(exact + 0.5), nil, false)
        return true
    }

    private mutating func moveToWeekday(_ text: Substring) -> Bool {
        guard let wanted = Double(text), wanted >= 0, wanted < 7, wanted == wanted.rounded() else { return false }
        let today = ((milliseconds + 129_600_000) / Moment.day) % 7
        milliseconds += (Int64(wanted) + (today > Int64(wanted) ? 7 : 0) - today) * Moment.day
        return true
    }

    private mutating func moveToStart(_ unit: Substring) -> Bool {
        let (year, month, _) = civil
        let time: Int64 = 0
        switch unit {
        case "day": milliseconds -= timeOfDay
        case "month": milliseconds = Moment.milliseconds(year, month, 1, time)
        case "year": milliseconds = Moment.milliseconds(year, 1, 1, time)
        default: return false
        }
        return true
    }

    /// The seconds of each unit, and the limit of its count in a modifier.
    private static let units: [String: (seconds: Double, limit: Double)] = [
        "second": (1, 4.6427e14), "minute": (60, 7.7379e12), "hour": (3600, 1.2897e11), "day": (86_400, 5_373_485),
        "month": (2_592_000, 176_546), "year": (31_536_000, 14_713),
    ]

    /// Applies `+1 month`, `-1.5 hours`, `+01:30:00`.
    private mutating func shift(_ text: String) -> Bool {
        guard let first = text.utf8.first, first == 43 || first == 45 || (48...57).contains(first) else { return false }
        let amountEnd = text.firstIndex { $0 == " " || $0 == ":" || $0 == "\t" || $0 == "\n" } ?? text.endIndex
        if amountEnd < text.endIndex, text[amountEnd] == ":" { return shift(byTime: text) }
        var digits = text[..<amountEnd]
        if digits.hasPrefix("+") { digits = digits.dropFirst() }
        guard var amount = Double(digits), amount.isFinite else { return false }
        var unit = text[amountEnd...].drop { $0 == " " || $0 == "\t" || $0 == "\n" }
        if unit.utf8.count > 10 { return false }
        if unit.hasSuffix("s") { unit = unit.dropLast() }
        guard let (seconds, limit) = Moment.units[String(unit)], amount > -limit, amount < limit else { return false }
        let rounding = amount < 0 ? -0.5 : 0.5
        if unit == "month" || unit == "year" {
            var (year, month, day) = civil
            let whole = Int(amount)
            if unit == "year" { year += whole } else { (year, month) = Moment.month(year, month + whole) }
            guard (-4713...9999).contains(year) else { return false }
            milliseconds = Moment.milliseconds(year, month, day, timeOfDay)
            amount -= Double(whole)
        }
        milliseconds += Int64(amount * 1000 * seconds + rounding)
        return true
    }

    private mutating func shift(byTime text: String) -> Bool {
        let isNegative = text.hasPrefix("-")
        let time = text.drop { $0 == "+" || $0 == "-" }
        guard let seconds = DateText.parse("2001-01-01 " + time), seconds >= 0, seconds < 86_400 else { return false }
        milliseconds += Int64((seconds * 1000).rounded()) * (isNegative ? -1 : 1)
        return true
    }

    private static func month(_ year: Int, _ month: Int) -> (Int, Int) {
        let years = DateText.floorDivide(month - 1, 12)
        return (year + years, month - years * 12)
    }

    /// The year, the month and the day of the month.
    private var civil: (Int, Int, Int) {
        DateText.civil(Int((milliseconds - timeOfDay - Moment.unixStart) / Moment.day))
    }

    /// Returns the milliseconds of a date; a day beyond the end of the month falls in the next month.
    private static func milliseconds(_ year: Int, _ month: Int, _ day: Int, _ time: Int64) -> Int64 {
        Int64(DateText.days(year, month, day)) * Moment.day + unixStart + time
    }
}
