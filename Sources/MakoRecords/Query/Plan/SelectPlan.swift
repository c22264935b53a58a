/// An executable SELECT.
///
/// It holds no snapshot, so that it may run over any number of them, from any thread.
struct SelectPlan: SelectPart {
    /// The source of the rows.
    enum Feed: Sendable {
        case table(Plan)
        case join(JoinPlan)
        /// COUNT(*) of a plan: reads no row unless a condition needs it.
        case count(Plan)
        /// MIN and MAX of columns.
        case extremes([Extreme])
    }

    /// An aggregate, and the plan whose first row has it in a column.
    struct Extreme: Sendable {
        let text: String
        let column: BoundExpr
        var plan: Plan
    }

    var feed: Feed
    let names: [String]
    /// The output expressions, where rows are not grouped.
    let outputs: [BoundExpr]
    private(set) var group: BoundGroups?
    let isDistinct: Bool
    let collations: [Collation?]
    /// The order that a sort of rows or groups is left to produce.
    private(set) var orders: [BoundOrder]
    let limit: Int?
    let offset: Int
    /// Whether the source of the rows applies LIMIT and OFFSET.
    var isCut = false
    /// Whether rows of one group, or equal rows, are adjacent.
    var isInOrder = false
    /// The rows read beside those of the query.
    let nodes: [JoinNode]
    let kinds: [ValueKind]
    let tables: Set<String>
    /// Whether an output or a condition of groups reads an outer row, see ``OuterRow``.
    let readsOuterInGroups: Bool
    /// The selection from which the rows of the one table were planned, without values; `nil` for other feeds.
    var selection: Selection?

    init(_ bound: BoundSelect, _ feed: Feed, _ group: BoundGroups?, orders: [BoundOrder]) {
        self.feed = feed
        names = bound.names
        outputs = bound.outputs
        self.group = group
        isDistinct = bound.isDistinct
        collations = bound.collations
        self.orders = orders
        limit = bound.limit
        offset = bound.offset
        nodes = bound.nodes
        kinds = bound.kinds
        tables = bound.tables
        readsOuterInGroups = group?.readsOuter ?? false
    }

    /// Returns the plan with what is computed for groups rewritten.
    func replacing(_ rewriting: some BoundRewriting) -> SelectPlan {
        var copy = self
        copy.group?.having = group?.having.map { rewriting.condition($0) }
        copy.group?.outputs = (group?.outputs ?? []).map { rewriting.expr($0) }
        copy.group?.orders = (group?.orders ?? []).map { rewriting.order($0) }
        copy.orders = orders.map { rewriting.order($0) }
        return copy
    }

    /// The expected number of rows: a default without a limit.
    var expectedRows: Double {
        switch feed {
        case .count, .extremes: return 1
        case .table, .join: break
        }
        if let group, group.keys.isEmpty { return 1 }
        return min(1000, limit.map(Double.init) ?? 1000)
    }

    /// The plan that may be scanned in parts: that of the table, or of the driving table of a join.
    private var divisible: Plan? {
        switch feed {
        case .table(let plan): plan
        case .join(let join): join.steps.isEmpty ? nil : join.steps[join.driver].own
        case .count, .extremes: nil
        }
    }

    /// The plan whose rows are grouped in parts; `nil` if one scan reads them.
    var dividedRows: Plan? {
        guard let group, let plan = divisible, plan.threads != nil, !isInOrder,
            !group.aggregates.contains(where: \.isDistinct), group.read.allSatisfy({ $0.subqueries.isEmpty })
        else { return nil }
        return plan
    }

    /// The plan whose rows several threads find and output unchanged; `nil` if one thread finds them.
    var gatheredRows: Plan? {
        guard let plan = divisible, plan.isGathered, group == nil, !isDistinct, sortTerms.isEmpty, limit == nil,
            offset == 0, outputs.allSatisfy({ $0.subqueries.isEmpty })
        else { return nil }
        return plan
    }

    /// Returns the same plan with a cancellation.
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
        case .count(var plan):
            plan.cancellation = cancellation
            copy.feed = .count(plan)
        case .extremes(var extremes):
            for index in extremes.indices { extremes[index].plan.cancellation = cancellation }
            copy.feed = .extremes(extremes)
        }
        return copy
    }
}
