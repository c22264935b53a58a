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
