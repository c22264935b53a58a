/// What is wanted of a selection: its rows, or one result of them.
public enum SelectionResult: Sendable {
    case rows
    /// How many rows there are.
    case count
    /// Whether there is a row.
    case exists
    case aggregate(AggregateFunction, of: Expr)
    /// The different values of an expression.
    case distinct(Expr)
    /// How many rows have each value of an expression.
    case groupCount(by: Expr)
}
