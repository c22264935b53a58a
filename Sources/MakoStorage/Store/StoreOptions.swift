/// What a commit waits for.
public enum Durability: Sendable, Hashable {
    /// The commit survives a power failure once it returns: one write and one sync.
    case full
    /// The commit is ordered before all later writes on the device once it returns: it survives a crash of the process
    /// and of the system. After a power failure the newest commits may be missing, but never a commit before a
    /// surviving one.
    ///
    /// This is Apple's `F_BARRIERFSYNC`, SQLite's default there, and takes a fourth of the time of `full`,
    /// `F_FULLFSYNC` (`PRAGMA fullfsync`). On a system without barriers the commit is ``full``.
    case barrier
    /// The commit survives the end of the process once it returns. After a power failure or a crash of the system the
    /// newest commits may be missing, but never a commit before a surviving one.
    case ordered
    /// The commit does not wait, and is durable 100 milliseconds after it returned: ``async(maxDelay:)`` with that
    /// delay.
    case async
    /// The value of ``async(maxDelay:)``.
    case asyncWithin(Duration)

    /// The commit does not wait, and is durable after at most `maxDelay`, together with all commits before it. It is
    /// visible at once, or as soon as earlier commits are that still wait for the device. A crash of the process or the
    /// machine may lose the commits of that time, but never a commit before a surviving one.
    ///
    /// The store begins to write after half of the delay. A device that takes longer than the other half exceeds the
    /// delay.
    public static func async(maxDelay: Duration) -> Durability { .asyncWithin(maxDelay) }

    /// The delay in nanoseconds; nil for commits that wait.
    var maxDelay: UInt64? {
        switch self {
        case .full, .barrier, .ordered: nil
        case .async: 100_000_000
        case .asyncWithin(let delay): delay.nanoseconds
        }
    }
}

/// What drives flusher, checkpointer and evictor.
public enum BackgroundWork: Sendable, Hashable {
    /// Threads of the store.
    case threads
    /// The caller, through ``Store/step()``: for tests that need every step in a known order.
    case manual
}

/// The options for opening a store.
public struct StoreOptions: Sendable {
    /// The default durability of commits.
    public var durability: Durability = .full
    /// The cache budget in bytes. A store may be larger than its cache; it then reads from the file more often.
    /// ``Store/setCacheBytes(_:)`` changes the budget while the store is open.
    public var cacheBytes: Int = StoreOptions.defaultCacheBytes
    /// Whether the store is read-only. Another process may write it meanwhile, and ``Store/refresh()`` shows its
    /// commits.
    public var readOnly = false
    /// The memory in bytes of each sort, group, distinct or hash join operator of a query; what exceeds it goes to a
    /// temporary file. From 64 KiB to 1 GiB. Nil: a quarter of the cache budget, but at least 4 MiB.
    ///
    /// The file is created next to the database or, if that directory is not writable, in the system's directory for
    /// temporary files (`TMPDIR`, else `/tmp`), with mode 0600. Its name is removed before its first byte is written,
    /// and its blocks are encrypted if the database is. For a database in memory it is in memory too.
    public var queryMemoryBytes: Int? = nil
    /// The number of threads that may run one query, from 1, the caller's thread, to 64.
    ///
    /// With more than one, a count, an aggregate, a `GROUP BY`, or a `SELECT` without an order that reads more than
    /// 200,000 rows of a table in the order of its row ids starts more threads, which read parts of the table from the
    /// same snapshot and end with the query. The result is identical to the bit with any number of threads. The threads
    /// take processors from other work, and share the memory of the query.
    public var queryThreads: Int = 1
    /// What drives the background work.
    public var background: BackgroundWork = .threads
    /// The size of a log segment in bytes, for a new database. A transaction whose changes exceed a quarter of it, or a
    /// sixteenth of ``cacheBytes`` if that is less, commits by checkpoint instead of by log.
    public var logSegmentBytes: Int = 16 << 20
    /// The bytes of log after which a checkpoint begins in the background. It begins sooner if a quarter of the cache
    /// is dirty or, with a megabyte of log, if nothing was committed for two seconds, so that an idle database opens
    /// quickly after a crash.
    public var checkpointBytes: Int = 64 << 20
    /// The bytes of log segments that stay beside the data file, though recovery does not need them, until replication
    /// has shipped them; after a clean close too. They are removed if there is no room for another segment, but not if
    /// the data file cannot grow. 0: none; a commit that was not shipped in time is then shipped in an incremental
    /// backup.
    public var logArchiveBytes: Int = 0
    /// Whether to shrink the file in the background if much of it is free and nothing is written for a while. Each step
    /// is a commit without changes, with a commit number.
    public var shrinksWhenIdle = true
    /// The space in the data file, in bytes, that is reserved for deletions and checkpoints on a full disk. At most a
    /// sixteenth of a small file; at least a thousandth of a file above a gigabyte. With 0 there is no reserve, and a
    /// full disk may prevent deletions.
    public var diskReserveBytes: Int = 1 << 20
    /// The longest time to wait for other writers; nil for no limit.
    public var writerTimeout: Duration? = nil
    /// The largest age of a snapshot; nil for no limit. An older snapshot ends: its next read throws
    /// ``StorageError/snapshotExpired(limitSeconds:)``, and pages that only it could see are freed. Running reads,
    /// backups and copies are finished, whatever time they take. Checked in the background about ten times a second.
    public var snapshotAgeLimit: Duration? = nil
    /// Called with events for an operator: checkpoints, failures, expired snapshots, statistics. Calls are in the order
    /// of the events, by one thread at a time, usually the background thread. The handler should be fast, and may use
    /// the store. With the package traits `Logging` and `Metrics`, `logEvents(to:)` and `recordMetrics(in:)` set it.
    public var eventHandler: (@Sendable (StoreEvent) -> Void)? = nil
    /// The interval of ``StoreEvent/statistics(_:)`` events; nil for none. A read-only store has no background work and
    /// sends none.
    public var statisticsInterval: Duration? = nil
    /// The clock of the engine, for tests; nil for the system clock. With ``BackgroundWork/manual`` and no clock, each
    /// ``Store/step()`` flushes all pending commits at once.
    public var clock: (any Clock<Duration>)? = nil
    /// The encryption of the database; nil for an unencrypted one. See ``Encryption``.
    public var encryption: Encryption? = nil
    /// When the files are accessible on a device with a passcode: the data file, its log, and copies and backups made
    /// of it. Nil uses the default of the directory. Existing files get it when they are opened for writing. Only Apple
    /// platforms have protection classes.
    public var fileProtection: FileProtection? = nil
    /// Whether backups of an Apple system exclude these files; nil leaves that unchanged. No effect on other systems.
    public var isExcludedFromBackup: Bool? = nil
    /// The file system of the store's files.
    public var fileSystem: any FileSystem = POSIXFileSystem()
    /// The source of keys for ``encryption``; its output must be unpredictable.
    public var entropy: any Entropy = SystemEntropy()

    /// How long opening waits for another process that has the file open for writing.
    package var lockTimeout = Duration.zero
    /// Whether a follower's file may be opened for writing.
    var writesFollower = false
    /// Whether an empty file becomes a database.
    var createsInEmptyFile = true
    /// The unit of memory that is given back to the system, in bytes: the system page, or larger in a test.
    package var memoryUnitBytes = SystemMemory.pageBytes

    /// The number of rows above which a scan may be parallel; fewer in tests.
    package var parallelRows = 200_000
    /// The approximate number of rows of a part of a parallel scan.
    package var partRows = 16_384

    /// Creates the default options.
    public init() {}

    /// The default of ``cacheBytes``: an eighth of the memory that the process may use, at least 4 MiB and at most 256
    /// MiB; 4 MiB in an app extension.
    ///
    /// The available memory is that of the machine, on Linux the limit of its control groups if that is less, and on
    /// platforms that limit apps the rest of that limit. It is read once.
    public static var defaultCacheBytes: Int { MemoryShare.defaultBytes }

    /// The least memory of query operators by default.
    static let leastQueryMemory = 4 << 20

    /// Adds an event handler, which is called after the existing one.
    public mutating func addEventHandler(_ handler: @escaping @Sendable (StoreEvent) -> Void) {
        guard let first = eventHandler else {
            eventHandler = handler
            return
        }
        eventHandler = { event in
            first(event)
            handler(event)
        }
    }

    /// The file system for the store's files, with their attributes.
    var files: any FileSystem { withAttributes(fileSystem) }

    /// Returns a file system whose files get the attributes of these options.
    func withAttributes(_ fileSystem: any FileSystem) -> any FileSystem {
        let attributes = FileAttributes(protection: fileProtection, isExcludedFromBackup: isExcludedFromBackup)
        return attributes == FileAttributes() ? fileSystem : fileSystem.with(attributes)
    }

    /// The limit of a transaction's log payload, which is memory outside the cache: a sixteenth of the cache, but at
    /// least 256 KiB.
    var mostNotedBytes: Int { max(256 << 10, cacheBytes / 16) }

    /// The options for a store that the engine opens temporarily on behalf of another.
    var withoutEvents: StoreOptions {
        var options = self
        options.eventHandler = nil
        return options
    }
}
