/// What the `%` forms of older libraries take: each stands for the next parameter.
public struct FormatSpecifier: Sendable, Hashable {
    public enum Kind: String, Sendable, Hashable {
        case anything = "anything"
        case whole = "a whole number"
        case number = "a number"
        case text = "a text"
    }

    public let kind: Kind
    /// How many characters it has behind the percent sign.
    public let length: Int

    private static let words: [(name: String, kind: Kind)] = [
        ("d", .whole), ("i", .whole), ("u", .whole), ("l", .whole), ("q", .whole), ("ld", .whole), ("li", .whole),
        ("lu", .whole), ("ul", .whole), ("qi", .whole), ("zd", .whole), ("lld", .whole), ("lli", .whole),
        ("llu", .whole), ("ull", .whole), ("f", .number), ("g", .number), ("lf", .number), ("s", .text), ("c", .text),
    ]

    private init(kind: Kind, length: Int) {
        self.kind = kind
        self.length = length
    }

    /// What a word behind a percent sign means, in capitals or not; nil where it is none of them.
    init?(word: String) {
        let folded = Folding.folded(word)
        guard let found = FormatSpecifier.words.first(where: { $0.name == folded }) else { return nil }
        self.init(kind: found.kind, length: word.count)
    }

    /// The specifier with which a text behind a percent sign begins. `limit` is none: `a %limit` is a remainder.
    public init?(beginning text: Substring) {
        if text.first == "@" {
            self.init(kind: .anything, length: 1)
            return
        }
        self.init(word: String(text.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "$" }))
    }
}
