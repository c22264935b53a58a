// Dates in a form of the query's own: strftime.
extension DateText {
    /// The marks that a pattern may have behind `%`.
    private static let marks = "YmdHMSfjws%".unicodeScalars

    /// The beginning of the Julian day numbers, 4714-11-24 12:00 before our era: SQLite knows no date before it.
    private static let start = -211_845_067_200.0

    /// The first mark of a pattern that has no meaning; empty when the pattern ends behind a `%`.
    static func unknownMark(_ pattern: String) -> String? {
        var isMark = false
        for scalar in pattern.unicodeScalars {
            if isMark {
                if !marks.contains(scalar) { return String(scalar) }
                isMark = false
            } else {
                isMark = scalar == "%"
            }
        }
        return isMark ? "" : nil
    }

    /// A date in UTC, by a pattern of SQLite's `strftime`: `%Y-%m-%d %H:%M:%S`, `%f` for seconds with milliseconds, `%j` for the day of
    /// the year, `%w` for the day of the week from Sunday's 0, `%s` for whole seconds since 1970.
    ///
    /// - Returns: `nil` for an unknown mark, and for dates that no calendar reaches.
    static func format(_ seconds: Double, _ pattern: String) -> String? {
        guard seconds >= start, seconds < end else { return nil }
        // Half a millisecond before a full second is not rounded up to it, which would carry into everything else.
        let whole = seconds.rounded(.down)
        let (days, time) = daysAndTime(whole)
        let (year, month, day) = civil(days)
        var text = ""
        var isMark = false
        for scalar in pattern.unicodeScalars {
            if !isMark {
                if scalar == "%" { isMark = true } else { text.unicodeScalars.append(scalar) }
                continue
            }
            isMark = false
            switch scalar {
            // The sign is one of the four places.
            case "Y": text += year < 0 ? "-" + padded(-year, 3) : padded(year, 4)
            case "m": text += padded(month, 2)
            case "d": text += padded(day, 2)
            case "H": text += padded(time / 3600, 2)
            case "M": text += padded(time / 60 % 60, 2)
            case "S": text += padded(time % 60, 2)
            case "f":
                let thousandths = min(999, Int(((seconds - whole) * 1000).rounded()))
                text += padded(time % 60, 2) + "." + padded(thousandths, 3)
            case "j": text += padded(days - self.days(year, 1, 1) + 1, 3)
            case "w": text += String((days + 4) - floorDivide(days + 4, 7) * 7)
            case "s": text += String(Int64(whole + epoch))
            case "%": text += "%"
            default: return nil
            }
        }
        return isMark ? nil : text
    }
}
