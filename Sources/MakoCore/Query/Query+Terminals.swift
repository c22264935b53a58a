import MakoRecords
import MakoStorage

extension Query {
    // async
    /// Returns the objects, all of which are read before it returns.
    ///
    /// - Throws: `MakoError.query` for an invalid condition, before any row is read.
    @inlinable
    public func fetch() throws(MakoError) -> Results<T> {
        if hasJoins, let objects = try joinedObjects() { return Results(objects) }
        return Results(try plannedRows().makeObjects(of: T.self))
    }

    /// Returns the objects as an array: `let people: [Person] = try query.fetch()`.
    @_disfavoredOverload
    @inlinable
    public func fetch() throws(MakoError) -> [T] {
        let results: Results<T> = try fetch()
        return results.array
    }

    // async
    /// Returns the first object; nil if there is none.
    @inlinable
    public func first() throws(MakoError) -> T? { try limit(1).fetch().first }

    // async
    /// Returns the only object; nil if there is none.
    ///
    /// - Throws: `MakoError.query` when there are several objects.
    public func one() throws(MakoError) -> T? {
        let found = try limit(2).fetch()
        if found.count > 1 {
            throw .query(message: "one() found more than one \(T.entityModel.name); narrow the condition")
        }
        return found.first
    }

    /// Checks that the query can run, without reading rows: resolves names, checks types and plans the query.
    ///
    /// ```swift
    /// try Person.query().where(text: typed, age).prepare()
    /// ```
    ///
    /// - Throws: `MakoError.query` for an invalid condition.
    public func prepare() throws(MakoError) {
        let repeated = try joined { (selection, view) throws(RecordError) in try selection.planExplanation(in: view) }
        if repeated != nil { return }
        try planned { (_, _, _, _) throws(MakoError) in }
    }

    // async
    /// Returns the number of objects.
    ///
    /// - Throws: `MakoError.query` for an invalid condition.
    public func count() throws(MakoError) -> Int {
        let repeated = try joined { (selection, view) throws(RecordError) in try selection.count(in: view) }
        if let repeated { return repeated }
        return try planned { (plan, _, view, _) throws(MakoError) in
            try records { () throws(RecordError) in try plan.count(in: view) }
        }
    }

    // async
    /// Returns whether there is an object.
    ///
    /// - Throws: `MakoError.query` for an invalid condition.
    public func exists() throws(MakoError) -> Bool {
        let repeated = try limit(1).joined { (selection, view) throws(RecordError) in try selection.keys(in: view) }
        if let repeated { return !repeated.isEmpty }
        return try planned { (plan, _, view, _) throws(MakoError) in
            try records { () throws(RecordError) in try plan.exists(in: view) }
        }
    }

    // async: awaits
    /// Whether there is none; stops at the first row that is found.
    public func isEmpty() throws(MakoError) -> Bool { try !exists() }

    // async
    /// Returns the row numbers of the objects, in the query's order.
    ///
    /// For an entity whose key is a text or a UUID use ``distinct(_:_:)`` of that property, or ``keys()``.
    ///
    /// - Throws: `MakoError.query` for an invalid condition; `.invalidArgument` if the key is no row number.
    public func ids() throws(MakoError) -> [Int] {
        let model = T.entityModel
        if model.hasColumnKey {
            let names = model.keyNames.joined(separator: ", ")
            throw .invalidArgument("\(model.name) has the key \(names) and no row numbers; keys() returns the keys")
        }
        let repeated = try joined { (selection, view) throws(RecordError) in try selection.keys(in: view) }
        if let repeated { return repeated.compactMap { $0.rowID.map { Int($0) } } }
        return try planned { (plan, _, view, _) throws(MakoError) in
            try records { () throws(RecordError) in try plan.ids(in: view) }.map { Int($0) }
        }
    }

    // async
    /// Returns the keys of the objects, in the query's order, as ``ObjectChange/key`` has them.
    ///
    /// They are for comparison. A key that is no row number is in its sortable encoding, and prints as bytes such as
    /// `x'027800'`. Its values are those of the key's properties:
    ///
    /// ```swift
    /// let codes = try db.rawQuery("SELECT code FROM Port ORDER BY code", as: String.self)
    /// ```
    ///
    /// - Throws: `MakoError.query` for an invalid condition.
    public func keys() throws(MakoError) -> [RowKey] {
        let repeated = try joined { (selection, view) throws(RecordError) in try selection.keys(in: view) }
        if let repeated { return repeated }
        return try planned { (plan, _, view, _) throws(MakoError) in
            try records { () throws(RecordError) in try plan.keys(in: view) }
        }
    }

    // async: early
    /// Returns the distinct values of a property, ascending.
    ///
    /// ```swift
    /// let names = try Person.query().where(\.age > 30).distinct(\.name)
    /// ```
    public func distinct<V: StorableValue>(
        _ keyPath: KeyPath<Row<T>, Column<V>>, _ direction: SortDirection = .ascending
    ) throws(MakoError) -> [V] {
        try distinct(try keyPath.path().expr(), direction)
    }

    func distinct<V: StorableValue>(_ expr: Expr, _ direction: SortDirection) throws(MakoError) -> [V] {
        let found = try planned { (plan, _, view, _) throws(MakoError) in
            try records { () throws(RecordError) in try plan.distinctValues(of: expr, in: view) }
        }
        var values: [V] = []
        for value in found {
            if !value.isNull {
                values.append(try fitting(value, "distinct"))
            } else if let none = V(stored: value) {
                values.append(none)
            }
        }
        return direction == .ascending ? values : values.reversed()
    }

    // async
    /// Returns the distinct values of an expression such as `"age / 10"`, ascending. The context determines their type:
    ///
    /// ```swift
    /// let decades: [Int] = try Person.query().distinct("age / 10")
    /// ```
    ///
    /// - Throws: `MakoError.typeMismatch` when a value does not fit the type.
    public func distinct<V: StorableValue>(
        _ expression: String, _ direction: SortDirection = .ascending
    ) throws(MakoError) -> [V] {
        try distinct(try parsed(expression), direction)
    }

    // async
    /// Returns the plan of the query as text: one operator on a line, above those that are its input.
    ///
    /// ```swift
    /// print(try Person.query().where(\.age > 30).orderBy("name").explain(analyzing: true))
    /// // sort by name (cost 5521) (412 rows examined, 412 passed, 14832 bytes, 0.210 ms)
    /// //   search Person using index age (age > 30) (about 412 rows) (412 entries, 412 rows examined, 412 passed, 0.391 ms)
    /// // 412 rows in 0.612 ms
    /// ```
    ///
    /// - Parameters:
    ///   - terminal: the terminal to plan for.
    ///   - analyzing: whether the query runs once to measure each operator: the index entries and rows that it
    ///     examined, the rows that passed, its time, and the bytes that it held. Rows are read, but no objects are
    ///     created.
    /// - Throws: `MakoError.query` for an invalid condition.
    /// - Complexity: that of planning; with `analyzing`, that of ``fetch()``.
    public func explain(_ terminal: QueryTerminal<T> = .fetch, analyzing: Bool = false) throws(MakoError) -> String {
        let explanation = try explanation(terminal, analyzing: analyzing)
        return explanation.analysis?.description ?? explanation.plan.description
    }

    /// Returns the plan of the query with the alternatives that the planner considered, their estimated costs, and the
    /// indexes that are missing.
    ///
    /// ```swift
    /// let explanation = try Person.query().where(\.age > 30).explanation()
    /// if !explanation.usesIndex("age") { print(explanation.missingIndexes) }
    /// ```
    ///
    /// - Parameters:
    ///   - terminal: the terminal to plan for.
    ///   - analyzing: whether the query runs once to measure each operator: `PlanExplanation.analysis`.
    /// - Throws: `MakoError.query` for an invalid condition; `.cancelled`.
    /// - Complexity: that of planning; with `analyzing`, that of ``fetch()``.
    public func explanation(
        _ terminal: QueryTerminal<T> = .fetch, analyzing: Bool = false
    ) throws(MakoError) -> PlanExplanation {
        let result = try terminal.result.get()
        let repeated = try joined { (selection, view) throws(RecordError) in
            try selection.planExplanation(of: result, in: view, analyzing: analyzing)
        }
        if let repeated { return repeated }
        let database = try target()
        try prepareJoins(database)
        return try database.viewing(T.entityModel) { (view, binding, schema) throws(MakoError) in
            let selection = try selection(binding, schema, view)
            return try records { () throws(RecordError) in
                try selection.explanation(
                    schema.catalogue, in: view, of: result, analyzing: analyzing,
                    cancellation: CurrentCancellation.current)
            }
        }
    }

    // async: writes
    /// Deletes the objects, with the delete rules of their relationships, and returns their number.
    ///
    /// One transaction, or a savepoint of the running one.
    ///
    /// - Throws: `MakoError.query` for an invalid condition; the error of a delete rule or a hook. A deletion that throws
    ///   deletes nothing.
    @discardableResult
    public func delete() throws(MakoError) -> Int {
        let database = try target()
        return try database.allOrNothing { (transaction) throws(MakoError) in
            try transaction.refusePartial(T.entityModel)
            let binding = try transaction.binding(T.entityModel)
            var keys = try keys()
            if hasJoins {
                var seen: Set<RowKey> = []
                keys.removeAll { !seen.insert($0).inserted }
            }
            return try transaction.removeCallingHooks(keys, transaction.current(binding))
        }
    }

    // async: awaits
    /// Returns the objects grouped by the value of a property.
    public func groupBy<V: Hashable>(_ keyPath: KeyPath<T, V>) throws(MakoError) -> GroupedObjects<V, T> {
        GroupedObjects(try fetch()) { $0[keyPath: keyPath] }
    }

    // async: early
    /// Returns the number of objects for each value of a property, ordered by value.
    ///
    /// The values are ``StoredValue``s, because a path may lead to nothing (`.null`). One prints as in SQL, such as `'dessert'`;
    /// an initialiser returns the Swift value:
    ///
    /// ```swift
    /// for (value, count) in try db.query(Recipe.self).groupCount(\.course) {
    ///     print(String(stored: value) ?? "none", count)
    /// }
    /// ```
    public func groupCount<V>(_ keyPath: KeyPath<Row<T>, Column<V>>) throws(MakoError) -> [(
        value: StoredValue, count: Int
    )] {
        try groupCount(try keyPath.path().expr())
    }

    // async
    /// Returns the number of objects for each value of an expression such as `"department.name"`, ordered by value.
    public func groupCount(_ expression: String) throws(MakoError) -> [(value: StoredValue, count: Int)] {
        try groupCount(try records { () throws(RecordError) in try Expr.parse(expression) })
    }

    func groupCount(_ expr: Expr) throws(MakoError) -> [(value: StoredValue, count: Int)] {
        try planned { (plan, _, view, _) throws(MakoError) in
            try records { () throws(RecordError) in try plan.groupCount(by: expr, in: view) }
        }
    }
}

// MARK: - Aggregates

extension Query {
    private func aggregate(_ function: AggregateFunction, _ expr: Expr) throws(MakoError) -> StoredValue {
        let repeated = try joined { (selection, view) throws(RecordError) in
            try selection.aggregate(function, of: expr, in: view)
        }
        if let repeated { return repeated }
        return try planned { (plan, _, view, _) throws(MakoError) in
            try records { () throws(RecordError) in try plan.aggregate(function, of: expr, in: view) }
        }
    }

    private func number(_ value: StoredValue) -> Double? { Double(stored: value) }

    // async: early
    /// Returns the sum of a property; 0 without values.
    ///
    /// - Throws: `MakoError.typeMismatch` when the sum does not fit the property's type.
    public func sum<V: StorableValue & Numeric>(_ keyPath: KeyPath<Row<T>, Column<V>>) throws(MakoError) -> V {
        try sum(try keyPath.path().expr())
    }
    // async: early
    /// Returns the sum of the values of an optional property; 0 without values.
    public func sum<V: StorableValue & Numeric>(_ keyPath: KeyPath<Row<T>, Column<V?>>) throws(MakoError) -> V {
        try sum(try keyPath.path().expr())
    }
    func sum<V: StorableValue & Numeric>(_ expr: Expr) throws(MakoError) -> V {
        let value = try aggregate(.sum, expr)
        return value.isNull ? .zero : try fitting(value, "sum")
    }

    /// A computed value in the result type.
    private func fitting<V: StorableValue>(_ value: StoredValue, _ name: String) throws(MakoError) -> V {
        if let fitting = V(stored: value) { return fitting }
        throw .typeMismatch(
            entity: T.entityModel.name, property: name, expected: "\(V.self)", found: value.description)
    }

    // async
    /// Returns the sum of an expression such as `"price * amount"`; 0 without values. The sum of integers is computed
    /// exactly and then converted; let the result be an `Int` to keep it exact.
    public func sum(_ expression: String) throws(MakoError) -> Double {
        number(try aggregate(.sum, try parsed(expression))) ?? 0
    }

    // async
    /// Returns the sum of an expression in the type of the context, exact for integers; 0 without values.
    ///
    /// ```swift
    /// let cents: Int = try Item.query().sum("price * amount")
    /// ```
    ///
    /// - Throws: `MakoError.typeMismatch` when the sum does not fit the type.
    @_disfavoredOverload
    public func sum<V: StorableValue & Numeric>(_ expression: String) throws(MakoError) -> V {
        try sum(try parsed(expression))
    }

    // async: early
    /// Returns the sum of a property as a `Double`, which no sum overflows; 0 without values.
    public func total<V: StorableValue>(_ keyPath: KeyPath<Row<T>, Column<V>>) throws(MakoError) -> Double {
        try total(try keyPath.path().expr())
    }
    // async
    /// Returns the sum of an expression as a `Double`; 0 without values.
    public func total(_ expression: String) throws(MakoError) -> Double { try total(try parsed(expression)) }
    func total(_ expr: Expr) throws(MakoError) -> Double { number(try aggregate(.total, expr)) ?? 0 }

    // async: early
    /// Returns the mean of a property; nil without values.
    public func avg<V: StorableValue>(_ keyPath: KeyPath<Row<T>, Column<V>>) throws(MakoError) -> Double? {
        try average(try keyPath.path().expr())
    }
    // async
    /// Returns the mean of an expression; nil without values.
    public func avg(_ expression: String) throws(MakoError) -> Double? {
        try average(try parsed(expression))
    }
    func average(_ expr: Expr) throws(MakoError) -> Double? { number(try aggregate(.average, expr)) }

    // async: early
    /// Returns the smallest value of a property; nil without values.
    public func min<V: StorableValue>(_ keyPath: KeyPath<Row<T>, Column<V>>) throws(MakoError) -> V? {
        try extreme(.minimum, try keyPath.path().expr())
    }
    // async: early
    /// Returns the smallest value of an optional property; nil without values.
    public func min<V: StorableValue>(_ keyPath: KeyPath<Row<T>, Column<V?>>) throws(MakoError) -> V? {
        try extreme(.minimum, try keyPath.path().expr())
    }
    // async: early
    /// Returns the largest value of a property; nil without values.
    public func max<V: StorableValue>(_ keyPath: KeyPath<Row<T>, Column<V>>) throws(MakoError) -> V? {
        try extreme(.maximum, try keyPath.path().expr())
    }
    // async: early
    /// Returns the largest value of an optional property; nil without values.
    public func max<V: StorableValue>(_ keyPath: KeyPath<Row<T>, Column<V?>>) throws(MakoError) -> V? {
        try extreme(.maximum, try keyPath.path().expr())
    }
    func extreme<V: StorableValue>(_ function: AggregateFunction, _ expr: Expr) throws(MakoError) -> V? {
        let value = try aggregate(function, expr)
        return value.isNull ? nil : try fitting(value, function.rawValue)
    }

    // async
    /// Returns the smallest value of an expression such as `"price * amount"`; nil without values. The context
    /// determines its type:
    ///
    /// ```swift
    /// let least: Int? = try Item.query().min("price * amount")
    /// ```
    ///
    /// - Throws: `MakoError.typeMismatch` when the value does not fit the type.
    public func min<V: StorableValue>(_ expression: String) throws(MakoError) -> V? {
        try extreme(.minimum, try parsed(expression))
    }
    // async
    /// Returns the largest value of an expression; nil without values.
    public func max<V: StorableValue>(_ expression: String) throws(MakoError) -> V? {
        try extreme(.maximum, try parsed(expression))
    }

    private func parsed(_ expression: String) throws(MakoError) -> Expr {
        try records { () throws(RecordError) in try Expr.parse(expression) }
    }
}

// MARK: - Async forms

extension Query {
    /// Runs an async form that scripts/async-twins makes.
    func away<R: Sendable>(
        writes: Bool = false, _ body: @escaping @Sendable (Query<T>) throws(MakoError) -> R
    ) async throws(MakoError) -> R {
        let database = try target()
        // The query is bound to the current database here, because other threads do not see task-local values.
        let bound = on(database)
        return try await database.onOwnThread(writes: writes) { () throws(MakoError) in try body(bound) }
    }
}
