import MakoRecords
import MakoStorage

/// A result column of a grouped query: the number of objects in the group, or an aggregate of a property.
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

    /// The number of objects in the group.
    public static var count: GroupColumn { GroupColumn(.count, nil) }
    /// Returns the column for the number of objects whose property is not nil.
    public static func count<V>(_ property: KeyPath<Row<T>, Column<V>>) -> GroupColumn {
        GroupColumn(.count, property.path())
    }
    /// Returns the column for the number of distinct values of a property.
    public static func countDistinct<V>(_ property: KeyPath<Row<T>, Column<V>>) -> GroupColumn {
        GroupColumn(.count, property.path(), isDistinct: true)
    }
    /// Returns the column for the sum of a property.
    public static func sum<V>(_ property: KeyPath<Row<T>, Column<V>>) -> GroupColumn {
        GroupColumn(.sum, property.path())
    }
    /// Returns the column for the mean of a property.
    public static func avg<V>(_ property: KeyPath<Row<T>, Column<V>>) -> GroupColumn {
        GroupColumn(.average, property.path())
    }
    /// Returns the column for the smallest value of a property.
    public static func min<V>(_ property: KeyPath<Row<T>, Column<V>>) -> GroupColumn {
        GroupColumn(.minimum, property.path())
    }
    /// Returns the column for the largest value of a property.
    public static func max<V>(_ property: KeyPath<Row<T>, Column<V>>) -> GroupColumn {
        GroupColumn(.maximum, property.path())
    }

    /// Returns the column under another name.
    public func named(_ name: String) -> GroupColumn {
        var copy = self
        copy.name = name
        return copy
    }
}

/// A condition on groups: `.count > 3`, `.sum(\.amount) <= 100`.
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

    /// Returns the condition that both conditions are true.
    public static func && (left: GroupCondition, right: GroupCondition) -> GroupCondition {
        GroupCondition(.joined(left.source, right.source, isAnd: true))
    }
    /// Returns the condition that at least one of two conditions is true.
    public static func || (left: GroupCondition, right: GroupCondition) -> GroupCondition {
        GroupCondition(.joined(left.source, right.source, isAnd: false))
    }
    /// Returns the opposite of a condition.
    public static prefix func ! (condition: GroupCondition) -> GroupCondition {
        GroupCondition(condition.source.negated)
    }
}

/// Returns the condition that a column of the group equals a value.
public func == <T: Entity, V: StorableValue>(left: GroupColumn<T>, right: V) -> GroupCondition<T> {
    GroupCondition(left, .equal, right.stored)
}
/// Returns the condition that a column of the group differs from a value.
public func != <T: Entity, V: StorableValue>(left: GroupColumn<T>, right: V) -> GroupCondition<T> {
    GroupCondition(left, .notEqual, right.stored)
}
/// Returns the condition that a column of the group is less than a value.
public func < <T: Entity, V: StorableValue>(left: GroupColumn<T>, right: V) -> GroupCondition<T> {
    GroupCondition(left, .less, right.stored)
}
/// Returns the condition that a column of the group is at most a value.
public func <= <T: Entity, V: StorableValue>(left: GroupColumn<T>, right: V) -> GroupCondition<T> {
    GroupCondition(left, .lessOrEqual, right.stored)
}
/// Returns the condition that a column of the group is greater than a value.
public func > <T: Entity, V: StorableValue>(left: GroupColumn<T>, right: V) -> GroupCondition<T> {
    GroupCondition(left, .greater, right.stored)
}
/// Returns the condition that a column of the group is at least a value.
public func >= <T: Entity, V: StorableValue>(left: GroupColumn<T>, right: V) -> GroupCondition<T> {
    GroupCondition(left, .greaterOrEqual, right.stored)
}

/// A query with one result row for each group of objects; see ``Query/group(by:)-(String...)``. A value: each method
/// returns a changed copy, and only ``fetch()`` reads rows.
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

    /// Adds result columns behind the grouping values: `.select(.count, .sum(\.amount).named("total"))`.
    public func select(_ columns: GroupColumn<T>...) -> GroupedQuery {
        var copy = self
        copy.columns += columns.map { ($0.source, $0.name) }
        return copy
    }

    /// Adds result columns given as text: `.select("count(*) AS n", "sum(price * amount) / count(*)")`.
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

    /// Adds a condition on the groups: `.having(.count > 3)`. Several conditions must all be true.
    public func having(_ condition: GroupCondition<T>) -> GroupedQuery {
        var copy = self
        copy.conditions.append(condition.source)
        return copy
    }

    /// Adds a condition on the groups given as text, which may use the names of result columns:
    /// `.having("n > 3 AND sum(price) < \(limit)")`.
    public func having(
        _ text: WhereText, _ parameters: (any ConditionValue)?..., named: NamedValues = [:]
    ) -> GroupedQuery {
        var copy = self
        copy.conditions.append(text.condition(of: parameters, named))
        return copy
    }

    /// Sorts the groups by grouping values and result columns: `"n DESC, grade"`. The default order is that of the
    /// grouping values.
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

    /// Limits the number of groups.
    public func limit(_ count: Int) -> GroupedQuery {
        var copy = self
        copy.limit = Swift.max(0, count)
        if count < 0 { copy.orders = .failure(.negative("limit", count)) }
        return copy
    }

    /// Skips groups at the beginning.
    public func offset(_ count: Int) -> GroupedQuery {
        var copy = self
        copy.offset = Swift.max(0, count)
        if count < 0 { copy.orders = .failure(.negative("offset", count)) }
        return copy
    }

    /// Returns at most this many groups after skipping others: a page of a longer result.
    public func limit(_ count: Int, offset: Int) -> GroupedQuery { limit(count).offset(offset) }

    /// Returns a row for each group: the grouping values, followed by the selected columns.
    ///
    /// - Throws: `MakoError.query` for an invalid query, before any row is read.
    public func fetch() throws(MakoError) -> RawResults {
        let found = try withStatement { (statement, catalogue, view) throws(RecordError) in
            try statement.run(catalogue, view: view, cancellation: CurrentCancellation.current)
        }
        return RawResults(columns: found.columns, rows: found.rows)
    }

    /// Returns a row for each group, read on a thread of the database; the async form of ``fetch()``.
    public func fetch() async throws(MakoError) -> RawResults {
        let database = try query.target()
        var copy = self
        copy.query = query.on(database)
        let bound = copy
        return try await database.onOwnThread(writes: false) { () throws(MakoError) in try bound.fetch() }
    }

    /// Returns the plan of the query as text, one operator on a line.
    ///
    /// - Parameter analyzing: whether the query runs once to measure each operator, as by
    ///   ``Query/explain(_:analyzing:)``.
    public func explain(analyzing: Bool = false) throws(MakoError) -> String {
        try withStatement { (statement, catalogue, view) throws(RecordError) in
            if analyzing { return try statement.analysis(catalogue, view: view).description }
            return try statement.explanation(catalogue, view: view).description
        }
    }

    /// Returns the plan of the query as a tree of operators, with the measurements of each if `analyzing` is true.
    public func plan(analyzing: Bool = false) throws(MakoError) -> PlanNode {
        try withStatement { (statement, catalogue, view) throws(RecordError) in
            if analyzing { return try statement.analysis(catalogue, view: view).plan }
            return try statement.explanation(catalogue, view: view)
        }
    }

    private func withStatement<R>(
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
    /// Groups the objects by the values of properties; the result has a row for each group.
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
    /// The order, limit and offset of this query have no effect.
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

    /// Groups the objects by expressions such as `"department.name"` or `"age / 10"`.
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
