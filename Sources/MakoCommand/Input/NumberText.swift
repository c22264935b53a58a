import Foundation

/// A number in JSON syntax.
///
/// Texts with leading zeros or a plus sign are not numbers, so that postal codes and telephone numbers stay text.
enum NumberText: Equatable {
    case integer(Int64)
    /// Above `Int64.max`.
    case unsigned(UInt64)
    case double(Double)

    init?(_ text: String) {
        guard let shape = Shape(of: text) else { return nil }
        if shape.isInteger {
            if let value = Int64(text) {
                self = .integer(value)
            } else if let value = UInt64(text) {
                self = .unsigned(value)
            } else {
                return nil
            }
        } else {
            guard let value = Double(text), value.isFinite else { return nil }
            self = .double(value)
        }
    }

    /// Whether a text is a number in JSON syntax, however large.
    static func isNumber(_ text: String) -> Bool { Shape(of: text) != nil }

    /// Whether a double has all significant digits of the text that was parsed to it: printed with as many digits, it
    /// is the same number. Zeros at the end are not significant, as in `1.10`.
    static func isExact(_ text: String, _ value: Double) -> Bool {
        // A double has any 15 digits, except near zero, which such a short text without an exponent cannot express.
        if text.utf8.count <= 16, !text.utf8.contains(where: { $0 | 32 == UInt8(ascii: "e") }) { return true }
        let digits = significantDigits(text)
        if digits.isEmpty || value == 0 { return digits.isEmpty && value == 0 }
        if digits.count <= 15, abs(value) >= .leastNormalMagnitude { return true }
        // The shortest digits of some powers of two are not the nearest ones.
        if significantDigits("\(value)") == digits { return true }
        // No double has more digits.
        guard digits.count <= 767 else { return false }
        return significantDigits(printed(value, digits: digits.count)) == digits
    }

    private static func printed(_ value: Double, digits: Int) -> String {
        let size = digits + 16
        var buffer = [CChar](repeating: 0, count: size)
        _ = withVaList([value]) { vsnprintf(&buffer, size, "%.\(digits - 1)e", $0) }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The digits of a number's coefficient, without zeros at the start and the end.
    private static func significantDigits(_ text: String) -> [UInt8] {
        let coefficient = text.utf8.prefix { $0 | 32 != UInt8(ascii: "e") }
        var digits = coefficient.filter { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
            .drop { $0 == UInt8(ascii: "0") }
        while digits.last == UInt8(ascii: "0") { digits.removeLast() }
        return Array(digits)
    }

    /// Checks the grammar of a number byte by byte.
    private struct Shape {
        private enum State { case start, sign, zero, whole, point, fraction, exponent, exponentSign, exponentDigits }
        private var state = State.start

        /// - Returns: nil if the text is no number.
        init?(of text: String) {
            for byte in text.utf8 where !take(byte) { return nil }
            if !isComplete { return nil }
        }

        var isComplete: Bool {
            switch state {
            case .zero, .whole, .fraction, .exponentDigits: true
            default: false
            }
        }

        var isInteger: Bool { state == .zero || state == .whole }

        mutating func take(_ byte: UInt8) -> Bool {
            switch (state, byte) {
            case (.start, UInt8(ascii: "-")): state = .sign
            case (.start, UInt8(ascii: "0")), (.sign, UInt8(ascii: "0")): state = .zero
            case (.start, UInt8(ascii: "1")...UInt8(ascii: "9")), (.sign, UInt8(ascii: "1")...UInt8(ascii: "9")):
                state = .whole
            case (.whole, UInt8(ascii: "0")...UInt8(ascii: "9")): break
            case (.zero, UInt8(ascii: ".")), (.whole, UInt8(ascii: ".")): state = .point
            case (.point, UInt8(ascii: "0")...UInt8(ascii: "9")), (.fraction, UInt8(ascii: "0")...UInt8(ascii: "9")):
                state = .fraction
            case (.zero, UInt8(ascii: "e")), (.whole, UInt8(ascii: "e")), (.fraction, UInt8(ascii: "e")),
                (.zero, UInt8(ascii: "E")), (.whole, UInt8(ascii: "E")), (.fraction, UInt8(ascii: "E")):
                state = .exponent
            case (.exponent, UInt8(ascii: "+")), (.exponent, UInt8(ascii: "-")): state = .exponentSign
            case (.exponent, UInt8(ascii: "0")...UInt8(ascii: "9")),
                (.exponentSign, UInt8(ascii: "0")...UInt8(ascii: "9")),
                (.exponentDigits, UInt8(ascii: "0")...UInt8(ascii: "9")):
                state = .exponentDigits
            default: return false
            }
            return true
        }
    }
}

/// Doubles as text that reads as the same number, including infinities and NaN.
enum DoubleText {
    static func exact(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Infinity" : "Infinity" }
        return "\(value)"
    }

    /// The infinity or NaN that a text names; nil for other texts.
    static func special(_ text: String) -> Double? {
        guard (3...9).contains(text.utf8.count) else { return nil }
        return switch text.lowercased() {
        case "nan": .nan
        case "infinity", "+infinity", "inf", "+inf": .infinity
        case "-infinity", "-inf": -.infinity
        default: nil
        }
    }
}
