import MakoRecords

extension DateText {
    /// Returns the shortest ISO 8601 text that parses to the same instant: without a time at midnight, without a fraction
    /// at full seconds; `nil` when there is none, as outside the years 0 to 9999. Dates are seconds since 2001-01-01 00:00
    /// UTC, as in Foundation's `Date`.
    static func iso(_ seconds: Double) -> String? {
        guard seconds.isFinite, abs(seconds) < 1e12 else { return nil }
        let (days, time) = daysAndTime(seconds.rounded(.down))
        let (year, month, day) = civil(days)
        guard (0...9999).contains(year) else { return nil }
        let text = "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
        let fraction = seconds - seconds.rounded(.down)
        if time == 0, fraction == 0 { return text }
        let clock = "\(text)T\(padded(time / 3600, 2)):\(padded(time / 60 % 60, 2)):\(padded(time % 60, 2))"
        // Dates with milliseconds or microseconds are frequent, and more digits would show the rounding of the double.
        // Nine match its precision in these years; near 2001 it has more.
        for digits in [3, 6, 9, 12, 15] {
            let form = clock + point(fraction, digits) + "Z"
            if parse(form) == seconds { return form }
        }
        return nil
    }

    /// `.25` for a quarter of a second.
    private static func point(_ fraction: Double, _ places: Int) -> String {
        var unit = 1.0
        for _ in 0..<places { unit *= 10 }
        let number = (fraction * unit).rounded()
        guard number > 0, number < unit else { return "" }
        var digits = padded(Int(number), places)
        while digits.hasSuffix("0") { digits.removeLast() }
        return "." + digits
    }
}
