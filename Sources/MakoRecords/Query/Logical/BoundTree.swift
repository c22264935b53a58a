// Traversal and rewriting of bound expressions.

extension BoundExpr {
    /// Calls a closure with the expression and all its parts. It does not descend into sub-queries, but visits their
    /// outer values.
    ///
    /// - Parameter visit: is called with the conditions in the expression.
    func forEachPart(_ body: (BoundExpr) -> Void, conditions visit: (BoundCondition) -> Void = { _ in }) {
        body(self)
        switch self {
        case .column, .constant, .outer, .element, .result, .rank, .excerpt, .subject: break
        case .arithmetic(_, let left, let right):
            left.forEachPart(body, conditions: visit)
            right.forEachPart(body, conditions: visit)
        case .negate(let inner), .noCase(let inner): inner.forEachPart(body, conditions: visit)
        case .function(_, let arguments): for each in arguments { each.forEachPart(body, conditions: visit) }
        case .subquery(let subquery): for each in subquery.outers { each.forEachPart(body, conditions: visit) }
        case .gathered(let gathered): gathered.forEachPart(body, conditions: visit)
        case .condition(let condition): condition.forEachPart(body, conditions: visit)
        case .choice(let choice):
            for each in choice.expressions { each.forEachPart(body, conditions: visit) }
            for branch in choice.branches { branch.condition.forEachPart(body, conditions: visit) }
        }
    }

    /// Whether it reads the outer query.
    var readsOuter: Bool {
        var isFound = false
        forEachPart { if case .outer = $0 { isFound = true } }
        return isFound
    }

    /// Its sub-queries, without nested ones.
    var subqueries: [BoundSubquery] {
        var found: [BoundSubquery] = []
        forEachPart { if case .subquery(let subquery) = $0 { found.append(subquery) } }
        return found
    }
}

extension BoundCondition {
    /// Calls a closure with every expression in the condition. It does not descend into sub-queries, but visits their
    /// outer values.
    ///
    /// - Parameter visit: is called with the condition and all its parts.
    func forEachPart(_ body: (BoundExpr) -> Void, conditions visit: (BoundCondition) -> Void = { _ in }) {
        visit(self)
        switch self {
        case .constant, .match: break
        case .comparison(_, let left, let right), .glob(let left, let right):
            left.forEachPart(body, conditions: visit)
            right.forEachPart(body, conditions: visit)
        case .and(let parts), .or(let parts): for each in parts { each.forEachPart(body, conditions: visit) }
        case .not(let inner), .holds(let inner): inner.forEachPart(body, conditions: visit)
        case .isIn(let value, let items):
            value.forEachPart(body, conditions: visit)
            for each in items { each.forEachPart(body, conditions: visit) }
        case .like(let value, let pattern, let escape):
            value.forEachPart(body, conditions: visit)
            pattern.forEachPart(body, conditions: visit)
            escape?.forEachPart(body, conditions: visit)
        case .isNull(let value), .truth(let value), .isAmong(let value, _): value.forEachPart(body, conditions: visit)
        case .isInQuery(let value, let subquery):
            value.forEachPart(body, conditions: visit)
            BoundExpr.subquery(subquery).forEachPart(body, conditions: visit)
        case .exists(let subquery): BoundExpr.subquery(subquery).forEachPart(body, conditions: visit)
        case .anyElement(let gathered): gathered.forEachPart(body, conditions: visit)
        }
    }

    /// Whether it reads the outer query.
    var readsOuter: Bool { BoundExpr.condition(self).readsOuter }

    /// Its sub-queries, without nested ones.
    var subqueries: [BoundSubquery] {
        var found: [BoundSubquery] = []
        forEachPart { if case .subquery(let subquery) = $0 { found.append(subquery) } }
        return found
    }
}

extension BoundGathered {
    func forEachPart(_ body: (BoundExpr) -> Void, conditions visit: (BoundCondition) -> Void = { _ in }) {
        column.forEachPart(body, conditions: visit)
        condition?.forEachPart(body, conditions: visit)
    }
}

extension BoundSelection {
    /// The sub-queries of its condition and its order.
    var subqueries: [BoundSubquery] {
        (condition?.subqueries ?? []) + orders.flatMap(\.expr.subqueries)
    }

    /// Every table that the selection depends on.
    var allTables: Set<String> {
        var tables = Set([table.schema.name] + joins.map(\.target.schema.name))
        for subquery in subqueries { tables.formUnion(subquery.tables) }
        return tables
    }
}

/// Rewrites parts of bound expressions; the default of each requirement returns its argument.
protocol BoundRewriting {
    func column(_ column: BoundColumn) -> BoundColumn
    func subquery(_ subquery: BoundSubquery) -> BoundSubquery
    func match(_ match: BoundMatch) -> BoundMatch
    func outer(_ value: OuterValue) -> BoundExpr
}

extension BoundRewriting {
    func column(_ column: BoundColumn) -> BoundColumn { column }

    func subquery(_ subquery: BoundSubquery) -> BoundSubquery {
        subquery.isCorrelated ? subquery.reading(subquery.outers.map { expr($0) }) : subquery
    }

    func match(_ match: BoundMatch) -> BoundMatch { match }

    func outer(_ value: OuterValue) -> BoundExpr { .outer(value) }

    func expr(_ expr: BoundExpr) -> BoundExpr {
        switch expr {
        case .column(let column): .column(self.column(column))
        case .outer(let value): outer(value)
        case .constant, .result, .rank, .excerpt, .element, .subject: expr
        case .choice(let choice): .choice(choice.mapped({ self.expr($0) }, { condition($0) }))
        case .condition(let inner): .condition(condition(inner))
        case .arithmetic(let operation, let left, let right):
            .arithmetic(operation, self.expr(left), self.expr(right))
        case .negate(let inner): .negate(self.expr(inner))
        case .noCase(let inner): .noCase(self.expr(inner))
        case .function(let function, let arguments): .function(function, arguments.map { self.expr($0) })
        case .subquery(let subquery): .subquery(self.subquery(subquery))
        case .gathered(let gathered): .gathered(self.gathered(gathered))
        }
    }

    func condition(_ condition: BoundCondition) -> BoundCondition {
        switch condition {
        case .constant: condition
        case .comparison(let operation, let left, let right): .comparison(operation, expr(left), expr(right))
        case .and(let parts): .and(parts.map { self.condition($0) })
        case .or(let parts): .or(parts.map { self.condition($0) })
        case .not(let inner): .not(self.condition(inner))
        case .isIn(let value, let items): .isIn(expr(value), items.map { expr($0) })
        case .isAmong(let value, let items): .isAmong(expr(value), items)
        case .like(let value, let pattern, let escape):
            .like(expr(value), expr(pattern), escape: escape.map { expr($0) })
        case .glob(let value, let pattern): .glob(expr(value), expr(pattern))
        case .isNull(let value): .isNull(expr(value))
        case .truth(let value): .truth(expr(value))
        case .match(let match): .match(self.match(match))
        case .isInQuery(let value, let subquery): .isInQuery(expr(value), self.subquery(subquery))
        case .exists(let subquery): .exists(self.subquery(subquery))
        case .anyElement(let gathered): .anyElement(self.gathered(gathered))
        case .holds(let inner): .holds(self.condition(inner))
        }
    }

    func order(_ order: BoundOrder) -> BoundOrder {
        BoundOrder(
            expr: expr(order.expr), descending: order.descending, noCase: order.noCase,
            reversesNulls: order.reversesNulls)
    }

    private func gathered(_ gathered: BoundGathered) -> BoundGathered {
        BoundGathered(
            expr(gathered.column), holdsKeys: gathered.holdsKeys, function: gathered.function,
            condition: gathered.condition.map { condition($0) })
    }
}
