import MakoStorage

/// How a database is opened.
public struct DatabaseOptions: Sendable {
    /// How sure a commit is when it returns, unless the transaction says otherwise.
    public var durability: Durability
    /// How much memory pages may take, in bytes: unless it is set, ``/MakoStorage/StoreOptions/defaultCacheBytes``.
    /// ``Database/setCacheBytes(_:)`` changes it while the database is open.
    public var cacheBytes: Int
    /// How much memory each sort, set of groups or different rows, and hash join of a query may take, in bytes; nil: a quarter of
    /// ``cacheBytes``, and 4 MiB at least. What it cannot hold waits in a temporary file; see `StoreOptions.queryMemoryBytes`, which this is.
    public var queryMemory: Int? {
        get { storage.queryMemoryBytes }
        set { storage.queryMemoryBytes = newValue }
    }
    /// How many threads may run one query over more than 200,000 rows; 1 unless it is set. See `StoreOptions.queryThreads`, which this is.
    public var queryThreads: Int {
        get { storage.queryThreads }
        set { storage.queryThreads = newValue }
    }
    /// Nothing can be written; nothing is migrated.
    public var readOnly: Bool
    /// Properties that left their type are removed with their values at open, instead of kept out of sight.
    public var dropsRetired: Bool
    /// How long to wait for the writer before this one; nil: for ever.
    public var writerTimeout: Duration?
    /// What the database is encrypted with; nil for one that is not, and is not to be. Needs the package trait `Encryption`.
    public var encryption: Encryption?
    /// What properties marked `.encrypted` are sealed with; without it they can be nil only. Needs the package trait `Encryption`.
    public var propertyKey: PropertyKey?
    /// What the tables of types are called that name none themselves, by `@Entity("name")`; nil: as the types.
    ///
    /// A new file remembers it. Opened with another naming it has all that it has, but each use of a type that names no table throws
    /// `MakoError.tableNaming`: no table is made anew beside one that is there. A table that `@Entity` calls as its type is called counts as not
    /// named. Where texts name tables (`rawQuery`, `IN (SELECT … FROM small_person)`, joins) they are called as they are stored. A type has one
    /// table's name in a process. Two types that would get the same one throw `MakoError.migration`.
    public var tableNaming: TableNaming?
    /// Queries that take longer are told to ``onSlowQuery``; nil: none.
    public var slowQueryThreshold: Duration?
    /// Called on the thread of a slow query, when it is done.
    public var onSlowQuery: (@Sendable (SlowQuery) -> Void)?
    /// Whether what commits change is kept, for ``Database/changes(since:)``.
    public var history: HistoryOption = .asInFile
    /// Told now and then how far a migration has come whose rows must be written anew, on the thread that opens the database.
    public var onMigration: (@Sendable (MigrationProgress) -> Void)?
    /// Everything else of the engine.
    public var storage: StoreOptions

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

    /// When the files can be read and written on a device with a passcode; see `StoreOptions.fileProtection`, which this is.
    public var fileProtection: FileProtection? {
        get { storage.fileProtection }
        set { storage.fileProtection = newValue }
    }

    /// Whether the backups that an Apple system makes leave the files out; see `StoreOptions.isExcludedFromBackup`, which this is.
    public var isExcludedFromBackup: Bool? {
        get { storage.isExcludedFromBackup }
        set { storage.isExcludedFromBackup = newValue }
    }

    var storeOptions: StoreOptions {
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
    public let entity: String
    /// How it was run, as `explain()` says it.
    public let plan: String
    /// From the plan to the last row.
    public let duration: Duration
}

/// What opening a database, or the first use of a type, changed in the stored tables.
public struct MigrationStep: Sendable, Hashable, CustomStringConvertible {
    public let entity: String
    public let description: String
}

/// Counts of one database since it was opened.
public struct DatabaseMetrics: Sendable, Hashable {
    /// Relationships that were loaded one by one; many of them in a loop call for a query or a prefetch.
    public var lazyLoads: Int
    /// Transactions that were committed.
    public var commits: Int
    /// Iterations of live queries that go on.
    public var liveQueries: Int
}

struct MetricsCounters: Sendable {
    let lazyLoads = Protected(0)
    let commits = Protected(0)
}
