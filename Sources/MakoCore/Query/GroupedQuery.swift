import MakoRecords
import MakoStorage

/// What is told of each group of objects: how many there are, or a sum, mean, smallest or largest value.
public struct GroupColumn<T: Entity>: Sendable {
    let source: Result<Expr, MakoError>
    private(set) var name: String

    private init(_ function: AggregateFunction, _ path: [PathStep]?, isDistinct: Bool = false) {
        let called = isDistinct ? "\(function.rawValue)(DISTINCT " : "\(function.rawValue)("
        do throws(MakoError) {
            let argument = try path.map { (path) throws(MakoError) in try path.expr() }
            source = .success(SelectStatement.aggregate(function, argument, isDistinct: isDistinct))
            name = called + (argument?.writtenPath ?? "*") + ")"
        } catch {
            source = .failure(error)
            name = called + ")"
        }
    }

    /// How many objects there are.
    public static var count: GroupColumn { GroupColumn(.count, nil) }
    /// How many of them have a value.
    public static func count<V>(_ property: KeyPath<Row<T>, Column<V>>) -> GroupColumn {
        GroupColumn(.count, property.path())
    }
    /// How many different values they have.
    public static func countDistinct<V>(_ property: KeyPath<Row<T>, Column<V>>) -> GroupColumn {
        GroupColumn(.count, property.path(), isDistinct: true)
    }
    public static func sum<V>(_ property: KeyPath<Row<T>, Column<V>>) -> GroupColumn {
        GroupColumn(.sum, property.path())
    }
    public static func avg<V>(_ property: KeyPath<Row<T>, Column<V>>) -> GroupColumn {
        GroupColumn(.average, property.path())
    }
    public static func min<V>(_ property: KeyPath<Row<T>, Column<V>>) -> GroupColumn {
        GroupColumn(.minimum, property.path())
    }
    public static func max<V>(_ property: KeyPath<Row<T>, Column<V>>) -> GroupColumn {
        GroupColumn(.maximum, property.path())
    }

    /// The same under a name of its own.
    public func named(_ name: String) -> GroupColumn {
        var copy = self
        copy.name = name
        return copy
    }
}

/// What must hold of a group: `.count > 3`, `.sum(\.amount) <= 100`.
public struct GroupCondition<T: Entity>: Sendable {
    let source: ConditionSource

    fileprivate init(_ column: GroupColumn<T>, _ comparison: ComparisonOperator, _ value: StoredValue) {
        do throws(MakoError) {
            source = .parsed(.comparison(comparison, try column.source.get(), .literal(value)))
        } catch {
            source = .failed(error)
        }
    }

    private init(_ source: ConditionSource) { self.source = source }

    public static func && (left: GroupCondition, right: GroupCondition) -> GroupCondition {
        GroupCondition(.joined(left.source, right.source, isAnd: true))
    }
    public static func || (left: GroupCondition, right: GroupCondition) -> GroupCondition {
        GroupCondition(.joined(left.source, right.source, isAnd: false))
    }
    public static prefix func ! (condition: GroupCondition) -> GroupCondition {
        GroupCondition(condition.source.negated)
    }
}

public func == <T: Entity, V: StorableValue>(left: GroupColumn<T>, right: V) -> GroupCondition<T> {
    GroupCondition(left, .equal, right.stored)
}
public func != <T: Entity, V: StorableValue>(left: GroupColumn<T>, right: V) -> GroupCondition<T> {
    GroupCondition(left, .notEqual, right.stored)
}
public func < <T: Entity, V: StorableValue>(left: GroupColumn<T>, right: V) -> GroupCondition<T> {
    GroupCondition(left, .less, right.stored)
}
public func <= <T: Entity, V: StorableValue>(left: GroupColumn<T>, right: V) -> GroupCondition<T> {
    GroupCondition(left, .lessOrEqual, right.stored)
}
public func > <T: Entity, V: StorableValue>(left: GroupColumn<T>, right: V) -> GroupCondition<T> {
    GroupCondition(left, .greater, right.stored)
}
public func >= <T: Entity, V: StorableValue>(left: GroupColumn<T>, right: V) -> GroupCondition<T> {
    GroupCondition(left, .greaterOrEqual, right.stored)
}

/// A question about groups of objects; see ``Query/group(by:)-(String...)``. A value: each method answers a changed copy, nothing is read before
/// ``fetch()``.
public struct GroupedQuery<T: Entity>: Sendable {
    private var query: Query<T>
    private let keys: Result<[Expr], MakoError>
    private let keyNames: [String]
    private var columns: [(expr: Result<Expr, MakoError>, name: String)] = []
    private var conditions: [ConditionSource] = []
    private var orders: Result<[Order], MakoError> = .success([])
    private var limit: Int?
    private var offset: Int?

    init(_ query: Query<T>, _ keys: Result<[Expr], MakoError>, _ names: [String]) {
        self.query = query
        self.keys = keys
        keyNames = names
    }

    /// What is told of each group behind its values: `.select(.count, .sum(\.amount).named("total"))`.
    public func select(_ columns: GroupColumn<T>...) -> GroupedQuery {
        var copy = self
        copy.columns += columns.map { ($0.source, $0.name) }
        return copy
    }

    /// The same as text: `.select("count(*) AS n", "sum(price * amount) / count(*)")`.
    public func select(_ texts: String...) -> GroupedQuery {
        var copy = self
        for text in texts {
            do throws(MakoError) {
                let found = try records { () throws(RecordError) in try SelectStatement.output(text) }
                copy.columns.append((.success(found.expr), found.name))
            } catch {
                copy.columns.append((.failure(error), text))
            }
        }
        return copy
    }

    /// Groups of which a condition holds: `.having(.count > 3)`. Several must all hold.
    public func having(_ condition: GroupCondition<T>) -> GroupedQuery {
        var copy = self
        copy.conditions.append(condition.source)
        return copy
    }

    /// The same as text, which may name what was selected: `.having("n > 3 AND sum(price) < \(limit)")`.
    public func having(
        _ text: WhereText, _ parameters: (any ConditionValue)?..., named: [String: (any ConditionValue)?] = [:]
    ) -> GroupedQuery {
        var copy = self
        copy.conditions.append(text.condition(parameters.parameterValues, named: named.parameterValues))
        return copy
    }

    /// Sorts the groups by their values and what was selected: `"n DESC, grade"`. Without it they stand in the order of their values.
    public func orderBy(_ text: String) -> GroupedQuery {
        var copy = self
        do throws(MakoError) {
            let parsed = try records { () throws(RecordError) in try Order.parse(text) }
            copy.orders = orders.map { $0 + parsed }
        } catch {
            copy.orders = .failure(error)
        }
        return copy
    }

    /// At most so many groups.
    public func limit(_ count: Int) -> GroupedQuery {
        var copy = self
        copy.limit = Swift.max(0, count)
        if count < 0 { copy.orders = .failure(.negative("limit", count)) }
        return copy
    }

    /// Leaves out so many groups at the beginning.
    public func offset(_ count: Int) -> GroupedQuery {
        var copy = self
        copy.offset = Swift.max(0, count)
        if count < 0 { copy.orders = .failure(.negative("offset", count)) }
        return copy
    }

    /// A row for each group: the values that it was made by, and then what was selected.
    ///
    /// - Throws: `MakoError.query` for what does not hold together, before any row is read.
    public func fetch() throws(MakoError) -> RawResults {
        let found = try asked { (statement, catalogue, view) throws(RecordError) in
            try statement.run(catalogue, view: view, cancellation: CurrentCancellation.current)
        }
        return RawResults(columns: found.columns, rows: found.rows)
    }

    /// The same on a thread of the database.
    public func fetch() async throws(MakoError) -> RawResults {
        let database = try query.target()
        var copy = self
        copy.query = query.on(database)
        let bound = copy
        return try await database.onOwnThread(writes: false) { () throws(MakoError) in try bound.fetch() }
    }

    /// How the groups are found.
    ///
    /// - Parameter analyzing: whether the query is run once, to measure what each operator did, as by ``Query/explain(_:analyzing:)``.
    public func explain(analyzing: Bool = false) throws(MakoError) -> String {
        try asked { (statement, catalogue, view) throws(RecordError) in
            if analyzing { return try statement.analysis(catalogue, view: view).description }
            return try statement.explanation(catalogue, view: view).description
        }
    }

    /// The operators that find the groups, as a value; analyzing, with what each did.
    public func plan(analyzing: Bool = false) throws(MakoError) -> PlanNode {
        try asked { (statement, catalogue, view) throws(RecordError) in
            if analyzing { return try statement.analysis(catalogue, view: view).plan }
            return try statement.explanation(catalogue, view: view)
        }
    }

    private func asked<R>(
        _ body: (SelectStatement, Catalogue, Snapshot) throws(RecordError) -> R
    ) throws(MakoError) -> R {
        let keys = try keys.get()
        var outputs = zip(keys, keyNames).map { (expr: $0, name: $1) }
        for column in columns { outputs.append((try column.expr.get(), column.name)) }
        var having: [MakoRecords.Condition] = []
        for condition in conditions { having.append(try condition.condition()) }
        let orders = try orders.get()
        let database = try query.target()
        try query.prepareJoins(database)
        return try database.viewing(T.entityModel) { (view, binding, schema) throws(MakoError) in
            let selection = try query.selection(binding, schema, view)
            let statement = SelectStatement(
                selection, outputs: outputs, groupBy: keys,
                having: having.count > 1 ? .and(having) : having.first, orderBy: orders, limit: limit, offset: offset)
            return try records { () throws(RecordError) in try body(statement, schema.catalogue, view) }
        }
    }
}

extension Query {
    /// Puts the objects together to groups that have the same values of some properties, and tells of each group.
    ///
    /// ```swift
    /// let grades = try Person.query().where(\.age > 30)
    ///     .group(by: \.grade)
    ///     .select(.count.named("n"), .avg(\.age))
    ///     .having(.count > 3)
    ///     .orderBy("n DESC")
    ///     .fetch()
    /// for row in grades.rows { print(row[0], row[1]) }
    /// ```
    ///
    /// An order, a limit and an offset of the query itself do not matter here.
    public func group<each V>(by properties: repeat KeyPath<Row<T>, Column<each V>>) -> GroupedQuery<T> {
        var exprs: [Expr] = []
        var names: [String] = []
        do throws(MakoError) {
            for path in repeat (each properties).path() {
                let expr = try path.expr()
                exprs.append(expr)
                if let name = expr.writtenPath { names.append(name) }
            }
            return GroupedQuery(self, .success(exprs), names)
        } catch {
            return GroupedQuery(self, .failure(error), [])
        }
    }

    /// The same by expressions such as `"department.name"` or `"age / 10"`.
    public func group(by expressions: String...) -> GroupedQuery<T> {
        do throws(MakoError) {
            var exprs: [Expr] = []
            for text in expressions { exprs.append(try records { () throws(RecordError) in try Expr.parse(text) }) }
            return GroupedQuery(self, .success(exprs), expressions)
        } catch {
            return GroupedQuery(self, .failure(error), expressions)
        }
    }
}
