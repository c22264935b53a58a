import MakoRecords
import MakoStorage

extension JSONValue {
    /// The value as compact JSON text.
    var text: String {
        var text = ""
        write(into: &text)
        return text
    }

    private func write(into text: inout String) {
        func write() { writeLevel(into: &text) }
        StackGuard.run(isDeep: false, write, orElse: write)
    }

    private func writeLevel(into text: inout String) {
        switch self {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .integer(let value): text += String(value)
        case .unsigned(let value): text += String(value)
        case .double(let value): text += JSONText.number(value)
        case .number(let digits): text += digits
        case .string(let string): text += JSONText.quoted(string)
        case .array(let elements):
            text += "["
            for (index, element) in elements.enumerated() {
                if index > 0 { text += "," }
                element.write(into: &text)
            }
            text += "]"
        case .object(let members):
            text += "{"
            for (index, member) in members.enumerated() {
                if index > 0 { text += "," }
                text += JSONText.quoted(member.key) + ":"
                member.value.write(into: &text)
            }
            text += "}"
        }
    }
}

/// Formats JSON.
enum JSONText {
    /// A quoted and escaped string.
    static func quoted(_ text: String) -> String {
        var bytes: [UInt8] = [.quote]
        bytes.reserveCapacity(text.utf8.count + 2)
        for byte in text.utf8 {
            switch byte {
            case .quote, .backslash: bytes += [.backslash, byte]
            case .lineFeed: bytes += [.backslash, UInt8(ascii: "n")]
            case .carriageReturn: bytes += [.backslash, UInt8(ascii: "r")]
            case UInt8(ascii: "\t"): bytes += [.backslash, UInt8(ascii: "t")]
            case 0..<32: bytes += Array((byte < 16 ? "\\u000" : "\\u00").utf8) + Array(String(byte, radix: 16).utf8)
            default: bytes.append(byte)
            }
        }
        bytes.append(.quote)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A number. JSON has no infinities and no NaN: these become strings, which a column of doubles reads.
    static func number(_ value: Double) -> String {
        value.isFinite ? "\(value)" : "\"\(DoubleText.exact(value))\""
    }

    /// A stored value: numbers and Booleans unquoted, other values as strings.
    static func value(_ value: Value) -> String {
        switch value {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .integer(let value): String(value)
        case .unsigned(let value): String(value)
        case .double(let value): number(value)
        default: quoted(PlainText.of(value))
        }
    }
}

/// Stored values as text that a column of that type reads as the same value.
enum PlainText {
    static func of(_ value: Value) -> String {
        switch value {
        case .null: ""
        case .bool(let value): value ? "true" : "false"
        case .integer(let value): String(value)
        case .unsigned(let value): String(value)
        case .double(let value): number(value)
        case .text(let text): text
        case .blob(let bytes): "x'" + hexadecimal(bytes) + "'"
        case .date(let seconds): DateText.iso(seconds) ?? DoubleText.exact(seconds)
        case .uuid(let high, let low): uuid(high, low)
        }
    }

    private static func number(_ value: Double) -> String {
        // 3.0 is written as 3, which a column of doubles reads as a double.
        value == value.rounded() && abs(value) < 1e15 && !(value == 0 && value.sign == .minus)
            ? String(Int64(value)) : DoubleText.exact(value)
    }

    static func hexadecimal(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count * 2)
        for byte in bytes { text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]] }
        return String(decoding: text, as: UTF8.self)
    }

    private static func uuid(_ high: UInt64, _ low: UInt64) -> String {
        var text = ""
        for (index, byte) in (bytes(of: high) + bytes(of: low)).enumerated() {
            if [4, 6, 8, 10].contains(index) { text += "-" }
            text += hexadecimal([byte])
        }
        return text.uppercased()
    }

    private static func bytes(of word: UInt64) -> [UInt8] {
        stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> UInt64($0)) }
    }
}

extension JSONScanner {
    /// Runs a body for one level of nesting, with a check of the stack.
    mutating func nested(
        _ depth: Int, _ body: (inout JSONScanner) throws(InputError) -> JSONValue
    ) throws(InputError) -> JSONValue {
        guard depth < Self.deepest else { throw error("arrays and objects are nested more than \(Self.deepest) deep") }
        return try StackGuard.run(isDeep: false) { () throws(InputError) in
            try body(&self)
        } orElse: { () throws(InputError) in
            throw error("arrays and objects are nested too deep for the stack")
        }
    }
}
