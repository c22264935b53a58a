import MakoStorage

/// How a text is shown with what was found in it.
public struct ExcerptStyle: Sendable, Hashable {
    static let usualWords = 16

    /// What stands before and behind what was found.
    public var before = "<b>"
    public var behind = "</b>"
    /// What stands for text that is left out.
    public var ellipsis = "…"
    /// About how many words are shown; nil: the whole text.
    public var words: Int?

    public init() {}

    public init(before: String, behind: String, ellipsis: String = "…", words: Int? = nil) {
        self.before = before
        self.behind = behind
        self.ellipsis = ellipsis
        self.words = words
    }

    /// By the bytes of its texts.
    public static func == (left: ExcerptStyle, right: ExcerptStyle) -> Bool {
        left.words == right.words && TextKey(left.before) == TextKey(right.before)
            && TextKey(left.behind) == TextKey(right.behind) && TextKey(left.ellipsis) == TextKey(right.ellipsis)
    }

    public func hash(into hasher: inout Hasher) {
        for text in [before, behind, ellipsis] { hasher.combine(TextKey(text)) }
        hasher.combine(words)
    }
}

/// A text of the row with what a match found in it.
struct BoundExcerpt: Sendable, Hashable {
    let match: BoundMatch
    let column: BoundColumn
    /// The column's number in the index.
    let number: Int
    let style: ExcerptStyle
}
