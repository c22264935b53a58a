extension Condition {
    /// Returns the text of a condition with renamed columns; the rest of the text is unchanged.
    ///
    /// - Throws: `syntax` for a text that is not a condition.
    package static func renamingColumns(in text: String, _ names: [String: String]) throws(RecordError) -> String {
        _ = try parse(text)
        if names.isEmpty { return text }
        let tokens = try Lexer.tokens(of: text)
        let bytes = Array(text.utf8)
        var result: [UInt8] = []
        var end = 0
        for (place, token) in tokens.enumerated() {
            let name: String
            switch token.kind {
            case .word(let word), .name(let word): name = word
            default: continue
            }
            // A function, or a column of another table.
            let isCalled = place + 1 < tokens.count && tokens[place + 1].kind == .symbol("(")
            let isFurther = place > 0 && tokens[place - 1].kind == .symbol(".")
            guard let other = names[name], !isCalled, !isFurther else { continue }
            result += bytes[end..<token.offset]
            result += Array(quoted(other).utf8)
            end = token.offset + token.length
        }
        result += bytes[end...]
        return String(decoding: result, as: UTF8.self)
    }

    private static func quoted(_ name: String) -> String {
        "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }
}
