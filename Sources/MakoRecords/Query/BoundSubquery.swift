/// A value of the query around a sub-query, as the sub-query sees it.
struct OuterValue: Sendable, Hashable {
    /// Its place among the values that the sub-query is given for each row.
    let index: Int
    let kind: ValueKind
    let path: String
    let collation: Collation?
}

/// A statement's sub-queries are counted: places that name one twice must not make many of few.
final class SubqueryBudget {
    private var left = 500
    /// Every table whose rows decide what they give.
    private(set) var tables: Set<String> = []
    /// The clock's time, as the statement looked at it first; nil: it has not.
    private(set) var lookedAtClock: Double?

    /// The clock's time, in seconds since 2001: the same in all of a statement.
    var now: Double {
        if let lookedAtClock { return lookedAtClock }
        let now = Moment.now
        lookedAtClock = now
        return now
    }

    func note(_ subquery: BoundSubquery) { tables.formUnion(subquery.tables) }

    func take(_ at: SourcePosition) throws(RecordError) {
        left -= 1
        if left < 0 { throw at.error("there are too many sub-queries; the limit is 500") }
    }
}

/// A query while it and the sub-queries inside it are bound.
final class OuterScope {
    /// Resolves names of the query itself.
    var binder: Binder
    /// What the sub-query reads of the query's rows, in the query's own terms.
    private(set) var values: [BoundExpr] = []

    init(_ binder: Binder) { self.binder = binder }

    func value(_ expr: BoundExpr) -> Int {
        if let known = values.firstIndex(of: expr) { return known }
        values.append(expr)
        return values.count - 1
    }

    /// Whether the name of a table means this query's, or one further out.
    func isTable(_ name: String) -> Bool {
        if let scope = binder.scope {
            let folded = Folding.folded(name)
            if scope.sources.contains(where: { Folding.folded($0.name) == folded }) { return true }
        } else if binder.isOwnName(name) || binder.isReference(name) {
            return true
        }
        return binder.outer?.isTable(name) == true
    }
}

/// A sub-query that can be run: everything about it that could be wrong was found right.
///
/// What does not read the query around it is run once for a run of that. What does, and compares a column with a value of the row by `=`,
/// is looked up by that column; where many rows ask, all its rows are gone through once and kept by that column's values instead.
final class BoundSubquery: Sendable, Hashable {
    enum Form: Sendable { case exists, list, scalar }

    enum Source: Sendable {
        case plan(Plan)
        /// Groups, which are worked out as a whole.
        case statement(SelectStatement, Catalogue, [Value], [String: Value])
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
    }

    let form: Form
    let source: Source
    /// What is read of the row around, in that query's terms.
    let outers: [BoundExpr]
    /// What the rows give; nil: that they are there is all.
    let output: BoundExpr?
    let aggregate: AggregateFunction?
    /// Whether NULLs are counted, too.
    let countsRows: Bool
    let link: Link?
    /// Every table whose rows decide.
    let tables: Set<String>
    let kind: ValueKind
    /// Whether its texts are compared without regard to case: those of a list with others, and the smallest and largest with each other.
    let isNoCase: Bool
    /// The collation of what it gives.
    let collation: Collation?
    let description: String

    init(
        _ form: Form, _ source: Source, outers: [BoundExpr], output: BoundExpr? = nil,
        aggregate: AggregateFunction? = nil, countsRows: Bool = false, link: Link? = nil, tables: Set<String>,
        kind: ValueKind, isNoCase: Bool = false, collation: Collation? = nil, description: String
    ) {
        self.isNoCase = isNoCase
        self.collation = collation
        self.form = form
        self.source = source
        self.outers = outers
        self.output = output
        self.aggregate = aggregate
        self.countsRows = countsRows
        self.link = link
        self.tables = tables
        self.kind = kind
        // Plans inside plans would repeat each other.
        self.description = description.utf8.count > 1000 ? description.prefix(1000) + "…)" : description
    }

    /// The same sub-query beside other rows.
    func reading(_ outers: [BoundExpr]) -> BoundSubquery {
        BoundSubquery(
            form, source, outers: outers, output: output, aggregate: aggregate, countsRows: countsRows, link: link,
            tables: tables, kind: kind, isNoCase: isNoCase, collation: collation, description: description)
    }

    /// The same list, with the no-case forms of its texts.
    var folded: BoundSubquery {
        BoundSubquery(
            form, source, outers: outers, output: output.map(Binder.folded), aggregate: aggregate,
            countsRows: countsRows, link: link, tables: tables, kind: kind, isNoCase: true, collation: collation,
            description: description)
    }

    /// Whether it must be asked anew for each row.
    var isCorrelated: Bool { !outers.isEmpty }

    static func == (left: BoundSubquery, right: BoundSubquery) -> Bool { left === right }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
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

extension BoundExpr {
    /// Calls a closure with the expression and everything in it, sub-queries being seen from outside.
    func forEachPart(_ body: (BoundExpr) -> Void) {
        body(self)
        switch self {
        case .column, .constant, .outer, .element, .result, .rank, .excerpt, .subject: break
        case .arithmetic(_, let left, let right):
            left.forEachPart(body)
            right.forEachPart(body)
        case .negate(let inner), .noCase(let inner): inner.forEachPart(body)
        case .function(_, let arguments): for each in arguments { each.forEachPart(body) }
        case .subquery(let subquery): for each in subquery.outers { each.forEachPart(body) }
        case .gathered(let gathered): gathered.forEachPart(body)
        case .condition(let condition): condition.forEachPart(body)
        case .choice(let choice):
            choice.subject?.forEachPart(body)
            for branch in choice.branches {
                branch.condition.forEachPart(body)
                branch.value.forEachPart(body)
            }
            choice.otherwise?.forEachPart(body)
        }
    }

    /// Whether it reads the query around.
    var readsOuter: Bool {
        var isFound = false
        forEachPart { if case .outer = $0 { isFound = true } }
        return isFound
    }
}

extension BoundCondition {
    /// Calls a closure with every expression in the condition, sub-queries being seen from outside.
    func forEachPart(_ body: (BoundExpr) -> Void) {
        switch self {
        case .constant, .match: break
        case .comparison(_, let left, let right), .glob(let left, let right):
            left.forEachPart(body)
            right.forEachPart(body)
        case .and(let parts), .or(let parts): for each in parts { each.forEachPart(body) }
        case .not(let inner), .holds(let inner): inner.forEachPart(body)
        case .isIn(let value, let items):
            value.forEachPart(body)
            for each in items { each.forEachPart(body) }
        case .like(let value, let pattern, let escape):
            value.forEachPart(body)
            pattern.forEachPart(body)
            escape?.forEachPart(body)
        case .isNull(let value), .truth(let value): value.forEachPart(body)
        case .isInQuery(let value, let subquery):
            value.forEachPart(body)
            BoundExpr.subquery(subquery).forEachPart(body)
        case .exists(let subquery): BoundExpr.subquery(subquery).forEachPart(body)
        case .anyElement(let gathered): gathered.forEachPart(body)
        }
    }

    /// Whether it reads the query around.
    var readsOuter: Bool {
        var isFound = false
        forEachPart { if case .outer = $0 { isFound = true } }
        return isFound
    }

    /// The sub-queries in it, not those inside them.
    var subqueries: [BoundSubquery] {
        var found: [BoundSubquery] = []
        forEachPart { if case .subquery(let subquery) = $0 { found.append(subquery) } }
        return found
    }
}

extension BoundSelection {
    /// The sub-queries of its condition and its orders.
    var subqueries: [BoundSubquery] {
        var found = condition?.subqueries ?? []
        for order in orders { order.expr.forEachPart { if case .subquery(let each) = $0 { found.append(each) } } }
        return found
    }

    /// Every table whose rows decide what is selected.
    var allTables: Set<String> {
        var tables = Set([table.schema.name] + joins.map(\.target.schema.name))
        for subquery in subqueries { tables.formUnion(subquery.tables) }
        return tables
    }
}
