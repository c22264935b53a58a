import MakoRecords

// Terminals in their async form: the work is done on a thread of the database, not on Swift's cooperative pool.
extension Query {
    func away<R: Sendable>(
        writes: Bool = false, _ body: @escaping @Sendable (Query<T>) throws(MakoError) -> R
    ) async throws(MakoError) -> R {
        let database = try target()
        // The query keeps to the database that is current here: task-local values do not travel to other threads.
        let bound = on(database)
        return try await database.onOwnThread(writes: writes) { () throws(MakoError) in try body(bound) }
    }

    public func fetch() async throws(MakoError) -> Results<T> {
        try await away { (query) throws(MakoError) in try query.fetch() }
    }
    public func first() async throws(MakoError) -> T? {
        try await away { (query) throws(MakoError) in try query.first() }
    }
    public func one() async throws(MakoError) -> T? {
        try await away { (query) throws(MakoError) in try query.one() }
    }
    public func batch(_ size: Int) async throws(MakoError) -> BatchedResults<T> {
        try await away { (query) throws(MakoError) in try query.batch(size) }
    }
    public func fetchLightweight(
        prefetching keyPaths: PartialKeyPath<T>..., retaining: Bool = true
    ) async throws(MakoError) -> LightweightResults<T> {
        let columns = try Query.columns(keyPaths)
        return try await away { (query) throws(MakoError) in try query.fetchLightweight(columns, retaining) }
    }
    /// The objects by the value of a property, which is asked for here when all are fetched.
    public func groupBy<V: Hashable>(_ keyPath: KeyPath<T, V>) async throws(MakoError) -> GroupedObjects<V, T> {
        GroupedObjects(try await fetch()) { $0[keyPath: keyPath] }
    }
    public func count() async throws(MakoError) -> Int {
        try await away { (query) throws(MakoError) in try query.count() }
    }
    /// The async form of `isEmpty()`.
    public func isEmpty() async throws(MakoError) -> Bool { try await !exists() }
    public func exists() async throws(MakoError) -> Bool {
        try await away { (query) throws(MakoError) in try query.exists() }
    }
    public func ids() async throws(MakoError) -> [Int] {
        try await away { (query) throws(MakoError) in try query.ids() }
    }
    public func keys() async throws(MakoError) -> [RowKey] {
        try await away { (query) throws(MakoError) in try query.keys() }
    }
    public func explain(
        _ terminal: QueryTerminal<T> = .fetch, analyzing: Bool = false
    ) async throws(MakoError) -> String {
        try await away { (query) throws(MakoError) in try query.explain(terminal, analyzing: analyzing) }
    }
    @discardableResult
    public func delete() async throws(MakoError) -> Int {
        try await away(writes: true) { (query) throws(MakoError) in try query.delete() }
    }

    public func distinct<V: StorableValue>(
        _ keyPath: KeyPath<Row<T>, Column<V>>, _ direction: SortDirection = .ascending
    ) async throws(MakoError) -> [V] {
        let expr = try keyPath.path().expr()
        return try await away { (query) throws(MakoError) in try query.distinct(expr, direction) }
    }
    public func groupCount<V>(_ keyPath: KeyPath<Row<T>, Column<V>>) async throws(MakoError) -> [(
        value: StoredValue, count: Int
    )] {
        let expr = try keyPath.path().expr()
        return try await away { (query) throws(MakoError) in try query.groupCount(expr) }
    }
    public func groupCount(_ expression: String) async throws(MakoError) -> [(value: StoredValue, count: Int)] {
        try await away { (query) throws(MakoError) in try query.groupCount(expression) }
    }
    public func sum<V: StorableValue & Numeric>(_ keyPath: KeyPath<Row<T>, Column<V>>) async throws(MakoError) -> V {
        let expr = try keyPath.path().expr()
        return try await away { (query) throws(MakoError) in try query.sum(expr) }
    }
    public func sum<V: StorableValue & Numeric>(_ keyPath: KeyPath<Row<T>, Column<V?>>) async throws(MakoError) -> V {
        let expr = try keyPath.path().expr()
        return try await away { (query) throws(MakoError) in try query.sum(expr) }
    }
    public func sum(_ expression: String) async throws(MakoError) -> Double {
        try await away { (query) throws(MakoError) in try query.sum(expression) }
    }
    @_disfavoredOverload
    public func sum<V: StorableValue & Numeric>(_ expression: String) async throws(MakoError) -> V {
        try await away { (query) throws(MakoError) in try query.sum(expression) }
    }
    public func total<V: StorableValue>(_ keyPath: KeyPath<Row<T>, Column<V>>) async throws(MakoError) -> Double {
        let expr = try keyPath.path().expr()
        return try await away { (query) throws(MakoError) in try query.total(expr) }
    }
    public func total(_ expression: String) async throws(MakoError) -> Double {
        try await away { (query) throws(MakoError) in try query.total(expression) }
    }
    public func distinct<V: StorableValue>(
        _ expression: String, _ direction: SortDirection = .ascending
    ) async throws(MakoError) -> [V] {
        try await away { (query) throws(MakoError) in try query.distinct(expression, direction) }
    }
    public func min<V: StorableValue>(_ expression: String) async throws(MakoError) -> V? {
        try await away { (query) throws(MakoError) in try query.min(expression) }
    }
    public func max<V: StorableValue>(_ expression: String) async throws(MakoError) -> V? {
        try await away { (query) throws(MakoError) in try query.max(expression) }
    }
    public func avg<V: StorableValue>(_ keyPath: KeyPath<Row<T>, Column<V>>) async throws(MakoError) -> Double? {
        let expr = try keyPath.path().expr()
        return try await away { (query) throws(MakoError) in try query.average(expr) }
    }
    public func avg(_ expression: String) async throws(MakoError) -> Double? {
        try await away { (query) throws(MakoError) in try query.avg(expression) }
    }
    public func min<V: StorableValue>(_ keyPath: KeyPath<Row<T>, Column<V>>) async throws(MakoError) -> V? {
        let expr = try keyPath.path().expr()
        return try await away { (query) throws(MakoError) in try query.extreme(.minimum, expr) }
    }
    public func min<V: StorableValue>(_ keyPath: KeyPath<Row<T>, Column<V?>>) async throws(MakoError) -> V? {
        let expr = try keyPath.path().expr()
        return try await away { (query) throws(MakoError) in try query.extreme(.minimum, expr) }
    }
    public func max<V: StorableValue>(_ keyPath: KeyPath<Row<T>, Column<V>>) async throws(MakoError) -> V? {
        let expr = try keyPath.path().expr()
        return try await away { (query) throws(MakoError) in try query.extreme(.maximum, expr) }
    }
    public func max<V: StorableValue>(_ keyPath: KeyPath<Row<T>, Column<V?>>) async throws(MakoError) -> V? {
        let expr = try keyPath.path().expr()
        return try await away { (query) throws(MakoError) in try query.extreme(.maximum, expr) }
    }
}

extension Results where T: ObjectEntity {
    /// The async form of `removeAll`.
    @discardableResult
    public func removeAll() async throws(MakoError) -> Int {
        guard let first else { return 0 }
        let database = try Database.resolve(number: first.lockedState { $0.database }, for: T.entityModel)
        return try await database.delete(objects)
    }
}
