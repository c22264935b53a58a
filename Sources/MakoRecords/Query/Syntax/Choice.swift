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
        /// Whether it leaves rows out of an aggregate: its only value is compared as if it were the argument.
        var isFilter = false
        public var at: SourcePosition

        public init(
            subject: Expr? = nil, _ branches: [Branch], otherwise: Expr? = nil, at: SourcePosition = .none
        ) {
            self.subject = subject
            self.branches = branches
            self.otherwise = otherwise
            self.at = at
        }

        init(_ branches: [Branch], isFilter: Bool, at: SourcePosition) {
            self.init(branches, at: at)
            self.isFilter = isFilter
        }

        /// Its expressions from left to right, those in the conditions among them.
        var expressions: [Expr] {
            (subject.map { [$0] } ?? []) + branches.flatMap { $0.condition.expressions + [$0.value] }
                + (otherwise.map { [$0] } ?? [])
        }

        /// Whether some of its values are conditions, so that booleans beside them are numbers as well.
        var givesConditions: Bool {
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
        case .isNull(let value), .truth(let value), .isInQuery(let value, _), .isAmong(let value, _): [value]
        }
    }
}
