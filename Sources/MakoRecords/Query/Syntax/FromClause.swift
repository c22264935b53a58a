/// A joined table of a FROM clause.
struct JoinClause: Sendable, Hashable {
    /// Limited by the bits of a ``SourceSet``.
    static let tableLimit = 64

    enum Kind: Sendable, Hashable {
        /// Inner join.
        case inner
        /// Left join: unmatched rows are joined with NULLs.
        case left
    }

    var table: String
    var alias: String?
    var kind: Kind
    var condition: Condition?
    var at: SourcePosition

    /// The name that qualifies its columns.
    var name: String { alias ?? table }
}

extension Parser {
    /// Words that end the name of a table: none of them is an alias unless it is quoted.
    static let clauseWords: Set<String> = [
        "where", "group", "having", "order", "limit", "offset", "on", "using", "join", "inner", "left", "right", "full",
        "outer", "cross", "natural", "union", "intersect", "except", "set", "as",
        "returning",
    ]

    /// Parses `[AS] x` after a table.
    mutating func alias() throws(RecordError) -> String? {
        if takeWord("AS") {
            guard let name = takeName(), !name.isEmpty else { throw unexpected("a name") }
            return name
        }
        switch token.kind {
        case .name(let name):
            if name.isEmpty { throw unexpected("a name") }
            advance()
            return name
        case .word(let name) where !Parser.clauseWords.contains(Folding.folded(name)):
            advance()
            return name
        default: return nil
        }
    }

    /// Parses a table, or a query in parentheses, and its alias. A query without an alias gets a name that no text
    /// contains.
    mutating func source(_ common: inout [CommonTable]) throws(RecordError) -> (table: String, alias: String?) {
        if startsSubquery(index) {
            let start = token
            let statement = try subquery().statement
            let name = try alias() ?? "(query \(common.count + 1))"
            common.append(CommonTable(name: name, columns: nil, statement: statement, at: span(start)))
            return (name, nil)
        }
        guard let table = takeName() else { throw unexpected("the name of a table") }
        return (table, try alias())
    }

    /// Parses any number of `JOIN b ON …`, `LEFT JOIN c ON …`, `CROSS JOIN d` and `, e`.
    mutating func joins(_ common: inout [CommonTable]) throws(RecordError) -> [JoinClause] {
        var clauses: [JoinClause] = []
        while let (kind, isBare) = try joinWords() {
            let start = token
            let at = position(start)
            let (table, alias) = try source(&common)
            var clause = JoinClause(table: table, alias: alias, kind: kind, at: at)
            if isWord("USING") { throw position(token).error("USING is not there; write ON a.x = b.x") }
            if !isBare && !startsConflict && takeWord("ON") { clause.condition = try condition() }
            if kind == .left && clause.condition == nil { throw unexpected("ON") }
            clauses.append(clause)
            if clauses.count >= JoinClause.tableLimit {
                throw at.error("a statement joins at most \(JoinClause.tableLimit) tables")
            }
        }
        return clauses
    }

    /// Whether an ON CONFLICT clause starts here, after the SELECT of an INSERT.
    var startsConflict: Bool {
        isWord("ON") && isWord("CONFLICT", index + 1) && (isWord("DO", index + 2) || isOpen(index + 2))
    }

    private func isOpen(_ place: Int) -> Bool { place < tokens.count && tokens[place].kind == .symbol("(") }

    /// Parses the words of a join; also returns whether it has no ON condition.
    private mutating func joinWords() throws(RecordError) -> (JoinClause.Kind, isBare: Bool)? {
        if takeSymbol(",") { return (.inner, true) }
        if takeWord("JOIN") { return (.inner, false) }
        if takeWord("INNER") {
            try expectWord("JOIN")
            return (.inner, false)
        }
        if takeWord("CROSS") {
            try expectWord("JOIN")
            return (.inner, true)
        }
        if takeWord("LEFT") {
            _ = takeWord("OUTER")
            try expectWord("JOIN")
            return (.left, false)
        }
        for word in ["RIGHT", "FULL"] where isWord(word) {
            throw position(token).error("there is no \(word) JOIN; name the tables the other way round in a LEFT JOIN")
        }
        if isWord("NATURAL") { throw position(token).error("there is no NATURAL JOIN; write JOIN … ON a.x = b.x") }
        return nil
    }
}
