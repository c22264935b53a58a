/// A set of tables of a join, one bit for each.
typealias SourceSet = UInt64

/// Finds the tables that conditions of a join read. Nodes are numbered as in ``BoundColumn/node``, tables of the join
/// first.
struct JoinSources {
    let joins: [JoinNode]
    /// The table at the root of each node.
    private let roots: [Int]

    init(_ joins: [JoinNode]) {
        self.joins = joins
        var roots: [Int] = []
        // Parents precede the nodes that start from them.
        for (index, node) in joins.enumerated() { roots.append(node.isSupplied ? index : roots[node.parent]) }
        self.roots = roots
    }

    func of(_ condition: BoundCondition) -> SourceSet { of(.condition(condition)) }

    func of(_ expr: BoundExpr) -> SourceSet {
        // Fast path for columns.
        if case .column(let column) = expr { return 1 << SourceSet(roots[column.node]) }
        var found: SourceSet = 0
        expr.forEachPart { part in
            if case .column(let column) = part { found |= 1 << SourceSet(roots[column.node]) }
        } conditions: { condition in
            if case .match(let match) = condition, let key = match.key { found |= 1 << SourceSet(roots[key.node]) }
        }
        return found
    }

    /// Returns whether a condition rejects the table's row of NULLs: it is false or NULL for it.
    func needs(_ source: Int, _ condition: BoundCondition) -> Bool {
        switch condition {
        case .constant, .isNull: false
        case .comparison(_, let left, let right), .glob(let left, let right), .like(let left, let right, _):
            needs(source, left) || needs(source, right)
        case .and(let parts): parts.contains { needs(source, $0) }
        case .or(let parts): parts.allSatisfy { needs(source, $0) }
        case .isIn(let value, _), .isAmong(let value, _), .truth(let value), .not(.isNull(let value)):
            needs(source, value)
        case .not(let inner):
            switch inner {
            case .comparison, .glob, .like, .isIn, .isAmong, .truth: needs(source, inner)
            default: false
            }
        case .match(let match): match.key.map { needs(source, .column($0)) } ?? false
        // NULL is in no list, and a NULL list has no elements.
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
        case .function(.same, _), .function(.typeof, _): false
        case .function(_, let arguments): arguments.first.map { needs(source, $0) } ?? false
        case .rank, .excerpt: false
        case .outer, .element, .subquery, .gathered, .subject: false
        // The result may depend on another table alone.
        case .choice, .condition: false
        }
    }

    /// Returns the nodes of one table alone: its row becomes the row itself, and only paths from it are left.
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

/// Rewrites expressions of a join for one of its tables alone.
struct LocalNodes: BoundRewriting {
    let joins: [JoinNode]
    fileprivate let places: [Int: Int]

    func column(_ column: BoundColumn) -> BoundColumn {
        BoundColumn(
            node: places[column.node] ?? -1, ordinal: column.ordinal, type: column.type, path: column.path,
            isSealed: column.isSealed, isDecimal: column.isDecimal, isNoCase: column.isNoCase)
    }

    /// A MATCH of the table's own row needs no key, because an index answers it.
    func match(_ match: BoundMatch) -> BoundMatch {
        guard let key = match.key, let node = places[key.node] else { return match }
        var local = match
        local.key = node < 0 ? nil : column(key)
        local.column = match.column.map { column($0) }
        return local
    }
}
