/// A `%` form of predicate formats, each the next parameter.
package struct FormatSpecifier: Sendable, Hashable {
    /// The kind of value that a specifier takes; the raw value describes it in errors.
    package enum Kind: String, Sendable, Hashable {
        case anything = "anything"
        case whole = "a whole number"
        case number = "a number"
        case text = "a text"
    }

    /// The kind of value that it takes.
    package let kind: Kind
    /// The number of characters after the percent sign.
    package let length: Int

    private static let words: [(name: String, kind: Kind)] = [
        ("d", .whole), ("i", .whole), ("u", .whole), ("l", .whole), ("q", .whole), ("ld", .whole), ("li", .whole),
        ("lu", .whole), ("ul", .whole), ("qi", .whole), ("zd", .whole), ("lld", .whole), ("lli", .whole),
        ("llu", .whole), ("ull", .whole), ("f", .number), ("g", .number), ("lf", .number), ("s", .text), ("c", .text),
    ]

    private init(kind: Kind, length: Int) {
        self.kind = kind
        self.length = length
    }

    /// Makes the specifier of a word after a percent sign, in any case; `nil` for other words.
    init?(word: String) {
        let folded = Folding.folded(word)
        guard let found = FormatSpecifier.words.first(where: { $0.name == folded }) else { return nil }
        self.init(kind: found.kind, length: word.count)
    }

    /// Makes the specifier that a text after a percent sign starts with. `limit` is none: `a %limit` is a remainder.
    package init?(beginning text: Substring) {
        if text.first == "@" {
            self.init(kind: .anything, length: 1)
            return
        }
        self.init(word: String(text.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "$" }))
    }
}
