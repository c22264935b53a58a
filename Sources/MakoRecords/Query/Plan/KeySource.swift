/// Where the keys of rows come from when they are gathered before a row is read. The rows are then read in the order of keys, each once.
indirect enum KeySource: Sendable {
    case access(Access)
    /// The keys of all.
    case union([KeySource])
    /// The keys that each of them has.
    case intersection([KeySource])
    /// The rows whose column has one of a sub-query's values; no index: the column is the key.
    case members(SubqueryPlan, IndexHandle?)
    /// The rows that rows of a sub-query are linked to.
    case linked(SubqueryPlan)
    /// The rows to which so many rows of a sub-query are linked; never none.
    case counted(SubqueryPlan, ComparisonOperator, Int64)

    /// Whether each key is of a row that is there.
    var namesRows: Bool {
        switch self {
        case .access(.index): true
        case .access(.gathered(let inner)): inner.namesRows
        case .access(.fullText): true
        case .access, .linked, .counted: false
        case .members(_, let index): index != nil
        case .union(let parts): parts.allSatisfy(\.namesRows)
        case .intersection(let parts): parts.contains(where: \.namesRows)
        }
    }

    /// The indexes that are walked.
    var indexes: [String] {
        switch self {
        case .access(.index(let index, _)): [index.schema.name]
        case .access(.gathered(let inner)): inner.indexes
        case .access(.fullText(let found)): [found.match.index.schema.name]
        case .access, .linked, .counted: []
        case .members(_, let index): index.map { [$0.schema.name] } ?? []
        case .union(let parts), .intersection(let parts): parts.flatMap(\.indexes)
        }
    }
}
