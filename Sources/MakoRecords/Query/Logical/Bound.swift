/// The kind of an expression's values, for type checks.
package enum ValueKind: String, Sendable, Hashable {
    case null, bool
    case whole = "integer"
    case real = "double"
    case text, blob, date, uuid
    /// A decimal, stored as text.
    case decimal

    var isNumber: Bool { self == .whole || self == .real }

    package var name: String { rawValue }

    init(_ type: ColumnType) {
        switch type {
        case .bool: self = .bool
        case .integer, .unsigned, .reference: self = .whole
        case .double: self = .real
        case .text: self = .text
        case .blob, .keys: self = .blob
        case .date: self = .date
        case .uuid: self = .uuid
        }
    }

    init(_ value: Value) {
        switch value {
        case .null: self = .null
        case .bool: self = .bool
        case .integer, .unsigned: self = .whole
        case .double: self = .real
        case .text: self = .text
        case .blob: self = .blob
        case .date: self = .date
        case .uuid: self = .uuid
        }
    }
}

/// A row that is read together with the row of the query: the target of a to-one reference, or a row of a join, which
/// the join supplies.
package struct JoinNode: Sendable {
    /// The node with the reference; -1 is the query's own row.
    package let parent: Int
    /// The reference column of the parent.
    let slot: ColumnSlot
    package let target: TableHandle
    /// The path to this row.
    package let path: String
    /// Whether the join supplies the row, without a reference.
    package var isSupplied = false
    /// The reference column of the parent, by its ordinal.
    package var ordinal: Int { Int(slot.ordinal) }

    /// Makes a node for a row that the join supplies.
    static func supplied(_ target: TableHandle, _ name: String) -> JoinNode {
        let slot = ColumnSlot(offset: 0, ordinal: .max, type: .bool)
        return JoinNode(parent: -1, slot: slot, target: target, path: name, isSupplied: true)
    }
}

/// A resolved column: of the query's own row, or at the end of a path.
package struct BoundColumn: Sendable, Hashable {
    /// The node of the row; -1 is the query's own row.
    package let node: Int
    /// The column, or `nil` for the row id.
    package let ordinal: Int?
    package let type: ColumnType
    package let path: String
    /// Whether its values are encrypted.
    package var isSealed = false
    /// Whether its texts are decimals.
    var isDecimal = false
    /// Whether it is declared `COLLATE NOCASE`.
    var isNoCase = false

    /// Whether a constant of its type needs no conversion for a comparison.
    var takesPlainValues: Bool { !isSealed && !isDecimal && !isNoCase }

    var kind: ValueKind { isDecimal ? .decimal : ValueKind(type) }
}

package enum QueryFunction: String, Sendable, Hashable, CaseIterable {
    case lower, upper, length, characters, abs, round, coalesce, nullif, trim, substr, date, ltrim, rtrim, replace
    case instr, strftime, distance, time, datetime, julianday, unixepoch, typeof
    /// The scalar functions of two or more values.
    case least = "min", greatest = "max"
    /// `IS` between two values; not available as a call.
    case same = "is same"
    /// The sort key of a decimal; not available in texts.
    case decimalOrder = "decimal order"
    case castText = "cast to text", castInteger = "cast to integer", castReal = "cast to real"
    case castBlob = "cast to blob", castBool = "cast to boolean", castDate = "cast to date", castUUID = "cast to uuid"
}

/// An expression with names resolved, parameters substituted and types checked.
package indirect enum BoundExpr: Sendable, Hashable {
    case column(BoundColumn)
    case constant(Value)
    case arithmetic(ArithmeticOperator, BoundExpr, BoundExpr)
    case negate(BoundExpr)
    case function(QueryFunction, [BoundExpr])
    /// The case-folded form of a text, for comparisons without case.
    case noCase(BoundExpr)
    /// A key or aggregate of a group, by number, with its source text.
    case result(Int, ValueKind, String)
    /// The rank of the row in a match: less is better, as in SQLite.
    case rank(BoundMatch)
    case excerpt(BoundExcerpt)
    /// A value of the outer query.
    case outer(OuterValue)
    case subquery(BoundSubquery)
    /// An aggregate over the values in one column.
    case gathered(BoundGathered)
    /// The element, inside a condition on those values.
    case element
    case choice(BoundChoice)
    /// The operand of the enclosing CASE, with its text for explanations.
    case subject(ValueKind, String)
    /// A condition as a value: 1, 0 or NULL.
    case condition(BoundCondition)

    var constant: Value? {
        if case .constant(let value) = self { value } else { nil }
    }
}

/// A condition with names resolved, parameters substituted and types checked.
package indirect enum BoundCondition: Sendable, Hashable {
    /// `nil` is NULL.
    case constant(Bool?)
    case comparison(ComparisonOperator, BoundExpr, BoundExpr)
    case and([BoundCondition])
    case or([BoundCondition])
    case not(BoundCondition)
    /// A list with computed items; a list of constants is ``isAmong(_:_:)``.
    case isIn(BoundExpr, [BoundExpr])
    case isAmong(BoundExpr, [Value])
    case like(BoundExpr, BoundExpr, escape: BoundExpr?)
    case glob(BoundExpr, BoundExpr)
    case isNull(BoundExpr)
    case truth(BoundExpr)
    case match(BoundMatch)
    case isInQuery(BoundExpr, BoundSubquery)
    case exists(BoundSubquery)
    /// Whether one of the values in a column fulfils the condition.
    case anyElement(BoundGathered)
    /// Whether the condition is true; NULL counts as false.
    case holds(BoundCondition)

    /// Returns the conjunction; `nil` for an empty list.
    static func all(_ conditions: [BoundCondition]) -> BoundCondition? {
        conditions.count > 1 ? .and(conditions) : conditions.first
    }

    /// The conjuncts, of which a row that passes fulfils each.
    var conjuncts: [BoundCondition] {
        switch self {
        case .and(let parts): parts.flatMap(\.conjuncts)
        case .holds(let inner): inner.conjuncts
        default: [self]
        }
    }
}

package struct BoundOrder: Sendable, Hashable {
    package let expr: BoundExpr
    package let descending: Bool
    package let noCase: Bool
    /// Whether NULL sorts after all values instead of before them; with `descending` it is the other way round.
    package var reversesNulls = false
}

/// What selections that differ in values only have in common.
protocol SelectionTemplate: AnyObject, Sendable {
    var frame: BoundSelection.Frame { get }
    /// Returns the condition with these values.
    func condition(_ values: [Value?]) -> BoundCondition?
}

/// What the names of a selection mean: its table, the joined rows, and the values of parameters.
protocol SelectionScope {
    var table: TableHandle { get }
    var catalogue: Catalogue { get }
    var joins: [JoinNode] { get }
    var parameters: [Value] { get }
    var named: [String: Value] { get }
    /// The rows of ``SelectionJoin``, by name.
    var references: [String: Int] { get }
    /// The MATCH conditions, for expressions with ranks and excerpts.
    var matches: [BoundMatch] { get }
}

/// A bound selection: names, types and parameters are checked, so that it can be planned.
package struct BoundSelection: Sendable, SelectionScope {
    /// What does not depend on the values, shared by selections that differ in values only.
    final class Frame: Sendable {
        let table: TableHandle
        let joins: [JoinNode]
        let orders: [BoundOrder]
        let limit: Int?
        let offset: Int
        let references: [String: Int]
        let matches: [BoundMatch]

        init(_ scope: some SelectionScope, _ orders: [BoundOrder], limit: Int?, offset: Int) {
            table = scope.table
            joins = scope.joins
            references = scope.references
            matches = scope.matches
            self.orders = orders
            self.limit = limit
            self.offset = offset
        }
    }

    private enum ConditionSource {
        case condition(BoundCondition?)
        /// The condition of a cached plan, with other values.
        case kept(any SelectionTemplate, [Value?])
    }

    let frame: Frame
    let catalogue: Catalogue
    let parameters: [Value]
    let namedParameters: [String: Value]
    private let source: ConditionSource

    init(
        _ scope: some SelectionScope, _ condition: BoundCondition?, _ orders: [BoundOrder], limit: Int?, offset: Int
    ) {
        frame = Frame(scope, orders, limit: limit, offset: offset)
        catalogue = scope.catalogue
        parameters = scope.parameters
        namedParameters = scope.named
        source = .condition(condition)
    }

    /// Makes a selection of a cached plan's shape, with these values.
    init(
        _ kept: any SelectionTemplate, _ values: [Value?], _ parameters: [Value], _ named: [String: Value],
        _ catalogue: Catalogue
    ) {
        frame = kept.frame
        self.catalogue = catalogue
        self.parameters = parameters
        namedParameters = named
        source = .kept(kept, values)
    }

    package var condition: BoundCondition? {
        switch source {
        case .condition(let condition): condition
        case .kept(let kept, let values): kept.condition(values)
        }
    }

    package var table: TableHandle { frame.table }
    var named: [String: Value] { namedParameters }
    package var joins: [JoinNode] { frame.joins }
    package var orders: [BoundOrder] { frame.orders }
    package var limit: Int? { frame.limit }
    package var offset: Int { frame.offset }
    var references: [String: Int] { frame.references }
    var matches: [BoundMatch] { frame.matches }

    /// Returns a selection from the same table with another condition, order and limit.
    func with(
        _ condition: BoundCondition?, _ orders: [BoundOrder], limit: Int?, offset: Int
    ) -> BoundSelection {
        BoundSelection(self, condition, orders, limit: limit, offset: offset)
    }

    /// Returns the same selection with other conditions.
    func with(_ conjuncts: [BoundCondition]) -> BoundSelection {
        with(.all(conjuncts), orders, limit: limit, offset: offset)
    }

    /// Returns the rows that fulfil these conditions, in any order.
    func alone(_ conjuncts: [BoundCondition]) -> BoundSelection { with(.all(conjuncts), [], limit: nil, offset: 0) }

    /// Returns all rows that fulfil the condition, in another order.
    func ordered(_ orders: [BoundOrder]) -> BoundSelection { with(condition, orders, limit: nil, offset: 0) }
}

extension BoundExpr: CustomStringConvertible {
    package var description: String {
        switch self {
        case .column(let column): column.path
        case .constant(let value): value.description
        case .arithmetic(let operation, let left, let right): "(\(left) \(operation.rawValue) \(right))"
        case .negate(let inner): "-\(inner)"
        case .function(.decimalOrder, let arguments): arguments.map(\.description).joined()
        case .function(.same, let sides): sides.map(\.description).joined(separator: " IS ")
        case .function(let function, let arguments):
            "\(function.rawValue)(\(arguments.map(\.description).joined(separator: ", ")))"
        case .noCase(let inner): "\(inner) COLLATE NOCASE"
        case .result(_, _, let text): text
        case .rank: "rank"
        case .excerpt(let excerpt): "\(excerpt.style.words == nil ? "highlight" : "snippet")(\(excerpt.column.path))"
        case .outer(let value): value.path
        case .subquery(let subquery): subquery.description
        case .gathered(let gathered): gathered.description
        case .element: "each"
        case .choice(let choice): choice.description
        case .subject(_, let text): text
        case .condition(let condition): "(\(condition))"
        }
    }
}

extension BoundCondition: CustomStringConvertible {
    /// - Parameter items: at least one more than are printed, if there are more.
    private static func list(_ value: BoundExpr, _ items: some Collection<BoundExpr>) -> String {
        "\(value) IN (\(items.prefix(5).map(\.description).joined(separator: ", "))\(items.count > 5 ? ", …" : ""))"
    }

    package var description: String {
        switch self {
        case .constant(let flag): flag.map { $0 ? "TRUE" : "FALSE" } ?? "NULL"
        case .comparison(let operation, let left, let right): "\(left) \(operation.rawValue) \(right)"
        case .and(let parts): parts.map(\.enclosed).joined(separator: " AND ")
        case .or(let parts): parts.map(\.enclosed).joined(separator: " OR ")
        case .not(.isNull(let value)): "\(value) IS NOT NULL"
        case .not(let inner): "NOT \(inner.enclosed)"
        case .isIn(let value, let items): BoundCondition.list(value, items.prefix(6))
        case .isAmong(let value, let items): BoundCondition.list(value, items.prefix(6).map { .constant($0) })
        case .like(let value, let pattern, let escape):
            "\(value) LIKE \(pattern)" + (escape.map { " ESCAPE \($0)" } ?? "")
        case .glob(let value, let pattern): "\(value) GLOB \(pattern)"
        case .isNull(let value): "\(value) IS NULL"
        case .truth(let value): "\(value)"
        case .match(let match): "\(match)"
        case .isInQuery(let value, let subquery): "\(value) IN \(subquery.description)"
        case .exists(let subquery): "EXISTS \(subquery.description)"
        case .anyElement(let gathered): gathered.description
        case .holds(let inner): "(\(inner)) IS TRUE"
        }
    }

    private var enclosed: String {
        switch self {
        case .and, .or: "(\(self))"
        default: description
        }
    }
}
