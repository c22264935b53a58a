import MakoStorage

/// How a query is run and what else was thought of, as a value.
///
///     let explanation = try selection.explanation(catalogue, in: view)
///     if !explanation.usesIndex("Person.age") { print(explanation.missingIndexes) }
public struct PlanExplanation: Sendable, Hashable, Encodable, CustomStringConvertible {
    /// One way to the rows.
    public struct Way: Sendable, Hashable, Encodable {
        /// The operators in one line.
        public let text: String
        /// How many rows are expected to be looked at.
        public let expectedRows: Double
        /// In units of a short row that a scan passes over.
        public let cost: Double
        /// The names of the indexes that are walked.
        public let indexes: [String]
    }

    /// An index that would lead to the rows, and is not there.
    public struct MissingIndex: Sendable, Hashable, Encodable {
        public let table: String
        /// In the order in which an index should have them.
        public let columns: [String]
    }

    /// What is done.
    public let chosen: Way
    /// What would have cost more, the cheapest first.
    public let rejected: [Way]
    /// How many rows the table has, or is taken to have.
    public let tableRows: Double
    public let missingIndexes: [MissingIndex]
    /// The operators that run; where the query was analyzed, with what each did.
    public internal(set) var plan: PlanNode
    /// What was done when the query was run once; nil where it was only planned.
    public var analysis: PlanAnalysis?

    /// Whether an index is walked.
    public func usesIndex(_ name: String) -> Bool { chosen.indexes.contains(name) }

    public var description: String {
        var lines = [analysis?.description ?? plan.description]
        lines += rejected.map { "  instead of: \($0.text) (\(PlanExplanation.numbers($0)))" }
        lines += missingIndexes.map { "  an index over \($0.columns.joined(separator: ", ")) would help" }
        return lines.joined(separator: "\n")
    }

    private static func numbers(_ way: Way) -> String {
        "about \(Int64(min(way.expectedRows, 1e15).rounded())) rows, cost \(Int64(min(way.cost, 1e15).rounded()))"
    }
}

extension Selection {
    /// How the selection would be run.
    ///
    /// - Parameters:
    ///   - view: what sizes are estimated by; nil: they are not known.
    ///   - result: what is wanted of the rows; needs a view.
    ///   - analyzing: whether the query is run once on the view, to measure what each operator did.
    /// - Throws: `tableNotFound`, or `syntax` pointing into the condition's text.
    public func explanation(
        _ catalogue: Catalogue, in view: Snapshot? = nil, of result: SelectionResult = .rows, analyzing: Bool = false,
        cancellation: Cancellation? = nil
    ) throws(RecordError) -> PlanExplanation {
        try followingTree(isDeep) { () throws(RecordError) in
            try treeExplanation(catalogue, in: view, result, analyzing, cancellation)
        }
    }

    private func treeExplanation(
        _ catalogue: Catalogue, in view: Snapshot?, _ result: SelectionResult, _ analyzing: Bool,
        _ cancellation: Cancellation?
    ) throws(RecordError) -> PlanExplanation {
        let bound = try bind(catalogue)
        var explanation = Planner.explanation(
            bound, try view.map { (view) throws(RecordError) in try TableEstimates(bound.table, view) } ?? .unknown)
        guard let view else { return explanation }
        var plan = try plan(catalogue, in: view)
        plan.cancellation = cancellation
        if analyzing {
            let analysis = try plan.analysis(of: result, in: view, RunMeasure())
            explanation.analysis = analysis
            explanation.plan = analysis.plan
        } else {
            explanation.plan = try plan.node(of: result, in: view, nil)
        }
        return explanation
    }
}

extension Plan {
    /// Runs the plan once and returns what its operators did.
    func analysis(
        of result: SelectionResult = .rows, in view: Snapshot, _ run: RunMeasure = RunMeasure()
    ) throws(RecordError) -> PlanAnalysis {
        let rows = try run.whole { (measure) throws(RecordError) -> Int in
            try self.run(result, in: view, measure)
        }
        return run.analysis(try node(of: result, in: view, run.root), rows: rows)
    }
}

extension Planner {
    static func explanation(_ bound: BoundSelection, _ estimates: TableEstimates) -> PlanExplanation {
        let asked = Question(bound, estimates)
        if asked.isEmpty {
            let plan = nothing(bound).node
            let way = PlanExplanation.Way(text: plan.summary, expectedRows: 0, cost: 0, indexes: [])
            return PlanExplanation(
                chosen: way, rejected: [], tableRows: estimates.rows, missingIndexes: [], plan: plan)
        }
        var (question, candidates) = candidates(asked)
        let best = cheapest(candidates)
        let chosen = candidates.remove(at: best)
        let ways = candidates.sorted { $0.cost < $1.cost }.map { way($0, question) }
        return PlanExplanation(
            chosen: way(chosen, question), rejected: ways, tableRows: estimates.rows,
            missingIndexes: missing(chosen, bound, question.constraints), plan: node(chosen, question))
    }

    private static func node(_ candidate: Candidate, _ question: Question) -> PlanNode {
        Choice(question: question, best: candidate, rivals: .none).plan().node
    }

    private static func way(_ candidate: Candidate, _ question: Question) -> PlanExplanation.Way {
        let source = KeySource.access(candidate.access)
        return PlanExplanation.Way(
            text: node(candidate, question).summary,
            expectedRows: candidate.rows, cost: candidate.cost, indexes: source.indexes)
    }

    /// The index that a scan with a filter asks for: what must be equal first, then one range.
    private static func missing(
        _ chosen: Candidate, _ bound: BoundSelection, _ constraints: [Constraint]
    ) -> [PlanExplanation.MissingIndex] {
        switch chosen.access {
        case .rows(let range) where range == .min ... .max: break
        case .keyRanges(let ranges) where ranges == [KeyRange(lower: [], upper: nil)]: break
        default: return []
        }
        var equal: [String] = []
        var others: [String] = []
        for constraint in constraints where !constraint.term.noCase {
            guard let ordinal = constraint.term.ordinal, bound.table.columns.indices.contains(ordinal) else { continue }
            let name = bound.table.columns[ordinal].name
            switch constraint.test {
            case .equal, .isNull: equal.append(name)
            case .isIn, .lower, .upper, .prefix: others.append(name)
            case .notNull: break
            }
        }
        var columns: [String] = []
        for name in equal + others.prefix(1) where !columns.contains(name) { columns.append(name) }
        return columns.isEmpty ? [] : [.init(table: bound.table.schema.name, columns: columns)]
    }
}
