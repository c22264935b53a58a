extension Planner {
    /// The planner input: a selection, with its conjuncts, constraints and orders taken apart.
    struct Input {
        let bound: BoundSelection
        let conjuncts: [BoundCondition]
        let constraints: [Constraint]
        /// The orders that are not redundant.
        let orders: [BoundOrder]
        let estimates: TableEstimates
        /// The columns that the query outputs, besides those of the condition and the orders; `nil` for whole rows.
        var reads: ColumnSet?
        /// Whether the orders only group rows: rows that are not adjacent are grouped by a hash table.
        var isGrouping = false

        init(_ unplanned: BoundSelection, _ estimates: TableEstimates) {
            let bound = SubqueryPlanner(view: estimates.view).selection(unplanned)
            let conjuncts = bound.condition?.conjuncts ?? []
            let constraints = Constraint.all(conjuncts)
            self.init(bound, conjuncts, constraints, Input.needed(bound.orders, constraints), estimates)
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

        /// The same input with range cardinalities from the tree, for ranges too large to be counted, and with row
        /// lengths.
        var lookingFar: Input {
            var estimates = estimates
            estimates.lookFar()
            var input = Input(bound, conjuncts, constraints, orders, estimates)
            input.reads = reads
            input.isGrouping = isGrouping
            return input
        }

        /// Returns the columns of the row that expressions read; `nil` if they need more than values, or if there is no
        /// index.
        static func reads(_ expressions: [BoundExpr], _ table: TableHandle, _ joins: [JoinNode]) -> ColumnSet? {
            if table.indexes.isEmpty { return nil }
            let program = Program(table, joins: joins)
            for expression in expressions { _ = program.add(expression) }
            return program.ownColumns
        }

        /// Returns how rows are made of the entries of an index that answers some conjuncts; `nil` if rows must be
        /// looked up.
        func cover(_ index: IndexHandle, _ answered: Set<Int>) -> CoveringIndex? {
            guard let reads, CoveringIndex(index, bound.table, reading: reads) != nil else { return nil }
            let rest = residualPlaces(answered).map { conjuncts[$0] }
            let tests = Program(bound.table, .all(rest), joins: bound.joins)
            guard var columns = tests.ownColumns else { return nil }
            columns.formUnion(reads)
            return CoveringIndex(index, bound.table, reading: columns)
        }

        /// Whether the condition or the limit rules out every row.
        var isEmpty: Bool {
            conjuncts.contains { $0 == .constant(false) || $0 == .constant(nil) } || bound.limit == 0
        }

        /// Returns the orders that are not redundant: a column that equals one value is, and so is what follows the row
        /// id.
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

        /// Returns whether an access path that answers some conjuncts leaves others to be tested.
        func leavesResidual(_ answered: Set<Int>) -> Bool {
            conjuncts.indices.contains { !answered.contains($0) && conjuncts[$0] != .constant(true) }
        }

        /// Returns the conjuncts that an access path leaves to be tested.
        func residual(_ candidate: Candidate) -> [BoundCondition] {
            residualPlaces(candidate).map { conjuncts[$0] }
        }

        /// Returns the indexes of the conjuncts that an access path leaves to be tested.
        func residualPlaces(_ candidate: Candidate) -> [Int] { residualPlaces(candidate.answered) }

        private func residualPlaces(_ answered: Set<Int>) -> [Int] {
            conjuncts.indices.filter { !answered.contains($0) && conjuncts[$0] != .constant(true) }
        }

        /// Returns whether an index-only scan may replace the table scan, in any order. Not with a limit, which returns
        /// the first rows of the table.
        func allowsIndexOnlyScan(_ cover: CoveringIndex?) -> Bool {
            cover != nil && bound.limit == nil && estimates.isKnown
        }

        /// Returns the cost of reading adjacent rows.
        ///
        /// - Parameter singles: index access paths, whose estimates tell how many rows need more than the pushed-down
        ///   predicate, and how many rows pass.
        func scanCost(
            rows: Double, known singles: [Candidate] = [], isOrdered: Bool, answered: Set<Int>
        ) -> Double {
            let residual = residualPlaces(answered).map { conjuncts[$0] }
            func share(_ known: Double?) -> Double {
                residual.isEmpty ? 1 : min(1, known.map { $0 / max(1, rows) } ?? Selectivity.passing)
            }
            let stops = share(singles.map(\.rows).min())
            let found = share(singles.map { $0.rows * (leavesResidual($0.answered) ? Selectivity.passing : 1) }.min())
            // The pushed-down predicate tests only rows with integer keys before they are decoded.
            let isPushedDown =
                residual.contains(where: \.isSelectivePushdown) && !residual.contains(where: \.readsOtherRows)
            let testsRows = !residual.isEmpty && bound.table.isRowID && !isPushedDown
            return cost(
                rows: rows,
                perRow: estimates.scanCost + (testsRows ? CostModel.test : stops * CostModel.match)
                    + membersCost(residual),
                isOrdered: isOrdered, found, sort: CostModel.sort)
        }

        /// Returns the cost of looking up rows.
        ///
        /// - Parameter sort: the cost of sorting one of them.
        func searchCost(
            rows: Double, perRow: Double, isOrdered: Bool, answered: Set<Int>, sort: Double = CostModel.scatteredSort
        ) -> Double {
            guard leavesResidual(answered) else {
                return cost(rows: rows, perRow: perRow, isOrdered: isOrdered, 1, sort: sort)
            }
            let tests = CostModel.filter + membersCost(residualPlaces(answered).map { conjuncts[$0] })
            return cost(rows: rows, perRow: perRow + tests, isOrdered: isOrdered, Selectivity.passing, sort: sort)
        }

        /// Returns the cost of reading rows, and of sorting those that pass, unless they are in order.
        private func cost(rows: Double, perRow: Double, isOrdered: Bool, _ passing: Double, sort: Double) -> Double {
            guard let limit = bound.limit else {
                return rows * perRow
                    + (isOrdered || orders.isEmpty ? 0 : rows * passing * (isGrouping ? CostModel.group : sort))
            }
            if isOrdered || orders.isEmpty {
                // Rows that other conditions reject are read, too, before the limit is reached.
                return min(rows, (Double(limit) + Double(bound.offset)) / max(passing, 1e-9)) * perRow
            }
            return rows * perRow + rows * passing * CostModel.heap
        }
    }

    /// The access paths with which the chosen one was compared.
    enum Rivals { case none, scan, others }

    /// The access path chosen for a selection.
    struct Choice {
        let input: Input
        let best: Candidate
        let rivals: Rivals

        func plan() -> Plan {
            let (input, best) = (input, best)
            let (conjuncts, orders, isKnown) = (input.conjuncts, input.orders, input.estimates.isKnown)
            let residual = BoundCondition.all(input.residual(best))
            var plan = Plan(
                input.bound, access: best.access, isReversed: best.isReversed,
                orders: best.isOrdered ? [] : input.orders, residual: residual,
                expectedShare: best.rows * (residual == nil ? 1 : Selectivity.passing) / input.estimates.rows,
                note: note(best, conjuncts, orders, isKnown: isKnown))
            plan.cover = best.cover
            plan.nearest = best.nearest
            return plan
        }
    }

    /// Returns the plan of the rows of a query that fulfil a condition.
    static func rows(of query: StatementPlan, _ unplanned: BoundSelection) -> Plan {
        let bound = SubqueryPlanner(view: nil).selection(unplanned)
        return Plan(bound, access: .query(query), residual: bound.condition, note: PlanNote())
    }

    /// Returns the plan of the outer row of a correlated statement, if it fulfils a condition.
    static func outerRow(_ unplanned: BoundSelection) -> Plan {
        let bound = SubqueryPlanner(view: nil).selection(unplanned)
        return Plan(bound, access: .outerRow([]), residual: bound.condition, note: PlanNote())
    }

    /// Returns the plan of a selection without rows.
    static func nothing(_ bound: BoundSelection) -> Plan {
        Plan(bound, access: .nothing, note: PlanNote())
    }
}

extension BoundCondition {
    /// Whether pushed-down bounds of numbers and dates, see ``PushedPredicate``, are likely to reject most rows.
    var isSelectivePushdown: Bool {
        guard case .comparison(let operation, .column(let column), .constant) = self, operation != .notEqual else {
            return false
        }
        guard column.node < 0, column.ordinal != nil else { return false }
        return switch column.type {
        case .integer, .reference, .double, .date: true
        case .unsigned, .text, .blob, .uuid, .bool, .keys: false
        }
    }

    /// Whether the condition runs a sub-query for each row.
    var readsOtherRows: Bool {
        switch self {
        case .isInQuery, .exists, .comparison(_, .subquery, _), .comparison(_, _, .subquery): true
        default: false
        }
    }
}
