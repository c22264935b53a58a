/// The plan of a query and the rejected alternatives, as a value.
///
///     let explanation = try selection.explanation(catalogue, in: view)
///     if !explanation.usesIndex("Person.age") { print(explanation.missingIndexes) }
public struct PlanExplanation: Sendable, Hashable, Encodable, CustomStringConvertible {
    /// An access path.
    public struct AccessPath: Sendable, Hashable, Encodable {
        /// Its operators in one line.
        public let text: String
        /// The expected number of rows read.
        public let expectedRows: Double
        /// The expected cost, in units of a short scanned row.
        public let cost: Double
        /// The names of the indexes used.
        public let indexes: [String]
    }

    @available(*, deprecated, renamed: "AccessPath")
    package typealias Way = AccessPath

    /// An index that would serve the query, and does not exist.
    public struct MissingIndex: Sendable, Hashable, Encodable {
        /// The table.
        public let table: String
        /// The columns, in the order that the index needs.
        public let columns: [String]
    }

    /// The access path of the plan.
    public let chosen: AccessPath
    /// The alternatives with higher cost, cheapest first.
    public let rejected: [AccessPath]
    /// The number of rows of the table, or the assumed one.
    public let tableRows: Double
    /// Indexes that would serve the query.
    public let missingIndexes: [MissingIndex]
    /// The operators of the plan, with counts if the query was analyzed.
    public internal(set) var plan: PlanNode
    /// What the operators did in one run; `nil` if the query was only planned.
    public var analysis: PlanAnalysis?

    /// Returns whether the plan uses the index.
    public func usesIndex(_ name: String) -> Bool { chosen.indexes.contains(name) }

    public var description: String {
        var lines = [analysis?.description ?? plan.description]
        lines += rejected.map { "  instead of: \($0.text) (\(PlanExplanation.numbers($0)))" }
        lines += missingIndexes.map { "  an index over \($0.columns.joined(separator: ", ")) would help" }
        return lines.joined(separator: "\n")
    }

    private static func numbers(_ accessPath: AccessPath) -> String {
        "\(PlanNode.rows(accessPath.expectedRows)), \(PlanNode.cost(accessPath.cost))"
    }
}
