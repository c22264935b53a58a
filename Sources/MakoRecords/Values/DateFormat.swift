// Dates in a custom format: strftime.
extension DateText {
    /// The letters that a pattern may have after `%`.
    private static let marks = "YmdHMSfjws%".unicodeScalars

    /// The start of the Julian day numbers, 4714-11-24 12:00 BCE, before which SQLite has no dates.
    private static let start = -211_845_067_200.0

    /// Returns the first unknown letter of a pattern; an empty text if the pattern ends with `%`.
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

    /// Formats a date in UTC by a pattern of SQLite's `strftime`: `%Y-%m-%d %H:%M:%S`, `%f` for seconds with
    /// milliseconds, `%j` for the day of the year, `%w` for the day of the week from Sunday's 0, `%s` for whole seconds
    /// since 1970.
    ///
    /// - Returns: `nil` for an unknown letter, and for dates out of range.
    static func format(_ seconds: Double, _ pattern: String) -> String? {
        guard seconds >= start, seconds < end else { return nil }
        // Milliseconds are not rounded up to the next second, which would carry into all other fields.
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
            // The sign is one of the four characters.
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
