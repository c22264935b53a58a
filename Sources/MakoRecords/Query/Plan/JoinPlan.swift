/// An equation between a table's column or expression and something that is known before its rows are looked for.
struct JoinEquality: Sendable {
    /// Of the table that is looked into.
    let inner: BoundExpr
    /// Of the tables before it.
    let outer: BoundExpr
    /// Compared as doubles, because one of them may be broken or beyond 64 bits; then rows that meet are compared once more.
    let isRounded: Bool
}

/// A part of an index's key: what it is looked up by.
struct JoinKeyPart: Sendable {
    enum Origin: Sendable {
        case outer(BoundExpr)
        case constant(Value)
    }

    let origin: Origin
    let type: ColumnType
    let noCase: Bool
    let descending: Bool
}

/// How the rows of one table are found, once those of the tables before it stand.
struct JoinStep: Sendable {
    enum Method: Sendable {
        /// All that its own condition leaves, for each row before it.
        case first
        case key([JoinKeyPart])
        case index(IndexHandle, [JoinKeyPart])
        /// Those that hold a key in a column of keys.
        case holders(Holders, BoundExpr)
        /// Those whose keys a column of keys holds.
        case held(BoundExpr)
        /// Read once and kept under what they are compared by; without equations, as one list.
        case kept([JoinEquality])
        /// Walked once, when all that stands before it was kept under what it is compared by.
        case walked([JoinEquality])
    }

    /// A column of keys that is looked into, and what keys it holds.
    struct Holders: Sendable {
        let index: ElementIndex
        let isRowID: Bool
        let type: ColumnType
    }

    let source: Int
    let isLeft: Bool
    let method: Method
    /// The table's own rows, by its own condition.
    var own: Plan
    /// What is tested of a row and those before it.
    let match: [BoundCondition]
    /// What is tested once the row, or the row of NULLs in its place, stands.
    let after: [BoundCondition]
}

/// How the rows of a join are found.
struct JoinPlan: Sendable {
    let sources: [JoinedTable]
    let joins: [JoinNode]
    private(set) var steps: [JoinStep]
    /// Whether the rows come in the wanted order.
    let isOrdered: Bool
    /// Whether it is that of a query without tables, which has one row.
    var isOneRow = false
    /// Decides whether that row comes.
    var condition: BoundCondition?
    /// How many rows are expected, and what they are expected to cost, in the units of ``CostModel``.
    var expectedRows = 0.0
    var cost = 0.0
    /// How many orders and beginnings of orders were weighed.
    var weighed = 0
    var cancellation: Cancellation? {
        didSet { for place in steps.indices { steps[place].own.cancellation = cancellation } }
    }
}

extension JoinPlan {
    /// Which table is walked once others are known, or else first; there is one.
    var driver: Int {
        steps.firstIndex { if case .walked = $0.method { true } else { false } } ?? 0
    }

    /// The same with another plan for the rows of that table.
    func reading(_ plan: Plan) -> JoinPlan {
        var copy = self
        copy.steps[driver].own = plan
        return copy
    }
}

extension JoinStep {
    /// The indexes that are walked.
    var indexes: [String] {
        switch method {
        case .key, .held: []
        case .index(let index, _): [index.schema.name]
        case .holders(let holders, _): [holders.index.schema.name]
        case .first, .kept, .walked: KeySource.access(own.access).indexes
        }
    }
}
