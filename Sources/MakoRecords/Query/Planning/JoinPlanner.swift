/// One table of a join before it is planned.
struct JoinSource: Sendable {
    /// The name that qualifies its columns.
    let name: String
    let table: TableHandle
    /// The ON conditions of a left join; `nil` for an inner join, whose conditions are among those of the query.
    var left: [BoundCondition]?
    /// The number of its rows, if known.
    var size: Double
    /// Index statistics; `nil` for small tables and without a snapshot.
    var statistics: SourceStatistics?
    /// The query that produces the rows; `nil` for a table of the file.
    var query: StatementPlan?
    /// Whether its only row is the outer one, see ``OuterRow``.
    var isOuterRow = false

    var joined: JoinedTable { JoinedTable(name: name, table: table, isOuterRow: isOuterRow) }
}

/// The logical plan of a join, names resolved.
struct JoinInput: Sendable {
    var sources: [JoinSource]
    /// The tables in the order of the sources, then the targets of paths from them.
    let joins: [JoinNode]
    /// The conjuncts of the WHERE and inner ON conditions.
    var conjuncts: [BoundCondition]
    let orders: [BoundOrder]
    /// The largest number of rows needed (LIMIT and OFFSET).
    let wanted: Int?
    let catalogue: Catalogue
}

/// Chooses the order of a join's tables, and the access path and join method of each. Deterministic: the same logical
/// plan, schema, sizes and statistics give the same plan.
///
/// Inner joins may be reordered; a left join follows the tables that its condition names. A left join whose row of
/// NULLs the rest of the condition always rejects is first turned into an inner join.
struct JoinPlanner {
    let input: JoinInput
    let sets: JoinSources
    /// The tables that each conjunct names.
    let masks: [SourceSet]
    /// The tables that must precede a left join.
    let leftNeeds: [SourceSet]
    /// The plan of each table by itself.
    let own: [Plan]
    /// The costs of these plans.
    let ownCosts: [Double]
    /// Plans of the tables whose order alone is the wanted one, in that order.
    let ordered: [Int: Plan]
    /// The share of each table's rows that passes its own condition.
    let ownShares: [Double]
    private(set) var graph = JoinGraph()

    var sources: [JoinSource] { input.sources }

    static func plan(_ input: JoinInput) -> JoinPlan { JoinPlanner(input).plan() }

    init(_ request: JoinInput) {
        var input = request
        let sets = JoinSources(input.joins)
        self.sets = sets
        input.conjuncts = input.conjuncts.flatMap(\.conjuncts).filter { $0 != .constant(true) }
        JoinPlanner.strengthen(&input, sets)
        self.input = input
        masks = input.conjuncts.map { sets.of($0) }
        leftNeeds = input.sources.enumerated().map { index, source in
            (source.left ?? []).reduce(0) { $0 | sets.of($1) } & ~(1 << SourceSet(index))
        }
        var own: [Plan] = []
        var ownCosts: [Double] = []
        for index in input.sources.indices {
            let (plan, cost) = JoinPlanner.ownPlan(index, input, sets)
            own.append(plan)
            ownCosts.append(cost)
        }
        (self.own, self.ownCosts) = (own, ownCosts)
        var ordered: [Int: Plan] = [:]
        for index in input.sources.indices where JoinPlanner.ordersDepend(on: index, input, sets) {
            ordered[index] = JoinPlanner.orderedPlan(index, input, sets)
        }
        self.ordered = ordered
        ownShares = zip(own, input.sources).map { JoinEstimate.ownShare($0, $1) }
        graph = JoinGraph(self)
    }

    /// Turns left joins whose row of NULLs never passes the conditions into inner joins.
    private static func strengthen(_ input: inout JoinInput, _ sets: JoinSources) {
        var goesOn = true
        while goesOn {
            goesOn = false
            for index in input.sources.indices {
                guard let condition = input.sources[index].left,
                    input.conjuncts.contains(where: { sets.needs(index, $0) })
                else { continue }
                input.sources[index].left = nil
                input.conjuncts += condition
                goesOn = true
            }
        }
    }

    /// Returns the conditions of one table alone, which can be tested before the join.
    static func ownConditions(
        _ source: Int, _ input: JoinInput, _ sets: JoinSources
    ) -> [BoundCondition] {
        (input.sources[source].left ?? input.conjuncts).filter { sets.of($0) == 1 << SourceSet(source) }
    }

    private static func ownPlan(
        _ source: Int, _ input: JoinInput, _ sets: JoinSources
    ) -> (plan: Plan, cost: Double) {
        let selection = ownSelection(source, input, sets, [], nil)
        if input.sources[source].isOuterRow { return (Planner.outerRow(selection), 1) }
        if let query = input.sources[source].query {
            return (Planner.rows(of: query, selection), input.sources[source].size)
        }
        // An unreadable table is planned without sizes; the executor reports the error when it reads the rows.
        let view = input.sources[source].statistics?.view
        let estimates = view.flatMap { try? TableEstimates(selection.table, $0) } ?? .unknown
        guard let choice = Planner.choice(Planner.Input(selection, estimates)) else {
            return (Planner.nothing(selection), 0)
        }
        // Small tables are planned with the minimum size of the estimates, and their cost is scaled down.
        let share = choice.best.isFewRows ? 1 : input.sources[source].size / estimates.rows
        return (choice.plan(), choice.best.cost * share)
    }

    /// Returns the plan that reads a table in the wanted order. With a limit, that plan favours the first few rows, but
    /// a join may need more of them.
    private static func orderedPlan(_ source: Int, _ input: JoinInput, _ sets: JoinSources) -> Plan {
        let whole = ownSelection(source, input, sets, input.orders, nil)
        guard let wanted = input.wanted else { return Planner.plan(whole) }
        let few = Planner.plan(ownSelection(source, input, sets, input.orders, wanted))
        guard few.orders.isEmpty else { return Planner.plan(whole) }
        return Plan(
            whole, access: few.access, isReversed: few.isReversed, residual: few.residual, note: few.note)
    }

    private static func ownSelection(
        _ source: Int, _ input: JoinInput, _ sets: JoinSources, _ orders: [BoundOrder], _ limit: Int?
    ) -> BoundSelection {
        let nodes = sets.local(source)
        let conditions = ownConditions(source, input, sets).map { nodes.condition($0) }
        let binder = Binder(input.sources[source].table, input.catalogue, [], [:], joins: nodes.joins)
        return BoundSelection(
            binder, BoundCondition.all(conditions), orders.map { nodes.order($0) }, limit: limit, offset: 0)
    }

    /// Returns whether the rows of one table determine the order alone.
    private static func ordersDepend(on source: Int, _ input: JoinInput, _ sets: JoinSources) -> Bool {
        !input.orders.isEmpty && input.sources[source].query == nil && !input.sources[source].isOuterRow
            && input.orders.allSatisfy { sets.of($0.expr) & ~(1 << SourceSet(source)) == 0 }
    }

    private func plan() -> JoinPlan {
        let isImpossible = input.conjuncts.contains { $0 == .constant(false) || $0 == .constant(nil) }
        if isImpossible || input.wanted == 0 {
            return JoinPlan(sources: sources.map(\.joined), joins: input.joins, steps: [], isOrdered: true)
        }
        let found = JoinOrder(self).best()
        let order = found.order
        var placed: SourceSet = 0
        var applied: Set<Int> = []
        var steps: [JoinStep] = []
        for (source, outer) in order {
            steps.append(step(source, placed, outer, &applied))
            placed |= 1 << SourceSet(source)
        }
        let isOrdered = input.orders.isEmpty || ordered[order[0].source] != nil
        return JoinPlan(
            sources: sources.map(\.joined), joins: input.joins, steps: steps, isOrdered: isOrdered,
            expectedRows: found.rows, cost: found.cost, weighed: found.weighed)
    }

    private func step(
        _ source: Int, _ placed: SourceSet, _ outer: Double, _ applied: inout Set<Int>
    ) -> JoinStep {
        let me: SourceSet = 1 << SourceSet(source)
        let due = input.conjuncts.indices.filter { !applied.contains($0) && masks[$0] & ~(placed | me) == 0 }
        applied.formUnion(due)
        let plan = placed == 0 ? ordered[source] ?? own[source] : own[source]
        if placed == 0 {
            // Conditions that name no table are also tested here.
            let rest = due.filter { masks[$0] != me }.map { input.conjuncts[$0] }
            return JoinStep(source: source, isLeft: false, method: .first, own: plan, match: rest, after: [])
        }
        var conditions: [BoundCondition]
        var after: [BoundCondition] = []
        if let left = sources[source].left {
            conditions = left.filter { sets.of($0) != me }
            after = due.map { input.conjuncts[$0] }
        } else {
            conditions = due.filter { masks[$0] != me }.map { input.conjuncts[$0] }
        }
        let chosen = JoinMethod.best(source, placed, self, outer)
        conditions.removeAll { chosen.answered.contains($0) }
        return JoinStep(
            source: source, isLeft: sources[source].left != nil, method: chosen.method,
            own: chosen.own ?? plan, match: conditions, after: after)
    }
}
