/// A decimal as text columns hold it: digits with an optional sign, point and exponent.
package struct DecimalText {
    private let isNegative: Bool
    /// The digits from the first to the last that is not 0; empty for 0.
    private let digits: [UInt8]
    /// The number of digits before the point; if negative, the number of zeros between the point and the digits.
    private let point: Int

    /// Parses a decimal; `nil` for other texts.
    package init?(_ text: some Collection<UInt8>) {
        var rest = text[...]
        let sign = rest.first
        isNegative = sign == UInt8(ascii: "-")
        if isNegative || sign == UInt8(ascii: "+") { rest.removeFirst() }
        var digits: [UInt8] = []
        var point: Int?
        while let byte = rest.first {
            if byte == UInt8(ascii: "."), point == nil {
                point = digits.count
            } else if (48...57).contains(byte) {
                digits.append(byte - 48)
            } else {
                break
            }
            rest.removeFirst()
        }
        guard !digits.isEmpty else { return nil }
        var exponent = 0
        if let mark = rest.first {
            guard mark | 0x20 == UInt8(ascii: "e"),
                let number = Int(String(decoding: rest.dropFirst(), as: UTF8.self)), (-10_000...10_000).contains(number)
            else { return nil }
            exponent = number
        }
        let leading = digits.prefix { $0 == 0 }.count
        self.point = (point ?? digits.count) - leading + exponent
        digits.removeFirst(leading)
        while digits.last == 0 { digits.removeLast() }
        guard (-20_000...20_000).contains(self.point) else { return nil }
        self.digits = digits
    }

    /// Makes a decimal of a number; `nil` for other values.
    init?(_ value: Value) {
        switch value {
        case .text(let text): self.init(text.utf8)
        case .integer(let number): self.init("\(number)".utf8)
        case .unsigned(let number): self.init("\(number)".utf8)
        case .double(let number): self.init("\(number)".utf8)
        default: return nil
        }
    }

    /// The canonical text, so that equal decimals are equal texts.
    var plain: String {
        if digits.isEmpty { return "0" }
        var text = isNegative ? "-" : ""
        let written = digits.map { Character(UnicodeScalar($0 + 48)) }
        if point <= 0 {
            text += "0." + String(repeating: "0", count: -point) + String(written)
        } else if point >= digits.count {
            text += String(written) + String(repeating: "0", count: point - digits.count)
        } else {
            text += String(written[..<point]) + "." + String(written[point...])
        }
        return text
    }

    /// Bytes that sort as the decimals do.
    var order: [UInt8] {
        if digits.isEmpty { return [0x80] }
        let size = UInt16(truncatingIfNeeded: point + 0x8000)
        var bytes = [UInt8(size >> 8), UInt8(size & 0xFF)] + digits.map { $0 + 1 }
        if !isNegative { return [0x81] + bytes }
        // Of two negative decimals with a common prefix, the longer one is the smaller.
        bytes = bytes.map { ~$0 }
        return [0x7F] + bytes + [0xFF]
    }
}
