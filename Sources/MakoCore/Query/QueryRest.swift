import MakoRecords

/// What few queries ask besides one condition and a number of objects. A class, so that the others copy one empty reference.
final class QueryRest: Sendable {
    struct Parts: Sendable {
        /// The conditions behind the first.
        var conditions: [ConditionSource] = []
        var offset: Int?
        var references: [ReferenceCondition] = []
        var orders: [Order] = []
        /// Why the query cannot be run: an order that cannot be read, or a negative number of rows.
        var fault: MakoError?
        /// What conditions call the table, where that is not its own name.
        var alias: String?
        var domain: ObjectDomain?
        var prefetches: [[PathStep]] = []
        var joins: [QueryJoin] = []
        /// The context of several queries that are one fetch.
        var context: FetchContext?
    }

    let parts: Parts
    /// Whether it has a say in which rows come, and in which order.
    let isAsked: Bool
    /// Whether something is done with the objects when all are made.
    let isFollowed: Bool

    init(_ parts: Parts) {
        self.parts = parts
        isAsked =
            !parts.conditions.isEmpty || !parts.references.isEmpty || !parts.orders.isEmpty || !parts.joins.isEmpty
            || parts.alias != nil || parts.fault != nil
        isFollowed = parts.domain != nil || !parts.prefetches.isEmpty || !parts.joins.isEmpty
    }
}
