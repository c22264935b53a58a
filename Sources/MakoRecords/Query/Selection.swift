/// What is asked of a table: which rows, in which order, how many.
///
///     let selection = Selection(
///         table: "Person", condition: try Condition.parse("age > ?"), parameters: [.integer(35)], orderBy: [Order("name")], limit: 99)
///     let plan = try selection.plan(catalogue)
///     try plan.forEachRow(in: snapshot) { key, row in … }
public struct Selection: Sendable, Hashable {
    public var table: String
    /// Rows of other tables whose columns may be named.
    public var joins: [SelectionJoin] = []
    public var condition: Condition?
    public var parameters: [Value]
    public var namedParameters: [String: Value]
    public var orderBy: [Order]
    /// At most so many rows; a negative number counts as none.
    public var limit: Int?
    /// How many rows to leave out first.
    public var offset: Int?
    /// What the table is called instead of by its own name.
    public var alias: String?

    public init(
        table: String, condition: Condition? = nil, parameters: [Value] = [], namedParameters: [String: Value] = [:],
        orderBy: [Order] = [], limit: Int? = nil, offset: Int? = nil
    ) {
        self.table = table
        self.condition = condition
        self.parameters = parameters
        self.namedParameters = namedParameters
        self.orderBy = orderBy
        self.limit = limit
        self.offset = offset
    }

    /// Resolves names and checks types against the schema, before any row is read.
    ///
    /// - Throws: `tableNotFound`, or `syntax` pointing into the condition's text.
    public func bind(_ catalogue: Catalogue) throws(RecordError) -> BoundSelection {
        try bind(catalogue, SubqueryBudget())
    }

    func bind(_ catalogue: Catalogue, _ budget: SubqueryBudget) throws(RecordError) -> BoundSelection {
        try followingTree(isDeep) { () throws(RecordError) in try bindTree(catalogue, budget) }
    }

    private func bindTree(_ catalogue: Catalogue, _ budget: SubqueryBudget) throws(RecordError) -> BoundSelection {
        let table = try catalogue.requireTable(table)
        var binder = Binder(table, catalogue, parameters, namedParameters)
        binder.budget = budget
        binder.alias = alias
        var conditions: [BoundCondition] = []
        for join in joins { if let condition = try binder.add(join) { conditions.append(condition) } }
        if let condition { conditions.insert(try binder.bind(condition), at: 0) }
        let bound = BoundCondition.all(conditions)
        binder.leavesUnranked = binder.leavesUnranked(bound)
        var orders: [BoundOrder] = []
        for order in orderBy { orders.append(try binder.bind(order)) }
        return BoundSelection(
            table: table, catalogue: catalogue, joins: binder.joins, condition: bound, orders: orders,
            limit: limit.map { max(0, $0) }, offset: max(0, offset ?? 0), parameters: parameters,
            namedParameters: namedParameters, references: binder.references, matches: binder.matches)
    }

    /// Binds and plans.
    public func plan(_ catalogue: Catalogue) throws(RecordError) -> Plan {
        try followingTree(isDeep) { () throws(RecordError) in Planner.plan(try bind(catalogue)) }
    }
}

extension Selection {
    var isDeep: Bool { condition?.isDeep == true || orderBy.contains { $0.expr.isDeep } }
}
