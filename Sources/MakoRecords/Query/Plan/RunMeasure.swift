/// The counts of one operator in a run.
final class OperatorMeasure {
    /// The operator, set by the code that executes it; `nil` if it did not run.
    var operation: PlanNode.Operator?
    var counts = PlanNode.Counts()
    /// Whether a plan node shows the counts.
    fileprivate(set) var isShown = false

    init(_ operation: PlanNode.Operator? = nil) { self.operation = operation }

    /// Adds the counts of another run, or of one part of the rows.
    ///
    /// - Parameter isPart: whether both count as one run.
    fileprivate func add(_ part: PlanNode.Counts, isPart: Bool) {
        let isOneRun = isPart && operation?.isJoin != true
        counts.runs = isOneRun ? max(counts.runs, part.runs) : counts.runs + part.runs
        counts.entries += part.entries
        counts.rows += part.rows
        counts.passed += part.passed
        counts.time += part.time
        // Threads share the hash tables of joins, and have groups of their own.
        counts.memory = isOneRun ? counts.memory + part.memory : max(counts.memory, part.memory)
    }

    /// Records the number of bytes held.
    func hold(_ bytes: Int) { counts.memory = max(counts.memory, bytes) }
}

/// Measures one run of a plan: at each moment at most one operator is running. Only analyzed runs have a measure.
///
/// The executors report the operators that run; a check compares them with the printed plan.
final class RunMeasure: @unchecked Sendable {
    // Unchecked: one thread owns a run.

    /// The measure of the outer run, task-local because sub-queries run deep inside conditions and values.
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

    /// Returns the measure of a sub-query in this run.
    func measure(of subquery: SubqueryPlan) -> PlanMeasure {
        if let known = subqueries[ObjectIdentifier(subquery)] { return known }
        let made = PlanMeasure(self)
        subqueries[ObjectIdentifier(subquery)] = made
        return made
    }

    /// Charges the time from now on to an operator, or to none. Returns the operator charged before.
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

    /// Returns the result of the measurement.
    func analysis(_ plan: PlanNode, rows: Int) -> PlanAnalysis {
        turn(to: nil)
        return PlanAnalysis(plan: plan, rows: rows, time: start.duration(to: since))
    }

    /// The operators that ran and are missing from the plan; must be empty.
    var unshown: [PlanNode.Operator] {
        (root.all + subqueries.values.flatMap(\.all)).filter { $0.counts.runs > 0 && !$0.isShown }
            .compactMap(\.operation)
    }
}

/// The operators of a part of a plan: of one table, one SELECT or one sub-query.
final class PlanMeasure {
    unowned let run: RunMeasure
    /// The access path of a table, or the source of row ids.
    let access = OperatorMeasure()
    private var operators: [OperatorMeasure] = []
    private var parts: [Int: PlanMeasure] = [:]
    /// The operator that passes the rows of a join's loop to the next one; `nil` if the access path does.
    var loopEnd: OperatorMeasure?
    /// The number of rows that the scans of this part found.
    var found = 0

    init(_ run: RunMeasure) { self.run = run }

    /// Returns the measure of a part, such as one table of a join.
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

    /// Returns whether an operator ran.
    func ran(_ operation: PlanNode.Operator) -> Bool {
        operators.contains { $0.operation == operation && $0.counts.runs > 0 }
    }

    /// Records one run of an operator.
    func note(_ operation: PlanNode.Operator, rows: Int, passed: Int, memory: Int = 0) {
        let measure = at(operation)
        measure.counts.runs += 1
        measure.counts.rows += rows
        measure.counts.passed += passed
        measure.hold(memory)
    }

    /// Returns the counts of an operator, and marks them as shown.
    func counts(_ operation: PlanNode.Operator) -> PlanNode.Counts {
        guard let measure = (operators + [access]).first(where: { $0.operation == operation }) else {
            return PlanNode.Counts()
        }
        measure.isShown = true
        return measure.counts
    }

    /// The state at the start of a scan: its counts, and the operator charged before.
    struct ScanStart {
        fileprivate let working: OperatorMeasure?
        fileprivate let counts: PlanNode.Counts
        fileprivate let found: Int
    }

    /// Starts a run of the access path and of the filter, which tests rows while they are read.
    func beginScan() -> ScanStart {
        access.counts.runs += 1
        return ScanStart(working: run.turn(to: access), counts: access.counts, found: found)
    }

    /// Charges the processing of a row to the operator that ran before the scan.
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

    /// Adds the counts of another run of the same operators.
    ///
    /// - Parameter isPart: whether it is over a part of the rows, so that both count as one run.
    func add(_ other: PlanMeasure, isPart: Bool) {
        for operation in other.operators {
            if let known = operation.operation { at(known).add(operation.counts, isPart: isPart) }
        }
        if let known = other.access.operation { access.operation = known }
        access.add(other.access.counts, isPart: isPart)
        found += other.found
        for (number, measure) in other.parts { part(number).add(measure, isPart: isPart) }
    }

    fileprivate var all: [OperatorMeasure] { operators + [access] + parts.values.flatMap(\.all) }
}

extension RunMeasure {
    /// Charges the processing of a row to the operator that ran before this one.
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
    /// Measures a part of a run by itself, and adds its counts.
    func ofPart<R>(_ body: (PlanMeasure?) throws(RecordError) -> R) throws(RecordError) -> R {
        guard let self else { return try body(nil) }
        let part = RunMeasure()
        let before = self.run.turn(to: nil)
        defer { self.run.turn(to: before) }
        let result = try body(part.root)
        self.add(part.root, isPart: true)
        return result
    }

    /// Measures one of several runs of the same operators, and adds its counts.
    func ofRun<R>(_ body: (PlanMeasure?) throws(RecordError) -> R) throws(RecordError) -> R {
        guard let self else { return try body(nil) }
        let one = PlanMeasure(self.run)
        let result = try body(one)
        self.add(one, isPart: false)
        return result
    }

    /// Charges a closure to an operator, if the run is measured.
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
