/// One aggregate of a statement; without an argument, COUNT(*).
package struct BoundAggregate: Sendable {
    package let function: AggregateFunction
    /// Whether it is over distinct values.
    package let isDistinct: Bool
    package var argument: BoundExpr?
    /// Whether its texts are compared without case.
    package let isNoCase: Bool
}

/// GROUP BY: keys and aggregates. Expressions over groups refer to them by number, keys first.
package struct BoundGroups: Sendable {
    package var keys: [BoundExpr]
    /// Which keys are compared without case.
    package let areNoCase: [Bool]
    package var aggregates: [BoundAggregate]
    package var having: BoundCondition?
    package var outputs: [BoundExpr]
    package var orders: [BoundOrder]

    /// The expressions computed for each row.
    var read: [BoundExpr] { keys + aggregates.compactMap(\.argument) }

    /// Whether what is computed for groups reads an outer row.
    var readsOuter: Bool {
        (outputs + orders.map(\.expr)).contains(where: \.readsOuter) || having?.readsOuter == true
    }

    /// The keys as text; `nil` if all rows are one group.
    var keyText: String? {
        if keys.isEmpty { return nil }
        let texts = zip(keys, areNoCase).map { "\($0)" + ($1 ? " COLLATE NOCASE" : "") }
        return "group by " + texts.joined(separator: ", ")
    }
}
