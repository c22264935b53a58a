// Made by scripts/async-twins of the functions marked `// async`.

import MakoRecords

extension KeyedStore {
    /// The async form of `value(_:for:revision:converting:)`. Runs on a thread outside Swift's cooperative pool.
    public func value<T: StorableValue>(
        _ type: T.Type, for key: String, revision: Int? = nil, converting: Bool = false
    ) async throws(MakoError) -> T? {
        try await away { (receiver) throws(MakoError) in
            try receiver.value(type, for: key, revision: revision, converting: converting)
        }
    }

    /// The async form of `value(_:for:revision:converting:)`. Runs on a thread outside Swift's cooperative pool.
    @_disfavoredOverload
    public func value<T: Codable & Sendable>(
        _ type: T.Type, for key: String, revision: Int? = nil, converting: Bool = false
    ) async throws(MakoError) -> T? {
        try await away { (receiver) throws(MakoError) in
            try receiver.value(type, for: key, revision: revision, converting: converting)
        }
    }

    /// The async form of `values(_:taggedAny:taggedAll:converting:)`. Runs on a thread outside Swift's cooperative pool.
    public func values<T: StorableValue>(
        _ type: T.Type, taggedAny: [String]? = nil, taggedAll: [String] = [], converting: Bool = false
    ) async throws(MakoError) -> [(key: String, value: T)] {
        try await away { (receiver) throws(MakoError) in
            try receiver.values(type, taggedAny: taggedAny, taggedAll: taggedAll, converting: converting)
        }
    }

    /// The async form of `values(_:taggedAny:taggedAll:converting:)`. Runs on a thread outside Swift's cooperative pool.
    @_disfavoredOverload
    public func values<T: Codable & Sendable>(
        _ type: T.Type, taggedAny: [String]? = nil, taggedAll: [String] = [], converting: Bool = false
    ) async throws(MakoError) -> [(key: String, value: T)] {
        try await away { (receiver) throws(MakoError) in
            try receiver.values(type, taggedAny: taggedAny, taggedAll: taggedAll, converting: converting)
        }
    }

    /// The async form of `keys(taggedAny:taggedAll:)`. Runs on a thread outside Swift's cooperative pool.
    public func keys(taggedAny: [String]? = nil, taggedAll: [String] = []) async throws(MakoError) -> [String] {
        try await away { (receiver) throws(MakoError) in try receiver.keys(taggedAny: taggedAny, taggedAll: taggedAll) }
    }

    /// The async form of `count(taggedAny:taggedAll:)`. Runs on a thread outside Swift's cooperative pool.
    public func count(taggedAny: [String]? = nil, taggedAll: [String] = []) async throws(MakoError) -> Int {
        try await away { (receiver) throws(MakoError) in
            try receiver.count(taggedAny: taggedAny, taggedAll: taggedAll)
        }
    }

    /// The async form of `contains(_:)`. Runs on a thread outside Swift's cooperative pool.
    public func contains(_ key: String) async throws(MakoError) -> Bool {
        try await away { (receiver) throws(MakoError) in try receiver.contains(key) }
    }

    /// The async form of `tags()`. Runs on a thread outside Swift's cooperative pool.
    public func tags() async throws(MakoError) -> [String] {
        try await away { (receiver) throws(MakoError) in try receiver.tags() }
    }

    /// The async form of `info(for:)`. Runs on a thread outside Swift's cooperative pool.
    public func info(for key: String) async throws(MakoError) -> Info? {
        try await away { (receiver) throws(MakoError) in try receiver.info(for: key) }
    }

    /// The async form of `revisions(of:)`. Runs on a thread outside Swift's cooperative pool.
    public func revisions(of key: String) async throws(MakoError) -> [Revision] {
        try await away { (receiver) throws(MakoError) in try receiver.revisions(of: key) }
    }

    /// The async form of `set(_:for:tags:)`. Runs on a thread outside Swift's cooperative pool.
    @discardableResult
    public func set<T: StorableValue>(
        _ value: T, for key: String, tags: [String]? = nil
    ) async throws(MakoError) -> Int {
        let value = try StoreContent(value, for: key, in: name)
        return try await away(writes: true) { (receiver) throws(MakoError) in try receiver.set(value, key, tags) }
    }

    /// The async form of `set(_:for:tags:)`. Runs on a thread outside Swift's cooperative pool.
    @_disfavoredOverload @discardableResult
    public func set<T: Codable & Sendable>(
        _ value: T, for key: String, tags: [String]? = nil
    ) async throws(MakoError) -> Int {
        let value = try StoreContent(encoding: value, for: key, in: name)
        return try await away(writes: true) { (receiver) throws(MakoError) in try receiver.set(value, key, tags) }
    }

    /// The async form of `setTags(_:for:)`. Runs on a thread outside Swift's cooperative pool.
    @discardableResult
    public func setTags(_ tags: [String], for key: String) async throws(MakoError) -> Bool {
        try await away(writes: true) { (receiver) throws(MakoError) in try receiver.setTags(tags, for: key) }
    }

    /// The async form of `remove(_:)`. Runs on a thread outside Swift's cooperative pool.
    @discardableResult
    public func remove(_ key: String) async throws(MakoError) -> Bool {
        try await away(writes: true) { (receiver) throws(MakoError) in try receiver.remove(key) }
    }

    /// The async form of `removeAll()`. Runs on a thread outside Swift's cooperative pool.
    @discardableResult
    public func removeAll() async throws(MakoError) -> Int {
        try await away(writes: true) { (receiver) throws(MakoError) in try receiver.removeAll() }
    }
}
