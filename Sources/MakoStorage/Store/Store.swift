import Synchronization

/// An ordered key-value store with transactions, in one file and a log beside it.
///
/// Any number of threads read consistent snapshots without locks while one thread at a time writes. A commit is
/// durable when it returns, unless the options say otherwise, and after a crash the store opens with exactly the
/// commits that were acknowledged.
///
/// ```swift
/// let store = try Store(at: "events.mako")
/// try store.write { transaction in
///     let log = try transaction.createTree(named: "log", keys: .integer)
///     try transaction.put(Array("started".utf8), for: 1, in: log)
/// }
/// let snapshot = try store.snapshot()
/// ```
///
/// Copy-on-write pages with a logical redo log and checkpoints; `docs/architecture.md` has the design.
public final class Store: @unchecked Sendable {
    /// The data file's path: where a symbolic link led, if it was opened by one.
    public let path: String
    /// The directory of the files; nil in a store that only reads. Open all the time: to sync it must not take a descriptor that is not there.
    private let directory: (any FileDirectory)?
    /// That of the process that opened the store.
    private let generation = Forks.generation
    let options: StoreOptions
    let frames: FrameStore
    let dataFile: DataFile
    let snapshots = SnapshotRegistry()
    let compression = CompressionTally()
    let turn = WriterTurn()
    /// For the async forms. Writers mostly wait for the device, together.
    let writerThreads = WorkerThreads(limit: 64)
    let readerThreads = WorkerThreads(limit: 16)

    // Serials: the next one, and the limit that the header vouches for.
    let serial: Atomic<UInt64>
    let ceiling: Atomic<UInt64>
    let headerLock = Lock()
    /// What the database opens with. Guarded by `headerLock`.
    @exclusivity(unchecked) var encryption: Encryption?
    /// The `FormatFeatures` that the header names.
    let features: Atomic<UInt64>

    /// The version that new snapshots get, as the address of a `Version` in `versions`.
    let published: Atomic<UInt>

    // What the locks below guard goes without dynamic exclusivity checks: together they were a seventh of a commit.

    // Guarded by `spaceLock`: space, versions, and what changed since the last checkpoint.
    let spaceLock = Lock()
    let space: SpaceMap
    @exclusivity(unchecked) var versions: [Version] = []
    @exclusivity(unchecked) var retiredVersions: [Version] = []
    @exclusivity(unchecked) var dyingVersions: (epoch: UInt64, versions: [Version])?
    /// Pages of published commits that may not be in the data file yet.
    @exclusivity(unchecked) var dirtyPages = PageBitmaps()

    /// What the data file has room for; see DiskReserve.swift.
    @exclusivity(unchecked) var room: FileRoom {
        didSet { lacksRoom.store(room.isShort, ordering: .relaxed) }
    }
    /// Whether it is short of room: for those who only ask.
    let lacksRoom = Atomic<Bool>(false)

    // Guarded by `commitLock`: the log, and the commits on their way to publication.
    let commitLock = Lock()
    let flushed = ConditionVariable()
    let log: Log
    @exclusivity(unchecked) var pending = CommitQueue()
    @exclusivity(unchecked) var isFlushing = false
    /// The commits that the flush under way will publish: its own until it is over.
    @exclusivity(unchecked) var flushing = CommitQueue()
    /// Whether the flush under way, or the last one, waits for the device.
    @exclusivity(unchecked) var isFlushSynced = false
    /// How many commits the flush under way will publish.
    @exclusivity(unchecked) var flushingCommits = 0
    /// Whether frames of the group being collected name pages of values.
    @exclusivity(unchecked) var namesUnsyncedPages = false
    @exclusivity(unchecked) var publishedCommit: UInt64
    @exclusivity(unchecked) var latch: String?
    /// Whether there is one: for those who only ask.
    let isLatched = Atomic<Bool>(false)
    /// The failure that made the store read-only.
    @exclusivity(unchecked) var latchCause: FileError?
    @exclusivity(unchecked) var flushCount: UInt64 = 0
    /// Commits that the system refused to write, until the next writer takes them back. See `Store+Refusal.swift`.
    @exclusivity(unchecked) var refused = RefusedCommits()
    /// Whether there are some: for those who only ask.
    let hasRefused = Atomic<Bool>(false)
    /// How many committers wait for their commits to be published.
    @exclusivity(unchecked) var publishWaiters = 0
    /// When the next segment may be made ready; `max` while that is done.
    @exclusivity(unchecked) var spareDue: UInt64 = 0
    /// When what `async` commits left is to be made durable, and the shortest delay among them; `max` when there is nothing.
    @exclusivity(unchecked) var flushDue = UInt64.max
    @exclusivity(unchecked) var flushDelay = UInt64.max

    /// The latest commit, published or not: what the next writer builds on. Guarded by the turn.
    @exclusivity(unchecked) var newest: Version
    /// What the last transaction worked with, for the next one. Guarded by the turn.
    @exclusivity(unchecked) var idleMemory: WriterMemory?
    @exclusivity(unchecked) var idleLists = WriterLists()

    /// Of a store that only reads.
    let follower: Follower?
    let clock: StoreClock
    let events: EventQueue?
    /// When the next numbers are due. Guarded by `expiryLock`.
    @exclusivity(unchecked) var statisticsDue: UInt64 = 0
    /// Snapshots that read no more, and the epoch after which nobody is still reading in them. Guarded by `expiryLock`.
    @exclusivity(unchecked) var expiring: [(epoch: UInt64, slots: [UnsafeMutablePointer<SnapshotSlot>])] = []
    let expiryLock = Lock()
    let flusher: Flusher
    let checkpointer: Checkpointer
    let vacuum = Vacuum()
    let isClosed = Atomic<Bool>(false)
    /// Whether the files know anything between a write and a sync.
    let hasBarriers: Bool
    let largestLoggedBytes: Int
    /// Values from here on are written to their pages before the commit, and the log names those.
    let namedValueBytes: Int
    /// What recovery did at opening. Written before the store is anybody's.
    public internal(set) var recovery: RecoveryReport

    // The background thread.
    let backgroundLock = Lock()
    let backgroundWork = ConditionVariable()
    var isStopping = false
    var thread: JoinableThread?

    /// Opens a database, or creates it when there is none (or an empty file) at `path`.
    ///
    /// After a crash this replays the log and writes a checkpoint before it returns.
    ///
    /// - Throws: ``StorageError``: not a database, another version, damaged, open elsewhere, or an I/O error.
    public convenience init(at path: String, options: StoreOptions = .init()) throws(StorageError) {
        let opening = try Opening(path: path, options: options)
        try self.init(opening)
    }

    /// Opens a file that is made, as the writer or the reader that the options say. The file is the store's to close.
    convenience init(of file: TemporaryFile, options: StoreOptions) throws(StorageError) {
        try self.init(Opening(of: file, options: options))
    }

    /// A store in memory. It is gone when the last reference to it goes.
    public static func inMemory(options: StoreOptions = .init()) throws(StorageError) -> Store {
        var options = options
        options.fileSystem = MemoryFileSystem()
        options.readOnly = false
        return try Store(at: "memory.mako", options: options)
    }

    private init(_ opening: Opening) throws(StorageError) {
        path = opening.path
        directory = opening.directory
        options = opening.options
        encryption = options.encryption
        clock = StoreClock(options.clock)
        events = options.eventHandler.map(EventQueue.init)
        flusher = Flusher(clock: clock)
        frames = opening.frames
        dataFile = opening.dataFile
        space = opening.space
        room = FileRoom(pages: opening.filePages)
        log = opening.log
        recovery = opening.report
        serial = Atomic(opening.dataFile.header.ceiling)
        ceiling = Atomic(opening.dataFile.header.ceiling)
        features = Atomic(opening.dataFile.header.mustRead)
        let version = opening.version
        newest = version
        publishedCommit = version.commit
        published = Atomic(UInt(bitPattern: Unmanaged.passUnretained(version).toOpaque()))
        versions = [version]
        checkpointer = Checkpointer(last: opening.last, previous: opening.previous, pins: opening.pins)
        follower = options.readOnly ? Follower(opening.tail, checkpointPages: opening.space.live) : nil
        // A frame that was compressed is unpacked again only up to the limit of values.
        hasBarriers = options.fileSystem.hasBarriers
        largestLoggedBytes = min(log.payloadLimit, log.segmentBytes / 4, Limits.valueBytes, options.mostNotedBytes)
        namedValueBytes = min(Limits.directBytes, largestLoggedBytes)
        do throws(StorageError) {
            try recover(opening)
            events?.note(.opened(recovery, seconds: Double(clock.now) / 1e9))
            noteWeakPassphrase()
            if !options.readOnly && options.background == .threads { try startBackground() }
            events?.deliver()
        } catch {
            isClosed.store(true, ordering: .releasing)
            log.closeFiles()
            directory?.close()
            dataFile.file.close()
            throw error
        }
    }

    deinit {
        if !isClosed.load(ordering: .acquiring) && !isInherited { try? shutDown(clean: true) }
        idleMemory?.deallocate()
        idleLists.batch.deallocate()
    }

    /// Whether this is the child of a fork, and its parent has opened the store. The files are the parent's then, and so are the threads; locks
    /// may be held that no thread of the child will give up.
    var isInherited: Bool {
        generation != Forks.generation
    }

    /// Throws when the store is closed, or was opened by the parent of this process.
    @inline(__always)
    func requireOpen() throws(StorageError) {
        guard !isClosed.load(ordering: .acquiring) else { throw .closed }
        guard !isInherited else { throw .inherited(path: path) }
    }

    // MARK: Reading

    /// A view of the latest commit. It stays as it is until it is released or closed. About 100 ns.
    ///
    /// - Parameter label: what ``StoreStats/oldestSnapshot`` calls it.
    public func snapshot(label: String? = nil) throws(StorageError) -> Snapshot {
        try takeSnapshot(hasAge: true, label)
    }

    /// - Parameters:
    ///   - hasAge: false for one that no age limit ends.
    ///   - isLent: whether the caller keeps the store while the snapshot is used, and then ends the loan.
    func takeSnapshot(hasAge: Bool, _ label: String?, isLent: Bool = false) throws(StorageError) -> Snapshot {
        try requireOpen()
        guard let slot = snapshots.claim(hasAge: hasAge, label: label) else {
            throw .invalidArgument("too many snapshots are open")
        }
        let entry = Epochs.enter()
        defer { Epochs.leave(entry) }
        while true {
            let address = published.load(ordering: .sequentiallyConsistent)
            guard let pointer = UnsafeRawPointer(bitPattern: address) else {
                snapshots.release(slot)
                return try successorSnapshot()
            }
            let version = Unmanaged<Version>.fromOpaque(pointer)
            slot.pointee.point.store(version._withUnsafeGuaranteedRef { $0.point }, ordering: .sequentiallyConsistent)
            if published.load(ordering: .sequentiallyConsistent) == address {
                return version._withUnsafeGuaranteedRef { version in
                    Snapshot(version: version, slot: slot, store: self, isLent: isLent)
                }
            }
        }
    }

    /// Calls `body` with a snapshot of the latest commit.
    public func read<R>(_ body: (Snapshot) throws -> R) throws -> R {
        var snapshot = try takeSnapshot(hasAge: true, nil, isLent: true)
        defer { withExtendedLifetime(self) { Snapshot.endLoan(of: &snapshot, keeping: self) } }
        return try body(snapshot)
    }

    // MARK: Writing

    /// Begins a write transaction, after the one before it has ended.
    ///
    /// - Parameter timeout: how long to wait at most, when it is to differ from ``StoreOptions/writerTimeout``; zero for not at all.
    /// - Throws: ``StorageError/writerTimeout(seconds:)`` when that time was up, ``StorageError/readOnly(reason:)``.
    public func beginWrite(timeout: Duration? = nil) throws(StorageError) -> WriteTransaction {
        try requireOpen()
        try takeTurn(timeout: timeout)
        return try beginWriteWithTurn()
    }

    /// The caller has the turn; it is given up when this throws.
    func beginWriteWithTurn() throws(StorageError) -> WriteTransaction {
        if let reason = writeRefusal {
            turn.release()
            throw isClosed.load(ordering: .acquiring) ? .closed : .readOnly(reason: reason)
        }
        takeBackRefused()
        relieveMemory()
        reclaimRoom()
        return WriteTransaction(Writer(store: self, base: newest))
    }

    /// Waits for the writer before, as long as the caller or the options say.
    func takeTurn(timeout: Duration? = nil) throws(StorageError) {
        guard !isInherited else { throw .inherited(path: path) }
        let timeout = timeout ?? options.writerTimeout
        if !turn.take(timeout: timeout) { throw .timedOut(after: timeout ?? .zero) }
    }

    var writeRefusal: String? {
        if isClosed.load(ordering: .acquiring) { return "it is closed" }
        if options.readOnly { return "it was opened so" }
        return isLatched.load(ordering: .acquiring) ? commitLock.withLock { latch } : nil
    }

    /// Runs `body` in a write transaction and commits it; takes everything back when `body` throws.
    ///
    /// - Parameters:
    ///   - durability: what to wait for, when it is to differ from the store's setting.
    ///   - timeout: how long to wait for the writers before, when it is to differ from ``StoreOptions/writerTimeout``.
    public func write<R>(
        durability: Durability? = nil, timeout: Duration? = nil, _ body: (borrowing WriteTransaction) throws -> R
    ) throws -> R {
        let transaction = try beginWrite(timeout: timeout)
        let result = try body(transaction)
        try transaction.commit(durability: durability)
        return result
    }

    // MARK: Closing

    /// Writes a last checkpoint, removes the log files and closes the store.
    ///
    /// Waits for the running write transaction. Snapshots that are still held cannot be read afterwards.
    public func close() throws(StorageError) {
        guard !isClosed.load(ordering: .acquiring) else { return }
        try shutDown(clean: true)
    }

    func shutDown(clean: Bool) throws(StorageError) {
        guard !isInherited else { return isClosed.store(true, ordering: .releasing) }
        stopBackground()
        _ = turn.take(timeout: nil)
        defer {
            turn.release()
            writerThreads.stop()
            readerThreads.stop()
        }
        guard !isClosed.exchange(true, ordering: .sequentiallyConsistent) else { return }
        takeBackRefused()
        do throws(StorageError) { try shutDownOnce(clean: clean) } catch {
            events?.note(.closed(error: error))
            events?.deliver()
            throw error
        }
        events?.note(.closed(error: nil))
        events?.deliver()
    }

    private func shutDownOnce(clean: Bool) throws(StorageError) {
        defer {
            waitForWriters()
            log.closeFiles()
            directory?.close()
            dataFile.file.close()
        }
        if let follower {
            let next = follower.successor
            try next?.close()
        }
        guard clean, !options.readOnly, commitLock.withLock({ latch }) == nil else { return }
        try checkpointer.lock.withLock { () throws(StorageError) in try finish() }
        if options.diskReserveBytes == 0 { try cutOffUnused() }
    }

    /// Waits until nobody is writing to the log: its file would be closed under them.
    private func waitForWriters() {
        commitLock.withLock {
            while isFlushing || latch == nil && pending.countBeforeWaiting < pending.count {
                flushed.wait(commitLock)
            }
        }
    }

    /// The last checkpoint: both meta slots say the same, so that nothing needs the log any more.
    func finish() throws(StorageError) {
        try flush(.durable)
        let hasFiles = commitLock.withLock { log.hasFiles }
        let usesLog = dataFile.header.newestSegment != 0 || hasFiles
        guard usesLog || newest.commit != checkpointer.last.meta.commit else { return }
        try checkpointer.runToEnd(self)
        returnIdleNumbers()
        if checkpointer.last.meta.commit != newest.commit || checkpointer.previous?.meta.commit != newest.commit {
            try checkpointer.checkpoint(self, CheckpointRequest(version: newest, fillsBothSlots: true))
        }
        do throws(FileError) {
            try headerLock.withLock { () throws(FileError) in
                try dataFile.update { $0.newestSegment = 0 }
            }
            try commitLock.withLock { () throws(FileError) in try log.removeAll() }
            try syncDirectory()
        } catch { throw StorageError(error) }
    }

    /// Makes the names of the files durable.
    func syncDirectory() throws(FileError) { try directory?.sync() }
}
