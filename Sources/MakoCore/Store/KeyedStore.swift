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
    /// - Throws: `MakoError.unstorableValue` for a value that could not be read again, and nothing has changed; `.readOnly`; `.storage`, and a
    ///   transaction that is running fails as well then, whatever its closure does.
    @discardableResult
    public func set<T: StorableValue>(_ value: T, for key: String, tags: [String]? = nil) throws(MakoError) -> Int {
        try set(try StoreContent(value, for: key, in: name), key, tags)
    }

    /// Stores a value as JSON as the key's next revision, and lets go of the oldest one where too many would be kept.
    ///
    /// - Parameter tags: what the key is tagged with from now on; nil: with what it is tagged already.
    /// - Returns: the number of the revision: 1 for a new key, then one more each time.
    /// - Throws: `MakoError.unstorableValue` when the value does not encode, and nothing has changed; `.readOnly`; `.storage`, and a transaction that is
    ///   running fails as well then, whatever its closure does.
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

    private func writing<R>(
        makesTables: Bool = false, orElse none: R, _ body: (StoreWriter) throws(MakoError) -> R
    ) throws(MakoError) -> R {
        try database.writing { (transaction) throws(MakoError) in
            guard let writer = try StoreWriter(transaction, name, makesTables: makesTables) else { return none }
            do throws(MakoError) { return try body(writer) } catch {
                // Some rows may be written and others not. A savepoint would take them back, and cost every call a copy of each page that it
                // changes; only the disk can fail here, so the transaction does instead.
                transaction.fail(error)
                throw error
            }
        }
    }
}
