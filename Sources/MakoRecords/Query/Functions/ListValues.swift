/// Reads the values of a list or a dictionary that a column stores as JSON.
struct ListValues {
    private let bytes: UnsafeRawBufferPointer
    private var place = 0

    /// Calls a closure with each value until it returns `false`; nested lists are NULL. A text that is not a list has
    /// no values.
    static func forEach(
        in bytes: UnsafeRawBufferPointer, _ arena: inout Arena,
        _ body: (Operand, inout Arena) throws(RecordError) -> Bool
    ) throws(RecordError) {
        var list = ListValues(bytes: bytes)
        try list.run(&arena, body)
    }

    private mutating func run(
        _ arena: inout Arena, _ body: (Operand, inout Arena) throws(RecordError) -> Bool
    ) throws(RecordError) {
        guard let open = next(), open == UInt8(ascii: "[") || open == UInt8(ascii: "{") else { return }
        let isDictionary = open == UInt8(ascii: "{")
        place += 1
        if next() == (isDictionary ? UInt8(ascii: "}") : UInt8(ascii: "]")) { return }
        while true {
            if isDictionary {
                guard next() == UInt8(ascii: "\""), string(&arena) != nil, next() == UInt8(ascii: ":") else { return }
                place += 1
            }
            guard let value = value(&arena), try body(value, &arena), next() == UInt8(ascii: ",") else { return }
            place += 1
        }
    }

    /// Moves to the next byte that is not white space, and returns it.
    private mutating func next() -> UInt8? {
        while place < bytes.count, bytes[place] == 32 || (9...13).contains(bytes[place]) { place += 1 }
        return place < bytes.count ? bytes[place] : nil
    }

    private mutating func value(_ arena: inout Arena) -> Operand? {
        switch next() {
        case UInt8(ascii: "\"")?: return string(&arena).map { .text($0) }
        case UInt8(ascii: "[")?, UInt8(ascii: "{")?:
            skip()
            return .null
        case nil: return nil
        default: return word()
        }
    }

    /// Reads a number, or `true`, `false`, `null`.
    private mutating func word() -> Operand? {
        let start = place
        while place < bytes.count, !",]} \t\r\n".utf8.contains(bytes[place]) { place += 1 }
        if start == place { return nil }
        let word = UnsafeRawBufferPointer(rebasing: bytes[start..<place])
        if let number = ListValues.whole(word) { return .integer(number) }
        switch String(decoding: word, as: UTF8.self) {
        case "true": return .bool(true)
        case "false": return .bool(false)
        case "null": return .null
        case let text:
            if let number = Int64(text) { return .integer(number) }
            if let number = UInt64(text) { return .unsigned(number) }
            return Double(text).map { .double($0) }
        }
    }

    private static func whole(_ word: UnsafeRawBufferPointer) -> Int64? {
        let isNegative = word.first == UInt8(ascii: "-")
        guard word.count - (isNegative ? 1 : 0) <= 18, word.count > (isNegative ? 1 : 0) else { return nil }
        var number: Int64 = 0
        for byte in word.dropFirst(isNegative ? 1 : 0) {
            guard byte >= 48, byte <= 57 else { return nil }
            number = number * 10 + Int64(byte - 48)
        }
        return isNegative ? -number : number
    }

    /// Skips a list or a dictionary.
    private mutating func skip() {
        var depth = 0
        while place < bytes.count {
            let byte = bytes[place]
            place += 1
            switch byte {
            case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                depth -= 1
                if depth == 0 { return }
            case UInt8(ascii: "\""):
                while place < bytes.count, bytes[place] != UInt8(ascii: "\"") {
                    place += bytes[place] == UInt8(ascii: "\\") ? 2 : 1
                }
                place = min(place + 1, bytes.count)
            default: break
            }
        }
    }

    /// Reads a text; its bytes are those of the column unless it has escapes.
    private mutating func string(_ arena: inout Arena) -> UnsafeRawBufferPointer? {
        place += 1
        let start = place
        var isPlain = true
        while place < bytes.count, bytes[place] != UInt8(ascii: "\"") {
            if bytes[place] == UInt8(ascii: "\\") {
                isPlain = false
                place += 1
            }
            place += 1
        }
        guard place < bytes.count else { return nil }
        let raw = UnsafeRawBufferPointer(rebasing: bytes[start..<place])
        place += 1
        return isPlain ? raw : arena.keep(ListValues.unescaped(raw))
    }

    private static func unescaped(_ raw: UnsafeRawBufferPointer) -> String {
        var result: [UInt8] = []
        var index = 0
        while index < raw.count {
            guard raw[index] == UInt8(ascii: "\\"), index + 1 < raw.count else {
                result.append(raw[index])
                index += 1
                continue
            }
            let mark = raw[index + 1]
            index += 2
            switch mark {
            case UInt8(ascii: "n"): result.append(10)
            case UInt8(ascii: "t"): result.append(9)
            case UInt8(ascii: "r"): result.append(13)
            case UInt8(ascii: "b"): result.append(8)
            case UInt8(ascii: "f"): result.append(12)
            case UInt8(ascii: "u"): result += scalar(raw, &index)
            default: result.append(mark)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Reads four hexadecimal digits, or a surrogate pair for a scalar beyond 16 bits.
    private static func scalar(_ raw: UnsafeRawBufferPointer, _ index: inout Int) -> [UInt8] {
        func unit(_ at: Int) -> UInt32? {
            guard at + 4 <= raw.count else { return nil }
            return UInt32(String(decoding: raw[at..<at + 4], as: UTF8.self), radix: 16)
        }
        guard var value = unit(index) else { return [] }
        index += 4
        if (0xD800..<0xDC00).contains(value), index + 6 <= raw.count, raw[index] == UInt8(ascii: "\\"),
            let low = unit(index + 2), (0xDC00..<0xE000).contains(low)
        {
            value = 0x10000 + (value - 0xD800) << 10 + (low - 0xDC00)
            index += 6
        }
        return Array(String(Unicode.Scalar(value).map(Character.init) ?? "\u{FFFD}").utf8)
    }
}
