/// A question in the small SQL of the shell and of `mako query`.
///
///     SELECT [DISTINCT] * | expression [AS name], … | count(*) | sum(x) avg min max total, …
///     FROM table [WHERE condition] [GROUP BY expression, …] [ORDER BY expression | name | number [DESC], …]
///     [LIMIT n [OFFSET n]]
///
/// Expressions and conditions are those of the where language, dotted paths included; a path takes the place of a join.
public struct SelectStatement: Sendable, Hashable {
    /// One column of the result.
    struct Output: Sendable, Hashable {
        var expr: Expr
        var aggregate: AggregateFunction?
        /// `count(*)`
        var countsRows = false
        var name: String
    }

    public internal(set) var table = ""
    /// How many positional parameters the statement needs.
    public internal(set) var parameterCount = 0
    /// Empty: every column.
    var outputs: [Output] = []
    var isDistinct = false
    var condition: Condition?
    var groupBy: [Expr] = []
    var orderBy: [Order] = []
    var limit: Int?
    var offset: Int?
    var tableAt = SourcePosition.none

    var isGrouped: Bool { !groupBy.isEmpty || outputs.contains { $0.aggregate != nil } }

    /// - Throws: `RecordError.syntax`, pointing into the text.
    public static func parse(_ text: String) throws(RecordError) -> SelectStatement {
        var parser = try Parser(text)
        let statement = try read(&parser)
        _ = parser.takeSymbol(";")
        try parser.expectEnd()
        return statement
    }

    /// A statement that may stand inside another.
    static func read(_ parser: inout Parser) throws(RecordError) -> SelectStatement {
        var statement = SelectStatement()
        try parser.expectWord("SELECT")
        statement.isDistinct = parser.takeWord("DISTINCT")
        if !parser.takeSymbol("*") {
            repeat { statement.outputs.append(try output(&parser)) } while parser.takeSymbol(",")
        }
        try parser.expectWord("FROM")
        statement.tableAt = parser.position(parser.token)
        guard let table = parser.takeName() else { throw parser.unexpected("the name of a table") }
        statement.table = table
        if parser.takeWord("WHERE") { statement.condition = try parser.condition() }
        if parser.takeWord("GROUP") {
            try parser.expectWord("BY")
            repeat { statement.groupBy.append(try parser.expression()) } while parser.takeSymbol(",")
        }
        if parser.takeWord("ORDER") {
            try parser.expectWord("BY")
            statement.orderBy = try orders(&parser)
        }
        if parser.takeWord("LIMIT") { statement.limit = try number(&parser) }
        if parser.takeWord("OFFSET") { statement.offset = try number(&parser) }
        statement.parameterCount = parser.parameterCount
        if statement.isGrouped && statement.outputs.isEmpty {
            throw statement.tableAt.error("GROUP BY needs the columns to be named")
        }
        return statement
    }

    private static func output(_ parser: inout Parser) throws(RecordError) -> Output {
        let start = parser.token.offset
        var output: Output
        if let found = try aggregate(&parser) {
            output = found
        } else {
            output = Output(expr: try parser.expression(), aggregate: nil, name: "")
        }
        let end = parser.token.kind == .end ? parser.text.utf8.count : parser.token.offset
        let bytes = Array(parser.text.utf8)[start..<max(start, end)]
        output.name = String(decoding: bytes, as: UTF8.self)
        while output.name.last?.isWhitespace == true { output.name.removeLast() }
        if parser.takeWord("AS") {
            guard let name = parser.takeName() else { throw parser.unexpected("a name") }
            output.name = name
        }
        return output
    }

    /// `sum(x)` and its like, or `nil` when something else begins here.
    private static func aggregate(_ parser: inout Parser) throws(RecordError) -> Output? {
        let start = parser
        guard case .word(let word) = parser.token.kind, let function = AggregateFunction(rawValue: Folding.folded(word))
        else {
            return nil
        }
        parser.advance()
        guard parser.takeSymbol("(") else {
            parser = start
            return nil
        }
        if function == .count && parser.takeSymbol("*") {
            try parser.expectSymbol(")")
            return Output(expr: .literal(.integer(1)), aggregate: .count, countsRows: true, name: "")
        }
        let expr = try parser.expression()
        try parser.expectSymbol(")")
        return Output(expr: expr, aggregate: function, name: "")
    }

    /// Orders may name an aggregate; it is found again among the outputs by its text.
    private static func orders(_ parser: inout Parser) throws(RecordError) -> [Order] {
        var orders: [Order] = []
        repeat {
            let at = parser.position(parser.token)
            if let found = try aggregate(&parser), let function = found.aggregate {
                let argument = found.countsRows ? [] : [found.expr]
                let isDescending = parser.takeWord("DESC")
                if !isDescending { _ = parser.takeWord("ASC") }
                orders.append(Order(.function(function.rawValue, argument, at: at), descending: isDescending))
            } else {
                orders += try single(&parser)
            }
        } while parser.takeSymbol(",")
        return orders
    }

    private static func single(_ parser: inout Parser) throws(RecordError) -> [Order] {
        var expr = try parser.expression()
        var noCase = false
        if case .noCase(let inner) = expr {
            expr = inner
            noCase = true
        }
        let isDescending = parser.takeWord("DESC")
        if !isDescending { _ = parser.takeWord("ASC") }
        return [Order(expr, descending: isDescending, noCase: noCase)]
    }

    private static func number(_ parser: inout Parser) throws(RecordError) -> Int {
        guard case .literal(.integer(let number)) = parser.token.kind, let number = Int(exactly: number) else {
            throw parser.unexpected("a number")
        }
        parser.advance()
        return number
    }
}

/// The answer to a statement: named columns and rows of values.
public struct QueryRows: Sendable, Hashable {
    public var columns: [String]
    public var rows: [[Value]]

    public init(columns: [String], rows: [[Value]]) {
        self.columns = columns
        self.rows = rows
    }
}
