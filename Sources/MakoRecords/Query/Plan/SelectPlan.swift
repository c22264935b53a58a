/// A statement that can be run: everything about it that could be wrong was found right.
///
/// It holds no snapshot: it may be run over any number of them, from any thread.
struct SelectPlan: SelectPart {
    /// Where the rows come from.
    enum Feed: Sendable {
        case table(Plan)
        case join(JoinPlan)
        /// How many rows a plan has is the result: none is read that need not be.
        case count(Plan)
        /// The smallest or largest values of columns are the result.
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
    /// What is told of each row, where rows are not grouped.
    let outputs: [BoundExpr]
    let group: BoundGroups?
    let isDistinct: Bool
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
    let kinds: [ValueKind]
    let tables: Set<String>
    /// What the rows of the one table were planned for, without values; nil for anything else.
    var selection: Selection?

    init(
        _ bound: BoundSelect, _ feed: Feed, _ group: BoundGroups?, orders: [BoundOrder], isCut: Bool, isInOrder: Bool
    ) {
        self.feed = feed
        names = bound.names
        outputs = bound.outputs
        self.group = group
        isDistinct = bound.isDistinct
        collations = bound.collations
        self.orders = orders
        limit = bound.limit
        offset = bound.offset
        self.isCut = isCut
        self.isInOrder = isInOrder
        nodes = bound.nodes
        kinds = bound.kinds
        tables = bound.tables
    }

    /// About how many rows it gives: a guess where nothing limits them.
    var expectedRows: Double {
        switch feed {
        case .count, .extremes: return 1
        case .table, .join: break
        }
        if let group, group.keys.isEmpty { return 1 }
        return min(1000, limit.map(Double.init) ?? 1000)
    }

    /// The plan that may be read in parts: that of the table, or of the one that a join walks.
    private var divisible: Plan? {
        switch feed {
        case .table(let plan): plan
        case .join(let join): join.steps.isEmpty ? nil : join.steps[join.driver].own
        case .count, .extremes: nil
        }
    }

    /// The plan whose rows are put to groups in parts; nil: they come from the first to the last.
    var dividedRows: Plan? {
        guard let group, let plan = divisible, plan.threads != nil, !isInOrder,
            !group.aggregates.contains(where: \.isDistinct), group.read.allSatisfy({ $0.subqueries.isEmpty })
        else { return nil }
        return plan
    }

    /// The plan whose rows several threads find, each of which is given as it is; nil: one thread finds them.
    var gatheredRows: Plan? {
        guard let plan = divisible, plan.isGathered, group == nil, !isDistinct, sortTerms.isEmpty, limit == nil,
            offset == 0, outputs.allSatisfy({ $0.subqueries.isEmpty })
        else { return nil }
        return plan
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
