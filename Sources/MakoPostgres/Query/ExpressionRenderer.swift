import MakoRecords
import MakoStorage

/// Renders the expressions and conditions of one SELECT.
struct ExpressionRenderer {
    let queries: QueryRenderer
    /// The number of queries around it.
    let depth: Int
    /// The table of a query over one table.
    let own: TableHandle?
    let nodes: [JoinNode]
    /// The outer values of a correlated sub-query.
    var outers: [String] = []
    /// The keys and aggregates of groups.
    var results: [String] = []
    /// The operand of the CASE around a condition.
    private var subject: String?

    init(queries: QueryRenderer, depth: Int, own: TableHandle?, nodes: [JoinNode]) {
        self.queries = queries
        self.depth = depth
        self.own = own
        self.nodes = nodes
    }

    // MARK: - Tables and columns

    /// The alias of a table.
    func name(of node: Int) -> String { node < 0 ? "t\(depth)" : "t\(depth)_\(node)" }

    /// The table of FROM from which a path leads to a row.
    func root(of node: Int) -> Int { nodes[node].isSupplied ? node : root(of: nodes[node].parent) }

    private func table(of node: Int) -> TableHandle? {
        node < 0 ? own : node < nodes.count ? nodes[node].target : nil
    }

    /// Returns the join with the target of a reference, by its key.
    func referenceJoin(_ node: Int) throws(PostgresError) -> String {
        let (target, parent) = (nodes[node].target.schema, nodes[node].parent)
        guard let reference = table(of: parent)?.schema.columns.first(where: { $0.ordinal == nodes[node].ordinal }),
            let key = ExpressionRenderer.keyColumn(target), reference.type != .date, reference.sealedType == nil
        else { throw QueryRenderer.refused("the path \(nodes[node].path)") }
        let column = table(of: parent)?.isDerived == true ? "c\(reference.ordinal)" : PostgresText.name(reference.name)
        return " LEFT JOIN \(queries.place(target.name)) AS \(name(of: node)) "
            + "ON \(name(of: node)).\(PostgresText.name(key)) = \(name(of: parent)).\(column)"
    }

    private static func keyColumn(_ schema: EntitySchema) -> String? {
        switch schema.key {
        case .rowID(let id): id
        case .columns(let names): names.count == 1 ? names.first : nil
        }
    }

    private func text(_ column: BoundColumn) throws(PostgresError) -> String {
        guard let table = table(of: column.node) else { throw QueryRenderer.refused("the column \(column.path)") }
        let alias = name(of: column.node)
        guard let ordinal = column.ordinal else {
            guard case .rowID(let id) = table.schema.key else {
                throw QueryRenderer.refused("the row id of \(table.schema.name)")
            }
            return "\(alias).\(PostgresText.name(id))"
        }
        if table.isDerived { return "\(alias).c\(ordinal)" }
        guard let schema = table.schema.columns.first(where: { $0.ordinal == ordinal }) else {
            throw QueryRenderer.refused("the column \(column.path)")
        }
        if column.isSealed { throw QueryRenderer.refused("the encrypted values of \(column.path)") }
        if schema.type == .keys { throw QueryRenderer.refused("the collection \(column.path)") }
        let text = "\(alias).\(PostgresText.name(schema.name))"
        if schema.type == .date, case .columns(let keys) = table.schema.key, keys.contains(schema.name) {
            return "to_timestamp(\(text) + \(Self.epoch))"
        }
        return text
    }

    /// 2001 in seconds since 1970.
    private static let epoch = 978_307_200

    // MARK: - Expressions

    /// Renders an expression as a column of a SELECT.
    func output(_ expr: BoundExpr, isResult: Bool) throws(PostgresError) -> String {
        let text = try text(expr)
        return isResult && expr.kind == .date ? "EXTRACT(EPOCH FROM \(text)) - \(Self.epoch)" : text
    }

    func orders(_ orders: [BoundOrder]) throws(PostgresError) -> [OrderText] {
        var texts: [OrderText] = []
        for order in orders {
            texts.append(
                OrderText(
                    try text(order.expr), order.expr.kind, descending: order.descending, order.noCase,
                    reversesNulls: order.reversesNulls))
        }
        return texts
    }

    func text(_ expr: BoundExpr) throws(PostgresError) -> String {
        try onDeepStack { () throws(PostgresError) in try levelText(expr) }
    }

    /// Runs the rendering of one level of nesting, of which a statement may have hundreds.
    private func onDeepStack(_ body: () throws(PostgresError) -> String) throws(PostgresError) -> String {
        try StackGuard.run(isDeep: false, body) { () throws(PostgresError) in
            throw QueryRenderer.refused("it is nested too deeply for the stack of this thread")
        }
    }

    private func levelText(_ expr: BoundExpr) throws(PostgresError) -> String {
        switch expr {
        case .column(let column): return try text(column)
        case .constant(let value): return try Self.literal(value)
        case .arithmetic(let operation, let left, let right): return try arithmetic(operation, left, right)
        case .negate(let inner): return "(-\(try number(inner)))"
        case .function(let function, let arguments): return try call(function, arguments)
        case .noCase(let inner): return Self.folded(try text(inner))
        case .result(let index, _, _): return results[index]
        case .outer(let value): return outers[value.index]
        case .subquery(let subquery): return "(\(try queries.text(subquery, in: self)))"
        case .choice(let choice): return try text(choice)
        case .subject: return subject ?? "NULL"
        case .condition(let condition): return "(\(try text(condition)))::int"
        case .rank, .excerpt: throw QueryRenderer.refused("full-text search")
        case .gathered, .element: throw QueryRenderer.refused("a condition on a collection")
        }
    }

    static func literal(_ value: Value) throws(PostgresError) -> String {
        let type: PostgresType
        switch value {
        case .null: return "NULL"
        case .bool(let flag): return flag ? "TRUE" : "FALSE"
        case .integer: type = .bigint
        case .unsigned: type = .numeric
        case .double: type = .double
        case .text: type = .text
        case .blob: type = .bytea
        case .date: type = .timestamp
        case .uuid: type = .uuid
        }
        do throws(PostgresType.Refusal) {
            return "\(PostgresText.literal(try type.text(value)))::\(type.name)"
        } catch { throw QueryRenderer.refused("the value \(value), which \(error.reason)") }
    }

    /// The text without case, letter by letter: a sigma at the end of a word is not another letter.
    static func folded(_ text: String) -> String {
        "(lower(replace(\(text), 'Σ', 'σ') COLLATE \"und-x-icu\") COLLATE \"C\")"
    }

    /// A number of 64 bits or more, or a double.
    private func number(_ expr: BoundExpr) throws(PostgresError) -> String {
        let text = try text(expr)
        switch expr.kind {
        case .bool: return "\(text)::int::numeric"
        case .whole, .null: return "\(text)::numeric"
        case .real: return text
        default: throw QueryRenderer.refused("arithmetic with \(expr.kind.name)")
        }
    }

    private func double(_ expr: BoundExpr) throws(PostgresError) -> String {
        "\(try number(expr))::double precision"
    }

    private func arithmetic(
        _ operation: ArithmeticOperator, _ left: BoundExpr, _ right: BoundExpr
    ) throws(PostgresError) -> String {
        if operation == .concatenate {
            guard [left, right].allSatisfy({ [.text, .null].contains($0.kind) }) else {
                throw QueryRenderer.refused("|| of other than texts")
            }
            return "(\(try text(left)) || \(try text(right)))"
        }
        if left.kind == .date || right.kind == .date { return try moment(operation, left, right) }
        if left.kind == .real || right.kind == .real {
            let (first, second) = (try double(left), try double(right))
            switch operation {
            case .divide: return "(\(first) / NULLIF(\(second), 0))"
            case .remainder: throw QueryRenderer.refused("% of doubles")
            default: return "(\(first) \(operation.rawValue) \(second))"
            }
        }
        let (first, second) = (try number(left), try number(right))
        switch operation {
        case .divide: return "div(\(first), NULLIF(\(second), 0))"
        case .remainder: return "mod(\(first), NULLIF(\(second), 0))"
        default: return "(\(first) \(operation.rawValue) \(second))"
        }
    }

    private func moment(
        _ operation: ArithmeticOperator, _ left: BoundExpr, _ right: BoundExpr
    ) throws(PostgresError) -> String {
        if left.kind == .date, right.kind == .date {
            return "EXTRACT(EPOCH FROM \(try text(left)) - \(try text(right)))::double precision"
        }
        let (date, seconds) = left.kind == .date ? (left, right) : (right, left)
        let sign = operation == .subtract ? "-" : "+"
        return "(\(try text(date)) \(sign) make_interval(secs => \(try double(seconds))))"
    }

    /// Refuses values of which PostgreSQL makes doubles, where Mako leaves integers as they are.
    ///
    /// A constant that a double has exactly, such as the 0 of `COALESCE(x, 0)`, is the same in both.
    private func requireOneKind(_ values: [BoundExpr]) throws(PostgresError) {
        let isRounded = values.contains { value in
            guard value.kind == .whole else { return false }
            if case .constant(.integer(let number)) = value { return number.magnitude > 1 << 53 }
            return true
        }
        if isRounded, values.contains(where: { $0.kind == .real }) {
            throw QueryRenderer.refused("integers and doubles as values of one CASE or COALESCE")
        }
    }

    private func text(_ choice: BoundChoice) throws(PostgresError) -> String {
        try requireOneKind(choice.branches.map(\.value) + (choice.otherwise.map { [$0] } ?? []))
        var inner = self
        if let subject = choice.subject { inner.subject = "(\(try text(subject)))" }
        var text = "CASE"
        for branch in choice.branches {
            text += " WHEN \(try inner.text(branch.condition)) THEN \(try inner.text(branch.value))"
        }
        if let otherwise = choice.otherwise { text += " ELSE \(try inner.text(otherwise))" }
        return "(\(text) END)"
    }

    // MARK: - Conditions

    /// All of some conditions.
    func all(_ conditions: [BoundCondition]) throws(PostgresError) -> String {
        conditions.isEmpty ? "TRUE" : try joined(conditions, " AND ")
    }

    private func joined(_ conditions: [BoundCondition], _ word: String) throws(PostgresError) -> String {
        var texts: [String] = []
        for condition in conditions { texts.append(try text(condition)) }
        return "(\(texts.joined(separator: word)))"
    }

    func text(_ condition: BoundCondition) throws(PostgresError) -> String {
        try onDeepStack { () throws(PostgresError) in try levelText(condition) }
    }

    private func levelText(_ condition: BoundCondition) throws(PostgresError) -> String {
        switch condition {
        case .constant(let flag): return flag.map { $0 ? "TRUE" : "FALSE" } ?? "NULL::boolean"
        case .comparison(let operation, let left, let right): return try comparison(operation, left, right)
        case .and(let parts): return parts.isEmpty ? "TRUE" : try joined(parts, " AND ")
        case .or(let parts): return parts.isEmpty ? "FALSE" : try joined(parts, " OR ")
        case .not(let inner): return "(NOT \(try text(inner)))"
        case .isIn(let value, let items):
            var tests: [BoundCondition] = []
            for item in items { tests.append(.comparison(.equal, value, item)) }
            return try text(.or(tests))
        case .isAmong(let value, let items):
            if items.isEmpty { return "FALSE" }
            var texts: [String] = []
            for item in items { texts.append(try Self.literal(item)) }
            return "(\(try text(value)) IN (\(texts.joined(separator: ", "))))"
        case .like(let value, let pattern, let escape): return try like(value, pattern, escape)
        case .isNull(let value): return "(\(try text(value)) IS NULL)"
        case .truth(let value):
            return value.kind == .bool ? try text(value) : "(\(try number(value)) <> 0)"
        case .isInQuery(let value, let subquery):
            return "(\(try text(value)) IN (\(try queries.text(subquery, in: self))))"
        case .exists(let subquery): return "EXISTS (\(try queries.text(subquery, in: self)))"
        case .holds(let inner): return "(\(try text(inner)) IS TRUE)"
        case .match: throw QueryRenderer.refused("full-text search")
        case .anyElement: throw QueryRenderer.refused("a condition on a collection")
        case .glob: throw QueryRenderer.refused("GLOB")
        }
    }

    private func comparison(
        _ operation: ComparisonOperator, _ left: BoundExpr, _ right: BoundExpr
    ) throws(PostgresError) -> String {
        let sign = operation == .notEqual ? "<>" : operation.rawValue
        let isEquality = operation == .equal || operation == .notEqual
        let kinds: Set<ValueKind> = [left.kind, right.kind]
        if kinds.contains(.decimal) { throw QueryRenderer.refused("a comparison of decimals") }
        if kinds.contains(.real), !isEquality {
            // NaN is below all numbers: it is compared by whether it is one first.
            let (first, second) = (try double(left), try double(right))
            return "((\(first) <> 'NaN', \(first)) \(sign) (\(second) <> 'NaN', \(second)))"
        }
        if kinds.contains(.bool), kinds.contains(.whole) || kinds.contains(.real) {
            return "(\(try number(left)) \(sign) \(try number(right)))"
        }
        let order = kinds.contains(.text) && !isEquality ? " COLLATE \"C\"" : ""
        return "(\(try text(left))\(order) \(sign) \(try text(right)))"
    }

    private static let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

    private func like(
        _ value: BoundExpr, _ pattern: BoundExpr, _ escape: BoundExpr?
    ) throws(PostgresError) -> String {
        guard [value, pattern].allSatisfy({ [.text, .null].contains($0.kind) }) else {
            throw QueryRenderer.refused("LIKE of other than texts")
        }
        var mark = ""
        if let escape {
            guard case .constant(.text(let text)) = escape, text.unicodeScalars.count == 1,
                text.unicodeScalars.allSatisfy({ !$0.properties.isAlphabetic })
            else { throw QueryRenderer.refused("this ESCAPE") }
            mark = text
        }
        func lower(_ text: String) -> String { "translate(\(text), '\(Self.letters)', '\(Self.letters.lowercased())')" }
        return
            "(\(lower(try text(value))) LIKE \(lower(try text(pattern))) ESCAPE \(PostgresText.literal(mark)))"
    }

    // MARK: - Functions

    private func call(_ function: QueryFunction, _ arguments: [BoundExpr]) throws(PostgresError) -> String {
        var texts: [String] = []
        for argument in arguments { texts.append(try text(argument)) }
        let kind = arguments.first?.kind ?? .null
        let list = texts.joined(separator: ", ")
        switch (function, kind) {
        case (.coalesce, _):
            try requireOneKind(arguments)
            return "COALESCE(\(list))"
        case (.same, _):
            let equal = try comparison(.equal, arguments[0], arguments[1])
            return "COALESCE(\(equal), (\(texts[0]) IS NULL) AND (\(texts[1]) IS NULL))"
        case (.least, _), (.greatest, _):
            if arguments.contains(where: { $0.kind == .real }) {
                throw QueryRenderer.refused("\(function.rawValue) of several doubles, because of NaN")
            }
            let order = arguments.contains { $0.kind == .text } ? " COLLATE \"C\"" : ""
            let values = texts.map { $0 + order }.joined(separator: ", ")
            let isNull = texts.map { "(\($0)) IS NULL" }.joined(separator: " OR ")
            return "(CASE WHEN \(isNull) THEN NULL ELSE \(function == .least ? "LEAST" : "GREATEST")(\(values)) END)"
        case (.nullif, _):
            return "(CASE WHEN \(try comparison(.equal, arguments[0], arguments[1])) THEN NULL ELSE \(texts[0]) END)"
        case (.lower, .text): return Self.folded(list)
        case (.upper, .text): return "(upper(\(list) COLLATE \"und-x-icu\") COLLATE \"C\")"
        case (.length, .text): return "char_length(\(list))::bigint"
        case (.length, .blob): return "octet_length(\(list))::bigint"
        case (.abs, .whole), (.abs, .real), (.abs, .bool): return "abs(\(try number(arguments[0])))"
        case (.trim, .text) where texts.count == 1: return "btrim(\(list), ' ')"
        case (.ltrim, .text) where texts.count == 1: return "ltrim(\(list), ' ')"
        case (.rtrim, .text) where texts.count == 1: return "rtrim(\(list), ' ')"
        case (.replace, .text): return "replace(\(list))"
        case (.instr, .text) where arguments[1].kind == .text: return "strpos(\(list))::bigint"
        case (.substr, .text): return try part(texts, arguments)
        case (.castText, .text), (.castReal, .real), (.castBool, .bool), (.castDate, .date), (.castUUID, .uuid),
            (.castInteger, .whole):
            return list
        case (.castText, .whole), (.castText, .uuid): return "(\(list))::text"
        case (.castReal, .whole), (.castReal, .bool): return try double(arguments[0])
        case (.castInteger, .bool): return try number(arguments[0])
        default: throw QueryRenderer.refused("\(function.rawValue) of \(kind.name)")
        }
    }

    /// Positions from the end, and before the beginning, count in another way in PostgreSQL.
    private func part(_ texts: [String], _ arguments: [BoundExpr]) throws(PostgresError) -> String {
        let numbers = arguments.dropFirst().map { argument in
            if case .constant(.integer(let number)) = argument, number < Int64(Int32.max) {
                number
            } else {
                -1 as Int64
            }
        }
        guard let start = numbers.first, start > 0, numbers.allSatisfy({ $0 >= 0 }) else {
            throw QueryRenderer.refused("substr at other than fixed places from the beginning")
        }
        return "substr(\(texts[0]), \(numbers.map { "\($0)" }.joined(separator: ", ")))"
    }

    // MARK: - Aggregates

    /// - Parameter argument: the text and kind of the argument; `nil` for COUNT(*).
    static func aggregate(
        _ function: AggregateFunction, _ argument: (text: String, kind: ValueKind)?, isDistinct: Bool, isNoCase: Bool
    ) throws(PostgresError) -> String {
        guard let (text, kind) = argument else { return "count(*)" }
        let different = isDistinct ? "DISTINCT " : ""
        switch function {
        case .count: return "count(\(different)\(isNoCase ? folded(text) : text))"
        case .minimum, .maximum: return extreme(text, kind, isLeast: function == .minimum, isNoCase: isNoCase)
        case .sum, .average, .total: break
        }
        let numbers: String
        switch kind {
        case .whole, .null: numbers = "\(text)::numeric"
        case .bool: numbers = "\(text)::int::numeric"
        case .real: numbers = text
        default: throw QueryRenderer.refused("\(function.rawValue) of \(kind.name)")
        }
        let sum = "sum(\(different)\(numbers))"
        switch function {
        case .average: return "(\(sum)::double precision / NULLIF(count(\(different)\(numbers)), 0))"
        case .total: return "COALESCE(\(sum)::double precision, 0)"
        default: return sum
        }
    }

    private static func extreme(_ text: String, _ kind: ValueKind, isLeast: Bool, isNoCase: Bool) -> String {
        let function = isLeast ? "min" : "max"
        switch kind {
        case .real:
            let numbers = "\(function)(\(text)) FILTER (WHERE \(text) <> 'NaN')"
            return isLeast
                ? "(CASE WHEN bool_or(\(text) = 'NaN') THEN 'NaN' ELSE \(numbers) END)"
                : "COALESCE(\(numbers), min(\(text)))"
        case .text where !isNoCase: return "\(function)(\(text) COLLATE \"C\")"
        case .bool: return "\(isLeast ? "bool_and" : "bool_or")(\(text))"
        case .blob, .uuid, .text, .decimal:
            let order = OrderText.clause([OrderText(text, kind, descending: !isLeast, isNoCase)])
            return "(array_agg(\(text)\(order)) FILTER (WHERE \(text) IS NOT NULL))[1]"
        case .null, .whole, .date: return "\(function)(\(text))"
        }
    }
}
