/// Splits input lines into SQL statements. A statement ends at a semicolon outside quotes and comments.
///
/// Works on bytes, because a combining mark after a quote or a semicolon must not hide it.
struct StatementReader {
    /// A statement without its semicolon, and the line on which it starts.
    struct Statement: Equatable {
        var text: String
        var line: Int
    }

    private enum Place: Equatable {
        case plain
        /// After the first byte of `--` or `/*`.
        case opening(UInt8)
        case quoted(until: UInt8)
        /// After a closing quote, which the same quote reopens.
        case closed(UInt8)
        case lineComment
        case blockComment
        /// After a `*` in a block comment.
        case blockEnding
    }

    private var pending: [UInt8] = []
    private var place = Place.plain
    private var hasContent = false
    /// The number of the last line, counted from 1.
    private(set) var line = 0
    private var start = 0

    /// Whether no statement, quote or block comment is open.
    var isBetweenStatements: Bool { !hasContent && (place == .plain || place == .lineComment) }

    /// Adds one line without its line break.
    ///
    /// - Returns: the statements that end on it.
    mutating func take(_ text: String) -> [Statement] {
        line += 1
        var complete: [Statement] = []
        for byte in text.utf8 { take(byte, &complete) }
        take(.lineFeed, &complete)
        if isBetweenStatements { pending.removeAll(keepingCapacity: true) }
        return complete
    }

    /// Counts a line that is not part of a statement.
    mutating func skipLine() { line += 1 }

    /// Returns the text after the last semicolon, nil for white space and comments only, and resets the reader.
    mutating func takeRest() -> Statement? {
        defer { self = StatementReader(line: line) }
        // The parser reports an open quote or comment as an error of the statement.
        guard hasContent || place == .blockComment || place == .blockEnding else { return nil }
        return Statement(text: String(decoding: pending, as: UTF8.self), line: hasContent ? start : line)
    }

    init() {}

    private init(line: Int) { self.line = line }

    private mutating func take(_ byte: UInt8, _ complete: inout [Statement]) {
        switch place {
        case .quoted(let mark): if byte == mark { place = .closed(mark) }
        case .closed(let mark) where byte == mark: place = .quoted(until: mark)
        case .lineComment: if byte == .lineFeed { place = .plain }
        case .blockComment: if byte == UInt8(ascii: "*") { place = .blockEnding }
        case .blockEnding:
            if byte == UInt8(ascii: "/") {
                place = .plain
            } else if byte != UInt8(ascii: "*") {
                place = .blockComment
            }
        case .opening(UInt8(ascii: "-")) where byte == UInt8(ascii: "-"): place = .lineComment
        case .opening(UInt8(ascii: "/")) where byte == UInt8(ascii: "*"): place = .blockComment
        case .opening(let first):
            note(first)
            place = .plain
            return take(byte, &complete)
        case .plain, .closed:
            place = .plain
            switch byte {
            case UInt8(ascii: "-"), UInt8(ascii: "/"): place = .opening(byte)
            case UInt8(ascii: "'"), .quote, UInt8(ascii: "`"): place = .quoted(until: byte)
            case UInt8(ascii: "["): place = .quoted(until: UInt8(ascii: "]"))
            case UInt8(ascii: ";"):
                if hasContent {
                    complete.append(Statement(text: String(decoding: pending, as: UTF8.self), line: start))
                }
                pending.removeAll(keepingCapacity: true)
                hasContent = false
                return
            default: break
            }
            if case .opening = place {} else { note(byte) }
        }
        pending.append(byte)
    }

    /// Marks the start of a statement at its first byte outside comments.
    private mutating func note(_ byte: UInt8) {
        guard byte > 32, !hasContent else { return }
        hasContent = true
        start = line
    }
}
