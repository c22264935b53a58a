/// Which rows a partial index holds. The query engine compiles the condition; tables only call it.
protocol RowCondition: AnyObject, Sendable {
    /// The columns that decide.
    var columns: ColumnSet { get }
    /// Whether a part of it is `IS NULL`, so that rows with a NULL can be in the index.
    var asksForNull: Bool { get }

    /// Whether the index holds a row.
    func holds(_ row: RowReader, _ key: RowKey) throws(RecordError) -> Bool
}
