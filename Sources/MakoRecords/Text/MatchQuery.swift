/// A query of `MATCH`.
///
///     steam engine            rows with both words; AND is optional
///     steam OR sail           rows with one of them
///     steam NOT engine        rows with the first and without the second
///     "steam engine"          a phrase: adjacent words in this order
///     eng*                    words with this prefix; "steam eng"* at the end of a phrase. In an index of stems also
///                             the other forms of the word before the star, and words with such a stem
///     NEAR(steam sail, 5)     both, with at most this many words between them; 10 by default
///     title:steam             in one column of the index
///     (steam OR sail) rope    parentheses
///     ""                      no row: the query of a text without words
///
/// NOT binds tighter than AND, and AND tighter than OR; these and NEAR must be in upper case. Terms are tokenized as
/// texts are; a term of several words is a phrase.
struct MatchQuery: Sendable, Hashable {
    let root: MatchNode
    /// Whether its traversal needs a large stack.
    let isDeep: Bool

    /// Parses a query.
    ///
    /// - Throws: `RecordError.syntax`, pointing into the query.
    init(_ text: String, _ index: FullTextIndex, columns: UInt64) throws(RecordError) {
        var parser = try MatchParser(text, index)
        root = try parser.query(columns)
        isDeep = isDeepTree(parser.deepest)
    }

    /// The terms that count for the rank, and that excerpts mark.
    var wanted: [MatchNode] { root.wanted }
}

/// A phrase: adjacent words.
struct MatchPhrase: Sendable, Hashable {
    var terms: [[UInt8]]
    /// Whether the last word is a prefix, which is not stemmed: "happines" has a stem that "happiness" does not begin
    /// with.
    var isPrefix: Bool
    /// The columns to search; bit 0 is the first column of the index.
    var columns: UInt64
    /// In an index of stems, the stem of a prefix, if no term that begins with the prefix: its other forms match.
    var stem: [UInt8]?
    /// The stems of words that may begin with the prefix, which the text decides.
    var shorter: [[UInt8]] = []
}

/// A node of a query.
indirect enum MatchNode: Sendable, Hashable {
    case phrase(MatchPhrase)
    case near([MatchPhrase], distance: UInt64)
    case and([MatchNode])
    case or([MatchNode])
    case not(MatchNode, MatchNode)

    fileprivate var wanted: [MatchNode] {
        switch self {
        case .phrase, .near: [self]
        case .and(let parts), .or(let parts): parts.flatMap(\.wanted)
        case .not(let wanted, _): wanted.wanted
        }
    }
}

/// A recursive descent parser of queries.
package struct MatchParser {
    /// The limit of nesting; it protects the stack.
    static let depthLimit = 100
    package static let phraseLimit = 1000
    static let nearest: UInt64 = 10

    private enum Kind: Hashable {
        case word, quoted, symbol(UInt8), end
    }

    private struct Token {
        let kind: Kind
        let offset: Int
        let length: Int
        /// The text of a word or of a quoted phrase.
        var content: [UInt8] = []
    }

    private let text: String
    private let index: FullTextIndex
    private var tokens: [Token] = []
    private var place = 0
    private var depth = 0
    private(set) var deepest = 0
    private var phrases = 0

    init(_ text: String, _ index: FullTextIndex) throws(RecordError) {
        self.text = text
        self.index = index
        try cut(Array(text.utf8))
    }

    private static let symbols = Array("()*:,".utf8)

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 32 || (9...13).contains(byte) }

    private mutating func cut(_ bytes: [UInt8]) throws(RecordError) {
        var at = 0
        while at < bytes.count {
            let start = at
            let byte = bytes[at]
            at += 1
            if MatchParser.isBlank(byte) { continue }
            if byte == UInt8(ascii: "\"") {
                var content: [UInt8] = []
                var isOpen = true
                while at < bytes.count, isOpen {
                    if bytes[at] != byte {
                        content.append(bytes[at])
                        at += 1
                    } else if at + 1 < bytes.count, bytes[at + 1] == byte {
                        content.append(byte)
                        at += 2
                    } else {
                        isOpen = false
                        at += 1
                    }
                }
                if isOpen { throw error("the phrase that begins here has no end", start, 1) }
                tokens.append(Token(kind: .quoted, offset: start, length: at - start, content: content))
            } else if MatchParser.symbols.contains(byte) {
                tokens.append(Token(kind: .symbol(byte), offset: start, length: 1))
            } else {
                while at < bytes.count, !MatchParser.isBlank(bytes[at]), !MatchParser.symbols.contains(bytes[at]),
                    bytes[at] != UInt8(ascii: "\"")
                {
                    at += 1
                }
                tokens.append(
                    Token(kind: .word, offset: start, length: at - start, content: Array(bytes[start..<at])))
            }
        }
        tokens.append(Token(kind: .end, offset: bytes.count, length: 1))
    }

    // MARK: Tokens

    private var token: Token { tokens[min(place, tokens.count - 1)] }

    private func error(_ message: String, _ offset: Int, _ length: Int, nearest: String? = nil) -> RecordError {
        .syntax(
            QueryError(
                text: text, offset: offset, length: max(1, length), message: "in the pattern of MATCH, \(message)",
                nearest: nearest))
    }

    private func error(_ message: String, _ token: Token, nearest: String? = nil) -> RecordError {
        error(message, token.offset, token.length, nearest: nearest)
    }

    private func isWord(_ word: StaticString, _ ahead: Int = 0) -> Bool {
        let token = tokens[min(place + ahead, tokens.count - 1)]
        return token.kind == .word && word.withUTF8Buffer { token.content.elementsEqual($0) }
    }

    private func isSymbol(_ symbol: UInt8, _ ahead: Int = 0) -> Bool {
        tokens[min(place + ahead, tokens.count - 1)].kind == .symbol(symbol)
    }

    private mutating func take(_ symbol: UInt8) -> Bool {
        guard isSymbol(symbol) else { return false }
        place += 1
        return true
    }

    private mutating func take(_ word: StaticString) -> Bool {
        guard isWord(word) else { return false }
        place += 1
        return true
    }

    private static let open = UInt8(ascii: "(")
    private static let close = UInt8(ascii: ")")
    private static let star = UInt8(ascii: "*")
    private static let colon = UInt8(ascii: ":")
    private static let comma = UInt8(ascii: ",")

    // MARK: Grammar

    mutating func query(_ columns: UInt64) throws(RecordError) -> MatchNode {
        if token.kind == .end { throw error("the pattern is empty; name a word", token) }
        let node = try or(columns)
        if token.kind != .end { throw error("this has no meaning here; put text in quotes", token) }
        return node
    }

    /// Parses one level of nesting. Every recursion of the parser passes through here.
    private mutating func nested(
        _ token: Token, _ body: (inout MatchParser) throws(RecordError) -> MatchNode
    ) throws(RecordError) -> MatchNode {
        depth += 1
        defer { depth -= 1 }
        deepest = max(deepest, depth)
        if depth > MatchParser.depthLimit {
            throw error("this is nested too deeply; the limit is \(MatchParser.depthLimit)", token)
        }
        return try followingTree(false) { () throws(RecordError) in try body(&self) }
    }

    private mutating func or(_ columns: UInt64) throws(RecordError) -> MatchNode {
        try nested(token) { (parser) throws(RecordError) in try parser.anyOf(columns) }
    }

    private mutating func anyOf(_ columns: UInt64) throws(RecordError) -> MatchNode {
        var parts = [try and(columns)]
        while take("OR") { parts.append(try and(columns)) }
        return parts.count == 1 ? parts[0] : .or(parts)
    }

    private var beginsOperand: Bool {
        switch token.kind {
        case .word: !isWord("OR") && !isWord("NOT")
        case .quoted: true
        case .symbol(let symbol): symbol == MatchParser.open
        case .end: false
        }
    }

    private mutating func and(_ columns: UInt64) throws(RecordError) -> MatchNode {
        var parts = [try not(columns)]
        var others: [MatchNode] = []
        while true {
            if take("AND") {
                // a AND NOT b
                if isWord("NOT") {
                    try readOthers(&others, columns)
                    continue
                }
            } else if !beginsOperand {
                break
            }
            parts.append(try not(columns))
        }
        return MatchParser.without(parts.count == 1 ? parts[0] : .and(parts), others)
    }

    private mutating func not(_ columns: UInt64) throws(RecordError) -> MatchNode {
        if isWord("NOT") {
            throw error("NOT follows a word: this NOT that", token)
        }
        let first = try primary(columns)
        var others: [MatchNode] = []
        try readOthers(&others, columns)
        return MatchParser.without(first, others)
    }

    private mutating func readOthers(_ others: inout [MatchNode], _ columns: UInt64) throws(RecordError) {
        while take("NOT") { others.append(try primary(columns)) }
    }

    /// Makes one node of a chain of NOT, however long it is.
    private static func without(_ node: MatchNode, _ others: [MatchNode]) -> MatchNode {
        others.isEmpty ? node : .not(node, others.count == 1 ? others[0] : .or(others))
    }

    private mutating func primary(_ columns: UInt64) throws(RecordError) -> MatchNode {
        let start = token
        if take(MatchParser.open) {
            let inner = try or(columns)
            guard take(MatchParser.close) else { throw error("this \"(\" has no \")\"", start) }
            return inner
        }
        if isWord("NEAR"), isSymbol(MatchParser.open, 1) { return try near(columns) }
        if start.kind == .word || start.kind == .quoted, isSymbol(MatchParser.colon, 1) {
            let narrowed = try column(start) & columns
            place += 2
            return try nested(start) { (parser) throws(RecordError) in try parser.primary(narrowed) }
        }
        if start.kind == .quoted, start.content.isEmpty {
            place += 1
            return .or([])
        }
        return .phrase(try phrase(columns))
    }

    private func column(_ token: Token) throws(RecordError) -> UInt64 {
        let name = String(decoding: token.content, as: UTF8.self)
        let names = index.schema.columns.map(\.name)
        let exact = names.firstIndex(of: name)
        let alike = names.indices.filter { Folding.folded(names[$0]) == Folding.folded(name) }
        if let place = exact ?? (alike.count == 1 ? alike[0] : nil) { return 1 << UInt64(place) }
        throw error(
            "the index has no column \(name); put text with a colon in quotes", token,
            nearest: Spelling.nearest(to: name, in: names))
    }

    private mutating func near(_ columns: UInt64) throws(RecordError) -> MatchNode {
        let start = token
        place += 2
        var parts: [MatchPhrase] = []
        while token.kind == .word || token.kind == .quoted { parts.append(try phrase(columns)) }
        if parts.count < 2 { throw error("NEAR takes two words or more", start) }
        var distance = MatchParser.nearest
        if take(MatchParser.comma) {
            guard token.kind == .word, let number = UInt64(String(decoding: token.content, as: UTF8.self)),
                number <= 1_000_000
            else { throw error("a number of words is expected here", token) }
            distance = number
            place += 1
        }
        guard take(MatchParser.close) else { throw error("\")\" is expected here", token) }
        return .near(parts, distance: distance)
    }

    private mutating func phrase(_ columns: UInt64) throws(RecordError) -> MatchPhrase {
        let start = token
        guard start.kind == .word || start.kind == .quoted else {
            if start.kind == .end { throw error("the text ends where a word is expected", start) }
            throw error("a word is expected here", start)
        }
        if isWord("AND") || isWord("OR") || isWord("NOT") {
            throw error("a word is expected here; search for operators in quotes", start)
        }
        place += 1
        phrases += 1
        if phrases > MatchParser.phraseLimit {
            throw error("this is too long; the limit is \(MatchParser.phraseLimit) words and phrases", start)
        }
        var phrase = MatchPhrase(terms: [], isPrefix: false, columns: columns)
        if take(MatchParser.star) { phrase.isPrefix = true }
        phrase.terms = terms(start.content, index.options.stemming)
        if phrase.terms.isEmpty { throw error("there is no letter or digit in this", start) }
        if phrase.isPrefix, index.options.stemming != .none { findStems(&phrase, start.content) }
        return phrase
    }

    /// Replaces the last term of a prefix by the word as written, and finds the stems of the words that begin with it.
    private func findStems(_ phrase: inout MatchPhrase, _ content: [UInt8]) {
        guard let prefix = terms(content, .none).last else { return }
        let stem = phrase.terms.removeLast()
        phrase.terms.append(prefix)
        if !stem.starts(with: prefix) { phrase.stem = stem }
        phrase.shorter = EnglishStemmer.shorterStems(ofWordsFrom: prefix)
    }

    private func terms(_ content: [UInt8], _ stemming: Stemming) -> [[UInt8]] {
        var words = Tokenizer(stemming: stemming)
        var terms: [[UInt8]] = []
        content.withUnsafeBytes { bytes in
            words.begin(bytes)
            while words.next() { terms.append([UInt8](words.term)) }
        }
        return terms
    }
}
