/// Limits the sub-queries of a statement: views and CTEs that are read twice could multiply them.
final class SubqueryBudget {
    private var left = 500
    /// Every table that the sub-queries read.
    private(set) var tables: Set<String> = []
    /// The outer rows that its sub-queries read, by their names.
    private(set) var outerRows: [String: OuterRow] = [:]
    /// The current time, if the statement has read it.
    private(set) var lookedAtClock: Double?

    /// The current time, in seconds since 2001: the same throughout a statement.
    var now: Double {
        if let lookedAtClock { return lookedAtClock }
        let now = Moment.now
        lookedAtClock = now
        return now
    }

    func note(_ subquery: BoundSubquery) { tables.formUnion(subquery.tables) }

    func note(_ row: OuterRow) { outerRows[row.name] = row }

    func take(_ at: SourcePosition) throws(RecordError) {
        left -= 1
        if left < 0 { throw at.error("there are too many sub-queries; the limit is 500") }
    }
}

/// An outer query, while it and its sub-queries are bound.
final class OuterScope {
    /// Resolves names of the outer query.
    var binder: Binder
    /// The outer values that the sub-query reads, bound in the outer query.
    private(set) var values: [BoundExpr] = []

    init(_ binder: Binder) { self.binder = binder }

    func value(_ expr: BoundExpr) -> Int {
        if let known = values.firstIndex(of: expr) { return known }
        values.append(expr)
        return values.count - 1
    }

    /// Returns whether a qualifier names a table of this query or of one further out.
    func isTable(_ name: String) -> Bool {
        if let scope = binder.scope {
            let folded = Folding.folded(name)
            if scope.sources.contains(where: { Folding.folded($0.name) == folded }) { return true }
        } else if binder.isOwnName(name) || binder.isReference(name) {
            return true
        }
        return binder.outer?.isTable(name) == true
    }
}
