/// `CAST(x AS t)`, by SQLite's rules: a text that begins with a number is converted to that number, any other text to
/// 0.
enum Cast {
    /// Returns a value as text; `nil` if it has none.
    static func text(_ operand: Operand) -> String? {
        switch operand {
        case .text(let bytes), .blob(let bytes): String(decoding: bytes, as: UTF8.self)
        case .bool(let flag): flag ? "1" : "0"
        case .integer(let number): "\(number)"
        case .unsigned(let number): "\(number)"
        case .double(let number): text(number)
        case .date(let seconds): DateText.format(seconds)
        case .uuid(let high, let low): UUIDText.format(high, low)
        case .null: nil
        }
    }

    /// Returns a double with 15 digits, as SQLite prints it: `1.5`, `2.0`, `1.0e+20`.
    static func text(_ number: Double) -> String {
        if number.isNaN { return "NaN" }
        if number.isInfinite { return number < 0 ? "-Inf" : "Inf" }
        if number == 0 { return "0.0" }
        guard let (digits, point) = DecimalDigits(number)?.significant(15) else { return "\(number)" }
        let sign = number < 0 ? "-" : ""
        let text = String(decoding: digits.map { $0 + UInt8(ascii: "0") }, as: UTF8.self)
        let exponent = point - 1
        if exponent < -4 || exponent > 14 {
            let rest = text.dropFirst()
            let digits = String(exponent.magnitude)
            return sign + text.prefix(1) + "." + (rest.isEmpty ? "0" : rest) + "e" + (exponent < 0 ? "-" : "+")
                + (digits.utf8.count < 2 ? "0" : "") + digits
        }
        if point <= 0 { return sign + "0." + String(repeating: "0", count: -point) + text }
        if digits.count <= point { return sign + text + String(repeating: "0", count: point - digits.count) + ".0" }
        return sign + text.prefix(point) + "." + text.dropFirst(point)
    }

    /// Returns an integer; numbers beyond 64 bits become the nearest one.
    static func integer(_ operand: Operand) -> Operand {
        switch operand {
        case .integer, .unsigned: return operand
        case .bool(let flag): return .integer(flag ? 1 : 0)
        case .double(let number):
            if number.isNaN { return .integer(0) }
            return .integer(Int64(exactly: number.rounded(.towardZero)) ?? (number < 0 ? .min : .max))
        case .text(let bytes), .blob(let bytes): return .integer(leadingInteger(bytes))
        default: return .null
        }
    }

    static func real(_ operand: Operand) -> Operand {
        switch operand {
        case .text(let bytes), .blob(let bytes): .double(leadingNumber(bytes))
        case .bool(let flag): .double(flag ? 1 : 0)
        default: operand.asDouble.map { .double($0) } ?? .null
        }
    }

    static func bool(_ operand: Operand) -> Operand {
        switch operand {
        case .bool: operand
        case .text(let bytes):
            switch Folding.folded(String(decoding: bytes, as: UTF8.self)) {
            case "true": .bool(true)
            case "false": .bool(false)
            default: .bool(leadingNumber(bytes) != 0)
            }
        default: operand.asDouble.map { .bool($0 != 0) } ?? .null
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 32 || (9...13).contains(byte) }

    private static func leadingInteger(_ bytes: UnsafeRawBufferPointer) -> Int64 {
        var place = 0
        while place < bytes.count, isBlank(bytes[place]) { place += 1 }
        var isNegative = false
        if place < bytes.count, bytes[place] == UInt8(ascii: "-") || bytes[place] == UInt8(ascii: "+") {
            isNegative = bytes[place] == UInt8(ascii: "-")
            place += 1
        }
        var number: Int64 = 0
        while place < bytes.count, (48...57).contains(bytes[place]) {
            let digit = Int64(bytes[place] - 48)
            let (product, isBeyond) = number.multipliedReportingOverflow(by: 10)
            let (sum, isOver) =
                isNegative ? product.subtractingReportingOverflow(digit) : product.addingReportingOverflow(digit)
            if isBeyond || isOver { return isNegative ? .min : .max }
            number = sum
            place += 1
        }
        return number
    }

    private static func leadingNumber(_ bytes: UnsafeRawBufferPointer) -> Double {
        var place = 0
        while place < bytes.count, isBlank(bytes[place]) { place += 1 }
        let start = place
        func digits() -> Int {
            let first = place
            while place < bytes.count, (48...57).contains(bytes[place]) { place += 1 }
            return place - first
        }
        if place < bytes.count, bytes[place] == UInt8(ascii: "-") || bytes[place] == UInt8(ascii: "+") { place += 1 }
        var found = digits()
        if place < bytes.count, bytes[place] == UInt8(ascii: ".") {
            place += 1
            found += digits()
        }
        if found == 0 { return 0 }
        let end = place
        if place < bytes.count, bytes[place] | 0x20 == UInt8(ascii: "e") {
            place += 1
            if place < bytes.count, bytes[place] == UInt8(ascii: "-") || bytes[place] == UInt8(ascii: "+") {
                place += 1
            }
            if digits() == 0 { place = end }
        }
        var text = String(decoding: bytes[start..<place], as: UTF8.self)
        // Swift's parser requires a digit on both sides of the point.
        if let point = text.firstIndex(of: ".") {
            let next = text.index(after: point)
            if next == text.endIndex || !("0"..."9").contains(text[next]) { text.insert("0", at: next) }
            if point == text.startIndex || !("0"..."9").contains(text[text.index(before: point)]) {
                text.insert("0", at: point)
            }
        }
        return Double(text) ?? 0
    }
}
