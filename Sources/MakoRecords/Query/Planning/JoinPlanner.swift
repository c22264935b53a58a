/// One table of a join before it is planned.
struct JoinSource: Sendable {
    /// What its columns are called by.
    let name: String
    let table: TableHandle
    /// Whether rows before it that meet none of its rows stay, and when they meet; nil for an inner join, whose conditions stand with all others.
    var left: [BoundCondition]?
    /// How many rows the table has, as far as that is known.
    var size: Double
    /// What its indexes tell, where there is something to look at.
    var statistics: SourceStatistics?
    /// The query whose rows the table has; nil: it is a table of the file.
    var query: StatementPlan?

    var joined: JoinedTable { JoinedTable(name: name, table: table) }
}

/// What is asked of several tables, names resolved.
struct JoinQuestion: Sendable {
    var sources: [JoinSource]
    /// The tables first, in the order of the sources, and then what paths from them lead to.
    let joins: [JoinNode]
    /// What every row must fulfil.
    var conjuncts: [BoundCondition]
    let orders: [BoundOrder]
    /// How many rows are wanted at most.
    let wanted: Int?
    let catalogue: Catalogue
}

/// Chooses the order of a join's tables and the way to the rows of each: the same question, schema, sizes and statistics give the same plan.
///
/// Inner joins may be made in any order; a left join behind the tables that its condition names. A left join whose row of NULLs the rest
/// of the condition never lets through is made an inner one first.
struct JoinPlanner {
    let question: JoinQuestion
    let sets: JoinSources
    /// The tables that each conjunct names.
    let masks: [SourceSet]
    /// The tables that must stand before a left join.
    let leftNeeds: [SourceSet]
    /// Each table by itself.
    let own: [Plan]
    /// What they cost.
    let ownCosts: [Double]
    /// Each table that decides the order alone, in that order.
    let ordered: [Int: Plan]
    /// The share of each table's rows that its own condition leaves.
    let ownShares: [Double]
    private(set) var graph = JoinGraph()

    var sources: [JoinSource] { question.sources }

    static func plan(_ question: JoinQuestion) -> JoinPlan { JoinPlanner(question).plan() }

    init(_ asked: JoinQuestion) {
        var question = asked
        let sets = JoinSources(question.joins)
        self.sets = sets
        question.conjuncts = question.conjuncts.flatMap(\.conjuncts).filter { $0 != .constant(true) }
        JoinPlanner.strengthen(&question, sets)
        self.question = question
        masks = question.conjuncts.map { sets.of($0) }
        leftNeeds = question.sources.enumerated().map { index, source in
            (source.left ?? []).reduce(0) { $0 | sets.of($1) } & ~(1 << SourceSet(index))
        }
        var own: [Plan] = []
        var ownCosts: [Double] = []
        for index in question.sources.indices {
            let (plan, cost) = JoinPlanner.ownPlan(index, question, sets)
            own.append(plan)
            ownCosts.append(cost)
        }
        (self.own, self.ownCosts) = (own, ownCosts)
        var ordered: [Int: Plan] = [:]
        for index in question.sources.indices where JoinPlanner.ordersDepend(on: index, question, sets) {
            ordered[index] = JoinPlanner.orderedPlan(index, question, sets)
        }
        self.ordered = ordered
        ownShares = zip(own, question.sources).map { JoinEstimate.ownShare($0, $1) }
        graph = JoinGraph(self)
    }

    /// A left join whose row of NULLs can pass nowhere is an inner one.
    private static func strengthen(_ question: inout JoinQuestion, _ sets: JoinSources) {
        var goesOn = true
        while goesOn {
            goesOn = false
            for index in question.sources.indices {
                guard let condition = question.sources[index].left,
                    question.conjuncts.contains(where: { sets.needs(index, $0) })
                else { continue }
                question.sources[index].left = nil
                question.conjuncts += condition
                goesOn = true
            }
        }
    }

    /// What is said of a table alone, and can be asked of its rows before anything else.
    static func ownConditions(
        _ source: Int, _ question: JoinQuestion, _ sets: JoinSources
    ) -> [BoundCondition] {
        (question.sources[source].left ?? question.conjuncts).filter { sets.of($0) == 1 << SourceSet(source) }
    }

    private static func ownPlan(
        _ source: Int, _ question: JoinQuestion, _ sets: JoinSources
    ) -> (plan: Plan, cost: Double) {
        let selection = ownSelection(source, question, sets, [], nil)
        if let query = question.sources[source].query {
            return (Planner.rows(of: query, selection), question.sources[source].size)
        }
        // Without sizes where they cannot be read: that is told of when rows are to be.
        let view = question.sources[source].statistics?.view
        let estimates = view.flatMap { try? TableEstimates(selection.table, $0) } ?? .unknown
        guard let choice = Planner.choice(Planner.Question(selection, estimates)) else {
            return (Planner.nothing(selection), 0)
        }
        // Plans of small tables are made as for larger ones, and cost less.
        let share = choice.best.isFewRows ? 1 : question.sources[source].size / estimates.rows
        return (choice.plan(), choice.best.cost * share)
    }

    /// The table's rows in the order that is wanted. Where only few are, the way is that to the first few: but a join may need more.
    private static func orderedPlan(_ source: Int, _ question: JoinQuestion, _ sets: JoinSources) -> Plan {
        let whole = ownSelection(source, question, sets, question.orders, nil)
        guard let wanted = question.wanted else { return Planner.plan(whole) }
        let few = Planner.plan(ownSelection(source, question, sets, question.orders, wanted))
        guard few.orders.isEmpty else { return Planner.plan(whole) }
        return Plan(
            whole, access: few.access, isReversed: few.isReversed, orders: [],
            residual: few.residual.map { [$0] } ?? [], note: few.note)
    }

    private static func ownSelection(
        _ source: Int, _ question: JoinQuestion, _ sets: JoinSources, _ orders: [BoundOrder], _ limit: Int?
    ) -> BoundSelection {
        let nodes = sets.local(source)
        let conditions = ownConditions(source, question, sets).map { nodes.condition($0) }
        return BoundSelection(
            table: question.sources[source].table, catalogue: question.catalogue, joins: nodes.joins,
            condition: BoundCondition.all(conditions),
            orders: orders.map { nodes.order($0) }, limit: limit, offset: 0, parameters: [], namedParameters: [:])
    }

    /// Whether the rows of one table decide the order alone.
    private static func ordersDepend(on source: Int, _ question: JoinQuestion, _ sets: JoinSources) -> Bool {
        !question.orders.isEmpty && question.sources[source].query == nil
            && question.orders.allSatisfy { sets.of($0.expr) & ~(1 << SourceSet(source)) == 0 }
    }

    private func plan() -> JoinPlan {
        let isImpossible = question.conjuncts.contains { $0 == .constant(false) || $0 == .constant(nil) }
        if isImpossible || question.wanted == 0 {
            return JoinPlan(sources: sources.map(\.joined), joins: question.joins, steps: [], isOrdered: true)
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
        let isOrdered = question.orders.isEmpty || ordered[order[0].source] != nil
        return JoinPlan(
            sources: sources.map(\.joined), joins: question.joins, steps: steps, isOrdered: isOrdered,
            expectedRows: found.rows, cost: found.cost, weighed: found.weighed)
    }

    private func step(
        _ source: Int, _ placed: SourceSet, _ outer: Double, _ applied: inout Set<Int>
    ) -> JoinStep {
        let me: SourceSet = 1 << SourceSet(source)
        let due = question.conjuncts.indices.filter { !applied.contains($0) && masks[$0] & ~(placed | me) == 0 }
        applied.formUnion(due)
        let plan = placed == 0 ? ordered[source] ?? own[source] : own[source]
        if placed == 0 {
            // What names no table at all stands here, too.
            let rest = due.filter { masks[$0] != me }.map { question.conjuncts[$0] }
            return JoinStep(source: source, isLeft: false, method: .first, own: plan, match: rest, after: [])
        }
        var conditions: [BoundCondition]
        var after: [BoundCondition] = []
        if let left = sources[source].left {
            conditions = left.filter { sets.of($0) != me }
            after = due.map { question.conjuncts[$0] }
        } else {
            conditions = due.filter { masks[$0] != me }.map { question.conjuncts[$0] }
        }
        let way = JoinWay.best(source, placed, self, outer)
        conditions.removeAll { way.answered.contains($0) }
        return JoinStep(
            source: source, isLeft: sources[source].left != nil, method: way.method,
            own: plan, match: conditions, after: after)
    }
}
