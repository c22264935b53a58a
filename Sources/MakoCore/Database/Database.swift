import Dispatch
import Foundation
import MakoRecords
import MakoStorage

/// A database: a file, or memory, with the objects in it.
///
/// ```swift
/// let db = try Database(at: "people.mako", entities: [Person.self, Department.self])
/// Database.default = db
/// try Person(name: "Ada", age: 36).commit()
/// let people = try Person.query().where("age > \(30)").orderBy("name").fetch()
/// ```
///
/// It may be used from any thread. Readers never wait; writers wait for the writer before them.
public final class Database: MadeElsewhere, Sendable {
    /// The file's path, or `:memory:`.
    public let path: String
    /// The store below: statistics, checkpoints, verification.
    public let store: Store
    let pressure: CachePressure
    public let options: DatabaseOptions

    /// The number by which objects name their database.
    @usableFromInline let number: UInt32
    private let generation = Forks.generation
    private let sandbox: Sandbox?
    /// The name of its file among those that are open in this process; nil when others cannot share it.
    private let file: String?
    let hub = EventHub()
    let failures = FailureHub()
    let transactionWatchers = TransactionWatchers()
    let metricsCounters = MetricsCounters()
    /// Those between the threads that find rows and their consumers.
    let channels = RowChannels<[StoredValue], MakoError>()
    let historyWriter: HistoryWriter
    let naming: NamingAgreement
    /// The cipher of the encrypted properties, since it was first needed.
    let knownCipher = Protected<ValueCipher?>(nil)
    let writerQueue = DispatchQueue(label: "mako.writer")
    let readerQueue = DispatchQueue(label: "mako.readers", attributes: .concurrent)

    struct State {
        /// What readers use: the tables of the newest published commit.
        var schema: SchemaState
        /// What the next writer starts with: it may be ahead of the readers' while a commit is on its way to the disk.
        var writerSchema: SchemaState
        var isClosed = false
        /// How often it was opened, and not closed since.
        var holders = 1
        var migrations: [MigrationStep] = []
        /// Of a database that is only read: the commits that have the tables of `schema`.
        var shown: ShownCommits
        /// The number of the latest state of the tables.
        var lastVersion = 0
    }
    let state: Protected<State>
    /// The commit that watchers of a database that is only read know of. One refresh at a time.
    let lastTold: Protected<UInt64>

    /// Opens a database file, or creates it, and brings the stored tables in line with the given types.
    ///
    /// A file is open once in a process: who opens it again, with the same options, gets the same database, which is closed when it was closed as
    /// often as it was opened. Reading only and sandboxes are apart from that.
    ///
    /// - Parameters:
    ///   - path: the file, relative to the working directory.
    ///   - mode: `.sandbox` for a copy to try things on, which leaves the file itself alone.
    ///   - entities: the types to migrate now; those they refer to come along. Other types are migrated at first use.
    /// - Throws: `MakoError.storage` when the file cannot be opened, `.alreadyOpen` when it is open with other options, among which handlers and
    ///   keys count as others, or written elsewhere, `.migration` when a table cannot be brought in line.
    public convenience init(
        at path: String, mode: DatabaseMode = .normal, entities: [any Entity.Type] = [],
        options: DatabaseOptions = DatabaseOptions()
    ) throws(MakoError) {
        if mode == .sandbox {
            let sandbox = try Sandbox(copying: path, options)
            let store = try Self.store(at: sandbox.path, options)
            try self.init(path: path, store: store, entities: entities, options: options, sandbox: sandbox)
        } else if options.isNoted {
            let found = try OpenDatabases.database(at: path, options) { (file) throws(MakoError) in
                let store = try Self.store(at: path, options)
                return try Database(path: path, store: store, entities: entities, options: options, file: file)
            }
            self.init(taking: found.database)
            guard found.isShared else { return }
            do throws(MakoError) { try prepare(entities.map { $0.entityModel }) } catch {
                // What this opening added, it takes back.
                do throws(MakoError) { try close() } catch {}
                throw error
            }
        } else {
            let store = try Self.store(at: path, options)
            try self.init(path: path, store: store, entities: entities, options: options)
        }
    }

    private static func store(at path: String, _ options: DatabaseOptions) throws(MakoError) -> Store {
        try storage { () throws(StorageError) in try Store(at: path, options: options.storeOptions) }
    }

    /// Opens a database file by its URL, or creates it; as ``init(at:mode:entities:options:)-(String,_,_,_)``.
    ///
    /// ```swift
    /// let db = try Database(at: folder.appendingPathComponent("people.mako"), entities: [Person.self])
    /// ```
    ///
    /// - Throws: `MakoError.invalidArgument` for the URL of something else than a file.
    public convenience init(
        at url: URL, mode: DatabaseMode = .normal, entities: [any Entity.Type] = [],
        options: DatabaseOptions = DatabaseOptions()
    ) throws(MakoError) {
        guard url.isFileURL else { throw .invalidArgument("a database is a file; \(url.absoluteString) is none") }
        try self.init(at: url.path, mode: mode, entities: entities, options: options)
    }

    /// Opens a database by its name in the platform's directory for data of applications, or creates it there.
    ///
    /// ```swift
    /// let db = try Database(named: "people", entities: [Person.self])
    /// ```
    ///
    /// - Parameter name: a name without a directory; the file's is it with `.mako` behind.
    /// - Throws: `MakoError.unsupported` for a name that leads elsewhere; else as ``init(at:mode:entities:options:)``.
    public convenience init(
        named name: String, mode: DatabaseMode = .normal, entities: [any Entity.Type] = [],
        options: DatabaseOptions = DatabaseOptions()
    ) throws(MakoError) {
        if name.isEmpty || name.contains("/") || name.hasPrefix(".") {
            throw .unsupported("a database named '\(name)', which is no plain file name,")
        }
        let directory: URL
        do {
            directory = try FileManager.default.url(
                for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil, create: true)
        } catch {
            throw .unsupported("a database by name: there is no directory for data of applications (\(error)), which")
        }
        try self.init(
            at: directory.appendingPathComponent(name + ".mako").path, mode: mode, entities: entities, options: options)
    }

    /// A database in memory, gone when nobody holds it any more.
    public static func inMemory(
        entities: [any Entity.Type] = [], options: DatabaseOptions = DatabaseOptions()
    ) throws(MakoError) -> Database {
        let store = try storage { () throws(StorageError) in try Store.inMemory(options: options.storeOptions) }
        return try Database(path: memoryPath, store: store, entities: entities, options: options)
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
        self.options = options
        if options.propertyKey != nil && !Encryption.isAvailable {
            throw .storage(.encryptionUnavailable(path: path))
        }
        let view = try storage { () throws(StorageError) in try store.snapshot() }
        let catalogue = try records { () throws(RecordError) in try Catalogue.load(view: view) }
        naming = try NamingAgreement(path, options.tableNaming, catalogue, view)
        let shown = ShownCommits(view)
        lastTold = Protected(view.commitNumber)
        view.close()
        let schema = try SchemaState(catalogue: catalogue, models: [])
        state = Protected(State(schema: schema, writerSchema: schema, shown: shown))
        historyWriter = HistoryWriter(options.storage.entropy)
        number = DatabaseRegistry.nextNumber()
        DatabaseRegistry.register(self)
        do throws(MakoError) {
            // First, so that what the types bring about is in it.
            try applyHistoryOption()
            try applyTableNaming()
            try prepare(entities.map { $0.entityModel })
        } catch {
            // The file must be free again; why it could not be prepared is the error that counts.
            do throws(MakoError) { try close() } catch {}
            throw error
        }
    }

    private func prepare(_ models: [EntityModel]) throws(MakoError) {
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
        // Locks may be held here that no thread of a fork's child gives up.
        if isInherited { return }
        DatabaseRegistry.remove(number)
        pressure.end()
        // Nobody is left to tell an error to; what was acknowledged is durable already.
        do throws(StorageError) { try store.close() } catch {}
        sandbox?.remove()
        if let file { OpenDatabases.closed(file, number) }
    }

    /// Closes the database: transactions end, everything is on disk. Later calls throw `MakoError.closed`. One that was opened several times
    /// is closed by the last of as many calls. In the child of a fork nothing is done: the database is the parent's.
    public func close() throws(MakoError) {
        if isInherited { return }
        let isLast = state.with { state in
            if state.isClosed { return false }
            state.holders -= 1
            state.isClosed = state.holders == 0
            return state.isClosed
        }
        if !isLast { return }
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

    /// Notes that it was opened once more; false: it is being closed.
    func share() -> Bool {
        state.with { state in
            if state.isClosed { return false }
            state.holders += 1
            return true
        }
    }

    /// The async form of `close()`.
    public func close() async throws(MakoError) {
        try await onOwnThread(writes: true, isCancellable: false) { () throws(MakoError) in try self.close() }
    }

    private static let memoryPath = ":memory:"
    private var isInMemory: Bool { path == Self.memoryPath }

    /// Copies the latest commit into a new file, while everybody goes on reading and writing. A database in memory gets a file by it.
    ///
    /// The copy is a database of its own and appears under its name only when it is whole and durable.
    ///
    /// ```swift
    /// try db.backup(to: "people-monday.mako")
    /// ```
    ///
    /// - Parameters:
    ///   - path: where nothing must be yet.
    ///   - compacting: writes the copy anew in the smallest form, which takes longer than page by page.
    ///   - progress: told from time to time how far it has come.
    /// - Throws: `MakoError.storage` when a page is damaged, the disk full or the place taken; no file is left then.
    @discardableResult
    public func backup(
        to path: String, compacting: Bool = false, progress: (CopyProgress) -> Void = { _ in }
    ) throws(MakoError) -> CopyReport {
        try requireOpen()
        return try storage { () throws(StorageError) in
            // Not into the memory of a database in memory, where nobody would find it.
            if isInMemory {
                return try compacting
                    ? store.copy(to: path, on: options.storage.fileSystem, progress: progress)
                    : store.backup(to: path, on: options.storage.fileSystem, progress: progress)
            }
            return try compacting
                ? store.copy(to: path, progress: progress) : store.backup(to: path, progress: progress)
        }
    }

    /// Rewrites a database file that nobody has open, in the smallest form.
    ///
    /// A crash leaves the file as it was or as it will be. Needs room for both.
    ///
    /// - Throws: `MakoError.storage`; the database is as it was then.
    @discardableResult
    public static func compact(
        at path: String, options: DatabaseOptions = DatabaseOptions(), progress: (CopyProgress) -> Void = { _ in }
    ) throws(MakoError) -> CopyReport {
        try storage { () throws(StorageError) in
            try Store.compact(at: path, options: options.storeOptions, progress: progress)
        }
    }

    // MARK: Encryption

    /// Whether everything in the database's files is encrypted.
    public var isEncrypted: Bool { store.isEncrypted }

    /// Sets what the database opens with from now on. The data stays as it is, so this takes a moment; a crash leaves the old key or the new.
    ///
    /// Backups that were made before open with the old key. Whoever may know that can be kept from data to come by ``encrypt(at:with:options:)``.
    ///
    /// - Throws: `MakoError.storage`: the database is not encrypted, or this is no key.
    public func changeKey(to new: Encryption) throws(MakoError) {
        try requireOpen()
        try storage { () throws(StorageError) in try store.changeKey(to: new) }
    }

    /// Rewrites a database file that nobody has open, encrypted under a key of its own for its data.
    ///
    /// ```swift
    /// try Database.encrypt(at: "people.mako", with: .passphrase("correct horse battery staple"))
    /// ```
    ///
    /// - Parameters:
    ///   - encryption: what it opens with afterwards; nil: anybody can read it.
    ///   - options: how to open it as it is.
    /// - Throws: `MakoError.storage`; the database is as it was then.
    @discardableResult
    public static func encrypt(
        at path: String, with encryption: Encryption?, options: DatabaseOptions = DatabaseOptions()
    ) throws(MakoError) -> CopyReport {
        try storage { () throws(StorageError) in
            try Store.compact(at: path, options: options.storeOptions, encryption: encryption)
        }
    }

    /// What opening and first uses changed in the stored tables.
    public var migrations: [MigrationStep] { state.with { $0.migrations } }

    public var metrics: DatabaseMetrics {
        DatabaseMetrics(
            lazyLoads: metricsCounters.lazyLoads.with { $0 }, commits: metricsCounters.commits.with { $0 },
            liveQueries: hub.followerCount)
    }

    /// The stored schema of every table, types or not.
    public var tables: [EntitySchema] { schema.catalogue.tables }

    // MARK: - For the room itself

    var schema: SchemaState { state.with { $0.schema } }

    /// The same of one that is not closed, in one look.
    var openSchema: SchemaState {
        get throws(MakoError) {
            if isInherited { throw .storage(.inherited(path: path)) }
            let (isClosed, schema) = state.with { ($0.isClosed, $0.schema) }
            if isClosed { throw .closed(path: path) }
            return schema
        }
    }

    /// Whether this is the child of a fork, and its parent has opened the database.
    var isInherited: Bool { generation != Forks.generation }

    func requireOpen() throws(MakoError) {
        if isInherited { throw .storage(.inherited(path: path)) }
        if state.with({ $0.isClosed }) { throw .closed(path: path) }
    }

    var writerSchema: SchemaState {
        get { state.with { $0.writerSchema } }
        set { state.with { $0.writerSchema = newValue } }
    }

    func publish(_ schema: SchemaState, _ steps: [MigrationStep]) {
        state.with { state in
            if schema.version > state.schema.version { state.schema = schema }
            state.migrations += steps
        }
    }

    /// The tables of a database that is written, as readers see them, with a type among them. Its first use migrates its table and those of the
    /// types it refers to.
    func bound(_ model: EntityModel) throws(MakoError) -> SchemaState {
        let known = schema
        if known.binding(model) != nil { return known }
        try requireOpen()
        _ = try writing { (transaction) throws(MakoError) in try transaction.binding(model) }
        // Another thread may have migrated first, its commit being on its way to the disk: readers wait for that.
        while schema.binding(model) == nil, writerSchema.binding(model) != nil { Thread.sleep(forTimeInterval: 0.0005) }
        let bound = schema
        if bound.binding(model) != nil { return bound }
        throw .migration(entity: model.name, reason: "its table could not be made; try again")
    }
}

/// The databases of this process by number. Weak: a database lives as long as somebody holds it.
enum DatabaseRegistry {
    /// A class: a weak reference costs more to copy than to follow.
    private final class Entry {
        weak var database: Database?
        init(_ database: Database) { self.database = database }
    }
    private static let entries = Protected<[UInt32: Entry]>([:])
    private static let last = Protected<UInt32>(0)

    static func nextNumber() -> UInt32 {
        last.with { number in
            number += 1
            return number
        }
    }
    static func register(_ database: Database) {
        entries.with { $0[database.number] = Entry(database) }
    }
    static func remove(_ number: UInt32) {
        entries.with { entries in _ = entries.removeValue(forKey: number) }
    }
    static func database(_ number: UInt32) -> Database? { entries.with { $0[number]?.database } }
}
