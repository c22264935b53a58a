// Hints in errors, for the forms of other query languages.
extension Parser {
    private static let forms = [
        "contains": "CONTAINS is written LIKE '%text%'",
        "beginswith": "BEGINSWITH is written LIKE 'text%'",
        "endswith": "ENDSWITH is written LIKE '%text'",
        "ilike": "LIKE ignores the case of A to Z",
        "regexp": "there are no regular expressions; LIKE and GLOB have patterns, MATCH searches for words",
        "matches": "there are no regular expressions; LIKE and GLOB have patterns, MATCH searches for words",
    ]

    private static let functions = [
        "concat": "|| joins texts", "printf": "|| joins texts", "format": "|| joins texts",
        "group_concat": "read the values in their order, and join them in the program",
        "string_agg": "read the values in their order, and join them in the program",
    ]

    /// Returns the form for a function of other databases; empty if no form is known.
    static func hint(ofFunction name: String) -> String { functions[name].map { "; " + $0 } ?? "" }

    private static let typedTexts = ["uuid", "date", "timestamp"]

    /// The form that the current token, which is not expected, has in this language; empty if no form is known.
    var hint: String {
        switch token.kind {
        case .word(let word): Parser.forms[Folding.folded(word)].map { "; " + $0 } ?? ""
        case .literal(.text) where index > 0:
            Parser.typedTexts.contains { isWord($0, index - 1) } ? "; a UUID or a date is written as a text alone" : ""
        default: ""
        }
    }
}
