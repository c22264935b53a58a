/// Decimals as columns of text hold them: digits, perhaps a sign, a point and an exponent.
struct DecimalText {
    private let isNegative: Bool
    /// From the first that is not 0 to the last; none for 0.
    private let digits: [UInt8]
    /// How many digits stand before the point; below 0, how many zeros behind it come before the digits.
    private let point: Int

    /// Nil: it is no decimal.
    init?(_ text: some Collection<UInt8>) {
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

    /// A number as a decimal; nil for what is none.
    init?(_ value: Value) {
        switch value {
        case .text(let text): self.init(text.utf8)
        case .integer(let number): self.init("\(number)".utf8)
        case .unsigned(let number): self.init("\(number)".utf8)
        case .double(let number): self.init("\(number)".utf8)
        default: return nil
        }
    }

    /// As a property writes it, so that equal decimals are equal texts.
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

    /// Bytes whose order is that of the decimals.
    var order: [UInt8] {
        if digits.isEmpty { return [0x80] }
        let size = UInt16(truncatingIfNeeded: point + 0x8000)
        var bytes = [UInt8(size >> 8), UInt8(size & 0xFF)] + digits.map { $0 + 1 }
        if !isNegative { return [0x81] + bytes }
        // Of two negative ones the longer is the smaller.
        bytes = bytes.map { ~$0 }
        return [0x7F] + bytes + [0xFF]
    }
}
