/// The columns that a selection's condition, orders and paths read, of its own table and of related ones.
struct ReadColumns: Sendable {
    private(set) var own = ColumnSet()
    /// By the joins of the selection.
    private var joined: [ColumnSet]
    /// Whether the order is by a rank, which each row has by all others.
    private(set) var hasRank = false
    private let joins: [JoinNode]
    /// Whose rows sub-queries read.
    private let tables: Set<String>

    init(_ bound: BoundSelection) {
        joins = bound.joins
        tables = bound.subqueries.reduce(into: []) { $0.formUnion($1.tables) }
        joined = Array(repeating: ColumnSet(), count: joins.count)
        for join in joins { insert(Int(join.slot.ordinal), of: join.parent) }
        if let condition = bound.condition { add(condition) }
        for order in bound.orders { add(order.expr) }
    }

    /// Whether changes of a table can matter by way of a path that leads there.
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
        switch expr {
        case .column(let column):
            // A row's id never changes.
            if let ordinal = column.ordinal { insert(ordinal, of: column.node) }
        case .constant, .result, .outer, .element, .subject: break
        case .choice(let choice):
            for each in choice.expressions { add(each) }
            for each in choice.branches { add(each.condition) }
        case .condition(let condition): add(condition)
        case .arithmetic(_, let left, let right):
            add(left)
            add(right)
        case .negate(let inner), .noCase(let inner): add(inner)
        case .function(_, let arguments): for each in arguments { add(each) }
        case .rank(let match):
            hasRank = true
            add(.match(match))
        case .excerpt(let excerpt): add(.column(excerpt.column))
        case .subquery(let subquery): for each in subquery.outers { add(each) }
        case .gathered(let gathered): add(gathered)
        }
    }

    private mutating func add(_ gathered: BoundGathered) {
        add(gathered.column)
        if let condition = gathered.condition { add(condition) }
    }

    private mutating func add(_ condition: BoundCondition) {
        switch condition {
        case .constant: break
        case .comparison(_, let left, let right), .glob(let left, let right):
            add(left)
            add(right)
        case .and(let parts), .or(let parts): for each in parts { add(each) }
        case .not(let inner): add(inner)
        case .isIn(let value, let items):
            add(value)
            for each in items { add(each) }
        case .like(let value, let pattern, let escape):
            add(value)
            add(pattern)
            if let escape { add(escape) }
        case .isNull(let value), .truth(let value): add(value)
        case .match(let match):
            for slot in match.index.slots { insert(Int(slot.ordinal), of: match.key?.node ?? -1) }
        case .isInQuery(let value, let subquery):
            add(value)
            for each in subquery.outers { add(each) }
        case .exists(let subquery): for each in subquery.outers { add(each) }
        case .anyElement(let gathered): add(gathered)
        case .holds(let inner): add(inner)
        }
    }
}
