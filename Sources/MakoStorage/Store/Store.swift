/// An ordered key-value store with transactions, in one file with a log next to it.
///
/// Any number of threads read consistent snapshots without locks while one thread at a time writes. With the default
/// durability a commit is durable when it returns. After a crash the store opens with exactly the acknowledged commits.
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
/// The store uses copy-on-write pages with a logical redo log and checkpoints; `docs/architecture.md` describes the
/// design.
public final class Store: @unchecked Sendable {
    /// The path of the data file; the target if it was opened by a symbolic link.
    public let path: String
    let options: StoreOptions
    let frames: FrameStore
    let dataFile: DataFile
    /// The writer lock.
    let writerLock = WriterLock()
    /// The threads of the async methods. Many writer threads, because writers mostly wait for the device, together.
    let writerThreads = WorkerThreads(limit: 64)
    let readerThreads = WorkerThreads(limit: 16)

    let versions: VersionList
    let pipeline: CommitPipeline
    let checkpointer: Checkpointer
    let background: BackgroundThread
    /// The state for `refresh()`, in a read-only store.
    let follower: Follower?
    let events: EventQueue?
    let life = StoreLife()
    /// What recovery did at opening. Set before the store is shared.
    public internal(set) var recovery: RecoveryReport

    /// Opens a database, or creates one if there is no file, or an empty file, at `path`.
    ///
    /// After a crash this replays the log and writes a checkpoint before it returns.
    ///
    /// - Parameters:
    ///   - path: the path of the data file; `:memory:` is that of a new store in memory, as in SQLite.
    ///   - options: the options of the store.
    /// - Throws: ``StorageError``: the file is no database, has another version, is damaged or open elsewhere, or an
    ///   I/O error.
    public convenience init(at path: String, options: StoreOptions = .init()) throws(StorageError) {
        try self.init(Opening(path: path, options: path == Store.memoryPath ? options.inMemory : options))
    }

    /// Opens a newly created file for writing or reading, as the options say. The store closes the file.
    convenience init(of file: TemporaryFile, options: StoreOptions) throws(StorageError) {
        try self.init(Opening(of: file, options: options))
    }

    /// Creates a store in memory, which ends with its last reference.
    public static func inMemory(options: StoreOptions = .init()) throws(StorageError) -> Store {
        try Store(at: memoryPath, options: options)
    }

    init(_ opening: Opening) throws(StorageError) {
        path = opening.path
        options = opening.options
        events = options.eventHandler.map(EventQueue.init)
        frames = opening.frames
        dataFile = opening.dataFile
        versions = VersionList(opening)
        let clock = StoreClock(options.clock)
        pipeline = CommitPipeline(opening, versions: versions, clock: clock, events: events)
        background = BackgroundThread(clock: clock)
        recovery = opening.report
        checkpointer = Checkpointer(last: opening.last, previous: opening.previous, pins: opening.pins)
        follower = options.readOnly ? Follower(opening.tail, checkpointPages: opening.space.live) : nil
        do throws(StorageError) {
            try recover(opening)
            events?.note(.opened(recovery, seconds: Double(clock.now) / 1e9))
            noteWeakPassphrase()
            frames.onOverBudget = { [weak self] in self?.needBackground() }
            try startBackgroundIfDue()
            events?.deliver()
        } catch {
            _ = life.close()
            pipeline.log.closeFiles()
            dataFile.closeFiles()
            throw error
        }
    }

    deinit {
        if !life.isClosed && !isInherited { try? shutDown(clean: true) }
    }

    /// Whether this process is the child of a fork whose parent opened the store. The files and threads are then the
    /// parent's, and locks may be held that no thread of the child releases.
    var isInherited: Bool {
        dataFile.isInherited
    }

    /// Throws if the store is closed or suspended, or was opened by the parent of this process.
    @inline(__always)
    func requireOpen() throws(StorageError) {
        guard life.isOpen else { throw life.isClosed ? .closed(path: path) : .suspended(path: path) }
        guard !isInherited else { throw .inherited(path: path) }
    }

    // MARK: Writing

    /// Begins a write transaction, after the running one has ended.
    ///
    /// - Parameter timeout: the longest time to wait; nil for ``StoreOptions/writerTimeout``, zero for no waiting.
    /// - Throws: ``StorageError/writerTimeout(seconds:)`` after the timeout, ``StorageError/readOnly(reason:)``.
    public func beginWrite(timeout: Duration? = nil) throws(StorageError) -> WriteTransaction {
        try requireOpen()
        try takeWriterLock(timeout: timeout)
        return try beginWriteWithLock()
    }

    /// Begins a transaction. The caller must hold the writer lock, which is released on an error.
    func beginWriteWithLock() throws(StorageError) -> WriteTransaction {
        if let refusal = writeRefusal {
            writerLock.release()
            throw refusal
        }
        pipeline.rollBackRefused()
        relieveMemory()
        reclaimRoom()
        return WriteTransaction(Writer(store: self, base: newest))
    }

    /// Acquires the writer lock, with the timeout of the caller or the options.
    func takeWriterLock(timeout: Duration? = nil) throws(StorageError) {
        guard !isInherited else { throw .inherited(path: path) }
        let timeout = timeout ?? options.writerTimeout
        if !writerLock.take(timeout: timeout) { throw .timedOut(after: timeout ?? .zero) }
    }

    /// Why nothing can be written; nil if it can.
    var writeRefusal: StorageError? {
        if life.isClosed { return .closed(path: path) }
        if life.isSuspended { return .suspended(path: path) }
        if options.readOnly { return .readOnly(reason: "it was opened so") }
        guard pipeline.hasFailed.load(ordering: .acquiring) else { return nil }
        return pipeline.lock.withLock { pipeline.failure.map { .readOnly(reason: $0.reason) } }
    }

    /// Runs `body` in a write transaction and commits it; rolls back if `body` throws.
    ///
    /// - Parameters:
    ///   - durability: the durability of this commit; nil for that of the store.
    ///   - timeout: the longest time to wait for other writers; nil for ``StoreOptions/writerTimeout``.
    ///   - body: runs with the transaction.
    /// - Returns: the result of `body`.
    /// - Throws: the errors of ``beginWrite(timeout:)``, of `body`, and of the commit.
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
    /// Waits for the running write transaction. Open snapshots cannot be read afterwards.
    public func close() throws(StorageError) {
        guard !life.isClosed else { return }
        try shutDown(clean: true)
    }

    func shutDown(clean: Bool) throws(StorageError) {
        guard !isInherited else {
            _ = life.close()
            return
        }
        // `suspend()` unlocks the file without the writer lock, and `resume()` starts the background thread.
        if let events, events.isInside {
            // The holder of the lock may be waiting for the end of this handler.
            guard life.lock.tryLock() else {
                throw .invalidArgument(
                    "close() was called by an event handler while another thread closes, suspends or resumes the store; "
                        + "let the handler signal that thread instead")
            }
        } else {
            life.lock.lock()
        }
        defer { life.lock.unlock() }
        background.stop()
        _ = writerLock.take(timeout: nil)
        let phase = life.close()
        // `refresh()` acquires the writer lock under the follower's lock, which `shutDownReader()` acquires.
        if follower != nil { writerLock.release() }
        defer {
            if follower == nil { writerLock.release() }
            writerThreads.stop()
            readerThreads.stop()
        }
        guard phase != .closed else { return }
        pipeline.rollBackRefused()
        do throws(StorageError) {
            if let follower {
                try shutDownReader(follower)
            } else {
                try shutDownWriter(clean: clean && (phase == .open || reclaimFile()))
            }
        } catch {
            events?.note(.closed(error: error))
            events?.deliver()
            throw error
        }
        events?.note(.closed(error: nil))
        events?.deliver()
    }

    /// - Parameter clean: whether the file is brought to rest; that of a suspended store may be another process's.
    private func shutDownWriter(clean: Bool) throws(StorageError) {
        defer { closeFiles() }
        guard clean, !pipeline.hasFailed.load(ordering: .acquiring) else { return }
        try checkpointer.lock.withLock { () throws(StorageError) in try finish(keepsArchive: true) }
        if options.diskReserveBytes == 0 && !pipeline.hasUnconfirmed { try cutOffUnused() }
    }

    /// Waits for a refresh that has begun. Later ones throw, so that they open no successor.
    private func shutDownReader(_ follower: Follower) throws(StorageError) {
        try follower.lock.withLock { () throws(StorageError) in
            defer { closeFiles() }
            try follower.successor?.close()
        }
    }

    private func closeFiles() {
        pipeline.waitForWriters()
        pipeline.log.closeFiles()
        dataFile.closeFiles()
    }

    /// Writes the last checkpoint to both meta slots, so that the log is no longer needed.
    func finish() throws(StorageError) { try finish(keepsArchive: false) }

    /// - Parameter keepsArchive: whether the segments that replication has not shipped stay.
    private func finish(keepsArchive: Bool) throws(StorageError) {
        try flush(.durable)
        if let commit = pipeline.lock.withLock({ pipeline.confirmation.queue.commits.first?.version.commit }) {
            // The log stays, as after a crash, because only it has the unconfirmed commits.
            if keepsArchive { return }
            throw .unconfirmed(commit: commit)
        }
        let hasFiles = pipeline.lock.withLock {
            pipeline.log.hasFiles || !keepsArchive && !pipeline.log.archive.isEmpty
        }
        let usesLog = dataFile.header.newestSegment != 0 || hasFiles
        guard usesLog || newest.commit != checkpointer.last.meta.commit else { return }
        try checkpointer.runToEnd(self)
        returnIdleNumbers()
        if checkpointer.last.meta.commit != newest.commit || checkpointer.previous?.meta.commit != newest.commit {
            try checkpointer.checkpoint(self, CheckpointRequest(version: newest, fillsBothSlots: true))
        }
        do throws(FileError) {
            try dataFile.lock.withLock { () throws(FileError) in
                try dataFile.update { $0.newestSegment = 0 }
            }
            try pipeline.lock.withLock { () throws(FileError) in try pipeline.log.removeAll(keepsArchive: keepsArchive)
            }
            try dataFile.syncDirectory()
        } catch { throw StorageError(error) }
    }
}

extension Store {
    /// The path of a store in memory.
    package static let memoryPath = ":memory:"
}

extension StoreOptions {
    fileprivate var inMemory: StoreOptions {
        var options = self
        // The log ends with the store, so that only replication could read it.
        let log = Store.memoryPath + LogFile.infix
        options.fileSystem = MemoryFileSystem(forgetting: logArchiveBytes > 0 ? nil : log)
        options.readOnly = false
        return options
    }
}
