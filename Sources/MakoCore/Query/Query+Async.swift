// Terminals in their async form: the work is done on a thread of the database, not on Swift's cooperative pool.
extension Query {
    private func away<R: Sendable>(
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
    public func count() async throws(MakoError) -> Int {
        try await away { (query) throws(MakoError) in try query.count() }
    }
    public func exists() async throws(MakoError) -> Bool {
        try await away { (query) throws(MakoError) in try query.exists() }
    }
    public func ids() async throws(MakoError) -> [Int] {
        try await away { (query) throws(MakoError) in try query.ids() }
    }
    public func fetchLightweight(
        prefetching keyPaths: PartialKeyPath<T>..., retaining: Bool = true
    ) async throws(MakoError) -> LightweightResults<T> {
        let columns = try Query.columns(keyPaths)
        return try await away { (query) throws(MakoError) in try query.fetchLightweight(columns, retaining) }
    }
    @discardableResult
    public func delete() async throws(MakoError) -> Int {
        try await away(writes: true) { (query) throws(MakoError) in try query.delete() }
    }
}

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
    /// The async form of `delete`.
    @discardableResult
    public func delete<T: ObjectEntity>(_ object: T) async throws(MakoError) -> Bool {
        try await onOwnThread(writes: true) { () throws(MakoError) in try self.delete(object) }
    }
}

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
}

extension Entity {
    /// The async form of `find`.
    public static func find(_ id: Int) async throws(MakoError) -> Self? {
        let database = try Database.current(for: entityModel)
        return try await database.onOwnThread(writes: false) { () throws(MakoError) in try database.find(Self.self, id)
        }
    }
    /// The async form of `find`.
    public static func find(_ ids: [Int]) async throws(MakoError) -> [Self] {
        let database = try Database.current(for: entityModel)
        return try await database.onOwnThread(writes: false) { () throws(MakoError) in
            try database.find(Self.self, ids)
        }
    }
}
