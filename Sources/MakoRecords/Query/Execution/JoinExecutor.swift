import MakoStorage

/// Executes a join: a loop over each table, nested in that of the table before. One for each run.
final class JoinExecutor {
    /// The current rows.
    let supply: RowContext
    private let first: JoinLoop?
    private let tables: Int
    /// Whether there are no tables, and the condition of the one row.
    private let isOneRow: Bool
    private let condition: Evaluator?
    private let measure: PlanMeasure?
    /// Whether the hash table of outer rows has already been built.
    private let isKept: Bool

    /// - Parameters:
    ///   - measure: the measure of a run, with one part for each table.
    ///   - other: a run of the same join whose hash tables this one shares, see ``keep()``.
    init(
        _ plan: JoinPlan, _ view: Snapshot, _ supply: RowContext, _ measure: PlanMeasure? = nil,
        sharing other: JoinExecutor? = nil
    ) throws(RecordError) {
        self.supply = supply
        self.measure = measure
        tables = plan.steps.count
        isOneRow = plan.isOneRow
        condition = plan.condition.map { Evaluator(Program(nil, $0, joins: plan.joins), view, supply) }
        var next: JoinLoop?
        let others = other?.loops ?? []
        isKept = others.contains(where: \.isOuterHash)
        for place in plan.steps.indices.reversed() {
            next = try recorded {
                try JoinLoop(
                    place, of: plan, view, supply, next, measure?.part(place), others.isEmpty ? nil : others[place])
            }
        }
        first = next
    }

    private var loops: [JoinLoop] { sequence(first: first, next: { $0?.next }).compactMap { $0 } }

    /// Builds the hash tables, so that other runs can share them: those of tables, and the one of the outer rows of a
    /// table that is scanned once.
    func keep() throws {
        guard let first else { return }
        let outerHash = loops.firstIndex(where: \.isOuterHash) ?? 0
        if outerHash > 0 { try run(first, onlyBefore: true) { true } }
        for loop in loops[..<outerHash] { loop.endOwn() }
        for loop in loops[outerHash...] { try loop.keep() }
    }

    /// Whether hash tables are spilled, so that one thread must look rows up.
    var isSpilled: Bool { loops.contains(where: \.isSpilled) }

    /// Calls a closure for each joined row until it returns `false`; meanwhile ``supply`` has the rows of the tables.
    func forEachRow(_ body: () throws -> Bool) throws {
        guard let first else {
            if isOneRow {
                let isThere = try condition?.test(supply.blank, RowKey.rowID(0)) ?? true
                measure?.note(.oneRow, rows: 0, passed: 1)
                if condition != nil { measure?.note(.filter, rows: 1, passed: isThere ? 1 : 0) }
                if isThere {
                    measure?.found += 1
                    _ = try body()
                }
            } else {
                measure?.note(.nothing, rows: 0, passed: 0)
            }
            return
        }
        guard let measure else { return try run(first, body) }
        let before = measure.run.turn(to: nil)
        defer { measure.run.turn(to: before) }
        let last = measure.part(tables - 1)
        try run(first) {
            last.loopEnd?.counts.passed += 1
            measure.found += 1
            let inner = measure.run.turn(to: before)
            defer { measure.run.turn(to: inner) }
            return try body()
        }
        first.end()
    }

    private func run(_ first: JoinLoop, onlyBefore: Bool = false, _ body: () throws -> Bool) throws {
        // Each loop runs inside those before it.
        try StackGuard.run(isDeep: tables > StackGuard.shallowLevels) {
            let goesOn = try isKept || first.run(body)
            if goesOn, !onlyBefore { _ = try first.finish(body) }
        } orElse: {
            throw SourcePosition.none.tooDeepForStack
        }
    }
}

/// The loop over one table's rows.
private final class JoinLoop {
    private let step: JoinStep
    private let table: TableHandle
    private let layout: RowLayout
    private let view: Snapshot
    private let supply: RowContext
    let next: JoinLoop?
    private let source: Int
    private let isLeft: Bool
    /// The table's own condition, for rows that are looked up.
    private let own: Evaluator?
    private let match: Evaluator?
    private let after: Evaluator?
    private let lookup: JoinLookup
    private let blankKey = RowKey.rowID(0)
    @exclusivity(unchecked) private var hasMet = false
    @exclusivity(unchecked) private var steps = 0
    private let cancellation: Cancellation?
    /// The measure of the run, and that of the loop before, which counts its rows.
    private let measure: PlanMeasure?
    private var before: PlanMeasure?
    /// The join's operator.
    private let join: OperatorMeasure?
    /// The number of rows looked up, and of those tested by the filter above the join.
    @exclusivity(unchecked) private var lookedUp = 0
    @exclusivity(unchecked) private var filtered = 0

    init(
        _ place: Int, of plan: JoinPlan, _ view: Snapshot, _ supply: RowContext, _ next: JoinLoop?,
        _ measure: PlanMeasure?, _ other: JoinLoop?
    ) throws {
        let step = plan.steps[place]
        self.step = step
        self.measure = measure
        self.view = view
        self.supply = supply
        self.next = next
        cancellation = plan.cancellation
        source = step.source
        isLeft = step.isLeft
        table = step.own.table
        layout = table.layout
        func own(_ bound: BoundSelection) -> Evaluator? {
            bound.condition.map { Evaluator(Program(bound.table, $0, joins: bound.joins), view) }
        }
        func evaluator(_ conditions: [BoundCondition]) -> Evaluator? {
            if conditions.isEmpty { return nil }
            let condition = conditions.count == 1 ? conditions[0] : BoundCondition.and(conditions)
            return Evaluator(Program(nil, condition, joins: plan.joins), view, supply)
        }
        match = evaluator(step.match)
        after = evaluator(step.after)
        let bound = step.own.bound
        switch step.method {
        case .key(let parts):
            lookup = .key(JoinKey(parts, plan.joins, view, supply))
            self.own = own(bound)
        case .index(let index, let parts):
            lookup = .index(try JoinIndexScan(index, table, JoinKey(parts, plan.joins, view, supply), view))
            self.own = own(bound)
        case .range(let range):
            lookup = .range(JoinRangeScan(range, step.own, plan.joins, view, supply, measure?.part(0)))
            self.own = nil
        case .holders(let holders, let expr):
            let part = JoinKeyPart(origin: .outer(expr), type: holders.type, noCase: false, descending: false)
            lookup = .members(
                JoinMembers(holders, table, JoinKey([part], plan.joins, view, supply), view), isIndexed: true)
            self.own = own(bound)
        case .held(let expr):
            let values = ExpressionExecutor(bound: [expr], nil, plan.joins, view, supply)
            lookup = .members(JoinMembers(heldBy: values, table, supply, view), isIndexed: false)
            self.own = own(bound)
        case .kept(let equalities):
            let kept = other?.kept?.kept ?? KeptTable(SpilledJoinRows(view, plan.cancellation))
            let codings = step.keyCodings(equalities, plan.joins, view, supply)
            lookup = .kept(KeptRows(step, codings, kept, supply, measure))
            self.own = nil
        case .outerHash(let equalities):
            let before = plan.steps[..<place].map { (source: $0.source, layout: $0.own.table.layout) }
            let codings = step.keyCodings(equalities, plan.joins, view, supply)
            let rows = KeptOuterRows(
                before, codings, supply, SpilledJoinRows(view, plan.cancellation), sharing: other?.outerHash)
            lookup = .outerHash(rows)
            self.own = nil
        case .first:
            lookup = .all
            self.own = nil
        }
        if case .all = lookup { join = nil } else { join = measure?.at(step.operation) }
        if let measure {
            let filter = join == nil ? match : after
            measure.loopEnd = filter == nil ? join : measure.at(.filter)
            next?.before = measure
        }
    }

    private var kept: KeptRows? { if case .kept(let rows) = lookup { rows } else { nil } }
    private var outerHash: KeptOuterRows? { if case .outerHash(let rows) = lookup { rows } else { nil } }
    var isOuterHash: Bool { outerHash != nil }

    func keep() throws { if let kept { try kept.keep() } }

    var isSpilled: Bool { kept?.isSpilled ?? outerHash?.isSpilled ?? false }

    /// Joins the table's rows with the current outer rows. Returns `false` if no more are wanted.
    func run(_ body: () throws -> Bool) throws -> Bool {
        guard let measure else { return try loop(body) }
        before?.loopEnd?.counts.passed += 1
        let working = measure.run.turn(to: join)
        join?.counts.runs += 1
        defer { measure.run.turn(to: working) }
        return try loop(body)
    }

    /// Records the counts of the loops, if the run is measured.
    func end() {
        endOwn()
        next?.end()
    }

    func endOwn() {
        if let join {
            join.counts.rows += lookedUp
            switch lookup {
            case .index, .members(_, isIndexed: true): join.counts.entries += lookedUp
            case .kept(let rows): join.hold(rows.memory)
            case .outerHash(let rows): join.hold(rows.memory)
            case .all, .key, .range, .members: break
            }
        }
        if let measure, let end = measure.loopEnd, end !== join {
            // A filter above the join, or of the first table's rows.
            end.counts.runs += 1
            end.counts.rows += join == nil ? measure.part(0).found : filtered
            join?.counts.passed += filtered
        }
    }

    @inline(__always)
    private func loop(_ body: () throws -> Bool) throws -> Bool {
        hasMet = false
        steps &+= 1
        if steps & 1023 == 0, cancellation?.isCancelled == true { throw RecordError.cancelled }
        guard try meet(body) else { return false }
        if !isLeft || hasMet { return true }
        supply.rows[source] = RowContext.Place(row: nil)
        return try goOn(body)
    }

    private func meet(_ body: () throws -> Bool) throws -> Bool {
        var goesOn = true
        switch lookup {
        case .all:
            try step.own.forEachRow(layout: layout, in: view, measure?.part(0)) { key, row in
                goesOn = try take(row, key.rowID ?? 0, body)
                return goesOn
            }
        case .key(let key):
            try key.withRow(of: table, in: view) { bytes, id in
                goesOn = try test(RowReader(bytes, layout), id, body)
            }
        case .index(let scan):
            try scan.forEachRow { bytes, id in
                goesOn = try test(RowReader(bytes, layout), id, body)
                return goesOn
            }
        case .range(let scan):
            try scan.forEachRow { key, row in
                goesOn = try take(row, key.rowID ?? 0, body)
                return goesOn
            }
        case .members(let rows, _):
            try rows.forEachRow { row, id in
                goesOn = try test(row, id, body)
                return goesOn
            }
        case .outerHash(let rows):
            try rows.keep()
        case .kept(let rows):
            var place = try rows.first()
            if rows.isSpilled {
                guard place >= 0 else { break }
                repeat {
                    let found = try rows.spilledRow(layout)
                    goesOn = try take(found.row, found.id, body)
                } while try goesOn && rows.nextSpilled()
                break
            }
            while place >= 0, goesOn {
                let found = try rows.row(place, layout)
                goesOn = try take(found.row, found.id, body)
                place = rows.next(place)
            }
        }
        return goesOn
    }

    /// Scans the table if it is joined to a hash table of outer rows, which is now complete. Returns `false` if no more
    /// rows are wanted.
    func finish(_ body: () throws -> Bool) throws -> Bool {
        if case .outerHash(let rows) = lookup, !(try measured { try scan(rows, body) }) { return false }
        return try next?.finish(body) ?? true
    }

    /// Charges a closure to this loop, if the run is measured.
    private func measured(_ body: () throws -> Bool) throws -> Bool {
        guard let measure else { return try body() }
        let working = measure.run.turn(to: join)
        defer { measure.run.turn(to: working) }
        return try body()
    }

    private func scan(_ rows: KeptOuterRows, _ body: () throws -> Bool) throws -> Bool {
        var goesOn = true
        try step.own.forEachRow(layout: nil, in: view, measure?.part(0)) { key, row in
            goesOn = try rows.forEach(meeting: row, key) { try take(row, key.rowID ?? 0, body) }
            return goesOn
        }
        return goesOn
    }

    /// Tests a row that was looked up, including the table's own condition.
    @inline(__always)
    private func test(_ row: RowReader, _ id: Int64, _ body: () throws -> Bool) throws -> Bool {
        lookedUp &+= 1
        if let own, !(try own.test(row, .rowID(id))) { return true }
        return try take(row, id, body)
    }

    @inline(__always)
    private func take(_ row: RowReader, _ id: Int64, _ body: () throws -> Bool) throws -> Bool {
        supply.rows[source] = RowContext.Place(row: row, id: id)
        if let match, !(try match.test(supply.blank, blankKey)) { return true }
        hasMet = true
        return try goOn(body)
    }

    @inline(__always)
    private func goOn(_ body: () throws -> Bool) throws -> Bool {
        if let after {
            filtered &+= 1
            if !(try after.test(supply.blank, blankKey)) { return true }
        }
        guard let next else { return try body() }
        return try next.run(body)
    }
}

private enum JoinLookup {
    case all
    case key(JoinKey)
    case index(JoinIndexScan)
    case range(JoinRangeScan)
    case members(JoinMembers, isIndexed: Bool)
    case kept(KeptRows)
    case outerHash(KeptOuterRows)
}

/// The hash table of a join: the table's rows that pass its own condition; spilled to a file if they exceed the memory.
private final class KeptRows {
    private let step: JoinStep
    private let inner: JoinKeyCoding
    private let outer: JoinKeyCoding
    let kept: KeptTable
    @exclusivity(unchecked) private var buffer = KeyBuffer()
    private let supply: RowContext
    private let measure: PlanMeasure?

    init(
        _ step: JoinStep, _ codings: (inner: JoinKeyCoding, outer: JoinKeyCoding), _ kept: KeptTable,
        _ supply: RowContext, _ measure: PlanMeasure?
    ) {
        self.measure = measure
        self.kept = kept
        self.step = step
        self.supply = supply
        (inner, outer) = codings
    }

    /// Whether rows are found by ``nextSpilled()`` and ``spilledRow(_:)``.
    var isSpilled: Bool { kept.spill.isUsed }

    func keep() throws { if !kept.isRead { try read() } }

    private func read() throws {
        kept.isRead = true
        try step.own.forEachRow(layout: nil, in: kept.spill.view, measure?.part(0)) { key, row in
            buffer.clear()
            guard try inner.append(row, key, to: &buffer) else { return true }
            if kept.spill.isUsed {
                try kept.spill.add(buffer.raw, row.bytes, key.rowID ?? 0)
            } else {
                kept.rows.add(buffer.raw, row, key.rowID ?? 0)
                if kept.rows.memory > kept.spill.memory { try spillRows() }
            }
            return true
        }
    }

    private func spillRows() throws(RecordError) {
        kept.spill.begin(kept.rows.memory)
        try kept.rows.forEach { (key, row, id) throws(RecordError) in try kept.spill.add(key, row, id) }
        kept.rows = JoinTable()
    }

    /// The peak number of bytes held.
    var memory: Int { max(kept.rows.memory, kept.spill.peakBytes) }

    /// Returns the first matching row, or -1; of spilled rows any other number if there is one.
    func first() throws -> Int32 {
        try keep()
        buffer.clear()
        guard try outer.append(supply.blank, .rowID(0), to: &buffer) else { return -1 }
        if kept.spill.isUsed { return try kept.spill.seek(buffer.raw) ? 0 : -1 }
        return kept.rows.first(buffer.raw)
    }

    func next(_ place: Int32) -> Int32 { kept.rows.next(place) }

    func row(_ place: Int32, _ layout: RowLayout) throws(RecordError) -> (row: RowReader, id: Int64) {
        try kept.rows.row(place, layout)
    }

    func nextSpilled() throws(RecordError) -> Bool { try kept.spill.next() }

    /// Returns the current spilled row, valid until the next one.
    func spilledRow(_ layout: RowLayout) throws(RecordError) -> (row: RowReader, id: Int64) {
        let content = kept.spill.content
        return (try RowReader(content.bytes, layout), content.id)
    }
}

/// The rows of a hash table, in memory or in a file. Once it is complete, runs of the same join on other threads may
/// look up rows in memory, too.
private final class KeptTable {
    @exclusivity(unchecked) var rows = JoinTable()
    @exclusivity(unchecked) var isRead = false
    let spill: SpilledJoinRows

    init(_ spill: SpilledJoinRows) { self.spill = spill }
}
