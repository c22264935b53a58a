/// The condition of a partial index. The query engine compiles it; tables call it.
protocol RowCondition: AnyObject, Sendable {
    /// The columns that the condition reads.
    var columns: ColumnSet { get }
    /// Whether it contains `IS NULL`, so that rows with a NULL may be in the index.
    var testsForNull: Bool { get }

    /// Returns whether the index holds a row.
    func holds(_ row: RowReader, _ key: RowKey) throws(RecordError) -> Bool
}
