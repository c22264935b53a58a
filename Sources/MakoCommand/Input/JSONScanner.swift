/// Parses JSON values (RFC 8259) from a stream and counts lines.
struct JSONScanner {
    var input: ByteInput
    private(set) var line: Int
    /// Whether numbers become ``JSONValue/number(_:)``.
    private let keepsDigits: Bool

    static let deepest = 256

    init(_ input: ByteInput, line: Int = 1, keepsDigits: Bool = false) {
        self.input = input
        self.line = line
        self.keepsDigits = keepsDigits
    }

    /// Skips white space and returns the next byte without consuming it.
    mutating func peekToken() throws(InputError) -> UInt8? {
        while let byte = try input.peek() {
            switch byte {
            case .lineFeed: line += 1
            case UInt8(ascii: " "), UInt8(ascii: "\t"), .carriageReturn: break
            default: return byte
            }
            _ = try input.next()
        }
        return nil
    }

    /// Skips white space and consumes the given byte, which must be next.
    mutating func expect(_ byte: UInt8, _ place: String) throws(InputError) {
        guard try peekToken() == byte else {
            throw error("expected '\(Character(Unicode.Scalar(byte)))' \(place), found \(try found())")
        }
        _ = try input.next()
    }

    /// Parses one value.
    mutating func value(depth: Int = 0) throws(InputError) -> JSONValue {
        try nested(depth) { (scanner) throws(InputError) in try scanner.level(depth) }
    }

    private mutating func level(_ depth: Int) throws(InputError) -> JSONValue {
        switch try peekToken() {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case .quote: return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case let byte? where byte == UInt8(ascii: "-") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte):
            return try number()
        default: throw error("expected a value, found \(try found())")
        }
    }

    private mutating func object(depth: Int) throws(InputError) -> JSONValue {
        try expect(UInt8(ascii: "{"), "before an object")
        var members: [(key: String, value: JSONValue)] = []
        if try peekToken() == UInt8(ascii: "}") {
            _ = try input.next()
            return .object([])
        }
        while true {
            guard try peekToken() == .quote else { throw error("expected a key in quotes, found \(try found())") }
            let key = try string()
            try expect(UInt8(ascii: ":"), "after the key \"\(key)\"")
            members.append((key, try value(depth: depth + 1)))
            if try peekToken() == UInt8(ascii: ",") {
                _ = try input.next()
            } else {
                try expect(UInt8(ascii: "}"), "or ',' after the value of \"\(key)\"")
                return .object(members)
            }
        }
    }

    private mutating func array(depth: Int) throws(InputError) -> JSONValue {
        try expect(UInt8(ascii: "["), "before an array")
        var elements: [JSONValue] = []
        if try peekToken() == UInt8(ascii: "]") {
            _ = try input.next()
            return .array([])
        }
        while true {
            elements.append(try value(depth: depth + 1))
            if try peekToken() == UInt8(ascii: ",") {
                _ = try input.next()
            } else {
                try expect(UInt8(ascii: "]"), "or ',' after an element")
                return .array(elements)
            }
        }
    }

    private mutating func word(_ word: String, _ value: JSONValue) throws(InputError) -> JSONValue {
        for byte in word.utf8 {
            guard try input.next() == byte else { throw error("expected '\(word)'") }
        }
        return value
    }

    private mutating func number() throws(InputError) -> JSONValue {
        var digits: [UInt8] = []
        while let byte = try input.peek(), isNumberByte(byte) {
            digits.append(byte)
            _ = try input.next()
        }
        let text = String(decoding: digits, as: UTF8.self)
        guard NumberText.isNumber(text) else { throw error("'\(text)' is not a number") }
        if keepsDigits { return .number(text) }
        switch NumberText(text) {
        case .integer(let value): return .integer(value)
        case .unsigned(let value): return .unsigned(value)
        case .double(let value): return .double(value)
        case nil: throw error("the number \(text) is out of range")
        }
    }

    private func isNumberByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."),
            UInt8(ascii: "e"), UInt8(ascii: "E"):
            true
        default: false
        }
    }

    private mutating func string() throws(InputError) -> String {
        _ = try input.next()
        var bytes: [UInt8] = []
        let stops = Self.stringStops
        while true {
            try input.append(to: &bytes, until: stops)
            switch try input.next() {
            case .quote:
                guard let text = String(validating: bytes, as: UTF8.self) else {
                    throw error("a string is not UTF-8 text")
                }
                return text
            case .backslash: try escape(into: &bytes)
            case .lineFeed: throw error("a string is not closed on its line")
            case nil: throw error("the input ends inside a string")
            case let byte?: throw error("the control character \(byte) in a string must be written as an escape")
            }
        }
    }

    private static let stringStops: ByteSet = {
        var stops = ByteSet(.quote, .backslash)
        for byte in UInt8(0)..<32 { stops.insert(byte) }
        return stops
    }()

    private mutating func escape(into bytes: inout [UInt8]) throws(InputError) {
        switch try input.next() {
        case .quote: bytes.append(.quote)
        case .backslash: bytes.append(.backslash)
        case UInt8(ascii: "/"): bytes.append(UInt8(ascii: "/"))
        case UInt8(ascii: "b"): bytes.append(8)
        case UInt8(ascii: "f"): bytes.append(12)
        case UInt8(ascii: "n"): bytes.append(.lineFeed)
        case UInt8(ascii: "r"): bytes.append(.carriageReturn)
        case UInt8(ascii: "t"): bytes.append(UInt8(ascii: "\t"))
        case UInt8(ascii: "u"): bytes.append(contentsOf: String(Character(try unicodeEscape())).utf8)
        default: throw error("an unknown escape in a string")
        }
    }

    /// Parses the rest of a `\u` escape: one unit, or a surrogate pair.
    private mutating func unicodeEscape() throws(InputError) -> Unicode.Scalar {
        let first = try fourHexDigits()
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard first < 0xDC00, try input.next() == .backslash, try input.next() == UInt8(ascii: "u") else {
            throw error("half of a surrogate pair in a string")
        }
        let second = try fourHexDigits()
        guard (0xDC00...0xDFFF).contains(second),
            let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
        else { throw error("half of a surrogate pair in a string") }
        return scalar
    }

    private mutating func fourHexDigits() throws(InputError) -> UInt32 {
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = try input.next(), let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 128
            else {
                throw error("\\u needs four hexadecimal digits")
            }
            unit = unit << 4 | UInt32(digit)
        }
        return unit
    }

    private mutating func found() throws(InputError) -> String {
        guard let byte = try peekToken() else { return "the end of the input" }
        return byte > 32 && byte < 127 ? "'\(Character(Unicode.Scalar(byte)))'" : "the byte \(byte)"
    }

    func error(_ message: String) -> InputError {
        InputError(source: input.name, line: line, message: message)
    }
}
