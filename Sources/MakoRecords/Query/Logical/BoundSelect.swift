/// A table of a FROM clause.
struct JoinedTable: Sendable {
    /// The name that qualifies its columns.
    let name: String
    let table: TableHandle
    /// The query that produces the rows; `nil` for a table of the file.
    var query: LogicalPlan?
    /// The ON conditions of a left join; `nil` for an inner join, whose conditions are among those of the query.
    var left: [BoundCondition]?

    var label: String { name == table.schema.name ? name : "\(table.schema.name) AS \(name)" }
}

/// A join of several tables with its condition and order.
struct BoundJoin: Sendable {
    var tables: [JoinedTable]
    /// The tables, then the targets of paths from them.
    let nodes: [JoinNode]
    /// The conjuncts of the WHERE and inner ON conditions.
    var conjuncts: [BoundCondition]
    var orders: [BoundOrder]
    let catalogue: Catalogue
}

/// A query with the names, kinds and collations of its columns.
protocol SelectPart: Sendable {
    var names: [String] { get }
    /// The kinds of the columns' values.
    var kinds: [ValueKind] { get }
    var collations: [Collation?] { get }
    /// Every table that the result depends on.
    var tables: Set<String> { get }
}

/// One SELECT with names resolved.
struct BoundSelect: SelectPart {
    /// The source of the rows, ordered unless they are grouped.
    enum Source: Sendable {
        case table(BoundSelection)
        case join(BoundJoin)
    }

    var source: Source
    let names: [String]
    /// The names of its columns as a table in FROM.
    let columnNames: [String]
    /// The output expressions, where rows are not grouped.
    var outputs: [BoundExpr]
    var group: BoundGroups?
    let isDistinct: Bool
    let collations: [Collation?]
    /// Whether rows are ordered by outputs only.
    let ordersByOutputs: Bool
    let limit: Int?
    let offset: Int
    /// The rows read beside those of the query.
    let nodes: [JoinNode]
    /// Whether the only output is COUNT(*).
    let countsRows: Bool
    let tables: Set<String>

    var kinds: [ValueKind] { (group?.outputs ?? outputs).map(\.kind) }
}
