/// What the operators of a plan did when the query was run once.
///
///     let explanation = try selection.explanation(catalogue, in: view, analyzing: true)
///     for step in explanation.analysis?.steps ?? [] { print(step.text, step.examinedRows, step.passed, step.time) }
public struct PlanAnalysis: Sendable, Hashable, CustomStringConvertible {
    /// An operator on the way of the rows.
    public struct Step: Sendable, Hashable, CustomStringConvertible {
        let node: PlanNode
        private var counts: PlanNode.Counts { node.counts ?? PlanNode.Counts() }

        /// As the plan prints it.
        public var text: String { node.text }
        /// How many entries of indexes were read.
        public var examinedEntries: Int { counts.entries }
        /// How many rows were examined: rows of the table in a step that finds them, in any other those that came from the steps before.
        public var examinedRows: Int { counts.rows }
        /// How many rows the step gave to the next one.
        public var passed: Int { counts.passed }
        /// Spent in the step itself, without those before and behind it. A filter works in the time of the step before it.
        public var time: Duration { counts.time }
        /// How many bytes of rows, keys or values it held at the most.
        public var memory: Int { counts.memory }

        public var description: String { "\(text) (\(counts))" }
    }

    /// A sub-query, or a condition on many or what is computed from many, which are sub-queries too.
    public struct Subquery: Sendable, Hashable, CustomStringConvertible {
        let node: PlanNode

        /// As the plan prints it.
        public var text: String { node.text }
        /// How many entries of indexes were read for all rows that needed it.
        public var examinedEntries: Int { node.access.reduce(0) { $0 + ($1.counts?.entries ?? 0) } }
        /// How many rows of its tables were examined for all rows that needed it; what is found once is counted once.
        public var examinedRows: Int { node.access.reduce(0) { $0 + ($1.counts?.rows ?? 0) } }

        public var description: String {
            let entries = examinedEntries == 0 ? "" : "\(PlanNode.count(examinedEntries, "entry", "entries")), "
            return "\(text) (\(entries)\(PlanNode.count(examinedRows, "row", "rows")) examined)"
        }
    }

    /// The operators, each with its counts.
    public let plan: PlanNode
    /// How many rows came out in the end.
    public let rows: Int
    /// From the beginning of the run to the last row; without planning.
    public let time: Duration

    /// The operators in the order in which rows go through them, without those of sub-queries.
    public var steps: [Step] { plan.operators { !$0.isSubquery }.map { Step(node: $0) } }

    /// The sub-queries that were run, also inside each other.
    public var subqueries: [Subquery] {
        plan.operators.filter { $0.isSubquery && $0.operators.contains { $0.counts?.runs ?? 0 > 0 } }
            .map { Subquery(node: $0) }
    }

    /// The plan with what each operator did, and a line for the whole.
    public var description: String { "\(plan)\n\(PlanNode.count(rows, "row", "rows")) in \(time.inMilliseconds)" }
}

extension PlanNode {
    /// What finds the rows of a sub-query, without sub-queries inside it.
    fileprivate var access: [PlanNode] {
        let parts = children.flatMap { child in child.operators { !$0.isSubquery } }
        return parts.filter(\.isAccess)
    }

    private var isAccess: Bool {
        switch operation {
        case .subqueryLookup, .scan, .keyRange, .keyLookup, .indexScan, .coveringIndexScan, .skipScan, .textSearch,
            .nearest, .rowIDLookup, .indexSearch, .keyHolders, .heldKeys, .keyJoin, .indexJoin, .keyHoldersJoin,
            .heldKeysJoin:
            true
        default: false
        }
    }
}

extension PlanAnalysis: Encodable {
    private enum Name: String, CodingKey { case plan, rows, nanoseconds }

    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Name.self)
        try fields.encode(plan, forKey: .plan)
        try fields.encode(rows, forKey: .rows)
        try fields.encode(time.wholeNanoseconds, forKey: .nanoseconds)
    }
}
