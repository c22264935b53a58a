import MakoStorage

/// A statement that can be run: everything about it that could be wrong was found right. Prints itself as an explanation.
///
/// It holds no snapshot: it may be run over any number of them, from any thread.
struct SelectPlan: Sendable, CustomStringConvertible {
    /// Where the rows come from.
    enum Feed: Sendable {
        case table(Plan)
        case join(JoinPlan)
    }

    private(set) var feed: Feed
    let names: [String]
    /// What is told of each row, where rows are not grouped.
    let outputs: [BoundExpr]
    let group: GroupPlan?
    let isDistinct: Bool
    /// The collations of what is told.
    let collations: [Collation?]
    /// What is left to be sorted by once rows or groups are there.
    let orders: [BoundOrder]
    let limit: Int?
    let offset: Int
    /// Whether limit and offset are observed where the rows come from.
    let isCut: Bool
    /// Whether the rows of a group, or equal ones, come one behind the other.
    let isInOrder: Bool
    /// The rows beside those that are asked about.
    let nodes: [JoinNode]
    /// Whether nothing is asked for but the number of the rows.
    let countsRows: Bool
    /// Every table whose rows decide what comes.
    let tables: Set<String>
    /// What the way to the rows of the one table was planned for, without values; nil for anything else.
    var selection: Selection?
    /// What is done with the rows or groups that were found, in words.
    var endLines: [String] {
        var lines: [String] = []
        if isDistinct && group == nil { lines.append("different rows" + (isInOrder ? " in order" : "")) }
        let terms = orders.filter { $0.expr.constant == nil }.map { order in
            "\(order.expr)" + (order.noCase ? " COLLATE NOCASE" : "") + (order.descending ? " DESC" : "")
        }
        if !terms.isEmpty { lines.append("sort by " + terms.joined(separator: ", ")) }
        if !isCut, let limit { lines.append("limit \(limit)") }
        if !isCut, offset > 0 { lines.append("offset \(offset)") }
        return lines
    }

    /// Made when it is read: most plans are run and never shown.
    var description: String {
        let start =
            switch feed {
            case .table(let plan): plan.description
            case .join(let plan): plan.description
            }
        let groups = (group?.keyText.map { [$0] } ?? []) + (group?.having.map { ["having \($0)"] } ?? [])
        return ([start] + groups + endLines).joined(separator: "\n")
    }

    /// The same, which a cancellation ends.
    func ended(by cancellation: Cancellation?) -> SelectPlan {
        guard let cancellation else { return self }
        var copy = self
        switch feed {
        case .table(var plan):
            plan.cancellation = cancellation
            copy.feed = .table(plan)
        case .join(var plan):
            plan.cancellation = cancellation
            copy.feed = .join(plan)
        }
        return copy
    }

    /// The same for other values of the condition's parameters, where the way that was kept serves these too; nil: it must be planned anew.
    func refilled(
        _ parameters: [Value], _ named: [String: Value], _ catalogue: Catalogue, _ view: Snapshot
    ) throws(RecordError) -> SelectPlan? {
        guard var selection, case .table(let known) = feed, let kept = known.kept else { return nil }
        (selection.parameters, selection.namedParameters) = (parameters, named)
        let plan = try selection.plan(catalogue, in: view)
        guard plan.kept === kept else { return nil }
        var copy = self
        copy.feed = .table(plan)
        return copy
    }

    /// Whether the way to the rows is one that was kept, which other values may have.
    var isRefillable: Bool {
        if selection != nil, case .table(let plan) = feed { plan.kept != nil } else { false }
    }

    /// What kinds of values the columns of the result have.
    var kinds: [ValueKind] { (group?.outputs ?? outputs).map(Binder.kind) }
}

/// Resolves and plans a statement.
struct SelectPlanner {
    /// Indexes of tables with fewer rows are not looked at.
    private static let smallest = 1000

    private let statement: SelectStatement
    private let catalogue: Catalogue
    private let parameters: [Value]
    private let named: [String: Value]
    /// How many rows a table has, where that is known.
    private let size: (TableHandle) -> Int?
    private let budget: SubqueryBudget
    private let view: Snapshot?

    init(
        _ statement: SelectStatement, _ catalogue: Catalogue, _ parameters: [Value], _ named: [String: Value],
        _ view: Snapshot? = nil, _ budget: SubqueryBudget = SubqueryBudget(), size: @escaping (TableHandle) -> Int?
    ) throws(RecordError) {
        self.statement = try statement.looped(catalogue)
        self.catalogue = catalogue
        self.parameters = parameters
        self.named = named
        self.size = size
        self.view = view
        self.budget = budget
        if parameters.count > statement.parameterCount {
            throw SourcePosition.valuesLeftOver(
                parameters.count, places: statement.parameterCount, in: statement.tableAt.text)
        }
    }

    func plan() throws(RecordError) -> SelectPlan {
        if statement.hasNoTable { return try withoutTables() }
        var tables = [try find(statement.table, statement.tableAt)]
        for join in statement.joins { tables.append(try find(join.table, join.at)) }
        if statement.joins.isEmpty { return try single(tables[0]) }
        return try joined(tables)
    }

    private func find(_ name: String, _ at: SourcePosition) throws(RecordError) -> TableHandle {
        do {
            return try catalogue.requireTable(name)
        } catch {
            guard case .tableNotFound(let name, let nearest) = error else { throw error }
            throw at.error("there is no table \(name)", nearest: nearest)
        }
    }

    // MARK: One table

    private func single(_ table: TableHandle) throws(RecordError) -> SelectPlan {
        let source = JoinScope.Source(name: statement.alias ?? table.schema.name, table: table)
        let statement = SelectNames(statement, [source]).statement
        let outputs = try SelectNames.outputs(statement, [source], isJoin: false)
        let isWhole = !statement.isGrouped && !statement.isDistinct
        let orders = statement.isGrouped ? [] : try SelectNames.orders(statement, outputs)
        var selection = Selection(
            table: table.schema.name, condition: statement.condition, parameters: parameters, namedParameters: named,
            orderBy: orders, limit: isWhole ? statement.limit : nil, offset: isWhole ? statement.offset : nil)
        selection.joins = statement.references
        selection.alias = statement.alias
        var plan = try plan(selection)
        var rest: [BoundOrder] = []
        if statement.isDistinct, !plan.orders.isEmpty, SelectNames.areOutputs(orders, outputs) {
            // Fewer rows are sorted when the equal ones are gone.
            rest = plan.bound.orders
            selection.orderBy = []
            plan = try self.plan(selection)
        }
        var binder = Binder(table, catalogue, parameters, named, joins: plan.bound.joins)
        binder.references = plan.bound.references
        binder.matches = plan.bound.matches
        binder.alias = statement.alias
        binder.budget = budget
        var made = try finished(statement, outputs, .table(plan), binder, orders: rest)
        if !statement.isDistinct {
            (selection.parameters, selection.namedParameters) = ([], [:])
            made.selection = selection
        }
        return made
    }

    private func plan(_ selection: Selection) throws(RecordError) -> Plan {
        guard let view else { return Planner.plan(try selection.bind(catalogue, budget)) }
        return try selection.plan(catalogue, in: view, budget)
    }

    // MARK: No table

    /// One row, which may be grouped and tested like those of a table.
    private func withoutTables() throws(RecordError) -> SelectPlan {
        let statement = SelectNames(statement, []).statement
        let outputs = try SelectNames.outputs(statement, [], isJoin: true)
        if outputs.isEmpty { throw statement.tableAt.error("* means the columns of tables, and there is no FROM") }
        var binder = Binder(.none, catalogue, parameters, named)
        (binder.budget, binder.scope) = (budget, JoinScope([]))
        let condition = try statement.condition.map { (condition) throws(RecordError) in try binder.bind(condition) }
        var orders: [BoundOrder] = []
        if !statement.isGrouped {
            for order in try SelectNames.orders(statement, outputs) { orders.append(try binder.bind(order)) }
        }
        let text = "one row" + (condition.map { ", filter \($0)" } ?? "")
        var row = JoinPlan(sources: [], joins: binder.joins, steps: [], isOrdered: true, description: text)
        (row.isOneRow, row.condition) = (true, condition)
        return try finished(statement, outputs, .join(row), binder, orders: orders)
    }

    // MARK: Several tables

    private func joined(_ tables: [TableHandle]) throws(RecordError) -> SelectPlan {
        let names = [statement.alias ?? tables[0].schema.name] + statement.joins.map { $0.alias ?? $0.table }
        var sources: [JoinScope.Source] = []
        for (table, name) in zip(tables, names) {
            // The table's own spelling, where it has no other name.
            let isPlain = Folding.folded(name) == Folding.folded(table.schema.name)
            sources.append(JoinScope.Source(name: isPlain ? table.schema.name : name, table: table))
        }
        let statement = SelectNames(statement, sources).statement
        let outputs = try SelectNames.outputs(statement, sources, isJoin: true)
        var binder = Binder(
            tables[0], catalogue, parameters, named, joins: sources.map { .supplied($0.table, $0.name) })
        binder.budget = budget
        var scope = JoinScope(sources, prefersFirst: statement.prefersFirst)
        var parts = sources.map {
            JoinSource(
                name: $0.name, table: $0.table, left: nil,
                size: size($0.table).map(Double.init) ?? JoinEstimate.unknownSize, statistics: statistics($0.table))
        }
        var conjuncts: [BoundCondition] = []
        for (index, join) in statement.joins.enumerated() {
            scope.visible = index + 2
            binder.scope = scope
            let bound = try join.condition.map { (condition) throws(RecordError) in try binder.bind(condition) }
            if join.kind == .left {
                parts[index + 1].left = bound?.conjuncts ?? []
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
        let isWhole = !statement.isGrouped && !statement.isDistinct
        let wanted = isWhole ? statement.limit.map { $0.addingReportingOverflow(statement.offset ?? 0) } : nil
        let join = JoinPlanner.plan(
            JoinQuestion(
                sources: parts, joins: binder.joins, conjuncts: conjuncts, orders: orders,
                wanted: wanted.flatMap { $0.overflow ? nil : $0.partialValue }, catalogue: catalogue))
        return try finished(
            statement, outputs, .join(join), binder, orders: join.isOrdered ? [] : orders)
    }

    /// Small tables are joined as fast by any way.
    private func statistics(_ table: TableHandle) -> SourceStatistics? {
        guard let view, let rows = size(table), rows >= SelectPlanner.smallest else { return nil }
        return SourceStatistics(table: table, catalogue: catalogue, view: view)
    }

    // MARK: Both

    private func finished(
        _ statement: SelectStatement, _ outputs: [SelectStatement.Output], _ feed: SelectPlan.Feed, _ given: Binder,
        orders: [BoundOrder]
    ) throws(RecordError) -> SelectPlan {
        var binder = given
        var group: GroupPlan?
        var bound: [BoundExpr] = []
        var collations: [Collation?] = []
        if statement.isGrouped {
            (group, binder, collations) = try grouped(statement, outputs, binder)
        } else {
            for output in outputs {
                bound.append(
                    try statement.isDistinct ? binder.bind(output.expr) : binder.bindUnseen(output.expr))
            }
            for (output, expr) in zip(outputs, bound) { collations.append(binder.collation(output.expr, expr)) }
        }
        var tables = binder.budget.tables.union(binder.joins.map(\.target.schema.name))
        var (feed, orders, isCut, isInOrder) = (feed, orders, false, false)
        if case .table(let plan) = feed {
            let way = try StatementWay(
                plan, group, bound, orders: orders, isDistinct: statement.isDistinct, collations, binder.joins, view)
            (feed, group) = (.table(way.plan), way.group)
            (orders, isCut, isInOrder) = (way.orders, way.isCut, way.isInOrder)
            tables.formUnion(plan.bound.allTables)
        }
        let counts =
            outputs.count == 1 && outputs[0].expr.aggregate.map { $0.function == .count && $0.argument == nil } == true
        orders = group?.orders ?? orders
        return SelectPlan(
            feed: feed, names: outputs.map(\.name), outputs: bound, group: group, isDistinct: statement.isDistinct,
            collations: collations, orders: orders, limit: statement.limit.map { max(0, $0) },
            offset: max(0, statement.offset ?? 0),
            isCut: isCut, isInOrder: isInOrder, nodes: binder.joins,
            countsRows: counts && statement.groupBy.isEmpty && statement.having == nil, tables: tables)
    }

    private func grouped(
        _ statement: SelectStatement, _ outputs: [SelectStatement.Output], _ binder: Binder
    ) throws(RecordError) -> (GroupPlan, Binder, [Collation?]) {
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
            // Groups come in the order of their bytes, which is not that of decimals.
            for (key, isNoCase) in zip(groups.results?.values ?? [], names.areNoCase) {
                let isDecimal = Binder.kind(key) == .decimal
                boundOrders.append(
                    BoundOrder(expr: isDecimal ? Binder.decimalOrder(key) : key, descending: false, noCase: isNoCase))
            }
        }
        let plan = GroupPlan(
            keys: names.boundKeys, areNoCase: names.areNoCase, aggregates: names.aggregates, having: condition,
            outputs: bound, orders: boundOrders)
        return (plan, names.binder, collations)
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
        if case .rank = expr, leavesUnranked { expr = Binder.worstWhereNull(expr) }
        return BoundOrder(expr: expr, descending: order.descending, noCase: noCase)
    }
}
