/// A SELECT of the SQL dialect.
///
///     [WITH name [(column, …)] AS (SELECT …), …]
///     SELECT [DISTINCT] * | table.* | expression [[AS] name], … | count(*) | sum(x) avg min max total, …
///     [FROM table | (SELECT …) [AS name]
///         { [INNER | LEFT] JOIN table [AS name] ON condition | CROSS JOIN table | , table }]
///     [WHERE condition] [GROUP BY expression | name | number, …] [HAVING condition]
///     { UNION [ALL] | INTERSECT | EXCEPT SELECT … }
///     [ORDER BY expression | name | number [DESC], …] [LIMIT n [OFFSET n]]
///
/// Expressions and conditions are those of the where language, dotted paths included: a path over references replaces a
/// join.
package struct SelectStatement: Sendable, Hashable {
    /// The number of parameters up to the end of the statement. Excluded from equality: the same sub-query in GROUP BY
    /// and in the outputs may have other parameters before it.
    private struct Places: Sendable, Hashable {
        var count = 0

        static func == (left: Places, right: Places) -> Bool { true }
        func hash(into hasher: inout Hasher) {}
    }

    /// An output column.
    struct Output: Sendable, Hashable {
        /// For `*` and `table.*` a column of that name.
        var expr: Expr
        /// The name; of a column without AS the path, see ``SelectNames/named(_:)``.
        var name: String
        /// Whether AS has given the name.
        var isNamed = false

        /// Whether it is `*`, every column, or `x.*`, those of one table.
        var isWildcard: Bool {
            if case .column(let path, _) = expr { path.last == "*" } else { false }
        }
    }

    /// The table; empty without FROM, when the result has one row.
    package internal(set) var table = ""
    /// The number of positional parameters.
    package internal(set) var parameterCount: Int {
        get { places.count }
        set { places.count = newValue }
    }
    private var places = Places()
    /// The outputs; empty for every column.
    var outputs: [Output] = []
    var isDistinct = false
    var joins: [JoinClause] = []
    /// Joined rows whose columns the query names.
    var references: [SelectionJoin] = []
    /// Whether an ambiguous name means the first table that has it.
    var prefersFirst = false
    var condition: Condition?
    var groupBy: [Expr] = []
    var having: Condition?
    /// The further parts of a compound, before its order.
    var compounds: [SetClause] = []
    var orderBy: [Order] = []
    var limit: Int?
    var offset: Int?
    /// The parameters of LIMIT and OFFSET, before they have values.
    var counts: CountParameters?
    var alias: String?
    var tableAt = SourcePosition.none
    /// The name of the table of outer values that it reads, see ``OuterRow``.
    var outerRow: String?
    /// Named queries, some of which are in FROM.
    var commonTables: [CommonTable] = []
    /// Whether the queries left in ``commonTables`` run by themselves, see ``flattened(_:)``.
    var isFlat = false

    /// Whether it has no FROM.
    var hasNoTable: Bool { table.isEmpty && joins.isEmpty }

    /// The value after SELECT, if there is nothing else: `(SELECT 1)` is `1`.
    var soleValue: Expr? {
        let isBare =
            hasNoTable && !isGrouped && condition == nil && compounds.isEmpty && limit == nil && offset == nil
            && counts == nil && commonTables.isEmpty && orderBy.isEmpty
        return isBare && outputs.count == 1 && !outputs[0].isWildcard ? outputs[0].expr : nil
    }

    /// The number of joined tables; for a compound the largest of its parts.
    package var tableCount: Int {
        let own = commonTables.reduce(1 + joins.count) { max($0, $1.statement.tableCount) }
        return compounds.reduce(own) { max($0, $1.statement.tableCount) }
    }

    var isGrouped: Bool {
        !groupBy.isEmpty || having != nil || outputs.contains { $0.expr.hasAggregate }
            || compounds.isEmpty && orderBy.contains { $0.expr.hasAggregate }
    }

    /// Parses a SELECT.
    ///
    /// - Throws: `RecordError.syntax`, pointing into the text.
    package static func parse(_ text: String) throws(RecordError) -> SelectStatement {
        var parser = try Parser(text)
        let statement = try read(&parser)
        _ = parser.takeSymbol(";")
        try parser.expectEnd()
        return statement
    }

    /// Parses the SELECT that starts here, possibly a part of another statement.
    static func read(_ parser: inout Parser) throws(RecordError) -> SelectStatement {
        let outer = parser.commonTables
        defer { parser.commonTables = outer }
        if parser.takeWord("WITH") { try parser.readCommonTables() }
        var statement = try SelectStatement(&parser)
        while let operation = parser.takeSetOperator() {
            let at = parser.position(parser.token)
            if statement.compounds.count + 1 >= Parser.depthLimit {
                throw at.error("at most \(Parser.depthLimit) queries can be put together")
            }
            let next = try SelectStatement(&parser)
            statement.compounds.append(SetClause(operation: operation, statement: try next.checked(), at: at))
        }
        if parser.takeWord("ORDER") {
            try parser.expectWord("BY")
            statement.orderBy = try Order.list(&parser)
        }
        var counts = CountParameters()
        if parser.takeWord("LIMIT") {
            statement.limit = try number(&parser, &counts.limit)
            if parser.takeSymbol(",") {
                // `LIMIT offset, count` has the offset first.
                (statement.offset, counts) = (statement.limit, CountParameters(offset: counts.limit))
                statement.limit = try number(&parser, &counts.limit)
            }
        }
        if parser.takeWord("OFFSET") { statement.offset = try number(&parser, &counts.offset) }
        if counts != CountParameters() { statement.counts = counts }
        statement.parameterCount = parser.parameterCount
        for index in statement.compounds.indices {
            statement.compounds[index].statement.parameterCount = parser.parameterCount
        }
        return try statement.checked()
    }

    private func checked() throws(RecordError) -> SelectStatement {
        if isGrouped && outputs.isEmpty { throw tableAt.error("GROUP BY needs the columns to be named") }
        return unaliased()
    }

    /// Makes a SELECT of all rows of a table.
    init(allOf table: String, at: SourcePosition) {
        self.table = table
        tableAt = at
    }

    /// Parses up to a possible ORDER BY.
    private init(_ parser: inout Parser) throws(RecordError) {
        tableAt = parser.position(parser.token)
        try parser.expectWord("SELECT")
        isDistinct = parser.takeWord("DISTINCT")
        if !isDistinct, parser.isWord("ALL"), !parser.startsQuantified(parser.index) { parser.advance() }
        repeat { outputs.append(try SelectStatement.output(&parser)) } while parser.takeSymbol(",")
        if outputs.count == 1, case .column(["*"], _) = outputs[0].expr { outputs = [] }
        if parser.takeWord("FROM") {
            tableAt = parser.position(parser.token)
            (table, alias) = try parser.source(&commonTables)
            if table.isEmpty { throw tableAt.error("the name of a table is expected here") }
            joins = try parser.joins(&commonTables)
        } else if !parser.endsResults {
            throw parser.unexpected("FROM")
        }
        if parser.takeWord("WHERE") { condition = try parser.condition() }
        if parser.takeWord("GROUP") {
            try parser.expectWord("BY")
            repeat { groupBy.append(try parser.expression()) } while parser.takeSymbol(",")
        }
        if parser.takeWord("HAVING") { having = try parser.condition() }
        let names = ([table] + joins.map(\.table)).map(Folding.folded)
        let named = parser.commonTables.filter { names.contains(Folding.folded($0.name)) }
        commonTables = named + commonTables
        try parser.count(named, tableAt)
    }

    /// Returns an aggregate as an expression; without an argument, COUNT(*).
    package static func aggregate(_ function: AggregateFunction, _ argument: Expr?, isDistinct: Bool = false) -> Expr {
        .function(function.rawValue + (isDistinct ? Parser.distinctMark : ""), argument.map { [$0] } ?? [])
    }

    /// Parses an output: an expression with its name.
    ///
    /// - Throws: `RecordError.syntax`, pointing into the text.
    package static func output(_ text: String) throws(RecordError) -> (expr: Expr, name: String) {
        var parser = try Parser(text)
        let found = try output(&parser)
        try parser.expectEnd()
        if found.isWildcard { throw found.expr.position.error("the columns of a group are named") }
        return (found.expr, found.name)
    }

    static func output(_ parser: inout Parser) throws(RecordError) -> Output {
        let start = parser.token
        if let wildcard = wildcard(&parser) { return wildcard }
        var output = Output(expr: try parser.expression(), name: "")
        // Without white space and comments after it.
        let span = parser.span(start)
        output.name = output.expr.writtenPath ?? span.words
        if let name = try parser.takeResultName() {
            output.name = name
            output.isNamed = true
        }
        return output
    }

    /// Parses `*` or `table.*`.
    private static func wildcard(_ parser: inout Parser) -> Output? {
        let before = parser
        let at = parser.position(parser.token)
        if parser.takeSymbol("*") { return Output(expr: .column(["*"], at: at), name: "*") }
        guard let name = parser.takeName(), parser.takeSymbol("."), parser.takeSymbol("*") else {
            parser = before
            return nil
        }
        return Output(expr: .column([name, "*"], at: at), name: "*")
    }

    /// Returns the statement, if it has one table, without that table's alias in the names of columns. Paths keep it,
    /// because their first column may have the name of a table.
    func unaliased() -> SelectStatement {
        guard let alias, joins.isEmpty else { return self }
        func change(_ expr: Expr) -> Expr? {
            guard case .column(let path, let at) = expr, path.count == 2, path[0] == alias else { return nil }
            return .column([path[1]], at: at)
        }
        do throws(RecordError) {
            var copy = try rewritten(change)
            // Names of outputs have precedence over columns.
            for index in orderBy.indices {
                if case .column(let path, _) = copy.orderBy[index].expr, path.count == 1,
                    outputs.contains(where: { $0.isNamed && $0.name == path[0] })
                {
                    copy.orderBy[index].expr = orderBy[index].expr
                }
            }
            return copy
        } catch { return self }
    }

    /// Returns the statement with rewritten expressions and sub-queries.
    func rewritten(
        _ change: (Expr) throws(RecordError) -> Expr?,
        subqueries: (Subquery) throws(RecordError) -> Subquery = { $0 }
    ) throws(RecordError) -> SelectStatement {
        func changed(_ condition: Condition?) throws(RecordError) -> Condition? {
            guard let condition else { return nil }
            return try condition.rewritten(change, subqueries: subqueries)
        }
        var copy = self
        for index in outputs.indices { copy.outputs[index].expr = try outputs[index].expr.rewritten(change) }
        for index in orderBy.indices {
            copy.orderBy[index].expr = try orderBy[index].expr.rewritten(change).named(by: orderBy[index].expr)
        }
        for index in joins.indices { copy.joins[index].condition = try changed(joins[index].condition) }
        copy.groupBy = zip(try Expr.rewritten(groupBy, change), groupBy).map { $0.named(by: $1) }
        copy.condition = try changed(condition)
        copy.having = try changed(having)
        return copy
    }

    /// Parses a number, or returns `nil` and a parameter.
    private static func number(_ parser: inout Parser, _ parameter: inout Expr?) throws(RecordError) -> Int? {
        if parser.startsParameter {
            parameter = try parser.parameter()
            return nil
        }
        guard case .literal(.integer(let number)) = parser.token.kind, let number = Int(exactly: number) else {
            throw parser.unexpected("a number")
        }
        parser.advance()
        return number
    }
}

/// The result of a query: named columns and rows of values.
public struct QueryRows: Sendable, Hashable {
    /// The names of the columns.
    public var columns: [String]
    /// The rows, each with a value for each column.
    public var rows: [[Value]]

    /// Makes a result.
    package init(columns: [String], rows: [[Value]]) {
        self.columns = columns
        self.rows = rows
    }
}
