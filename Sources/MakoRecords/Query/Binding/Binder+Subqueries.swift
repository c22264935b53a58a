// Sub-queries: each is bound against its own table, inside the scope of the outer query.
extension Binder {
    /// Returns the outer value that a qualified name means: `Person.id` where the sub-query reads another table. A
    /// column of the sub-query's table that has the name of an outer table must be qualified.
    mutating func outerValue(_ path: [String], _ at: SourcePosition) throws(RecordError) -> BoundExpr? {
        guard let outer, path.count > 1, path[0] != Expr.ownRow, !isQualifier(path[0]), outer.isTable(path[0])
        else { return nil }
        return outside(try outer.binder.bind(.column(path, at: at)), path.joined(separator: "."))
    }

    /// Returns a value of the outer query as a correlated parameter.
    func outside(_ expr: BoundExpr, _ path: String) -> BoundExpr {
        guard let outer else { return expr }
        let collation = outer.binder.collation(.column([]), expr)
        return .outer(OuterValue(index: outer.value(expr), kind: kind(expr), path: path, collation: collation))
    }

    mutating func bindScalar(_ subquery: Subquery) throws(RecordError) -> BoundExpr {
        .subquery(try bind(subquery, .scalar))
    }

    mutating func bindInQuery(_ value: Expr, _ subquery: Subquery) throws(RecordError) -> BoundCondition {
        var left = try bind(value)
        var bound = try bind(subquery, .list)
        let collation = Collation.ofComparison(self.collation(value, left), bound.collation)
        if collation?.isNoCase == true, isText(left), bound.kind == .text || bound.kind == .null {
            (left, bound) = (Binder.folded(left), bound.folded(bound.output.map(Binder.folded)))
        }
        // The comparison takes values of the sub-query's kind.
        let (a, b) = (kind(left), bound.kind)
        guard a == b || a == .null || b == .null || (a.isNumber && b.isNumber) else {
            if let constant = left.constant, let fitting = Binder.fitting(constant, b) {
                left = .constant(fitting)
                return .isInQuery(left, bound)
            }
            throw subquery.at.error("\(describe(left)), and the sub-query gives \(b.name)")
        }
        return .isInQuery(left, bound)
    }

    private static func fitting(_ value: Value, _ kind: ValueKind) -> Value? {
        switch kind {
        case .uuid: ColumnType.uuid.coerced(value)
        case .date: ColumnType.date.coerced(value)
        case .bool: ColumnType.bool.coerced(value)
        case .decimal: DecimalText(value).map { .text($0.plain) }
        default: nil
        }
    }

    mutating func bind(_ subquery: Subquery, _ form: BoundSubquery.Form) throws(RecordError) -> BoundSubquery {
        try enter(subquery.at)
        defer { depth -= 1 }
        try budget.take(subquery.at)
        let statement = try subquery.statement.counted(subquery.positions ?? parameters, subquery.named ?? named)
        let subquery = subquery.with(try statement.flattened(catalogue))
        let scope = OuterScope(self)
        var inner = Binder(
            subquery.statement.hasNoTable || !subquery.statement.commonTables.isEmpty
                ? .none : try catalogue.requireTable(subquery.statement.table, subquery.statement.tableAt), catalogue,
            subquery.positions ?? parameters, subquery.named ?? named)
        inner.outer = scope
        inner.depth = depth
        inner.budget = budget
        inner.alias = subquery.statement.alias
        let bound = try inner.bound(subquery, form)
        joins = scope.binder.joins
        budget.note(bound)
        return bound
    }

    /// Binds the sub-query in this binder, which is its own.
    private mutating func bound(
        _ subquery: Subquery, _ form: BoundSubquery.Form
    ) throws(RecordError) -> BoundSubquery {
        let statement = subquery.statement
        let isAggregate = statement.isPlainAggregate
        let isCut = statement.limit != nil || statement.offset != nil
        if statement.isWholeOnly || (isAggregate && (form != .scalar || isCut)) { return try whole(subquery, form) }
        let outputs = try SelectNames.outputs(
            statement, [JoinScope.Source(name: alias ?? table.schema.name, table: table)], isJoin: false)
        try Binder.check(outputs.count, form, subquery.at)
        let condition = try statement.condition.map { (condition) throws(RecordError) in try bind(condition) }
        let aggregate = isAggregate ? outputs[0].expr.aggregate : nil
        var output: BoundExpr?
        var collation: Collation?
        if form == .exists {
            try checkNames(outputs)
        } else if let aggregate {
            output = try aggregate.argument.map { (argument) throws(RecordError) in
                var bound = try bind(argument)
                if aggregate.function.adds { bound = Binder.counted(bound) }
                try aggregate.function.check(kind(bound), argument)
                collation = self.collation(argument, bound)
                return bound
            }
        } else {
            let bound = try bind(outputs[0].expr)
            collation = self.collation(outputs[0].expr, bound)
            output = bound
        }
        let orders = try orders(statement, outputs)
        let offset = max(0, statement.offset ?? 0)
        var limit = statement.limit.map { max(0, $0) }
        if form == .scalar, !isAggregate { limit = min(1, limit ?? 1) }
        // One row is enough.
        if form == .exists, offset == 0, let rows = limit, rows > 0 { limit = nil }
        // Without a limit the order does not matter.
        let isOrdered = form != .exists && (limit != nil || offset > 0)
        let selection = BoundSelection(self, condition, isOrdered ? orders : [], limit: limit, offset: offset)
        return made(form, .rows(selection), output: output, aggregate?.function, collation)
    }

    private static func check(
        _ columns: Int, _ form: BoundSubquery.Form, _ at: SourcePosition
    ) throws(RecordError) {
        if form != .exists, columns != 1 {
            throw at.error("a sub-query here must give one column, not \(columns)")
        }
    }

    /// Checks the outputs of EXISTS, which are not computed.
    private func checkNames(_ outputs: [SelectStatement.Output]) throws(RecordError) {
        var other = self
        other.outer = outer.map { OuterScope($0.binder) }
        for output in outputs { _ = try other.bindUnseen(output.expr) }
    }

    /// Binds a sub-query that runs as a statement of its own.
    private mutating func whole(_ subquery: Subquery, _ form: BoundSubquery.Form) throws(RecordError) -> BoundSubquery {
        let values = Array(parameters.prefix(subquery.statement.parameterCount))
        var statement = subquery.statement
        // The first row is enough. Aggregates of all rows have one.
        let isOneRow = statement.isGrouped && statement.groupBy.isEmpty && statement.compounds.isEmpty
        if form != .list, !isOneRow { statement.limit = min(1, statement.limit ?? 1) }
        for place in statement.compounds.indices {
            statement.compounds[place].statement = try statement.compounds[place].statement.flattened(
                catalogue, isPart: true)
        }
        if let outer {
            let (joined, row) = try OuterReading(outer, number: budget.outerRows.count).joined(statement)
            statement = joined
            if let row { budget.note(row) }
        }
        let bound = try statement.bound(catalogue, values, named, budget)
        try Binder.check(bound.first.names.count, form, subquery.at)
        return BoundSubquery(form, .statement(bound), outers: outer?.values ?? [], running: bound)
    }

    static func kind(_ expr: BoundExpr, of aggregate: AggregateFunction?) -> ValueKind {
        switch aggregate {
        case .count: .whole
        case .average, .total: .real
        case .sum, .minimum, .maximum, nil: kind(expr)
        }
    }

    /// Returns a sub-query over the rows of this binder's table.
    func made(
        _ form: BoundSubquery.Form, _ query: BoundSubquery.Query, output: BoundExpr?, _ aggregate: AggregateFunction?,
        _ collation: Collation?
    ) -> BoundSubquery {
        let expr = output ?? .constant(.null)
        let made = BoundSubquery(
            form, query, outers: outer?.values ?? [], output: output, aggregate: aggregate,
            kind: Binder.kind(expr, of: aggregate), collation: collation)
        return collation?.isNoCase == true && isText(expr) ? made.folded(output) : made
    }

    private mutating func orders(
        _ statement: SelectStatement, _ outputs: [SelectStatement.Output]
    ) throws(RecordError) -> [BoundOrder] {
        var bound: [BoundOrder] = []
        for order in try SelectNames.orders(statement, outputs) {
            let made = try bind(order)
            if made.expr.readsOuter {
                throw order.expr.position.error("the order of a sub-query cannot name the query around it")
            }
            bound.append(made)
        }
        return bound
    }
}

extension SelectStatement {
    /// Whether the statement is one aggregate over all rows of a table, and nothing else.
    var isPlainAggregate: Bool {
        guard groupBy.isEmpty, having == nil, joins.isEmpty, compounds.isEmpty, outputs.count == 1,
            let aggregate = outputs[0].expr.aggregate, aggregate.argument?.hasAggregate != true
        else { return false }
        return !aggregate.isDistinct && !orderBy.contains { $0.expr.hasAggregate }
    }

    /// Whether the statement must run as a whole, because it is more than a filter of one table's rows.
    var isWholeOnly: Bool {
        hasNoTable || !commonTables.isEmpty || (isGrouped && !isPlainAggregate) || !joins.isEmpty || !compounds.isEmpty
            || (isDistinct && (limit != nil || offset != nil))
    }
}
