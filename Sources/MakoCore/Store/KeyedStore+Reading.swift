extension KeyedStore {
    // async
    /// Returns the value of a key, or nil when the key does not exist.
    ///
    /// ```swift
    /// let text = try notes.value(String.self, for: "welcome")
    /// let before = try notes.value(String.self, for: "welcome", revision: 3)
    /// ```
    ///
    /// - Parameters:
    ///   - type: the type of the value.
    ///   - key: the key.
    ///   - revision: the number of a revision; nil: the newest. The result is nil for a revision that is not kept.
    ///   - converting: whether to convert a value stored as another type: exact numbers, text, JSON of a matching
    ///     shape. For types that were renamed.
    /// - Throws: `MakoError.storedAsOtherType` when the value is not of this type.
    public func value<T: StorableValue>(
        _ type: T.Type, for key: String, revision: Int? = nil, converting: Bool = false
    ) throws(MakoError) -> T? {
        guard let content = try content(key, revision) else { return nil }
        return try checked(content.value(type, converting: converting), type, content, key)
    }

    // async
    /// Returns the value of a key, stored as JSON, or nil when the key does not exist.
    ///
    /// - Parameters:
    ///   - type: the type of the value.
    ///   - key: the key.
    ///   - revision: the number of a revision; nil: the newest. The result is nil for a revision that is not kept.
    ///   - converting: whether to convert a value stored as another type. For types that were renamed.
    /// - Throws: `MakoError.storedAsOtherType` when the value is not of this type.
    @_disfavoredOverload
    public func value<T: Codable & Sendable>(
        _ type: T.Type, for key: String, revision: Int? = nil, converting: Bool = false
    ) throws(MakoError) -> T? {
        guard let content = try content(key, revision) else { return nil }
        return try checked(content.value(type, converting: converting), type, content, key)
    }

    // async
    /// Returns the keys with their values, in the order of the keys' UTF-8 bytes.
    ///
    /// ```swift
    /// for (key, note) in try notes.values(Note.self, taggedAny: ["draft"]) { print(key, note.text) }
    /// ```
    ///
    /// - Parameters:
    ///   - type: the type of the values.
    ///   - taggedAny: only keys with at least one of these tags; an empty list matches no key, nil all keys.
    ///   - taggedAll: only keys with each of these tags.
    ///   - converting: whether to convert values stored as another type.
    /// - Throws: `MakoError.storedAsOtherType` when a value is not of this type.
    public func values<T: StorableValue>(
        _ type: T.Type, taggedAny: [String]? = nil, taggedAll: [String] = [], converting: Bool = false
    ) throws(MakoError) -> [(key: String, value: T)] {
        try contents(taggedAny, taggedAll) { (content, key) throws(MakoError) in
            try checked(content.value(type, converting: converting), type, content, key)
        }
    }

    // async
    /// Returns the keys with their values, stored as JSON, in the order of the keys' UTF-8 bytes.
    ///
    /// - Parameters:
    ///   - type: the type of the values.
    ///   - taggedAny: only keys with at least one of these tags; an empty list matches no key, nil all keys.
    ///   - taggedAll: only keys with each of these tags.
    ///   - converting: whether to convert values stored as another type.
    /// - Throws: `MakoError.storedAsOtherType` when a value is not of this type.
    @_disfavoredOverload
    public func values<T: Codable & Sendable>(
        _ type: T.Type, taggedAny: [String]? = nil, taggedAll: [String] = [], converting: Bool = false
    ) throws(MakoError) -> [(key: String, value: T)] {
        try contents(taggedAny, taggedAll) { (content, key) throws(MakoError) in
            try checked(content.value(type, converting: converting), type, content, key)
        }
    }

    // async
    /// Returns the keys, in the order of their UTF-8 bytes. Uses an index on the tags and reads no values.
    ///
    /// - Parameters:
    ///   - taggedAny: only keys with at least one of these tags; an empty list matches no key, nil all keys.
    ///   - taggedAll: only keys with each of these tags.
    public func keys(taggedAny: [String]? = nil, taggedAll: [String] = []) throws(MakoError) -> [String] {
        try reading(orElse: []) { (stores) throws(MakoError) in
            try entries(stores, taggedAny, taggedAll).map(\.key)
        }
    }

    // async
    /// Returns the number of keys.
    ///
    /// - Parameters:
    ///   - taggedAny: only keys with at least one of these tags; an empty list matches no key, nil all keys.
    ///   - taggedAll: only keys with each of these tags.
    public func count(taggedAny: [String]? = nil, taggedAll: [String] = []) throws(MakoError) -> Int {
        try reading(orElse: 0) { (stores) throws(MakoError) in
            if taggedAny == nil && taggedAll.isEmpty { return try stores.entryCount(of: name) }
            return try stores.ids(in: name, taggedAny: taggedAny, taggedAll: taggedAll).count
        }
    }

    // async
    /// Returns whether a key exists.
    public func contains(_ key: String) throws(MakoError) -> Bool {
        try reading(orElse: false) { (stores) throws(MakoError) in try stores.entry(name, key) != nil }
    }

    // async
    /// Returns the tags of all keys of this store, each once, in the order of their UTF-8 bytes.
    public func tags() throws(MakoError) -> [String] {
        try reading(orElse: []) { (stores) throws(MakoError) in
            var tags: [String] = []
            for tag in try stores.tags(of: name) {
                if let last = tags.last, last.utf8.elementsEqual(tag.utf8) { continue }
                tags.append(tag)
            }
            return tags
        }
    }

    // async
    /// Returns the metadata of a key, or nil when the key does not exist.
    ///
    /// ```swift
    /// if let info = try notes.info(for: "welcome") { print(info.revision, info.tags, info.changed) }
    /// ```
    public func info(for key: String) throws(MakoError) -> Info? {
        try reading(orElse: nil) { (stores) throws(MakoError) in
            guard let entry = try stores.entry(name, key),
                let newest = try stores.revision(of: entry, entry.revision)
            else { return nil }
            return Info(
                revision: entry.revision, revisionsKept: entry.revision &- entry.oldest &+ 1,
                tags: try stores.tags(of: entry).map(\.tag), changed: newest.date, bytes: newest.content.size,
                typeName: newest.content.typeName)
        }
    }

    // async
    /// Returns the kept revisions of a key, oldest first; empty when the key does not exist.
    public func revisions(of key: String) throws(MakoError) -> [Revision] {
        try reading(orElse: []) { (stores) throws(MakoError) in
            guard let entry = try stores.entry(name, key) else { return [] }
            return try stores.revisions(of: entry).map {
                Revision(number: $0.number, date: $0.date, bytes: $0.content.size, typeName: $0.content.typeName)
            }
        }
    }

    private func reading<R>(
        orElse none: R, _ body: (StoreView) throws(MakoError) -> R
    ) throws(MakoError) -> R {
        try database.viewing { (view, schema) throws(MakoError) in
            guard let stores = StoreView(view, schema, database) else { return none }
            return try body(stores)
        }
    }

    private func content(_ key: String, _ revision: Int?) throws(MakoError) -> StoreContent? {
        try reading(orElse: nil) { (stores) throws(MakoError) in
            guard let entry = try stores.entry(name, key) else { return nil }
            return try stores.revision(of: entry, revision ?? entry.revision)?.content
        }
    }

    private func entries(
        _ stores: StoreView, _ taggedAny: [String]?, _ taggedAll: [String]
    ) throws(MakoError) -> [StoreEntry] {
        if taggedAny == nil && taggedAll.isEmpty { return try stores.entries(of: name) }
        return try stores.entries(try stores.ids(in: name, taggedAny: taggedAny, taggedAll: taggedAll))
    }

    private func contents<T>(
        _ taggedAny: [String]?, _ taggedAll: [String], _ value: (StoreContent, String) throws(MakoError) -> T
    ) throws(MakoError) -> [(key: String, value: T)] {
        try reading(orElse: []) { (stores) throws(MakoError) in
            var found: [(key: String, value: T)] = []
            for entry in try entries(stores, taggedAny, taggedAll) {
                guard let revision = try stores.revision(of: entry, entry.revision) else { continue }
                found.append((entry.key, try value(revision.content, entry.key)))
            }
            return found
        }
    }

    private func checked<T>(
        _ value: T?, _ type: T.Type, _ content: StoreContent, _ key: String
    ) throws(MakoError) -> T {
        if let value { return value }
        throw .storedAsOtherType(
            store: name, key: key, stored: content.typeName, requested: StoreContent.name(of: type))
    }
}
