// Made by scripts/async-twins of the functions marked `// async`.

import MakoRecords

extension Database {
    /// The async form of `verify()`. Runs on a thread outside Swift's cooperative pool.
    /// Ignores the cancellation of its task.
    public func verify() async throws(MakoError) -> DatabaseReport {
        try await away(isCancellable: false) { (receiver) throws(MakoError) in try receiver.verify() }
    }

    /// The async form of `compact()`. Runs on a thread outside Swift's cooperative pool.
    /// Ignores the cancellation of its task.
    public func compact() async throws(MakoError) {
        try await away(writes: true, isCancellable: false) { (receiver) throws(MakoError) in try receiver.compact() }
    }

    /// The async form of `salvage(from:to:options:progress:)`. Runs on a thread outside Swift's cooperative pool.
    @discardableResult
    public static func salvage(
        from damaged: String, to path: String, options: DatabaseOptions = DatabaseOptions(),
        progress: @escaping @Sendable (SalvageProgress) -> Void = { _ in }
    ) async throws(MakoError) -> SalvageReport {
        try await away { (receiver) throws(MakoError) in
            try receiver.salvage(from: damaged, to: path, options: options, progress: progress)
        }
    }

    /// The async form of `insert(copyOf:)`. Runs on a thread outside Swift's cooperative pool.
    @discardableResult
    public func insert<T: ObjectEntity>(copyOf object: T) async throws(MakoError) -> T {
        try await away(writes: true) { (receiver) throws(MakoError) in try receiver.insert(copyOf: object) }
    }

    /// The async form of `find(_:_:)`. Runs on a thread outside Swift's cooperative pool.
    public func find<T: Entity>(_ type: T.Type, _ id: Int) async throws(MakoError) -> T? {
        try await away { (receiver) throws(MakoError) in try receiver.find(type, id) }
    }

    /// The async form of `find(_:_:)`. Runs on a thread outside Swift's cooperative pool.
    public func find<T: Entity, K: StorableValue>(_ type: T.Type, _ key: K) async throws(MakoError) -> T? {
        try await away { (receiver) throws(MakoError) in try receiver.find(type, key) }
    }

    /// The async form of `find(_:_:)`. Runs on a thread outside Swift's cooperative pool.
    public func find<T: Entity>(_ type: T.Type, _ key: CompositeKey) async throws(MakoError) -> T? {
        try await away { (receiver) throws(MakoError) in try receiver.find(type, key) }
    }

    /// The async form of `find(_:_:)`. Runs on a thread outside Swift's cooperative pool.
    public func find<T: Entity>(_ type: T.Type, _ ids: [Int]) async throws(MakoError) -> [T] {
        try await away { (receiver) throws(MakoError) in try receiver.find(type, ids) }
    }

    /// The async form of `find(_:_:)`. Runs on a thread outside Swift's cooperative pool.
    public func find<T: Entity, K: StorableValue>(_ type: T.Type, _ keys: [K]) async throws(MakoError) -> [T] {
        try await away { (receiver) throws(MakoError) in try receiver.find(type, keys) }
    }

    /// The async form of `find(_:orNew:)`. Runs on a thread outside Swift's cooperative pool.
    public func find<T: ObjectEntity>(_ type: T.Type, orNew id: Int) async throws(MakoError) -> T {
        try await away { (receiver) throws(MakoError) in try receiver.find(type, orNew: id) }
    }

    /// The async form of `find(_:orNew:)`. Runs on a thread outside Swift's cooperative pool.
    public func find<T: ObjectEntity, K: StorableValue>(_ type: T.Type, orNew key: K) async throws(MakoError) -> T {
        try await away { (receiver) throws(MakoError) in try receiver.find(type, orNew: key) }
    }

    /// The async form of `save(_:)`. Runs on a thread outside Swift's cooperative pool.
    @discardableResult
    public func save<T: ObjectEntity>(_ object: T) async throws(MakoError) -> Bool {
        try await away(writes: true) { (receiver) throws(MakoError) in try receiver.save(object) }
    }

    /// The async form of `save(_:)`. Runs on a thread outside Swift's cooperative pool.
    public func save<T: ObjectEntity>(_ objects: [T]) async throws(MakoError) {
        try await away(writes: true) { (receiver) throws(MakoError) in try receiver.save(objects) }
    }

    /// The async form of `save(_:)`. Runs on a thread outside Swift's cooperative pool.
    public func save<T: Entity>(_ value: inout T) async throws(MakoError) {
        value = try await away(writes: true) { [value] (receiver) throws(MakoError) in
            var value = value
            try receiver.save(&value)
            return value
        }
    }

    /// The async form of `save(_:)`. Runs on a thread outside Swift's cooperative pool.
    @discardableResult
    public func save<T: Entity>(_ value: T) async throws(MakoError) -> T where T._$Kind == EntityKind.Value {
        try await away(writes: true) { (receiver) throws(MakoError) in try receiver.save(value) }
    }

    /// The async form of `save(_:)`. Runs on a thread outside Swift's cooperative pool.
    @discardableResult
    public func save<T: Entity>(_ values: [T]) async throws(MakoError) -> [T] {
        try await away(writes: true) { (receiver) throws(MakoError) in try receiver.save(values) }
    }

    /// The async form of `insert(_:)`. Runs on a thread outside Swift's cooperative pool.
    @discardableResult
    public func insert<T: ObjectEntity>(_ object: T) async throws(MakoError) -> Bool {
        try await away(writes: true) { (receiver) throws(MakoError) in try receiver.insert(object) }
    }

    /// The async form of `insert(_:)`. Runs on a thread outside Swift's cooperative pool.
    public func insert<T: Entity>(_ value: inout T) async throws(MakoError) {
        value = try await away(writes: true) { [value] (receiver) throws(MakoError) in
            var value = value
            try receiver.insert(&value)
            return value
        }
    }

    /// The async form of `insert(_:)`. Runs on a thread outside Swift's cooperative pool.
    @discardableResult
    public func insert<T: Entity>(_ value: T) async throws(MakoError) -> T where T._$Kind == EntityKind.Value {
        try await away(writes: true) { (receiver) throws(MakoError) in try receiver.insert(value) }
    }

    /// The async form of `delete(_:)`. Runs on a thread outside Swift's cooperative pool.
    @discardableResult
    public func delete<T: ObjectEntity>(_ object: T) async throws(MakoError) -> Bool {
        try await away(writes: true) { (receiver) throws(MakoError) in try receiver.delete(object) }
    }

    /// The async form of `delete(_:)`. Runs on a thread outside Swift's cooperative pool.
    @discardableResult
    public func delete<T: ObjectEntity>(_ objects: [T]) async throws(MakoError) -> Int {
        try await away(writes: true) { (receiver) throws(MakoError) in try receiver.delete(objects) }
    }

    /// The async form of `delete(_:)`. Runs on a thread outside Swift's cooperative pool.
    @discardableResult
    public func delete<T: Entity>(_ value: T) async throws(MakoError) -> Bool {
        try await away(writes: true) { (receiver) throws(MakoError) in try receiver.delete(value) }
    }

    /// The async form of `delete(_:)`. Runs on a thread outside Swift's cooperative pool.
    @discardableResult
    public func delete<T: Entity>(_ values: [T]) async throws(MakoError) -> Int where T._$Kind == EntityKind.Value {
        try await away(writes: true) { (receiver) throws(MakoError) in try receiver.delete(values) }
    }

    /// The async form of `drop(_:)`. Runs on a thread outside Swift's cooperative pool.
    public func drop<T: Entity>(_ type: T.Type) async throws(MakoError) {
        try await away(writes: true) { (receiver) throws(MakoError) in try receiver.drop(type) }
    }

    /// The async form of `refresh(_:)`. Runs on a thread outside Swift's cooperative pool.
    public func refresh<T: ObjectEntity>(_ object: T) async throws(MakoError) {
        try await away { (receiver) throws(MakoError) in try receiver.refresh(object) }
    }

    /// The async form of `exists(_:)`. Runs on a thread outside Swift's cooperative pool.
    public func exists<T: ObjectEntity>(_ object: T) async throws(MakoError) -> Bool {
        try await away { (receiver) throws(MakoError) in try receiver.exists(object) }
    }

    /// The async form of `refresh()`. Runs on a thread outside Swift's cooperative pool.
    @discardableResult
    public func refresh() async throws(MakoError) -> Bool {
        try await away { (receiver) throws(MakoError) in try receiver.refresh() }
    }

    /// The async form of `suspend(timeout:)`. Runs on a thread outside Swift's cooperative pool.
    /// Ignores the cancellation of its task.
    public func suspend(timeout: Duration? = nil) async throws(MakoError) {
        try await away(writes: true, isCancellable: false) { (receiver) throws(MakoError) in
            try receiver.suspend(timeout: timeout)
        }
    }

    /// The async form of `resume(timeout:)`. Runs on a thread outside Swift's cooperative pool.
    /// Ignores the cancellation of its task.
    @discardableResult
    public func resume(timeout: Duration = .zero) async throws(MakoError) -> Bool {
        try await away(writes: true, isCancellable: false) { (receiver) throws(MakoError) in
            try receiver.resume(timeout: timeout)
        }
    }

    /// The async form of `close()`. Runs on a thread outside Swift's cooperative pool.
    /// Ignores the cancellation of its task.
    public func close() async throws(MakoError) {
        try await away(writes: true, isCancellable: false) { (receiver) throws(MakoError) in try receiver.close() }
    }

    /// The async form of `backup(to:compacting:progress:)`. Runs on a thread outside Swift's cooperative pool.
    /// Ignores the cancellation of its task.
    @discardableResult
    public func backup(
        to path: String, compacting: Bool = false, progress: @escaping @Sendable (CopyProgress) -> Void = { _ in }
    ) async throws(MakoError) -> CopyReport {
        try await away(isCancellable: false) { (receiver) throws(MakoError) in
            try receiver.backup(to: path, compacting: compacting, progress: progress)
        }
    }

    /// The async form of `compact(at:options:progress:)`. Runs on a thread outside Swift's cooperative pool.
    @discardableResult
    public static func compact(
        at path: String, options: DatabaseOptions = DatabaseOptions(),
        progress: @escaping @Sendable (CopyProgress) -> Void = { _ in }
    ) async throws(MakoError) -> CopyReport {
        try await away { (receiver) throws(MakoError) in
            try receiver.compact(at: path, options: options, progress: progress)
        }
    }

    /// The async form of `migrationPlan(at:entities:options:)`. Runs on a thread outside Swift's cooperative pool.
    public static func migrationPlan(
        at path: String, entities: [any Entity.Type], options: DatabaseOptions = DatabaseOptions()
    ) async throws(MakoError) -> MigrationPlan {
        try await away { (receiver) throws(MakoError) in
            try receiver.migrationPlan(at: path, entities: entities, options: options)
        }
    }

    /// The async form of `migrationPlan(entities:)`. Runs on a thread outside Swift's cooperative pool.
    public func migrationPlan(entities: [any Entity.Type]) async throws(MakoError) -> MigrationPlan {
        try await away { (receiver) throws(MakoError) in try receiver.migrationPlan(entities: entities) }
    }
}

extension ObjectEntity {
    /// The async form of `find(orNew:)`. Runs on a thread outside Swift's cooperative pool.
    public static func find(orNew id: Int) async throws(MakoError) -> Self {
        try await Database.current(for: entityModel).find(Self.self, orNew: id)
    }

    /// The async form of `find(orNew:)`. Runs on a thread outside Swift's cooperative pool.
    public static func find<K: StorableValue>(orNew key: K) async throws(MakoError) -> Self {
        try await Database.current(for: entityModel).find(Self.self, orNew: key)
    }

    /// The async form of `commit()`. Runs on a thread outside Swift's cooperative pool.
    @discardableResult
    public func commit() async throws(MakoError) -> Bool {
        try await database().save(self)
    }

    /// The async form of `remove()`. Runs on a thread outside Swift's cooperative pool.
    @discardableResult
    public func remove() async throws(MakoError) -> Bool {
        try await database().delete(self)
    }
}

extension Entity {
    /// The async form of `find(_:)`. Runs on a thread outside Swift's cooperative pool.
    public static func find(_ id: Int) async throws(MakoError) -> Self? {
        try await Database.current(for: entityModel).find(Self.self, id)
    }

    /// The async form of `find(_:)`. Runs on a thread outside Swift's cooperative pool.
    public static func find<K: StorableValue>(_ key: K) async throws(MakoError) -> Self? {
        try await Database.current(for: entityModel).find(Self.self, key)
    }

    /// The async form of `find(_:)`. Runs on a thread outside Swift's cooperative pool.
    public static func find(_ key: CompositeKey) async throws(MakoError) -> Self? {
        try await Database.current(for: entityModel).find(Self.self, key)
    }

    /// The async form of `find(_:)`. Runs on a thread outside Swift's cooperative pool.
    public static func find(_ ids: [Int]) async throws(MakoError) -> [Self] {
        try await Database.current(for: entityModel).find(Self.self, ids)
    }

    /// The async form of `find(_:)`. Runs on a thread outside Swift's cooperative pool.
    public static func find<K: StorableValue>(_ keys: [K]) async throws(MakoError) -> [Self] {
        try await Database.current(for: entityModel).find(Self.self, keys)
    }

    /// The async form of `first(_:equals:)`. Runs on a thread outside Swift's cooperative pool.
    public static func first<V: StorableValue>(
        _ keyPath: KeyPath<Row<Self>, Column<V>>, equals value: V
    ) async throws(MakoError) -> Self? {
        try await query().where(keyPath == value).first()
    }

    /// The async form of `first(_:equals:)`. Runs on a thread outside Swift's cooperative pool.
    @_disfavoredOverload
    public static func first<V: RawRepresentable & Sendable>(
        _ keyPath: KeyPath<Row<Self>, Column<V>>, equals value: V
    ) async throws(MakoError) -> Self? where V.RawValue: StorableValue {
        try await query().where(keyPath == value).first()
    }

    /// The async form of `first(_:equals:)`. Runs on a thread outside Swift's cooperative pool.
    @_disfavoredOverload
    public static func first<V: RawRepresentable & Sendable>(
        _ keyPath: KeyPath<Row<Self>, Column<V?>>, equals value: V?
    ) async throws(MakoError) -> Self? where V.RawValue: StorableValue {
        try await query().where(keyPath == value).first()
    }

    /// The async form of `commit()`. Runs on a thread outside Swift's cooperative pool.
    public mutating func commit() async throws(MakoError) {
        if let object = self as? any ObjectEntity {
            try await Database.resolve(number: object.lockedState { $0.database }, for: Self.entityModel).save(&self)
            return
        }
        try await Database.resolve(number: _$value.database, for: Self.entityModel).save(&self)
    }

    /// The async form of `remove()`. Runs on a thread outside Swift's cooperative pool.
    @discardableResult
    public func remove() async throws(MakoError) -> Bool {
        if let object = self as? any ObjectEntity { return try await object.remove() }
        return try await Database.resolve(number: _$value.database, for: Self.entityModel).delete(self)
    }
}

extension Query where T: ObjectEntity {
    /// The async form of `fetch(into:)`. Runs on a thread outside Swift's cooperative pool.
    public func fetch(into workspace: Workspace) async throws(MakoError) -> Results<T> {
        try await away { (receiver) throws(MakoError) in try receiver.fetch(into: workspace) }
    }
}
