/// Formats and parses ISO 8601 dates.
///
/// Accepts `2026-01-31`, `2026-01-31T12:30`, `…:45` and `…:45.5`, with a space instead of the `T`, and with `Z`,
/// `+01:00`, `+0100` or nothing (UTC) after the time. Dates are seconds since 2001-01-01 00:00 UTC, as in Foundation's
/// `Date`.
enum DateText {
    /// Returns seconds since 2001-01-01 UTC; `nil` when the text is not a date.
    static func parse(_ text: String) -> Double? {
        var scanner = Scanner(text)
        guard let year = scanner.digits(4), scanner.take("-"), let month = scanner.digits(2), scanner.take("-"),
            let day = scanner.digits(2), (1...12).contains(month), day >= 1, day <= length(ofMonth: month, year: year)
        else { return nil }
        let midnight = Double(days(year: year, month: month, day: day) - reference) * 86_400
        if scanner.isAtEnd { return midnight }
        guard scanner.take("T") || scanner.take(" ") || scanner.take("t"), let seconds = scanner.time() else {
            return nil
        }
        guard let offset = scanner.offset(), scanner.isAtEnd else { return nil }
        return midnight + seconds - offset
    }

    /// Returns the shortest text that parses to the same instant: without a time at midnight, without a fraction at
    /// full seconds; `nil` when there is none, as outside the years 0 to 9999.
    ///
    /// - Parameter read: the parser of the text.
    static func format(_ seconds: Double, read: (String) -> Double? = DateText.parse) -> String? {
        guard seconds.isFinite, abs(seconds) < 1e12 else { return nil }
        let day = (seconds / 86_400).rounded(.down)
        let inDay = seconds - day * 86_400
        let (year, month, date) = civil(Int(day) + reference)
        guard (0...9999).contains(year) else { return nil }
        let text = "\(padded(year, 4))-\(padded(month, 2))-\(padded(date, 2))"
        if inDay == 0 { return text }
        let whole = Int(inDay)
        let clock = "\(text)T\(padded(whole / 3600, 2)):\(padded(whole / 60 % 60, 2)):\(padded(whole % 60, 2))"
        // Dates with milliseconds or microseconds are frequent, and more digits would show the rounding of the double.
        // Nine match its precision in these years; near 2001 it has more.
        for digits in [3, 6, 9, 12, 15] {
            let form = clock + fraction(inDay - Double(whole), digits) + "Z"
            if read(form) == seconds { return form }
        }
        return nil
    }

    /// `.25` for a quarter of a second.
    private static func fraction(_ part: Double, _ places: Int) -> String {
        var unit = 1.0
        for _ in 0..<places { unit *= 10 }
        let number = (part * unit).rounded()
        guard number > 0, number < unit else { return "" }
        var digits = padded(Int(number), places)
        while digits.hasSuffix("0") { digits.removeLast() }
        return "." + digits
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    /// 2001-01-01, in days since 1970-01-01.
    private static let reference = 11_323

    private static func length(ofMonth month: Int, year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days since 1970-01-01 in the proleptic Gregorian calendar. Years start in March, so that the leap day is the
    /// last day of its year.
    private static func days(year: Int, month: Int, day: Int) -> Int {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func civil(_ days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }

    private struct Scanner {
        private var rest: Substring.UTF8View

        init(_ text: String) { rest = text[...].utf8 }

        var isAtEnd: Bool { rest.isEmpty }

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard rest.first == UInt8(ascii: character) else { return false }
            rest.removeFirst()
            return true
        }

        mutating func digits(_ count: Int) -> Int? {
            guard rest.count >= count else { return nil }
            var number = 0
            for byte in rest.prefix(count) {
                guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
                number = number * 10 + Int(byte - UInt8(ascii: "0"))
            }
            rest.removeFirst(count)
            return number
        }

        /// Parses a time to seconds since midnight.
        mutating func time() -> Double? {
            guard let hour = digits(2), hour < 24, take(":"), let minute = digits(2), minute < 60 else { return nil }
            var seconds = Double(hour * 3600 + minute * 60)
            guard take(":") else { return seconds }
            guard let second = digits(2), second < 60 else { return nil }
            seconds += Double(second)
            guard take(".") || take(",") else { return seconds }
            var number = 0.0
            var unit = 1.0
            while let digit = digits(1) {
                number = number * 10 + Double(digit)
                unit *= 10
            }
            return unit > 1 ? seconds + number / unit : nil
        }

        /// Parses an offset to seconds east of Greenwich; 0 when it is missing.
        mutating func offset() -> Double? {
            if isAtEnd || take("Z") || take("z") { return 0 }
            let sign: Double = take("-") ? -1 : 1
            guard sign < 0 || take("+"), let hours = digits(2), hours < 24 else { return nil }
            if isAtEnd { return sign * Double(hours) * 3600 }
            _ = take(":")
            guard let minutes = digits(2), minutes < 60 else { return nil }
            return sign * Double(hours * 3600 + minutes * 60)
        }
    }
}
