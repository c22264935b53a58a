import MakoStorage

/// A recursive descent parser of conditions, expressions and statements.
///
///     or          and { (OR | "||") and }
///     and         not { (AND | "&&") not }
///     not         (NOT | "!") not | predicate
///     predicate   EXISTS select | (ANY | ALL | NONE) predicate
///                 | sum [ comparison sum | IS [NOT] [DISTINCT FROM] sum | [NOT] IN (…) | [NOT] IN select | [NOT] IN parameter
///                 | [NOT] BETWEEN sum AND sum | [NOT] LIKE sum [ESCAPE sum] | [NOT] GLOB sum | [NOT] MATCH sum ]
///     joined      sum { "||" sum }
///     sum         product { ("+" | "-") product }
///     product     unary { ("*" | "/" | "%") unary }
///     unary       ("-" | "+") unary | primary { COLLATE NOCASE }
///     case        CASE [ sum ] WHEN (or | sum) THEN sum { WHEN (or | sum) THEN sum } [ ELSE sum ] END
///     primary     literal | parameter | case | name { "." name } | name "(" [ list ] ")" | "(" or ")" | select
///                 | name { "." name } ".@" name { "." name }
///
/// `||` concatenates texts, and is OR between conditions: if another comparison follows the `||` after a comparison, it
/// is OR.
struct Parser {
    /// The limit of nesting; it protects the stack.
    static let depthLimit = 100
    /// The largest number of steps of a path.
    static let pathLimit = 32

    let text: String
    let tokens: [Token]
    private(set) var index = 0
    private var depth = 0
    /// The height of the tallest tree parsed at the current level, with the links of chains.
    var height = 0
    var positional = 0
    /// The number of CASEs around the current token.
    var openCases = 0
    /// The number of positional parameters.
    var parameterCount = 0
    /// The positions of the parameters.
    private(set) var places = ParameterPlaces()
    /// The CTEs named so far.
    var commonTables: [CommonTable] = []
    /// The number of SELECTs so far, those of named queries counted wherever the name occurs.
    var selects = 0
    static let selectLimit = 2000

    init(_ text: String) throws(RecordError) {
        self.text = text
        tokens = try Lexer.tokens(of: text)
    }

    /// A parsed part of the text.
    enum Part {
        case value(Expr)
        case condition(Condition)
    }

    mutating func condition() throws(RecordError) -> Condition {
        let start = token
        return asCondition(try or(), start)
    }

    /// Parses a value, which may be a condition.
    mutating func expression() throws(RecordError) -> Expr {
        try nested(isNode: false) { (parser) throws(RecordError) in try parser.enclosed() }
    }

    /// Parses a value inside a construct that counts as a level.
    mutating func enclosed() throws(RecordError) -> Expr {
        // Fast path for single tokens, which most values in lists are.
        if endsValue(index + 1) { return try operand() }
        let start = token
        return asValue(try disjunction(), start)
    }

    private func endsValue(_ place: Int) -> Bool {
        guard place < tokens.count else { return false }
        switch tokens[place].kind {
        case .symbol(let symbol): return symbol == "," || symbol == ")"
        case .end: return true
        default: return false
        }
    }

    func expectEnd() throws(RecordError) {
        guard token.kind == .end else { throw unexpected("the end of the text") }
    }

    // MARK: Tokens

    var token: Token { tokens[min(index, tokens.count - 1)] }

    mutating func advance() { index = min(index + 1, tokens.count - 1) }

    func isWord(_ word: String) -> Bool { isWord(word, index) }

    func isWord(_ word: String, _ index: Int) -> Bool {
        guard index < tokens.count, case .word(let found) = tokens[index].kind else { return false }
        return found.utf8.count == word.utf8.count && Folding.folded(found) == Folding.folded(word)
    }

    mutating func takeWord(_ word: String) -> Bool {
        guard isWord(word) else { return false }
        advance()
        return true
    }

    func isSymbol(_ symbol: String) -> Bool { token.kind == .symbol(symbol) }

    mutating func takeSymbol(_ symbol: String) -> Bool {
        guard isSymbol(symbol) else { return false }
        advance()
        return true
    }

    mutating func expectSymbol(_ symbol: String) throws(RecordError) {
        guard takeSymbol(symbol) else { throw unexpected("\"\(symbol)\"") }
    }

    mutating func expectWord(_ word: String) throws(RecordError) {
        guard takeWord(word) else { throw unexpected(word) }
    }

    func position(_ token: Token) -> SourcePosition {
        SourcePosition(text: text, offset: token.offset, length: token.length)
    }

    /// Returns the range from a token to the one before the current token.
    func span(_ start: Token) -> SourcePosition {
        let last = tokens[max(0, index - 1)]
        return SourcePosition(
            text: text, offset: start.offset, length: max(1, last.offset + last.length - start.offset))
    }

    func unexpected(_ wanted: String) -> RecordError {
        if token.kind == .end { return position(token).error("the text ends where \(wanted) is expected") }
        return position(token).error("\(wanted) is expected here\(hint)")
    }

    /// Parses one level of nesting. Every recursion of the parser passes through here.
    ///
    /// - Parameter isNode: whether the level makes the tree higher, which parentheses alone do not.
    mutating func nested<R>(
        isNode: Bool = true, _ body: (inout Parser) throws(RecordError) -> R
    ) throws(RecordError) -> R {
        let tallest = height
        height = 0
        depth += 1
        defer { depth -= 1 }
        let at = position(token)
        if depth > Parser.depthLimit {
            throw at.error("this is nested too deeply; the limit is \(Parser.depthLimit)")
        }
        let result = try StackGuard.run(isDeep: false) { () throws(RecordError) in
            try body(&self)
        } orElse: { () throws(RecordError) in
            throw at.tooDeepForStack
        }
        if isNode { try grow(at) }
        height = max(tallest, height)
        return result
    }

    /// Counts another level above the parsed tree. Levels and chains together make a tree deeper than either limit.
    mutating func grow(_ at: SourcePosition, levels: Int = 1) throws(RecordError) {
        height += levels
        if height > Condition.depthLimit {
            throw at.error("this is nested too deeply; the limit is \(Condition.depthLimit)")
        }
    }

    // MARK: Conditions

    mutating func or() throws(RecordError) -> Part {
        try nested(isNode: false) { (parser) throws(RecordError) in try parser.disjunction() }
    }

    private mutating func disjunction() throws(RecordError) -> Part {
        let start = token
        let first = try and()
        guard isWord("OR") || isSymbol("||") else { return first }
        var parts = [asCondition(first, start)]
        if case .or(let more) = parts[0] { parts = more }
        while takeWord("OR") || takeSymbol("||") {
            let next = token
            let part = asCondition(try and(), next)
            if case .or(let more) = part { parts += more } else { parts.append(part) }
        }
        return .condition(.or(parts))
    }

    private mutating func and() throws(RecordError) -> Part {
        let start = token
        let first = try not()
        guard isWord("AND") || isSymbol("&&") else { return first }
        var parts = [asCondition(first, start)]
        if case .and(let more) = parts[0] { parts = more }
        while takeWord("AND") || takeSymbol("&&") {
            let next = token
            let part = asCondition(try not(), next)
            if case .and(let more) = part { parts += more } else { parts.append(part) }
        }
        return .condition(.and(parts))
    }

    private mutating func not() throws(RecordError) -> Part {
        guard isWord("NOT") || isSymbol("!") else { return try predicate() }
        return try nested { (parser) throws(RecordError) in
            parser.advance()
            let start = parser.token
            return .condition(.not(parser.asCondition(try parser.not(), start)))
        }
    }

    mutating func predicate() throws(RecordError) -> Part {
        if startsQuantified(index) { return .condition(try quantified()) }
        let start = token
        let left = try joined(isRight: false)
        if case .condition = left, !isPredicateWord(index) { return left }
        if let comparison = takeComparison() {
            let next = token
            let value = asValue(left, start)
            let result = Condition.comparison(comparison, value, asValue(try joined(isRight: true), next))
            if isPredicateWord(index) { throw position(token).error("comparisons do not chain; join them with AND") }
            return .condition(result)
        }
        guard isPredicateWord(index) else { return left }
        if takeWord("IS") {
            let isNegated = takeWord("NOT")
            return .condition(try identity(left, start, isNegated: isNegated))
        }
        let value = asValue(left, start)
        if takeWord("ISNULL") { return .condition(.isNull(value)) }
        if takeWord("NOTNULL") { return .condition(.not(.isNull(value))) }
        let isNegated = takeWord("NOT")
        if isNegated, takeWord("NULL") { return .condition(.not(.isNull(value))) }
        if takeWord("IN") {
            if startsSubquery(index) { return .condition(negated(isNegated, .isInQuery(value, try subquery()))) }
            if let table = try takeTableAsList() { return .condition(negated(isNegated, .isInQuery(value, table))) }
            return .condition(negated(isNegated, .isIn(value, try startsParameter ? [soleParameter()] : list())))
        }
        if takeWord("BETWEEN") {
            let low = try operand()
            guard takeWord("AND") || takeSymbol("&&") else { throw unexpected("AND") }
            return .condition(negated(isNegated, .between(value, low, try operand())))
        }
        if takeWord("LIKE") {
            let pattern = try operand()
            let escape = takeWord("ESCAPE") ? try operand() : nil
            return .condition(negated(isNegated, .like(value, pattern, escape: escape)))
        }
        if takeWord("GLOB") { return .condition(negated(isNegated, .glob(value, try operand()))) }
        if takeWord("MATCH") { return .condition(negated(isNegated, .match(value, try operand()))) }
        throw unexpected("IN, BETWEEN, LIKE, GLOB or MATCH")
    }

    /// Parses what follows `IS` or `IS NOT`: NULL, TRUE, FALSE, a value, or DISTINCT FROM and a value.
    private mutating func identity(
        _ left: Part, _ start: Token, isNegated: Bool
    ) throws(RecordError) -> Condition {
        if takeWord("NULL") { return negated(isNegated, .isNull(asValue(left, start))) }
        let at = position(token)
        let isTrue = isWord("TRUE")
        if isTrue || isWord("FALSE") {
            let truth = Expr.condition(asCondition(left, start), at: span(start))
            advance()
            return negated(isNegated, .same(truth, .literal(.integer(isTrue ? 1 : 0), at: at), at: at))
        }
        let value = asValue(left, start)
        guard takeWord("DISTINCT") else { return negated(isNegated, .same(value, try operand(), at: at)) }
        try expectWord("FROM")
        return negated(!isNegated, .same(value, try operand(), at: at))
    }

    private func negated(_ isNegated: Bool, _ condition: Condition) -> Condition {
        isNegated ? .not(condition) : condition
    }

    mutating func operand() throws(RecordError) -> Expr {
        let start = token
        return asValue(try joined(isRight: true), start)
    }

    private mutating func list() throws(RecordError) -> [Expr] {
        try expectSymbol("(")
        if takeSymbol(")") { return [] }
        var items: [Expr] = []
        var spans: [ParameterPlaces.Item] = []
        repeat {
            let start = token
            let item = try expression()
            items.append(item)
            spans.append(ParameterPlaces.Item(item, span(start)))
        } while takeSymbol(",")
        places.note(spans, isEnclosed: true)
        try expectSymbol(")")
        return items
    }

    /// Parses the parameter of a whole IN list.
    private mutating func soleParameter() throws(RecordError) -> Expr {
        let start = token
        let parameter = try parameter()
        places.note([ParameterPlaces.Item(parameter, span(start))], isEnclosed: false)
        return parameter
    }

    mutating func note(_ parameter: Parameter, _ at: SourcePosition) { places.note(parameter, at) }

    private mutating func takeComparison() -> ComparisonOperator? {
        guard case .symbol(let symbol) = token.kind, let found = Parser.comparisons[symbol] else { return nil }
        advance()
        return found
    }

    private static let comparisons: [String: ComparisonOperator] = [
        "=": .equal, "==": .equal, "!=": .notEqual, "<>": .notEqual, "<": .less, "<=": .lessOrEqual, ">": .greater,
        ">=": .greaterOrEqual,
    ]

    private static let predicateWords = [
        "IS", "IN", "BETWEEN", "LIKE", "GLOB", "NOT", "MATCH", "ISNULL", "NOTNULL",
    ]

    func isPredicateWord(_ index: Int) -> Bool {
        switch tokens[index].kind {
        case .symbol(let symbol): return Parser.comparisons[symbol] != nil
        case .word: return Parser.predicateWords.contains { isWord($0, index) }
        default: return false
        }
    }

    func asCondition(_ part: Part, _ start: Token) -> Condition {
        switch part {
        case .condition(let condition): return condition
        case .value(.literal(.bool(let flag), _)): return .constant(flag)
        case .value(let value): return .truth(value)
        }
    }

    func asValue(_ part: Part, _ start: Token) -> Expr {
        switch part {
        case .value(let value): value
        case .condition(let condition): .condition(condition, at: span(start))
        }
    }
}
