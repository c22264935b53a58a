/// The tables and inlined queries in the FROM clause of a join.
struct JoinedQueries {
    struct Source {
        let name: String
        /// The query; `nil` for a table.
        let query: InlinedQuery?
        let columns: [String]
        /// A column that `*` omits.
        var hidden: String?
        /// A column that is not NULL in any row of the source; `nil` if the join always finds a row.
        var presence: String?

        func has(_ column: String) -> Bool { columns.contains { Folding.folded($0) == Folding.folded(column) } }
    }

    let sources: [Source]
    /// The names of outputs, which ORDER BY and GROUP BY may use.
    let own: [String]

    private func source(named name: String) -> Source? {
        sources.first { $0.name == name } ?? sources.first { Folding.folded($0.name) == Folding.folded(name) }
    }

    /// Returns the expression that a column denotes, qualified by its table; `nil` for the name of an output.
    func expr(_ path: [String], _ at: SourcePosition) throws(RecordError) -> Expr? {
        if path.count > 1, let source = source(named: path[0]) { return try expr(path.dropFirst(), of: source, at) }
        let holders = sources.filter { $0.has(path[0]) }
        if holders.count > 1 { throw at.notWrittenOut }
        if let holder = holders.first { return try expr(path[...], of: holder, at) }
        if path.count == 1, own.contains(path[0]) { return nil }
        throw at.notWrittenOut
    }

    private func expr(_ path: ArraySlice<String>, of source: Source, _ at: SourcePosition) throws(RecordError) -> Expr {
        guard let query = source.query else { return .column([source.name] + path, at: at) }
        let expr = try query.qualified(try query.expr(path, at), by: source.name)
        guard let presence = source.presence, !expr.needsItsRow else { return expr }
        // For an unmatched row of a left join, computed columns must be NULL, too.
        let isThere = Condition.not(.isNull(.column([source.name, presence], at: at)))
        return .choice(.init([.init(isThere, expr)], at: at))
    }

    func naming(_ subquery: Subquery) throws(RecordError) -> Subquery {
        var named = subquery
        for case let query? in sources.map(\.query) { named = try named.naming(query, by: query.name) }
        return named
    }

    /// Returns the columns of one source, or of all.
    func outputs(of name: String?, _ at: SourcePosition) throws(RecordError) -> [SelectStatement.Output] {
        let wanted = name.map { (name) in source(named: name).map { [$0] } ?? [] } ?? sources
        if wanted.isEmpty { throw at.notWrittenOut }
        return wanted.flatMap { source in
            source.columns.filter { $0 != source.hidden }.map { .init(column: [source.name, $0]) }
        }
    }
}

extension SelectStatement {
    /// Returns the statement with its inlined queries replaced by their tables.
    func joining(_ named: SelectStatement, _ catalogue: Catalogue) throws(RecordError) -> SelectStatement {
        var sources = [try JoinedQueries.Source(named, table, alias, tableAt, catalogue)]
        for join in joins {
            var source = try JoinedQueries.Source(named, join.table, join.alias, join.at, catalogue)
            if join.kind == .left, let query = source.query {
                switch try catalogue.requireTable(query.statement.table).schema.key {
                case .rowID(let column): source.presence = column
                case .columns(let columns): source.presence = columns.first
                }
            }
            sources.append(source)
        }
        var copy = try naming(
            JoinedQueries(sources: sources, own: outputs.filter(\.isNamed).map(\.name)))
        if let query = sources[0].query {
            (copy.table, copy.alias) = (query.statement.table, query.name)
            copy.condition = SelectStatement.both(try query.qualifiedCondition, copy.condition)
        }
        for index in joins.indices {
            guard let query = sources[index + 1].query else { continue }
            (copy.joins[index].table, copy.joins[index].alias) = (query.statement.table, query.name)
            copy.joins[index].condition = SelectStatement.both(
                try query.qualifiedCondition, copy.joins[index].condition)
        }
        return copy
    }

    private func naming(_ queries: JoinedQueries) throws(RecordError) -> SelectStatement {
        var copy = self
        copy.outputs = SelectNames.named(
            outputs.isEmpty ? try queries.outputs(of: nil, tableAt) : try SelectNames.expanded(outputs, queries.outputs)
        )
        for index in copy.outputs.indices { copy.outputs[index].isNamed = true }
        let orders = copy.orderBy
        copy = try copy.rewritten(
            { (expr) throws(RecordError) in
                switch expr {
                case .column(let path, let at): return try queries.expr(path, at)
                case .collection(_, _, _, let at): throw at.notWrittenOut
                case .subquery(let subquery): return .subquery(try queries.naming(subquery))
                default: return nil
                }
            }, subqueries: { (subquery) throws(RecordError) in try queries.naming(subquery) })
        for index in orders.indices {
            guard case .column(let path, _) = orders[index].expr, path.count == 1, queries.own.contains(path[0])
            else { continue }
            copy.orderBy[index].expr = orders[index].expr
        }
        return copy
    }
}

extension JoinedQueries.Source {
    init(
        _ statement: SelectStatement, _ table: String, _ alias: String?, _ at: SourcePosition, _ catalogue: Catalogue
    ) throws(RecordError) {
        name = alias ?? table
        guard let common = statement.commonTable(table) else {
            query = nil
            let schema = try InlinedQuery.source(alias, table, at, catalogue).table.schema
            columns = schema.visibleNames.sorted { first, _ in first == schema.idColumn }
            hidden = schema.hidesID ? schema.idColumn : nil
            return
        }
        let inlined = try InlinedQuery(common, as: alias ?? table, catalogue)
        guard inlined.isPlain, inlined.statement.joins.isEmpty, !inlined.statement.hasNoTable else {
            throw at.notWrittenOut
        }
        query = inlined
        columns = inlined.columns.map(\.name)
    }
}

extension Expr {
    /// Whether the expression is NULL where its columns are.
    fileprivate var needsItsRow: Bool {
        switch self {
        case .column: true
        case .negate(let inner), .noCase(let inner), .binary(let inner): inner.needsItsRow
        case .arithmetic(_, let left, let right, _): left.needsItsRow || right.needsItsRow
        case .function(let name, let arguments, _):
            !["coalesce", "ifnull", "typeof"].contains(Folding.folded(name)) && arguments.first?.needsItsRow == true
        case .literal, .parameter, .collection, .subquery, .subject, .choice, .condition: false
        }
    }
}
