/// Binds a SELECT statement.
struct SelectBinder {
    private let statement: SelectStatement
    /// The outer row, if there is one, then the tables of FROM.
    private let sources: [JoinScope.Source]
    /// The queries that produce rows of sources, by the sources' indexes.
    private let queries: [Int: LogicalPlan]
    private let outputs: [SelectStatement.Output]
    private let catalogue: Catalogue
    private let parameters: [Value]
    private let named: [String: Value]
    let budget: SubqueryBudget

    /// - Throws: `syntax` for missing tables, and for parameter values that the statement does not use.
    init(
        _ given: SelectStatement, _ catalogue: Catalogue, _ parameters: [Value], _ named: [String: Value],
        _ budget: SubqueryBudget
    ) throws(RecordError) {
        let looped = try given.looped(catalogue)
        self.catalogue = catalogue
        self.parameters = parameters
        self.named = named
        self.budget = budget
        if parameters.count > looped.parameterCount {
            throw SourcePosition.valuesLeftOver(
                parameters.count, places: looped.parameterCount, in: looped.tableAt.text)
        }
        let isJoin = !looped.joins.isEmpty || looped.outerRow != nil
        var sources: [JoinScope.Source] = []
        var queries: [Int: LogicalPlan] = [:]
        func add(_ name: String, _ alias: String?, _ at: SourcePosition) throws(RecordError) {
            guard let common = given.commonTable(name) else {
                return sources.append(try SelectBinder.source(name, alias, at, isJoin, catalogue))
            }
            let (source, query) = try common.source(alias ?? name, catalogue, parameters, named, budget)
            queries[sources.count] = query
            sources.append(source)
        }
        if let row = looped.outerRow.flatMap({ budget.outerRows[$0] }) {
            sources.append(JoinScope.Source(name: row.name, table: row.table, outerRow: row))
        }
        if !looped.hasNoTable { try add(looped.table, looped.alias, looped.tableAt) }
        for join in looped.joins { try add(join.table, join.alias ?? join.table, join.at) }
        if sources.count > JoinClause.tableLimit {
            throw looped.tableAt.error("a statement joins at most \(JoinClause.tableLimit) tables")
        }
        (self.sources, self.queries) = (sources, queries)
        let tables = sources.filter { $0.outerRow == nil }
        statement = SelectNames(looped, tables).statement
        outputs = try SelectNames.outputs(statement, tables, isJoin: isJoin || tables.isEmpty)
        if outputs.isEmpty { throw looped.tableAt.error("* means the columns of tables, and there is no FROM") }
    }

    private static func source(
        _ name: String, _ alias: String?, _ at: SourcePosition, _ isJoin: Bool, _ catalogue: Catalogue
    ) throws(RecordError) -> JoinScope.Source {
        let table = try catalogue.requireTable(name, at)
        guard let alias else { return JoinScope.Source(name: table.schema.name, table: table) }
        // The table's own spelling, unless it has an alias.
        let isPlain = isJoin && Folding.folded(alias) == Folding.folded(table.schema.name)
        return JoinScope.Source(name: isPlain ? table.schema.name : alias, table: table)
    }

    /// The selection from the one table; `nil` for a join, a query or no table.
    var selection: Selection? {
        get throws(RecordError) {
            guard statement.joins.isEmpty, statement.outerRow == nil, queries[0] == nil, !sources.isEmpty else {
                return nil
            }
            let isWhole = !statement.isGrouped && !statement.isDistinct
            let orders = statement.isGrouped ? [] : try SelectNames.orders(statement, outputs)
            var selection = Selection(
                table: sources[0].table.schema.name, condition: statement.condition, parameters: parameters,
                namedParameters: named, orderBy: orders, limit: isWhole ? statement.limit : nil,
                offset: isWhole ? statement.offset : nil)
            selection.joins = statement.references
            selection.alias = statement.alias
            return selection
        }
    }

    func bound() throws(RecordError) -> BoundSelect {
        if let selection = try selection { return try bound(try selection.bind(catalogue, budget)) }
        return try joined()
    }

    /// - Parameter selection: the bound ``selection``.
    func bound(_ selection: BoundSelection) throws(RecordError) -> BoundSelect {
        var binder = Binder(selection)
        binder.alias = statement.alias
        binder.budget = budget
        return try finished(.table(selection), binder)
    }

    private func joined() throws(RecordError) -> BoundSelect {
        var binder = Binder(
            sources.first { $0.outerRow == nil }?.table ?? .none, catalogue, parameters, named,
            joins: sources.map { .supplied($0.table, $0.name) })
        binder.budget = budget
        binder.alias = statement.alias
        var scope = JoinScope(sources, prefersFirst: statement.prefersFirst)
        var tables = sources.enumerated().map {
            JoinedTable(name: $1.name, table: $1.table, query: queries[$0], isOuterRow: $1.outerRow != nil)
        }
        var conjuncts: [BoundCondition] = []
        let second = sources.count - statement.joins.count
        for (index, join) in statement.joins.enumerated() {
            scope.visible = second + index + 1
            binder.scope = scope
            let bound = try join.condition.map { (condition) throws(RecordError) in try binder.bind(condition) }
            if join.kind == .left {
                tables[second + index].left = bound?.conjuncts ?? []
            } else if let bound {
                conjuncts.append(bound)
            }
        }
        binder.scope = scope
        if let condition = statement.condition { conjuncts.append(try binder.bind(condition)) }
        var orders: [BoundOrder] = []
        if !statement.isGrouped {
            for order in try SelectNames.orders(statement, outputs) { orders.append(try binder.bind(order)) }
        }
        let join = BoundJoin(
            tables: tables, nodes: binder.joins, conjuncts: conjuncts, orders: orders, catalogue: catalogue)
        return try finished(.join(join), binder)
    }

    private func finished(_ source: BoundSelect.Source, _ given: Binder) throws(RecordError) -> BoundSelect {
        var binder = given
        var group: BoundGroups?
        var bound: [BoundExpr] = []
        var collations: [Collation?] = []
        if statement.isGrouped {
            (group, collations) = try grouped(&binder)
        } else {
            for output in outputs {
                bound.append(
                    try statement.isDistinct ? binder.bind(output.expr) : binder.bindUnseen(output.expr))
            }
            for (output, expr) in zip(outputs, bound) { collations.append(binder.collation(output.expr, expr)) }
        }
        var tables = binder.budget.tables.union(binder.joins.filter { !$0.target.isDerived }.map(\.target.schema.name))
        for query in queries.values { tables.formUnion(query.tables) }
        if case .table(let selection) = source { tables.formUnion(selection.allTables) }
        let aggregate = outputs.count == 1 ? outputs[0].expr.aggregate : nil
        let orders = statement.isDistinct ? try SelectNames.orders(statement, outputs) : []
        return BoundSelect(
            source: source, names: outputs.map(\.name), columnNames: outputs.map(\.columnName), outputs: bound,
            group: group, isDistinct: statement.isDistinct,
            collations: collations,
            ordersByOutputs: SelectNames.areOutputs(orders, outputs),
            limit: statement.limit.map { max(0, $0) }, offset: max(0, statement.offset ?? 0), nodes: binder.joins,
            countsRows: aggregate.map { $0.function == .count && $0.argument == nil } == true
                && statement.groupBy.isEmpty && statement.having == nil,
            tables: tables)
    }

    private func grouped(_ binder: inout Binder) throws(RecordError) -> (BoundGroups, [Collation?]) {
        var names = try GroupBinder(binder, keys: try SelectNames.keys(statement, outputs))
        var exprs: [Expr] = []
        for output in outputs { exprs.append(try names.named(output.expr)) }
        let having = try statement.having.map { (having) throws(RecordError) in try names.named(having) }
        var orders = try SelectNames.orders(statement, outputs)
        for index in orders.indices { orders[index].expr = try names.named(orders[index].expr) }
        var groups = names.binder
        groups.results = names.results()
        var bound: [BoundExpr] = []
        var collations: [Collation?] = []
        for expr in exprs {
            let output = try groups.bind(expr)
            bound.append(output)
            collations.append(groups.collation(expr, output))
        }
        let condition = try having.map { (having) throws(RecordError) in try groups.bind(having) }
        var boundOrders: [BoundOrder] = []
        for order in orders { boundOrders.append(try groups.bind(order)) }
        if orders.isEmpty, names.boundKeys.contains(where: { Binder.kind($0) == .decimal }) {
            // Groups come in the order of their encoded keys, which is not that of decimals.
            for (key, isNoCase) in zip(groups.results?.values ?? [], names.areNoCase) {
                let isDecimal = Binder.kind(key) == .decimal
                boundOrders.append(
                    BoundOrder(expr: isDecimal ? Binder.decimalOrder(key) : key, descending: false, noCase: isNoCase))
            }
        }
        binder = names.binder
        return (
            BoundGroups(
                keys: names.boundKeys, areNoCase: names.areNoCase, aggregates: names.aggregates, having: condition,
                outputs: bound, orders: boundOrders), collations
        )
    }
}

extension SelectStatement {
    /// Returns the logical plan of the statement, for another program that runs it.
    ///
    /// - Throws: `tableNotFound`, or `syntax` pointing into the text.
    package func logicalPlan(
        _ catalogue: Catalogue, _ parameters: [Value], _ named: [String: Value]
    ) throws(RecordError) -> LogicalPlan {
        try followingTree(isDeep) { () throws(RecordError) in
            try bound(catalogue, parameters, named, SubqueryBudget())
        }
    }

    /// Returns the statement with its names resolved.
    func bound(
        _ catalogue: Catalogue, _ parameters: [Value], _ named: [String: Value], _ budget: SubqueryBudget
    ) throws(RecordError) -> LogicalPlan {
        func bind(_ part: SelectStatement) throws(RecordError) -> BoundSelect {
            try part.binder(catalogue, parameters, named, budget).bound()
        }
        let whole = try counted(parameters, named).flattened(catalogue)
        return whole.compounds.isEmpty ? .select(try bind(whole)) : .compound(try whole.compound(bind))
    }

    /// Returns the binder of one SELECT.
    func binder(
        _ catalogue: Catalogue, _ parameters: [Value], _ named: [String: Value], _ budget: SubqueryBudget
    ) throws(RecordError) -> SelectBinder {
        let statement = try counted(parameters, named).flattened(catalogue, isPart: true)
        assert(statement.compounds.isEmpty, "parts are resolved one by one")
        return try SelectBinder(statement, catalogue, parameters, named, budget)
    }
}

extension Binder {
    mutating func bind(_ order: Order) throws(RecordError) -> BoundOrder {
        var expr = try bind(order.expr)
        let noCase = order.noCase || isNoCase(order.expr, expr)
        if noCase && kind(expr) != .text && kind(expr) != .null {
            throw order.expr.position.error("only text has a no-case order")
        }
        if kind(expr) == .decimal { expr = Binder.decimalOrder(expr) }
        if case .rank = expr, leavesUnranked, order.nullsFirst == nil { expr = Binder.worstWhereNull(expr) }
        return BoundOrder(
            expr: expr, descending: order.descending, noCase: noCase,
            reversesNulls: order.nullsFirst == order.descending && !isNeverNull(expr))
    }

    /// Whether the expression is a column of the query's own table that is not NULL in any row, so that an index on it
    /// serves each order of NULL.
    private func isNeverNull(_ expr: BoundExpr) -> Bool {
        switch expr {
        case .column(let column) where column.node < 0:
            column.ordinal.map { !table.columns[$0].isOptional } ?? true
        case .rank: !leavesUnranked
        default: false
        }
    }
}
