/// Where the rows come from.
enum Access: Sendable {
    case nothing
    /// The rows themselves, between two ids.
    case rows(ClosedRange<Int64>)
    /// The rows of a table with key columns, between keys.
    case keyRanges([KeyRange])
    /// Some rows, by their keys, in the order of keys.
    case keys([RowKey])
    case index(IndexHandle, [KeyRange])
    case fullText(TextAccess)
    /// Some rows, in the order of keys, which are gathered first.
    case gathered(KeySource)
    /// The rows of a query, which is run for them.
    indirect case query(StatementPlan)
}

/// The rows of a match, for finding them by it.
struct TextAccess: Sendable {
    let match: BoundMatch
    /// Whether the best come first.
    let isRanked: Bool
}
