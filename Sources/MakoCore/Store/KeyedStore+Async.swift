// The async forms of the calls. They run on a thread of the database, not on Swift's cooperative pool. A value is
// encoded before the task suspends.
extension KeyedStore {
    private func away<R: Sendable>(
        writes: Bool = false, _ body: @escaping @Sendable (KeyedStore) throws(MakoError) -> R
    ) async throws(MakoError) -> R {
        try await database.onOwnThread(writes: writes) { () throws(MakoError) in try body(self) }
    }

    /// The async form of `set`.
    @discardableResult
    public func set<T: StorableValue>(
        _ value: T, for key: String, tags: [String]? = nil
    ) async throws(MakoError) -> Int {
        let content = try StoreContent(value, for: key, in: name)
        return try await away(writes: true) { (store) throws(MakoError) in try store.set(content, key, tags) }
    }
    /// The async form of `set`.
    @_disfavoredOverload @discardableResult
    public func set<T: Codable & Sendable>(
        _ value: T, for key: String, tags: [String]? = nil
    ) async throws(MakoError) -> Int {
        let content = try StoreContent(encoding: value, for: key, in: name)
        return try await away(writes: true) { (store) throws(MakoError) in try store.set(content, key, tags) }
    }
    /// The async form of `setTags`.
    @discardableResult
    public func setTags(_ tags: [String], for key: String) async throws(MakoError) -> Bool {
        try await away(writes: true) { (store) throws(MakoError) in try store.setTags(tags, for: key) }
    }
    /// The async form of `remove`.
    @discardableResult
    public func remove(_ key: String) async throws(MakoError) -> Bool {
        try await away(writes: true) { (store) throws(MakoError) in try store.remove(key) }
    }
    /// The async form of `removeAll`.
    @discardableResult
    public func removeAll() async throws(MakoError) -> Int {
        try await away(writes: true) { (store) throws(MakoError) in try store.removeAll() }
    }

    /// The async form of `value`.
    public func value<T: StorableValue>(
        _ type: T.Type, for key: String, revision: Int? = nil, converting: Bool = false
    ) async throws(MakoError) -> T? {
        try await away { (store) throws(MakoError) in
            try store.value(type, for: key, revision: revision, converting: converting)
        }
    }
    /// The async form of `value`.
    @_disfavoredOverload
    public func value<T: Codable & Sendable>(
        _ type: T.Type, for key: String, revision: Int? = nil, converting: Bool = false
    ) async throws(MakoError) -> T? {
        try await away { (store) throws(MakoError) in
            try store.value(type, for: key, revision: revision, converting: converting)
        }
    }
    /// The async form of `values`.
    public func values<T: StorableValue>(
        _ type: T.Type, taggedAny: [String]? = nil, taggedAll: [String] = [], converting: Bool = false
    ) async throws(MakoError) -> [(key: String, value: T)] {
        try await away { (store) throws(MakoError) in
            try store.values(type, taggedAny: taggedAny, taggedAll: taggedAll, converting: converting)
        }
    }
    /// The async form of `values`.
    @_disfavoredOverload
    public func values<T: Codable & Sendable>(
        _ type: T.Type, taggedAny: [String]? = nil, taggedAll: [String] = [], converting: Bool = false
    ) async throws(MakoError) -> [(key: String, value: T)] {
        try await away { (store) throws(MakoError) in
            try store.values(type, taggedAny: taggedAny, taggedAll: taggedAll, converting: converting)
        }
    }
    /// The async form of `keys`.
    public func keys(taggedAny: [String]? = nil, taggedAll: [String] = []) async throws(MakoError) -> [String] {
        try await away { (store) throws(MakoError) in try store.keys(taggedAny: taggedAny, taggedAll: taggedAll) }
    }
    /// The async form of `count`.
    public func count(taggedAny: [String]? = nil, taggedAll: [String] = []) async throws(MakoError) -> Int {
        try await away { (store) throws(MakoError) in try store.count(taggedAny: taggedAny, taggedAll: taggedAll) }
    }
    /// The async form of `contains`.
    public func contains(_ key: String) async throws(MakoError) -> Bool {
        try await away { (store) throws(MakoError) in try store.contains(key) }
    }
    /// The async form of `tags`.
    public func tags() async throws(MakoError) -> [String] {
        try await away { (store) throws(MakoError) in try store.tags() }
    }
    /// The async form of `info`.
    public func info(for key: String) async throws(MakoError) -> Info? {
        try await away { (store) throws(MakoError) in try store.info(for: key) }
    }
    /// The async form of `revisions`.
    public func revisions(of key: String) async throws(MakoError) -> [Revision] {
        try await away { (store) throws(MakoError) in try store.revisions(of: key) }
    }
}
