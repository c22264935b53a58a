/// The access path of one table.
enum Access: Sendable {
    case nothing
    /// A scan by row id.
    case rows(ClosedRange<Int64>)
    /// A scan of a table with key columns.
    case keyRanges([KeyRange])
    /// Row lookups by key, in key order.
    case keys([RowKey])
    case index(IndexHandle, [KeyRange])
    case fullText(TextAccess)
    /// A row-id set scan: collects row ids, then reads the rows in their order.
    case gathered(RowIDSet)
    /// The rows of a query in FROM, which runs for them.
    indirect case query(StatementPlan)
    /// The outer row of a correlated statement; a plan has no values before it runs.
    case outerRow([Value])
}

/// A full-text search.
struct TextAccess: Sendable {
    let match: BoundMatch
    /// Whether the rows are ordered by rank.
    let isRanked: Bool
}
