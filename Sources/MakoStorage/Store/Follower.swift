/// Keeps a read-only store up to date with a process that writes: the state between calls of `refresh()`.
///
/// A store applies commits to one checkpoint, which it has pinned. When the writer has released that checkpoint, or the
/// log after it, the file is opened again as a successor, a store with memory of its own, which supplies new snapshots.
/// Older snapshots keep their store, pin included, until they end.
final class Follower: @unchecked Sendable {
    /// Serializes refreshes.
    let lock = Lock()
    // Guarded by `lock`.
    var log: LogFollower
    private var retiredAt: UInt64?
    private var isEmptied = false

    private let successorLock = Lock()
    // Guarded by `successorLock`.
    private var current: Store?
    /// Earlier successors, which open snapshots keep.
    private var former: [WeakStore] = []

    /// The pages of the checkpoint that the store builds on.
    let checkpointPages: [[UInt64]]

    init(_ reader: LogReader, checkpointPages: [[UInt64]]) {
        log = LogFollower(reader)
        self.checkpointPages = checkpointPages
    }

    /// The store for new snapshots, if it is not the opened one.
    var successor: Store? { successorLock.withLock { current } }

    /// The successor and the earlier ones, as far as snapshots of them are open.
    var successors: [Store] { successorLock.withLock { former.compactMap(\.store) + (current.map { [$0] } ?? []) } }

    /// Sets the store for new snapshots.
    func hand(over store: Store, to next: Store?) {
        successorLock.withLock {
            former.removeAll { $0.store == nil }
            if let current { former.append(WeakStore(current)) }
            current = next
        }
        guard retiredAt == nil else { return }
        store.versions.published.store(0, ordering: .sequentiallyConsistent)
        retiredAt = Epochs.retire()
    }

    /// Releases the first store's file, pin and memory when nothing reads from it any more.
    func empty(_ store: Store) {
        guard let retiredAt, !isEmptied, Epochs.hasPassed(retiredAt), store.snapshots.count == 0 else { return }
        isEmptied = true
        store.pipeline.log.closeFiles()
        store.dataFile.file.close()
        store.frames.discard()
    }
}

extension Store {
    /// Brings a read-only store to the newest durable commit; open snapshots do not change.
    ///
    /// The writing process is not involved and does not wait. Without new commits a refresh takes a few system calls.
    ///
    /// ```swift
    /// let events = try Store(at: "events.mako", options: reading)
    /// while isRunning {
    ///     if try events.refresh() { try events.read { show($0) } }
    ///     try await Task.sleep(for: .seconds(1))
    /// }
    /// ```
    ///
    /// - Returns: whether there is a newer commit than before; always false for a store that writes, which shows its
    ///   newest commit anyway.
    /// - Throws: ``StorageError/closed(path:)``, ``StorageError/notFound(path:)``, the errors of opening, and I/O errors. The
    ///   store then shows the same commit as before.
    @discardableResult
    public func refresh() throws(StorageError) -> Bool {
        try requireOpen()
        guard let follower else { return false }
        return try follower.lock.withLock { () throws(StorageError) in
            // `close()` closes the successor under this lock, and must not miss one that is opened later.
            try requireOpen()
            follower.empty(self)
            // Evict what a lowered budget could not evict during reads.
            frames.returnTable()
            _ = frames.evictionStep()
            let shown = follower.successor ?? self
            let before = shown.newest.commit
            switch try shown.follow() {
            case .nothing: return false
            case .advanced: return true
            case .leftBehind:
                var opening = options.withoutEvents
                opening.cacheBytes = shown.cacheBytes
                let next = try Store(at: path, options: opening)
                let isNew = next.newest.commit != before
                follower.hand(over: self, to: next)
                follower.empty(self)
                return isNew
            }
        }
    }

    /// The store that supplies new snapshots.
    var latest: Store { follower?.successor ?? self }

    /// Returns a snapshot of the newest commit from the successor.
    func successorSnapshot() throws(StorageError) -> Snapshot {
        guard let next = follower?.successor else { throw isSuspended ? .suspended(path: path) : .closed(path: path) }
        return try next.snapshot()
    }

    private enum Following {
        case nothing
        case advanced
        /// The writer has released what this store builds on.
        case leftBehind
    }

    /// Applies the commits of the log after the newest one shown.
    private func follow() throws(StorageError) -> Following {
        guard let follower else { return .nothing }
        let (header, metas): (FileHeader, [Meta])
        do throws(StorageError) { (header, metas) = try lookAtFile() } catch {
            // They are read while they are written; opening the file again reports real damage.
            if error.mayPass { return .leftBehind }
            throw error
        }
        guard header.id == dataFile.header.id, let newestMeta = metas.first,
            metas.contains(checkpointer.last.meta)
        else { return .leftBehind }
        // The file was closed and has no log, or it was opened again and the header does not name the log yet.
        let isUnnamed = header.newestSegment == 0
        if isUnnamed && newestMeta.commit > newest.commit { return .leftBehind }
        _ = writerLock.take(timeout: nil)
        defer { writerLock.release() }
        // `close()` may have been called while the file was read.
        try requireOpen()
        var writer: Writer?
        defer { writer?.rest() }
        var tail = LogReader.Tail(end: newest.log, lastCommit: newest.commit, highestNumber: header.newestSegment)
        do throws(StorageError) {
            let end = try follower.log.read(&tail, newest: header.newestSegment) {
                (operations, commit) throws(StorageError) in
                let own = writer ?? Writer(store: self, base: newest, recording: false)
                writer = own
                try own.replay(operations, commit: commit, path: path)
            }
            switch end {
            case .upToDate: break
            case .barrier(let commit) where newestMeta.commit < commit: break
            case .lost where isUnnamed && newestMeta.commit == newest.commit: break
            case .barrier, .lost:
                writer?.abandon()
                follower.log.startOver()
                return .leftBehind
            }
            guard let writer else { return .nothing }
            // Sync before the commits are shown, because a power failure must not remove a commit that was shown.
            try follower.log.sync(named: header.newestSegment)
            try show(writer, tail)
            return .advanced
        } catch {
            writer?.abandon()
            follower.log.startOver()
            // The log is read while it is written; opening the file again reports real damage.
            if case .logDamaged = error { return .leftBehind }
            throw error
        }
    }

    /// Reads the header and metas by the file's path, because another file may have replaced it.
    private func lookAtFile() throws(StorageError) -> (FileHeader, [Meta]) {
        let file: any File
        do throws(FileError) { file = try options.fileSystem.open(path, .readOnly) } catch {
            throw error.isNotFound ? .notFound(path: path) : StorageError(error)
        }
        defer { file.close() }
        let dataFile = try DataFile.open(file, .known(dataFile.keys))
        return (dataFile.header, try dataFile.readMetas())
    }

    /// Publishes replayed commits. They are never written.
    private func show(_ writer: Writer, _ tail: LogReader.Tail) throws(StorageError) {
        let point = try takeWriteID()
        let version = Version(of: writer, commit: tail.lastCommit, point: point, log: tail.end)
        writer.end()
        versions.publish(version, &writer.lists.changed)
        versions.lock.withLock { versions.dirtyPages = PageBitmaps() }
        pipeline.adopt(version)
    }
}
