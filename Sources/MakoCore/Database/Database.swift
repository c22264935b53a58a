import Dispatch
import Foundation
import MakoRecords
import MakoStorage
import Synchronization

/// An object database in a file or in memory.
///
/// ```swift
/// let db = try Database(at: "people.mako", entities: [Person.self, Department.self])
/// Database.default = db
/// try Person(name: "Ada", age: 36).commit()
/// let people = try Person.query().where("age > \(30)").orderBy("name").fetch()
/// ```
///
/// All calls are thread-safe. Readers do not block and are not blocked; there is one writer at a time.
public final class Database: MadeElsewhere, Sendable {
    /// The file's path, or `:memory:`.
    public let path: String
    /// The storage engine: statistics, checkpoints, verification. With ``FileLocking/perTransaction`` it is suspended
    /// between transactions and reads, and its calls throw an error then.
    public let store: Store
    let pressure: CachePressure
    /// Where the file is locked for each transaction.
    let turns: FileTurns<Database>?
    /// The options it was opened with.
    public let options: DatabaseOptions

    /// The number that identifies the database in its objects.
    @usableFromInline let number: UInt32
    private let generation = Forks.generation
    private let sandbox: Sandbox?
    /// The key of its file among the open databases of this process; nil when it cannot be shared.
    private let file: String?
    let hub = EventHub()
    let failures = FailureHub()
    private let attached = Guarded<(any DatabaseAttachment)?>(nil)
    /// Finishes commits that `StorageError.unconfirmed` was thrown for, in their order.
    let confirmationQueue = DispatchQueue(label: "mako.confirmations")
    let transactionWatchers = TransactionWatchers()
    let metricsCounters = MetricsCounters()
    /// Channels between the threads that scan rows and the consumers of the rows.
    let channels = RowChannels<RowBatch, MakoError>()
    let historyWriter: HistoryWriter
    let naming: NamingAgreement
    /// The cipher of the encrypted properties, once it was needed.
    let knownCipher = Guarded<ValueCipher?>(nil)
    let writerQueue = DispatchQueue(label: "mako.writer")
    let readerQueue = DispatchQueue(label: "mako.readers", attributes: .concurrent)

    struct State {
        var schemas: Schemas
        var isClosed = false
        /// How many `close()` calls are outstanding.
        var holders = 1
        var migrations: [MigrationStep] = []
        /// The next row ids of tables whose creation was rolled back, by the tables' names.
        var lostIDs: [String: Int64] = [:]
        /// In a read-only database, the commits to which the published schema applies.
        var shown: VisibleCommits
        /// The version of the newest schema.
        var lastVersion = 0
    }
    let state: Guarded<State>
    /// A change of the schemas.
    let schemaChange = ConditionVariable()
    /// `Schemas.sequence`, to be read without the lock.
    let schemaSequence = Atomic<UInt64>(0)
    /// The commit that watchers of a read-only database have been notified of. Its lock serialises refreshes.
    let lastNotified: Guarded<UInt64>

    /// Opens a database file, or creates it, and migrates its tables to the given types.
    ///
    /// A process opens a file once: opening it again with the same options returns the same database, which closes with
    /// the last of as many `close()` calls. Read-only databases and sandboxes are exempt.
    ///
    /// - Parameters:
    ///   - path: the file, relative to the working directory; `:memory:` as for ``inMemory(entities:options:)``.
    ///   - mode: `.sandbox` opens a temporary copy and does not change the file.
    ///   - entities: the types to migrate now, with the types that they refer to. Other types are migrated at first
    ///     use.
    ///   - options: the options.
    /// - Throws: `MakoError.storage` when the file cannot be opened; `.alreadyOpen` when it is open with other options
    ///   (options with handlers or keys always differ) or open for writing in another process; `.migration` when a
    ///   table cannot be migrated; `.invalidArgument` for a path with a zero byte.
    public convenience init(
        at path: String, mode: DatabaseMode = .normal, entities: [any Entity.Type] = [],
        options: DatabaseOptions = DatabaseOptions()
    ) throws(MakoError) {
        if mode == .sandbox {
            try Self.refuseZeroByte(in: path)
            let sandbox = try Sandbox(copying: path, options)
            let store = try storage { () throws(StorageError) in
                try Store(at: sandbox.path, options: options.storeOptions)
            }
            try self.init(path: path, store: store, entities: entities, options: options, sandbox: sandbox)
        } else {
            try self.init(at: path, entities: entities, options: options) { () throws(MakoError) in
                try Self.store(at: path, options)
            }
        }
    }

    /// Opens a database by a store of its file, which a closure opens unless this process has the database open.
    package convenience init(
        at path: String, entities: [any Entity.Type], options: DatabaseOptions, opening: () throws(MakoError) -> Store
    ) throws(MakoError) {
        try Self.refuseZeroByte(in: path)
        if options.isNoted && path != Store.memoryPath {
            let found = try OpenDatabases.database(at: path, options) { (file) throws(MakoError) in
                let store = try opening()
                return try Database(path: path, store: store, entities: entities, options: options, file: file)
            }
            self.init(taking: found.database)
            guard found.isShared else { return }
            do throws(MakoError) { try prepare(entities.map { $0.entityModel }) } catch {
                // Undo the count of this opening.
                do throws(MakoError) { try close() } catch {}
                throw error
            }
        } else {
            try self.init(path: path, store: opening(), entities: entities, options: options)
        }
    }

    /// Throws for a path with a zero byte, where the system would end it: it would be that of another file.
    private static func refuseZeroByte(in path: String) throws(MakoError) {
        if path.utf8.contains(0) {
            throw .invalidArgument("the path of a database file has a zero byte; give a path without it")
        }
    }

    private static func store(at path: String, _ options: DatabaseOptions) throws(MakoError) -> Store {
        var opening = options.storeOptions
        if options.fileLocking == .perTransaction && path != Store.memoryPath {
            guard opening.logArchiveBytes == 0 else {
                throw .invalidArgument("\(path) is opened for replication, which needs FileLocking.whileOpen")
            }
            // A thread would end with each turn. The end of a turn does what it would do.
            opening.background = .manual
            opening.lockTimeout = options.writerTimeout ?? .seconds(1 << 30)
        }
        return try storage { () throws(StorageError) in try Store(at: path, options: opening) }
    }

    /// Opens a database file by its URL, or creates it; see ``init(at:mode:entities:options:)-(String,_,_,_)``.
    ///
    /// ```swift
    /// let db = try Database(at: folder.appendingPathComponent("people.mako"), entities: [Person.self])
    /// ```
    ///
    /// - Throws: `MakoError.invalidArgument` for a URL that is not a file URL.
    public convenience init(
        at url: URL, mode: DatabaseMode = .normal, entities: [any Entity.Type] = [],
        options: DatabaseOptions = DatabaseOptions()
    ) throws(MakoError) {
        guard url.isFileURL else { throw .invalidArgument("a database is a file; \(url.absoluteString) is none") }
        try self.init(at: url.path, mode: mode, entities: entities, options: options)
    }

    /// Opens or creates a database by name in the platform's directory for application data.
    ///
    /// ```swift
    /// let db = try Database(named: "people", entities: [Person.self])
    /// ```
    ///
    /// - Parameter name: a name without a directory; the file is `name.mako`.
    /// - Parameter mode: whether a sandbox takes the changes instead of the file.
    /// - Parameter entities: the types to bind at once; others are bound at their first use.
    /// - Parameter options: durability, memory, encryption and the like.
    /// - Throws: `MakoError.invalidArgument` for a name that is not a file name; otherwise as
    ///   ``init(at:mode:entities:options:)``.
    public convenience init(
        named name: String, mode: DatabaseMode = .normal, entities: [any Entity.Type] = [],
        options: DatabaseOptions = DatabaseOptions()
    ) throws(MakoError) {
        if name.isEmpty || name.contains("/") || name.hasPrefix(".") || name.utf8.contains(0) {
            throw .invalidArgument(
                "'\(name)' is not a file name; pass a name without '/' that does not begin with '.', or open a path by Database(at:)"
            )
        }
        let directory: URL
        do {
            directory = try FileManager.default.url(
                for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil, create: true)
        } catch {
            throw .invalidArgument(
                "there is no directory for the data of applications (\(error)); open a path by Database(at:)")
        }
        try self.init(
            at: directory.appendingPathComponent(name + ".mako").path, mode: mode, entities: entities, options: options)
    }

    /// Creates a database in memory. Its content is lost when it is released.
    public static func inMemory(
        entities: [any Entity.Type] = [], options: DatabaseOptions = DatabaseOptions()
    ) throws(MakoError) -> Database {
        let store = try storage { () throws(StorageError) in try Store.inMemory(options: options.storeOptions) }
        return try Database(path: Store.memoryPath, store: store, entities: entities, options: options)
    }

    private init(
        path: String, store: Store, entities: [any Entity.Type], options: DatabaseOptions, sandbox: Sandbox? = nil,
        file: String? = nil
    ) throws(MakoError) {
        self.path = path
        self.file = file
        self.sandbox = sandbox
        self.store = store
        pressure = CachePressure(store)
        let hasTurns = options.fileLocking == .perTransaction && sandbox == nil && path != Store.memoryPath
        turns = hasTurns ? FileTurns() : nil
        self.options = options
        if options.propertyKey != nil && !Encryption.isAvailable {
            throw .storage(.encryptionUnavailable(path: path))
        }
        let view = try storage { () throws(StorageError) in try store.snapshot() }
        let catalogue = try records { () throws(RecordError) in try Catalogue.load(view: view) }
        naming = try NamingAgreement(path, options.tableNaming, catalogue, view)
        let shown = VisibleCommits(view)
        lastNotified = Guarded(view.commitNumber)
        view.close()
        let schema = try SchemaState(catalogue: catalogue, models: [])
        state = Guarded(State(schemas: Schemas(schema), shown: shown))
        historyWriter = HistoryWriter(options.storage.entropy)
        number = DatabaseRegistry.nextNumber()
        DatabaseRegistry.register(self)
        let opening = turns.map { FileTurn(of: $0, self) }
        do throws(MakoError) {
            // First, so that the history includes the migrations of the types.
            try applyHistoryOption()
            try applyTableNaming()
            try prepare(entities.map { $0.entityModel })
        } catch {
            // Closing frees the file. Its error is dropped: the error of the preparation is thrown.
            do throws(MakoError) { try close() } catch {}
            throw error
        }
        opening?.end()
    }

    /// Binds the types, and migrates their tables where the file is written.
    func prepare(_ models: [EntityModel]) throws(MakoError) {
        if models.isEmpty { return }
        if options.readOnly {
            for model in models { _ = try moment(model) }
        } else {
            try writing { (transaction) throws(MakoError) in
                try transaction.bind(transaction.schema.missing(from: models))
            }
        }
    }

    deinit {
        // In the child of a fork, other threads' locks stay locked for ever.
        if isInherited { return }
        DatabaseRegistry.remove(number, path)
        takeAttachment()?.end()
        pressure.end()
        // `deinit` cannot throw; acknowledged commits are durable already.
        do throws(StorageError) { try store.close() } catch {}
        sandbox?.remove()
        if let file { OpenDatabases.closed(file, number) }
    }

    // async: writes, uncancelled
    /// Closes the database after its transactions have ended and its data is durable. Later calls throw
    /// `MakoError.closed`. A database that was opened several times is closed by the last of as many calls. Has no
    /// effect in the child of a fork, because the database is the parent's.
    ///
    /// - Throws: `MakoError.invalidArgument` for the last call inside a transaction of the database, or inside a hook:
    ///   the database stays open; `.storage` for I/O errors.
    public func close() throws(MakoError) {
        if isInherited { return }
        let isInside = isInTransaction
        let isLast: Bool? = state.withLock { state in
            if state.isClosed { return false }
            if isInside && state.holders == 1 { return nil }
            state.holders -= 1
            state.isClosed = state.holders == 0
            return state.isClosed
        }
        guard let isLast else { throw waitsForItsTransaction("close()") }
        if !isLast { return }
        takeAttachment()?.end()
        pressure.end()
        hub.finish()
        failures.finish()
        channels.stop(.closed(path: path))
        defer {
            sandbox?.remove()
            if let file { OpenDatabases.closed(file, number) }
        }
        try storage { () throws(StorageError) in try store.close() }
    }

    /// What ends with the database.
    package var attachment: (any DatabaseAttachment)? {
        get { attached.withLock { $0 } }
        set { attached.withLock { $0 = newValue } }
    }

    private func takeAttachment() -> (any DatabaseAttachment)? {
        attached.withLock { attachment in
            defer { attachment = nil }
            return attachment
        }
    }

    /// Counts another opening; false while the database is closing.
    func share() -> Bool {
        state.withLock { state in
            if state.isClosed { return false }
            state.holders += 1
            return true
        }
    }

    private var isInMemory: Bool { path == Store.memoryPath }

    // async: uncancelled
    /// Copies the latest commit to a new file, while readers and the writer continue. Also writes an in-memory database
    /// to a file.
    ///
    /// The copy is an independent database. It appears under its name only when it is complete and durable.
    ///
    /// ```swift
    /// try db.backup(to: "people-monday.mako")
    /// ```
    ///
    /// - Parameters:
    ///   - path: the new file, which must not exist.
    ///   - compacting: rewrites the content into the smallest file, which takes longer than a copy page by page.
    ///   - progress: called from time to time with the progress.
    /// - Returns: the number of the copied commit, and the size of the file.
    /// - Throws: `MakoError.storage` when a page is damaged, the disk is full or the file exists; `.invalidArgument` for
    ///   a path with a zero byte. The new file does not exist then.
    @discardableResult
    public func backup(
        to path: String, compacting: Bool = false, progress: (CopyProgress) -> Void = { _ in }
    ) throws(MakoError) -> CopyReport {
        try requireOpen()
        try Self.refuseZeroByte(in: path)
        let turn = try takeTurn()
        defer { turn?.end() }
        return try storage { () throws(StorageError) in
            // The file system of an in-memory database would keep the copy in memory too.
            if isInMemory {
                return try compacting
                    ? store.copy(to: path, on: options.storage.fileSystem, progress: progress)
                    : store.backup(to: path, on: options.storage.fileSystem, progress: progress)
            }
            return try compacting
                ? store.copy(to: path, progress: progress) : store.backup(to: path, progress: progress)
        }
    }

    // async
    /// Rewrites a database file that is not open into the smallest file.
    ///
    /// A crash leaves the old file or the new one. Needs disk space for both.
    ///
    /// - Throws: `MakoError.storage`; the database is unchanged then.
    @discardableResult
    public static func compact(
        at path: String, options: DatabaseOptions = DatabaseOptions(), progress: (CopyProgress) -> Void = { _ in }
    ) throws(MakoError) -> CopyReport {
        try storage { () throws(StorageError) in
            try Store.compact(at: path, options: options.storeOptions, progress: progress)
        }
    }

    // MARK: Encryption

    /// Whether all files of the database are encrypted.
    public var isEncrypted: Bool { store.isEncrypted }

    /// Changes the key that opens the database. The data is not rewritten, so the call is fast; after a crash either
    /// the old or the new key opens it.
    ///
    /// Earlier backups open with the old key. If the old key may be known to others, ``encrypt(at:with:options:)`` also
    /// replaces the key of the data.
    ///
    /// - Throws: `MakoError.storage` when the database is not encrypted, or the key is invalid.
    public func changeKey(to new: Encryption) throws(MakoError) {
        try requireOpen()
        let turn = try takeTurn()
        defer { turn?.end() }
        try storage { () throws(StorageError) in try store.changeKey(to: new) }
    }

    /// Rewrites a database file that is not open, encrypted with a new data key.
    ///
    /// ```swift
    /// try Database.encrypt(at: "people.mako", with: .passphrase("correct horse battery staple"))
    /// ```
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - encryption: the key that opens it afterwards; nil removes the encryption.
    ///   - options: the options that open it now.
    /// - Throws: `MakoError.storage`; the database is unchanged then.
    @discardableResult
    public static func encrypt(
        at path: String, with encryption: Encryption?, options: DatabaseOptions = DatabaseOptions()
    ) throws(MakoError) -> CopyReport {
        try storage { () throws(StorageError) in
            try Store.compact(at: path, options: options.storeOptions, encryption: encryption)
        }
    }

    /// The changes that opening and first uses made to the stored tables.
    public var migrations: [MigrationStep] { state.withLock { $0.migrations } }

    /// Counters since the database was opened.
    public var metrics: DatabaseMetrics {
        DatabaseMetrics(
            lazyLoads: metricsCounters.lazyLoads.withLock { $0 }, commits: metricsCounters.commits.withLock { $0 },
            liveQueries: hub.followerCount)
    }

    /// The stored schemas of all tables, with or without a type.
    public var tables: [EntitySchema] { schema.catalogue.tables }

    // MARK: - Internal

    /// The readers' schema, or an error when the database is closed, with one lock.
    var openSchema: SchemaState {
        get throws(MakoError) {
            if isInherited { throw .storage(.inherited(path: path)) }
            let (isClosed, schema) = state.withLock { ($0.isClosed, $0.schemas.published) }
            if isClosed { throw .closed(path: path) }
            return schema
        }
    }

    /// Whether this is the child of a fork, and the database was opened in its parent.
    var isInherited: Bool { generation != Forks.generation }

    var isOpen: Bool { !state.withLock { $0.isClosed } }

    func requireOpen() throws(MakoError) {
        if isInherited { throw .storage(.inherited(path: path)) }
        if state.withLock({ $0.isClosed }) { throw .closed(path: path) }
    }
}

/// The databases of this process by number. The references are weak: the registry does not keep a database alive.
enum DatabaseRegistry {
    /// A class, because copying a weak reference costs more than following a strong one.
    private final class Entry {
        weak var database: Database?
        init(_ database: Database) { self.database = database }
    }
    private static let entries = Guarded<[UInt32: Entry]>([:])
    private static let last = Guarded<UInt32>(0)
    /// The paths of released databases, for the errors of objects that outlive them.
    private static let released = Guarded<[UInt32: String]>([:])
    private static let mostReleased: UInt32 = 1024
    /// The number in values of rows that another program has, which no database has.
    static let foreign = UInt32.max

    static func nextNumber() -> UInt32 {
        last.withLock { number in
            number += 1
            return number
        }
    }
    static func register(_ database: Database) {
        entries.withLock { $0[database.number] = Entry(database) }
    }
    static func remove(_ number: UInt32, _ path: String) {
        entries.withLock { entries in _ = entries.removeValue(forKey: number) }
        released.withLock { paths in
            paths[number] = path
            // A number whose later one is not released yet stays, so that there are as many more as open databases.
            paths[number &- mostReleased] = nil
        }
    }
    /// The path of a database that was released; nil of one behind which many others were.
    static func path(ofReleased number: UInt32) -> String? { released.withLock { $0[number] } }
    static func database(_ number: UInt32) -> Database? { entries.withLock { $0[number]?.database } }
}
