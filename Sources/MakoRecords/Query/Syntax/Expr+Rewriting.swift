// Traversal and rewriting of syntax trees.
extension Expr {
    /// The direct sub-expressions, from left to right: of a condition those that it tests, without those of
    /// sub-queries.
    var children: [Expr] {
        switch self {
        case .column, .literal, .parameter, .collection, .subquery, .subject: []
        case .arithmetic(_, let left, let right, _): [left, right]
        case .negate(let inner), .noCase(let inner), .binary(let inner): [inner]
        case .function(_, let arguments, _): arguments
        case .choice(let choice): choice.expressions
        case .condition(let condition, _): condition.expressions
        }
    }

    /// Returns the expression with parts replaced for which the closure returns another one; called from the outermost
    /// part inwards.
    func rewritten(_ change: (Expr) throws(RecordError) -> Expr?) throws(RecordError) -> Expr {
        if let changed = try change(self) { return changed }
        switch self {
        case .arithmetic(let operation, let left, let right, let at):
            return .arithmetic(operation, try left.rewritten(change), try right.rewritten(change), at: at)
        case .negate(let inner): return .negate(try inner.rewritten(change))
        case .noCase(let inner): return .noCase(try inner.rewritten(change))
        case .binary(let inner): return .binary(try inner.rewritten(change))
        case .function(let name, let arguments, let at):
            return .function(name, try Expr.rewritten(arguments, change), at: at)
        case .choice(let choice):
            return .choice(
                try choice.mapped { (part) throws(RecordError) in
                    try part.rewritten(change)
                } _: {
                    (condition) throws(RecordError) in
                    try Expr.rewritten(condition, change)
                })
        case .condition(let condition, let at): return .condition(try Expr.rewritten(condition, change), at: at)
        default: return self
        }
    }

    /// Rewrites a condition in an expression; a second closure rewrites its sub-queries.
    private static func rewritten(
        _ condition: Condition, _ change: (Expr) throws(RecordError) -> Expr?
    ) throws(RecordError) -> Condition {
        try condition.rewritten(change) { (subquery) throws(RecordError) in
            guard case .subquery(let changed)? = try change(.subquery(subquery)) else { return subquery }
            return changed
        }
    }

    static func rewritten(
        _ list: [Expr], _ change: (Expr) throws(RecordError) -> Expr?
    ) throws(RecordError) -> [Expr] {
        var result: [Expr] = []
        for each in list { result.append(try each.rewritten(change)) }
        return result
    }

    /// An aggregate over a group: `sum(x)`, `count(*)`, `count(DISTINCT x)`.
    var aggregate: (function: AggregateFunction, isDistinct: Bool, argument: Expr?)? {
        guard case .function(let name, let arguments, _) = self else { return nil }
        let isDistinct = name.hasSuffix(Parser.distinctMark)
        let bare = isDistinct ? String(name.dropLast(Parser.distinctMark.count)) : name
        guard let function = AggregateFunction(rawValue: bare) else { return nil }
        if arguments.isEmpty { return function == .count && !isDistinct ? (.count, false, nil) : nil }
        return arguments.count == 1 ? (function, isDistinct, arguments[0]) : nil
    }

    var hasAggregate: Bool { aggregate != nil || children.contains(where: \.hasAggregate) }
}

extension Condition {
    /// Returns the condition with rewritten expressions, see ``Expr/rewritten(_:)``, and rewritten sub-queries.
    func rewritten(
        _ change: (Expr) throws(RecordError) -> Expr?,
        subqueries: (Subquery) throws(RecordError) -> Subquery = { $0 }
    ) throws(RecordError) -> Condition {
        func all(_ parts: [Condition]) throws(RecordError) -> [Condition] {
            var result: [Condition] = []
            for part in parts { result.append(try part.rewritten(change, subqueries: subqueries)) }
            return result
        }
        switch self {
        case .comparison(let operation, let left, let right):
            return .comparison(operation, try left.rewritten(change), try right.rewritten(change))
        case .and(let parts): return .and(try all(parts))
        case .or(let parts): return .or(try all(parts))
        case .not(let inner): return .not(try inner.rewritten(change, subqueries: subqueries))
        case .isIn(let value, let items):
            return .isIn(try value.rewritten(change), try Expr.rewritten(items, change))
        case .isAmong(let value, let items): return .isAmong(try value.rewritten(change), items)
        case .between(let value, let low, let high):
            return .between(try value.rewritten(change), try low.rewritten(change), try high.rewritten(change))
        case .like(let value, let pattern, let escape):
            let escape = try escape.map { (escape) throws(RecordError) in try escape.rewritten(change) }
            return .like(try value.rewritten(change), try pattern.rewritten(change), escape: escape)
        case .glob(let value, let pattern):
            return .glob(try value.rewritten(change), try pattern.rewritten(change))
        case .isNull(let value): return .isNull(try value.rewritten(change))
        case .truth(let value): return .truth(try value.rewritten(change))
        case .match(let value, let sought): return .match(try value.rewritten(change), try sought.rewritten(change))
        case .isInQuery(let value, let subquery):
            return .isInQuery(try value.rewritten(change), try subqueries(subquery))
        case .exists(let subquery): return .exists(try subqueries(subquery))
        case .quantified(let quantifier, let inner, let at):
            return .quantified(quantifier, try inner.rewritten(change, subqueries: subqueries), at: at)
        default: return self
        }
    }
}
