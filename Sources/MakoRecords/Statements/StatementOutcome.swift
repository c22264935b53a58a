/// The outcome of a statement.
public struct StatementOutcome: Sendable, Hashable {
    /// The rows of a query, or of RETURNING; no columns for other statements.
    public var rows = QueryRows(columns: [], rows: [])
    /// The number of rows inserted, matched by an UPDATE, or deleted.
    public var changed = 0
    /// The key of the last inserted row.
    public var lastKey: RowKey?
    /// Whether tables or indexes were created or dropped, so that the catalogue must be loaded again.
    public var changesSchema = false
    /// The columns that an UPDATE sets.
    public var setColumns: [String] = []

    /// Makes an outcome without changes.
    public init() {}
}
