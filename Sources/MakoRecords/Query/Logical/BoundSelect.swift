/// A table of a FROM clause.
struct JoinedTable: Sendable {
    /// What its columns are called by.
    let name: String
    let table: TableHandle
    /// The query whose rows the table has; nil: it is a table of the file.
    var query: LogicalPlan?
    /// Whether rows before it that meet none of its rows stay, and when they meet; nil for an inner join, whose conditions stand with all others.
    var left: [BoundCondition]?

    var label: String { name == table.schema.name ? name : "\(table.schema.name) AS \(name)" }
}

/// Several tables and what is asked of their rows.
struct BoundJoin: Sendable {
    var tables: [JoinedTable]
    /// The tables first, and then what paths from them lead to.
    let nodes: [JoinNode]
    /// What every row must fulfil.
    var conjuncts: [BoundCondition]
    var orders: [BoundOrder]
    let catalogue: Catalogue
}

/// A statement with names, values and collations of the columns that it gives.
protocol SelectPart: Sendable {
    var names: [String] { get }
    /// What kinds of values the columns have.
    var kinds: [ValueKind] { get }
    var collations: [Collation?] { get }
    /// Every table whose rows decide what comes.
    var tables: Set<String> { get }
}

/// One SELECT whose names are resolved.
struct BoundSelect: SelectPart {
    /// Where the rows come from, with the orders of rows that are not grouped.
    enum Source: Sendable {
        case table(BoundSelection)
        case join(BoundJoin)
    }

    var source: Source
    let names: [String]
    /// What its columns are called as a table in FROM.
    let columnNames: [String]
    /// What is told of each row, where rows are not grouped.
    var outputs: [BoundExpr]
    var group: BoundGroups?
    let isDistinct: Bool
    let collations: [Collation?]
    /// Whether rows are ordered by nothing but what they consist of.
    let ordersByOutputs: Bool
    let limit: Int?
    let offset: Int
    /// The rows beside those that are asked about.
    let nodes: [JoinNode]
    /// Whether nothing is asked for but the number of the rows.
    let countsRows: Bool
    let tables: Set<String>

    var kinds: [ValueKind] { (group?.outputs ?? outputs).map(\.kind) }
}
