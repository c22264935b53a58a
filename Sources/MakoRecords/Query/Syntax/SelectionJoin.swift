/// The row of another table that a column's value is the key of, under a name of its own: `Department.name` is then a column of the
/// selection, NULL where there is no such row.
///
/// Unlike a ``JoinClause`` it never gives a row twice, so that whatever goes over a table's rows goes over these as well. Where the column that it
/// leads to is not the key, the selection is a ``JoinedSelection``.
public struct SelectionJoin: Sendable, Hashable {
    public var table: String
    public var name: String
    /// The column that holds the key: the selection's own, or one of a row joined before, as in `Department.location`.
    public var left: Expr
    /// The column of the table that holds the same value; its key, if no row is to come twice.
    public var target: Expr
    /// Whether rows without a joined one are left out.
    public var isInner: Bool

    public init(table: String, name: String, left: Expr, target: Expr, isInner: Bool = false) {
        self.table = table
        self.name = name
        self.left = left
        self.target = target
        self.isInner = isInner
    }
}
