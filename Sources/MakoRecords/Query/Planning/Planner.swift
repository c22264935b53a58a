/// Chooses the access path. Deterministic for a snapshot: the same selection, schema and sizes give the same plan.
///
/// No statistics are stored: sizes are read from the trees of the snapshot, see ``TableEstimates``. Without a snapshot,
/// defaults favour indexes, because a wrong index costs at most ten times a scan, and a wrong scan O(n): an equality
/// selects a thousandth of the rows (one row if the columns are unique), IS NULL a twentieth, a value list a thousandth
/// for each value, a range with two ends a fiftieth, with one end a twentieth, a prefix a hundredth.
///
/// Costs are those of ``CostModel``. The cheapest access path wins, and of equals the first.
enum Planner {
    struct Candidate {
        let access: Access
        let isReversed: Bool
        let isOrdered: Bool
        let answered: Set<Int>
        let used: [Int]
        let cost: Double
        /// The expected number of rows read.
        let rows: Double
        /// The search in rings around a place, of a spatial index.
        var nearest: NearestSearch?
        /// How rows are made of the entries of a covering index.
        var cover: CoveringIndex?

        /// Whether the rows are given by a list of at most 1,000 keys.
        var isFewRows: Bool {
            switch access {
            case .nothing: true
            case .keys(let keys): keys.count <= 1000
            default: false
            }
        }

        var isFullText: Bool { if case .fullText = access { true } else { false } }
    }

    /// Returns the cheapest access path; `nil` if the result is empty.
    static func choice(_ request: Input) -> Choice? {
        if request.isEmpty { return nil }
        let (input, candidates) = candidates(request)
        let best = cheapest(candidates)
        let rivals = candidates.indices.filter { $0 != best }
        return Choice(
            input: input, best: candidates[best],
            rivals: rivals.isEmpty ? .none : rivals == [0] ? .scan : .others)
    }

    /// Returns the access paths, of which the first is a scan, and the input with the estimates used for them.
    static func candidates(_ request: Input) -> (input: Input, paths: [Candidate]) {
        let (input, singles) = searches(request)
        let combined = combinations(input, singles: singles)
        // For a condition on a collection, the estimate of the other side is the number of rows that pass.
        let known = combined.filter { if case .gathered(.collection) = $0.access { true } else { false } }
        let paths =
            [scan(input, besides: singles + known)] + singles + combined + (byText(input).map { [$0] } ?? [])
        return (input, paths)
    }

    /// Returns the access paths by the key and by one index.
    static func searches(_ request: Input) -> (input: Input, paths: [Candidate]) {
        let found = singles(request)
        // For ranges with many rows, the costs depend on how many, and on the length of the rows.
        guard request.estimates.countsEntries, found.contains(where: { $0.rows >= TableEstimates.counted }) else {
            return (request, found)
        }
        let input = request.lookingFar
        return (input, singles(input))
    }

    private static func singles(_ input: Input) -> [Candidate] {
        (own(input).map { [$0] } ?? []) + input.bound.table.indexes.compactMap { byIndex($0, input) }
    }

    /// Returns the access path by the row id or the key.
    static func own(_ input: Input) -> Candidate? {
        input.bound.table.isRowID ? byID(input) : byKey(input)
    }

    /// Returns the index of the cheapest access path, and of equals the first. MATCH runs its index search in any case,
    /// so that the full-text index is used unless a few keys are given.
    static func cheapest(_ candidates: [Candidate]) -> Int {
        var best = 0
        for (place, candidate) in candidates.enumerated()
        where candidate.cost < candidates[best].cost && !candidate.isFullText { best = place }
        if let text = candidates.firstIndex(where: \.isFullText), !candidates[best].isFewRows { return text }
        return best
    }

    /// Returns the direction in which the table's own order serves, if it does.
    static func rowOrder(_ input: Input) -> Bool? {
        let (bound, orders) = (input.bound, input.orders)
        guard let first = orders.first, case .column(let column) = first.expr, column.node < 0 else { return nil }
        if bound.table.isRowID { return column.ordinal == nil ? first.descending : nil }
        return serves(bound.table.keyParts, 0, orders)
    }

    /// - Parameter singles: other access paths, whose estimates tell how many rows pass the condition or a part of it.
    static func scan(_ input: Input, besides singles: [Candidate] = []) -> Candidate {
        let reversed = rowOrder(input)
        let isOrdered = input.orders.isEmpty || reversed != nil
        let access: Access =
            input.bound.table.isRowID ? .rows(.min ... .max) : .keyRanges([KeyRange(lower: [], upper: nil)])
        let rows = input.estimates.rows
        return Candidate(
            access: access, isReversed: reversed ?? false, isOrdered: isOrdered, answered: [], used: [],
            cost: input.scanCost(rows: rows, known: singles, isOrdered: isOrdered, answered: []),
            rows: rows)
    }

    private static func byID(_ input: Input) -> Candidate? {
        let mine = input.constraints.filter { $0.term.ordinal == nil }
        if mine.isEmpty { return nil }
        let reversed = rowOrder(input)
        let isOrdered = input.orders.isEmpty || reversed != nil
        let (access, deciding) = idAccess(mine.map(\.test))
        let rows: Double
        switch access {
        case .keys(let keys): rows = Double(keys.count)
        case .rows(let ids):
            rows =
                input.estimates.rows
                * (ids.lowerBound > .min && ids.upperBound < .max ? Selectivity.keyTwoEnds : Selectivity.keyOneEnd)
        default: rows = 0
        }
        let answered = Set(deciding.map { mine[$0].conjunct })
        return Candidate(
            access: access, isReversed: reversed ?? false, isOrdered: isOrdered, answered: answered,
            used: answered.sorted(),
            cost: input.scanCost(rows: rows, isOrdered: isOrdered, answered: answered), rows: rows)
    }

    /// Returns the rows that the tests on the row id select, and the numbers of the tests that decide.
    static func idAccess(_ tests: [Constraint.Test]) -> (access: Access, deciding: [Int]) {
        for (number, test) in tests.enumerated() {
            let values: [Value]
            switch test {
            case .equal(let value): values = [value]
            case .isIn(let list): values = list
            case .isNull: return (.nothing, [number])
            default: continue
            }
            let ids = Set(values.compactMap { if case .integer(let id) = $0 { id } else { nil } }).sorted()
            return (ids.isEmpty ? .nothing : .keys(ids.map { .rowID($0) }), [number])
        }
        var low = Int64.min
        var high = Int64.max
        var deciding: [Int] = []
        for (number, test) in tests.enumerated() {
            switch test {
            case .lower(.integer(let id), let inclusive):
                if !inclusive && id == .max { return (.nothing, [number]) }
                low = max(low, inclusive ? id : id + 1)
            case .upper(.integer(let id), let inclusive):
                if !inclusive && id == .min { return (.nothing, [number]) }
                high = min(high, inclusive ? id : id - 1)
            case .lower: return (.nothing, [number])
            case .upper, .notNull: break
            default: continue
            }
            deciding.append(number)
        }
        return (low > high ? .nothing : .rows(low...high), deciding)
    }

    private static func byKey(_ input: Input) -> Candidate? {
        let parts = input.bound.table.keyParts
        let search = KeySearch(parts, input.constraints, limit: TableHandle.longestKey)
        if search.used.isEmpty { return nil }
        let reversed = serves(parts, search.equalCount, input.orders)
        let isOrdered = input.orders.isEmpty || reversed != nil
        let access: Access =
            search.isPoint ? .keys(search.ranges.map { .bytes($0.lower) }) : .keyRanges(search.ranges)
        let rows = search.isPoint ? Double(search.ranges.count) : input.estimates.rows * search.share
        return Candidate(
            access: access, isReversed: reversed ?? false, isOrdered: isOrdered, answered: search.answered,
            used: search.used,
            cost: input.scanCost(rows: rows, isOrdered: isOrdered, answered: search.answered), rows: rows)
    }

    static func byIndex(_ index: IndexHandle, _ input: Input) -> Candidate? {
        if index.isSpatial { return byPlace(index, input) }
        let (orders, estimates) = (input.orders, input.estimates)
        var implied: Set<Int> = []
        if let conjuncts = index.conjuncts {
            guard let found = PredicateImplication.answered(by: conjuncts, input.conjuncts) else { return nil }
            implied = found
        }
        let parts = index.keyParts
        let search = KeySearch(parts, input.constraints, limit: IndexHandle.keptBytes)
        // Entries with equal columns are sorted by row id.
        let ending =
            input.bound.table.isRowID && !index.isUnique
            ? [KeyPattern.Part(term: .init(ordinal: nil, noCase: false), descending: false)] : []
        let reversed = serves(parts + ending, search.equalCount, orders)
        let answered = search.answered.union(implied)
        let cover = input.cover(index, answered)
        if search.used.isEmpty && index.condition == nil && (orders.isEmpty || reversed == nil)
            && !input.allowsIndexOnlyScan(cover)
        {
            return nil
        }
        let isOrdered = orders.isEmpty || reversed != nil
        let rows: Double
        if search.isPoint && index.schema.isUnique {
            rows = Double(max(1, search.ranges.count))
        } else {
            // A partial index is assumed to have a tenth of the rows.
            let share = search.share * (index.condition == nil ? 1 : Selectivity.partialIndex)
            rows =
                search.used.isEmpty
                ? max(1, estimates.rows * share) : estimates.entries(of: index, in: search.ranges, share: share)
        }
        let entryCost = cover.map { $0.isEmpty ? CostModel.coveredKey : CostModel.coveredRow } ?? estimates.indexCost
        return Candidate(
            access: search.ranges.isEmpty ? .nothing : .index(index, search.ranges), isReversed: reversed ?? false,
            isOrdered: isOrdered, answered: answered,
            used: search.used + implied.subtracting(search.used).sorted(),
            cost: Double(max(0, search.ranges.count - 1)) * CostModel.stretch
                + input.searchCost(rows: rows, perRow: entryCost, isOrdered: isOrdered, answered: answered),
            rows: rows, cover: search.ranges.isEmpty ? nil : cover)
    }

    /// Returns the access path by a full-text index. MATCH runs its index search in any case, also to test single rows.
    private static func byText(_ input: Input) -> Candidate? {
        let (bound, orders) = (input.bound, input.orders)
        for (place, conjunct) in input.conjuncts.enumerated() {
            guard case .match(let match) = conjunct, match.isOwn else { continue }
            var isRanked = false
            var rest = orders[...]
            if let first = orders.first, first.expr == .rank(match), !first.descending {
                isRanked = true
                rest = rest.dropFirst()
            }
            // Rows are sorted by row id, also among equal ranks.
            var isOrdered = rest.isEmpty
            var isReversed = false
            if bound.table.isRowID, let order = rest.first, case .column(let column) = order.expr, column.node < 0,
                column.ordinal == nil, !isRanked || !order.descending
            {
                isOrdered = true
                isReversed = order.descending
            }
            return Candidate(
                access: .fullText(TextAccess(match: match, isRanked: isRanked && isOrdered)), isReversed: isReversed,
                isOrdered: isOrdered, answered: [place], used: [place], cost: 0, rows: 1000)
        }
        return nil
    }

    /// Returns the direction in which sorted columns serve the orders, after leading columns that equal one value;
    /// `nil` if they do not.
    private static func serves(_ parts: [KeyPattern.Part], _ equalCount: Int, _ orders: [BoundOrder]) -> Bool? {
        guard !orders.isEmpty, equalCount + orders.count <= parts.count else { return nil }
        var reversed: Bool?
        for (part, order) in zip(parts[equalCount...], orders) {
            guard case .column(let column) = order.expr, column.node < 0, !order.reversesNulls,
                part.term == Constraint.Term(ordinal: column.ordinal, noCase: order.noCase)
            else { return nil }
            let turned = part.descending != order.descending
            if reversed != nil && reversed != turned { return nil }
            reversed = turned
        }
        return reversed
    }

    /// Returns the notes of a plan. The plan keeps what they are made of, so that this must not be the planner input,
    /// whose estimates retain a snapshot.
    ///
    /// - Parameter isKnown: whether sizes are known; without sizes, no numbers are shown.
    static func note(
        _ best: Candidate, _ conjuncts: [BoundCondition], _ orders: [BoundOrder], isKnown: Bool
    ) -> PlanNote {
        let conditions = best.used.map { "\(conjuncts[$0])" }.joined(separator: " AND ")
        let order = best.isOrdered ? BoundOrder.text(orders) : ""
        return PlanNote(
            conditions: conditions, order: order, rows: isKnown ? best.rows : nil, cost: isKnown ? best.cost : nil)
    }
}
