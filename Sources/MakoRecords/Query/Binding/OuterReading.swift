/// Replaces the outer columns that a statement reads by those of an ``OuterRow``.
final class OuterReading {
    private let outer: OuterScope
    private let name: String
    /// The names of the columns, by the indexes of the outer values.
    private var names: [String] = []
    /// The number of columns replaced so far.
    private var replaced = 0

    /// - Parameter number: the number of the row in the statement, for its name.
    init(_ outer: OuterScope, number: Int) {
        self.outer = outer
        name = OuterRow.name(number)
    }

    /// Returns the statement joined with the outer row; without a row if it reads no outer column.
    func joined(_ statement: SelectStatement) throws(RecordError) -> (SelectStatement, OuterRow?) {
        let joined = try reading(statement, hidden: [])
        if names.isEmpty { return (statement, nil) }
        let columns = zip(names, outer.values).map { name, value in
            (name, outer.column(value), outer.binder.isNoCase(.column([]), value))
        }
        return (joined, OuterRow(name, columns))
    }

    /// - Parameters:
    ///   - hidden: lowercased names of tables that the statement's own tables shadow.
    ///   - isNested: whether it is a sub-query, which finds the outer row in the query around it.
    private func reading(
        _ given: SelectStatement, hidden: Set<String>, isNested: Bool = false
    ) throws(RecordError) -> SelectStatement {
        var statement = given
        for place in statement.commonTables.indices {
            let table = statement.commonTables[place]
            statement.commonTables[place] = table.with(
                try reading(table.statement, hidden: hidden, isNested: isNested))
        }
        for place in statement.compounds.indices {
            statement.compounds[place].statement = try reading(
                statement.compounds[place].statement, hidden: hidden, isNested: isNested)
        }
        var own = hidden
        for name in [statement.alias ?? statement.table] + statement.joins.map(\.name) {
            own.insert(Folding.folded(name))
        }
        func inner(_ subquery: Subquery) throws(RecordError) -> Subquery {
            subquery.with(try reading(subquery.statement, hidden: own, isNested: true))
        }
        let before = replaced
        var read = try statement.rewritten(
            { (expr) throws(RecordError) in
                switch expr {
                case .column(let path, let at): return try column(path, at, own)
                case .subquery(let subquery): return .subquery(try inner(subquery))
                default: return nil
                }
            }, subqueries: { (subquery) throws(RecordError) in try inner(subquery) })
        if !isNested, replaced > before { read.outerRow = name }
        return read
    }

    private func column(_ path: [String], _ at: SourcePosition, _ own: Set<String>) throws(RecordError) -> Expr? {
        guard path.count > 1, path[0] != Expr.ownRow, !own.contains(Folding.folded(path[0])), outer.isTable(path[0])
        else { return nil }
        replaced += 1
        let place = outer.value(try outer.binder.bind(.column(path, at: at)))
        if place == names.count {
            var column = path.joined(separator: ".")
            while names.contains(column) { column += "'" }
            names.append(column)
        }
        return .column([name, names[place]], at: at)
    }
}

extension OuterScope {
    /// Returns the column that holds an outer value.
    func column(_ value: BoundExpr) -> DerivedColumn {
        switch value {
        case .column(let column):
            return DerivedColumn(column, in: column.node < 0 ? binder.table : binder.joins[column.node].target)
        case .outer(let value):
            if let row = binder.scope?.outerRow {
                let schema = row.table.columns[value.index]
                return DerivedColumn(schema.type, target: schema.target, isDecimal: value.kind == .decimal)
            }
            return binder.outer.map { $0.column($0.values[value.index]) } ?? DerivedColumn(value.kind)
        default: return DerivedColumn(Binder.kind(value))
        }
    }
}
