import MakoRecords

// The async forms of the database's calls. They run on the database's threads; the task suspends.

extension Database {
    /// The async form of `save`.
    @discardableResult
    public func save<T: ObjectEntity>(_ object: T) async throws(MakoError) -> Bool {
        try await onOwnThread(writes: true) { () throws(MakoError) in try self.save(object) }
    }
    /// The async form of `save`.
    public func save<T: ObjectEntity>(_ objects: [T]) async throws(MakoError) {
        try await onOwnThread(writes: true) { () throws(MakoError) in try self.save(objects) }
    }
    /// The async form of `save`.
    public func save<T: Entity>(_ value: inout T) async throws(MakoError) {
        value = try await onOwnThread(writes: true) { [value] () throws(MakoError) in
            var copy = value
            try self.save(&copy)
            return copy
        }
    }
    /// The async form of `save`.
    @discardableResult
    public func save<T: Entity>(_ values: [T]) async throws(MakoError) -> [T] {
        try await onOwnThread(writes: true) { () throws(MakoError) in try self.save(values) }
    }
    /// The async form of `save(_:)` for a struct, which returns it with its key.
    @discardableResult
    public func save<T: Entity>(_ value: T) async throws(MakoError) -> T where T._$Kind == EntityKind.Value {
        try await onOwnThread(writes: true) { () throws(MakoError) in try self.save(value) }
    }
    /// The async form of `insert(_:)` for a struct, which returns it with its key.
    @discardableResult
    public func insert<T: Entity>(_ value: T) async throws(MakoError) -> T where T._$Kind == EntityKind.Value {
        try await onOwnThread(writes: true) { () throws(MakoError) in try self.insert(value) }
    }
    /// The async form of `insert`.
    @discardableResult
    public func insert<T: ObjectEntity>(_ object: T) async throws(MakoError) -> Bool {
        try await onOwnThread(writes: true) { () throws(MakoError) in try self.insert(object) }
    }
    /// The async form of `insert`.
    public func insert<T: Entity>(_ value: inout T) async throws(MakoError) {
        value = try await onOwnThread(writes: true) { [value] () throws(MakoError) in
            var copy = value
            try self.insert(&copy)
            return copy
        }
    }
    /// The async form of `delete`.
    @discardableResult
    public func delete<T: ObjectEntity>(_ object: T) async throws(MakoError) -> Bool {
        try await onOwnThread(writes: true) { () throws(MakoError) in try self.delete(object) }
    }
    /// The async form of `delete`.
    @discardableResult
    public func delete<T: ObjectEntity>(_ objects: [T]) async throws(MakoError) -> Int {
        try await onOwnThread(writes: true) { () throws(MakoError) in try self.delete(objects) }
    }
    /// The async form of `delete`.
    @discardableResult
    public func delete<T: Entity>(_ value: T) async throws(MakoError) -> Bool {
        try await onOwnThread(writes: true) { () throws(MakoError) in try self.delete(value) }
    }
    /// The async form of `drop`.
    public func drop<T: Entity>(_ type: T.Type) async throws(MakoError) {
        try await onOwnThread(writes: true) { () throws(MakoError) in try self.drop(type) }
    }
    /// The async form of `refresh`.
    public func refresh<T: ObjectEntity>(_ object: T) async throws(MakoError) {
        try await onOwnThread(writes: false) { () throws(MakoError) in try self.refresh(object) }
    }
    /// The async form of `exists`.
    public func exists<T: ObjectEntity>(_ object: T) async throws(MakoError) -> Bool {
        try await onOwnThread(writes: false) { () throws(MakoError) in try self.exists(object) }
    }
    /// The async form of `rawQuery`.
    @discardableResult
    public func rawQuery(
        _ text: WhereText, _ parameters: (any ConditionValue)?..., named: [String: (any ConditionValue)?] = [:]
    ) async throws(MakoError) -> RawResults {
        let call = try StatementCall(text, parameters, named)
        return try await onOwnThread(writes: !call.kept.isReadOnly) { () throws(MakoError) in
            try self.run(call)
        }
    }
    /// The async form of `backup`. It ignores the cancellation of its task.
    @discardableResult
    public func backup(
        to path: String, compacting: Bool = false, progress: @escaping @Sendable (CopyProgress) -> Void = { _ in }
    ) async throws(MakoError) -> CopyReport {
        try await onOwnThread(writes: false, isCancellable: false) { () throws(MakoError) in
            try self.backup(to: path, compacting: compacting, progress: progress)
        }
    }
}

// MARK: - By key

extension Database {
    /// The async form of `find`.
    public func find<T: Entity>(_ type: T.Type, _ id: Int) async throws(MakoError) -> T? {
        try await onOwnThread(writes: false) { () throws(MakoError) in try self.find(type, id) }
    }
    /// The async form of `find`.
    public func find<T: Entity, K: StorableValue>(_ type: T.Type, _ key: K) async throws(MakoError) -> T? {
        try await onOwnThread(writes: false) { () throws(MakoError) in try self.find(type, key) }
    }
    /// The async form of `find`.
    public func find<T: Entity>(_ type: T.Type, _ key: CompositeKey) async throws(MakoError) -> T? {
        try await onOwnThread(writes: false) { () throws(MakoError) in try self.find(type, key) }
    }
    /// The async form of `find`.
    public func find<T: Entity>(_ type: T.Type, _ ids: [Int]) async throws(MakoError) -> [T] {
        try await onOwnThread(writes: false) { () throws(MakoError) in try self.find(type, ids) }
    }
    /// The async form of `find`.
    public func find<T: Entity, K: StorableValue>(_ type: T.Type, _ keys: [K]) async throws(MakoError) -> [T] {
        try await onOwnThread(writes: false) { () throws(MakoError) in try self.find(type, keys) }
    }
    /// The async form of `find(_:orNew:)`.
    public func find<T: ObjectEntity>(_ type: T.Type, orNew id: Int) async throws(MakoError) -> T {
        try await onOwnThread(writes: false) { () throws(MakoError) in try self.find(type, orNew: id) }
    }
    /// The async form of `find(_:orNew:)`.
    public func find<T: ObjectEntity, K: StorableValue>(_ type: T.Type, orNew key: K) async throws(MakoError) -> T {
        try await onOwnThread(writes: false) { () throws(MakoError) in try self.find(type, orNew: key) }
    }
}

extension Entity {
    /// The async form of `find`.
    public static func find(_ id: Int) async throws(MakoError) -> Self? {
        try await Database.current(for: entityModel).find(Self.self, id)
    }
    /// The async form of `find`.
    public static func find<K: StorableValue>(_ key: K) async throws(MakoError) -> Self? {
        try await Database.current(for: entityModel).find(Self.self, key)
    }
    /// The async form of `find`.
    public static func find(_ key: CompositeKey) async throws(MakoError) -> Self? {
        try await Database.current(for: entityModel).find(Self.self, key)
    }
    /// The async form of `find`.
    public static func find(_ ids: [Int]) async throws(MakoError) -> [Self] {
        try await Database.current(for: entityModel).find(Self.self, ids)
    }
    /// The async form of `find`.
    public static func find<K: StorableValue>(_ keys: [K]) async throws(MakoError) -> [Self] {
        try await Database.current(for: entityModel).find(Self.self, keys)
    }
    /// The async form of `first(_:equals:)`.
    public static func first<V: StorableValue>(
        _ keyPath: KeyPath<Row<Self>, Column<V>>, equals value: V
    ) async throws(MakoError) -> Self? {
        try await query().where(keyPath == value).first()
    }
}

extension ObjectEntity {
    /// The async form of `find(orNew:)`.
    public static func find(orNew id: Int) async throws(MakoError) -> Self {
        try await Database.current(for: entityModel).find(Self.self, orNew: id)
    }
    /// The async form of `find(orNew:)`.
    public static func find<K: StorableValue>(orNew key: K) async throws(MakoError) -> Self {
        try await Database.current(for: entityModel).find(Self.self, orNew: key)
    }
}

// MARK: - Calls of objects

extension ObjectEntity {
    /// The async form of `commit()`.
    @discardableResult
    public func commit() async throws(MakoError) -> Bool {
        let database = try Database.resolve(number: lockedState { $0.database }, for: Self.entityModel)
        return try await database.save(self)
    }
    /// The async form of `remove()`.
    @discardableResult
    public func remove() async throws(MakoError) -> Bool {
        let database = try Database.resolve(number: lockedState { $0.database }, for: Self.entityModel)
        return try await database.delete(self)
    }
    /// The async form of `load`.
    @discardableResult
    public func load<Target: ObjectEntity>(_ relation: KeyPath<Self, Target?>) async throws(MakoError) -> Target? {
        // Key paths are immutable, but not marked Sendable.
        nonisolated(unsafe) let relation = relation
        let database = try Database.resolve(number: lockedState { $0.database }, for: Self.entityModel)
        return try await database.onOwnThread(writes: false) { () throws(MakoError) in try self.load(relation) }
    }
    /// The async form of `load`.
    @discardableResult
    public func load<Objects: Collection & Sendable>(
        _ relation: KeyPath<Self, Objects>
    ) async throws(MakoError) -> Objects {
        nonisolated(unsafe) let relation = relation
        let database = try Database.resolve(number: lockedState { $0.database }, for: Self.entityModel)
        return try await database.onOwnThread(writes: false) { () throws(MakoError) in try self.load(relation) }
    }
}

extension Entity {
    /// The async form of a struct's `commit()`.
    public mutating func commit() async throws(MakoError) {
        let object = self as? any ObjectEntity
        let number = object.map { object in object.lockedState { $0.database } } ?? _$value.database
        try await Database.resolve(number: number, for: Self.entityModel).save(&self)
    }
    /// The async form of a struct's `remove()`.
    @discardableResult
    public func remove() async throws(MakoError) -> Bool {
        if let object = self as? any ObjectEntity { return try await object.remove() }
        return try await Database.resolve(number: _$value.database, for: Self.entityModel).delete(self)
    }
}

extension ToOne {
    /// The async form of `load()`.
    public func load() async throws(MakoError) -> Target? {
        if let loadedObject { return loadedObject as? Target }
        if isEmpty { return nil }
        let database = try Database.resolve(number: database, for: Target.entityModel)
        return try await database.onOwnThread(writes: false) { () throws(MakoError) in try self.load() }
    }
}
