import MakoRecords

/// Converts input fields to values of a column's type.
enum FieldConversion {
    /// The field as a value of the type, `.null` for a missing field; `nil` when it does not fit.
    static func value(_ field: InputField, as type: ColumnType) -> Value? {
        switch field {
        case .missing: .null
        case .raw(let text): text.isEmpty && type != .text ? .null : value(text, as: type)
        case .string(let text), .json(let text): value(text, as: type)
        case .bool(let flag): value(flag, as: type)
        case .integer(let number): value(NumberText.integer(number), as: type)
        case .unsigned(let number): value(NumberText.unsigned(number), as: type)
        case .double(let number): value(NumberText.double(number), as: type)
        }
    }

    /// `true` and `false`, case-insensitive.
    static func bool(_ text: String) -> Bool? {
        switch text.utf8.count {
        case 4 where text.lowercased() == "true": true
        case 5 where text.lowercased() == "false": false
        default: nil
        }
    }

    private static func value(_ text: String, as type: ColumnType) -> Value? {
        switch type {
        case .text: .text(text)
        case .double: DoubleText.special(text).map(Value.double) ?? NumberText(text).flatMap { value($0, as: type) }
        case .integer, .unsigned, .reference: NumberText(text).flatMap { value($0, as: type) }
        case .bool: bool(text).map(Value.bool) ?? (text == "1" ? .bool(true) : text == "0" ? .bool(false) : nil)
        case .date: (DateText.parse(text) ?? seconds(text)).map(Value.date)
        case .uuid: type.coerced(.text(text))
        case .blob, .keys: blob(text)
        }
    }

    /// Seconds since 2001, the export format of dates beyond ISO 8601.
    private static func seconds(_ text: String) -> Double? {
        if let special = DoubleText.special(text) { return special }
        guard case .double(let seconds)? = NumberText(text) else { return nil }
        return seconds
    }

    private static func value(_ flag: Bool, as type: ColumnType) -> Value? {
        switch type {
        case .bool: .bool(flag)
        case .integer, .reference: .integer(flag ? 1 : 0)
        case .text: .text(flag ? "true" : "false")
        default: nil
        }
    }

    private static func value(_ number: NumberText, as type: ColumnType) -> Value? {
        switch (type, number) {
        case (.integer, .integer(let number)), (.reference, .integer(let number)): .integer(number)
        case (.unsigned, .integer(let number)): number < 0 ? nil : .integer(number)
        case (.unsigned, .unsigned(let number)): .unsigned(number)
        case (.double, .integer(let number)): Double(exactly: number).map(Value.double)
        case (.double, .unsigned(let number)): Double(exactly: number).map(Value.double)
        case (.double, .double(let number)): .double(number)
        case (.bool, .integer(0)): .bool(false)
        case (.bool, .integer(1)): .bool(true)
        case (.text, .integer(let number)): .text(String(number))
        case (.text, .unsigned(let number)): .text(String(number))
        case (.text, .double(let number)): .text("\(number)")
        default: nil
        }
    }

    /// Bytes as `x'00ff'`, their export format.
    private static func blob(_ text: String) -> Value? {
        let bytes = Array(text.utf8)
        guard bytes.count >= 3, bytes.count % 2 == 1, bytes[0] | 32 == UInt8(ascii: "x"), bytes[1] == UInt8(ascii: "'"),
            bytes.last == UInt8(ascii: "'"), bytes[2..<bytes.count - 1].allSatisfy({ isHexadecimal($0) })
        else { return nil }
        var result: [UInt8] = []
        for start in stride(from: 2, to: bytes.count - 1, by: 2) {
            guard let byte = UInt8(String(decoding: bytes[start..<start + 2], as: UTF8.self), radix: 16) else {
                return nil
            }
            result.append(byte)
        }
        return .blob(result)
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 32)
    }
}
