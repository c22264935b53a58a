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
}

extension Selection {
    var isDeep: Bool { condition?.isDeep == true || orderBy.contains { $0.expr.isDeep } }
}
