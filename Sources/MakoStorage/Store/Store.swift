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
    let options: StoreOptions
    let frames: FrameStore
    let dataFile: DataFile
    /// The writer lock.
    let turn = WriterTurn()
    /// For the async forms. Writers mostly wait for the device, together.
    let writerThreads = WorkerThreads(limit: 64)
    let readerThreads = WorkerThreads(limit: 16)

    let versions: VersionList
    let pipeline: CommitPipeline
    let checkpointer: Checkpointer
    let background: BackgroundThread
    /// Of a store that only reads.
    let follower: Follower?
    let events: EventQueue?
    let isClosed = Atomic<Bool>(false)
    /// What recovery did at opening. Written before the store is anybody's.
    public internal(set) var recovery: RecoveryReport

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
            if !options.readOnly && options.background == .threads { try background.start(for: self) }
            events?.deliver()
        } catch {
            isClosed.store(true, ordering: .releasing)
            pipeline.log.closeFiles()
            dataFile.closeFiles()
            throw error
        }
    }

    deinit {
        if !isClosed.load(ordering: .acquiring) && !isInherited { try? shutDown(clean: true) }
    }

    /// Whether this is the child of a fork, and its parent has opened the store. The files are the parent's then, and so are the threads; locks
    /// may be held that no thread of the child will give up.
    var isInherited: Bool {
        dataFile.isInherited
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
            let address = versions.published.load(ordering: .sequentiallyConsistent)
            guard let pointer = UnsafeRawPointer(bitPattern: address) else {
                snapshots.release(slot)
                return try successorSnapshot()
            }
            let version = Unmanaged<Version>.fromOpaque(pointer)
            slot.pointee.point.store(version._withUnsafeGuaranteedRef { $0.point }, ordering: .sequentiallyConsistent)
            if versions.published.load(ordering: .sequentiallyConsistent) == address {
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
        pipeline.takeBackRefused()
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
        return pipeline.hasFailed.load(ordering: .acquiring) ? pipeline.lock.withLock { pipeline.failure?.reason } : nil
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
        background.stop()
        _ = turn.take(timeout: nil)
        defer {
            turn.release()
            writerThreads.stop()
            readerThreads.stop()
        }
        guard !isClosed.exchange(true, ordering: .sequentiallyConsistent) else { return }
        pipeline.takeBackRefused()
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
            pipeline.waitForWriters()
            pipeline.log.closeFiles()
            dataFile.closeFiles()
        }
        if let follower {
            let next = follower.successor
            try next?.close()
        }
        guard clean, !options.readOnly, !pipeline.hasFailed.load(ordering: .acquiring) else { return }
        try checkpointer.lock.withLock { () throws(StorageError) in try finish(keepsArchive: true) }
        if options.diskReserveBytes == 0 { try cutOffUnused() }
    }

    /// The last checkpoint: both meta slots say the same, so that nothing needs the log any more.
    func finish() throws(StorageError) { try finish(keepsArchive: false) }

    /// - Parameter keepsArchive: whether segments stay that replication still wants.
    private func finish(keepsArchive: Bool) throws(StorageError) {
        try flush(.durable)
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
