extension Expr {
    /// `CASE WHEN condition THEN value … ELSE value END`: the value of the first branch whose condition is true.
    ///
    /// `CASE x WHEN y THEN …` has a subject, and each of its conditions compares that, as ``Expr/subject(at:)``, with a value.
    public struct Choice: Sendable, Hashable {
        public struct Branch: Sendable, Hashable {
            public var condition: Condition
            public var value: Expr

            public init(_ condition: Condition, _ value: Expr) {
                self.condition = condition
                self.value = value
            }
        }

        /// What stands behind `CASE`; nil where the branches have conditions of their own.
        public var subject: Expr?
        public var branches: [Branch]
        /// What stands behind `ELSE`; nil is NULL.
        public var otherwise: Expr?
        public var at: SourcePosition

        public init(
            subject: Expr? = nil, _ branches: [Branch], otherwise: Expr? = nil, at: SourcePosition = .none
        ) {
            self.subject = subject
            self.branches = branches
            self.otherwise = otherwise
            self.at = at
        }

        /// Its expressions from left to right, those in the conditions among them.
        var expressions: [Expr] {
            (subject.map { [$0] } ?? []) + branches.flatMap { $0.condition.expressions + [$0.value] }
                + (otherwise.map { [$0] } ?? [])
        }

        /// Whether some of its values are conditions, so that booleans beside them are numbers as well.
        fileprivate var givesConditions: Bool {
            branches.contains { $0.value.isCondition } || otherwise?.isCondition == true
        }

        /// The same with other expressions and conditions.
        public func mapped<E: Error>(
            _ change: (Expr) throws(E) -> Expr, _ changeCondition: (Condition) throws(E) -> Condition
        ) throws(E) -> Choice {
            var copy = self
            if let subject { copy.subject = try change(subject) }
            for (place, branch) in branches.enumerated() {
                copy.branches[place] = Branch(try changeCondition(branch.condition), try change(branch.value))
            }
            if let otherwise { copy.otherwise = try change(otherwise) }
            return copy
        }
    }
}

extension Condition {
    /// The expressions that it tests, from left to right; those of sub-queries are left out.
    var expressions: [Expr] {
        switch self {
        case .constant, .exists: []
        case .comparison(_, let left, let right), .glob(let left, let right), .match(let left, let right):
            [left, right]
        case .and(let parts), .or(let parts): parts.flatMap(\.expressions)
        case .not(let inner), .quantified(_, let inner, _), .elements(_, _, let inner): inner.expressions
        case .isIn(let value, let items): [value] + items
        case .between(let value, let low, let high): [value, low, high]
        case .like(let value, let pattern, let escape): [value, pattern] + (escape.map { [$0] } ?? [])
        case .isNull(let value), .truth(let value), .isInQuery(let value, _): [value]
        }
    }
}

/// A choice whose names are resolved.
struct BoundChoice: Sendable, Hashable {
    struct Branch: Sendable, Hashable {
        let condition: BoundCondition
        let value: BoundExpr
    }

    /// Worked out once for a row; the conditions have it as ``BoundExpr/subject(_:_:)``.
    let subject: BoundExpr?
    let branches: [Branch]
    let otherwise: BoundExpr?
    let kind: ValueKind

    /// Its expressions but for those in the conditions.
    var expressions: [BoundExpr] {
        (subject.map { [$0] } ?? []) + branches.map(\.value) + (otherwise.map { [$0] } ?? [])
    }

    func mapped(
        _ change: (BoundExpr) -> BoundExpr, _ changeCondition: (BoundCondition) -> BoundCondition
    ) -> BoundChoice {
        BoundChoice(
            subject: subject.map(change),
            branches: branches.map { Branch(condition: changeCondition($0.condition), value: change($0.value)) },
            otherwise: otherwise.map(change), kind: kind)
    }
}

extension BoundChoice: CustomStringConvertible {
    var description: String {
        let parts = branches.map { "WHEN \($0.condition) THEN \($0.value)" }
        return "CASE \(parts.joined(separator: " "))\(otherwise.map { " ELSE \($0)" } ?? "") END"
    }
}

/// What `CASE x` compares, while its branches are bound.
struct ChoiceSubject {
    let expr: BoundExpr
    let collation: Collation?

    /// Whether it is worked out for each row.
    var isValue: Bool { expr.constant == nil }

    /// What a branch compares. Not the subject itself: it would be worked out for each branch, and with choices inside choices without end.
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

    /// All values are of one kind, or numbers: what an expression gives is told by types, before a row is read.
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

    /// Without the branches that are decided already.
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
