import MakoRecords

/// A query in PostgreSQL's SQL, with the names and kinds of its columns.
struct RenderedQuery: Sendable {
    let text: String
    let names: [String]
    let kinds: [ValueKind]
}

/// Renders the logical plan of a query for the tables of a mirror.
///
/// The result is that of Mako, up to the order of rows that are equal in ORDER BY. What PostgreSQL orders, compares
/// or counts in another way is written out: NULL is first, NaN is below all numbers, texts are ordered by their bytes,
/// integers beyond 64 bits and divisions by zero are no errors, LIKE ignores the case of ASCII letters. What has no form
/// there is refused: full-text search, collections, encrypted values, decimals except as results, GLOB, dates as text.
///
/// Columns of each SELECT are called `c0`, `c1` and so on, its tables `t0`, `t0_1` by depth and number.
struct QueryRenderer {
    /// Returns the quoted name of a table.
    let place: (String) -> String

    func query(_ plan: LogicalPlan) throws(PostgresError) -> RenderedQuery {
        RenderedQuery(
            text: try text(plan, 0, isResult: true), names: plan.first.names, kinds: try QueryRenderer.kinds(plan))
    }

    private static func kinds(_ plan: LogicalPlan) throws(PostgresError) -> [ValueKind] {
        switch plan {
        case .select(let select): select.kinds
        case .compound(let compound): try kinds(compound)
        }
    }

    /// The kinds of the columns: for each, that of the first part that has one other than NULL.
    private static func kinds(_ compound: CompoundSelect<BoundSelect>) throws(PostgresError) -> [ValueKind] {
        var kinds = compound.first.kinds
        for (_, part) in compound.rest {
            for (place, kind) in part.kinds.enumerated() where place < kinds.count && kind != .null {
                if kinds[place] == .null { kinds[place] = kind }
                if kinds[place] != kind {
                    throw refused("a column with \(kinds[place].name) in one part and \(kind.name) in another")
                }
            }
        }
        return kinds
    }

    static func refused(_ what: String) -> PostgresError { .query(reason: what) }

    // MARK: - Statements

    /// - Parameters:
    ///   - depth: the number of queries around it.
    ///   - isResult: whether the columns are read by the client, for which dates become numbers.
    func text(_ plan: LogicalPlan, _ depth: Int, isResult: Bool = false) throws(PostgresError) -> String {
        switch plan {
        case .select(let select): return try text(select, depth, isResult)
        case .compound(let compound): return try text(compound, depth, isResult)
        }
    }

    private func text(
        _ compound: CompoundSelect<BoundSelect>, _ depth: Int, _ isResult: Bool
    ) throws(PostgresError) -> String {
        let kinds = try QueryRenderer.kinds(compound)
        var text = "(\(try self.text(compound.first, depth, isResult, kinds)))"
        for (operation, part) in compound.rest {
            if operation != .unionAll, compound.collations.contains(where: { $0?.isNoCase == true }) {
                throw QueryRenderer.refused(
                    "\(operation.rawValue.uppercased()) of texts that are compared without case")
            }
            // In parentheses, because INTERSECT comes first in PostgreSQL.
            text = "(\(text) \(operation.rawValue.uppercased()) (\(try self.text(part, depth, isResult, kinds))))"
        }
        if compound.terms.isEmpty, compound.limit == nil, compound.offset == 0 { return text }
        let orders = compound.terms.map { term in
            OrderText(
                "u.c\(term.place)", kinds[term.place], isResult: isResult, descending: term.descending, term.noCase,
                reversesNulls: term.reversesNulls)
        }
        return "SELECT * FROM \(text) AS u\(OrderText.clause(orders))\(limits(compound.limit, compound.offset))"
    }

    private func limits(_ limit: Int?, _ offset: Int) -> String {
        (limit.map { " LIMIT \($0)" } ?? "") + (offset > 0 ? " OFFSET \(offset)" : "")
    }

    /// - Parameter kinds: those of the compound that the query is a part of. A column that is NULL gets their type, because
    ///   PostgreSQL takes it for a text, which it puts together with no other type.
    private func text(
        _ select: BoundSelect, _ depth: Int, _ isResult: Bool, _ kinds: [ValueKind] = []
    ) throws(PostgresError) -> String {
        if select.isDistinct, select.collations.contains(where: { $0?.isNoCase == true }) {
            throw QueryRenderer.refused("DISTINCT of texts that are compared without case")
        }
        let rows = try rows(select.source, select.nodes, depth)
        var orders: [BoundOrder] = rows.orders
        var source = rows.clause
        var scope = rows.scope
        if let group = select.group {
            (source, scope) = try grouped(group, rows)
            orders = group.orders
        }
        let outputs = select.group?.outputs ?? select.outputs
        var columns: [String] = []
        for (index, output) in outputs.enumerated() {
            var column = try scope.output(output, isResult: isResult)
            if output.kind == .null, index < kinds.count, let type = kinds[index].typeName(isResult: isResult) {
                column = "(\(column))::\(type)"
            }
            columns.append("\(column) AS c\(index)")
        }
        let list = columns.joined(separator: ", ")
        let end = limits(select.limit, select.offset)
        guard select.isDistinct else {
            return "SELECT \(list)\(source)\(OrderText.clause(try scope.orders(orders)))\(end)"
        }
        // Duplicates are removed before rows are ordered, by columns of the result.
        var terms: [OrderText] = []
        for order in orders {
            guard let index = outputs.firstIndex(of: order.expr) else {
                throw QueryRenderer.refused("DISTINCT with an order by other than its columns")
            }
            terms.append(
                OrderText(
                    "d.c\(index)", order.expr.kind, isResult: isResult, descending: order.descending, order.noCase,
                    reversesNulls: order.reversesNulls))
        }
        return "SELECT * FROM (SELECT DISTINCT \(list)\(source)) AS d\(OrderText.clause(terms))\(end)"
    }

    /// The rows of keys and arguments as a query of its own, because PostgreSQL recognises the keys in the outputs by
    /// their text alone.
    private func grouped(
        _ group: BoundGroups, _ rows: RenderedRows
    ) throws(PostgresError) -> (source: String, scope: ExpressionRenderer) {
        let name = "g\(rows.scope.depth)"
        var read: [String] = []
        var results: [String] = []
        var keys: [String] = []
        for (index, key) in group.keys.enumerated() {
            let column = "k\(index)"
            read.append("\(try rows.scope.text(key)) AS \(column)")
            if group.areNoCase[index] {
                keys.append(ExpressionRenderer.folded("\(name).\(column)"))
                // Any of the texts that are equal without case.
                results.append("min(\(name).\(column) COLLATE \"C\")")
            } else {
                keys.append("\(name).\(column)")
                results.append("\(name).\(column)")
            }
        }
        for (index, aggregate) in group.aggregates.enumerated() {
            if let argument = aggregate.argument { read.append("\(try rows.scope.text(argument)) AS a\(index)") }
            let argument = aggregate.argument.map { ("\(name).a\(index)", $0.kind) }
            results.append(
                try ExpressionRenderer.aggregate(
                    aggregate.function, argument, isDistinct: aggregate.isDistinct, isNoCase: aggregate.isNoCase))
        }
        var scope = rows.scope
        scope.results = results
        let list = read.isEmpty ? "1" : read.joined(separator: ", ")
        var source = " FROM (SELECT \(list)\(rows.clause)) AS \(name)"
        if !keys.isEmpty { source += " GROUP BY \(keys.joined(separator: ", "))" }
        if let having = group.having {
            source += " HAVING \(try scope.text(having))"
        } else if keys.isEmpty {
            // One group, also where the outputs have no aggregate.
            source += " HAVING TRUE"
        }
        return (source, scope)
    }

    // MARK: - Rows

    /// The rows of a SELECT before they are grouped.
    struct RenderedRows {
        /// FROM and WHERE.
        let clause: String
        let scope: ExpressionRenderer
        let orders: [BoundOrder]
    }

    /// - Parameter nodes: the rows of the source, and those that outputs and orders read beside them.
    private func rows(
        _ source: BoundSelect.Source, _ nodes: [JoinNode], _ depth: Int
    ) throws(PostgresError) -> RenderedRows {
        switch source {
        case .table(let selection): return try rows(selection, nodes, depth)
        case .join(let join): return try rows(join, nodes, depth)
        }
    }

    /// - Parameter outers: the rendered outer values of a correlated sub-query.
    private func rows(
        _ selection: BoundSelection, _ nodes: [JoinNode], _ depth: Int, outers: [String] = []
    ) throws(PostgresError) -> RenderedRows {
        var scope = ExpressionRenderer(queries: self, depth: depth, own: selection.table, nodes: nodes)
        scope.outers = outers
        var from = " FROM \(place(selection.table.schema.name)) AS \(scope.name(of: -1))"
        for index in nodes.indices { from += try scope.referenceJoin(index) }
        let condition = try selection.condition.map { (condition) throws(PostgresError) in try scope.text(condition) }
        return RenderedRows(
            clause: from + (condition.map { " WHERE \($0)" } ?? ""), scope: scope, orders: selection.orders)
    }

    private func rows(
        _ join: BoundJoin, _ nodes: [JoinNode], _ depth: Int
    ) throws(PostgresError) -> RenderedRows {
        let scope = ExpressionRenderer(queries: self, depth: depth, own: nil, nodes: nodes)
        var from = ""
        for (index, joined) in join.tables.enumerated() {
            let name = scope.name(of: index)
            if joined.isOuterRow {
                throw QueryRenderer.refused("a correlated sub-query that groups, joins or puts together")
            }
            var item: String
            if let query = joined.query {
                let columns = query.first.kinds.indices.map { "c\($0)" }.joined(separator: ", ")
                item = "(\(try text(query, depth + 1))) AS \(name)(\(columns))"
            } else {
                item = "\(place(joined.table.schema.name)) AS \(name)"
            }
            let paths = nodes.indices.filter { $0 >= join.tables.count && scope.root(of: $0) == index }
            for node in paths { item += try scope.referenceJoin(node) }
            if !paths.isEmpty { item = "(\(item))" }
            if index == 0 {
                from = " FROM \(item)"
            } else if let left = joined.left {
                from += " LEFT JOIN \(item) ON \(try scope.all(left))"
            } else {
                from += " CROSS JOIN \(item)"
            }
        }
        let condition = join.conjuncts.isEmpty ? "" : " WHERE \(try scope.all(join.conjuncts))"
        return RenderedRows(clause: from + condition, scope: scope, orders: join.orders)
    }

    // MARK: - Sub-queries

    /// Renders a sub-query, without parentheses.
    ///
    /// - Parameter scope: the query around it.
    func text(_ subquery: BoundSubquery, in scope: ExpressionRenderer) throws(PostgresError) -> String {
        switch subquery.query {
        case .rows(let selection):
            var outers: [String] = []
            for outer in subquery.outers { outers.append(try scope.text(outer)) }
            return try text(subquery, try rows(selection, selection.joins, scope.depth + 1, outers: outers), selection)
        case .statement(let plan):
            let inner = try text(plan, scope.depth + 1)
            if subquery.form == .exists { return inner }
            let column = subquery.isNoCase ? ExpressionRenderer.folded("s.c0") : "s.c0"
            return "SELECT \(column) FROM (\(inner)) AS s\(subquery.form == .scalar ? " LIMIT 1" : "")"
        case .held, .holders: throw QueryRenderer.refused("a sub-query over a collection")
        }
    }

    private func text(
        _ subquery: BoundSubquery, _ rows: RenderedRows, _ selection: BoundSelection
    ) throws(PostgresError) -> String {
        let order = OrderText.clause(try rows.scope.orders(rows.orders))
        let end = order + limits(selection.limit, selection.offset)
        guard let aggregate = subquery.aggregate else {
            guard let output = subquery.output else { return "SELECT 1\(rows.clause)\(end)" }
            let isOne = subquery.form == .scalar && selection.limit.map { $0 > 1 } ?? true
            let limit = isOne ? order + limits(1, selection.offset) : end
            return "SELECT \(try rows.scope.text(output))\(rows.clause)\(limit)"
        }
        let output = try subquery.output.map { (output) throws(PostgresError) in try rows.scope.text(output) }
        let kind = subquery.output?.kind ?? .null
        let argument = output.map { _ in ("a.a0", kind) }
        let value = try ExpressionRenderer.aggregate(
            aggregate, argument, isDistinct: false, isNoCase: subquery.isNoCase)
        return "SELECT \(value) FROM (SELECT \(output ?? "1") AS a0\(rows.clause)\(end)) AS a"
    }
}

extension ValueKind {
    /// The type of NULL beside values of this kind; nil where there are none.
    ///
    /// - Parameter isResult: whether a date is a number already.
    fileprivate func typeName(isResult: Bool) -> String? {
        switch self {
        case .null: return nil
        case .bool: return PostgresType.boolean.name
        case .whole: return PostgresType.bigint.name
        case .real: return PostgresType.double.name
        case .text, .decimal: return PostgresType.text.name
        case .blob: return PostgresType.bytea.name
        case .date: return isResult ? "numeric" : PostgresType.timestamp.name
        case .uuid: return PostgresType.uuid.name
        }
    }
}

/// A term of ORDER BY, in Mako's order.
struct OrderText {
    private let texts: [String]
    private let descending: Bool
    private let reversesNulls: Bool

    /// - Parameter isResult: whether a date is a number already.
    init(
        _ text: String, _ kind: ValueKind, isResult: Bool = false, descending: Bool, _ noCase: Bool,
        reversesNulls: Bool = false
    ) {
        (self.descending, self.reversesNulls) = (descending, reversesNulls)
        switch kind {
        case .text: texts = [(noCase ? ExpressionRenderer.folded(text) : text) + " COLLATE \"C\""]
        // NaN is below all numbers.
        case .real: texts = ["(\(text) <> 'NaN')", text]
        default: texts = [text]
        }
    }

    static func clause(_ terms: [OrderText]) -> String {
        if terms.isEmpty { return "" }
        let parts = terms.flatMap { (term) -> [String] in
            let nulls = term.descending == term.reversesNulls ? "FIRST" : "LAST"
            return term.texts.map { "\($0) \(term.descending ? "DESC" : "ASC") NULLS \(nulls)" }
        }
        return " ORDER BY \(parts.joined(separator: ", "))"
    }
}
