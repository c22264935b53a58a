import MakoRecords
import MakoStorage

extension Query {
    /// The objects. Everything is read before it returns.
    ///
    /// - Throws: `MakoError.query` for a condition that does not hold together, before any row is read.
    @inlinable
    public func fetch() throws(MakoError) -> Results<T> {
        if hasJoins, let objects = try joinedObjects() { return Results(objects) }
        return Results(try plannedRows().makeObjects(of: T.self))
    }

    /// The first object, or nil.
    @inlinable
    public func first() throws(MakoError) -> T? { try limit(1).fetch().first }

    /// The only object, or nil.
    ///
    /// - Throws: `MakoError.query` when there are several.
    public func one() throws(MakoError) -> T? {
        let found = try limit(2).fetch()
        if found.count > 1 {
            throw .query(message: "one() found more than one \(T.entityModel.name); narrow the condition")
        }
        return found.first
    }

    /// Makes sure that the query can be run and reads nothing: names are looked up, types compared, and the way to the objects is chosen.
    ///
    /// ```swift
    /// try Person.query().where(text: typed, age).prepare()
    /// ```
    ///
    /// - Throws: `MakoError.query` for a condition that does not hold together.
    public func prepare() throws(MakoError) {
        let repeated = try joined { (selection, view) throws(RecordError) in try selection.planExplanation(in: view) }
        if repeated != nil { return }
        try planned { (_, _, _, _) throws(MakoError) in }
    }

    /// How many objects there are.
    public func count() throws(MakoError) -> Int {
        let repeated = try joined { (selection, view) throws(RecordError) in try selection.count(in: view) }
        if let repeated { return repeated }
        return try planned { (plan, _, view, _) throws(MakoError) in
            try records { () throws(RecordError) in try plan.count(in: view) }
        }
    }

    /// Whether there is any.
    public func exists() throws(MakoError) -> Bool {
        let repeated = try limit(1).joined { (selection, view) throws(RecordError) in try selection.keys(in: view) }
        if let repeated { return !repeated.isEmpty }
        return try planned { (plan, _, view, _) throws(MakoError) in
            try records { () throws(RecordError) in try plan.exists(in: view) }
        }
    }

    /// Whether there is none; stops at the first row that is found.
    public func isEmpty() throws(MakoError) -> Bool { try !exists() }

    /// The row numbers, in the query's order. Entities with another key have ``keys()``.
    public func ids() throws(MakoError) -> [Int] {
        let repeated = try joined { (selection, view) throws(RecordError) in try selection.keys(in: view) }
        if let repeated { return repeated.compactMap { $0.rowID.map { Int($0) } } }
        return try planned { (plan, _, view, _) throws(MakoError) in
            try records { () throws(RecordError) in try plan.ids(in: view) }.map { Int($0) }
        }
    }

    /// The keys, in the query's order.
    public func keys() throws(MakoError) -> [RowKey] {
        let repeated = try joined { (selection, view) throws(RecordError) in try selection.keys(in: view) }
        if let repeated { return repeated }
        return try planned { (plan, _, view, _) throws(MakoError) in
            try records { () throws(RecordError) in try plan.keys(in: view) }
        }
    }

    /// The different values of a property, ascending.
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

    /// The different values of an expression such as `"age / 10"`, ascending. Which type they have is said where they go to:
    ///
    /// ```swift
    /// let decades: [Int] = try Person.query().distinct("age / 10")
    /// ```
    ///
    /// - Throws: `MakoError.typeMismatch` when a value is none of the type's.
    public func distinct<V: StorableValue>(
        _ expression: String, _ direction: SortDirection = .ascending
    ) throws(MakoError) -> [V] {
        try distinct(try parsed(expression), direction)
    }

    /// How the query is run: its operators, one on a line, each above those that feed it.
    ///
    /// ```swift
    /// print(try Person.query().where(\.age > 30).orderBy("name").explain(analyzing: true))
    /// // sort by name (cost 5521) (412 rows examined, 412 passed, 14832 bytes, 0.210 ms)
    /// //   search Person using index age (age > 30) (about 412 rows) (412 entries, 412 rows examined, 412 passed, 0.391 ms)
    /// // 412 rows in 0.612 ms
    /// ```
    ///
    /// - Parameters:
    ///   - terminal: what the query is run for.
    ///   - analyzing: whether the query is run once, to measure what each operator did: how many entries of indexes and how many rows it
    ///     examined, how many of them passed, how long that took, and how many bytes it held. Rows are read, and no objects are made.
    /// - Throws: `MakoError.query` for a condition that does not hold together.
    /// - Complexity: that of planning; analyzing, that of ``fetch()``.
    public func explain(_ terminal: QueryTerminal<T> = .fetch, analyzing: Bool = false) throws(MakoError) -> String {
        let explanation = try explanation(terminal, analyzing: analyzing)
        return explanation.analysis?.description ?? explanation.plan.description
    }

    /// How the query is run, with what else was thought of, what it was expected to cost, and the index that would help.
    ///
    /// ```swift
    /// let explanation = try Person.query().where(\.age > 30).explanation()
    /// if !explanation.usesIndex("age") { print(explanation.missingIndexes) }
    /// ```
    ///
    /// - Parameters:
    ///   - terminal: what the query is run for.
    ///   - analyzing: whether the query is run once, to measure what each operator did: ``PlanExplanation/analysis``.
    /// - Throws: `MakoError.query` for a condition that does not hold together; `.cancelled`.
    /// - Complexity: that of planning; analyzing, that of ``fetch()``.
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

    /// Removes the objects, by the relationships' delete rules, and answers how many there were.
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
            return try transaction.removeTelling(keys, transaction.current(binding))
        }
    }

    /// The objects by the value of a property.
    public func groupBy<V: Hashable>(_ keyPath: KeyPath<T, V>) throws(MakoError) -> GroupedObjects<V, T> {
        GroupedObjects(try fetch()) { $0[keyPath: keyPath] }
    }

    /// How many objects have each value of a property, ordered by value.
    public func groupCount<V>(_ keyPath: KeyPath<Row<T>, Column<V>>) throws(MakoError) -> [(
        value: StoredValue, count: Int
    )] {
        try groupCount(try keyPath.path().expr())
    }

    /// How many objects have each value of an expression such as `"department.name"`, ordered by value.
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

    /// The sum of a property; 0 of nothing.
    ///
    /// - Throws: `MakoError.typeMismatch` when the sum does not fit the property's type.
    public func sum<V: StorableValue & Numeric>(_ keyPath: KeyPath<Row<T>, Column<V>>) throws(MakoError) -> V {
        try sum(try keyPath.path().expr())
    }
    public func sum<V: StorableValue & Numeric>(_ keyPath: KeyPath<Row<T>, Column<V?>>) throws(MakoError) -> V {
        try sum(try keyPath.path().expr())
    }
    func sum<V: StorableValue & Numeric>(_ expr: Expr) throws(MakoError) -> V {
        let value = try aggregate(.sum, expr)
        return value.isNull ? .zero : try fitting(value, "sum")
    }

    /// A value that was worked out as one of a type.
    private func fitting<V: StorableValue>(_ value: StoredValue, _ name: String) throws(MakoError) -> V {
        if let fitting = V(stored: value) { return fitting }
        throw .typeMismatch(
            entity: T.entityModel.name, property: name, expected: "\(V.self)", found: value.description)
    }

    /// The sum of an expression such as `"price * amount"`; 0 of nothing. That of whole numbers is worked out exactly; ask for an `Int`
    /// where it is to stay so.
    public func sum(_ expression: String) throws(MakoError) -> Double {
        number(try aggregate(.sum, try parsed(expression))) ?? 0
    }

    /// The same, exact where it is whole:
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

    /// The sum of a property as a `Double`, which any sum fits; 0 of nothing.
    public func total<V: StorableValue>(_ keyPath: KeyPath<Row<T>, Column<V>>) throws(MakoError) -> Double {
        try total(try keyPath.path().expr())
    }
    /// The sum of an expression as a `Double`; 0 of nothing.
    public func total(_ expression: String) throws(MakoError) -> Double { try total(try parsed(expression)) }
    func total(_ expr: Expr) throws(MakoError) -> Double { number(try aggregate(.total, expr)) ?? 0 }

    /// The mean of a property; nil of nothing.
    public func avg<V: StorableValue>(_ keyPath: KeyPath<Row<T>, Column<V>>) throws(MakoError) -> Double? {
        try average(try keyPath.path().expr())
    }
    /// The mean of an expression; nil of nothing.
    public func avg(_ expression: String) throws(MakoError) -> Double? {
        try average(try parsed(expression))
    }
    func average(_ expr: Expr) throws(MakoError) -> Double? { number(try aggregate(.average, expr)) }

    /// The smallest value of a property; nil of nothing.
    public func min<V: StorableValue>(_ keyPath: KeyPath<Row<T>, Column<V>>) throws(MakoError) -> V? {
        try extreme(.minimum, try keyPath.path().expr())
    }
    public func min<V: StorableValue>(_ keyPath: KeyPath<Row<T>, Column<V?>>) throws(MakoError) -> V? {
        try extreme(.minimum, try keyPath.path().expr())
    }
    /// The largest value of a property; nil of nothing.
    public func max<V: StorableValue>(_ keyPath: KeyPath<Row<T>, Column<V>>) throws(MakoError) -> V? {
        try extreme(.maximum, try keyPath.path().expr())
    }
    public func max<V: StorableValue>(_ keyPath: KeyPath<Row<T>, Column<V?>>) throws(MakoError) -> V? {
        try extreme(.maximum, try keyPath.path().expr())
    }
    func extreme<V: StorableValue>(_ function: AggregateFunction, _ expr: Expr) throws(MakoError) -> V? {
        let value = try aggregate(function, expr)
        return value.isNull ? nil : try fitting(value, function.rawValue)
    }

    /// The smallest value of an expression such as `"price * amount"`; nil of nothing. Which type it has is said where it goes to:
    ///
    /// ```swift
    /// let least: Int? = try Item.query().min("price * amount")
    /// ```
    ///
    /// - Throws: `MakoError.typeMismatch` when the value is none of the type's.
    public func min<V: StorableValue>(_ expression: String) throws(MakoError) -> V? {
        try extreme(.minimum, try parsed(expression))
    }
    /// The largest value of an expression; nil of nothing.
    public func max<V: StorableValue>(_ expression: String) throws(MakoError) -> V? {
        try extreme(.maximum, try parsed(expression))
    }

    private func parsed(_ expression: String) throws(MakoError) -> Expr {
        try records { () throws(RecordError) in try Expr.parse(expression) }
    }
}
