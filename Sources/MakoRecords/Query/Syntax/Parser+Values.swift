// The grammar of values; see ``Parser``.
extension Parser {
    mutating func joined(isRight: Bool) throws(RecordError) -> Part {
        let tallest = height
        height = 0
        defer { height = max(tallest, height) }
        let start = token
        var left = try sum()
        var links = 0
        while isSymbol("||") {
            if case .condition = left { return left }
            if isRight && startsCondition(index + 1) { return left }
            links += 1
            left = try link(.concatenate, left, start, links) { (parser) throws(RecordError) in try parser.sum() }
        }
        return left
    }

    /// Returns whether a condition, not a value, starts at a token: a comparison precedes the next `||`, AND, OR, comma
    /// or end.
    private func startsCondition(_ first: Int) -> Bool {
        var depth = 0
        // A comparison inside leading parentheses also makes the part a condition.
        let isGroup = first < tokens.count && tokens[first].kind == .symbol("(")
        var index = first
        if startsQuantified(first) { return true }
        var cases = 0
        while index < tokens.count {
            switch tokens[index].kind {
            case .word where startsCase(index): (depth, cases) = (depth + 1, cases + 1)
            case .word where cases > 0 && isWord("END", index): (depth, cases) = (depth - 1, cases - 1)
            case .word where depth == 0 && isCaseWord(index): return false
            case .symbol("("): depth += 1
            case .symbol(")"):
                depth -= 1
                if depth < 0 { return false }
            case .symbol("!"): if depth == 0 { return true }
            case .symbol("||"), .symbol("&&"), .symbol(","): if depth == 0 { return false }
            default:
                if depth == 0, isWord("AND", index) || isWord("OR", index) || endsCondition(index, first) {
                    return false
                }
                if depth == 0 || (isGroup && depth == 1), isPredicateWord(index) { return true }
            }
            index += 1
        }
        return false
    }

    /// Returns whether the next clause of the statement starts at a token, so that a comparison after it is not part of
    /// this condition.
    private func endsCondition(_ index: Int, _ first: Int) -> Bool {
        // After an operator the same word is a column.
        if index == first { return false }
        if case .symbol(let before) = tokens[index - 1].kind, before != ")" { return false }
        if isWord("GROUP", index) || isWord("ORDER", index) { return isWord("BY", index + 1) }
        return ["WHERE", "HAVING", "LIMIT", "UNION", "INTERSECT", "EXCEPT", "JOIN", "LEFT", "INNER", "CROSS"]
            .contains { isWord($0, index) }
    }

    private mutating func sum() throws(RecordError) -> Part {
        let tallest = height
        height = 0
        defer { height = max(tallest, height) }
        let start = token
        var left = try product()
        var links = 0
        while let operation: ArithmeticOperator = isSymbol("+") ? .add : (isSymbol("-") ? .subtract : nil) {
            links += 1
            left = try link(operation, left, start, links) { (parser) throws(RecordError) in try parser.product() }
        }
        return left
    }

    private mutating func product() throws(RecordError) -> Part {
        let tallest = height
        height = 0
        defer { height = max(tallest, height) }
        let start = token
        var left = try unary()
        var links = 0
        while let operation = multiplication {
            links += 1
            left = try link(operation, left, start, links) { (parser) throws(RecordError) in try parser.unary() }
        }
        return left
    }

    private var multiplication: ArithmeticOperator? {
        switch token.kind {
        case .symbol("*"): .multiply
        case .symbol("/"): .divide
        case .symbol("%"): .remainder
        default: nil
        }
    }

    private mutating func link(
        _ operation: ArithmeticOperator, _ left: Part, _ start: Token, _ links: Int,
        _ next: (inout Parser) throws(RecordError) -> Part
    ) throws(RecordError) -> Part {
        // A chain of operators is as deep a tree as nesting.
        if links > Parser.depthLimit {
            throw position(token).error("this chain is too long; the limit is \(Parser.depthLimit)")
        }
        let at = position(token)
        let first = asValue(left, start)
        advance()
        let second = token
        let right = asValue(try next(&self), second)
        try grow(at)
        return .value(.arithmetic(operation, first, right, at: at))
    }

    private mutating func unary() throws(RecordError) -> Part {
        if isSymbol("-") || isSymbol("+") {
            let isMinus = isSymbol("-")
            return try nested { (parser) throws(RecordError) in
                parser.advance()
                let start = parser.token
                let value = parser.asValue(try parser.unary(), start)
                return .value(isMinus ? Parser.negate(value) : value)
            }
        }
        let start = token
        var part = try primary()
        while takeWord("COLLATE") {
            let value = asValue(part, start)
            if takeWord("NOCASE") {
                part = .value(.noCase(value.uncollated))
            } else if takeWord("BINARY") {
                part = .value(.binary(value.uncollated))
            } else {
                throw unexpected("NOCASE")
            }
        }
        return part
    }

    private static func negate(_ value: Expr) -> Expr {
        switch value {
        case .literal(.integer(let number), let at) where number > .min: .literal(.integer(-number), at: at)
        case .literal(.unsigned(let number), let at) where number == 1 << 63: .literal(.integer(.min), at: at)
        case .literal(.double(let number), let at): .literal(.double(-number), at: at)
        default: .negate(value)
        }
    }

    private mutating func primary() throws(RecordError) -> Part {
        let start = token
        switch start.kind {
        case .literal(let value):
            advance()
            return .value(.literal(value, at: position(start)))
        case .parameter, .symbol("%"):
            return .value(try parameter())
        case .symbol("(") where startsSubquery(index):
            let subquery = try subquery()
            return .value(subquery.statement.soleValue ?? .subquery(subquery))
        case .symbol("("):
            advance()
            let part = try or()
            try expectSymbol(")")
            return part
        case .word(let name), .name(let name):
            return .value(try nameOrCall(name))
        default:
            throw unexpected("a value")
        }
    }

    /// Whether `?`, `:name` or one of the `%` forms starts here.
    var startsParameter: Bool {
        if case .parameter = token.kind { return true }
        return isSymbol("%")
    }

    mutating func parameter() throws(RecordError) -> Expr {
        let start = token
        guard case .parameter(let given) = start.kind else { return try formatSpecifier() }
        advance()
        let at = position(start)
        return .parameter(numbered(given, at), at: at)
    }

    private mutating func numbered(_ parameter: Parameter?, _ at: SourcePosition) -> Parameter {
        let result = parameter ?? .position(positional)
        if parameter == nil { positional += 1 }
        if case .position(let number) = result { parameterCount = max(parameterCount, number + 1) }
        note(result, at)
        return result
    }

    /// Parses `%@`, `%d` and similar forms as the next parameter.
    private mutating func formatSpecifier() throws(RecordError) -> Expr {
        let start = token
        advance()
        guard token.offset == start.offset + 1, isSymbol("@") || isSpecifierWord else {
            throw position(start).error("a value is expected here")
        }
        advance()
        let at = span(start)
        return .parameter(numbered(nil, at), at: at)
    }

    private var isSpecifierWord: Bool {
        guard case .word(let word) = token.kind else { return false }
        return FormatSpecifier(word: word) != nil
    }

    private mutating func nameOrCall(_ first: String) throws(RecordError) -> Expr {
        let start = token
        if case .word = start.kind {
            if startsCase(index) { return try choice() }
            if isCaseWord(index) { throw unexpected("a value") }
            if takeWord("NULL") { return .literal(.null, at: position(start)) }
            if takeWord("TRUE") { return .literal(.bool(true), at: position(start)) }
            if takeWord("FALSE") { return .literal(.bool(false), at: position(start)) }
            for keyword in ["AND", "OR", "IN", "IS", "LIKE", "BETWEEN", "GLOB", "ESCAPE", "COLLATE"]
            where isWord(keyword) {
                throw unexpected("a value")
            }
        }
        if case .word = start.kind, let moment = takeMoment() { return moment }
        advance()
        if case .word = start.kind, isSymbol("(") { return try qualified(call(first, start), start) }
        var path = [first]
        while isSymbol(".") {
            advance()
            if isSymbol("@") { return try collection(path, start) }
            guard let next = takeName() else { throw unexpected("a name") }
            path.append(next)
            if path.count > Parser.pathLimit {
                throw span(start).error("a path has at most \(Parser.pathLimit) steps")
            }
        }
        return .column(path, at: span(start))
    }

    private mutating func call(_ name: String, _ start: Token) throws(RecordError) -> Expr {
        try nested { (parser) throws(RecordError) in try parser.openCall(name, start) }
    }

    private mutating func openCall(_ name: String, _ start: Token) throws(RecordError) -> Expr {
        if Folding.folded(name) == "subquery" {
            throw position(start).error(
                "there is no SUBQUERY; use ANY, ALL or NONE, or write (SELECT count(*) FROM … WHERE …)")
        }
        advance()
        if Folding.folded(name) == "cast" { return try cast(start) }
        let isDistinct = takeDistinct()
        var arguments: [Expr] = []
        if isSymbol("*"), index + 1 < tokens.count, tokens[index + 1].kind == .symbol(")") {
            advance()
        } else if !isSymbol(")") {
            repeat { arguments.append(try enclosed()) } while takeSymbol(",")
        }
        try expectSymbol(")")
        if Folding.folded(name) == "iif" { return try Parser.choice(arguments, span(start)) }
        return .function(Folding.folded(name) + (isDistinct ? Parser.distinctMark : ""), arguments, at: span(start))
    }

    /// The suffix of the name of a DISTINCT aggregate; no function's name contains a space.
    static let distinctMark = " distinct"

    /// Parses `DISTINCT` before a value, unless it is a column of that name. `ALL` has no effect.
    private mutating func takeDistinct() -> Bool {
        guard isWord("DISTINCT") || isWord("ALL") && !startsQuantified(index), index + 1 < tokens.count else {
            return false
        }
        switch tokens[index + 1].kind {
        case .word, .name, .literal, .parameter, .symbol("("), .symbol("-"), .symbol("+"):
            if takeWord("DISTINCT") { return true }
            advance()
            return false
        default: return false
        }
    }

    mutating func takeName() -> String? {
        switch token.kind {
        case .word(let name), .name(let name):
            advance()
            return name
        default:
            return nil
        }
    }
}
