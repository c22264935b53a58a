extension SelectStatement {
    /// Returns the statement with the queries in FROM inlined where possible; the others stay in ``commonTables`` and
    /// run by themselves.
    ///
    /// A query without groups, DISTINCT and limits is inlined by adding its condition, also in a join; a grouped one by
    /// adding conditions to its HAVING. A query with a limit or a compound is inlined where it is read whole.
    ///
    /// - Parameter isPart: whether it is a part of a compound, which cannot be a compound itself.
    /// - Throws: `syntax` pointing into the text.
    func flattened(
        _ catalogue: Catalogue, _ reading: FromReading = FromReading(), isPart: Bool = false
    ) throws(RecordError) -> SelectStatement {
        if isFlat || commonTables.isEmpty && catalogue.views.isEmpty { return self }
        var copy = self
        (copy.commonTables, copy.isFlat) = ([], true)
        var queries: [CommonTable] = []
        for (name, at) in [(table, tableAt)] + joins.map({ ($0.table, $0.at) }) {
            if queries.contains(where: { Folding.folded($0.name) == Folding.folded(name) }) { continue }
            if let query = try reading.query(name, at, commonTable(name), catalogue) { queries.append(query) }
        }
        if queries.isEmpty { return copy }
        do throws(RecordError) {
            if let written = try copy.writingOut(queries, catalogue), !isPart || written.compounds.isEmpty {
                return written
            }
        } catch {
            // A query that cannot be inlined runs by itself, and reports its errors then.
        }
        copy.commonTables = queries
        return copy
    }

    /// Returns the statement with the queries in its FROM clause inlined; `nil` if that is not possible.
    private func writingOut(_ queries: [CommonTable], _ catalogue: Catalogue) throws(RecordError) -> SelectStatement? {
        var named = self
        named.commonTables = queries
        if !joins.isEmpty { return try joining(named, catalogue) }
        let inlined = try InlinedQuery(queries[0], as: alias ?? table, catalogue)
        if inlined.isPlain { return try inlining(plain: inlined, catalogue) }
        if isWhole, let passed = try passing(inlined, tableAt) { return passed }
        return try inlining(groups: inlined)
    }

    func commonTable(_ name: String) -> CommonTable? {
        commonTables.last { Folding.folded($0.name) == Folding.folded(name) }
    }

    /// Whether the statement reads all rows and all columns.
    private var isWhole: Bool {
        !isGrouped && !isDistinct && condition == nil && outputs.allSatisfy(\.isWildcard) && outputs.count <= 1
    }

    /// Returns the outputs, with `*` expanded.
    private func outputs(of inlined: InlinedQuery) throws(RecordError) -> [Output] {
        let all = inlined.columns.map { Output(expr: .column([$0.name]), name: $0.name) }
        if outputs.isEmpty { return all }
        return try SelectNames.expanded(outputs) { (table, at) throws(RecordError) in
            if let table, !inlined.isNamed(table) { throw at.notWrittenOut }
            return all
        }
    }

    /// Returns the statement with the query's expressions substituted for its names. ORDER BY may name outputs of the
    /// statement.
    private func naming(_ inlined: InlinedQuery) throws(RecordError) -> SelectStatement {
        var copy = self
        copy.outputs = try outputs(of: inlined)
        let given = copy.outputs.filter(\.isNamed).map(\.name)
        let written = copy.outputs.map(\.name)
        // The names of the outputs must not change.
        copy.outputs = SelectNames.named(copy.outputs)
        for index in copy.outputs.indices { copy.outputs[index].isNamed = true }
        let orders = copy.orderBy
        copy = try copy.rewritten(
            { (expr) throws(RecordError) in
                switch expr {
                case .column(let path, let at):
                    let rest = path.count > 1 && inlined.isNamed(path[0]) ? path.dropFirst() : ArraySlice(path)
                    if rest.count == 1, given.contains(rest[rest.startIndex]), !inlined.has(rest[rest.startIndex]) {
                        return expr
                    }
                    return try inlined.expr(rest, at)
                case .collection(let path, let function, let rest, let at):
                    let own = path.count > 1 && inlined.isNamed(path[0]) ? path.dropFirst() : ArraySlice(path)
                    guard case .column(let start, _) = try inlined.expr(own, at) else {
                        throw at.notWrittenOut
                    }
                    return .collection(start, function, rest, at: at)
                case .subquery(let subquery): return .subquery(try subquery.naming(inlined, by: inlined.sourceName))
                default: return nil
                }
            }, subqueries: { (subquery) throws(RecordError) in try subquery.naming(inlined, by: inlined.sourceName) })
        for index in orders.indices {
            let order = copy.orderBy[index].expr
            if let name = orders[index].expr.soleName, written.contains(name) {
                copy.orderBy[index].expr = orders[index].expr
            } else if let name = order.soleName, copy.outputs.contains(where: { $0.name == name && $0.expr != order }) {
                // A column with the name of another output.
                copy.orderBy[index].expr = try inlined.qualified(order, by: inlined.sourceName)
            }
        }
        return copy
    }

    private func inlining(plain inlined: InlinedQuery, _ catalogue: Catalogue) throws(RecordError) -> SelectStatement {
        var copy = try naming(inlined)
        let inner = inlined.statement
        (copy.table, copy.alias, copy.joins, copy.tableAt) = (inner.table, inner.alias, inner.joins, inner.tableAt)
        copy.condition = SelectStatement.both(inner.condition, copy.condition)
        // Without an ORDER BY of the outer statement, that of the query applies.
        if orderBy.isEmpty, !isGrouped, !isDistinct, compounds.isEmpty { copy.orderBy = try inlined.rowOrders(tableAt) }
        return copy
    }

    static func both(_ first: Condition?, _ second: Condition?) -> Condition? {
        guard let first, let second else { return first ?? second }
        return .and([first, second])
    }

    /// Returns the whole query with this statement's order and limits; `nil` if the two cannot be combined.
    private func passing(_ inlined: InlinedQuery, _ at: SourcePosition) throws(RecordError) -> SelectStatement? {
        var copy = inlined.statement
        let isCut = copy.limit != nil || copy.offset != nil
        if isCut && (!orderBy.isEmpty || limit != nil || offset != nil) || !compounds.isEmpty { return nil }
        copy.parameterCount = parameterCount
        copy.outputs = inlined.columns.map { Output(expr: $0.expr, name: $0.name, isNamed: true) }
        if orderBy.isEmpty {
            if copy.compounds.isEmpty { copy.orderBy = try inlined.orders(at) }
        } else {
            copy.orderBy = copy.compounds.isEmpty ? try naming(inlined).orderBy : orderBy
        }
        if !isCut { (copy.limit, copy.offset) = (limit, offset) }
        return copy
    }

    /// Returns the groups of a query, with this statement's condition as HAVING; `nil` if the statement needs more.
    private func inlining(groups inlined: InlinedQuery) throws(RecordError) -> SelectStatement? {
        let inner = inlined.statement
        guard inner.isGrouped, !inner.isDistinct, inner.compounds.isEmpty, inner.limit == nil, inner.offset == nil,
            !isGrouped
        else { return nil }
        let named = try naming(inlined)
        var copy = inner
        copy.outputs = named.outputs
        copy.having = SelectStatement.both(inner.having, named.condition)
        copy.isDistinct = isDistinct
        copy.orderBy = named.orderBy
        // HAVING TRUE keeps the statement grouped, so that it has one row, also without an aggregate in its outputs.
        if !copy.isGrouped { copy.having = .constant(true) }
        (copy.limit, copy.offset) = (limit, offset)
        (copy.compounds, copy.parameterCount) = (compounds, parameterCount)
        return copy
    }
}

extension Subquery {
    /// Returns the sub-query with an outer query's expressions substituted for its names.
    ///
    /// - Parameter source: the name of the query's table.
    func naming(_ inlined: InlinedQuery, by source: String) throws(RecordError) -> Subquery {
        let own = [statement.alias ?? statement.table] + statement.joins.map(\.name)
        if own.contains(where: inlined.isNamed) { return self }
        var isShadowed = false
        var isUsed = false
        func exchanged(_ subquery: Subquery, _ names: [String]) throws(RecordError) -> Subquery {
            // Inside a table of that name, the name means that table.
            if names.contains(where: inlined.isNamed) { return subquery }
            if names.contains(where: { Folding.folded($0) == Folding.folded(source) }) { isShadowed = true }
            return subquery.with(
                try subquery.statement.rewritten(
                    { (expr) throws(RecordError) in
                        switch expr {
                        case .column(let path, let at) where path.count > 1 && inlined.isNamed(path[0]):
                            isUsed = true
                            return try inlined.qualified(try inlined.expr(path.dropFirst(), at), by: source)
                        case .subquery(let inner): return .subquery(try exchanged(inner, inner.names))
                        default: return nil
                        }
                    }, subqueries: { (inner) throws(RecordError) in try exchanged(inner, inner.names) }))
        }
        let result = try exchanged(self, own)
        if isUsed && (isShadowed || !inlined.statement.joins.isEmpty || inlined.statement.isGrouped) {
            throw at.notWrittenOut
        }
        return isUsed ? result : self
    }

    private var names: [String] { [statement.alias ?? statement.table] + statement.joins.map(\.name) }
}
