/// The columns that a selection's condition, order and paths read, of its own table and of related ones.
struct ReadColumns: Sendable {
    private(set) var own = ColumnSet()
    /// The columns of related tables, by the joins of the selection.
    private var joined: [ColumnSet]
    /// Whether the order is by rank, which depends on all rows.
    private(set) var hasRank = false
    private let joins: [JoinNode]
    /// The tables that sub-queries read.
    private let tables: Set<String>

    init(_ bound: BoundSelection) {
        joins = bound.joins
        tables = bound.subqueries.reduce(into: []) { $0.formUnion($1.tables) }
        joined = Array(repeating: ColumnSet(), count: joins.count)
        for join in joins { insert(Int(join.slot.ordinal), of: join.parent) }
        if let condition = bound.condition { add(.condition(condition)) }
        for order in bound.orders { add(order.expr) }
    }

    /// Returns whether changes of a table can affect the selection through a path or a sub-query.
    func matters(_ changes: TableChanges) -> Bool {
        if tables.contains(changes.table) { return true }
        return zip(joins, joined).contains { join, columns in
            join.target.schema.name == changes.table && changes.matters(to: columns)
        }
    }

    private mutating func insert(_ ordinal: Int, of node: Int) {
        if node < 0 { own.insert(ordinal) } else { joined[node].insert(ordinal) }
    }

    private mutating func add(_ expr: BoundExpr) {
        var (columns, matches): ([BoundColumn], [BoundMatch]) = ([], [])
        expr.forEachPart { part in
            switch part {
            case .column(let column): columns.append(column)
            case .excerpt(let excerpt): columns.append(excerpt.column)
            case .rank(let match):
                hasRank = true
                matches.append(match)
            default: break
            }
        } conditions: { condition in
            if case .match(let match) = condition { matches.append(match) }
        }
        // A row's id never changes.
        for column in columns { if let ordinal = column.ordinal { insert(ordinal, of: column.node) } }
        for match in matches {
            for slot in match.index.slots { insert(Int(slot.ordinal), of: match.key?.node ?? -1) }
        }
    }
}
