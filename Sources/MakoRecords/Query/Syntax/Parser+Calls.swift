// Calls with a grammar of their own: CAST, iif, aggregates with FILTER, and the keywords of the current time.
extension Parser {
    /// `CURRENT_DATE` and similar keywords, with the functions that they call.
    private static let moments = ["CURRENT_DATE": "date", "CURRENT_TIME": "time", "CURRENT_TIMESTAMP": "datetime"]

    /// Parses a keyword of the current time, unless it is called or begins a path.
    mutating func takeMoment() -> Expr? {
        for (word, function) in Parser.moments where isWord(word) {
            switch tokens[min(index + 1, tokens.count - 1)].kind {
            case .symbol("("), .symbol("."): return nil
            default: break
            }
            let at = position(token)
            advance()
            return .function(function, [.literal(.text("now"), at: at)], at: at)
        }
        return nil
    }

    /// The functions of `CAST` to a type; their names cannot be written as calls.
    private static let casts: [ColumnType: String] = [
        .text: "cast to text", .integer: "cast to integer", .unsigned: "cast to integer", .double: "cast to real",
        .blob: "cast to blob", .bool: "cast to boolean", .date: "cast to date", .uuid: "cast to uuid",
    ]

    /// Parses `CAST(value AS type)`, after the parenthesis.
    mutating func cast(_ start: Token) throws(RecordError) -> Expr {
        let value = try enclosed()
        try expectWord("AS")
        guard let type = try columnType(), let name = Parser.casts[type] else {
            throw unexpected("a type, as INTEGER, REAL or TEXT")
        }
        try expectSymbol(")")
        return .function(name, [value], at: span(start))
    }

    /// Makes `iif(condition, value, other)`, a CASE with one branch; without the other value it is NULL.
    static func choice(_ arguments: [Expr], _ at: SourcePosition) throws(RecordError) -> Expr {
        guard (2...3).contains(arguments.count) else {
            throw at.error("iif takes 2 to 3 values, not \(arguments.count)")
        }
        let branch = Expr.Choice.Branch(.truth(arguments[0]), arguments[1])
        return .choice(.init([branch], otherwise: arguments.count > 2 ? arguments[2] : nil, at: at))
    }

    /// Parses what may follow a call: `FILTER (WHERE condition)` after an aggregate.
    mutating func qualified(_ call: Expr, _ start: Token) throws(RecordError) -> Expr {
        if isWord("FILTER"), index + 1 < tokens.count, tokens[index + 1].kind == .symbol("("),
            isWord("WHERE", index + 2)
        {
            return try qualified(filtered(call, start), start)
        }
        if isWord("OVER"), index + 1 < tokens.count {
            switch tokens[index + 1].kind {
            case .symbol("("), .word, .name:
                throw position(token).error(
                    "there are no window functions; count or add up by a sub-query, such as (SELECT count(*) FROM t WHERE …), or read the rows in their order"
                )
            default: break
            }
        }
        return call
    }

    /// Makes an aggregate with FILTER: its argument is NULL, which aggregates skip, where the condition is not true.
    private mutating func filtered(_ call: Expr, _ start: Token) throws(RecordError) -> Expr {
        guard case .function(let name, _, _) = call, let aggregate = call.aggregate else {
            throw position(token).error("FILTER belongs to an aggregate, such as count(*) or sum(x)")
        }
        for _ in ["FILTER", "(", "WHERE"] { advance() }
        let branch = Expr.Choice.Branch(try condition(), aggregate.argument ?? .literal(.integer(1), at: call.position))
        try expectSymbol(")")
        let at = span(start)
        return .function(name, [.choice(.init([branch], isFilter: true, at: at))], at: at)
    }

    /// Keywords that may follow an output, so that they are not its alias.
    private static let wordsBehindResults = clauseWords.union([
        "from", "and", "or", "not", "is", "in", "between", "like", "glob", "match", "escape", "collate", "isnull",
        "notnull",
        "regexp", "filter", "over", "when", "then", "else", "end", "returning", "asc", "desc",
    ])

    /// Parses `[AS] name` after an output.
    mutating func takeResultName() throws(RecordError) -> String? {
        let isSaid = takeWord("AS")
        switch token.kind {
        case .literal(.text(let name)):
            advance()
            return name
        case .word(let name) where isSaid || !Parser.wordsBehindResults.contains(Folding.folded(name)):
            advance()
            return name
        case .name(let name):
            advance()
            return name
        default:
            if isSaid { throw unexpected("a name") }
            return nil
        }
    }

    /// Whether the outputs end here, without a FROM.
    var endsResults: Bool {
        switch token.kind {
        case .end, .symbol(")"), .symbol(";"): true
        case .word:
            ["WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "UNION", "INTERSECT", "EXCEPT", "RETURNING"]
                .contains { isWord($0) } || startsConflict
        default: false
        }
    }
}
