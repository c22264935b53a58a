// `CASE`. None of its keywords is reserved: a column may have such a name where no value follows.
extension Parser {
    /// Keywords that may follow a value, so that a `case` before them is a name.
    private static let wordsBehindValues = [
        "AND", "OR", "NOT", "IS", "IN", "BETWEEN", "LIKE", "GLOB", "MATCH", "ESCAPE", "COLLATE", "ASC", "DESC", "AS",
        "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "UNION", "INTERSECT", "EXCEPT", "ON", "JOIN",
        "LEFT", "INNER", "CROSS", "THEN", "ELSE", "END",
    ]

    /// Returns whether `CASE` starts at a token.
    func startsCase(_ index: Int) -> Bool {
        guard isWord("CASE", index), index + 1 < tokens.count else { return false }
        switch tokens[index + 1].kind {
        case .word: return !Parser.wordsBehindValues.contains { isWord($0, index + 1) }
        case .name, .literal, .parameter, .symbol("("), .symbol("-"), .symbol("+"): return true
        default: return false
        }
    }

    /// Returns whether a keyword ends the preceding part of a CASE.
    func isCaseWord(_ index: Int) -> Bool {
        openCases > 0 && ["WHEN", "THEN", "ELSE", "END"].contains { isWord($0, index) }
    }

    mutating func choice() throws(RecordError) -> Expr {
        try nested { (parser) throws(RecordError) in try parser.openChoice() }
    }

    private mutating func openChoice() throws(RecordError) -> Expr {
        openCases += 1
        defer { openCases -= 1 }
        let start = token
        advance()
        var choice = Expr.Choice([])
        if !isWord("WHEN") { choice.subject = try enclosed() }
        if !isWord("WHEN") { throw unexpected("WHEN") }
        while takeWord("WHEN") {
            let condition: Condition
            if let subject = choice.subject {
                condition = .comparison(.equal, .subject(at: subject.position), try enclosed())
            } else {
                condition = try self.condition()
            }
            try expectWord("THEN")
            choice.branches.append(Expr.Choice.Branch(condition, try enclosed()))
        }
        if takeWord("ELSE") { choice.otherwise = try enclosed() }
        guard takeWord("END") else { throw unexpected(choice.otherwise == nil ? "WHEN, ELSE or END" : "END") }
        choice.at = span(start)
        return .choice(choice)
    }
}
