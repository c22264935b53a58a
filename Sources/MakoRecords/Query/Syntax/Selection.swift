/// A query of one table: condition, order and limit.
///
///     let selection = Selection(
///         table: "Person", condition: try Condition.parse("age > ?"), parameters: [.integer(35)],
///         orderBy: [Order("name")], limit: 99)
///     let plan = try selection.plan(catalogue)
///     try plan.forEachRow(in: snapshot) { key, row in … }
public struct Selection: Sendable, Hashable {
    /// The table.
    public var table: String
    /// Joined rows whose columns the condition and the order may name.
    public var joins: [SelectionJoin] = []
    /// The condition; `nil` for all rows.
    public var condition: Condition?
    /// The values of positional parameters.
    public var parameters: [Value]
    /// The values of named parameters.
    public var namedParameters: [String: Value]
    /// The order; rows that are equal in it come in no particular order.
    public var orderBy: [Order]
    /// The largest number of rows; `nil` for no limit. A negative number counts as 0.
    public var limit: Int?
    /// The number of rows to skip.
    public var offset: Int?
    /// The alias of the table.
    public var alias: String?

    /// Makes a selection.
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
