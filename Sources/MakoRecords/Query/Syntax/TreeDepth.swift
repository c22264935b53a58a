import MakoStorage

// The depth of trees. The traversal of a deep tree may need more stack than a thread has, see ``StackGuard``.

extension Condition {
    /// The greatest depth of a tree, parsed or built by code.
    package static let depthLimit = 250

    /// Whether the tree is so deep that its traversal needs a large stack.
    var isDeep: Bool { isDeepTree(levels(upTo: StackGuard.shallowLevels)) }

    /// The depth of the tree, up to the limit for binding.
    package var levels: Int { withDeepRoom(isDeep) { levels(upTo: Condition.depthLimit) } }

    /// Returns the depth of the tree; what is below `limit` counts as one level.
    func levels(upTo limit: Int) -> Int {
        if limit <= 0 { return 1 }
        let rest = limit - 1
        let below =
            switch self {
            case .constant: 0
            case .comparison(_, let left, let right), .glob(let left, let right), .match(let left, let right):
                max(left.levels(upTo: rest), right.levels(upTo: rest))
            case .and(let parts), .or(let parts): parts.reduce(0) { max($0, $1.levels(upTo: rest)) }
            case .not(let inner), .quantified(_, let inner, _), .elements(_, _, let inner): inner.levels(upTo: rest)
            case .isIn(let value, let items):
                items.reduce(value.levels(upTo: rest)) { max($0, $1.levels(upTo: rest)) }
            case .between(let value, let low, let high):
                max(value.levels(upTo: rest), low.levels(upTo: rest), high.levels(upTo: rest))
            case .like(let value, let pattern, let escape):
                max(value.levels(upTo: rest), pattern.levels(upTo: rest), escape?.levels(upTo: rest) ?? 0)
            case .isNull(let value), .truth(let value), .isAmong(let value, _): value.levels(upTo: rest)
            case .isInQuery(let value, let subquery):
                max(value.levels(upTo: rest), subquery.statement.levels(upTo: rest))
            case .exists(let subquery): subquery.statement.levels(upTo: rest)
            }
        return below + 1
    }
}

extension Expr {
    var isDeep: Bool { isDeepTree(levels(upTo: StackGuard.shallowLevels)) }

    func levels(upTo limit: Int) -> Int {
        if limit <= 0 { return 1 }
        let rest = limit - 1
        let below =
            switch self {
            case .column, .literal, .parameter, .collection, .subject: 0
            case .arithmetic(_, let left, let right, _): max(left.levels(upTo: rest), right.levels(upTo: rest))
            case .negate(let inner), .noCase(let inner), .binary(let inner): inner.levels(upTo: rest)
            case .function(_, let arguments, _): arguments.reduce(0) { max($0, $1.levels(upTo: rest)) }
            case .subquery(let subquery): subquery.statement.levels(upTo: rest)
            case .choice(let choice):
                choice.branches.reduce(
                    max(choice.subject?.levels(upTo: rest) ?? 0, choice.otherwise?.levels(upTo: rest) ?? 0)
                ) { max($0, $1.condition.levels(upTo: rest), $1.value.levels(upTo: rest)) }
            case .condition(let condition, _): condition.levels(upTo: rest)
            }
        return below + 1
    }
}

extension SelectStatement {
    var isDeep: Bool { isDeepTree(levels(upTo: StackGuard.shallowLevels)) }

    /// A query counts as two levels, because it takes more stack than an expression.
    func levels(upTo limit: Int) -> Int {
        if limit <= 0 { return 1 }
        let rest = limit - 2
        var found = max(condition?.levels(upTo: rest) ?? 0, having?.levels(upTo: rest) ?? 0)
        for output in outputs { found = max(found, output.expr.levels(upTo: rest)) }
        for join in joins { found = max(found, join.condition?.levels(upTo: rest) ?? 0) }
        for value in groupBy { found = max(found, value.levels(upTo: rest)) }
        for order in orderBy { found = max(found, order.expr.levels(upTo: rest)) }
        for compound in compounds { found = max(found, compound.statement.levels(upTo: rest)) }
        for table in commonTables { found = max(found, table.statement.levels(upTo: rest)) }
        return found + 2
    }
}

extension SourcePosition {
    /// The error if a tree needs a larger stack, none can be had, and that of the thread does not suffice.
    var tooDeepForStack: RecordError { error("this is nested too deeply for the stack of this thread") }
}
