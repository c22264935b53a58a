// The async forms of maintenance calls.

extension Database {
    /// The async form of `verify`.
    public func verify() async throws(MakoError) -> DatabaseReport {
        try await onOwnThread(writes: false, isCancellable: false) { () throws(MakoError) in try self.verify() }
    }
    /// The async form of `compact()`.
    public func compact() async throws(MakoError) {
        try await onOwnThread(writes: true, isCancellable: false) { () throws(MakoError) in try self.compact() }
    }
    /// The async form of `rawQuery(text:)`.
    @discardableResult
    public func rawQuery(
        text: String, _ parameters: (any ConditionValue)?..., named: [String: (any ConditionValue)?] = [:]
    ) async throws(MakoError) -> RawResults {
        let call = try StatementCall(WhereText(text: text), parameters, named)
        return try await onOwnThread(writes: !call.kept.isReadOnly) { () throws(MakoError) in
            try self.run(call)
        }
    }
    /// The async form of `history(since:limit:)`.
    public func history(
        since token: HistoryToken?, limit: Int = .max
    ) async throws(MakoError) -> [HistoryEvent] {
        try await onOwnThread(writes: false) { () throws(MakoError) in
            try self.history(since: token, limit: limit)
        }
    }
    /// The async form of `historyToken`.
    public func historyToken() async throws(MakoError) -> HistoryToken {
        try await onOwnThread(writes: false) { () throws(MakoError) in try self.historyToken() }
    }
    /// The async form of `forgetHistory(before:)`.
    public func forgetHistory(before token: HistoryToken) async throws(MakoError) {
        try await onOwnThread(writes: true) { () throws(MakoError) in try self.forgetHistory(before: token) }
    }
    /// The async form of `rebuildFullText(of:)`.
    public func rebuildFullText<T: Entity>(of type: T.Type) async throws(MakoError) {
        try await onOwnThread(writes: true) { () throws(MakoError) in try self.rebuildFullText(of: type) }
    }
}

extension ObjectEntity {
    /// The async form of `referencing(_:)`.
    public func referencing<T: Entity>(_ type: T.Type) async throws(MakoError) -> [T] {
        let database = try Database.resolve(number: lockedState { $0.database }, for: Self.entityModel)
        return try await database.onOwnThread(writes: false) { () throws(MakoError) in try self.referencing(type) }
    }
    /// The async form of `referencedCount()`.
    public func referencedCount() async throws(MakoError) -> Int {
        let database = try Database.resolve(number: lockedState { $0.database }, for: Self.entityModel)
        return try await database.onOwnThread(writes: false) { () throws(MakoError) in try self.referencedCount() }
    }
}

extension ToMany {
    /// The async form of `fetch()`.
    public func fetch() async throws(MakoError) -> Results<Target> { try await query().fetch() }
}

extension Query where T: ObjectEntity {
    /// The async form of `fetch(into:)`.
    public func fetch(into workspace: Workspace) async throws(MakoError) -> Results<T> {
        try await away { (query) throws(MakoError) in try query.fetch(into: workspace) }
    }
}

extension Workspace {
    /// The async form of `commit()`.
    public func commit() async throws(MakoError) {
        guard let database = try target() else { return }
        try await database.onOwnThread(writes: true) { () throws(MakoError) in try self.commit(in: database) }
    }
}
