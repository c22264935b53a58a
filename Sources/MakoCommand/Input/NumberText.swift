/// A number in JSON syntax.
///
/// Texts with leading zeros or a plus sign are not numbers, so that postal codes and telephone numbers stay text.
enum NumberText: Equatable {
    case integer(Int64)
    /// Above `Int64.max`.
    case unsigned(UInt64)
    case double(Double)

    init?(_ text: String) {
        var shape = Shape()
        for byte in text.utf8 where !shape.take(byte) { return nil }
        guard shape.isComplete else { return nil }
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

    /// Checks the grammar of a number byte by byte.
    private struct Shape {
        private enum State { case start, sign, zero, whole, point, fraction, exponent, exponentSign, exponentDigits }
        private var state = State.start

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
