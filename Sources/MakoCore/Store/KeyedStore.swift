import Foundation
import MakoRecords

/// Values by keys, without an entity: for settings, drafts, documents, answers of a server. Each key keeps its newest revisions and may
/// have tags, by which it is found.
///
/// ```swift
/// let notes = try db.store("notes")
/// try notes.set(Note(text: "Hello"), for: "welcome", tags: ["draft", "english"])
/// let note = try notes.value(Note.self, for: "welcome")
/// let first = try notes.value(Note.self, for: "welcome", revision: 1)
/// let drafts = try notes.keys(taggedAny: ["draft"])
/// ```
///
/// A value is of a type that fills a column (``StorableValue``), or `Codable`, and is stored as JSON then. One store may hold values of several types.
/// Keys and tags are any texts; two are the same when their Unicode scalars are, so `"é"` as one scalar is not `"é"` as two.
///
/// Calls join the transaction that runs on their thread, and see one snapshot inside `db.read { … }`. Outside of both, each
/// call is a transaction or a snapshot of its own. From any thread; writers of one key take turns, and no revision's number is given twice.
///
/// The rows are in tables of the database whose names begin with `mako_store`. They are made by the first write, and are backed up,
/// encrypted and checked with the rest. A value is found by its key in a few microseconds, whatever the number of keys.
public struct KeyedStore: Sendable {
    public let database: Database
    public let name: String
    private let keptRevisions: Int?

    /// How many revisions a store keeps that was told nothing.
    static let usualRevisions = 10

    init(_ database: Database, name: String, keptRevisions: Int?) throws(MakoError) {
        if let keptRevisions, keptRevisions < 1 {
            throw .invalidArgument(
                "db.store(\"\(name)\", keptRevisions: \(keptRevisions)): a key keeps one revision at least, its value")
        }
        self.database = database
        self.name = name
        self.keptRevisions = keptRevisions
    }

    /// What is known of a key besides its value.
    public struct Info: Sendable, Hashable {
        /// The number of the newest revision: how often the key was set since it came.
        public let revision: Int
        /// How many revisions can be read: the newest ones, without a gap.
        public let revisionsKept: Int
        /// In the order of their UTF-8 bytes.
        public let tags: [String]
        /// When the newest revision was stored.
        public let changed: Date
        /// What the value takes: the bytes of its text, JSON or data.
        public let bytes: Int
        /// The name of the value's type, such as `Note`; `nil` for a value that is none.
        public let typeName: String
    }

    /// A value that a key has or had.
    public struct Revision: Sendable, Hashable {
        public let number: Int
        /// When it was stored.
        public let date: Date
        /// What it takes: the bytes of its text, JSON or data.
        public let bytes: Int
        /// The name of its type, such as `Note`; `nil` for a value that is none.
        public let typeName: String
    }
}

extension Database {
    /// A store of values by keys. Nothing is read or written before it is used; it is made by its first write.
    ///
    /// ```swift
    /// let notes = try db.store("notes", keptRevisions: 100)
    /// ```
    ///
    /// - Parameters:
    ///   - name: any text. Stores of other names know nothing of its keys.
    ///   - keptRevisions: how many revisions of a key are kept, the newest among them; at least 1. The file remembers it from the next write on, so nil
    ///     means what the store was told before, and 10 for a new one. A smaller number than before lets go of older revisions of a
    ///     key when that is set next.
    /// - Throws: `MakoError.invalidArgument` when no revision is to be kept.
    public func store(_ name: String, keptRevisions: Int? = nil) throws(MakoError) -> KeyedStore {
        try KeyedStore(self, name: name, keptRevisions: keptRevisions)
    }
}

// MARK: - Writing

extension KeyedStore {
    /// Stores a value as the key's next revision, and lets go of the oldest one where too many would be kept.
    ///
    /// ```swift
    /// let revision = try notes.set("Hello", for: "welcome", tags: ["draft", "english"])
    /// ```
    ///
    /// A value that is equal to the one before is a revision as well.
    ///
    /// - Parameter tags: what the key is tagged with from now on; nil: with what it is tagged already. Tags are the key's, not the
    ///   revision's.
    /// - Returns: the number of the revision: 1 for a new key, then one more each time.
    /// - Throws: `MakoError.readOnly`, `.storage`; nothing has changed then.
    @discardableResult
    public func set<T: StorableValue>(_ value: T, for key: String, tags: [String]? = nil) throws(MakoError) -> Int {
        try set(StoreContent(value), key, tags)
    }

    /// Stores a value as JSON as the key's next revision, and lets go of the oldest one where too many would be kept.
    ///
    /// - Parameter tags: what the key is tagged with from now on; nil: with what it is tagged already.
    /// - Returns: the number of the revision: 1 for a new key, then one more each time.
    /// - Throws: `MakoError.typeMismatch` when the value does not encode; `.readOnly`, `.storage`. Nothing has changed then.
    @_disfavoredOverload @discardableResult
    public func set<T: Codable & Sendable>(
        _ value: T, for key: String, tags: [String]? = nil
    ) throws(MakoError) -> Int {
        try set(try StoreContent(encoding: value, for: key, in: name), key, tags)
    }

    func set(_ content: StoreContent, _ key: String, _ tags: [String]?) throws(MakoError) -> Int {
        try writing(makesTables: true, orElse: 0) { (writer) throws(MakoError) in
            try writer.set(content, for: key, tags: tags, keptRevisions: keptRevisions)
        }
    }

    /// Gives a key other tags in place of those it has. Its value and its revision stay.
    ///
    /// - Returns: false when there is no such key.
    @discardableResult
    public func setTags(_ tags: [String], for key: String) throws(MakoError) -> Bool {
        try writing(orElse: false) { (writer) throws(MakoError) in try writer.setTags(tags, for: key) }
    }

    /// Removes a key with all its revisions and tags. When it is set again, its revisions begin with 1.
    ///
    /// - Returns: false when there was no such key.
    @discardableResult
    public func remove(_ key: String) throws(MakoError) -> Bool {
        try writing(orElse: false) { (writer) throws(MakoError) in try writer.remove(key) }
    }

    /// Removes every key of this store, in one transaction, and answers how many there were.
    @discardableResult
    public func removeAll() throws(MakoError) -> Int {
        try writing(orElse: 0) { (writer) throws(MakoError) in try writer.removeAll() }
    }

    /// A call writes several rows: inside a running transaction it is a savepoint.
    private func writing<R>(
        makesTables: Bool = false, orElse none: R, _ body: (StoreWriter) throws(MakoError) -> R
    ) throws(MakoError) -> R {
        try database.allOrNothing { (transaction) throws(MakoError) in
            guard let writer = try StoreWriter(transaction, name, makesTables: makesTables) else { return none }
            return try body(writer)
        }
    }
}

// MARK: - Reading

extension KeyedStore {
    /// The value of a key, or nil when there is no such key.
    ///
    /// ```swift
    /// let text = try notes.value(String.self, for: "welcome")
    /// let before = try notes.value(String.self, for: "welcome", revision: 3)
    /// ```
    ///
    /// - Parameters:
    ///   - revision: the number of an older revision; nil is answered for one that is not kept. The newest, when it is nil.
    ///   - converting: whether a value that was stored as another type is taken where it fits: numbers that are exact, text, JSON by
    ///     its shape. For a type that has another name by now.
    /// - Throws: `MakoError.storedAsOtherType` when the value is none of this type.
    public func value<T: StorableValue>(
        _ type: T.Type, for key: String, revision: Int? = nil, converting: Bool = false
    ) throws(MakoError) -> T? {
        guard let content = try content(key, revision) else { return nil }
        return try checked(content.value(type, converting: converting), type, content, key)
    }

    /// The value of a key, which was stored as JSON, or nil when there is no such key.
    ///
    /// - Parameters:
    ///   - revision: the number of an older revision; nil is answered for one that is not kept. The newest, when it is nil.
    ///   - converting: whether a value that was stored as another type is taken where it fits. For a type that has another name by now.
    /// - Throws: `MakoError.storedAsOtherType` when the value is none of this type.
    @_disfavoredOverload
    public func value<T: Codable & Sendable>(
        _ type: T.Type, for key: String, revision: Int? = nil, converting: Bool = false
    ) throws(MakoError) -> T? {
        guard let content = try content(key, revision) else { return nil }
        return try checked(content.value(type, converting: converting), type, content, key)
    }

    /// The keys with their values, in the order of the keys' UTF-8 bytes.
    ///
    /// ```swift
    /// for (key, note) in try notes.values(Note.self, taggedAny: ["draft"]) { print(key, note.text) }
    /// ```
    ///
    /// - Parameters:
    ///   - taggedAny: only keys with at least one of these tags; of no tags, none. Nil: whatever their tags.
    ///   - taggedAll: only keys with each of these tags.
    ///   - converting: whether values that were stored as another type are taken where they fit.
    /// - Throws: `MakoError.storedAsOtherType` when one of the values is none of this type.
    public func values<T: StorableValue>(
        _ type: T.Type, taggedAny: [String]? = nil, taggedAll: [String] = [], converting: Bool = false
    ) throws(MakoError) -> [(key: String, value: T)] {
        try contents(taggedAny, taggedAll) { (content, key) throws(MakoError) in
            try checked(content.value(type, converting: converting), type, content, key)
        }
    }

    /// The keys with their values, which were stored as JSON, in the order of the keys' UTF-8 bytes.
    ///
    /// - Parameters:
    ///   - taggedAny: only keys with at least one of these tags; of no tags, none. Nil: whatever their tags.
    ///   - taggedAll: only keys with each of these tags.
    ///   - converting: whether values that were stored as another type are taken where they fit.
    /// - Throws: `MakoError.storedAsOtherType` when one of the values is none of this type.
    @_disfavoredOverload
    public func values<T: Codable & Sendable>(
        _ type: T.Type, taggedAny: [String]? = nil, taggedAll: [String] = [], converting: Bool = false
    ) throws(MakoError) -> [(key: String, value: T)] {
        try contents(taggedAny, taggedAll) { (content, key) throws(MakoError) in
            try checked(content.value(type, converting: converting), type, content, key)
        }
    }

    /// The keys, in the order of their UTF-8 bytes. Tags are found by an index; no value is read.
    ///
    /// - Parameters:
    ///   - taggedAny: only keys with at least one of these tags; of no tags, none. Nil: whatever their tags.
    ///   - taggedAll: only keys with each of these tags.
    public func keys(taggedAny: [String]? = nil, taggedAll: [String] = []) throws(MakoError) -> [String] {
        try reading(orElse: []) { (stores) throws(MakoError) in
            try entries(stores, taggedAny, taggedAll).map(\.key)
        }
    }

    /// How many keys there are.
    ///
    /// - Parameters:
    ///   - taggedAny: only keys with at least one of these tags; of no tags, none. Nil: whatever their tags.
    ///   - taggedAll: only keys with each of these tags.
    public func count(taggedAny: [String]? = nil, taggedAll: [String] = []) throws(MakoError) -> Int {
        try reading(orElse: 0) { (stores) throws(MakoError) in
            if taggedAny == nil && taggedAll.isEmpty { return try stores.entryCount(of: name) }
            return try stores.ids(in: name, taggedAny: taggedAny, taggedAll: taggedAll).count
        }
    }

    /// Whether there is such a key.
    public func contains(_ key: String) throws(MakoError) -> Bool {
        try reading(orElse: false) { (stores) throws(MakoError) in try stores.entry(name, key) != nil }
    }

    /// Every tag that a key of this store has, once each, in the order of their UTF-8 bytes.
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

    /// What is known of a key besides its value, or nil when there is no such key.
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

    /// The revisions of a key that can be read, the oldest first; none when there is no such key.
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
            guard let stores = try StoreView(view, schema, database) else { return none }
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
