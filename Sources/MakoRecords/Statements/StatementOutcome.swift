/// What came of a statement.
public struct StatementOutcome: Sendable, Hashable {
    /// The answer of a question, or what RETURNING gives; no columns for anything else.
    public var rows = QueryRows(columns: [], rows: [])
    /// How many rows were inserted, found by an UPDATE, or deleted.
    public var changed = 0
    /// The key of the row that was inserted last.
    public var lastKey: RowKey?
    /// Whether tables or indexes came or went: the catalogue is to be loaded anew.
    public var changesSchema = false
    /// The columns that an UPDATE sets.
    public var setColumns: [String] = []

    public init() {}
}
