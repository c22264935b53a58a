/// A named join of a selection: the row of another table whose key a column holds. `Department.name` is then a column
/// of the selection, NULL without such a row.
///
/// Unlike a ``JoinClause`` it matches at most one row, so that a scan of the table suffices. If the target column is
/// not the key, the selection is a ``JoinedSelection``.
package struct SelectionJoin: Sendable, Hashable {
    /// The joined table.
    package var table: String
    /// The name that qualifies its columns.
    package var name: String
    /// The column that holds the key: one of the selection's table, or of a row joined before, as in
    /// `Department.location`.
    package var left: Expr
    /// The equal column of the joined table; its key, unless rows may match several times.
    package var target: Expr
    /// Whether rows without a match are excluded.
    package var isInner: Bool

    /// Makes a join.
    package init(table: String, name: String, left: Expr, target: Expr, isInner: Bool = false) {
        self.table = table
        self.name = name
        self.left = left
        self.target = target
        self.isInner = isInner
    }
}
