import MakoRecords

/// A full-text pattern made of any text, such as what a user has typed into a search field.
///
/// `MATCH` has a syntax of its own, and a text such as `"open` or `AND` is an error there. A pattern takes the words of
/// a text as the index cuts it and nothing else: quotes, operators and parentheses have no meaning.
///
/// ```swift
/// let found = try Article.query().where(.match(\.body, MatchPattern(allTokens: typed))).orderBy(.rank).fetch()
/// let same = try Article.query().where("body MATCH \(MatchPattern(allTokens: typed))").fetch()
/// ```
///
/// A pattern without a word matches no object. The first 1,000 words of a text count. Words of scripts without spaces,
/// such as Chinese, match as a phrase where the text has them side by side.
public struct MatchPattern: Sendable, Hashable {
    /// The pattern in the syntax of `MATCH`.
    public let text: String
    /// Whether the text has no word, so that nothing matches.
    public var isEmpty: Bool { text == MatchPattern.nothing }

    private static let nothing = "\"\""
    private static func pieces(of text: String) -> [String] { text.wordPieces(limit: MatchParser.phraseLimit) }

    private init(_ pieces: [String], joinedBy separator: String) {
        text = pieces.isEmpty ? MatchPattern.nothing : pieces.map { "\"\($0)\"" }.joined(separator: separator)
    }

    /// Creates a pattern that matches texts with every word of `text`, in any order.
    public init(allTokens text: String) { self.init(MatchPattern.pieces(of: text), joinedBy: " ") }

    /// Creates a pattern that matches texts with at least one word of `text`.
    public init(anyToken text: String) { self.init(MatchPattern.pieces(of: text), joinedBy: " OR ") }

    /// Creates a pattern that matches texts with the words of `text` one behind the other.
    public init(phrase text: String) {
        let pieces = MatchPattern.pieces(of: text)
        self.init(pieces.isEmpty ? [] : [pieces.joined(separator: " ")], joinedBy: " ")
    }

    /// Creates a pattern for search as the user types: it matches texts with every word of `text`, where the last one
    /// may go on. In an index of stems, that word matches in its other forms, too.
    public init(prefix text: String) {
        let words = MatchPattern(allTokens: text)
        self.text = words.isEmpty ? words.text : words.text + "*"
    }
}

extension MatchPattern: CustomStringConvertible {
    public var description: String { text }
}
