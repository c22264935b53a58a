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
        /// Groups, joins and compounds, run as a whole.
        case statement(LogicalPlan)
        /// The same, correlated: run as a whole for each outer row.
        case perRow(RowStatement)
        /// The rows whose keys a column of keys, the first outer value, holds, and that fulfil the condition.
        case held(BoundSelection)
        /// The rows whose column of keys holds the key of the outer row; its parts are the first outer values.
        case holders(BoundSelection, column: String, isRowID: Bool)
    }

    package let form: Form
    package let query: Query
    /// The correlated parameters, bound in the outer query.
    package let outers: [BoundExpr]
    /// The output; `nil` for EXISTS.
    package let output: BoundExpr?
    package let aggregate: AggregateFunction?
    /// Whether COUNT includes rows with NULL.
    package let countsRows: Bool
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

    /// Returns the sub-query with other correlated parameters.
    func reading(_ outers: [BoundExpr]) -> BoundSubquery { copy(reading: outers) }

    /// Returns the list with case-folded texts, for comparisons without case.
    func folded(_ output: BoundExpr?) -> BoundSubquery { copy(output: output, isNoCase: true) }

    func planned(by plan: any PlannedSubquery) -> BoundSubquery { copy(plan: plan) }

    /// Whether it must be evaluated for each row.
    var isCorrelated: Bool { !outers.isEmpty }

    package static func == (left: BoundSubquery, right: BoundSubquery) -> Bool { left === right }
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension BoundSubquery: CustomStringConvertible {
    package var description: String { plan?.description ?? "(sub-query)" }
}
