import MakoStorage

/// Plans statements whose names are resolved, and resolves those of one SELECT on the way.
struct SelectPlanner {
    /// Indexes of tables with fewer rows are not looked at.
    private static let smallest = 1000

    private let binder: SelectBinder
    private let catalogue: Catalogue
    /// How many rows a table has, where that is known.
    private let size: (TableHandle) -> Int?
    private let view: Snapshot?

    init(
        _ statement: SelectStatement, _ catalogue: Catalogue, _ parameters: [Value], _ named: [String: Value],
        _ view: Snapshot? = nil, _ budget: SubqueryBudget = SubqueryBudget(), size: ((TableHandle) -> Int?)? = nil
    ) throws(RecordError) {
        binder = try statement.binder(catalogue, parameters, named, budget)
        self.catalogue = catalogue
        self.size = size ?? { SelectPlanner.size($0, view) }
        self.view = view
    }

    func plan() throws(RecordError) -> SelectPlan {
        let plan = try undividedPlan()
        return view.map { plan.divided(in: $0) } ?? plan
    }

    private func undividedPlan() throws(RecordError) -> SelectPlan {
        guard var selection = try binder.selection else {
            return SelectPlanner.plan(try binder.bound(), view, size: size)
        }
        guard let view else { return SelectPlanner.plan(try binder.bound(), nil, size: size) }
        let plan = try selection.plan(catalogue, in: view, binder.budget)
        var made = SelectPlanner.plan(try binder.bound(plan.bound), plan, view)
        if !made.isDistinct {
            (selection.parameters, selection.namedParameters) = ([], [:])
            made.selection = selection
        }
        return made
    }

    /// The plan of a statement, with sizes estimated on a view.
    static func plan(_ statement: BoundStatement, _ view: Snapshot?) -> StatementPlan {
        func plan(_ select: BoundSelect) -> SelectPlan { self.plan(select, view) { size($0, view) } }
        return switch statement {
        case .select(let select): .select(plan(select))
        case .compound(let compound): .compound(compound.map(plan))
        }
    }

    private static func size(_ table: TableHandle, _ view: Snapshot?) -> Int? {
        view.flatMap { try? table.count(in: $0) }
    }

    private static func plan(
        _ bound: BoundSelect, _ view: Snapshot?, size: (TableHandle) -> Int?
    ) -> SelectPlan {
        switch bound.source {
        case .table(let selection):
            return plan(bound, Planner.plan(selection, .known(selection.table, view)), view)
        case .join(let join): return plan(bound, join, view, size)
        }
    }

    // MARK: One table

    private static func plan(_ bound: BoundSelect, _ given: Plan, _ view: Snapshot?) -> SelectPlan {
        let bound = bound.planningSubqueries(view)
        if let group = bound.group, let extremes = extremes(group, given.bound) {
            return SelectPlan(bound, .extremes(extremes), nil, orders: [], isCut: false, isInOrder: false)
        }
        var plan = given
        var rest: [BoundOrder] = []
        if bound.isDistinct, !plan.orders.isEmpty, bound.ordersByOutputs {
            // Fewer rows are sorted when the equal ones are gone.
            rest = plan.bound.orders
            plan = Planner.plan(plan.bound.ordered([]), .known(plan.table, view))
        }
        let way = StatementWay(
            plan, bound.group, bound.outputs, orders: rest, isDistinct: bound.isDistinct, bound.collations, bound.nodes,
            view)
        if bound.countsRows {
            return SelectPlan(bound, .count(way.plan), nil, orders: [], isCut: false, isInOrder: false)
        }
        return SelectPlan(
            bound, .table(way.plan), way.group, orders: way.group?.orders ?? way.orders, isCut: way.isCut,
            isInOrder: way.isInOrder)
    }

    /// How the smallest and largest values of columns are found, where nothing else is asked for; nil: all rows are to be looked at.
    private static func extremes(_ group: BoundGroups, _ rows: BoundSelection) -> [SelectPlan.Extreme]? {
        guard group.keys.isEmpty, group.having == nil, !group.aggregates.isEmpty else { return nil }
        var found: [SelectPlan.Extreme] = []
        for output in group.outputs {
            guard case .result(let number, _, let text) = output, let column = group.aggregates[number].argument,
                let plan = Planner.extreme(
                    group.aggregates[number].function, of: column, isNoCase: group.aggregates[number].isNoCase, rows)
            else { return nil }
            found.append(SelectPlan.Extreme(text: text, column: column, plan: plan))
        }
        return found
    }

    // MARK: Several tables

    private static func plan(
        _ bound: BoundSelect, _ join: BoundJoin, _ view: Snapshot?, _ size: (TableHandle) -> Int?
    ) -> SelectPlan {
        let bound = bound.planningSubqueries(view)
        let subqueries = SubqueryPlanner(view: view)
        if join.tables.isEmpty { return oneRow(bound, join, subqueries) }
        let sources = join.tables.map { joined in
            if let query = joined.query.map({ SelectPlanner.plan($0, view) }) {
                return JoinSource(
                    name: joined.name, table: joined.table, left: joined.left?.map { subqueries.planned($0) },
                    size: query.expectedRows, query: query)
            }
            let rows = size(joined.table)
            return JoinSource(
                name: joined.name, table: joined.table, left: joined.left?.map { subqueries.planned($0) },
                size: rows.map(Double.init) ?? JoinEstimate.unknownSize,
                statistics: statistics(joined.table, rows, join.catalogue, view))
        }
        let isWhole = bound.group == nil && !bound.isDistinct
        let wanted = isWhole ? bound.limit.map { $0.addingReportingOverflow(bound.offset) } : nil
        let orders = join.orders.map { subqueries.planned($0) }
        let plan = JoinPlanner.plan(
            JoinQuestion(
                sources: sources, joins: join.nodes, conjuncts: join.conjuncts.map { subqueries.planned($0) },
                orders: orders, wanted: wanted.flatMap { $0.overflow ? nil : $0.partialValue },
                catalogue: join.catalogue))
        return SelectPlan(
            bound, .join(plan), bound.group, orders: bound.group?.orders ?? (plan.isOrdered ? [] : orders),
            isCut: false, isInOrder: false)
    }

    /// Of a statement without tables: one row, which may be grouped and tested like those of a table.
    private static func oneRow(_ bound: BoundSelect, _ join: BoundJoin, _ subqueries: SubqueryPlanner) -> SelectPlan {
        let condition = BoundCondition.all(join.conjuncts.map { subqueries.planned($0) })
        var plan = JoinPlan(sources: [], joins: join.nodes, steps: [], isOrdered: true)
        (plan.isOneRow, plan.condition) = (true, condition)
        return SelectPlan(
            bound, .join(plan), bound.group, orders: bound.group?.orders ?? [], isCut: false, isInOrder: false)
    }

    /// Small tables are joined as fast by any way.
    private static func statistics(
        _ table: TableHandle, _ rows: Int?, _ catalogue: Catalogue, _ view: Snapshot?
    ) -> SourceStatistics? {
        guard let view, let rows, rows >= smallest else { return nil }
        return SourceStatistics(table: table, catalogue: catalogue, view: view)
    }
}

extension BoundSelect {
    /// The same with its sub-queries planned, but for those of the rows' condition and orders.
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
    /// The same for other values of the condition's parameters, where the plan of the rows that was kept serves these too; nil: it must be planned
    /// anew.
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

    /// Whether the plan of the rows is one that was kept, which other values may have.
    var isRefillable: Bool { selection != nil && rows?.kept != nil }

    /// Finds the rows of the one table.
    private var rows: Plan? {
        switch feed {
        case .table(let plan), .count(let plan): plan
        case .join, .extremes: nil
        }
    }
}
