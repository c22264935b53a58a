import MakoStorage
import Synchronization

/// Plans a statement for the values that it reads of one row.
protocol RowPlanner: Sendable {
    /// The statement, as it is written.
    var text: String { get }
    func plan(_ values: [Value], in view: Snapshot) throws(RecordError) -> StatementPlan
}

/// How a sub-query is run.
final class SubqueryPlan: PlannedSubquery {
    enum Source: Sendable {
        case plan(Plan)
        case statement(StatementPlan)
        /// The same, planned for each row around by the values that it reads of it.
        case perRow(any RowPlanner)
        /// The rows whose keys a column of keys holds, which is the first outer value, that fulfil the plan's condition.
        case held(Plan)
        /// The plan's rows that hold the key of the row around in a column of keys; the key's parts are the first outer values.
        case holders(Plan, column: String, isRowID: Bool)
    }

    /// Columns of the sub-query's table that must equal values of the row around.
    struct Link: Sendable {
        let columns: [BoundColumn]
        /// Places among the outer values.
        let outers: [Int]
        /// Finds the rows with given values of the columns; nil: there is neither key nor index for that.
        let probe: SubqueryProbe?
        /// All rows that may be linked to any row; nil: what else is asked reads the row around as well.
        let all: Plan?
        /// The index whose entries alone tell how many of these rows each row has; nil: the rows must be read.
        let counting: IndexHandle?

        /// A look-up costs what some thirty rows do in a scan, or a hundred entries of an index.
        var rowsPerLookup: Int { counting == nil ? 32 : 128 }
    }

    let query: BoundSubquery
    let source: Source
    /// What the rows give, see ``BoundSubquery/output``.
    let output: BoundExpr?
    let link: Link?
    private let made = AtomicLazyReference<Words>()

    /// What it prints: made once, since sub-queries inside each other print those inside them.
    private final class Words: Sendable {
        let text: String

        init(_ text: String) { self.text = text.utf8.count > 1000 ? text.prefix(1000) + "…)" : text }
    }

    var description: String { (made.load() ?? made.storeIfNil(Words(words()))).text }

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

/// The way to the rows of a sub-query that are linked to one row.
struct SubqueryProbe: Sendable {
    enum Way: Sendable {
        /// The linked column is the table's row id.
        case rowID
        /// The linked columns are the table's key.
        case key
        /// The linked columns are the first ones of an index.
        case index(IndexHandle)
    }

    let way: Way
    /// Which of the link's columns stand in the key or in the index, in their order there.
    let order: [Int]
    /// What is left to be tested on each row.
    let residual: BoundCondition?
}
