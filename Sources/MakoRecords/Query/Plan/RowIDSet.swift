/// The source of a row-id set scan: row ids are collected and sorted before a row is read, and each row is read once.
indirect enum RowIDSet: Sendable {
    case access(Access)
    /// The keys that any source has.
    case union([RowIDSet])
    /// The keys that all sources have.
    case intersection([RowIDSet])
    /// The rows whose column equals a value of a sub-query; without an index the column is the key.
    case members(SubqueryPlan, IndexHandle?)
    /// The rows that a sub-query's rows reference.
    case linked(SubqueryPlan)
    /// The rows referenced by a given number of a sub-query's rows; never those with none.
    case counted(SubqueryPlan, ComparisonOperator, Int64)
    /// The rows on one side of a column of keys, found from the other side.
    case collection(CollectionSource)

    /// Whether every key is that of an existing row.
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

    /// The names of the indexes used.
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

/// The rows on one side of a column of keys, found from the other side.
struct CollectionSource: Sendable {
    enum Link: Sendable {
        /// Rows that hold the key of one of the others, found by the column's index.
        case holders(ElementIndex)
        /// Rows whose keys one of the others holds in this column.
        case held(ElementIndex)
    }

    /// The condition on the collection that is answered.
    let subquery: SubqueryPlan
    /// The plan of the rows on the other side.
    let others: Plan
    let link: Link

    /// The names of the indexes used.
    var indexes: [String] {
        let own: [String] = if case .holders(let index) = link { [index.schema.name] } else { [] }
        return own + RowIDSet.access(others.access).indexes
    }
}
