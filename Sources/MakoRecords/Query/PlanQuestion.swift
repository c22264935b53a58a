extension Planner {
    /// A selection, taken to pieces for the ways to its rows.
    struct Question {
        let bound: BoundSelection
        let conjuncts: [BoundCondition]
        let constraints: [Constraint]
        /// The orders that decide something.
        let orders: [BoundOrder]
        let estimates: TableEstimates

        init(_ bound: BoundSelection, _ estimates: TableEstimates) {
            let conjuncts = bound.condition?.conjuncts ?? []
            let constraints = Constraint.all(conjuncts)
            self.init(bound, conjuncts, constraints, Question.needed(bound.orders, constraints), estimates)
        }

        init(
            _ bound: BoundSelection, _ conjuncts: [BoundCondition], _ constraints: [Constraint], _ orders: [BoundOrder],
            _ estimates: TableEstimates
        ) {
            self.bound = bound
            self.conjuncts = conjuncts
            self.constraints = constraints
            self.orders = orders
            self.estimates = estimates
        }

        /// The same with numbers of entries that are told by their places in the tree, where they are too many to be counted.
        var lookingFar: Question {
            var estimates = estimates
            estimates.looksFar = true
            return Question(bound, conjuncts, constraints, orders, estimates)
        }

        /// Whether there is nothing to read.
        var isEmpty: Bool {
            conjuncts.contains { $0 == .constant(false) || $0 == .constant(nil) } || bound.limit == 0
        }

        /// The orders that decide something: columns with one value do not, nor does anything after the row id.
        private static func needed(_ orders: [BoundOrder], _ constraints: [Constraint]) -> [BoundOrder] {
            var result: [BoundOrder] = []
            for order in orders {
                if order.expr.constant != nil { continue }
                guard case .column(let column) = Binder.sorted(order.expr), column.node < 0 else {
                    result.append(order)
                    continue
                }
                let isFixed = constraints.contains { constraint in
                    guard case .equal = constraint.test else { return false }
                    return constraint.isExact
                        && constraint.term == Constraint.Term(ordinal: column.ordinal, noCase: false)
                }
                if !isFixed { result.append(order) }
                if column.ordinal == nil { break }
            }
            return result
        }

        /// Whether a way that answers some conjuncts leaves others to be tested on each row.
        func leavesResidual(_ answered: Set<Int>) -> Bool {
            conjuncts.indices.contains { !answered.contains($0) && conjuncts[$0] != .constant(true) }
        }

        /// What a way leaves to be tested on each row.
        func residual(_ candidate: Candidate) -> [BoundCondition] {
            residualPlaces(candidate).map { conjuncts[$0] }
        }

        /// Which of the conjuncts that is.
        func residualPlaces(_ candidate: Candidate) -> [Int] {
            conjuncts.indices.filter { !candidate.answered.contains($0) && conjuncts[$0] != .constant(true) }
        }

        /// What it takes to look at so many rows, and to sort those that are left where they are not in order.
        func cost(rows: Double, perRow: Double, isOrdered: Bool, hasResidual: Bool) -> Double {
            let matching = rows * (hasResidual ? 0.1 : 1)
            guard let limit = bound.limit else {
                return rows * perRow + (isOrdered || orders.isEmpty ? 0 : matching * sortCost)
            }
            if isOrdered || orders.isEmpty {
                // What is left out by other conditions was looked at before so many are found.
                return min(rows, (Double(limit) + Double(bound.offset)) * (hasResidual ? 10 : 1)) * perRow
            }
            return rows * perRow + matching * heapCost
        }
    }

    /// What a way was chosen from.
    enum Rivals { case none, scan, others }

    /// The way that was chosen for a selection.
    struct Choice {
        let question: Question
        let best: Candidate
        let rivals: Rivals

        func plan() -> Plan {
            let (question, best) = (question, best)
            let residual = question.residual(best)
            return Plan(
                question.bound, access: best.access, isReversed: best.isReversed,
                orders: best.isOrdered ? [] : question.orders, residual: residual,
                expectedShare: best.rows * (residual.isEmpty ? 1 : 0.1) / question.estimates.rows,
                nearest: best.nearest, text: text(best, question))
        }
    }

    /// The plan of a selection that has no rows.
    static func nothing(_ bound: BoundSelection) -> Plan {
        Plan(
            bound, access: .nothing, isReversed: false, orders: [], residual: [],
            text: PlanText(find: "nothing to read"))
    }
}
