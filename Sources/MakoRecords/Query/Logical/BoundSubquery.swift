/// A correlated parameter: a value of the outer query, as the sub-query refers to it.
package struct OuterValue: Sendable, Hashable {
    /// Its index among the correlated parameters.
    package let index: Int
    package let kind: ValueKind
    let path: String
    let collation: Collation?
}

/// A planned sub-query; its description names its result.
protocol PlannedSubquery: AnyObject, Sendable, CustomStringConvertible {}

/// A sub-query with names resolved.
///
/// An uncorrelated sub-query runs once for a run of the outer query. A correlated one with an equality between a column
/// and an outer value is looked up by that column, and for many outer rows becomes a hash join: all its rows are read
/// once into a hash table by that column.
package final class BoundSubquery: Sendable, Hashable {
    package enum Form: Sendable { case exists, list, scalar }

    package enum Query: Sendable {
        /// Rows of one table, tested one by one.
        case rows(BoundSelection)
        /// Groups, joins and compounds, run as a whole; if it is correlated, for each outer row.
        case statement(LogicalPlan)
        /// The rows whose keys a column of keys, the first outer value, holds, and that fulfil the condition.
        case held(BoundSelection)
        /// The rows whose column of keys holds the key of the outer row; its parts are the first outer values.
        case holders(BoundSelection, column: String, isRowID: Bool)

        /// The rows of one table; `nil` for a statement that runs as a whole.
        var selection: BoundSelection? {
            switch self {
            case .rows(let selection), .held(let selection), .holders(let selection, _, _): selection
            case .statement: nil
            }
        }
    }

    package let form: Form
    package let query: Query
    /// The correlated parameters, bound in the outer query.
    package let outers: [BoundExpr]
    /// The output; `nil` for EXISTS.
    package let output: BoundExpr?
    package let aggregate: AggregateFunction?
    /// Every table that the result depends on.
    let tables: Set<String>
    let kind: ValueKind
    /// Whether its texts are compared without case: those of a list with others, and those of MIN and MAX with each
    /// other.
    package let isNoCase: Bool
    /// The collation of its output.
    let collation: Collation?
    /// `nil` before planning.
    let plan: (any PlannedSubquery)?

    /// Makes a sub-query over the rows of one table.
    init(
        _ form: Form, _ query: Query, outers: [BoundExpr], output: BoundExpr?, aggregate: AggregateFunction?,
        kind: ValueKind, collation: Collation?
    ) {
        self.form = form
        self.query = query
        self.outers = outers
        self.output = output
        self.aggregate = aggregate
        tables = (output?.subqueries ?? []).reduce(into: query.selection?.allTables ?? []) { $0.formUnion($1.tables) }
        self.kind = kind
        isNoCase = false
        self.collation = collation
        plan = nil
    }

    /// Makes a sub-query that runs as a whole.
    init(_ form: Form, _ query: Query, outers: [BoundExpr], running statement: LogicalPlan) {
        self.form = form
        self.query = query
        self.outers = outers
        (output, aggregate, plan) = (nil, nil, nil)
        tables = statement.tables
        kind = form == .exists ? .null : statement.first.kinds.first ?? .null
        isNoCase = false
        collation = statement.collations.first ?? nil
    }

    private init(
        _ other: BoundSubquery, outers: [BoundExpr]? = nil, output: BoundExpr? = nil, isNoCase: Bool? = nil,
        plan: (any PlannedSubquery)? = nil
    ) {
        (form, query, aggregate) = (other.form, other.query, other.aggregate)
        (tables, kind, collation) = (other.tables, other.kind, other.collation)
        self.outers = outers ?? other.outers
        self.output = output ?? other.output
        self.isNoCase = isNoCase ?? other.isNoCase
        self.plan = plan ?? other.plan
    }

    /// Returns the sub-query with other correlated parameters.
    func reading(_ outers: [BoundExpr]) -> BoundSubquery { BoundSubquery(self, outers: outers) }

    /// Returns the list with case-folded texts, for comparisons without case.
    func folded(_ output: BoundExpr?) -> BoundSubquery {
        BoundSubquery(self, output: output, isNoCase: true)
    }

    func planned(by plan: any PlannedSubquery) -> BoundSubquery { BoundSubquery(self, plan: plan) }

    /// Whether it must be evaluated for each row.
    var isCorrelated: Bool { !outers.isEmpty }

    package static func == (left: BoundSubquery, right: BoundSubquery) -> Bool { left === right }
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension BoundSubquery: CustomStringConvertible {
    package var description: String { plan?.description ?? "(sub-query)" }
}
