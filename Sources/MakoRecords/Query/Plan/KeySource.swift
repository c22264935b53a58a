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
    /// The rows on one side of a column of keys, by those on its other side.
    case collection(CollectionSource)

    /// Whether each key is of a row that is there.
    var namesRows: Bool {
        switch self {
        case .access(.index): true
        case .access(.gathered(let inner)): inner.namesRows
        case .access(.fullText): true
        case .access, .linked, .counted: false
        case .members(_, let index): index != nil
        case .collection(let source): if case .holders = source.link { true } else { false }
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
        case .collection(let source): source.indexes
        case .union(let parts), .intersection(let parts): parts.flatMap(\.indexes)
        }
    }
}

/// Rows on one side of a column of keys, found from those on its other side.
struct CollectionSource: Sendable {
    enum Link: Sendable {
        /// Rows that hold the key of one of the others: the index over the column has them.
        case holders(ElementIndex)
        /// Rows whose keys one of the others holds in this column.
        case held(ElementIndex)
    }

    /// The condition on many that is answered.
    let subquery: SubqueryPlan
    /// Finds the others.
    let others: Plan
    let link: Link

    /// The indexes that are walked.
    var indexes: [String] {
        let own: [String] = if case .holders(let index) = link { [index.schema.name] } else { [] }
        return own + KeySource.access(others.access).indexes
    }
}
