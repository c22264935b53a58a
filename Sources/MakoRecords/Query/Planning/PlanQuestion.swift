extension Planner {
    /// A selection, taken to pieces for the ways to its rows.
    struct Question {
        let bound: BoundSelection
        let conjuncts: [BoundCondition]
        let constraints: [Constraint]
        /// The orders that decide something.
        let orders: [BoundOrder]
        let estimates: TableEstimates
        /// The columns that are asked for, besides those that decide which rows come and in which order; nil: whole rows.
        var reads: ColumnSet?
        /// Whether rows that are equal in the orders are to come one behind the other, and are put together by a table where they do not.
        var isGrouping = false

        init(_ unplanned: BoundSelection, _ estimates: TableEstimates) {
            let bound = SubqueryPlanner(view: estimates.view).selection(unplanned)
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

        /// The same with numbers of entries that are told by their places in the tree, where they are too many to be counted, and with the
        /// length of rows.
        var lookingFar: Question {
            var estimates = estimates
            estimates.lookFar()
            var question = Question(bound, conjuncts, constraints, orders, estimates)
            question.reads = reads
            question.isGrouping = isGrouping
            return question
        }

        /// The columns of the row itself that expressions read; nil: they need more than values, or there is no index.
        static func reads(_ expressions: [BoundExpr], _ table: TableHandle, _ joins: [JoinNode]) -> ColumnSet? {
            if table.indexes.isEmpty { return nil }
            let program = Program(table, joins: joins)
            for expression in expressions { _ = program.add(expression) }
            return program.ownColumns
        }

        /// How the rows are made of the entries of an index that answers some conjuncts; nil: they must be looked up.
        func cover(_ index: IndexHandle, _ answered: Set<Int>) -> IndexCover? {
            guard let reads, IndexCover(index, bound.table, reading: reads) != nil else { return nil }
            let rest = residualPlaces(answered).map { conjuncts[$0] }
            let tests = Program(bound.table, .all(rest), joins: bound.joins)
            guard var columns = tests.ownColumns else { return nil }
            columns.formUnion(reads)
            return IndexCover(index, bound.table, reading: columns)
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
        func residualPlaces(_ candidate: Candidate) -> [Int] { residualPlaces(candidate.answered) }

        private func residualPlaces(_ answered: Set<Int>) -> [Int] {
            conjuncts.indices.filter { !answered.contains($0) && conjuncts[$0] != .constant(true) }
        }

        /// Whether all entries of an index may be walked over instead of all rows, in whatever order. Where the first few rows are enough, they
        /// are rather those that stand first.
        func walksAlone(_ cover: IndexCover?) -> Bool { cover != nil && bound.limit == nil && estimates.isKnown }

        /// What it takes to meet so many rows one after the other.
        ///
        /// - Parameter singles: ways by indexes, of which one may know at how many rows more has to be done than to see that they are not wanted,
        ///   and how many are.
        func scanCost(
            rows: Double, known singles: [Candidate] = [], isOrdered: Bool, answered: Set<Int>
        ) -> Double {
            let residual = residualPlaces(answered).map { conjuncts[$0] }
            func share(_ known: Double?) -> Double {
                residual.isEmpty ? 1 : min(1, known.map { $0 / max(1, rows) } ?? Selectivity.passing)
            }
            let stops = share(singles.map(\.rows).min())
            let found = share(singles.map { $0.rows * (leavesResidual($0.answered) ? Selectivity.passing : 1) }.min())
            // Only rows with keys that are numbers are told apart before anything is made of them.
            let isTold = residual.contains(where: \.isToldByPlace) && !residual.contains(where: \.asksOtherRows)
            let asks = !residual.isEmpty && bound.table.isRowID && !isTold
            return cost(
                rows: rows,
                perRow: estimates.scanCost + (asks ? CostModel.test : stops * CostModel.match) + membersCost(residual),
                isOrdered: isOrdered, found, sort: CostModel.sort)
        }

        /// What it takes to find so many rows.
        ///
        /// - Parameter sort: to put one of them in order.
        func searchCost(
            rows: Double, perRow: Double, isOrdered: Bool, answered: Set<Int>, sort: Double = CostModel.scatteredSort
        ) -> Double {
            guard leavesResidual(answered) else {
                return cost(rows: rows, perRow: perRow, isOrdered: isOrdered, 1, sort: sort)
            }
            let tests = CostModel.filter + membersCost(residualPlaces(answered).map { conjuncts[$0] })
            return cost(rows: rows, perRow: perRow + tests, isOrdered: isOrdered, Selectivity.passing, sort: sort)
        }

        /// What it takes to look at so many rows, and to sort those that are left where they are not in order.
        private func cost(rows: Double, perRow: Double, isOrdered: Bool, _ passing: Double, sort: Double) -> Double {
            guard let limit = bound.limit else {
                return rows * perRow
                    + (isOrdered || orders.isEmpty ? 0 : rows * passing * (isGrouping ? CostModel.group : sort))
            }
            if isOrdered || orders.isEmpty {
                // What is left out by other conditions was looked at before so many are found.
                return min(rows, (Double(limit) + Double(bound.offset)) / max(passing, 1e-9)) * perRow
            }
            return rows * perRow + rows * passing * CostModel.heap
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
            let (conjuncts, orders, isKnown) = (question.conjuncts, question.orders, question.estimates.isKnown)
            var plan = Plan(
                question.bound, access: best.access, isReversed: best.isReversed,
                orders: best.isOrdered ? [] : question.orders, residual: residual,
                expectedShare: best.rows * (residual.isEmpty ? 1 : Selectivity.passing) / question.estimates.rows,
                nearest: best.nearest, note: note(best, conjuncts, orders, isKnown: isKnown))
            plan.cover = best.cover
            return plan
        }
    }

    /// The plan of those rows of a query that fulfil a condition.
    static func rows(of query: StatementPlan, _ unplanned: BoundSelection) -> Plan {
        let bound = SubqueryPlanner(view: nil).selection(unplanned)
        return Plan(
            bound, access: .query(query), isReversed: false, orders: [], residual: bound.condition.map { [$0] } ?? [],
            note: PlanNote())
    }

    /// The plan of a selection that has no rows.
    static func nothing(_ bound: BoundSelection) -> Plan {
        Plan(bound, access: .nothing, isReversed: false, orders: [], residual: [], note: PlanNote())
    }
}

extension BoundCondition {
    /// Whether bounds of numbers and dates, see ``RowPrefilter``, are likely to be all that most rows are asked for.
    var isToldByPlace: Bool {
        guard case .comparison(let operation, .column(let column), .constant) = self, operation != .notEqual else {
            return false
        }
        guard column.node < 0, column.ordinal != nil else { return false }
        return switch column.type {
        case .integer, .reference, .double, .date: true
        case .unsigned, .text, .blob, .uuid, .bool, .keys: false
        }
    }

    /// Whether a sub-query is asked of each row.
    var asksOtherRows: Bool {
        switch self {
        case .isInQuery, .exists, .comparison(_, .subquery, _), .comparison(_, _, .subquery): true
        default: false
        }
    }
}
