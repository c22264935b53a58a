import MakoRecords

/// The parts of a query that few queries have. A class, so that the other queries copy one nil reference.
final class QueryRest: Sendable {
    struct Parts: Sendable {
        /// The conditions after the first.
        var conditions: [ConditionSource] = []
        var offset: Int?
        var references: [ReferenceCondition] = []
        var orders: [Order] = []
        /// Why the query cannot be run: an order that cannot be read, or a negative number of rows.
        var fault: MakoError?
        /// The name of the table in conditions, if it is not its own.
        var alias: String?
        var domain: ObjectDomain?
        var prefetches: [[PathStep]] = []
        var joins: [QueryJoin] = []
        /// The context of several queries that are parts of one fetch.
        var context: FetchContext?
    }

    let parts: Parts
    /// Whether the parts affect which rows are found, or their order.
    let affectsRows: Bool
    /// Whether the parts apply to the created objects.
    let isFollowed: Bool

    init(_ parts: Parts) {
        self.parts = parts
        affectsRows =
            !parts.conditions.isEmpty || !parts.references.isEmpty || !parts.orders.isEmpty || !parts.joins.isEmpty
            || parts.alias != nil || parts.fault != nil
        isFollowed = parts.domain != nil || !parts.prefetches.isEmpty || !parts.joins.isEmpty
    }
}
