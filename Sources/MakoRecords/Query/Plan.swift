import MakoStorage

/// A selection and the way to its rows; prints itself as an explanation.
///
///     print(plan)    // search Person using index Person.age (age > 35), then filter name LIKE 'a%', sort by name limit 99
///
/// A plan holds no snapshot: it may be kept and run over any number of them, from any thread.
public struct Plan: Sendable, CustomStringConvertible {
    /// What of a plan is made when somebody asks: most plans are run and never read.
    private enum Origin {
        case planned(Program, residual: BoundCondition?, text: @Sendable () -> PlanText)
        case kept(KeptPlan, [Value?])
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
        expectedShare: Double = 1, nearest: NearestSearch? = nil, text: @autoclosure @escaping @Sendable () -> PlanText
    ) {
        let residual = BoundCondition.all(residual)
        body = Body(
            bound, .access(access), isReversed: isReversed, orders, expectedShare, nearest,
            .planned(Program(bound.table, residual, joins: bound.joins), residual: residual, text: text))
    }

    /// A plan that was kept, for other values.
    init(_ kept: KeptPlan, _ values: [Value?], _ bound: BoundSelection, _ way: Way) {
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
    var kept: KeptPlan? { if case .kept(let kept, _) = body.origin { kept } else { nil } }

    public var description: String { text.whole }

    var text: PlanText {
        switch body.origin {
        case .planned(_, _, let text): text()
        case .kept(let kept, let values): kept.text(values, access, bound)
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

    /// Whether the plan goes through the rows of its table as they stand.
    var isWholeTable: Bool {
        switch access {
        case .rows(let range): range == .min ... .max
        case .keyRanges(let ranges): ranges == [KeyRange(lower: [], upper: nil)]
        default: false
        }
    }

    /// So many keys are gathered before their rows are read.
    private static let mostKeys = 10_000

    /// How many rows a first batch may well be fetched for.
    private var expected: Int { min(bound.offset, 1 << 20) + min(bound.limit ?? .max, 1 << 20) }

    /// Lends the rows one after the other until the closure answers `false`. The closure must not change the table.
    public func forEachRow(
        layout: RowLayout? = nil, in view: Snapshot, _ body: (RowKey, RowReader) throws -> Bool
    ) throws {
        try forEachRow(layout ?? table.layout, RowScan(self, view), view, body)
    }

    func forEachRow(
        layout: RowLayout?, in view: Snapshot, _ measure: StepMeasure?, _ body: (RowKey, RowReader) throws -> Bool
    ) throws {
        let scan = RowScan(self, view)
        scan.measure = measure
        try forEachRow(layout ?? table.layout, scan, view, body)
    }

    func forEachRow(
        _ layout: RowLayout, _ scan: RowScan, _ view: Snapshot, _ body: (RowKey, RowReader) throws -> Bool
    ) throws {
        if orders.isEmpty && bound.offset == 0 && bound.limit == nil {
            try scan.forEachRow(layout, expecting: expected, body)
        } else if cover == nil, orders.isEmpty, bound.offset > 0, let limit = bound.limit, limit <= Plan.mostKeys,
            !hasResidual, case .index(let index, _) = access
        {
            // Of what is left out the index's entries are walked over, and no rows are read.
            try scan.fetchTested(try keys(scan, view), layout, namedBy: index, body)
        } else if orders.isEmpty {
            var left = bound.offset
            var room = bound.limit ?? .max
            try scan.forEachRow(layout, expecting: expected) { key, row in
                if left > 0 {
                    left -= 1
                    return true
                }
                room -= 1
                return try body(key, row) && room > 0
            }
        } else {
            try scan.fetch(try sortedKeys(scan, view), layout, body)
        }
    }

    /// The keys of the rows, in order.
    public func keys(in view: Snapshot) throws(RecordError) -> [RowKey] {
        try keys(RowScan(self, view), view)
    }

    func keys(_ scan: RowScan, _ view: Snapshot) throws(RecordError) -> [RowKey] {
        if !orders.isEmpty { return try sortedKeys(scan, view) }
        var keys: [RowKey] = []
        var left = bound.offset
        var room = bound.limit ?? .max
        try recorded {
            try scan.forEachKey(expecting: expected) { key in
                if left > 0 {
                    left -= 1
                    return true
                }
                keys.append(key)
                room -= 1
                return room > 0
            }
        }
        return keys
    }

    /// The ids of the rows, in order; for tables with row ids.
    public func ids(in view: Snapshot) throws(RecordError) -> [Int64] {
        guard table.isRowID else {
            throw .invalidKey(table: table.schema.name, reason: "the table has key columns, not ids")
        }
        return try keys(in: view).compactMap(\.rowID)
    }

    /// How many rows there are, limit and offset observed.
    public func count(in view: Snapshot) throws(RecordError) -> Int { try count(in: view, nil) }

    func count(in view: Snapshot, _ measure: StepMeasure?) throws(RecordError) -> Int {
        var count = 0
        if !hasResidual, case .rows(let range) = access, range == .min ... .max {
            count = try table.count(in: view)
        } else if !hasResidual, case .keyRanges(let ranges) = access, ranges == [KeyRange(lower: [], upper: nil)] {
            count = try table.count(in: view)
        } else if !hasResidual, case .fullText(let found) = access {
            count = try TextAccess(match: found.match, isRanked: false).numbers(view, wanted: nil).count
        } else {
            let enough = bound.limit.map { $0.addingReportingOverflow(bound.offset) }
            let stop = enough.map { $0.overflow ? Int.max : $0.partialValue } ?? .max
            try recorded {
                let scan = RowScan(self, view)
                scan.measure = measure
                try scan.forEachKey(expecting: min(stop, 1 << 20)) { _ in
                    count += 1
                    return count < stop
                }
            }
        }
        return min(max(0, count - bound.offset), bound.limit ?? .max)
    }

    /// Whether there is at least one row.
    public func exists(in view: Snapshot) throws(RecordError) -> Bool {
        if bound.limit == 0 { return false }
        var left = bound.offset
        var isThere = false
        try recorded {
            try RowScan(self, view).forEachKey(expecting: 1) { _ in
                isThere = left == 0
                left -= 1
                return !isThere
            }
        }
        return isThere
    }

    /// The rows' values of some expressions, in order.
    ///
    /// - Parameter compared: whether they are to be compared with each other; then none may be encrypted.
    public func rows(
        _ columns: [Expr], compared: Bool = false, in view: Snapshot
    ) throws(RecordError) -> [[Value]] {
        let values = try ExpressionRun(columns, self, view, areCompared: compared)
        var rows: [[Value]] = []
        try recorded {
            try covered(reading: values.program).forEachRow(in: view) { key, row in
                rows.append(try values.all(row, key))
                return true
            }
        }
        return rows
    }

    func sortedKeys(_ scan: RowScan, _ view: Snapshot) throws(RecordError) -> [RowKey] {
        if let nearest { return try nearest.keys(self, view) }
        let sorter = Sorter(self, view)
        try recorded {
            try scan.forEachRow(table.layout, expecting: 1 << 20) { key, row in
                try sorter.add(key, row)
                return true
            }
        }
        return sorter.sorted(offset: bound.offset, limit: bound.limit)
    }
}

/// All rows between two ids, in their order: the plan of a query without a condition. Walking it costs no call for a row.
@frozen
public struct PlainWalk: Sendable {
    @usableFromInline let rows: Tree
    @usableFromInline let low: UInt64
    @usableFromInline let high: UInt64
    /// Whether these are all rows of the table.
    public let isWhole: Bool

    /// Lends the rows one after the other until the closure answers `false`. The closure must not change the table.
    @inlinable
    public func forEachRow(
        _ layout: RowLayout, in view: Snapshot, _ body: (Int64, RowReader) throws -> Bool
    ) throws {
        try view.forEach(in: rows, from: low) { key, bytes in
            if key > high { return false }
            return try body(Int64(bitPattern: key ^ (1 << 63)), RowReader(bytes, layout))
        }
    }

    /// Lends all rows, each until `finish` is called next.
    func forEachRow(
        _ layout: RowLayout, in view: Snapshot, _ body: (RowReader) throws -> Void, finish: () throws -> Void
    ) throws {
        try view.forEach(
            in: rows, from: low,
            { key, bytes in
                if key > high { return false }
                try body(RowReader(bytes, layout))
                return true
            }, finish: finish)
    }
}

extension Plan {
    /// The plan as a walk; `nil` for one that tests, sorts, turns, skips or looks up.
    public var plainWalk: PlainWalk? {
        guard case .access(.rows(let range)) = way, orders.isEmpty, !hasResidual, !isReversed, bound.offset == 0,
            bound.limit == nil
        else { return nil }
        return PlainWalk(
            rows: table.rows, low: KeyOrder.treeKey(range.lowerBound), high: KeyOrder.treeKey(range.upperBound),
            isWhole: range == .min ... .max)
    }
}

/// Some expressions over a plan's rows.
public struct ExpressionRun {
    private let places: [Int32]
    private let evaluator: Evaluator
    let program: Program
    let kinds: [ValueKind]
    /// Whether other rows have a say in the values: those that paths lead to or sub-queries ask, or all of those that a rank compares.
    let readsOtherRows: Bool
    private let resolved: [BoundExpr]

    /// - Throws: `syntax` for names and types that do not fit.
    public init(
        _ expressions: [Expr], _ plan: Plan, _ view: Snapshot, areCompared: Bool = true
    ) throws(RecordError) {
        let bound = plan.bound
        var binder = Binder(bound.table, bound.catalogue, bound.parameters, bound.namedParameters, joins: bound.joins)
        binder.references = bound.references
        binder.matches = bound.matches
        var resolved: [BoundExpr] = []
        for expression in expressions {
            resolved.append(try areCompared ? binder.bind(expression) : binder.bindUnseen(expression))
        }
        let subqueries = SubqueryPlanner(view: view)
        self.init(bound: resolved.map { subqueries.expr($0) }, plan.table, binder.joins, view)
    }

    init(
        bound: [BoundExpr], _ table: TableHandle?, _ joins: [JoinNode], _ view: Snapshot, _ supply: SuppliedRows? = nil
    ) {
        let program = Program(table, joins: joins)
        places = bound.map { program.add($0) }
        kinds = withDeepRoom(program.isDeep) { bound.map(Binder.kind) }
        readsOtherRows = !joins.isEmpty || !program.matches.isEmpty || !program.subqueries.isEmpty
        resolved = bound
        self.program = program
        evaluator = Evaluator(program, view, supply)
    }

    func bound(_ index: Int) -> BoundExpr { resolved[index] }

    func operand(_ index: Int, _ row: RowReader, _ key: RowKey) throws(RecordError) -> Operand {
        evaluator.reset()
        return try evaluator.operand(places[index], row, key)
    }

    func all(_ row: RowReader, _ key: RowKey) throws(RecordError) -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(places.count)
        try append(row, key, to: &values)
        return values
    }

    /// Adds the expressions' values for a row.
    public func append(_ row: RowReader, _ key: RowKey, to values: inout [Value]) throws(RecordError) {
        evaluator.reset()
        for place in places { values.append(try evaluator.operand(place, row, key).value) }
    }
}
