/// An equation between an expression of the inner table and one of the outer tables.
struct JoinEquality: Sendable {
    /// The expression of the inner table.
    let inner: BoundExpr
    /// The expression of the outer tables.
    let outer: BoundExpr
    /// Whether the hash key is a double, because one side may be fractional or beyond 64 bits; matches are then
    /// compared again.
    let isRounded: Bool
}

/// A column of a lookup key, and where its value comes from.
struct JoinKeyPart: Sendable {
    enum Origin: Sendable {
        case outer(BoundExpr)
        case constant(Value)

        var expr: BoundExpr {
            switch self {
            case .outer(let expr): expr
            case .constant(let value): .constant(value)
            }
        }
    }

    let origin: Origin
    let type: ColumnType
    let noCase: Bool
    let descending: Bool
}

/// The join of one table with the tables before it.
struct JoinStep: Sendable {
    enum Method: Sendable {
        /// Nested loop: all rows that pass the table's own condition.
        case first
        case key([JoinKeyPart])
        case index(IndexHandle, [JoinKeyPart])
        /// Nested loop over a range of the table's keys, or of an index.
        case range(JoinRange)
        /// The rows whose column of keys holds a key.
        case holders(Holders, BoundExpr)
        /// The rows whose keys a column of keys holds.
        case held(BoundExpr)
        /// Hash join: builds a hash table of the inner rows; without equations, a list.
        case kept([JoinEquality])
        /// Hash join with the outer rows in the hash table, and one scan of the inner rows.
        case outerHash([JoinEquality])
    }

    /// A column of keys that is searched, and the form of its keys.
    struct Holders: Sendable {
        let index: ElementIndex
        let isRowID: Bool
        let type: ColumnType
    }

    let source: Int
    let isLeft: Bool
    let method: Method
    /// The plan of the table's own rows, by its own condition; of a range, without the range.
    var own: Plan
    /// The conditions on a row and the rows before it.
    let match: [BoundCondition]
    /// The conditions tested after the row of NULLs has been added for a left join.
    let after: [BoundCondition]
}

/// The plan of a join.
struct JoinPlan: Sendable {
    let sources: [JoinedTable]
    let joins: [JoinNode]
    private(set) var steps: [JoinStep]
    /// Whether the rows come in the wanted order.
    let isOrdered: Bool
    /// Whether it is the plan of a query without tables, which has one row.
    var isOneRow = false
    /// The condition of that one row.
    var condition: BoundCondition?
    /// The expected number of rows, and the expected cost in units of ``CostModel``.
    var expectedRows = 0.0
    var cost = 0.0
    /// The number of orders and prefixes that were costed.
    var weighed = 0
    var cancellation: Cancellation? {
        didSet { for place in steps.indices { steps[place].own.cancellation = cancellation } }
    }
}

extension JoinPlan {
    /// The index of the table that is scanned once: the one joined to a hash table of outer rows, or the first.
    var driver: Int {
        steps.firstIndex { if case .outerHash = $0.method { true } else { false } } ?? 0
    }

    /// Returns the join with another plan for that table.
    func reading(_ plan: Plan) -> JoinPlan {
        var copy = self
        copy.steps[driver].own = plan
        return copy
    }

    /// Returns the join with another plan for each table.
    func reading(_ plan: (Plan) -> Plan) -> JoinPlan {
        var copy = self
        for place in steps.indices { copy.steps[place].own = plan(steps[place].own) }
        return copy
    }
}

extension JoinStep {
    /// The names of the indexes used.
    var indexes: [String] {
        switch method {
        case .key, .held: []
        case .index(let index, _): [index.schema.name]
        case .holders(let holders, _): [holders.index.schema.name]
        case .first, .range, .kept, .outerHash: RowIDSet.access(own.access).indexes
        }
    }
}
