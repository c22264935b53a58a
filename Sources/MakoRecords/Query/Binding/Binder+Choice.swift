/// The operand of `CASE x`, while its branches are bound.
struct ChoiceSubject {
    let expr: BoundExpr
    let collation: Collation?

    /// Whether it is computed for each row.
    var isValue: Bool { expr.constant == nil }

    /// The operand as the branches compare it. Not the bound operand itself: it would be computed for each branch, and
    /// nested CASE would grow exponentially.
    var compared: BoundExpr {
        var text = "the subject"
        if case .column(let column) = expr { text = column.path }
        return isValue ? .subject(Binder.kind(expr), text) : expr
    }
}

extension Binder {
    mutating func bind(_ choice: Expr.Choice) throws(RecordError) -> BoundExpr {
        let around = subject
        defer { subject = around }
        let own = try choice.subject.map { (source) throws(RecordError) in
            let bound = try bind(source)
            return ChoiceSubject(expr: bound, collation: collation(source, bound))
        }
        var branches: [BoundChoice.Branch] = []
        var kind = ValueKind.null
        let isCounted = choice.givesConditions
        for branch in choice.branches {
            if own != nil { subject = own }
            let condition = try bind(branch.condition)
            subject = around
            var value = try bind(branch.value)
            if isCounted { value = Binder.counted(value) }
            try agree(value, branch.value, &kind)
            branches.append(BoundChoice.Branch(condition: condition, value: value))
        }
        var otherwise: BoundExpr?
        if let source = choice.otherwise {
            var value = try bind(source)
            if isCounted { value = Binder.counted(value) }
            try agree(value, source, &kind)
            otherwise = value
        }
        return Binder.simplified(own, branches, otherwise, kind)
    }

    /// Checks that all values are of one kind, or numbers: the kind of an expression must be known before a row is
    /// read.
    private func agree(_ value: BoundExpr, _ source: Expr, _ kind: inout ValueKind) throws(RecordError) {
        let found = self.kind(value)
        if found == .null || found == kind { return }
        if kind == .null {
            kind = found
        } else if found.isNumber && kind.isNumber {
            kind = .real
        } else {
            throw source.position.error("\(describe(value)), where the CASE gives \(kind.name)")
        }
    }

    /// Returns the CASE without the branches whose conditions are constant.
    private static func simplified(
        _ subject: ChoiceSubject?, _ branches: [BoundChoice.Branch], _ otherwise: BoundExpr?, _ kind: ValueKind
    ) -> BoundExpr {
        var left: [BoundChoice.Branch] = []
        var last = otherwise
        for branch in branches {
            if branch.condition == .constant(true) {
                last = branch.value
                break
            }
            if branch.condition != .constant(false) && branch.condition != .constant(nil) { left.append(branch) }
        }
        if left.isEmpty { return last ?? .constant(.null) }
        let expr = subject.flatMap { $0.isValue ? $0.expr : nil }
        return .choice(BoundChoice(subject: expr, branches: left, otherwise: last, kind: kind))
    }
}
