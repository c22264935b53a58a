/// A table of a FROM clause.
package struct JoinedTable: Sendable {
    /// The name that qualifies its columns.
    let name: String
    package let table: TableHandle
    /// The query that produces the rows; `nil` for a table of the file.
    package var query: LogicalPlan?
    /// The ON conditions of a left join; `nil` for an inner join, whose conditions are among those of the query.
    package var left: [BoundCondition]?
    /// Whether its only row is the outer one of a correlated sub-query.
    package var isOuterRow = false

    var label: String {
        isOuterRow || name == table.schema.name ? table.schema.name : "\(table.schema.name) AS \(name)"
    }
}

/// A join of several tables with its condition and order.
package struct BoundJoin: Sendable {
    package var tables: [JoinedTable]
    /// The tables, then the targets of paths from them.
    package let nodes: [JoinNode]
    /// The conjuncts of the WHERE and inner ON conditions.
    package var conjuncts: [BoundCondition]
    package var orders: [BoundOrder]
    let catalogue: Catalogue
}

/// A query with the names, kinds and collations of its columns.
package protocol SelectPart: Sendable {
    var names: [String] { get }
    /// The kinds of the columns' values.
    var kinds: [ValueKind] { get }
    var collations: [Collation?] { get }
    /// Every table that the result depends on.
    var tables: Set<String> { get }
}

/// One SELECT with names resolved.
package struct BoundSelect: SelectPart {
    /// The source of the rows, ordered unless they are grouped.
    package enum Source: Sendable {
        case table(BoundSelection)
        case join(BoundJoin)
    }

    package var source: Source
    package let names: [String]
    /// The names of its columns as a table in FROM.
    let columnNames: [String]
    /// The output expressions, where rows are not grouped.
    package var outputs: [BoundExpr]
    package var group: BoundGroups?
    package let isDistinct: Bool
    package let collations: [Collation?]
    /// Whether rows are ordered by outputs only.
    let ordersByOutputs: Bool
    package let limit: Int?
    package let offset: Int
    /// The rows read beside those of the query.
    package let nodes: [JoinNode]
    /// Whether the only output is COUNT(*).
    let countsRows: Bool
    package let tables: Set<String>

    package var kinds: [ValueKind] { (group?.outputs ?? outputs).map(\.kind) }
}
