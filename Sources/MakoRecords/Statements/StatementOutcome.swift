/// The outcome of a statement.
package struct StatementOutcome: Sendable, Hashable {
    /// The rows of a query, or of RETURNING; no columns for other statements.
    package var rows = QueryRows(columns: [], rows: [])
    /// The number of rows inserted, matched by an UPDATE, or deleted.
    package var changed = 0
    /// The key of the last inserted row.
    package var lastKey: RowKey?
    /// Whether tables or indexes were created or dropped, so that the catalogue must be loaded again.
    package var changesSchema = false
    /// The columns that an UPDATE sets.
    package var setColumns: [String] = []

    /// Makes an outcome without changes.
    package init() {}
}
