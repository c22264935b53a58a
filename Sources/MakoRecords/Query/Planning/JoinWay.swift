/// A way to the rows of one table that meet those before it, with what it costs: a row that is read in passing 1, looked up by its key 6, through
/// an index 6 and 8 for the way there, kept 4, and met among those that are kept 2.5.
struct JoinWay {
    let method: JoinStep.Method
    /// The conditions that need no further test.
    let answered: [BoundCondition]
    /// For each row before it.
    let lookup: Double
    /// Once.
    let build: Double
    /// How many rows of the table meet each row before it.
    let fan: Double

    func cost(_ outer: Double) -> Double { build + outer * lookup }

    /// An equation that the way may use, with the condition that it is.
    struct Candidate {
        let condition: BoundCondition
        let inner: BoundExpr
        let outer: BoundExpr
        /// The share of the table's rows that it leaves.
        let share: Double
    }

    /// The cheapest way, for so many rows before it.
    static func best(_ source: Int, _ placed: SourceSet, _ planner: JoinPlanner, _ outer: Double) -> JoinWay {
        let candidates = equations(source, placed, planner)
        var best = kept(source, candidates, planner)
        if let way = byKey(source, candidates, planner), way.cost(outer) < best.cost(outer) { best = way }
        // A partial index may lack rows that an equation alone asks for, and a spatial one knows no equations.
        for index in planner.sources[source].table.indexes
        where index.isPlain {
            if let way = byIndex(index, source, candidates, planner), way.cost(outer) < best.cost(outer) { best = way }
        }
        if let way = walked(source, candidates, planner), way.cost(outer) < best.cost(outer) { best = way }
        return best
    }

    /// The table is walked, and what stands before it kept. Nothing comes before all of that stands, and it comes in another order.
    private static func walked(
        _ source: Int, _ candidates: [Candidate], _ planner: JoinPlanner
    ) -> JoinWay? {
        guard !candidates.isEmpty, planner.sources[source].left == nil, planner.question.orders.isEmpty,
            planner.question.wanted == nil
        else { return nil }
        let kept = kept(source, candidates, planner)
        guard case .kept(let equalities) = kept.method else { return nil }
        let rows = JoinEstimate.ownRows(source, planner)
        return JoinWay(
            method: .walked(equalities), answered: kept.answered, lookup: 4 + kept.fan,
            build: JoinEstimate.ownCost(source, planner) + 2.5 * rows, fan: kept.fan)
    }

    /// The equations between the table and those before it.
    private static func equations(_ source: Int, _ placed: SourceSet, _ planner: JoinPlanner) -> [Candidate] {
        let me: SourceSet = 1 << SourceSet(source)
        let conditions = planner.sources[source].left ?? planner.question.conjuncts
        return conditions.compactMap { condition in
            guard case .comparison(.equal, let left, let right) = condition else { return nil }
            let (a, b) = (planner.sets.of(left), planner.sets.of(right))
            let (inner, outer): (BoundExpr, BoundExpr)
            if a == me, b != 0, b & ~placed == 0 {
                (inner, outer) = (left, right)
            } else if b == me, a != 0, a & ~placed == 0 {
                (inner, outer) = (right, left)
            } else {
                return nil
            }
            let share = JoinEstimate.share(ofEqual: inner, outer, planner)
            return Candidate(condition: condition, inner: inner, outer: outer, share: share)
        }
    }

    private static func kept(_ source: Int, _ candidates: [Candidate], _ planner: JoinPlanner) -> JoinWay {
        let equalities = candidates.map {
            JoinEquality(inner: $0.inner, outer: $0.outer, isRounded: isRounded($0.inner, $0.outer))
        }
        let answered = zip(candidates, equalities).filter { !$0.1.isRounded }.map(\.0.condition)
        let rows = JoinEstimate.ownRows(source, planner)
        let fan = rows * candidates.reduce(1) { $0 * $1.share }
        let build = JoinEstimate.ownCost(source, planner) + 4 * rows
        return JoinWay(
            method: .kept(equalities), answered: answered, lookup: (candidates.isEmpty ? 0 : 2.5) + fan, build: build,
            fan: fan)
    }

    /// Whole columns meet whole columns exactly, and so does everything that is no number.
    private static func isRounded(_ left: BoundExpr, _ right: BoundExpr) -> Bool {
        let kinds = (Binder.kind(left), Binder.kind(right))
        guard kinds.0.isNumber || kinds.1.isNumber else { return false }
        if case .column = left, case .column = right, kinds == (.whole, .whole) { return false }
        return true
    }

    private static func byKey(_ source: Int, _ candidates: [Candidate], _ planner: JoinPlanner) -> JoinWay? {
        let table = planner.sources[source].table
        var parts: [JoinKeyPart] = []
        var answered: [BoundCondition] = []
        let ordinals: [Int?] = table.isRowID ? [nil] : table.keySlots.map { Int($0.ordinal) }
        for (place, ordinal) in ordinals.enumerated() {
            let found = candidates.first {
                guard case .column(let column) = $0.inner else { return false }
                return column.ordinal == ordinal && column.node == source
            }
            guard let found else { return nil }
            let type = table.isRowID ? .integer : table.keySlots[place].type
            parts.append(JoinKeyPart(origin: .outer(found.outer), type: type, noCase: false, descending: false))
            answered.append(found.condition)
        }
        let share = JoinEstimate.ownShare(source, planner)
        return JoinWay(method: .key(parts), answered: answered, lookup: 6, build: 0, fan: min(1, share))
    }

    private static func byIndex(
        _ index: IndexHandle, _ source: Int, _ candidates: [Candidate], _ planner: JoinPlanner
    ) -> JoinWay? {
        let constants = constants(source, planner)
        var parts: [JoinKeyPart] = []
        var answered: [BoundCondition] = []
        var share = 1.0
        var isBoundBefore = false
        var isWhole = true
        for part in index.parts {
            let ordinal = Int(part.slot.ordinal)
            func add(_ origin: JoinKeyPart.Origin) {
                parts.append(
                    JoinKeyPart(
                        origin: origin, type: part.slot.type, noCase: part.noCase, descending: part.descending))
            }
            if let found = candidates.first(where: { column($0.inner, source, ordinal, part.noCase) }) {
                add(.outer(found.outer))
                // Of what stands in and behind a long text the entries may hold a part.
                isWhole = isWhole && !part.slot.type.isVariable
                if isWhole { answered.append(found.condition) }
                share *= found.share
                isBoundBefore = true
            } else if let value = constants[Constraint.Term(ordinal: ordinal, noCase: part.noCase)] {
                add(.constant(value))
                share *= 0.01
            } else {
                break
            }
        }
        guard isBoundBefore else { return nil }
        let size = planner.sources[source].size
        var found = index.isUnique && parts.count == index.parts.count ? 1 : size * share
        // Columns whose values go together have fewer rows of values than each by itself lets expect.
        if parts.count > 1, let statistics = planner.sources[source].statistics,
            let values = statistics.catalogue.statistics.values(of: index, prefix: parts.count, in: statistics.view)
        {
            found = max(found, size / values)
        }
        let fan = JoinEstimate.ownRows(source, planner) * candidates.reduce(1) { $0 * $1.share }
        return JoinWay(
            method: .index(index, parts), answered: answered, lookup: 8 + 6 * found, build: 0, fan: min(fan, found))
    }

    private static func column(_ expr: BoundExpr, _ source: Int, _ ordinal: Int, _ noCase: Bool) -> Bool {
        switch expr {
        case .column(let column): !noCase && column.node == source && column.ordinal == ordinal
        case .noCase(.column(let column)): noCase && column.node == source && column.ordinal == ordinal
        default: false
        }
    }

    /// The columns that the table's own condition gives one value.
    private static func constants(_ source: Int, _ planner: JoinPlanner) -> [Constraint.Term: Value] {
        var values: [Constraint.Term: Value] = [:]
        for constraint in Constraint.all(planner.own[source].bound.condition?.conjuncts ?? []) {
            if case .equal(let value) = constraint.test, !value.isNull { values[constraint.term] = value }
        }
        return values
    }
}
