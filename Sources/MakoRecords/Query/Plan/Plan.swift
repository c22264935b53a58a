/// A selection and its access path; prints itself as an explanation.
///
///     print(plan)
///     // search Person using index Person.age (age > 35), then filter name LIKE 'a%', sort by name limit 99
///
/// A plan holds no snapshot, so that it may be cached and run over any number of them, from any thread.
@usableFromInline
package struct Plan: Sendable, CustomStringConvertible {
    /// What a plan computes on demand: most plans run and are never printed.
    private enum Origin {
        case planned(Program, residual: BoundCondition?, note: @Sendable () -> PlanNote)
        case kept(any PlanTemplate, [Value?])
    }

    /// How the rows of a large table are divided into parts for several threads.
    ///
    /// The parts depend on the table alone, and not on the number of threads, so that sums of doubles, which are added
    /// part by part, are reproducible.
    enum Partition: Sendable {
        /// One scan from the first row to the last.
        case none
        case parts(threads: Int)
        /// The plan of one part.
        case part(ofTable: Bool)
    }

    /// The access path, as it runs.
    enum AccessPath: Sendable {
        case access(Access)
        /// The index entries that begin with one integer, the most frequent lookup; it needs no range.
        case number(IndexHandle, Int64)
    }

    /// What few plans have. An object, because all plans are copied.
    private final class Extra: Sendable {
        let cover: CoveringIndex?
        let skip: SkipScan?
        let nearest: NearestSearch?

        init?(_ cover: CoveringIndex?, _ skip: SkipScan?, _ nearest: NearestSearch?) {
            if cover == nil && skip == nil && nearest == nil { return nil }
            self.cover = cover
            self.skip = skip
            self.nearest = nearest
        }
    }

    /// What copies of a plan share; most plans are copied more often than run.
    private final class Body: Sendable {
        let bound: BoundSelection
        let accessPath: AccessPath
        let isReversed: Bool
        let orders: [BoundOrder]
        let expectedShare: Double
        let origin: Origin

        init(
            _ bound: BoundSelection, _ accessPath: AccessPath, isReversed: Bool, _ orders: [BoundOrder],
            _ expectedShare: Double, _ origin: Origin
        ) {
            self.bound = bound
            self.accessPath = accessPath
            self.isReversed = isReversed
            self.orders = orders
            self.expectedShare = expectedShare
            self.origin = origin
        }
    }

    private let body: Body
    /// Cancels runs of the plan.
    package var cancellation: Cancellation?
    /// Whether the rows are scanned in parts, whose results are combined.
    var partition = Partition.none
    private var extra: Extra?
    /// How rows are made of index entries; `nil` if rows are looked up.
    var cover: CoveringIndex? {
        get { extra?.cover }
        set { extra = Extra(newValue, skip, nearest) }
    }
    /// The skip scan of these entries; `nil` if every entry is read.
    var skip: SkipScan? {
        get { extra?.skip }
        set { extra = Extra(cover, newValue, nearest) }
    }
    /// The search of the nearest rows, for an order by distance.
    var nearest: NearestSearch? {
        get { extra?.nearest }
        set { extra = Extra(cover, skip, newValue) }
    }

    init(
        _ bound: BoundSelection, access: Access, isReversed: Bool = false, orders: [BoundOrder] = [],
        residual: BoundCondition? = nil, expectedShare: Double = 1,
        note: @autoclosure @escaping @Sendable () -> PlanNote
    ) {
        body = Body(
            bound, .access(access), isReversed: isReversed, orders, expectedShare,
            .planned(Program(bound.table, residual, joins: bound.joins), residual: residual, note: note))
    }

    /// Makes a plan from a cached one, for other values.
    init(_ kept: any PlanTemplate, _ values: [Value?], _ bound: BoundSelection, _ accessPath: AccessPath) {
        body = Body(
            bound, accessPath, isReversed: kept.isReversed, kept.isOrdered ? [] : kept.orders, kept.expectedShare,
            .kept(kept, values))
    }

    /// Makes the same plan with another access path.
    init(_ plan: Plan, by access: Access) {
        body = Body(
            plan.bound, .access(access), isReversed: plan.isReversed, plan.orders, plan.expectedShare,
            plan.body.origin)
        cancellation = plan.cancellation
        nearest = plan.nearest
    }

    var bound: BoundSelection { body.bound }
    var accessPath: AccessPath { body.accessPath }
    var access: Access {
        switch body.accessPath {
        case .access(let access): access
        case .number(let index, let number): .index(index, [KeyRange(of: number)])
        }
    }
    /// The index of the access path.
    var index: IndexHandle? {
        switch body.accessPath {
        case .number(let index, _), .access(.index(let index, _)): index
        case .access: nil
        }
    }
    var isReversed: Bool { body.isReversed }
    /// The order that a sort is left to produce; empty if rows come in the wanted order.
    var orders: [BoundOrder] { body.orders }
    /// This plan, if its rows need no sort.
    var unsorted: Plan? { orders.isEmpty ? self : nil }
    /// The compiled residual condition. That of a cached plan is made on each access, because a plan that reads no row
    /// needs none.
    var program: Program {
        switch body.origin {
        case .planned(let program, _, _): program
        case .kept(let kept, let values): kept.program(values)
        }
    }
    /// The expected share of the table's rows in the result.
    var expectedShare: Double { body.expectedShare }
    /// The cached plan from which it was made.
    var kept: (any PlanTemplate)? { if case .kept(let kept, _) = body.origin { kept } else { nil } }

    @usableFromInline
    package var description: String { node.summary }

    var note: PlanNote {
        switch body.origin {
        case .planned(_, _, let note): note()
        case .kept(let kept, let values): kept.note(values)
        }
    }

    /// The residual condition.
    var residual: BoundCondition? {
        switch body.origin {
        case .planned(_, let residual, _): residual
        case .kept(let kept, let values): kept.residual(values)
        }
    }

    /// Whether there is a residual condition.
    var hasResidual: Bool {
        switch body.origin {
        case .planned(let program, _, _): program.root >= 0
        case .kept(let kept, _): kept.hasResidual
        }
    }

    /// The table of the rows.
    package var table: TableHandle { body.bound.table }

    /// The operator of a scan by row id.
    var scanOperator: PlanNode.Operator {
        if case .part(let ofTable) = partition { return ofTable ? .scan : .keyRange }
        return isWholeTable ? .scan : .keyRange
    }

    /// The number of threads that scan the parts; `nil` for an undivided scan.
    var threads: Int? { if case .parts(let threads) = partition { threads } else { nil } }

    /// Whether several threads scan the rows.
    var isGathered: Bool { (threads ?? 1) > 1 }

    /// Whether the access path is a scan of the whole table.
    var isWholeTable: Bool {
        switch access {
        case .rows(let range): range == .min ... .max
        case .keyRanges(let ranges): ranges == [KeyRange(lower: [], upper: nil)]
        default: false
        }
    }
}

/// What plans that differ in values only have in common. What depends on the values is made on demand.
protocol PlanTemplate: SelectionTemplate {
    var orders: [BoundOrder] { get }
    var isReversed: Bool { get }
    var isOrdered: Bool { get }
    var expectedShare: Double { get }
    /// Whether there is a residual condition.
    var hasResidual: Bool { get }
    /// The index of the access path and, if it is a covering index, how rows are made of its entries.
    var covered: (index: IndexHandle, cover: CoveringIndex?)? { get }
    func program(_ values: [Value?]) -> Program
    func residual(_ values: [Value?]) -> BoundCondition?
    func note(_ values: [Value?]) -> PlanNote
}
