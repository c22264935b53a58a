import MakoStorage

/// How highlight and snippet mark the matches in a text.
public struct ExcerptStyle: Sendable, Hashable {
    static let usualWords = 16

    /// The text before a match.
    public var before = "<b>"
    /// The text after a match.
    public var behind = "</b>"
    /// The text in place of omitted words.
    public var ellipsis = "…"
    /// The approximate number of words; `nil` for the whole text.
    public var words: Int?

    /// The default style: `<b>` and `</b>`, the whole text.
    public init() {}

    /// Makes a style.
    ///
    /// - Parameters:
    ///   - before: the text before a match.
    ///   - behind: the text after a match.
    ///   - ellipsis: the text in place of omitted words.
    ///   - words: the approximate number of words; `nil` for the whole text.
    public init(before: String, behind: String, ellipsis: String = "…", words: Int? = nil) {
        self.before = before
        self.behind = behind
        self.ellipsis = ellipsis
        self.words = words
    }

    /// Compares the texts by their bytes.
    public static func == (left: ExcerptStyle, right: ExcerptStyle) -> Bool {
        left.words == right.words && TextKey(left.before) == TextKey(right.before)
            && TextKey(left.behind) == TextKey(right.behind) && TextKey(left.ellipsis) == TextKey(right.ellipsis)
    }

    public func hash(into hasher: inout Hasher) {
        for text in [before, behind, ellipsis] { hasher.combine(TextKey(text)) }
        hasher.combine(words)
    }
}

/// A text of the row with its matches marked.
package struct BoundExcerpt: Sendable, Hashable {
    let match: BoundMatch
    let column: BoundColumn
    /// The index of the column in the full-text index.
    let number: Int
    let style: ExcerptStyle
}
