import MakoRecords

// Terminals in their async form: they run on a thread of the database, not on Swift's cooperative pool.
extension Query {
    func away<R: Sendable>(
        writes: Bool = false, _ body: @escaping @Sendable (Query<T>) throws(MakoError) -> R
    ) async throws(MakoError) -> R {
        let database = try target()
        // The query is bound to the current database here, because other threads do not see task-local values.
        let bound = on(database)
        return try await database.onOwnThread(writes: writes) { () throws(MakoError) in try body(bound) }
    }

    /// Returns the objects; the async form of ``fetch()-(())``.
    public func fetch() async throws(MakoError) -> Results<T> {
        try await away { (query) throws(MakoError) in try query.fetch() }
    }
    /// Returns the first object, or nil; the async form of `first`.
    public func first() async throws(MakoError) -> T? {
        try await away { (query) throws(MakoError) in try query.first() }
    }
    /// Returns the only object, or nil; the async form of `one`.
    public func one() async throws(MakoError) -> T? {
        try await away { (query) throws(MakoError) in try query.one() }
    }
    /// Returns the objects as a collection that reads them in batches; the async form of `batch`.
    public func batch(_ size: Int) async throws(MakoError) -> BatchedResults<T> {
        try await away { (query) throws(MakoError) in try query.batch(size) }
    }
    /// Returns the keys of the objects and some of their properties; the async form of `fetchLightweight`.
    public func fetchLightweight(
        prefetching keyPaths: PartialKeyPath<T>..., retaining: Bool = true
    ) async throws(MakoError) -> LightweightResults<T> {
        let columns = try Query.columns(keyPaths)
        return try await away { (query) throws(MakoError) in try query.fetchLightweight(columns, retaining) }
    }
    /// Returns the objects grouped by the value of a property; the async form of `groupBy`. The property is read here,
    /// by the caller.
    public func groupBy<V: Hashable>(_ keyPath: KeyPath<T, V>) async throws(MakoError) -> GroupedObjects<V, T> {
        GroupedObjects(try await fetch()) { $0[keyPath: keyPath] }
    }
    /// Returns the number of objects; the async form of `count`.
    public func count() async throws(MakoError) -> Int {
        try await away { (query) throws(MakoError) in try query.count() }
    }
    /// The async form of `isEmpty()`.
    public func isEmpty() async throws(MakoError) -> Bool { try await !exists() }
    /// Returns whether there is an object; the async form of `exists`.
    public func exists() async throws(MakoError) -> Bool {
        try await away { (query) throws(MakoError) in try query.exists() }
    }
    /// Returns the row numbers of the objects; the async form of `ids`.
    public func ids() async throws(MakoError) -> [Int] {
        try await away { (query) throws(MakoError) in try query.ids() }
    }
    /// Returns the keys of the objects; the async form of `keys`.
    public func keys() async throws(MakoError) -> [RowKey] {
        try await away { (query) throws(MakoError) in try query.keys() }
    }
    /// Returns the plan of the query as text; the async form of `explain`.
    public func explain(
        _ terminal: QueryTerminal<T> = .fetch, analyzing: Bool = false
    ) async throws(MakoError) -> String {
        try await away { (query) throws(MakoError) in try query.explain(terminal, analyzing: analyzing) }
    }
    /// Deletes the objects and returns their number; the async form of `delete`.
    @discardableResult
    public func delete() async throws(MakoError) -> Int {
        try await away(writes: true) { (query) throws(MakoError) in try query.delete() }
    }

    /// Returns the distinct values of a property; the async form of `distinct`.
    public func distinct<V: StorableValue>(
        _ keyPath: KeyPath<Row<T>, Column<V>>, _ direction: SortDirection = .ascending
    ) async throws(MakoError) -> [V] {
        let expr = try keyPath.path().expr()
        return try await away { (query) throws(MakoError) in try query.distinct(expr, direction) }
    }
    /// Returns the number of objects for each value of a property; the async form of `groupCount`.
    public func groupCount<V>(_ keyPath: KeyPath<Row<T>, Column<V>>) async throws(MakoError) -> [(
        value: StoredValue, count: Int
    )] {
        let expr = try keyPath.path().expr()
        return try await away { (query) throws(MakoError) in try query.groupCount(expr) }
    }
    /// Returns the number of objects for each value of an expression; the async form of `groupCount`.
    public func groupCount(_ expression: String) async throws(MakoError) -> [(value: StoredValue, count: Int)] {
        try await away { (query) throws(MakoError) in try query.groupCount(expression) }
    }
    /// Returns the sum of a property; the async form of `sum`.
    public func sum<V: StorableValue & Numeric>(_ keyPath: KeyPath<Row<T>, Column<V>>) async throws(MakoError) -> V {
        let expr = try keyPath.path().expr()
        return try await away { (query) throws(MakoError) in try query.sum(expr) }
    }
    /// Returns the sum of the values of an optional property; the async form of `sum`.
    public func sum<V: StorableValue & Numeric>(_ keyPath: KeyPath<Row<T>, Column<V?>>) async throws(MakoError) -> V {
        let expr = try keyPath.path().expr()
        return try await away { (query) throws(MakoError) in try query.sum(expr) }
    }
    /// Returns the sum of an expression as a `Double`; the async form of `sum`.
    public func sum(_ expression: String) async throws(MakoError) -> Double {
        try await away { (query) throws(MakoError) in try query.sum(expression) }
    }
    /// Returns the sum of an expression, exact for integers; the async form of `sum`.
    @_disfavoredOverload
    public func sum<V: StorableValue & Numeric>(_ expression: String) async throws(MakoError) -> V {
        try await away { (query) throws(MakoError) in try query.sum(expression) }
    }
    /// Returns the sum of a property as a `Double`; the async form of `total`.
    public func total<V: StorableValue>(_ keyPath: KeyPath<Row<T>, Column<V>>) async throws(MakoError) -> Double {
        let expr = try keyPath.path().expr()
        return try await away { (query) throws(MakoError) in try query.total(expr) }
    }
    /// Returns the sum of an expression as a `Double`; the async form of `total`.
    public func total(_ expression: String) async throws(MakoError) -> Double {
        try await away { (query) throws(MakoError) in try query.total(expression) }
    }
    /// Returns the distinct values of an expression; the async form of `distinct`.
    public func distinct<V: StorableValue>(
        _ expression: String, _ direction: SortDirection = .ascending
    ) async throws(MakoError) -> [V] {
        try await away { (query) throws(MakoError) in try query.distinct(expression, direction) }
    }
    /// Returns the smallest value of an expression; the async form of `min`.
    public func min<V: StorableValue>(_ expression: String) async throws(MakoError) -> V? {
        try await away { (query) throws(MakoError) in try query.min(expression) }
    }
    /// Returns the largest value of an expression; the async form of `max`.
    public func max<V: StorableValue>(_ expression: String) async throws(MakoError) -> V? {
        try await away { (query) throws(MakoError) in try query.max(expression) }
    }
    /// Returns the mean of a property; the async form of `avg`.
    public func avg<V: StorableValue>(_ keyPath: KeyPath<Row<T>, Column<V>>) async throws(MakoError) -> Double? {
        let expr = try keyPath.path().expr()
        return try await away { (query) throws(MakoError) in try query.average(expr) }
    }
    /// Returns the mean of an expression; the async form of `avg`.
    public func avg(_ expression: String) async throws(MakoError) -> Double? {
        try await away { (query) throws(MakoError) in try query.avg(expression) }
    }
    /// Returns the smallest value of a property; the async form of `min`.
    public func min<V: StorableValue>(_ keyPath: KeyPath<Row<T>, Column<V>>) async throws(MakoError) -> V? {
        let expr = try keyPath.path().expr()
        return try await away { (query) throws(MakoError) in try query.extreme(.minimum, expr) }
    }
    /// Returns the smallest value of an optional property; the async form of `min`.
    public func min<V: StorableValue>(_ keyPath: KeyPath<Row<T>, Column<V?>>) async throws(MakoError) -> V? {
        let expr = try keyPath.path().expr()
        return try await away { (query) throws(MakoError) in try query.extreme(.minimum, expr) }
    }
    /// Returns the largest value of a property; the async form of `max`.
    public func max<V: StorableValue>(_ keyPath: KeyPath<Row<T>, Column<V>>) async throws(MakoError) -> V? {
        let expr = try keyPath.path().expr()
        return try await away { (query) throws(MakoError) in try query.extreme(.maximum, expr) }
    }
    /// Returns the largest value of an optional property; the async form of `max`.
    public func max<V: StorableValue>(_ keyPath: KeyPath<Row<T>, Column<V?>>) async throws(MakoError) -> V? {
        let expr = try keyPath.path().expr()
        return try await away { (query) throws(MakoError) in try query.extreme(.maximum, expr) }
    }
}

extension Results where T: ObjectEntity {
    /// Deletes all objects in one transaction and returns how many were stored; the async form of `removeAll`.
    @discardableResult
    public func removeAll() async throws(MakoError) -> Int {
        guard let first else { return 0 }
        let database = try Database.resolve(number: first.lockedState { $0.database }, for: T.entityModel)
        return try await database.delete(objects)
    }
}
