/// Dates as text, in the proleptic Gregorian calendar and UTC, without a calendar library.
package enum DateText {
    /// The hint of an error about an invalid date.
    package static let hint = "a date is written as '2026-01-31' or '2026-01-31 10:20:30'"

    /// Returns a hint for an error about a value of the wrong type: the literal of the expected type; empty if there is
    /// none.
    ///
    /// - Parameters:
    ///   - expected: the name of a column type, or of a Swift type.
    ///   - found: a text as `text '…'` or `'…'`; for other values there is no hint.
    package static func hint(expected: String, found: String) -> String {
        guard found.hasPrefix("text '") || found.hasPrefix("'") else { return "" }
        return ["date", "Date", "Date?", "Optional<Date>"].contains(expected) ? "; " + hint : ""
    }

    /// Seconds from 1970-01-01 to 2001-01-01.
    static let epoch = 978_307_200.0
    /// The start of the year 10000, from which on the text of a date cannot be parsed.
    static let end = 252_423_993_600.0

    /// Formats a date as `2026-01-31`, `2026-01-31 10:20:30` or with a fraction; a date out of range as its seconds.
    static func format(_ seconds: Double) -> String {
        guard seconds > -2.5e11, seconds < end else { return String(seconds) }
        let whole = seconds.rounded(.down)
        let fraction = seconds - whole
        let (days, time) = daysAndTime(whole)
        let (year, month, day) = civil(days)
        var text = "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
        if time != 0 || fraction != 0 {
            text += " \(padded(time / 3600, 2)):\(padded(time / 60 % 60, 2)):\(padded(time % 60, 2))"
            if fraction != 0 {
                text += "." + (fewestDigits(fraction, behind: text, of: seconds) ?? digits(ofFraction: fraction))
            }
        }
        return text
    }

    /// Returns the days from 1970-01-01 to a whole second, and the second of that day. Computed in doubles, which are
    /// exact here, because a 32-bit `Int` overflows.
    package static func daysAndTime(_ whole: Double) -> (days: Int, time: Int) {
        let total = whole + epoch
        let days = (total / 86_400).rounded(.down)
        return (Int(days), Int(total - days * 86_400))
    }

    /// Returns the milliseconds, microseconds or nanoseconds that are parsed to the same date; nil if it needs more
    /// digits. Those of the double itself would show its rounding: .12300002574920654 for .123.
    private static func fewestDigits(_ fraction: Double, behind text: String, of seconds: Double) -> String? {
        for (places, unit) in [(3, 1e3), (6, 1e6), (9, 1e9)] {
            let number = (fraction * unit).rounded()
            guard number > 0, number < unit else { continue }
            var digits = padded(Int(number), places)
            while digits.hasSuffix("0") { digits.removeLast() }
            if parse("\(text).\(digits)") == seconds { return digits }
        }
        return nil
    }

    /// Returns the digits after the point of a number below one: `5` and `00005`, which Swift prints as 0.5 and 5e-05.
    private static func digits(ofFraction fraction: Double) -> String {
        let parts = String(fraction).split(separator: "e")
        let digits = parts[0].filter { $0 != "." }
        guard parts.count == 2, let exponent = Int(parts[1]) else { return String(digits.dropFirst()) }
        return String(repeating: "0", count: -exponent - 1) + digits
    }

    /// Parses `2026-01-31`, `2026-01-31 10:20`, `2026-01-31T10:20:30.5Z`, `…+02:00`, `…+0200` and `…+02`; returns `nil` for
    /// other texts. Without an offset the time is UTC.
    package static func parse(_ text: String) -> Double? {
        var scanner = Scanner(bytes: Array(text.utf8))
        guard let year = scanner.digits(4), scanner.take("-"), let month = scanner.digits(2), scanner.take("-"),
            let day = scanner.digits(2), (1...12).contains(month), day >= 1, day <= length(ofMonth: month, year)
        else { return nil }
        let midnight = Double(days(year, month, day)) * 86_400 - epoch
        if scanner.isAtEnd { return midnight }
        guard scanner.takeAny("T", "t", " "), let (time, fraction) = scanner.time(), let offset = scanner.offset(),
            scanner.isAtEnd
        else { return nil }
        return midnight + Double(time) + fraction - Double(offset)
    }

    private struct Scanner {
        let bytes: [UInt8]
        var place = 0
        var isAtEnd: Bool { place >= bytes.count }

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard place < bytes.count, UInt32(bytes[place]) == character.value else { return false }
            place += 1
            return true
        }

        mutating func takeAny(_ characters: Unicode.Scalar...) -> Bool { characters.contains { take($0) } }

        mutating func digits(_ count: Int) -> Int? {
            guard place + count <= bytes.count else { return nil }
            var number = 0
            for byte in bytes[place..<place + count] {
                guard byte >= 48, byte <= 57 else { return nil }
                number = number * 10 + Int(byte - 48)
            }
            place += count
            return number
        }

        /// Parses `10:20`, `10:20:30` and `10:20:30.5`. The leap second 60 is the next minute.
        mutating func time() -> (seconds: Int, fraction: Double)? {
            guard let hour = digits(2), take(":"), let minute = digits(2), hour < 24, minute < 60 else { return nil }
            let seconds = hour * 3600 + minute * 60
            guard take(":") else { return (seconds, 0) }
            guard let second = digits(2), second < 61, let fraction = fraction() else { return nil }
            return (seconds + second, fraction)
        }

        /// Parses `.25` and `,25` as 0.25 and nothing as 0; returns `nil` for a point without digits.
        private mutating func fraction() -> Double? {
            guard takeAny(".", ",") else { return 0 }
            let start = place
            while place < bytes.count, bytes[place] >= 48, bytes[place] <= 57 { place += 1 }
            return start == place ? nil : Double("0." + String(decoding: bytes[start..<place], as: UTF8.self))
        }

        /// Parses an offset to seconds east of Greenwich; 0 for `Z` and for nothing.
        mutating func offset() -> Int? {
            if isAtEnd || takeAny("Z", "z") { return 0 }
            let isEast = take("+")
            guard isEast || take("-"), let hours = digits(2), hours < 24 else { return nil }
            let isWhole = isAtEnd
            _ = take(":")
            guard let minutes = isWhole ? 0 : digits(2), minutes < 60 else { return nil }
            return (hours * 3600 + minutes * 60) * (isEast ? 1 : -1)
        }
    }

    static func floorDivide(_ a: Int, _ b: Int) -> Int { a >= 0 ? a / b : -((b - 1 - a) / b) }

    package static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(abs(number))
        return (number < 0 ? "-" : "") + String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    private static func length(ofMonth month: Int, _ year: Int) -> Int {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return month == 2 ? (isLeap ? 29 : 28) : ([4, 6, 9, 11].contains(month) ? 30 : 31)
    }

    /// Returns the days from 1970-01-01. Years start in March, so that the leap day is the last of its year.
    static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let shifted = month <= 2 ? year - 1 : year
        let era = floorDivide(shifted, 400)
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    package static func civil(_ days: Int) -> (Int, Int, Int) {
        let shifted = days + 719_468
        let era = floorDivide(shifted, 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let civilMonth = month < 10 ? month + 3 : month - 9
        return (yearOfEra + era * 400 + (civilMonth <= 2 ? 1 : 0), civilMonth, dayOfYear - (153 * month + 2) / 5 + 1)
    }
}

/// UUIDs as text.
enum UUIDText {
    static func format(_ high: UInt64, _ low: UInt64) -> String {
        let digits = padded(high) + padded(low)
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index == 8 || index == 12 || index == 16 || index == 20 { text.append("-") }
            text.append(digit)
        }
        return text
    }

    /// Parses 32 hexadecimal digits, with hyphens at the usual positions or without.
    static func parse(_ text: String) -> (high: UInt64, low: UInt64)? {
        var digits = ""
        for (index, character) in text.enumerated() {
            if character == "-" {
                guard text.utf8.count == 36, [8, 13, 18, 23].contains(index) else { return nil }
            } else {
                digits.append(character)
            }
        }
        guard digits.utf8.count == 32, digits.utf8.allSatisfy({ $0 != 43 && $0 != 45 }),
            let high = UInt64(digits.prefix(16), radix: 16), let low = UInt64(digits.suffix(16), radix: 16)
        else { return nil }
        return (high, low)
    }

    private static func padded(_ number: UInt64) -> String {
        let digits = String(number, radix: 16, uppercase: true)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
