/// Replaces the outer columns that a statement reads by parameters.
struct OuterReading {
    let outer: OuterScope

    /// - Parameter hidden: lowercased names of tables that the statement's own tables shadow.
    func parameterized(_ given: SelectStatement, hidden: Set<String> = []) throws(RecordError) -> SelectStatement {
        var statement = given
        for place in statement.commonTables.indices {
            let table = statement.commonTables[place]
            statement.commonTables[place] = table.with(try parameterized(table.statement, hidden: hidden))
        }
        for place in statement.compounds.indices {
            statement.compounds[place].statement = try parameterized(
                statement.compounds[place].statement, hidden: hidden)
        }
        var own = hidden
        for name in [statement.alias ?? statement.table] + statement.joins.map(\.name) {
            own.insert(Folding.folded(name))
        }
        func inner(_ subquery: Subquery) throws(RecordError) -> Subquery {
            subquery.with(try parameterized(subquery.statement, hidden: own))
        }
        return try statement.rewritten(
            { (expr) throws(RecordError) in
                switch expr {
                case .column(let path, let at): return try parameter(path, at, own)
                case .subquery(let subquery): return .subquery(try inner(subquery))
                default: return nil
                }
            }, subqueries: { (subquery) throws(RecordError) in try inner(subquery) })
    }

    private func parameter(
        _ path: [String], _ at: SourcePosition, _ own: Set<String>
    ) throws(RecordError) -> Expr? {
        guard path.count > 1, path[0] != Expr.ownRow, !own.contains(Folding.folded(path[0])), outer.isTable(path[0])
        else { return nil }
        let bound = try outer.binder.bind(.column(path, at: at))
        if outer.binder.isNoCase(.column([]), bound) {
            throw at.error(
                "a sub-query that groups, joins or puts together cannot read a column that is COLLATE NOCASE around it")
        }
        return .parameter(.name(RowStatement.name(outer.value(bound), outer.binder.kind(bound))), at: at)
    }

    /// The names of the parameters, in the order of the values.
    var names: [String] { outer.values.enumerated().map { RowStatement.name($0, outer.binder.kind($1)) } }

    /// Sample values of the correlated parameters' kinds, from which the kinds of the outputs are derived.
    var samples: [Value] {
        outer.values.map { expr in
            switch outer.binder.kind(expr) {
            case .null: .null
            case .bool: .bool(false)
            case .whole: .integer(0)
            case .real: .double(0)
            case .text: .text("")
            case .decimal: .text("0")
            case .blob: .blob([])
            case .date: .date(0)
            case .uuid: .uuid(0, 0)
            }
        }
    }
}
