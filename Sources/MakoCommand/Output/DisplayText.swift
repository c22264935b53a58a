/// Formats text for a terminal.
enum DisplayText {
    /// The display width of text: 0 for combining marks, 2 for East Asian wide characters and emoji.
    static func width(_ text: String) -> Int {
        if text.utf8.allSatisfy({ $0 < 128 }) { return text.utf8.count }
        return text.reduce(0) { $0 + width($1) }
    }

    static func width(_ character: Character) -> Int {
        guard let scalar = character.unicodeScalars.first else { return 0 }
        if scalar.value < 0x300 { return 1 }
        if character.unicodeScalars.contains(where: { $0.value == 0xFE0F }) { return 2 }
        if scalar.properties.isEmojiPresentation { return 2 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: return wide.contains { $0.contains(scalar.value) } ? 2 : 1
        }
    }

    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF,
        0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x20000...0x3FFFD,
    ]

    /// Text on one line, with control characters escaped.
    static func onOneLine(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else { return text }
        var line = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": line += "\\n"
            case "\r": line += "\\r"
            case "\t": line += "\\t"
            default:
                if scalar.properties.generalCategory == .control {
                    line += "\\x" + PlainText.hexadecimal([UInt8(truncatingIfNeeded: scalar.value)])
                } else {
                    line.unicodeScalars.append(scalar)
                }
            }
        }
        return line
    }

    /// Text with line breaks and tabs, and with other control characters escaped as `\x1b`, so that the terminal does
    /// not interpret them.
    static func visible(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isObeyed) else { return text }
        var shown = ""
        for scalar in text.unicodeScalars {
            if isObeyed(scalar) {
                let digits = String(scalar.value, radix: 16)
                shown += scalar.value < 256 ? "\\x" + (digits.count < 2 ? "0" : "") + digits : "\\u{\(digits)}"
            } else {
                shown.unicodeScalars.append(scalar)
            }
        }
        return shown
    }

    /// Control characters, and characters that change the direction of text.
    private static func isObeyed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 9, 10: false
        case 0..<32, 0x7F..<0xA0, 0x202A...0x202E, 0x2066...0x2069: true
        default: false
        }
    }

    /// Text truncated to a width, with `…` as the last character if something was cut.
    static func cut(_ text: String, to limit: Int) -> String {
        guard width(text) > limit, limit > 0 else { return text }
        var result = ""
        var taken = 0
        for character in text {
            let next = width(character)
            if taken + next > limit - 1 { break }
            result.append(character)
            taken += next
        }
        return result + "…"
    }

    /// `1,234,567`.
    static func grouped(_ number: Int) -> String {
        var digits = Array(String(number.magnitude))
        var place = digits.count - 3
        while place > 0 {
            digits.insert(",", at: place)
            place -= 3
        }
        return (number < 0 ? "-" : "") + String(digits)
    }

    /// `3.2 MB`, in powers of 1000.
    static func bytes(_ count: Int) -> String {
        var value = Double(count)
        for unit in ["bytes", "kB", "MB", "GB", "TB"] {
            if value < 999.5 || unit == "TB" {
                return unit == "bytes" ? "\(count) bytes" : "\(rounded(value, value < 10 ? 1 : 0)) \(unit)"
            }
            value /= 1000
        }
        return "\(count) bytes"
    }

    /// `820 µs`, `1.3 ms`, `4.2 s`.
    static func duration(_ duration: Duration) -> String {
        let seconds = Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
        if seconds < 0.001 { return "\(rounded(seconds * 1e6, 0)) µs" }
        if seconds < 1 { return "\(rounded(seconds * 1e3, seconds < 0.1 ? 1 : 0)) ms" }
        return "\(rounded(seconds, seconds < 100 ? 1 : 0)) s"
    }

    /// The age of something, in one unit and rounded down: `90 seconds`, `90 minutes`, `36 hours`, `12 days`.
    static func age(milliseconds: UInt64) -> String {
        let seconds = Int(clamping: milliseconds / 1000)
        for (unit, length) in [("day", 86_400), ("hour", 3600), ("minute", 60)] where seconds >= 2 * length {
            return count(seconds / length, unit)
        }
        return count(seconds, "second")
    }

    static func count(_ number: Int, _ noun: String, plural: String? = nil) -> String {
        "\(grouped(number)) \(number == 1 ? noun : plural ?? noun + "s")"
    }

    private static func rounded(_ value: Double, _ places: Int) -> String {
        if places == 0 { return String(Int(value.rounded())) }
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}
