import MakoStorage

/// Options for opening a database.
public struct DatabaseOptions: Sendable {
    /// The default durability of commits, which a transaction can override.
    public var durability: Durability
    /// The memory budget for pages, in bytes; by default ``/MakoStorage/StoreOptions/defaultCacheBytes``.
    /// ``Database/setCacheBytes(_:)`` changes it while the database is open.
    public var cacheBytes: Int
    /// The memory of each sort, grouping, DISTINCT and hash join of a query, in bytes; nil: a quarter of
    /// ``cacheBytes``, at least 4 MiB. Larger intermediate results spill to a temporary file. The same as
    /// `StoreOptions.queryMemoryBytes`.
    public var queryMemory: Int? {
        get { storage.queryMemoryBytes }
        set { storage.queryMemoryBytes = newValue }
    }
    /// The number of threads for one query over more than 200,000 rows; 1 by default. The same as
    /// `StoreOptions.queryThreads`.
    public var queryThreads: Int {
        get { storage.queryThreads }
        set { storage.queryThreads = newValue }
    }
    /// Opens without writing and without migrating.
    public var readOnly: Bool
    /// Removes retired columns with their values at open; by default their values stay in the file.
    public var dropsRetired: Bool
    /// When the file is locked; another choice is for files that several processes use by turns.
    public var fileLocking = FileLocking.whileOpen
    /// How long a writer waits for the writer lock; nil: without limit. With ``FileLocking/perTransaction`` also how long
    /// opening, reads and writes wait for another process.
    public var writerTimeout: Duration?
    /// The encryption of the files; nil: the database is not encrypted. Needs the package trait `Encryption`.
    public var encryption: Encryption?
    /// The key of properties marked `.encrypted`; without it they can only be nil. Needs the package trait
    /// `Encryption`.
    public var propertyKey: PropertyKey?
    /// The naming of tables of types without a name in `@Entity("name")`; nil: the table has the type's name.
    ///
    /// A new file stores the naming. When it is opened with another naming, each use of a type that names no table
    /// throws `MakoError.tableNaming`, so that no second table is created beside an existing one. A table that
    /// `@Entity` gives the type's own name counts as not named. SQL text uses the stored names (`rawQuery`, `IN (SELECT
    /// … FROM small_person)`, joins). A type has one table name per process. Two types with the same table name throw
    /// `MakoError.migration`.
    public var tableNaming: TableNaming?
    /// Queries that take longer are passed to ``onSlowQuery``; nil: none.
    public var slowQueryThreshold: Duration?
    /// Called at the end of a slow query, on its thread.
    public var onSlowQuery: (@Sendable (SlowQuery) -> Void)?
    /// Whether commits are recorded for ``Database/changes(since:)``.
    public var history: HistoryOption = .asInFile
    /// Called from time to time with the progress of a migration that rewrites rows, on the thread that opens the
    /// database.
    public var onMigration: (@Sendable (MigrationProgress) -> Void)?
    /// The other options of the storage engine.
    public var storage: StoreOptions

    /// Creates options; each parameter is the property of its name.
    public init(
        durability: Durability = .full, cacheBytes: Int = StoreOptions.defaultCacheBytes, readOnly: Bool = false,
        dropsRetired: Bool = false,
        writerTimeout: Duration? = nil, encryption: Encryption? = nil, propertyKey: PropertyKey? = nil,
        tableNaming: TableNaming? = nil, storage: StoreOptions = StoreOptions()
    ) {
        self.tableNaming = tableNaming
        self.propertyKey = propertyKey
        self.durability = durability
        self.cacheBytes = cacheBytes
        self.readOnly = readOnly
        self.dropsRetired = dropsRetired
        self.writerTimeout = writerTimeout
        self.encryption = encryption
        self.storage = storage
    }

    /// The data protection class of the files on a device with a passcode. The same as `StoreOptions.fileProtection`.
    public var fileProtection: FileProtection? {
        get { storage.fileProtection }
        set { storage.fileProtection = newValue }
    }

    /// Whether the system's backups exclude the files, on Apple systems. The same as
    /// `StoreOptions.isExcludedFromBackup`.
    public var isExcludedFromBackup: Bool? {
        get { storage.isExcludedFromBackup }
        set { storage.isExcludedFromBackup = newValue }
    }

    package var storeOptions: StoreOptions {
        var options = storage
        options.durability = durability
        options.cacheBytes = cacheBytes
        options.readOnly = readOnly
        options.writerTimeout = writerTimeout
        options.encryption = encryption ?? storage.encryption
        return options
    }
}

/// A query that took longer than ``DatabaseOptions/slowQueryThreshold``.
public struct SlowQuery: Sendable {
    /// The name of the entity.
    public let entity: String
    /// The plan, as `explain()` prints it.
    public let plan: String
    /// The time from planning to the last row.
    public let duration: Duration
}

/// A change that opening a database, or the first use of a type, made to the stored tables.
public struct MigrationStep: Sendable, Hashable, CustomStringConvertible {
    /// The name of the table.
    public let entity: String
    /// The change, as text.
    public let description: String
}

/// Counters of one database since it was opened.
public struct DatabaseMetrics: Sendable, Hashable {
    /// Relationships loaded one at a time. A high number in a loop suggests a query or a prefetch.
    public var lazyLoads: Int
    /// Committed transactions.
    public var commits: Int
    /// Active iterations of live queries.
    public var liveQueries: Int
}

struct MetricsCounters: Sendable {
    let lazyLoads = Guarded(0)
    let commits = Guarded(0)
}
