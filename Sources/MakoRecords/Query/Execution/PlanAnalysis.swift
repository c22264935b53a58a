import MakoStorage

/// What the steps of a plan did when its question was run once.
///
///     let explanation = try selection.explanation(catalogue, in: view, analyzing: true)
///     for step in explanation.analysis?.steps ?? [] { print(step.text, step.examinedRows, step.passed, step.time) }
///
/// What sub-queries read is told of apart from the steps, and their time is that of the step that asks them.
public struct PlanAnalysis: Sendable, Hashable, CustomStringConvertible {
    /// A step: the way to the rows of one table, or what is done with rows that were found.
    public struct Step: Sendable, Hashable, CustomStringConvertible {
        /// As the plan prints it.
        public let text: String
        /// How many entries of indexes were read.
        public let examinedEntries: Int
        /// How many rows were looked at: rows of the table in a step that finds them, in any other those that came from the steps before.
        public let examinedRows: Int
        /// How many rows the step gave to the next one.
        public let passed: Int
        /// Spent in the step itself, without those before and behind it.
        public let time: Duration

        public var description: String {
            let entries = examinedEntries == 0 ? "" : "\(PlanAnalysis.count(examinedEntries, "entry", "entries")), "
            let rows = PlanAnalysis.count(examinedRows, "row", "rows")
            return "\(text) (\(entries)\(rows) examined, \(passed) passed, \(time.inMilliseconds))"
        }
    }

    /// A sub-query, or a condition on many or what is worked out of many, which are sub-queries too.
    public struct Subquery: Sendable, Hashable, CustomStringConvertible {
        /// As the plan prints it.
        public let text: String
        /// How many entries of indexes were read for all rows that asked it.
        public let examinedEntries: Int
        /// How many rows of its tables were looked at for all rows that asked it; what is found once is counted once.
        public let examinedRows: Int

        public var description: String {
            let entries = examinedEntries == 0 ? "" : "\(PlanAnalysis.count(examinedEntries, "entry", "entries")), "
            return "sub-query \(text) (\(entries)\(PlanAnalysis.count(examinedRows, "row", "rows")) examined)"
        }
    }

    /// In the order in which rows go through them.
    public let steps: [Step]
    /// Those that were asked, also by others of them, in the order in which they were asked first; equal ones together.
    public let subqueries: [Subquery]
    /// How many rows came out in the end.
    public let rows: Int
    /// From the beginning of the run to the last row; without planning.
    public let time: Duration

    /// A line for each step and each sub-query, and one for all.
    public var description: String { lines.joined(separator: "\n") }

    var lines: [String] {
        steps.map(\.description) + subqueries.map(\.description)
            + ["\(PlanAnalysis.count(rows, "row", "rows")) in \(time.inMilliseconds)"]
    }

    private static func count(_ number: Int, _ one: String, _ many: String) -> String {
        "\(number) \(number == 1 ? one : many)"
    }
}

extension Duration {
    /// Milliseconds with three digits behind the point: `1.204 ms`.
    var inMilliseconds: String {
        let (seconds, attoseconds) = components
        let micros = seconds * 1_000_000 + attoseconds / 1_000_000_000_000
        let digits = String(micros % 1000)
        return "\(micros / 1000).\(String(repeating: "0", count: max(0, 3 - digits.count)))\(digits) ms"
    }
}

/// What one step reads and gives on while a run is measured.
final class StepMeasure {
    let text: String
    var entries = 0
    var rows = 0
    var passed = 0
    fileprivate(set) var time = Duration.zero

    init(_ text: String) { self.text = text }

    /// What was met while keys were gathered.
    func note(_ count: Int, of access: Access) {
        switch access {
        case .index, .fullText: entries += count
        case .rows, .keyRanges: rows += count
        // Keys that are given are looked at nowhere, and what is gathered was noted when it was.
        case .nothing, .keys, .gathered, .query: break
        }
    }
}

extension StepMeasure {
    /// Rows that were looked up for those before them: by an index each is an entry, too.
    func noteLookups(_ count: Int, by method: JoinStep.Method) {
        rows += count
        switch method {
        case .index, .holders: entries += count
        case .first, .key, .held, .kept, .walked: break
        }
    }
}

/// What the sub-queries of a measured run read. Found where a sub-query is first asked, which is deep inside conditions and values.
final class SubqueryMeasures: @unchecked Sendable {
    // Unchecked: a run is one thread's.

    @TaskLocal static var current: SubqueryMeasures?

    private var measures: [StepMeasure] = []

    func measure(of subquery: SubqueryPlan) -> StepMeasure {
        if let known = measures.first(where: { $0.text == subquery.description }) { return known }
        let made = StepMeasure(subquery.description)
        measures.append(made)
        return made
    }

    var found: [PlanAnalysis.Subquery] {
        measures.map { PlanAnalysis.Subquery(text: $0.text, examinedEntries: $0.entries, examinedRows: $0.rows) }
    }
}

/// Measures one run: at each moment one step is at work, or none. Only a run that is to be measured has one.
final class RunMeasure {
    let steps: [StepMeasure]
    private let subqueries = SubqueryMeasures()
    private var working = -1
    private var since: ContinuousClock.Instant
    private let start: ContinuousClock.Instant

    init(_ texts: [String]) {
        steps = texts.map { StepMeasure($0) }
        start = .now
        since = start
    }

    /// Gives the time to a step from now on, or to none; answers the one that had it.
    @discardableResult
    func turn(to step: Int) -> Int {
        let now = ContinuousClock.now
        if working >= 0 { steps[working].time += since.duration(to: now) }
        let before = working
        (working, since) = (step, now)
        return before
    }

    /// Does something on the time of a step.
    func during<R>(_ step: Int, _ body: () throws -> R) rethrows -> R {
        let before = turn(to: step)
        defer { turn(to: before) }
        return try body()
    }

    /// Does what the run is; the sub-queries that it asks are measured.
    func whole<R>(_ body: () throws -> R) throws(RecordError) -> R {
        try recorded { try SubqueryMeasures.$current.withValue(subqueries, operation: body) }
    }

    /// What was measured up to now.
    func analysis(rows: Int) -> PlanAnalysis {
        turn(to: -1)
        return PlanAnalysis(
            steps: steps.map {
                PlanAnalysis.Step(
                    text: $0.text, examinedEntries: $0.entries, examinedRows: $0.rows, passed: $0.passed, time: $0.time)
            },
            subqueries: subqueries.found, rows: rows, time: start.duration(to: since))
    }
}

extension Plan {
    /// The texts of its steps: finding, and sorting where that is left to do.
    var stepTexts: [String] { [text.find] + (text.sort.map { [$0] } ?? []) }

    /// Runs the plan once and tells what its steps did.
    public func analysis(in view: Snapshot) throws(RecordError) -> PlanAnalysis {
        let run = RunMeasure(stepTexts)
        var count = 0
        try run.whole {
            try forEachRow(in: view, run) { _, _ in
                count += 1
                return true
            }
        }
        return run.analysis(rows: count)
    }

    /// Lends the rows, as ``forEachRow(layout:in:_:)`` does; its steps are the first ones of the run, and the time is none's while the closure
    /// has a row, unless that says otherwise.
    func forEachRow(in view: Snapshot, _ run: RunMeasure, _ body: (RowKey, RowReader) throws -> Bool) throws {
        let find = run.steps[0]
        let scan = RowScan(self, view)
        scan.measure = find
        func give(_ step: StepMeasure, _ key: RowKey, _ row: RowReader) throws -> Bool {
            step.passed += 1
            return try run.during(-1) { try body(key, row) }
        }
        guard text.sort != nil else {
            return try run.during(0) {
                try forEachRow(table.layout, scan, view) { key, row in try give(find, key, row) }
            }
        }
        let keys = try run.during(0) { () throws -> [RowKey] in
            if let nearest { return try nearest.keys(self, view, find) }
            let sorter = Sorter(self, view)
            try scan.forEachRow(table.layout, expecting: 1 << 20) { key, row in
                find.passed += 1
                try run.during(1) { try sorter.add(key, row) }
                return true
            }
            return try run.during(1) { try sorter.sorted(offset: bound.offset, limit: bound.limit) }
        }
        let sort = run.steps[1]
        // Rows that are read once more, in their order, are no more rows.
        scan.measure = nil
        sort.rows = find.passed
        try run.during(1) {
            try scan.fetch(keys, table.layout) { key, row in try give(sort, key, row) }
        }
    }
}
