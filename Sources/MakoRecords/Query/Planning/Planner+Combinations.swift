// Row-id set scans: of several indexes, of a sub-query, or of one index when many rows are to be read.
extension Planner {
    /// The number of rows from which the order of reads matters.
    private static let manyRows = 4096.0
    private static let longestUnion = 64

    static func combinations(_ input: Input, singles: [Candidate]) -> [Candidate] {
        let (bound, conjuncts, estimates) = (input.bound, input.conjuncts, input.estimates)
        var found: [Candidate] = []
        func add(_ source: RowIDSet, cost: Double, rows: Double, answered: Set<Int>, used: [Int]) {
            let reversed = rowOrder(input)
            let isOrdered = input.orders.isEmpty || reversed != nil
            found.append(
                Candidate(
                    access: .gathered(source), isReversed: reversed ?? false, isOrdered: isOrdered, answered: answered,
                    used: used,
                    cost: cost
                        + input.searchCost(
                            rows: rows, perRow: CostModel.orderedRow, isOrdered: isOrdered, answered: answered,
                            sort: CostModel.sort),
                    rows: rows))
        }
        for (place, conjunct) in conjuncts.enumerated() {
            if let union = union(bound, conjunct, estimates) {
                add(
                    .union(union.sources), cost: union.rows * CostModel.gatheredKey, rows: union.rows,
                    answered: union.isExact ? [place] : [], used: [place])
            }
            if let accessPath = collection(conjunct, input) {
                add(
                    .collection(accessPath.source),
                    cost: accessPath.cost + accessPath.rows * CostModel.gatheredKey, rows: accessPath.rows,
                    answered: [place], used: [])
            }
            for (source, keys, rows) in members(bound.table, conjunct, estimates) {
                add(source, cost: keys * CostModel.gatheredKey, rows: rows, answered: [place], used: [place])
            }
        }
        let searches = singles.filter { single in
            if case .index = single.access { !single.used.isEmpty } else { false }
        }.sorted { $0.rows < $1.rows }.prefix(4)
        for (place, first) in searches.enumerated() {
            for second in searches.dropFirst(place + 1) where Set(first.used).isDisjoint(with: second.used) {
                add(
                    .intersection([.access(first.access), .access(second.access)]),
                    cost: CostModel.secondScan + (first.rows + second.rows) * CostModel.gatheredKey,
                    rows: max(1, first.rows * second.rows / estimates.rows),
                    answered: first.answered.union(second.answered), used: first.used + second.used)
            }
        }
        if estimates.isKnown, bound.limit == nil, let best = searches.first, best.rows >= manyRows {
            add(
                .access(best.access), cost: best.rows * CostModel.gatheredKey, rows: best.rows,
                answered: best.answered, used: best.used)
        }
        return found
    }

    /// Returns the access path for `a = 1 OR b = 2`, where an index or the key answers each part.
    private static func union(
        _ bound: BoundSelection, _ condition: BoundCondition, _ estimates: TableEstimates
    ) -> (sources: [RowIDSet], rows: Double, isExact: Bool)? {
        guard case .or(let parts) = condition, parts.count <= longestUnion else { return nil }
        var sources: [RowIDSet] = []
        var rows = 0.0
        var isExact = true
        for part in parts {
            if part == .constant(false) || part == .constant(nil) { continue }
            let conjuncts = part.conjuncts
            let alone = Input(bound.alone(conjuncts), estimates)
            let paths = searches(alone).paths
            guard let best = paths.filter({ !$0.used.isEmpty }).min(by: { $0.rows < $1.rows }) else { return nil }
            sources.append(.access(best.access))
            rows += best.rows
            if alone.leavesResidual(best.answered) { isExact = false }
        }
        return (sources, rows, isExact)
    }

    /// Returns the access path for rows whose column is among the values of a sub-query, or which its rows reference.
    private static func members(
        _ table: TableHandle, _ condition: BoundCondition, _ estimates: TableEstimates
    ) -> [(RowIDSet, keys: Double, rows: Double)] {
        var found: [(RowIDSet, keys: Double, rows: Double)] = []
        switch condition {
        case .isInQuery(.column(let column), let bound):
            guard column.node < 0, let subquery = bound.plan as? SubqueryPlan, !subquery.isCorrelated,
                isCodedAlike(column, bound.kind)
            else { return [] }
            let values = subquery.expectedRows(estimates)
            let keys = table.keySlots
            if column.ordinal == nil || (keys.count == 1 && Int(keys[0].ordinal) == column.ordinal) {
                found.append((.members(subquery, nil), values, values))
            }
            for index in table.indexes where index.isPlain {
                guard let first = index.parts.first, Int(first.slot.ordinal) == column.ordinal, !first.descending,
                    !first.noCase
                else { continue }
                // Each value costs an index search.
                let rows =
                    index.isUnique && index.parts.count == 1
                    ? values : values * max(1, estimates.rows * Selectivity.equal)
                found.append((.members(subquery, index), values * CostModel.gatheredValue + rows, rows))
            }
        case .exists(let bound) where table.isRowID:
            guard let subquery = bound.linkedToRowID else { return [] }
            let rows = subquery.expectedRows(estimates)
            found.append((.linked(subquery), rows, rows))
        case .comparison(let operation, .subquery(let bound), .constant(.integer(let number)))
        where table.isRowID && bound.aggregate == .count && bound.output == nil:
            guard let subquery = bound.linkedToRowID else { return [] }
            // The inner rows do not name outer rows with a count of 0, so that a condition which accepts 0 needs a
            // scan.
            if Binder.holds(operation, KeyOrder.compare(0, number)) { return [] }
            let rows = min(estimates.rows * Selectivity.counted, subquery.expectedRows(estimates))
            found.append((.counted(subquery, operation, number), rows, rows))
        default: break
        }
        return found
    }
    /// Returns whether a column encodes the values of a sub-query as they are. Of numbers, this holds for signed
    /// integers only.
    private static func isCodedAlike(_ column: BoundColumn, _ kind: ValueKind) -> Bool {
        switch column.type {
        case .integer, .reference: kind.isNumber
        case .unsigned, .double, .keys: false
        case .text, .blob, .uuid, .bool, .date: column.kind == kind
        }
    }
}

extension SubqueryPlan {
    /// Returns the number of rows that the sub-query has for all outer rows together.
    func expectedRows(_ estimates: TableEstimates) -> Double {
        switch source {
        case .plan(let plan):
            let all = link?.all ?? plan
            return estimates.rows(of: all.table, share: all.expectedShare)
        case .statement, .held, .holders: return 1000
        }
    }
}

extension BoundSubquery {
    /// The plan of a sub-query that reads nothing of the outer row but its row id, which one of its columns must equal.
    fileprivate var linkedToRowID: SubqueryPlan? {
        guard let plan = plan as? SubqueryPlan, let link = plan.link, link.all != nil, link.columns.count == 1,
            outers.count == 1, case .column(let outer) = outers[0], outer.node < 0, outer.ordinal == nil,
            link.columns[0].type == .integer || link.columns[0].type == .reference
        else { return nil }
        return plan
    }
}
