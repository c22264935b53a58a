import MakoStorage
import Synchronization

/// The plan of a sub-query.
final class SubqueryPlan: PlannedSubquery {
    enum Source: Sendable {
        case plan(Plan)
        /// A statement; if it is correlated, it runs with the values of each outer row.
        case statement(StatementPlan)
        /// The rows whose keys a column of keys, the first outer value, holds, and that fulfil the plan's condition.
        case held(Plan)
        /// The plan's rows whose column of keys holds the key of the outer row; its parts are the first outer values.
        case holders(Plan, column: String, isRowID: Bool)
    }

    /// Columns of the sub-query's table that must equal outer values.
    struct Link: Sendable {
        let columns: [BoundColumn]
        /// Indexes of the outer values.
        let outers: [Int]
        /// Finds the rows with given values of the columns; `nil` if no key or index does, and `all` is there.
        let probe: SubqueryProbe?
        /// All rows that may be linked to any outer row; `nil` if another condition reads the outer row, too, or rows
        /// are wanted instead of one result for each value of the columns.
        let all: Plan?
        /// The index whose entries give the number of linked rows; `nil` if the rows must be read.
        let counting: IndexHandle?

        /// The rows of a scan, or entries of an index, that cost as much as a lookup.
        var rowsPerLookup: Int { counting == nil ? 32 : 128 }
    }

    let query: BoundSubquery
    let source: Source
    /// The output, see ``BoundSubquery/output``.
    let output: BoundExpr?
    let link: Link?
    private let made = LazyReference<Words>()

    /// Its text, cached, because nested sub-queries print those inside them.
    private final class Words: Sendable {
        let text: String

        init(_ text: String) { self.text = text.utf8.count > 1000 ? text.prefix(1000) + "…)" : text }
    }

    var description: String { made.loadOrMake { Words(words()) }.text }

    init(_ query: BoundSubquery, _ source: Source, output: BoundExpr?, link: Link? = nil) {
        self.query = query
        self.source = source
        self.output = output
        self.link = link
    }

    var aggregate: AggregateFunction? { query.aggregate }
    var isNoCase: Bool { query.isNoCase }
    var isCorrelated: Bool { query.isCorrelated }
}

/// The lookup of the rows of a sub-query that are linked to one outer row.
struct SubqueryProbe: Sendable {
    enum AccessPath: Sendable {
        /// The linked column is the table's row id.
        case rowID
        /// The linked columns are the table's key.
        case key
        /// The linked columns are the first ones of an index.
        case index(IndexHandle)
        /// The rows of the plan, which reads no outer value, are kept by the linked columns.
        case kept(Plan)
    }

    let accessPath: AccessPath
    /// The linked columns in the order of the key or index.
    let order: [Int]
    /// The residual condition.
    let residual: BoundCondition?
}
