import MakoRecords

// The async forms that do more than to run the synchronous call elsewhere; scripts/async-twins makes the others.

extension ObjectEntity {
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

extension ToOne {
    /// The async form of `load()`.
    public func load() async throws(MakoError) -> Target? {
        if let loadedObject { return loadedObject as? Target }
        if isEmpty { return nil }
        let database = try Database.resolve(number: database, for: Target.entityModel)
        return try await database.onOwnThread(writes: false) { () throws(MakoError) in try self.load() }
    }
}

extension ToMany {
    /// The async form of `load()`.
    public func load() async throws(MakoError) -> Results<Target> {
        if let known = try prefetched() { return Results(known) }
        return try await query().fetch()
    }
}

extension Workspace {
    /// The async form of `commit()`.
    public func commit() async throws(MakoError) {
        guard let database = try target() else { return }
        try await database.onOwnThread(writes: true) { () throws(MakoError) in try self.commit(in: database) }
    }
}
