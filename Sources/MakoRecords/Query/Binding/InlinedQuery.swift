extension SourcePosition {
    /// The error of a query that cannot be inlined. The caller catches it and runs the query by itself; users never see
    /// it.
    var notWrittenOut: RecordError { error("") }
}

/// A named query (CTE, view or query in FROM) to be inlined into the statement that reads it.
struct InlinedQuery {
    /// The largest size of an expression. Inlined expressions may contain further inlined ones; the limit keeps them as
    /// small as a text could make them.
    private static let largest = 1000

    /// The name that qualifies its columns.
    let name: String
    let statement: SelectStatement
    let columns: [(name: String, expr: Expr)]
    private let sources: [JoinScope.Source]

    init(_ table: CommonTable, as name: String, _ catalogue: Catalogue) throws(RecordError) {
        self.name = name
        var statement = table.statement
        if !statement.commonTables.isEmpty { throw table.at.notWrittenOut }
        var sources: [JoinScope.Source] = []
        if !statement.hasNoTable {
            sources = [try InlinedQuery.source(statement.alias, statement.table, statement.tableAt, catalogue)]
        }
        for join in statement.joins {
            sources.append(try InlinedQuery.source(join.alias, join.table, join.at, catalogue))
        }
        let outputs = try SelectNames.outputs(statement, sources, isJoin: !statement.joins.isEmpty)
        if let columns = table.columns, columns.count != outputs.count { throw table.at.notWrittenOut }
        // The outer statement may drop outputs that GROUP BY names, so that these are resolved first.
        statement = SelectNames(statement, sources).statement
        statement.groupBy = try SelectNames.keys(statement, outputs)
        self.statement = statement
        self.sources = sources
        try InlinedQuery.check(outputs, sources)
        columns = outputs.enumerated().map { place, output in
            (table.columns?[place] ?? output.columnName, output.expr)
        }
        if columns.contains(where: { $0.expr.size > InlinedQuery.largest }) { throw table.at.notWrittenOut }
    }

    static func source(
        _ alias: String?, _ table: String, _ at: SourcePosition, _ catalogue: Catalogue
    ) throws(RecordError) -> JoinScope.Source {
        JoinScope.Source(name: alias ?? table, table: try catalogue.requireTable(table, at))
    }

    /// Checks the names of the outputs: an output that the outer statement does not read is bound nowhere else.
    private static func check(
        _ outputs: [SelectStatement.Output], _ sources: [JoinScope.Source]
    ) throws(RecordError) {
        let scope = JoinScope(sources, prefersFirst: true)
        for case .column(let path, let at) in outputs.flatMap(\.expr.columns) where path != ["rank"] {
            _ = try scope.start(path[...], at)
        }
    }

    /// Returns its ORDER BY, with outputs as their numbers, because the outer statement may rename them.
    func orders(_ at: SourcePosition) throws(RecordError) -> [Order] {
        var orders = try SelectNames.orders(
            statement, columns.map { SelectStatement.Output(expr: $0.expr, name: $0.name) })
        for index in orders.indices {
            let named = statement.orderBy[index].expr
            if case .column(let path, _) = named, path.count == 1,
                let place = statement.outputs.firstIndex(where: { $0.isNamed && $0.name == path[0] }),
                place < columns.count, !statement.outputs.contains(where: \.isWildcard)
            {
                orders[index].expr = .literal(.integer(Int64(place + 1)), at: at)
            } else if let place = columns.firstIndex(where: { $0.expr == orders[index].expr }) {
                orders[index].expr = .literal(.integer(Int64(place + 1)), at: at)
            }
        }
        return orders
    }

    /// Returns its ORDER BY, over the columns of its one table.
    func rowOrders(_ at: SourcePosition) throws(RecordError) -> [Order] {
        if statement.orderBy.isEmpty || statement.hasNoTable { return [] }
        if !statement.joins.isEmpty { throw at.notWrittenOut }
        let isWritten = statement.outputs.count == columns.count && !statement.outputs.contains(where: \.isWildcard)
        let outputs = columns.enumerated().map { place, column in
            SelectStatement.Output(
                expr: column.expr, name: isWritten ? statement.outputs[place].name : column.name,
                isNamed: isWritten && statement.outputs[place].isNamed)
        }
        var orders: [Order] = []
        for var order in try SelectNames.orders(statement, outputs) {
            if case .literal = order.expr.uncollated { continue }
            order.expr = try qualified(order.expr, by: sourceName)
            orders.append(order)
        }
        return orders
    }

    /// Whether its rows are those of its tables, without groups, DISTINCT, compounds and limits.
    var isPlain: Bool {
        !statement.isGrouped && !statement.isDistinct && statement.compounds.isEmpty && statement.limit == nil
            && statement.offset == nil
    }

    /// The name that qualifies its rows inside the query.
    var sourceName: String { statement.alias ?? statement.table }

    func isNamed(_ other: String) -> Bool { Folding.folded(other) == Folding.folded(name) }

    func has(_ column: String) -> Bool { columns.contains { Folding.folded($0.name) == Folding.folded(column) } }

    /// Returns the expression that a path beginning with one of its columns denotes.
    func expr(_ path: ArraySlice<String>, _ at: SourcePosition) throws(RecordError) -> Expr {
        guard let first = path.first else { throw at.notWrittenOut }
        var found = columns.filter { $0.name == first }
        if found.isEmpty { found = columns.filter { Folding.folded($0.name) == Folding.folded(first) } }
        guard found.count == 1 else { throw at.notWrittenOut }
        if path.count == 1 { return found[0].expr }
        guard case .column(let start, let at) = found[0].expr else { throw at.notWrittenOut }
        return .column(try qualified(start, at) + path.dropFirst(), at: at)
    }
}

extension InlinedQuery {
    /// Returns the path with the name of its table in front, because an unqualified name followed by a dot would be
    /// read as a table.
    private func qualified(_ path: [String], _ at: SourcePosition) throws(RecordError) -> [String] {
        guard path.count == 1 else { return path }
        return [sources[try JoinScope(sources, prefersFirst: true).start(path[...], at).node].name] + path
    }
}

extension SelectStatement.Output {
    init(column path: [String]) { self.init(expr: .column(path), name: Expr.written(path)) }

    /// The name of the column for a statement that reads this one as a table.
    var columnName: String {
        if !isNamed, case .column(let path, _) = expr, let last = path.last { return last }
        return name
    }
}

extension Expr {
    /// The name of an unqualified column; `nil` for other expressions.
    var soleName: String? {
        if case .column(let path, _) = self, path.count == 1 { path[0] } else { nil }
    }

    /// The number of its nodes.
    var size: Int { children.reduce(1) { $0 + $1.size } }
}

extension InlinedQuery {
    /// Returns an expression of the query with its own columns qualified by a name.
    func qualified(_ expr: Expr, by name: String) throws(RecordError) -> Expr {
        try expr.rewritten { (part) throws(RecordError) in
            switch part {
            case .column(let path, let at):
                if path.count > 1 {
                    if Folding.folded(path[0]) == Folding.folded(sourceName) {
                        return .column([name] + path.dropFirst(), at: at)
                    }
                    if OuterRow.isName(path[0]) { return part }
                    // A column of a query around it.
                    if !isOwn(path[0]) { throw at.notWrittenOut }
                }
                return .column([name] + path, at: at)
            case .collection, .subquery: throw expr.position.notWrittenOut
            default: return nil
            }
        }
    }

    private func isOwn(_ column: String) -> Bool {
        let folded = Folding.folded(column)
        return sources.contains { $0.table.schema.visibleNames.contains { Folding.folded($0) == folded } }
    }

    /// The condition with its columns qualified by the table's name.
    var qualifiedCondition: Condition? {
        get throws(RecordError) {
            guard let condition = statement.condition else { return nil }
            return try condition.rewritten(
                { (expr) throws(RecordError) in try qualified(expr, by: name) },
                subqueries: { (subquery) throws(RecordError) in throw subquery.at.notWrittenOut })
        }
    }
}
