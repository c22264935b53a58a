extension Planner {
    /// Returns the access path of a selection, and the alternatives with their costs.
    static func explanation(_ bound: BoundSelection, _ estimates: TableEstimates) -> PlanExplanation {
        let request = Input(bound, estimates)
        if request.isEmpty {
            let plan = nothing(bound).node
            let accessPath = PlanExplanation.AccessPath(text: plan.summary, expectedRows: 0, cost: 0, indexes: [])
            return PlanExplanation(
                chosen: accessPath, rejected: [], tableRows: estimates.rows, missingIndexes: [], plan: plan)
        }
        var (input, candidates) = candidates(request)
        let best = cheapest(candidates)
        let chosen = candidates.remove(at: best)
        let paths = candidates.sorted { $0.cost < $1.cost }.map { accessPath($0, input) }
        return PlanExplanation(
            chosen: accessPath(chosen, input), rejected: paths, tableRows: estimates.rows,
            missingIndexes: missing(chosen, bound, input.constraints), plan: node(chosen, input))
    }

    private static func node(_ candidate: Candidate, _ input: Input) -> PlanNode {
        Choice(input: input, best: candidate, rivals: .none).plan().node
    }

    private static func accessPath(_ candidate: Candidate, _ input: Input) -> PlanExplanation.AccessPath {
        let source = RowIDSet.access(candidate.access)
        return PlanExplanation.AccessPath(
            text: node(candidate, input).summary,
            expectedRows: candidate.rows, cost: candidate.cost, indexes: source.indexes)
    }

    /// Returns an index that would replace a scan with a filter: the columns of equalities, then one of a range.
    private static func missing(
        _ chosen: Candidate, _ bound: BoundSelection, _ constraints: [Constraint]
    ) -> [PlanExplanation.MissingIndex] {
        switch chosen.access {
        case .rows(let range) where range == .min ... .max: break
        case .keyRanges(let ranges) where ranges == [KeyRange(lower: [], upper: nil)]: break
        default: return []
        }
        var equal: [String] = []
        var others: [String] = []
        for constraint in constraints where !constraint.term.noCase {
            guard let ordinal = constraint.term.ordinal, bound.table.columns.indices.contains(ordinal) else { continue }
            let name = bound.table.columns[ordinal].name
            switch constraint.test {
            case .equal, .isNull: equal.append(name)
            case .isIn, .lower, .upper, .prefix: others.append(name)
            case .notNull: break
            }
        }
        var columns: [String] = []
        for name in equal + others.prefix(1) where !columns.contains(name) { columns.append(name) }
        return columns.isEmpty ? [] : [.init(table: bound.table.schema.name, columns: columns)]
    }
}
