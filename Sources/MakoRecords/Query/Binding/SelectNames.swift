/// Resolves names and numbers that denote outputs of a statement.
struct SelectNames {
    /// The statement with outputs substituted for their names in HAVING and GROUP BY, where columns have precedence.
    let statement: SelectStatement

    init(_ statement: SelectStatement, _ sources: [JoinScope.Source]) {
        func named(_ expr: Expr) -> Expr? {
            guard case .column(let path, _) = expr, path.count == 1, !SelectNames.isColumn(path[0], sources) else {
                return nil
            }
            return statement.outputs.first { $0.isNamed && $0.name == path[0] }?.expr
        }
        var copy = statement
        copy.groupBy = statement.groupBy.map { key in
            let plain = key.uncollated
            return key.collating((named(plain) ?? plain).named(by: plain))
        }
        copy.having = statement.having.map { having in
            do throws(RecordError) { return try having.rewritten(named) } catch { return having }
        }
        self.statement = copy
    }

    private static func isColumn(_ name: String, _ sources: [JoinScope.Source]) -> Bool {
        let folded = Folding.folded(name)
        return sources.contains { source in
            source.table.schema.visibleNames.contains { Folding.folded($0) == folded }
        }
    }

    /// Returns the columns of the result, with `*` expanded.
    static func outputs(
        _ statement: SelectStatement, _ sources: [JoinScope.Source], isJoin: Bool
    ) throws(RecordError) -> [SelectStatement.Output] {
        if statement.outputs.isEmpty { return named(sources.flatMap { columns($0, isJoin) }) }
        return try outputs(statement.outputs, sources, isJoin: isJoin)
    }

    /// Returns the outputs with the names of the result's columns. A column has the last name of its path; if another
    /// column of the result has that name as well, it has the whole path as its name.
    static func named(_ outputs: [SelectStatement.Output]) -> [SelectStatement.Output] {
        if outputs.allSatisfy({ $0.columnName == $0.name }) { return outputs }
        var counts: [String: Int] = [:]
        for output in outputs { counts[Folding.folded(output.columnName), default: 0] += 1 }
        return outputs.map { output in
            var copy = output
            if counts[Folding.folded(output.columnName)] == 1 { copy.name = output.columnName }
            return copy
        }
    }

    /// Returns some outputs, with `*` expanded.
    static func outputs(
        _ outputs: [SelectStatement.Output], _ sources: [JoinScope.Source], isJoin: Bool
    ) throws(RecordError) -> [SelectStatement.Output] {
        let all = try expanded(outputs) { (table, at) throws(RecordError) in
            guard let table else { return sources.flatMap { columns($0, isJoin) } }
            let name = Folding.folded(table)
            let found = sources.first { $0.name == table } ?? sources.first { Folding.folded($0.name) == name }
            guard let found else {
                throw at.error(
                    "there is no table \(table)", nearest: Spelling.nearest(to: table, in: sources.map(\.name)))
            }
            return columns(found, isJoin)
        }
        return named(all)
    }

    /// Returns some outputs, with each `*` and `table.*` replaced by the columns that the closure returns.
    static func expanded(
        _ outputs: [SelectStatement.Output],
        _ columns: (_ table: String?, SourcePosition) throws(RecordError) -> [SelectStatement.Output]
    ) throws(RecordError) -> [SelectStatement.Output] {
        var result: [SelectStatement.Output] = []
        for output in outputs {
            if output.isWildcard, case .column(let path, let at) = output.expr {
                result += try columns(path.count > 1 ? path[0] : nil, at)
            } else {
                result.append(output)
            }
        }
        return result
    }

    private static func columns(_ source: JoinScope.Source, _ isJoin: Bool) -> [SelectStatement.Output] {
        source.table.schema.shownNames.map { .init(column: isJoin ? [source.name, $0] : [$0]) }
    }

    /// Returns the keys of GROUP BY, with numbers of outputs replaced by their expressions.
    static func keys(
        _ statement: SelectStatement, _ outputs: [SelectStatement.Output]
    ) throws(RecordError) -> [Expr] {
        var keys: [Expr] = []
        for key in statement.groupBy {
            keys.append(try numbered(key.uncollated, outputs).map { key.collating($0) } ?? key)
        }
        return keys
    }

    /// Returns ORDER BY with names and numbers of outputs replaced by their expressions. A name of an output has
    /// precedence over columns.
    static func orders(
        _ statement: SelectStatement, _ outputs: [SelectStatement.Output]
    ) throws(RecordError) -> [Order] {
        var orders = statement.orderBy
        for index in orders.indices {
            let source = orders[index].expr
            if case .column(let path, _) = source.uncollated, path.count == 1,
                let output = outputs.first(where: { $0.isNamed && $0.name == path[0] })
            {
                orders[index].expr = source.collating(output.expr)
            } else if let expr = try numbered(source.uncollated, outputs) {
                orders[index].expr = source.collating(expr)
            }
        }
        return orders
    }

    /// Returns whether rows are ordered by outputs only.
    static func areOutputs(_ orders: [Order], _ outputs: [SelectStatement.Output]) -> Bool {
        orders.allSatisfy { order in outputs.contains { $0.expr == order.expr } }
    }

    private static func numbered(
        _ expr: Expr, _ outputs: [SelectStatement.Output]
    ) throws(RecordError) -> Expr? {
        guard case .literal(.integer(let number), let at) = expr else { return nil }
        guard number >= 1, number <= outputs.count else {
            throw at.error("there is no column \(number) among the results, \(outputs.count) in all")
        }
        return outputs[Int(number) - 1].expr
    }
}

extension Expr {
    /// Returns the expression that a name in ORDER BY or GROUP BY denotes. An integer constant stays a value, not
    /// the number of an output, which only a literal is.
    func named(by name: Expr) -> Expr {
        guard case .literal(.integer, _) = self else { return self }
        if case .literal = name { return self }
        return .function("coalesce", [self], at: position)
    }
}
