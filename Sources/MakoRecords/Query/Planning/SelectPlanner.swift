import MakoStorage

/// Plans SELECT: chooses the access paths of each, and the operators above them.
struct SelectPlanner {
    /// Indexes of tables with fewer rows are not sampled.
    private static let smallest = 1000

    let view: Snapshot?
    /// Returns the number of rows of a table, if known.
    let size: (TableHandle) -> Int?

    /// - Parameter rows: the plan of the rows of its one table, if already made.
    func plan(_ bound: BoundSelect, rows: Plan? = nil) -> SelectPlan {
        switch bound.source {
        case .table(let selection): plan(bound, rows ?? Planner.plan(selection, in: view))
        case .join(let join): plan(bound, join)
        }
    }

    // MARK: One table

    private func plan(_ bound: BoundSelect, _ given: Plan) -> SelectPlan {
        let bound = bound.planningSubqueries(view)
        if let group = bound.group, let extremes = extremes(group, given.bound) {
            return SelectPlan(bound, .extremes(extremes), nil, orders: [])
        }
        var plan = given
        var rest: [BoundOrder] = []
        if bound.isDistinct, !plan.orders.isEmpty, bound.ordersByOutputs {
            // Fewer rows are sorted after duplicates are removed.
            rest = plan.bound.orders
            plan = Planner.plan(plan.bound.ordered([]), in: view)
        }
        let optimized = SelectOptimizer(plan, bound, orders: rest, view)
        if bound.countsRows { return SelectPlan(bound, .count(optimized.plan), nil, orders: []) }
        var made = SelectPlan(
            bound, .table(optimized.plan), optimized.group, orders: optimized.group?.orders ?? optimized.orders)
        (made.isCut, made.isInOrder) = (optimized.isCut, optimized.isInOrder)
        return made
    }

    /// Returns how MIN and MAX of columns are found, where the query outputs nothing else; `nil` if all rows must be
    /// read.
    private func extremes(_ group: BoundGroups, _ rows: BoundSelection) -> [SelectPlan.Extreme]? {
        guard group.keys.isEmpty, group.having == nil, !group.aggregates.isEmpty else { return nil }
        var found: [SelectPlan.Extreme] = []
        for output in group.outputs {
            guard case .result(let number, _, let text) = output, let column = group.aggregates[number].argument,
                let first = rows.first(
                    group.aggregates[number].function, of: column, isNoCase: group.aggregates[number].isNoCase),
                let plan = Planner.plan(first, reading: [column]).unsorted
            else { return nil }
            found.append(SelectPlan.Extreme(text: text, column: column, plan: plan))
        }
        return found
    }

    // MARK: Several tables

    private func plan(_ bound: BoundSelect, _ join: BoundJoin) -> SelectPlan {
        let bound = bound.planningSubqueries(view)
        let subqueries = SubqueryPlanner(view: view)
        if join.tables.isEmpty { return oneRow(bound, join, subqueries) }
        let sources = join.tables.map { joined in
            if joined.isOuterRow {
                return JoinSource(name: joined.name, table: joined.table, size: 1, isOuterRow: true)
            }
            if let query = joined.query.map({ Planner.plan($0, in: view) }) {
                return JoinSource(
                    name: joined.name, table: joined.table, left: joined.left?.map { subqueries.planned($0) },
                    size: query.expectedRows, query: query)
            }
            let rows = size(joined.table)
            return JoinSource(
                name: joined.name, table: joined.table, left: joined.left?.map { subqueries.planned($0) },
                size: rows.map(Double.init) ?? JoinEstimate.unknownSize,
                statistics: statistics(joined.table, rows, join.catalogue))
        }
        let isWhole = bound.group == nil && !bound.isDistinct
        let wanted = isWhole ? bound.limit.map { $0.addingReportingOverflow(bound.offset) } : nil
        let orders = join.orders.map { subqueries.planned($0) }
        let plan = JoinPlanner.plan(
            JoinInput(
                sources: sources, joins: join.nodes, conjuncts: join.conjuncts.map { subqueries.planned($0) },
                orders: orders, wanted: wanted.flatMap { $0.overflow ? nil : $0.partialValue },
                catalogue: join.catalogue))
        return SelectPlan(
            bound, .join(plan), bound.group, orders: bound.group?.orders ?? (plan.isOrdered ? [] : orders))
    }

    /// Plans a statement without tables: one row, which may be grouped and tested like those of a table.
    private func oneRow(_ bound: BoundSelect, _ join: BoundJoin, _ subqueries: SubqueryPlanner) -> SelectPlan {
        let condition = BoundCondition.all(join.conjuncts.map { subqueries.planned($0) })
        var plan = JoinPlan(sources: [], joins: join.nodes, steps: [], isOrdered: true)
        (plan.isOneRow, plan.condition) = (true, condition)
        return SelectPlan(bound, .join(plan), bound.group, orders: bound.group?.orders ?? [])
    }

    /// For small tables every join method is fast.
    private func statistics(_ table: TableHandle, _ rows: Int?, _ catalogue: Catalogue) -> SourceStatistics? {
        guard let view, let rows, rows >= SelectPlanner.smallest else { return nil }
        return SourceStatistics(table: table, catalogue: catalogue, view: view)
    }
}

extension BoundSelect {
    /// Returns the query with its sub-queries planned, except those of the rows' condition and orders.
    fileprivate func planningSubqueries(_ view: Snapshot?) -> BoundSelect {
        let planner = SubqueryPlanner(view: view)
        var copy = self
        copy.outputs = outputs.map { planner.planned($0) }
        guard var group else { return copy }
        group.keys = group.keys.map { planner.planned($0) }
        for index in group.aggregates.indices {
            group.aggregates[index].argument = group.aggregates[index].argument.map { planner.planned($0) }
        }
        group.having = group.having.map { planner.planned($0) }
        group.outputs = group.outputs.map { planner.planned($0) }
        group.orders = group.orders.map { planner.planned($0) }
        copy.group = group
        return copy
    }
}

extension SelectPlan {
    /// Returns the plan with other values of the condition's parameters, if the cached plan of the rows serves these
    /// too; `nil` if it must be planned again.
    func refilled(
        _ parameters: [Value], _ named: [String: Value], _ catalogue: Catalogue, _ view: Snapshot
    ) throws(RecordError) -> SelectPlan? {
        guard var selection, let kept = rows?.kept else { return nil }
        (selection.parameters, selection.namedParameters) = (parameters, named)
        let plan = try selection.plan(catalogue, in: view)
        guard plan.kept === kept else { return nil }
        var copy = self
        if case .count = feed { copy.feed = .count(plan) } else { copy.feed = .table(plan) }
        return copy
    }

    /// Whether the plan of the rows is a cached one, which can take other values.
    var isRefillable: Bool { selection != nil && rows?.kept != nil }

    /// The plan of the rows of the one table.
    private var rows: Plan? {
        switch feed {
        case .table(let plan), .count(let plan): plan
        case .join, .extremes: nil
        }
    }
}
