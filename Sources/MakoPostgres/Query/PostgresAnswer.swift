import MakoRecords

/// Reads values of PostgreSQL's text format.
enum PostgresAnswer {
    /// Returns the value of a column; `nil` if the text is none of its kind.
    static func value(_ text: String?, _ kind: ValueKind) -> Value? {
        guard let text else { return .null }
        switch kind {
        case .bool: return text == "t" ? .bool(true) : text == "f" ? .bool(false) : nil
        // A kind that is open is that of text.
        case .text, .decimal, .null: return .text(text)
        case .whole: return whole(text)
        case .real: return Double(text).map { .double($0) }
        case .date: return Double(text).map { .date($0) }
        case .blob: return bytes(text.dropFirst(2)).map { .blob($0) }
        case .uuid:
            guard let bytes = bytes(text.filter { $0 != "-" }[...]), bytes.count == 16 else { return nil }
            return .uuid(word(bytes[..<8]), word(bytes[8...]))
        }
    }

    /// An integer, or, beyond 64 bits, a double.
    private static func whole(_ text: String) -> Value? {
        if let number = Int64(text) { return .integer(number) }
        if let number = UInt64(text) { return .unsigned(number) }
        return Double(text).map { .double($0) }
    }

    private static func word(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }

    private static func bytes(_ digits: Substring) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.utf8.count / 2)
        var high: UInt8?
        for digit in digits.utf8 {
            guard let number = Character(Unicode.Scalar(digit)).hexDigitValue.map({ UInt8($0) }) else { return nil }
            if let first = high {
                bytes.append(first << 4 | number)
                high = nil
            } else {
                high = number
            }
        }
        return high == nil ? bytes : nil
    }
}
