/// What the operators of a plan did in one run of the query.
///
///     let explanation = try selection.explanation(catalogue, in: view, analyzing: true)
///     for step in explanation.analysis?.steps ?? [] { print(step.text, step.examinedRows, step.passed, step.time) }
public struct PlanAnalysis: Sendable, Hashable, CustomStringConvertible {
    /// An operator that the rows pass.
    public struct Step: Sendable, Hashable, CustomStringConvertible {
        package let node: PlanNode
        private var counts: PlanNode.Counts { node.counts ?? PlanNode.Counts() }

        /// The operator's text in the plan.
        public var text: String { node.text }
        /// The number of index entries read.
        public var examinedEntries: Int { counts.entries }
        /// The number of rows examined: rows of the table for an access path, rows of the inputs for other operators.
        public var examinedRows: Int { counts.rows }
        /// The number of rows passed to the next step.
        public var passed: Int { counts.passed }
        /// The time of the step itself, without its inputs and the steps after it. The time of a filter is part of that
        /// of its input.
        public var time: Duration { counts.time }
        /// The peak number of bytes of rows, keys or values held.
        public var memory: Int { counts.memory }

        public var description: String { "\(text) (\(counts))" }
    }

    /// A sub-query; conditions and aggregates on collections are sub-queries, too.
    public struct Subquery: Sendable, Hashable, CustomStringConvertible {
        let node: PlanNode

        /// The operator's text in the plan.
        public var text: String { node.text }
        /// The number of index entries read in all runs.
        public var examinedEntries: Int { node.access.reduce(0) { $0 + ($1.counts?.entries ?? 0) } }
        /// The number of rows examined in all runs; what is cached is counted once.
        public var examinedRows: Int { node.access.reduce(0) { $0 + ($1.counts?.rows ?? 0) } }

        public var description: String {
            let entries = examinedEntries == 0 ? "" : "\(PlanNode.count(examinedEntries, "entry", "entries")), "
            return "\(text) (\(entries)\(PlanNode.count(examinedRows, "row", "rows")) examined)"
        }
    }

    /// The operators, each with its counts.
    public let plan: PlanNode
    /// The number of rows of the result.
    public let rows: Int
    /// The time from the start of the run to the last row, without planning.
    public let time: Duration

    /// The operators in the order in which rows pass them, without those of sub-queries.
    public var steps: [Step] { plan.operators { !$0.isSubquery }.map { Step(node: $0) } }

    /// The sub-queries that ran, nested ones included.
    public var subqueries: [Subquery] {
        plan.operators.filter { $0.isSubquery && $0.operators.contains { $0.counts?.runs ?? 0 > 0 } }
            .map { Subquery(node: $0) }
    }

    /// The plan with the counts of each operator, and a line for the whole run.
    public var description: String { "\(plan)\n\(PlanNode.count(rows, "row", "rows")) in \(time.inMilliseconds)" }
}

extension PlanNode {
    /// The access paths of a sub-query, without those of nested sub-queries.
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
