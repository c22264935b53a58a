/// A selection and the way to its rows; prints itself as an explanation.
///
///     print(plan)    // search Person using index Person.age (age > 35), then filter name LIKE 'a%', sort by name limit 99
///
/// A plan holds no snapshot: it may be kept and run over any number of them, from any thread.
public struct Plan: Sendable, CustomStringConvertible {
    /// What of a plan is made when somebody asks: most plans are run and never read.
    private enum Origin {
        case planned(Program, residual: BoundCondition?, note: @Sendable () -> PlanNote)
        case kept(any PlanTemplate, [Value?])
    }

    /// How the rows of a large table are divided into parts, on which several threads may work.
    ///
    /// Whether and where they are divided depends on the table alone, and never on the number of threads: sums of doubles are those of the parts,
    /// added in the order of the rows.
    enum Partition: Sendable {
        /// They are read from the first to the last.
        case none
        case parts(threads: Int)
        /// The plan is that of one part.
        case part(ofTable: Bool)
    }

    /// How the rows are found.
    enum Way: Sendable {
        case access(Access)
        /// By the entries of an index that begin with a number, which most questions to an index ask for: no stretch is made of it.
        case number(IndexHandle, Int64)
    }

    /// How rows are made of the entries of the plan's index. An object: few plans have it, and all are copied.
    private final class Entries: Sendable {
        let cover: IndexCover?
        let skip: EntrySkip?

        init?(_ cover: IndexCover?, _ skip: EntrySkip?) {
            if cover == nil && skip == nil { return nil }
            self.cover = cover
            self.skip = skip
        }
    }

    /// What no copy of a plan changes; most plans are copied more often than run.
    private final class Body: Sendable {
        let bound: BoundSelection
        let way: Way
        let isReversed: Bool
        let orders: [BoundOrder]
        let expectedShare: Double
        let nearest: NearestSearch?
        let origin: Origin

        init(
            _ bound: BoundSelection, _ way: Way, isReversed: Bool, _ orders: [BoundOrder],
            _ expectedShare: Double, _ nearest: NearestSearch?, _ origin: Origin
        ) {
            self.bound = bound
            self.way = way
            self.isReversed = isReversed
            self.orders = orders
            self.expectedShare = expectedShare
            self.nearest = nearest
            self.origin = origin
        }
    }

    private let body: Body
    /// What ends the plan's runs.
    public var cancellation: Cancellation?
    /// Whether the rows are read in parts, for results that are put together of those of the parts.
    var partition = Partition.none
    private var entries: Entries?
    /// How the rows are made of the entries of the plan's index; nil: they are looked up.
    var cover: IndexCover? {
        get { entries?.cover }
        set { entries = Entries(newValue, skip) }
    }
    /// Which of these entries say nothing new; nil: each is read.
    var skip: EntrySkip? {
        get { entries?.skip }
        set { entries = Entries(cover, newValue) }
    }

    init(
        _ bound: BoundSelection, access: Access, isReversed: Bool, orders: [BoundOrder], residual: [BoundCondition],
        expectedShare: Double = 1, nearest: NearestSearch? = nil, note: @autoclosure @escaping @Sendable () -> PlanNote
    ) {
        let residual = BoundCondition.all(residual)
        body = Body(
            bound, .access(access), isReversed: isReversed, orders, expectedShare, nearest,
            .planned(Program(bound.table, residual, joins: bound.joins), residual: residual, note: note))
    }

    /// A plan that was kept, for other values.
    init(_ kept: any PlanTemplate, _ values: [Value?], _ bound: BoundSelection, _ way: Way) {
        body = Body(
            bound, way, isReversed: kept.isReversed, kept.isOrdered ? [] : kept.orders, kept.expectedShare, nil,
            .kept(kept, values))
    }

    /// The same plan with another way to the rows.
    init(_ plan: Plan, by access: Access) {
        body = Body(
            plan.bound, .access(access), isReversed: plan.isReversed, plan.orders, plan.expectedShare, plan.nearest,
            plan.body.origin)
        cancellation = plan.cancellation
    }

    var bound: BoundSelection { body.bound }
    var way: Way { body.way }
    var access: Access {
        switch body.way {
        case .access(let access): access
        case .number(let index, let number): .index(index, [KeyRange(of: number)])
        }
    }
    /// The index whose entries lead to the rows.
    var index: IndexHandle? {
        switch body.way {
        case .number(let index, _), .access(.index(let index, _)): index
        case .access: nil
        }
    }
    var isReversed: Bool { body.isReversed }
    /// What is left to be sorted by; empty when rows come in the wanted order.
    var orders: [BoundOrder] { body.orders }
    /// The same plan; nil: its rows must be sorted.
    var unsorted: Plan? { orders.isEmpty ? self : nil }
    /// What tests the rows. That of a plan that was kept is made each time: who reads no row needs none.
    var program: Program {
        switch body.origin {
        case .planned(let program, _, _): program
        case .kept(let kept, let values): kept.program(values)
        }
    }
    /// Which share of the table's rows is expected to come.
    var expectedShare: Double { body.expectedShare }
    /// How the first rows in the order of a distance are found.
    var nearest: NearestSearch? { body.nearest }
    /// What it was made of, where it was kept.
    var kept: (any PlanTemplate)? { if case .kept(let kept, _) = body.origin { kept } else { nil } }

    public var description: String { node.summary }

    var note: PlanNote {
        switch body.origin {
        case .planned(_, _, let note): note()
        case .kept(let kept, let values): kept.note(values)
        }
    }

    /// What is left to be tested on each row.
    var residual: BoundCondition? {
        switch body.origin {
        case .planned(_, let residual, _): residual
        case .kept(let kept, let values): kept.residual(values)
        }
    }

    /// Whether anything is left to be tested on each row.
    var hasResidual: Bool {
        switch body.origin {
        case .planned(let program, _, _): program.root >= 0
        case .kept(let kept, _): kept.hasResidual
        }
    }

    public var table: TableHandle { body.bound.table }

    /// The operator of a scan of rows by their ids.
    var scanOperator: PlanNode.Operator {
        if case .part(let ofTable) = partition { return ofTable ? .scan : .keyRange }
        return isWholeTable ? .scan : .keyRange
    }

    /// How many threads read the parts; nil: the rows are not divided.
    var threads: Int? { if case .parts(let threads) = partition { threads } else { nil } }

    /// Whether several threads read them.
    var isGathered: Bool { (threads ?? 1) > 1 }

    /// Whether the plan goes through the rows of its table as they stand.
    var isWholeTable: Bool {
        switch access {
        case .rows(let range): range == .min ... .max
        case .keyRanges(let ranges): ranges == [KeyRange(lower: [], upper: nil)]
        default: false
        }
    }
}

/// What plans that differ in their values only have in common, and how what depends on these is made when somebody asks.
protocol PlanTemplate: SelectionTemplate {
    var orders: [BoundOrder] { get }
    var isReversed: Bool { get }
    var isOrdered: Bool { get }
    var expectedShare: Double { get }
    /// Whether anything is left to be tested on each row.
    var hasResidual: Bool { get }
    /// The index that leads to the rows, and how its entries tell what is left to be tested; no cover: they do not.
    var covered: (index: IndexHandle, cover: IndexCover?)? { get }
    func program(_ values: [Value?]) -> Program
    func residual(_ values: [Value?]) -> BoundCondition?
    func note(_ values: [Value?]) -> PlanNote
}
