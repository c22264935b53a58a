/// One aggregate of a statement. Without an argument rows are counted.
struct BoundAggregate: Sendable {
    let function: AggregateFunction
    /// Whether only different values count.
    let isDistinct: Bool
    var argument: BoundExpr?
    /// Whether its texts are compared without regard to case.
    let isNoCase: Bool
}

/// How rows are put together to groups, and what is told of each group: keys and aggregates are the results that the other expressions name,
/// first the keys.
struct BoundGroups: Sendable {
    var keys: [BoundExpr]
    /// Which keys are the same whatever the case of their letters.
    let areNoCase: [Bool]
    var aggregates: [BoundAggregate]
    var having: BoundCondition?
    var outputs: [BoundExpr]
    var orders: [BoundOrder]

    /// What is worked out of each row.
    var read: [BoundExpr] { keys + aggregates.compactMap(\.argument) }

    /// What rows are put together by, in words; nil: all are one group.
    var keyText: String? {
        if keys.isEmpty { return nil }
        let texts = zip(keys, areNoCase).map { "\($0)" + ($1 ? " COLLATE NOCASE" : "") }
        return "group by " + texts.joined(separator: ", ")
    }
}
