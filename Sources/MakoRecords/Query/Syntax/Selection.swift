/// A query of one table: condition, order and limit.
///
///     let selection = Selection(
///         table: "Person", condition: try Condition.parse("age > ?"), parameters: [.integer(35)],
///         orderBy: [Order("name")], limit: 99)
///     let plan = try selection.plan(catalogue)
///     try plan.forEachRow(in: snapshot) { key, row in … }
package struct Selection: Sendable, Hashable {
    /// The table.
    package var table: String
    /// Joined rows whose columns the condition and the order may name.
    package var joins: [SelectionJoin] = []
    /// The condition; `nil` for all rows.
    package var condition: Condition?
    /// The values of positional parameters.
    package var parameters: [Value]
    /// The values of named parameters.
    package var namedParameters: [String: Value]
    /// The order; rows that are equal in it come in no particular order.
    package var orderBy: [Order]
    /// The largest number of rows; `nil` for no limit. A negative number counts as 0.
    package var limit: Int?
    /// The number of rows to skip.
    package var offset: Int?
    /// The alias of the table.
    package var alias: String?

    /// Makes a selection.
    package init(
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
