/// Tables of a join, one bit for each.
typealias SourceSet = UInt64

/// Which rows of a join the parts of a condition read. Nodes are numbered as in ``BoundColumn/node``, the tables of the join first.
struct JoinSources {
    let joins: [JoinNode]
    /// The table at the root of each node.
    private let roots: [Int]

    init(_ joins: [JoinNode]) {
        self.joins = joins
        var roots: [Int] = []
        // Parents stand before those that start from them.
        for (index, node) in joins.enumerated() { roots.append(node.isSupplied ? index : roots[node.parent]) }
        self.roots = roots
    }

    func of(_ expr: BoundExpr) -> SourceSet {
        switch expr {
        case .column(let column): 1 << SourceSet(roots[column.node])
        case .constant, .result, .subject: 0
        case .choice(let choice):
            choice.branches.reduce(all([choice.subject, choice.otherwise])) { $0 | of($1.condition) | of($1.value) }
        case .condition(let condition): of(condition)
        case .arithmetic(_, let left, let right): of(left) | of(right)
        case .negate(let inner), .noCase(let inner): of(inner)
        case .function(_, let arguments): arguments.reduce(0) { $0 | of($1) }
        // The binder refuses ranks and excerpts where tables are joined.
        case .rank, .excerpt: 0
        case .outer, .element: 0
        case .subquery(let subquery): of(subquery)
        case .gathered(let gathered): of(gathered)
        }
    }

    private func all(_ exprs: [BoundExpr?]) -> SourceSet { exprs.reduce(0) { $0 | ($1.map { of($0) } ?? 0) } }

    private func of(_ subquery: BoundSubquery) -> SourceSet { subquery.outers.reduce(0) { $0 | of($1) } }

    private func of(_ gathered: BoundGathered) -> SourceSet {
        of(gathered.column) | (gathered.condition.map { of($0) } ?? 0)
    }

    func of(_ condition: BoundCondition) -> SourceSet {
        switch condition {
        case .constant: 0
        case .comparison(_, let left, let right), .glob(let left, let right): of(left) | of(right)
        case .and(let parts), .or(let parts): parts.reduce(0) { $0 | of($1) }
        case .not(let inner): of(inner)
        case .isIn(let value, let items): items.reduce(of(value)) { $0 | of($1) }
        case .like(let value, let pattern, let escape): of(value) | of(pattern) | (escape.map { of($0) } ?? 0)
        case .isNull(let value), .truth(let value): of(value)
        case .match(let match): match.key.map { of(.column($0)) } ?? 0
        case .isInQuery(let value, let subquery): of(value) | of(subquery)
        case .exists(let subquery): of(subquery)
        case .anyElement(let gathered): of(gathered)
        case .holds(let inner): of(inner)
        }
    }

    /// Whether a condition can hold only where a row of the table is there: beside a row of NULLs it is false or unknown.
    func needs(_ source: Int, _ condition: BoundCondition) -> Bool {
        switch condition {
        case .constant, .isNull: false
        case .comparison(_, let left, let right), .glob(let left, let right), .like(let left, let right, _):
            needs(source, left) || needs(source, right)
        case .and(let parts): parts.contains { needs(source, $0) }
        case .or(let parts): parts.allSatisfy { needs(source, $0) }
        case .isIn(let value, _), .truth(let value), .not(.isNull(let value)): needs(source, value)
        case .not(let inner):
            switch inner {
            case .comparison, .glob, .like, .isIn, .truth: needs(source, inner)
            default: false
            }
        case .match(let match): match.key.map { needs(source, .column($0)) } ?? false
        // Nothing is found by NULL in a list, and there is no value in a list that is not there.
        case .isInQuery(let value, _): needs(source, value)
        case .anyElement(let gathered): needs(source, gathered.column)
        case .holds(let inner): needs(source, inner)
        case .exists: false
        }
    }

    private func needs(_ source: Int, _ expr: BoundExpr) -> Bool {
        switch expr {
        case .column(let column): roots[column.node] == source
        case .constant, .result: false
        case .arithmetic(_, let left, let right): needs(source, left) || needs(source, right)
        case .negate(let inner), .noCase(let inner): needs(source, inner)
        case .function(.coalesce, let arguments): arguments.allSatisfy { needs(source, $0) }
        case .function(_, let arguments): arguments.first.map { needs(source, $0) } ?? false
        case .rank, .excerpt: false
        case .outer, .element, .subquery, .gathered, .subject: false
        // It may be decided by what is beside the row.
        case .choice, .condition: false
        }
    }

    /// The table's own view of things: its row is the row itself, and only paths from there are left.
    func local(_ source: Int) -> LocalNodes {
        var nodes: [JoinNode] = []
        var places: [Int: Int] = [source: -1]
        for (index, node) in joins.enumerated() where !node.isSupplied && roots[index] == source {
            places[index] = nodes.count
            nodes.append(
                JoinNode(parent: places[node.parent] ?? -1, slot: node.slot, target: node.target, path: node.path))
        }
        return LocalNodes(joins: nodes, places: places)
    }
}

/// The nodes of one table of a join, as they are when the table stands alone.
struct LocalNodes {
    let joins: [JoinNode]
    fileprivate let places: [Int: Int]

    func expr(_ expr: BoundExpr) -> BoundExpr {
        switch expr {
        case .column(let column):
            return .column(
                BoundColumn(
                    node: places[column.node] ?? -1, ordinal: column.ordinal, type: column.type, path: column.path,
                    isSealed: column.isSealed, isDecimal: column.isDecimal, isNoCase: column.isNoCase))
        case .constant, .result, .rank, .excerpt, .outer, .element, .subject: return expr
        case .choice(let choice): return .choice(choice.mapped({ self.expr($0) }, { self.condition($0) }))
        case .condition(let condition): return .condition(self.condition(condition))
        case .arithmetic(let operation, let left, let right):
            return .arithmetic(operation, self.expr(left), self.expr(right))
        case .negate(let inner): return .negate(self.expr(inner))
        case .noCase(let inner): return .noCase(self.expr(inner))
        case .function(let function, let arguments): return .function(function, arguments.map { self.expr($0) })
        case .subquery(let subquery): return .subquery(local(subquery))
        case .gathered(let gathered): return .gathered(local(gathered))
        }
    }

    private func local(_ subquery: BoundSubquery) -> BoundSubquery {
        subquery.isCorrelated ? subquery.reading(subquery.outers.map { expr($0) }) : subquery
    }

    private func local(_ gathered: BoundGathered) -> BoundGathered {
        BoundGathered(
            expr(gathered.column), holdsKeys: gathered.holdsKeys, function: gathered.function,
            condition: gathered.condition.map { self.condition($0) })
    }

    func condition(_ condition: BoundCondition) -> BoundCondition {
        switch condition {
        case .constant: return condition
        case .comparison(let operation, let left, let right): return .comparison(operation, expr(left), expr(right))
        case .and(let parts): return .and(parts.map { self.condition($0) })
        case .or(let parts): return .or(parts.map { self.condition($0) })
        case .not(let inner): return .not(self.condition(inner))
        case .isIn(let value, let items): return .isIn(expr(value), items.map { expr($0) })
        case .like(let value, let pattern, let escape):
            return .like(expr(value), expr(pattern), escape: escape.map { expr($0) })
        case .glob(let value, let pattern): return .glob(expr(value), expr(pattern))
        case .isNull(let value): return .isNull(expr(value))
        case .truth(let value): return .truth(expr(value))
        case .match(let match): return .match(self.match(match))
        case .isInQuery(let value, let subquery): return .isInQuery(expr(value), local(subquery))
        case .exists(let subquery): return .exists(local(subquery))
        case .anyElement(let gathered): return .anyElement(local(gathered))
        case .holds(let inner): return .holds(self.condition(inner))
        }
    }

    /// What asks the table's own row needs no key: an index answers it.
    private func match(_ match: BoundMatch) -> BoundMatch {
        guard let key = match.key, let node = places[key.node] else { return match }
        var local = match
        local.key = node < 0 ? nil : BoundColumn(node: node, ordinal: nil, type: key.type, path: key.path)
        local.column = match.column.map {
            BoundColumn(
                node: node, ordinal: $0.ordinal, type: $0.type, path: $0.path, isSealed: $0.isSealed,
                isDecimal: $0.isDecimal, isNoCase: $0.isNoCase)
        }
        return local
    }

    func order(_ order: BoundOrder) -> BoundOrder {
        BoundOrder(expr: expr(order.expr), descending: order.descending, noCase: order.noCase)
    }
}
