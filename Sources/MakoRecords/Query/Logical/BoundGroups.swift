/// One aggregate of a statement; without an argument, COUNT(*).
struct BoundAggregate: Sendable {
    let function: AggregateFunction
    /// Whether it is over distinct values.
    let isDistinct: Bool
    var argument: BoundExpr?
    /// Whether its texts are compared without case.
    let isNoCase: Bool
}

/// GROUP BY: keys and aggregates. Expressions over groups refer to them by number, keys first.
struct BoundGroups: Sendable {
    var keys: [BoundExpr]
    /// Which keys are compared without case.
    let areNoCase: [Bool]
    var aggregates: [BoundAggregate]
    var having: BoundCondition?
    var outputs: [BoundExpr]
    var orders: [BoundOrder]

    /// The expressions computed for each row.
    var read: [BoundExpr] { keys + aggregates.compactMap(\.argument) }

    /// The keys as text; `nil` if all rows are one group.
    var keyText: String? {
        if keys.isEmpty { return nil }
        let texts = zip(keys, areNoCase).map { "\($0)" + ($1 ? " COLLATE NOCASE" : "") }
        return "group by " + texts.joined(separator: ", ")
    }
}
