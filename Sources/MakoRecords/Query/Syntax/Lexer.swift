/// A token of the query languages.
struct Token: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        /// A bare word: a name or a keyword.
        case word(String)
        /// A name in double quotes, back quotes or brackets: never a keyword.
        case name(String)
        case literal(Value)
        case parameter(Parameter?)
        case symbol(String)
        case end
    }

    let kind: Kind
    let offset: Int
    let length: Int
}

/// Splits a text into tokens. Works on bytes; every byte beyond ASCII is part of a name.
struct Lexer {
    private let text: String
    private let bytes: [UInt8]
    private var place = 0

    init(_ text: String) {
        self.text = text
        bytes = Array(text.utf8)
    }

    static func tokens(of text: String) throws(RecordError) -> [Token] {
        var lexer = Lexer(text)
        var tokens: [Token] = []
        repeat { tokens.append(try lexer.next()) } while tokens.last?.kind != .end
        return tokens
    }

    private mutating func next() throws(RecordError) -> Token {
        try skipBlanks()
        let start = place
        guard place < bytes.count else { return Token(kind: .end, offset: start, length: 1) }
        let kind = try read()
        return Token(kind: kind, offset: start, length: place - start)
    }

    private mutating func skipBlanks() throws(RecordError) {
        while place < bytes.count {
            if bytes[place] == 32 || (9...13).contains(bytes[place]) {
                place += 1
            } else if peek("--") {
                while place < bytes.count, bytes[place] != 10 { place += 1 }
            } else if peek("/*") {
                try skipComment()
            } else {
                return
            }
        }
    }

    private mutating func skipComment() throws(RecordError) {
        let start = place
        place += 2
        while place < bytes.count {
            if peek("*/") {
                place += 2
                return
            }
            place += 1
        }
        throw error("the comment that begins here has no end", start, 2)
    }

    private mutating func read() throws(RecordError) -> Token.Kind {
        let byte = bytes[place]
        switch byte {
        case UInt8(ascii: "'"): return .literal(.text(try quoted(until: UInt8(ascii: "'"), "text")))
        case UInt8(ascii: "\""), UInt8(ascii: "`"): return .name(try quoted(until: byte, "name"))
        case UInt8(ascii: "["): return .name(try quoted(until: UInt8(ascii: "]"), "name"))
        case UInt8(ascii: "0")...UInt8(ascii: "9"): return .literal(try number())
        case UInt8(ascii: ".") where isDigit(place + 1): return .literal(try number())
        case UInt8(ascii: "?"): return try parameter()
        case UInt8(ascii: ":") where isNameByte(place + 1): return try parameter()
        case UInt8(ascii: "x"), UInt8(ascii: "X"):
            if place + 1 < bytes.count, bytes[place + 1] == UInt8(ascii: "'") { return .literal(try blob()) }
            return .word(name())
        default:
            if isNameByte(place) { return .word(name()) }
            for symbol in ["<=", ">=", "<>", "!=", "==", "&&", "||"] where peek(symbol) {
                place += 2
                return .symbol(symbol)
            }
            // An escaped percent sign of predicate formats, the remainder.
            if peek("\\%") {
                place += 2
                return .symbol("%")
            }
            guard "()=<>,.+-*/%!@;".utf8.contains(byte) else {
                let hint = peek("::") ? "; x::type is written CAST(x AS type)" : ""
                throw error("this character has no meaning here\(hint)", place, 1)
            }
            place += 1
            return .symbol(String(UnicodeScalar(byte)))
        }
    }

    private func peek(_ symbol: String) -> Bool { bytes[place...].starts(with: symbol.utf8) }

    private func isDigit(_ index: Int) -> Bool { index < bytes.count && bytes[index] >= 48 && bytes[index] <= 57 }

    private func isNameByte(_ index: Int) -> Bool {
        guard index < bytes.count else { return false }
        switch bytes[index] {
        case 48...57, 65...90, 97...122, UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...: return true
        default: return false
        }
    }

    private mutating func name() -> String {
        let start = place
        while isNameByte(place) { place += 1 }
        return String(decoding: bytes[start..<place], as: UTF8.self)
    }

    /// Reads a text between two marks; a doubled mark is the mark itself.
    private mutating func quoted(until mark: UInt8, _ what: String) throws(RecordError) -> String {
        let start = place
        place += 1
        var content: [UInt8] = []
        while place < bytes.count {
            if bytes[place] == mark {
                place += 1
                guard place < bytes.count, bytes[place] == mark else { return String(decoding: content, as: UTF8.self) }
            }
            content.append(bytes[place])
            place += 1
        }
        throw error("the \(what) that begins here has no end", start, 1)
    }

    private mutating func number() throws(RecordError) -> Value {
        let start = place
        var isWhole = true
        while isDigit(place) { place += 1 }
        if place < bytes.count, bytes[place] == UInt8(ascii: ".") {
            isWhole = false
            place += 1
            while isDigit(place) { place += 1 }
        }
        if place < bytes.count, bytes[place] | 0x20 == UInt8(ascii: "e") {
            var after = place + 1
            if after < bytes.count, bytes[after] == UInt8(ascii: "+") || bytes[after] == UInt8(ascii: "-") {
                after += 1
            }
            if isDigit(after) {
                isWhole = false
                place = after
                while isDigit(place) { place += 1 }
            }
        }
        let end = place
        while isNameByte(place) { place += 1 }
        if place == end, let number = Lexer.number(String(decoding: bytes[start..<end], as: UTF8.self), isWhole) {
            return number
        }
        throw error("this is neither a number nor a name", start, place - start)
    }

    /// - Parameter isWhole: whether it consists of digits only. An integer beyond 64 bits becomes a double.
    private static func number(_ written: String, _ isWhole: Bool) -> Value? {
        var digits = written
        if isWhole, let number = UInt64(digits) { return .unsignedInteger(number) }
        if digits.hasPrefix(".") { digits = "0" + digits }
        if digits.hasSuffix(".") { digits += "0" }
        if let point = digits.firstIndex(of: "."),
            digits[digits.index(after: point)...].first.map({ !$0.isNumber }) == true
        {
            digits.insert("0", at: digits.index(after: point))
        }
        return Double(digits).map { .double($0) }
    }

    private mutating func blob() throws(RecordError) -> Value {
        let start = place
        place += 1
        let digits = Array(try quoted(until: UInt8(ascii: "'"), "blob").utf8)
        var content: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard index + 1 < digits.count, let high = Lexer.digit(digits[index]),
                let low = Lexer.digit(digits[index + 1])
            else { throw error("a blob is written as pairs of hexadecimal digits", start, place - start) }
            content.append(high << 4 | low)
        }
        return .blob(content)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 48...57: byte - 48
        case 65...70: byte - 55
        case 97...102: byte - 87
        default: nil
        }
    }

    private mutating func parameter() throws(RecordError) -> Token.Kind {
        let start = place
        let isNamed = bytes[place] == UInt8(ascii: ":")
        place += 1
        if isNamed { return .parameter(.name(name())) }
        let digits = place
        while isDigit(place) { place += 1 }
        if digits == place { return .parameter(nil) }
        guard let number = Int(String(decoding: bytes[digits..<place], as: UTF8.self)), number >= 1, number <= 100_000
        else {
            throw error("parameters are numbered from 1", start, place - start)
        }
        return .parameter(.position(number - 1))
    }

    private func error(_ message: String, _ offset: Int, _ length: Int) -> RecordError {
        .syntax(QueryError(text: text, offset: offset, length: length, message: message))
    }
}
