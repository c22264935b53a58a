/// A set operator of a compound.
package enum SetOperator: String, Sendable, Hashable {
    case unionAll = "union all"
    /// The distinct rows of both parts.
    case union
    /// The distinct rows that both parts have.
    case intersect
    /// The distinct rows of the first part that the second does not have.
    case except
}

/// `UNION SELECT …` after a statement.
struct SetClause: Sendable, Hashable {
    let operation: SetOperator
    var statement: SelectStatement
    let at: SourcePosition
}

extension Parser {
    mutating func takeSetOperator() -> SetOperator? {
        if takeWord("UNION") { return takeWord("ALL") ? .unionAll : .union }
        if takeWord("INTERSECT") { return .intersect }
        return takeWord("EXCEPT") ? .except : nil
    }
}
