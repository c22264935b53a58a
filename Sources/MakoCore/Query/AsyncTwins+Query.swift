// Made by scripts/async-twins of the functions marked `// async`.

import MakoRecords

extension Query {
    /// The async form of `batch(_:)`. Runs on a thread outside Swift's cooperative pool.
    public func batch(_ size: Int) async throws(MakoError) -> BatchedResults<T> {
        try await away { (receiver) throws(MakoError) in try receiver.batch(size) }
    }

    /// The async form of `distinct(_:_:)`. Runs on a thread outside Swift's cooperative pool.
    @_disfavoredOverload
    public func distinct<V: RawRepresentable & Sendable>(
        _ keyPath: KeyPath<Row<T>, Column<V>>, _ direction: SortDirection = .ascending
    ) async throws(MakoError) -> [V] where V.RawValue: StorableValue {
        let keyPath = try keyPath.path().expr()
        return try await away { (receiver) throws(MakoError) in try receiver.distinctRaw(keyPath, direction) }
    }

    /// The async form of `distinct(_:_:)`. Runs on a thread outside Swift's cooperative pool.
    @_disfavoredOverload
    public func distinct<V: RawRepresentable & Sendable>(
        _ keyPath: KeyPath<Row<T>, Column<V?>>, _ direction: SortDirection = .ascending
    ) async throws(MakoError) -> [V?] where V.RawValue: StorableValue {
        let keyPath = try keyPath.path().expr()
        return try await away { (receiver) throws(MakoError) in try receiver.distinctRawOrNil(keyPath, direction) }
    }

    /// The async form of `min(_:)`. Runs on a thread outside Swift's cooperative pool.
    @_disfavoredOverload
    public func min<V: RawRepresentable & Sendable>(_ keyPath: KeyPath<Row<T>, Column<V>>) async throws(MakoError) -> V?
    where V.RawValue: StorableValue {
        let keyPath = try keyPath.path().expr()
        return try await away { (receiver) throws(MakoError) in try receiver.rawExtreme(.minimum, keyPath) }
    }

    /// The async form of `min(_:)`. Runs on a thread outside Swift's cooperative pool.
    @_disfavoredOverload
    public func min<V: RawRepresentable & Sendable>(
        _ keyPath: KeyPath<Row<T>, Column<V?>>
    ) async throws(MakoError) -> V?
    where V.RawValue: StorableValue {
        let keyPath = try keyPath.path().expr()
        return try await away { (receiver) throws(MakoError) in try receiver.rawExtreme(.minimum, keyPath) }
    }

    /// The async form of `max(_:)`. Runs on a thread outside Swift's cooperative pool.
    @_disfavoredOverload
    public func max<V: RawRepresentable & Sendable>(_ keyPath: KeyPath<Row<T>, Column<V>>) async throws(MakoError) -> V?
    where V.RawValue: StorableValue {
        let keyPath = try keyPath.path().expr()
        return try await away { (receiver) throws(MakoError) in try receiver.rawExtreme(.maximum, keyPath) }
    }

    /// The async form of `max(_:)`. Runs on a thread outside Swift's cooperative pool.
    @_disfavoredOverload
    public func max<V: RawRepresentable & Sendable>(
        _ keyPath: KeyPath<Row<T>, Column<V?>>
    ) async throws(MakoError) -> V?
    where V.RawValue: StorableValue {
        let keyPath = try keyPath.path().expr()
        return try await away { (receiver) throws(MakoError) in try receiver.rawExtreme(.maximum, keyPath) }
    }

    /// The async form of `fetchLightweight(prefetching:retaining:)`. Runs on a thread outside Swift's cooperative pool.
    public func fetchLightweight(
        prefetching keyPaths: PartialKeyPath<T>..., retaining: Bool = true
    ) async throws(MakoError) -> LightweightResults<T> {
        let keyPaths = try Query.columns(keyPaths)
        return try await away { (receiver) throws(MakoError) in try receiver.fetchLightweight(keyPaths, retaining) }
    }

    /// The async form of `fetch()`. Runs on a thread outside Swift's cooperative pool.
    public func fetch() async throws(MakoError) -> Results<T> {
        try await away { (receiver) throws(MakoError) in try receiver.fetch() }
    }

    /// The async form of `first()`. Runs on a thread outside Swift's cooperative pool.
    public func first() async throws(MakoError) -> T? {
        try await away { (receiver) throws(MakoError) in try receiver.first() }
    }

    /// The async form of `one()`. Runs on a thread outside Swift's cooperative pool.
    public func one() async throws(MakoError) -> T? {
        try await away { (receiver) throws(MakoError) in try receiver.one() }
    }

    /// The async form of `count()`. Runs on a thread outside Swift's cooperative pool.
    public func count() async throws(MakoError) -> Int {
        try await away { (receiver) throws(MakoError) in try receiver.count() }
    }

    /// The async form of `exists()`. Runs on a thread outside Swift's cooperative pool.
    public func exists() async throws(MakoError) -> Bool {
        try await away { (receiver) throws(MakoError) in try receiver.exists() }
    }

    /// The async form of `isEmpty()`. Runs on a thread outside Swift's cooperative pool.
    public func isEmpty() async throws(MakoError) -> Bool {
        try await !exists()
    }

    /// The async form of `ids()`. Runs on a thread outside Swift's cooperative pool.
    public func ids() async throws(MakoError) -> [Int] {
        try await away { (receiver) throws(MakoError) in try receiver.ids() }
    }

    /// The async form of `keys()`. Runs on a thread outside Swift's cooperative pool.
    public func keys() async throws(MakoError) -> [RowKey] {
        try await away { (receiver) throws(MakoError) in try receiver.keys() }
    }

    /// The async form of `distinct(_:_:)`. Runs on a thread outside Swift's cooperative pool.
    public func distinct<V: StorableValue>(
        _ keyPath: KeyPath<Row<T>, Column<V>>, _ direction: SortDirection = .ascending
    ) async throws(MakoError) -> [V] {
        let keyPath = try keyPath.path().expr()
        return try await away { (receiver) throws(MakoError) in try receiver.distinct(keyPath, direction) }
    }

    /// The async form of `distinct(_:_:)`. Runs on a thread outside Swift's cooperative pool.
    public func distinct<V: StorableValue>(
        _ expression: String, _ direction: SortDirection = .ascending
    ) async throws(MakoError) -> [V] {
        try await away { (receiver) throws(MakoError) in try receiver.distinct(expression, direction) }
    }

    /// The async form of `explain(_:analyzing:)`. Runs on a thread outside Swift's cooperative pool.
    public func explain(
        _ terminal: QueryTerminal<T> = .fetch, analyzing: Bool = false
    ) async throws(MakoError) -> String {
        try await away { (receiver) throws(MakoError) in try receiver.explain(terminal, analyzing: analyzing) }
    }

    /// The async form of `delete()`. Runs on a thread outside Swift's cooperative pool.
    @discardableResult
    public func delete() async throws(MakoError) -> Int {
        try await away(writes: true) { (receiver) throws(MakoError) in try receiver.delete() }
    }

    /// The async form of `groupBy(_:)`. Runs on a thread outside Swift's cooperative pool.
    public func groupBy<V: Hashable>(_ keyPath: KeyPath<T, V>) async throws(MakoError) -> GroupedObjects<V, T> {
        GroupedObjects(try await fetch()) { $0[keyPath: keyPath] }
    }

    /// The async form of `groupCount(_:)`. Runs on a thread outside Swift's cooperative pool.
    public func groupCount<V>(_ keyPath: KeyPath<Row<T>, Column<V>>) async throws(MakoError) -> [(
        value: StoredValue, count: Int
    )] {
        let keyPath = try keyPath.path().expr()
        return try await away { (receiver) throws(MakoError) in try receiver.groupCount(keyPath) }
    }

    /// The async form of `groupCount(_:)`. Runs on a thread outside Swift's cooperative pool.
    public func groupCount(_ expression: String) async throws(MakoError) -> [(value: StoredValue, count: Int)] {
        try await away { (receiver) throws(MakoError) in try receiver.groupCount(expression) }
    }

    /// The async form of `sum(_:)`. Runs on a thread outside Swift's cooperative pool.
    public func sum<V: StorableValue & Numeric>(_ keyPath: KeyPath<Row<T>, Column<V>>) async throws(MakoError) -> V {
        let keyPath = try keyPath.path().expr()
        return try await away { (receiver) throws(MakoError) in try receiver.sum(keyPath) }
    }

    /// The async form of `sum(_:)`. Runs on a thread outside Swift's cooperative pool.
    public func sum<V: StorableValue & Numeric>(_ keyPath: KeyPath<Row<T>, Column<V?>>) async throws(MakoError) -> V {
        let keyPath = try keyPath.path().expr()
        return try await away { (receiver) throws(MakoError) in try receiver.sum(keyPath) }
    }

    /// The async form of `sum(_:)`. Runs on a thread outside Swift's cooperative pool.
    public func sum(_ expression: String) async throws(MakoError) -> Double {
        try await away { (receiver) throws(MakoError) in try receiver.sum(expression) }
    }

    /// The async form of `sum(_:)`. Runs on a thread outside Swift's cooperative pool.
    @_disfavoredOverload
    public func sum<V: StorableValue & Numeric>(_ expression: String) async throws(MakoError) -> V {
        try await away { (receiver) throws(MakoError) in try receiver.sum(expression) }
    }

    /// The async form of `total(_:)`. Runs on a thread outside Swift's cooperative pool.
    public func total<V: StorableValue>(_ keyPath: KeyPath<Row<T>, Column<V>>) async throws(MakoError) -> Double {
        let keyPath = try keyPath.path().expr()
        return try await away { (receiver) throws(MakoError) in try receiver.total(keyPath) }
    }

    /// The async form of `total(_:)`. Runs on a thread outside Swift's cooperative pool.
    public func total(_ expression: String) async throws(MakoError) -> Double {
        try await away { (receiver) throws(MakoError) in try receiver.total(expression) }
    }

    /// The async form of `avg(_:)`. Runs on a thread outside Swift's cooperative pool.
    public func avg<V: StorableValue>(_ keyPath: KeyPath<Row<T>, Column<V>>) async throws(MakoError) -> Double? {
        let keyPath = try keyPath.path().expr()
        return try await away { (receiver) throws(MakoError) in try receiver.average(keyPath) }
    }

    /// The async form of `avg(_:)`. Runs on a thread outside Swift's cooperative pool.
    public func avg(_ expression: String) async throws(MakoError) -> Double? {
        try await away { (receiver) throws(MakoError) in try receiver.avg(expression) }
    }

    /// The async form of `min(_:)`. Runs on a thread outside Swift's cooperative pool.
    public func min<V: StorableValue>(_ keyPath: KeyPath<Row<T>, Column<V>>) async throws(MakoError) -> V? {
        let keyPath = try keyPath.path().expr()
        return try await away { (receiver) throws(MakoError) in try receiver.extreme(.minimum, keyPath) }
    }

    /// The async form of `min(_:)`. Runs on a thread outside Swift's cooperative pool.
    public func min<V: StorableValue>(_ keyPath: KeyPath<Row<T>, Column<V?>>) async throws(MakoError) -> V? {
        let keyPath = try keyPath.path().expr()
        return try await away { (receiver) throws(MakoError) in try receiver.extreme(.minimum, keyPath) }
    }

    /// The async form of `max(_:)`. Runs on a thread outside Swift's cooperative pool.
    public func max<V: StorableValue>(_ keyPath: KeyPath<Row<T>, Column<V>>) async throws(MakoError) -> V? {
        let keyPath = try keyPath.path().expr()
        return try await away { (receiver) throws(MakoError) in try receiver.extreme(.maximum, keyPath) }
    }

    /// The async form of `max(_:)`. Runs on a thread outside Swift's cooperative pool.
    public func max<V: StorableValue>(_ keyPath: KeyPath<Row<T>, Column<V?>>) async throws(MakoError) -> V? {
        let keyPath = try keyPath.path().expr()
        return try await away { (receiver) throws(MakoError) in try receiver.extreme(.maximum, keyPath) }
    }

    /// The async form of `min(_:)`. Runs on a thread outside Swift's cooperative pool.
    public func min<V: StorableValue>(_ expression: String) async throws(MakoError) -> V? {
        try await away { (receiver) throws(MakoError) in try receiver.min(expression) }
    }

    /// The async form of `max(_:)`. Runs on a thread outside Swift's cooperative pool.
    public func max<V: StorableValue>(_ expression: String) async throws(MakoError) -> V? {
        try await away { (receiver) throws(MakoError) in try receiver.max(expression) }
    }
}

extension Database {
    /// The async form of `rebuildFullText(of:)`. Runs on a thread outside Swift's cooperative pool.
    public func rebuildFullText<T: Entity>(of type: T.Type) async throws(MakoError) {
        try await away(writes: true) { (receiver) throws(MakoError) in try receiver.rebuildFullText(of: type) }
    }

    /// The async form of `rawQuery(_:_:named:)`. Runs on a thread outside Swift's cooperative pool.
    @discardableResult
    public func rawQuery(
        _ text: WhereText, _ parameters: (any ConditionValue)?..., named: NamedValues = [:]
    ) async throws(MakoError) -> RawResults {
        try await run(try StatementCall(text, parameters, named))
    }

    /// The async form of `rawQuery(text:_:named:)`. Runs on a thread outside Swift's cooperative pool.
    @discardableResult
    public func rawQuery(
        text: String, _ parameters: (any ConditionValue)?..., named: NamedValues = [:]
    ) async throws(MakoError) -> RawResults {
        try await run(try StatementCall(WhereText(text: text), parameters, named))
    }

    /// The async form of `rawQuery(_:_:named:as:)`. Runs on a thread outside Swift's cooperative pool.
    public func rawQuery<each V: StorableValue>(
        _ text: WhereText, _ parameters: (any ConditionValue)?..., named: NamedValues = [:],
        as type: (repeat each V).Type
    ) async throws(MakoError) -> [(repeat each V)] {
        try await run(try StatementCall(query: text, parameters, named)).rows(as: type)
    }

    /// The async form of `rawQuery(_:_:named:as:)`. Runs on a thread outside Swift's cooperative pool.
    public func rawQuery<V: StorableValue>(
        _ text: WhereText, _ parameters: (any ConditionValue)?..., named: NamedValues = [:], as type: V.Type
    ) async throws(MakoError) -> [V] {
        try await run(try StatementCall(query: text, parameters, named)).rows(as: type)
    }

    /// The async form of `rawQuery(_:_:named:as:)`. Runs on a thread outside Swift's cooperative pool.
    @_disfavoredOverload
    public func rawQuery<V: Decodable>(
        _ text: WhereText, _ parameters: (any ConditionValue)?..., named: NamedValues = [:], as type: V.Type
    ) async throws(MakoError) -> [V] {
        try await run(try StatementCall(query: text, parameters, named)).rows(as: type)
    }
}

extension HierarchyQuery {
    /// The async form of `fetch()`. Runs on a thread outside Swift's cooperative pool.
    public func fetch() async throws(MakoError) -> Results<T> {
        try await away { (receiver) throws(MakoError) in try receiver.fetch() }
    }

    /// The async form of `first()`. Runs on a thread outside Swift's cooperative pool.
    public func first() async throws(MakoError) -> T? {
        try await away { (receiver) throws(MakoError) in try receiver.first() }
    }

    /// The async form of `one()`. Runs on a thread outside Swift's cooperative pool.
    public func one() async throws(MakoError) -> T? {
        try await away { (receiver) throws(MakoError) in try receiver.one() }
    }

    /// The async form of `count()`. Runs on a thread outside Swift's cooperative pool.
    public func count() async throws(MakoError) -> Int {
        try await away { (receiver) throws(MakoError) in try receiver.count() }
    }

    /// The async form of `exists()`. Runs on a thread outside Swift's cooperative pool.
    public func exists() async throws(MakoError) -> Bool {
        try await away { (receiver) throws(MakoError) in try receiver.exists() }
    }

    /// The async form of `isEmpty()`. Runs on a thread outside Swift's cooperative pool.
    public func isEmpty() async throws(MakoError) -> Bool {
        try await !exists()
    }

    /// The async form of `delete()`. Runs on a thread outside Swift's cooperative pool.
    @discardableResult
    public func delete() async throws(MakoError) -> Int {
        try await away(writes: true) { (receiver) throws(MakoError) in try receiver.delete() }
    }

    /// The async form of `explain(analyzing:)`. Runs on a thread outside Swift's cooperative pool.
    public func explain(analyzing: Bool = false) async throws(MakoError) -> String {
        try await away { (receiver) throws(MakoError) in try receiver.explain(analyzing: analyzing) }
    }
}

extension Results where T: ObjectEntity {
    /// The async form of `removeAll()`. Runs on a thread outside Swift's cooperative pool.
    @discardableResult
    public func removeAll() async throws(MakoError) -> Int {
        guard let first else { return 0 }
        return try await Database.resolve(number: first.lockedState { $0.database }, for: T.entityModel).delete(objects)
    }
}
