/// What a commit waits for.
public enum Durability: Sendable, Hashable {
    /// The commit survives a power cut once it returns: one write and one sync to the device.
    case full
    /// The commit is on its way through the device once it returns, and nothing that is written later can overtake it: it survives the end
    /// of the process and of the system. After a power cut the newest commits may be missing, never an older one without the newer.
    ///
    /// This is Apple's `F_BARRIERFSYNC`, what SQLite does there by default and a fourth of the time of `full`, `F_FULLFSYNC`
    /// (`PRAGMA fullfsync`). Where the system has no barriers the commit is ``full``.
    case barrier
    /// The commit survives the end of the process once it returns. After a power cut or a crash of the system the newest commits may be
    /// missing, never an older one without the newer.
    case ordered
    /// The commit waits for nothing, and is durable 100 milliseconds after it returned: ``async(maxDelay:)`` with that delay.
    case async
    /// What ``async(maxDelay:)`` makes.
    case asyncWithin(Duration)

    /// The commit waits for nothing, and is durable after `maxDelay` at the latest, together with all before it. It is visible at once, or
    /// as soon as the commits before it are, where those still wait for the device. A crash of the process or the machine may
    /// take back the commits of that time, never an older one without the newer.
    ///
    /// The store begins to write after half of the delay. What a device takes longer than the other half comes on top.
    public static func async(maxDelay: Duration) -> Durability { .asyncWithin(maxDelay) }

    /// In nanoseconds; nil for commits that wait themselves.
    var maxDelay: UInt64? {
        switch self {
        case .full, .barrier, .ordered: nil
        case .async: 100_000_000
        case .asyncWithin(let delay): delay.nanoseconds
        }
    }
}

/// Who drives flusher, checkpointer and evictor.
public enum BackgroundWork: Sendable, Hashable {
    /// The store's own threads.
    case threads
    /// The caller, through ``Store/step()``: for tests that need every step in a known order.
    case manual
}

/// How a store is opened.
public struct StoreOptions: Sendable {
    /// What commits wait for unless they say otherwise.
    public var durability: Durability = .full
    /// Memory for pages, in bytes. A store larger than this works; it reads from the file more often. ``Store/setCacheBytes(_:)`` changes
    /// it while the store is open.
    public var cacheBytes: Int = StoreOptions.defaultCacheBytes
    /// Whether the store is only read. Another process may be writing it then, and ``Store/refresh()`` follows what it commits.
    public var readOnly = false
    /// Memory, in bytes, that each sort, set of groups or of different rows, and hash join of a query may hold; what it cannot hold waits in a
    /// temporary file. 64 KiB at least and 1 GiB at most. Nil: a quarter of the memory for pages, and 4 MiB at least.
    ///
    /// The file is made beside the database, where that directory cannot be written to in the system's directory for temporary files
    /// (`TMPDIR`, else `/tmp`), with mode 0600. It loses its name before its first byte, and its blocks are encrypted when the database is.
    /// A database in memory has it in memory.
    public var queryMemoryBytes: Int? = nil
    /// How many threads may run one query: 1, its caller's, unless it is set, and 64 at most.
    ///
    /// With more, a count, an aggregate, a `GROUP BY` or a `SELECT` without an order that reads more than 200,000 rows of a table with row ids in
    /// their order starts the others, which read parts of the table on the same snapshot and end with the query. Its result is the same to the
    /// bit at any number of threads. The others take processors from whatever else runs, and the memory of a query is shared between them.
    public var queryThreads: Int = 1
    public var background: BackgroundWork = .threads
    /// The size of a log segment in bytes; counts when a database is created. A transaction with more than a
    /// quarter of it in changes, or a sixteenth of ``cacheBytes`` where that is less, commits by checkpoint instead of by log.
    public var logSegmentBytes: Int = 16 << 20
    /// Log bytes after which a checkpoint begins in the background. It begins sooner when a quarter of the memory for pages waits to be
    /// written, and, with a megabyte of log, when nothing was committed for two seconds: so an idle database opens quickly after a crash.
    public var checkpointBytes: Int = 64 << 20
    /// Bytes of log segments that no recovery needs and that stay beside the data file until replication has shipped them, after a clean close
    /// too. They go where there is no room for another segment, not where the data file cannot grow. 0: none, and what replication has not shipped
    /// in time it ships as an incremental backup.
    public var logArchiveBytes: Int = 0
    /// Whether the file is made shorter in the background when much of it is free and nothing is written for a while. Such a step is a
    /// commit without changes: it has a number like any other.
    public var shrinksWhenIdle = true
    /// Room in the data file, in bytes, that is left to deletions and checkpoints when the disk is full. Of a small file it is a sixteenth, of
    /// one of more than a gigabyte a thousandth if that is more. 0: none, and a full disk may leave no way to delete anything.
    public var diskReserveBytes: Int = 1 << 20
    /// How long to wait for the writer before; nil for ever.
    public var writerTimeout: Duration? = nil
    /// How old a snapshot may become; nil for any age. An older one ends: its next read throws
    /// ``StorageError/snapshotExpired(limitSeconds:)``, and what only it could see is free. Reads that have begun are finished, and so are
    /// backups and copies, whatever time they take. Looked after in the background, about ten times a second.
    public var snapshotAgeLimit: Duration? = nil
    /// Is told what an operator would want to know: checkpoints, failures, old snapshots that were ended, numbers. Called in the order of the
    /// events by one thread at a time, mostly the store's own: it should be quick, and may use the store. With the package's traits
    /// `Logging` and `Metrics`, `logEvents(to:)` and `recordMetrics(in:)` set it.
    public var eventHandler: (@Sendable (StoreEvent) -> Void)? = nil
    /// How often ``eventHandler`` gets ``StoreEvent/statistics(_:)``; nil: never. A store that only reads works in no background and tells none.
    public var statisticsInterval: Duration? = nil
    /// What the engine reads the time from: a clock of a test's own, or nil for the system's. With ``BackgroundWork/manual`` and no such
    /// clock no commit waits for its time: each ``Store/step()`` writes what there is.
    public var clock: (any Clock<Duration>)? = nil
    /// What the database is encrypted with. Nil for one that is not, and is not to be. See ``Encryption``.
    public var encryption: Encryption? = nil
    /// When the files can be read and written on a device with a passcode: the data file, its log, and copies and backups made of it. Nil
    /// leaves that to the directory. Files that are there get it when they are opened for writing. Apple systems alone have such classes.
    public var fileProtection: FileProtection? = nil
    /// Whether the backups that an Apple system makes leave these files out; nil leaves that as it is. On other systems nothing happens.
    public var isExcludedFromBackup: Bool? = nil
    public var fileSystem: any FileSystem = POSIXFileSystem()
    /// With ``encryption``, keys come from here: nobody may be able to guess what it gives.
    public var entropy: any Entropy = SystemEntropy()

    /// Whether an empty file becomes a database.
    var createsInEmptyFile = true
    /// The unit in which memory goes back to the system, in bytes: the system's page, unless a test wants a larger one.
    var memoryUnitBytes = SystemMemory.pageBytes

    /// A scan of more rows may be read in parts, unless a test wants fewer.
    package var parallelRows = 200_000
    /// About so many rows are one part of it.
    package var partRows = 16_384

    public init() {}

    /// What ``cacheBytes`` is unless it is set, in bytes: an eighth of the memory that the process may have, 4 MiB at least and 256 MiB at
    /// most; in an extension of an app 4 MiB.
    ///
    /// The memory that a process may have is the machine's, on Linux the limit of its control groups if that is less, and where apps have a
    /// limit what is left of it. It is looked up once.
    public static var defaultCacheBytes: Int { MemoryShare.defaultBytes }

    /// The least that operations of queries have in memory unless ``queryMemoryBytes`` says otherwise.
    static let leastQueryMemory = 4 << 20

    /// Has a handler told of events as well, after the one that is there.
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

    /// The files that the store makes and opens.
    var files: any FileSystem { withAttributes(fileSystem) }

    /// Files that are given what these options ask for.
    func withAttributes(_ fileSystem: any FileSystem) -> any FileSystem {
        let attributes = FileAttributes(protection: fileProtection, isExcludedFromBackup: isExcludedFromBackup)
        return attributes == FileAttributes() ? fileSystem : fileSystem.with(attributes)
    }

    /// What a transaction notes for the log is memory beside that for pages: it takes at most a sixteenth as much, or 256 KiB.
    var mostNotedBytes: Int { max(256 << 10, cacheBytes / 16) }

    /// For a store that the engine opens for a while on behalf of another.
    var withoutEvents: StoreOptions {
        var options = self
        options.eventHandler = nil
        return options
    }
}
