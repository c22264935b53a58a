/// What one operator of a run does.
final class OperatorMeasure {
    /// Which operator this is, as the code that does its work says; nil: it never ran.
    var operation: PlanNode.Operator?
    var counts = PlanNode.Counts()
    /// Whether a node shows what it did.
    fileprivate(set) var isShown = false

    init(_ operation: PlanNode.Operator? = nil) { self.operation = operation }

    /// Adds what it did with a part of the rows.
    fileprivate func add(_ part: PlanNode.Counts) {
        counts.runs = operation?.isJoin == true ? counts.runs + part.runs : max(counts.runs, part.runs)
        counts.entries += part.entries
        counts.rows += part.rows
        counts.passed += part.passed
        counts.time += part.time
        // Threads look rows up in the same memory, and have groups of their own.
        counts.memory = operation?.isJoin == true ? max(counts.memory, part.memory) : counts.memory + part.memory
    }

    /// Takes down how many bytes are held.
    func hold(_ bytes: Int) { counts.memory = max(counts.memory, bytes) }
}

/// Measures one run of a plan: at each moment one operator is at work, or none. Only a run that is to be measured has one.
///
/// The operators say themselves that they run, which is compared with what the plan prints.
final class RunMeasure: @unchecked Sendable {
    // Unchecked: a run is one thread's.

    /// Of the run around: sub-queries are reached deep inside conditions and values.
    @TaskLocal static var current: RunMeasure?

    private(set) lazy var root = PlanMeasure(self)
    private var subqueries: [ObjectIdentifier: PlanMeasure] = [:]
    private var working: OperatorMeasure?
    private var since: ContinuousClock.Instant
    private let start: ContinuousClock.Instant

    init() {
        start = .now
        since = start
    }

    /// The measure of a sub-query, in this run.
    func measure(of subquery: SubqueryPlan) -> PlanMeasure {
        if let known = subqueries[ObjectIdentifier(subquery)] { return known }
        let made = PlanMeasure(self)
        subqueries[ObjectIdentifier(subquery)] = made
        return made
    }

    /// Gives the time to an operator from now on, or to none. Returns the one that had it.
    @discardableResult
    func turn(to operation: OperatorMeasure?) -> OperatorMeasure? {
        let now = ContinuousClock.now
        working?.counts.time += since.duration(to: now)
        let before = working
        (working, since) = (operation, now)
        return before
    }

    /// Runs a plan; its sub-queries are measured, too.
    func whole<R>(_ body: (PlanMeasure) throws -> R) throws(RecordError) -> R {
        try recorded { try RunMeasure.$current.withValue(self) { try body(root) } }
    }

    /// What was measured.
    func analysis(_ plan: PlanNode, rows: Int) -> PlanAnalysis {
        turn(to: nil)
        return PlanAnalysis(plan: plan, rows: rows, time: start.duration(to: since))
    }

    /// The operators that ran and that no node shows; there must be none.
    var unshown: [PlanNode.Operator] {
        (root.all + subqueries.values.flatMap(\.all)).filter { $0.counts.runs > 0 && !$0.isShown }
            .compactMap(\.operation)
    }
}

/// What the operators of a part of a plan do: of one table's plan, of one SELECT, of a sub-query.
final class PlanMeasure {
    unowned let run: RunMeasure
    /// The access to the rows of a table, or the source of row ids.
    let access = OperatorMeasure()
    private var operators: [OperatorMeasure] = []
    private var parts: [Int: PlanMeasure] = [:]
    /// The operator that gives the rows of a join's loop to the next one; nil: the access does.
    var loopEnd: OperatorMeasure?
    /// How many rows the scans of the part found.
    var found = 0

    init(_ run: RunMeasure) { self.run = run }

    /// The measure of a part, such as one table of a join.
    func part(_ number: Int) -> PlanMeasure {
        if let known = parts[number] { return known }
        let made = PlanMeasure(run)
        parts[number] = made
        return made
    }

    func at(_ operation: PlanNode.Operator) -> OperatorMeasure {
        if let known = operators.first(where: { $0.operation == operation }) { return known }
        let made = OperatorMeasure(operation)
        operators.append(made)
        return made
    }

    /// Whether an operator ran.
    func ran(_ operation: PlanNode.Operator) -> Bool {
        operators.contains { $0.operation == operation && $0.counts.runs > 0 }
    }

    /// Takes down one run of an operator.
    func note(_ operation: PlanNode.Operator, rows: Int, passed: Int, memory: Int = 0) {
        let measure = at(operation)
        measure.counts.runs += 1
        measure.counts.rows += rows
        measure.counts.passed += passed
        measure.hold(memory)
    }

    /// What a node shows of an operator.
    func counts(_ operation: PlanNode.Operator) -> PlanNode.Counts {
        guard let measure = (operators + [access]).first(where: { $0.operation == operation }) else {
            return PlanNode.Counts()
        }
        measure.isShown = true
        return measure.counts
    }

    /// What was measured before a scan, and which operator was at work.
    struct ScanStart {
        fileprivate let working: OperatorMeasure?
        fileprivate let counts: PlanNode.Counts
        fileprivate let found: Int
    }

    /// Begins a run of the access and of the filter, which tests the rows while they are read.
    func beginScan() -> ScanStart {
        access.counts.runs += 1
        return ScanStart(working: run.turn(to: access), counts: access.counts, found: found)
    }

    /// Does something with a row that the scan gives: in the time of the operator that was at work before.
    @inline(__always)
    func passing<R>(_ start: ScanStart, _ body: () throws -> R) rethrows -> R {
        found += 1
        run.turn(to: start.working)
        defer { run.turn(to: access) }
        return try body()
    }

    func endScan(_ start: ScanStart, isTested: Bool) {
        run.turn(to: start.working)
        let given = found - start.found
        let examined = max(access.counts.entries - start.counts.entries, access.counts.rows - start.counts.rows)
        if isTested { note(.filter, rows: examined, passed: given) }
        access.counts.passed += isTested ? examined : given
    }

    /// Adds what another run of the same operators did over a part of the rows: together they are one run.
    func add(_ other: PlanMeasure) {
        for operation in other.operators {
            if let known = operation.operation { at(known).add(operation.counts) }
        }
        if let known = other.access.operation { access.operation = known }
        access.add(other.access.counts)
        found += other.found
        for (number, measure) in other.parts { part(number).add(measure) }
    }

    fileprivate var all: [OperatorMeasure] { operators + [access] + parts.values.flatMap(\.all) }
}

extension RunMeasure {
    /// Does something with a row that an operator lends: in the time of the operator that was at work before it.
    @inline(__always)
    func passing<R>(
        from operation: OperatorMeasure, to before: OperatorMeasure?, _ body: () throws -> R
    ) rethrows -> R {
        turn(to: before)
        defer { turn(to: operation) }
        return try body()
    }
}

extension PlanMeasure? {
    /// Measures something by itself that is a part of a run, and adds it.
    func ofPart<R>(_ body: (PlanMeasure?) throws(RecordError) -> R) throws(RecordError) -> R {
        guard let self else { return try body(nil) }
        let part = RunMeasure()
        let before = self.run.turn(to: nil)
        defer { self.run.turn(to: before) }
        let result = try body(part.root)
        self.add(part.root)
        return result
    }

    /// Does something in the time of an operator, where that is measured.
    func during<R>(
        _ operation: PlanNode.Operator, _ body: (OperatorMeasure?) throws(RecordError) -> R
    ) throws(RecordError) -> R {
        guard let self else { return try body(nil) }
        let measure = self.at(operation)
        measure.counts.runs += 1
        let before = self.run.turn(to: measure)
        defer { self.run.turn(to: before) }
        return try body(measure)
    }
}
