extension Expr {
    /// `CASE WHEN condition THEN value … ELSE value END`: the value of the first branch whose condition is true.
    ///
    /// `CASE x WHEN y THEN …` has an operand; each of its conditions compares it, as ``Expr/subject(at:)``, with a
    /// value.
    package struct Choice: Sendable, Hashable {
        /// A `WHEN … THEN …` branch.
        package struct Branch: Sendable, Hashable {
            /// The condition.
            package var condition: Condition
            /// The value if the condition is true.
            package var value: Expr

            /// Makes a branch.
            package init(_ condition: Condition, _ value: Expr) {
                self.condition = condition
                self.value = value
            }
        }

        /// The operand after `CASE`; `nil` if the branches have conditions of their own.
        package var subject: Expr?
        /// The branches, in order.
        package var branches: [Branch]
        /// The value after `ELSE`; `nil` for NULL.
        package var otherwise: Expr?
        /// Whether it is the FILTER of an aggregate: its only value keeps its collation.
        var isFilter = false
        /// The position in the text.
        package var at: SourcePosition

        /// Makes a CASE.
        package init(
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

        /// Its expressions from left to right, including those of the conditions.
        var expressions: [Expr] {
            (subject.map { [$0] } ?? []) + branches.flatMap { $0.condition.expressions + [$0.value] }
                + (otherwise.map { [$0] } ?? [])
        }

        /// Whether some of its values are conditions, which makes booleans among the others numbers.
        var givesConditions: Bool {
            branches.contains { $0.value.isCondition } || otherwise?.isCondition == true
        }

        /// Returns the CASE with mapped expressions and conditions.
        package func mapped<E: Error>(
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
    /// The expressions that it tests, from left to right, without those of sub-queries.
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
