/// A `SELECT` inside a condition or an expression.
///
///     department IN (SELECT id FROM Department WHERE name LIKE 'E%')
///     EXISTS (SELECT 1 FROM Pet WHERE owner = Person.id)
///     age = (SELECT max(age) FROM Person)
///
/// Names are those of its own table; names of the outer query are qualified: `Person.id`.
package struct Subquery: Sendable, Hashable {
    let statement: SelectStatement
    /// The values of its parameters, if given before binding.
    private(set) var positions: [Value]?
    private(set) var named: [String: Value]?
    let at: SourcePosition

    package init(_ statement: SelectStatement, at: SourcePosition = .none) {
        self.statement = statement
        self.at = at
    }

    /// Parses a sub-query.
    ///
    /// - Throws: `RecordError.syntax`, pointing into the text.
    package static func parse(_ text: String) throws(RecordError) -> Subquery {
        Subquery(try SelectStatement.parse(text))
    }

    /// Returns the sub-query with another statement.
    func with(_ statement: SelectStatement) -> Subquery {
        var copy = Subquery(statement, at: at)
        copy.positions = positions
        copy.named = named
        return copy
    }

    /// Returns the sub-query with the values of its positional and named parameters.
    package func filled(_ positions: [Value], named: [String: Value]) -> Subquery {
        var copy = self
        copy.positions = self.positions ?? positions
        copy.named = self.named ?? named
        return copy
    }
}

/// How many elements of a collection must fulfil a condition.
package enum Quantifier: String, Sendable, Hashable {
    /// At least one.
    case any = "ANY"
    /// Every one; true for an empty collection.
    case all = "ALL"
    /// None.
    case none = "NONE"
}

// The grammar of sub-queries and quantifiers; see ``Parser``.
extension Parser {
    /// Returns whether `(SELECT` starts at a token.
    func startsSubquery(_ place: Int) -> Bool {
        place < tokens.count && tokens[place].kind == .symbol("(") && startsSelect(place + 1)
    }

    /// Returns whether a query starts at a token: `SELECT`, or `WITH` before a name.
    func startsSelect(_ place: Int) -> Bool {
        if isWord("SELECT", place) { return true }
        guard isWord("WITH", place), place + 1 < tokens.count else { return false }
        switch tokens[place + 1].kind {
        case .word, .name: return true
        default: return false
        }
    }

    mutating func subquery() throws(RecordError) -> Subquery {
        try nested { (parser) throws(RecordError) in
            let start = parser.token
            try parser.expectSymbol("(")
            let statement = try SelectStatement.read(&parser)
            try parser.expectSymbol(")")
            return Subquery(statement, at: parser.span(start))
        }
    }

    /// Parses `IN name`: the rows of a table with one column.
    mutating func takeTableAsList() throws(RecordError) -> Subquery? {
        let at = position(token)
        guard let name = takeName() else { return nil }
        var statement = SelectStatement(allOf: name, at: at)
        statement.commonTables = commonTables.filter { Folding.folded($0.name) == Folding.folded(name) }
        try count(statement.commonTables, at)
        return Subquery(statement, at: at)
    }

    /// Returns whether a quantified condition starts at a token: `EXISTS (SELECT`, or `ANY people.age > 60`. The same
    /// words may be names.
    func startsQuantified(_ place: Int) -> Bool {
        if isWord("EXISTS", place), place + 1 < tokens.count {
            // It is neither a function nor a column, even if no query follows.
            switch tokens[place + 1].kind {
            case .symbol("("), .literal, .parameter: return true
            default: return false
            }
        }
        guard quantifier(place) != nil, place + 2 < tokens.count else { return false }
        switch tokens[place + 1].kind {
        case .name: break
        case .word:
            let others = ["AND", "OR", "COLLATE", "AS", "ORDER", "GROUP", "LIMIT", "DESC", "ASC"]
            if isPredicateWord(place + 1) || isCaseWord(place + 1) || others.contains(where: { isWord($0, place + 1) })
            {
                return false
            }
        default: return false
        }
        let next = tokens[place + 2].kind
        return next == .symbol(".") || next == .symbol("(") || isPredicateWord(place + 2)
    }

    private func quantifier(_ place: Int) -> Quantifier? {
        if isWord("ANY", place) || isWord("SOME", place) { return .any }
        if isWord("ALL", place) { return .all }
        return isWord("NONE", place) ? Quantifier.none : nil
    }

    /// Parses what ``startsQuantified(_:)`` found.
    mutating func quantified() throws(RecordError) -> Condition {
        let start = token
        guard let quantifier = quantifier(index) else {
            advance()
            return .exists(try subquery())
        }
        return try nested { (parser) throws(RecordError) in
            parser.advance()
            let next = parser.token
            let inner = parser.asCondition(try parser.predicate(), next)
            return .quantified(quantifier, inner, at: parser.span(start))
        }
    }

    /// Parses `people.@count`, `people.@sum.salary`, after the point.
    mutating func collection(_ path: [String], _ start: Token) throws(RecordError) -> Expr {
        advance()
        let at = token
        let names = ["count", "sum", "min", "max", "avg"]
        guard let name = takeName() else { throw unexpected("count, sum, min, max or avg") }
        let folded = Folding.folded(name)
        guard names.contains(folded), let function = AggregateFunction(rawValue: folded) else {
            throw position(at).error("there is no @\(name)", nearest: Spelling.nearest(to: name, in: names))
        }
        var rest: [String] = []
        while takeSymbol(".") {
            guard let next = takeName() else { throw unexpected("a name") }
            rest.append(next)
            if rest.count > Parser.pathLimit {
                throw span(start).error("a path has at most \(Parser.pathLimit) steps")
            }
        }
        if function == .count, !rest.isEmpty { throw span(start).error("@count takes no property") }
        return .collection(path, function, rest, at: span(start))
    }
}
