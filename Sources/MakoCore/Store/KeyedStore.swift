import Foundation
import MakoRecords
import MakoStorage

/// A key-value store with revisions and tags, without an entity: for settings, drafts, documents, cached responses.
/// Each key keeps its newest revisions and may have tags, by which queries find it.
///
/// ```swift
/// let notes = try db.store("notes")
/// try notes.set(Note(text: "Hello"), for: "welcome", tags: ["draft", "english"])
/// let note = try notes.value(Note.self, for: "welcome")
/// let first = try notes.value(Note.self, for: "welcome", revision: 1)
/// let drafts = try notes.keys(taggedAny: ["draft"])
/// ```
///
/// A value is ``StorableValue``, or `Codable` and then stored as JSON. A store may hold values of several types. Keys
/// and tags are arbitrary strings, equal when their Unicode scalars are: `"é"` as one scalar differs from `"é"` as two.
///
/// Calls join the running transaction of their thread, and use the snapshot of `db.read { … }`. Otherwise each call is
/// its own transaction or snapshot. All calls are thread-safe; revision numbers are unique.
///
/// The rows are in tables of the database whose names begin with `mako_store`. The first write creates them; they are
/// backed up, encrypted and checked with the rest. Access by key takes a few microseconds.
///
/// - Complexity: access by key is logarithmic in the number of keys.
public struct KeyedStore: Sendable {
    /// The database of the store.
    public let database: Database
    /// The name of the store.
    public let name: String
    private let keptRevisions: Int?

    /// The number of revisions that a new store keeps by default.
    static let usualRevisions = 10
    /// More bytes than a row has beside its longest text: numbers, the names of the store and of the type.
    private static let rowRest = 4 << 10

    init(_ database: Database, name: String, keptRevisions: Int?) throws(MakoError) {
        if let keptRevisions, keptRevisions < 1 {
            throw .invalidArgument(
                "db.store(\"\(name)\", keptRevisions: \(keptRevisions)): a key keeps one revision at least, its value")
        }
        self.database = database
        self.name = name
        self.keptRevisions = keptRevisions
    }

    /// The metadata of a key.
    public struct Info: Sendable, Hashable {
        /// The number of the newest revision: how often the key was set since it was created.
        public let revision: Int
        /// The number of kept revisions: the newest ones, without a gap.
        public let revisionsKept: Int
        /// The tags, in the order of their UTF-8 bytes.
        public let tags: [String]
        /// The time when the newest revision was stored.
        public let changed: Date
        /// The size of the value: the bytes of its text, JSON or data.
        public let bytes: Int
        /// The name of the value's type without its module, such as `Note` or `Mail.Draft`; `"nil"` for a nil value.
        public let typeName: String
    }

    /// A current or earlier value of a key.
    public struct Revision: Sendable, Hashable {
        /// The number of the revision.
        public let number: Int
        /// The time when it was stored.
        public let date: Date
        /// The size of the value: the bytes of its text, JSON or data.
        public let bytes: Int
        /// The name of the value's type without its module, such as `Note` or `Mail.Draft`; `"nil"` for a nil value.
        public let typeName: String
    }
}

extension Database {
    /// Returns a key-value store. Reads and writes nothing; the first write creates the store.
    ///
    /// ```swift
    /// let notes = try db.store("notes", keptRevisions: 100)
    /// ```
    ///
    /// - Parameters:
    ///   - name: any string. Stores with different names are separate.
    ///   - keptRevisions: the number of revisions kept per key, including the newest; at least 1. The next write stores
    ///     it in the file; nil keeps the stored number, which is 10 for a new store. After a reduction, the next write
    ///     of a key removes its surplus revisions.
    /// - Throws: `MakoError.invalidArgument` when `keptRevisions` is less than 1.
    public func store(_ name: String, keptRevisions: Int? = nil) throws(MakoError) -> KeyedStore {
        try KeyedStore(self, name: name, keptRevisions: keptRevisions)
    }
}

// MARK: - Writing

extension KeyedStore {
    // async: writes, early
    /// Stores a value as the key's next revision, and removes revisions beyond the kept number.
    ///
    /// ```swift
    /// let revision = try notes.set("Hello", for: "welcome", tags: ["draft", "english"])
    /// ```
    ///
    /// A value equal to the previous one is a new revision too.
    ///
    /// - Parameters:
    ///   - value: the value.
    ///   - key: the key.
    ///   - tags: the new tags of the key; nil keeps its tags. Tags belong to the key, not to the revision.
    /// - Returns: the number of the revision: 1 for a new key, then consecutive.
    /// - Throws: `MakoError.unstorableValue` for a value that could not be read again, or with its key is larger than a
    ///   row takes (64 MiB), nothing has changed then; `.readOnly`; `.storage`, which also makes a running transaction fail.
    @discardableResult
    public func set<T: StorableValue>(_ value: T, for key: String, tags: [String]? = nil) throws(MakoError) -> Int {
        try set(try StoreContent(value, for: key, in: name), key, tags)
    }

    // async: writes, early
    /// Stores a value as JSON as the key's next revision, and removes revisions beyond the kept number.
    ///
    /// - Parameters:
    ///   - value: the value.
    ///   - key: the key.
    ///   - tags: the new tags of the key; nil keeps its tags.
    /// - Returns: the number of the revision: 1 for a new key, then consecutive.
    /// - Throws: `MakoError.unstorableValue` when the value cannot be encoded, nothing has changed then; `.readOnly`;
    ///   `.storage`, which also makes a running transaction fail.
    @_disfavoredOverload @discardableResult
    public func set<T: Codable & Sendable>(
        _ value: T, for key: String, tags: [String]? = nil
    ) throws(MakoError) -> Int {
        try set(try StoreContent(encoding: value, for: key, in: name), key, tags)
    }

    func set(_ content: StoreContent, _ key: String, _ tags: [String]?) throws(MakoError) -> Int {
        // Before anything is written, because a write that fails halfway fails its transaction.
        try checkSize("the value", content.size, key)
        try checkSize("the key", key.utf8.count, key)
        try checkSize(of: tags ?? [], key)
        return try writing(makesTables: true, orElse: 0) { (writer) throws(MakoError) in
            try writer.set(content, for: key, tags: tags, keptRevisions: keptRevisions)
        }
    }

    // async: writes
    /// Replaces the tags of a key. Its value and revision stay the same.
    ///
    /// - Returns: false when the key does not exist.
    @discardableResult
    public func setTags(_ tags: [String], for key: String) throws(MakoError) -> Bool {
        try checkSize(of: tags, key)
        return try writing(orElse: false) { (writer) throws(MakoError) in try writer.setTags(tags, for: key) }
    }

    // async: writes
    /// Removes a key with all its revisions and tags. If it is set again, its revisions start at 1.
    ///
    /// - Returns: false when the key does not exist.
    @discardableResult
    public func remove(_ key: String) throws(MakoError) -> Bool {
        try writing(orElse: false) { (writer) throws(MakoError) in try writer.remove(key) }
    }

    // async: writes
    /// Removes all keys of this store in one transaction and returns their number.
    @discardableResult
    public func removeAll() throws(MakoError) -> Int {
        try writing(orElse: 0) { (writer) throws(MakoError) in try writer.removeAll() }
    }

    private func checkSize(of tags: [String], _ key: String) throws(MakoError) {
        for tag in tags { try checkSize("a tag", tag.utf8.count, key) }
    }

    /// Throws for a part of an entry that does not fit a row with the rest of it.
    private func checkSize(_ part: String, _ bytes: Int, _ key: String) throws(MakoError) {
        let limit = Limits.valueBytes - KeyedStore.rowRest
        if bytes <= limit { return }
        throw .unstorableValue(
            entity: name, key: nil, property: StoreContent.quoted(key),
            reason: "\(part) has \(bytes) bytes, and a keyed store takes \(limit); keep what is larger in a file beside"
        )
    }

    /// Runs an async form that scripts/async-twins makes.
    func away<R: Sendable>(
        writes: Bool = false, _ body: @escaping @Sendable (KeyedStore) throws(MakoError) -> R
    ) async throws(MakoError) -> R {
        try await database.onOwnThread(writes: writes) { () throws(MakoError) in try body(self) }
    }

    private func writing<R>(
        makesTables: Bool = false, orElse none: R, _ body: (StoreWriter) throws(MakoError) -> R
    ) throws(MakoError) -> R {
        try database.writing { (transaction) throws(MakoError) in
            guard let writer = try StoreWriter(transaction, name, makesTables: makesTables) else { return none }
            do throws(MakoError) { return try body(writer) } catch {
                // Some rows may be written and others not. Failing the transaction replaces a savepoint, which would
                // copy each changed page in every call; only I/O errors reach this.
                transaction.fail(error)
                throw error
            }
        }
    }
}
