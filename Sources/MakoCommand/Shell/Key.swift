/// A key press.
enum Key: Equatable {
    case character(Character)
    case enter, tab, backspace, delete, escape
    case left, right, up, down, home, end, wordLeft, wordRight
    /// Ctrl and a letter, in lower case.
    case control(Character)
    case endOfInput
}

/// Decodes terminal input to keys: UTF-8 characters, and the escape sequences of arrow keys.
struct KeyDecoder {
    /// Reads the next byte; `nil` at the end of the input.
    private let read: () -> UInt8?
    /// Reads a byte that is there or comes at once; `nil` after the key Escape alone.
    private let readSoon: () -> UInt8?
    /// A byte that was read and belongs to the next key.
    private var pending: UInt8?

    /// - Parameter readSoon: by default as `read`.
    init(read: @escaping () -> UInt8?, readSoon: (() -> UInt8?)? = nil) {
        self.read = read
        self.readSoon = readSoon ?? read
    }

    private mutating func readByte() -> UInt8? { pending.take() ?? read() }

    mutating func next() -> Key {
        guard let byte = readByte() else { return .endOfInput }
        switch byte {
        case 13, 10: return .enter
        case 9: return .tab
        case 8, 127: return .backspace
        case 27: return escapeSequence()
        case 1...26: return .control(Character(Unicode.Scalar(byte + 96)))
        case 0..<32: return .escape
        case 32..<127: return .character(Character(Unicode.Scalar(byte)))
        default: return multibyte(byte)
        }
    }

    private mutating func escapeSequence() -> Key {
        guard let second = readSoon() else { return .escape }
        switch second {
        case UInt8(ascii: "b"): return .wordLeft
        case UInt8(ascii: "f"): return .wordRight
        case UInt8(ascii: "["), UInt8(ascii: "O"): break
        default:
            pending = second
            return .escape
        }
        var parameters: [UInt8] = []
        while let byte = readSoon() {
            guard byte >= 0x40 else {
                parameters.append(byte)
                continue
            }
            return named(byte, parameters)
        }
        return .escape
    }

    private func named(_ final: UInt8, _ parameters: [UInt8]) -> Key {
        // A second parameter encodes Shift, Alt or Ctrl.
        let isModified = parameters.contains(UInt8(ascii: ";"))
        switch final {
        case UInt8(ascii: "A"): return .up
        case UInt8(ascii: "B"): return .down
        case UInt8(ascii: "C"): return isModified ? .wordRight : .right
        case UInt8(ascii: "D"): return isModified ? .wordLeft : .left
        case UInt8(ascii: "H"): return .home
        case UInt8(ascii: "F"): return .end
        case UInt8(ascii: "~"):
            switch parameters.first {
            case UInt8(ascii: "1"), UInt8(ascii: "7"): return .home
            case UInt8(ascii: "4"), UInt8(ascii: "8"): return .end
            case UInt8(ascii: "3"): return .delete
            default: return .escape
            }
        default: return .escape
        }
    }

    private mutating func multibyte(_ first: UInt8) -> Key {
        let length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1
        var bytes = [first]
        while bytes.count < length, let byte = readByte() { bytes.append(byte) }
        return .character(String(decoding: bytes, as: UTF8.self).first ?? "\u{FFFD}")
    }
}
