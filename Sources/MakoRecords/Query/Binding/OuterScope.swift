/// A statement's sub-queries are counted: places that name one twice must not make many of few.
final class SubqueryBudget {
    private var left = 500
    /// Every table whose rows decide what they give.
    private(set) var tables: Set<String> = []
    /// The clock's time, as the statement looked at it first; nil: it has not.
    private(set) var lookedAtClock: Double?

    /// The clock's time, in seconds since 2001: the same in all of a statement.
    var now: Double {
        if let lookedAtClock { return lookedAtClock }
        let now = Moment.now
        lookedAtClock = now
        return now
    }

    func note(_ subquery: BoundSubquery) { tables.formUnion(subquery.tables) }

    func take(_ at: SourcePosition) throws(RecordError) {
        left -= 1
        if left < 0 { throw at.error("there are too many sub-queries; the limit is 500") }
    }
}

/// A query while it and the sub-queries inside it are bound.
final class OuterScope {
    /// Resolves names of the query itself.
    var binder: Binder
    /// What the sub-query reads of the query's rows, in the query's own terms.
    private(set) var values: [BoundExpr] = []

    init(_ binder: Binder) { self.binder = binder }

    func value(_ expr: BoundExpr) -> Int {
        if let known = values.firstIndex(of: expr) { return known }
        values.append(expr)
        return values.count - 1
    }

    /// Whether the name of a table means this query's, or one further out.
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
