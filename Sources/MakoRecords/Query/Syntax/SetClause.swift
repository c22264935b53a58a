/// How the rows of a further question meet those before it.
enum SetOperator: String, Sendable, Hashable {
    case unionAll = "union all"
    /// Different rows of both.
    case union
    /// Different rows that are in both.
    case intersect
    /// Different rows that are not in the second.
    case except
}

/// `UNION SELECT …` behind a statement.
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
