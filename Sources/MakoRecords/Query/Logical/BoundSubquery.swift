/// A value of the query around a sub-query, as the sub-query sees it.
struct OuterValue: Sendable, Hashable {
    /// Its place among the values that the sub-query is given for each row.
    let index: Int
    let kind: ValueKind
    let path: String
    let collation: Collation?
}

/// What the planner makes of a sub-query; its description names what it gives.
protocol PlannedSubquery: AnyObject, Sendable, CustomStringConvertible {}

/// A sub-query whose names are resolved.
///
/// What does not read the query around it is run once for a run of that. What does, and compares a column with a value of the row by `=`,
/// is looked up by that column; where many rows ask, all its rows are gone through once and kept by that column's values instead.
final class BoundSubquery: Sendable, Hashable {
    enum Form: Sendable { case exists, list, scalar }

    enum Query: Sendable {
        /// Rows of one table, which are looked at one by one.
        case rows(BoundSelection)
        /// Groups, joined tables and what is put together: worked out as a whole.
        case statement(LogicalPlan)
        /// The same where it reads the row around: worked out as a whole for each row.
        case perRow(RowStatement)
        /// The rows whose keys a column of keys holds, which is the first outer value, that fulfil the condition.
        case held(BoundSelection)
        /// The rows that hold the key of the row around in a column of keys; the key's parts are the first outer values.
        case holders(BoundSelection, column: String, isRowID: Bool)
    }

    let form: Form
    let query: Query
    /// What is read of the row around, in that query's terms.
    let outers: [BoundExpr]
    /// What the rows give; nil: that they are there is all.
    let output: BoundExpr?
    let aggregate: AggregateFunction?
    /// Whether NULLs are counted, too.
    let countsRows: Bool
    /// Every table whose rows decide.
    let tables: Set<String>
    let kind: ValueKind
    /// Whether its texts are compared without regard to case: those of a list with others, and the smallest and largest with each other.
    let isNoCase: Bool
    /// The collation of what it gives.
    let collation: Collation?
    /// Nil: it was not planned yet.
    let plan: (any PlannedSubquery)?

    init(
        _ form: Form, _ query: Query, outers: [BoundExpr], output: BoundExpr? = nil,
        aggregate: AggregateFunction? = nil, countsRows: Bool = false, tables: Set<String>, kind: ValueKind,
        isNoCase: Bool = false, collation: Collation? = nil, plan: (any PlannedSubquery)? = nil
    ) {
        self.form = form
        self.query = query
        self.outers = outers
        self.output = output
        self.aggregate = aggregate
        self.countsRows = countsRows
        self.tables = tables
        self.kind = kind
        self.isNoCase = isNoCase
        self.collation = collation
        self.plan = plan
    }

    private func copy(
        reading outers: [BoundExpr]? = nil, output: BoundExpr? = nil, isNoCase: Bool? = nil,
        plan: (any PlannedSubquery)? = nil
    ) -> BoundSubquery {
        BoundSubquery(
            form, query, outers: outers ?? self.outers, output: output ?? self.output, aggregate: aggregate,
            countsRows: countsRows, tables: tables, kind: kind, isNoCase: isNoCase ?? self.isNoCase,
            collation: collation, plan: plan ?? self.plan)
    }

    /// The same sub-query beside other rows.
    func reading(_ outers: [BoundExpr]) -> BoundSubquery { copy(reading: outers) }

    /// The same list of other forms of its texts, which are compared without regard to case.
    func folded(_ output: BoundExpr?) -> BoundSubquery { copy(output: output, isNoCase: true) }

    func planned(by plan: any PlannedSubquery) -> BoundSubquery { copy(plan: plan) }

    /// Whether it must be asked anew for each row.
    var isCorrelated: Bool { !outers.isEmpty }

    static func == (left: BoundSubquery, right: BoundSubquery) -> Bool { left === right }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension BoundSubquery: CustomStringConvertible {
    var description: String { plan?.description ?? "(sub-query)" }
}
