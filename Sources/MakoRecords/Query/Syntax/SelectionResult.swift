/// The result of a selection: its rows, or a value computed from them.
package enum SelectionResult: Sendable {
    /// The rows.
    case rows
    /// The number of rows.
    case count
    /// Whether there is a row.
    case exists
    /// An aggregate of an expression.
    case aggregate(AggregateFunction, of: Expr)
    /// The distinct values of an expression.
    case distinct(Expr)
    /// The number of rows of each value of an expression.
    case groupCount(by: Expr)
}
