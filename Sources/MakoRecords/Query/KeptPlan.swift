import MakoStorage

/// The way that a selection took to its rows, for others of the same shape.
///
/// It is kept where it would be taken for any values: when sizes that depend on them were not looked at, when there was no other way, or
/// when it leads to so few rows that a better one would not be noticed. The last is looked at for each selection anew.
struct KeptPlan: Sendable {
    private enum Way {
        case scan
        /// By the id or the key.
        case own
        case index(IndexHandle)
    }

    /// A way that leads to fewer rows is good enough.
    private static let few = 64.0
    /// The table may become so many times larger or smaller.
    private static let growth = 4.0

    private let table: TableHandle
    private let joins: [JoinNode]
    private let conjuncts: [BoundCondition]
    private let boundOrders: [BoundOrder]
    /// Those of the orders that decide something.
    private let orders: [BoundOrder]
    private let limit: Int?
    private let offset: Int
    private let way: Way
    private let answered: Set<Int>
    private let isReversed: Bool
    private let isOrdered: Bool
    private let hasRivals: Bool
    private let rows: Double

    /// - Returns: nil: another selection of the shape might go another way, or its values do not stand as they were given.
    init?(_ shape: SelectionShape, _ choice: Planner.Choice) {
        let best = choice.best
        let question = choice.question
        let bound = question.bound
        guard bound.matches.isEmpty, bound.references.isEmpty, best.nearest == nil,
            question.conjuncts.count == shape.values.count,
            zip(question.conjuncts, shape.values).allSatisfy({ KeptPlan.standsAsGiven($0, $1) }),
            let way = KeptPlan.way(best)
        else { return nil }
        hasRivals = !choice.isOnly
        if hasRivals && question.estimates.countsEntries && best.rows >= KeptPlan.few { return nil }
        table = bound.table
        joins = bound.joins
        conjuncts = question.conjuncts
        boundOrders = bound.orders
        orders = question.orders
        limit = bound.limit
        offset = bound.offset
        self.way = way
        answered = best.answered
        isReversed = best.isReversed
        isOrdered = best.isOrdered
        rows = question.estimates.rows
    }

    /// Whether the binder takes any value of this kind as it is.
    private static func standsAsGiven(_ conjunct: BoundCondition, _ value: Value?) -> Bool {
        guard let value else { return true }
        switch (conjunct, value) {
        case (.comparison(_, .column(let column), .constant(let constant)), _):
            guard constant == value else { return false }
            switch (column.type, value) {
            case (.bool, .bool), (.integer, .integer), (.reference, .integer), (.double, .double), (.text, .text),
                (.date, .date), (.uuid, .uuid):
                return true
            default: return false
            }
        case (.comparison(_, .noCase(.column), .constant(let constant)), .text(let text)):
            return constant == .text(Folding.folded(text))
        default: return false
        }
    }

    private static func way(_ candidate: Planner.Candidate) -> Way? {
        switch candidate.access {
        case .rows, .keyRanges: candidate.used.isEmpty ? .scan : .own
        case .keys: .own
        case .index(let index, _): index.isPlain ? .index(index) : nil
        case .nothing, .fullText, .gathered: nil
        }
    }

    /// The plan of a selection of the same shape.
    ///
    /// - Returns: nil: for its values, or for as many rows as there are by now, another way may be better.
    func plan(
        _ selection: Selection, _ shape: SelectionShape, _ catalogue: Catalogue, _ view: Snapshot
    ) throws(RecordError) -> Plan? {
        let estimates = try TableEstimates(table, view)
        guard estimates.rows <= rows * KeptPlan.growth, rows <= estimates.rows * KeptPlan.growth else { return nil }
        let conjuncts = zip(self.conjuncts, shape.values).map { KeptPlan.with($1, in: $0) }
        let bound = BoundSelection(
            table: table, catalogue: catalogue, joins: joins,
            condition: conjuncts.count > 1 ? .and(conjuncts) : conjuncts.first, orders: boundOrders, limit: limit,
            offset: offset, parameters: selection.parameters, namedParameters: selection.namedParameters)
        let question = Planner.Question(bound, conjuncts, Constraint.all(conjuncts), orders, estimates)
        let found: Planner.Candidate? =
            switch way {
            case .scan: Planner.scan(question)
            case .own: Planner.own(question)
            case .index(let index): Planner.byIndex(index, question)
            }
        guard let found, found.answered == answered, found.isReversed == isReversed, found.isOrdered == isOrdered,
            KeptPlan.way(found) != nil,
            !hasRivals || !estimates.countsEntries || found.rows < KeptPlan.few || sabotaged("keptPlanForMany")
        else { return nil }
        return Planner.Choice(question: question, best: found, isOnly: !hasRivals).plan()
    }

    private static func with(_ value: Value?, in conjunct: BoundCondition) -> BoundCondition {
        guard let value, case .comparison(let operation, let side, _) = conjunct, !sabotaged("keptPlanKeepsValues")
        else { return conjunct }
        if case .noCase = side, case .text(let text) = value {
            return .comparison(operation, side, .constant(.text(Folding.folded(text))))
        }
        return .comparison(operation, side, .constant(value))
    }
}

/// The kept plans of a catalogue.
final class KeptPlans: @unchecked Sendable {
    /// Programs ask the same few questions; questions that differ each time must not fill the memory.
    private static let limit = 256

    private let lock = Lock()
    /// Guarded by the lock.
    private var plans: [SelectionShape.Key: KeptPlan] = [:]

    subscript(key: SelectionShape.Key) -> KeptPlan? { lock.withLock { plans[key] } }

    func keep(_ plan: KeptPlan, for key: SelectionShape.Key) {
        lock.withLock {
            if plans.count >= KeptPlans.limit { plans.removeAll(keepingCapacity: true) }
            plans[key] = plan
        }
    }
}
