extension Expr {
    /// The collation from the leftmost `COLLATE` of the expression or its operands: true is NOCASE, false is BINARY.
    var explicitCollation: Bool? {
        switch self {
        case .noCase: true
        case .binary: false
        default: children.lazy.compactMap(\.explicitCollation).first
        }
    }

    /// The expression without its outer `COLLATE`.
    var uncollated: Expr {
        switch self {
        case .noCase(let inner), .binary(let inner): inner.uncollated
        default: self
        }
    }

    /// Returns another expression with the same `COLLATE`.
    func collating(_ other: Expr) -> Expr {
        switch self {
        case .noCase: .noCase(other)
        case .binary: .binary(other)
        default: other
        }
    }
}

extension Binder {
    /// Returns the collation of a bound expression.
    func collation(_ source: Expr, _ bound: BoundExpr) -> Collation? {
        if let isNoCase = source.explicitCollation { return Collation(isNoCase: isNoCase, isExplicit: true) }
        if case .subject = source { return subject?.collation }
        if case .choice(let choice) = source, choice.isFilter, case .choice(let made) = bound {
            return collation(choice.branches[0].value, made.branches[0].value)
        }
        switch bound {
        case .column(let column):
            return Collation(isNoCase: column.isNoCase, isExplicit: false)
        case .outer(let value): return value.collation
        case .result(let number, _, _): return results?.collation(number)
        default: return nil
        }
    }

    /// Returns whether groups, sorts and DISTINCT compare the expression without case.
    func isNoCase(_ source: Expr, _ bound: BoundExpr) -> Bool {
        collation(source, bound)?.isNoCase == true && (kind(bound) == .text || kind(bound) == .null)
    }

    /// Folds both sides of a comparison whose collation is NOCASE.
    func collate(_ left: inout BoundExpr, _ right: inout BoundExpr, _ collation: Collation?) {
        guard collation?.isNoCase == true, isText(left), isText(right) else { return }
        left = Binder.folded(left)
        right = Binder.folded(right)
    }

    /// Returns `nullif` for texts compared without case; the result is the original value.
    func nullIf(_ arguments: [BoundExpr], _ sources: [Expr]) -> BoundExpr? {
        guard arguments.count == 2 else { return nil }
        let collation = collation(sources[0], arguments[0]) ?? collation(sources[1], arguments[1])
        guard collation?.isNoCase == true, isText(arguments[0]), isText(arguments[1]) else { return nil }
        let same = BoundCondition.comparison(.equal, Binder.folded(arguments[0]), Binder.folded(arguments[1]))
        let branch = BoundChoice.Branch(condition: same, value: .constant(.null))
        return .choice(
            BoundChoice(subject: nil, branches: [branch], otherwise: arguments[0], kind: kind(arguments[0])))
    }

    func isText(_ expr: BoundExpr) -> Bool { kind(expr) == .text || kind(expr) == .null }

    /// Returns the case-folded form of a text; that of a constant is computed once.
    static func folded(_ expr: BoundExpr) -> BoundExpr {
        switch expr {
        case .constant(.text(let text)): .constant(.text(Folding.folded(text)))
        case .constant(.null), .noCase: expr
        default: .noCase(expr)
        }
    }
}
