/// How a store that only reads keeps up with the process that writes: what `refresh()` keeps from one call to the next.
///
/// A store shows commits on top of one checkpoint, which it has pinned. When the writer has let go of that checkpoint, or of the log behind
/// it, the file is opened once more: a successor with memory of its own, from which new snapshots come. Snapshots of before keep what they
/// read from, pin included, until they end.
final class Follower: @unchecked Sendable {
    /// One refresh at a time.
    let lock = Lock()
    // Guarded by `lock`.
    var log: LogFollower
    private var retiredAt: UInt64?
    private var isEmptied = false

    private let successorLock = Lock()
    // Guarded by `successorLock`.
    private var current: Store?

    /// The pages of the checkpoint that the store builds on.
    let checkpointPages: [[UInt64]]

    init(_ reader: LogReader, checkpointPages: [[UInt64]]) {
        log = LogFollower(reader)
        self.checkpointPages = checkpointPages
    }

    /// The store that shows newer commits than the one that was opened.
    var successor: Store? { successorLock.withLock { current } }

    /// Makes a store the one that new snapshots come from.
    func hand(over store: Store, to next: Store?) {
        successorLock.withLock { current = next }
        guard retiredAt == nil else { return }
        store.versions.published.store(0, ordering: .sequentiallyConsistent)
        retiredAt = Epochs.retire()
    }

    /// Lets go of the first store's file, pin and memory as soon as nobody reads from it.
    func empty(_ store: Store) {
        guard let retiredAt, !isEmptied, Epochs.hasPassed(retiredAt), store.snapshots.count == 0 else { return }
        isEmptied = true
        store.pipeline.log.closeFiles()
        store.dataFile.file.close()
        store.frames.discard()
    }
}

extension Store {
    /// Brings a store that only reads to the newest durable commit; snapshots that are open stay as they are.
    ///
    /// The process that writes need not be told, and does not wait. Without anything new this costs a few system calls.
    ///
    /// ```swift
    /// let events = try Store(at: "events.mako", options: reading)
    /// while isRunning {
    ///     if try events.refresh() { try events.read { show($0) } }
    ///     try await Task.sleep(for: .seconds(1))
    /// }
    /// ```
    ///
    /// - Returns: whether there is a newer commit than before. Of a store that writes always false: it shows its newest commit anyway.
    /// - Throws: ``StorageError/closed``, ``StorageError/notFound(path:)``, what opening throws, and I/O errors. The store shows what it showed
    ///   before then.
    @discardableResult
    public func refresh() throws(StorageError) -> Bool {
        try requireOpen()
        guard let follower else { return false }
        return try follower.lock.withLock { () throws(StorageError) in
            follower.empty(self)
            // What a lower budget could not give back while it was read.
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

    /// The newest commit of a store whose own is not the newest any more.
    func successorSnapshot() throws(StorageError) -> Snapshot {
        guard let next = follower?.successor else { throw .closed }
        return try next.snapshot()
    }

    private enum Following {
        case nothing
        case advanced
        /// The writer has let go of what this store builds on.
        case leftBehind
    }

    /// Applies what the log has behind the newest commit that is shown.
    private func follow() throws(StorageError) -> Following {
        guard let follower else { return .nothing }
        let (header, metas) = try lookAtFile()
        guard header.id == dataFile.header.id, let newestMeta = metas.first,
            metas.contains(checkpointer.last.meta)
        else { return .leftBehind }
        // Closed, with a log that is gone; or opened again and not far enough for the header to name the log.
        let isUnnamed = header.newestSegment == 0
        if isUnnamed && newestMeta.commit > newest.commit { return .leftBehind }
        _ = turn.take(timeout: nil)
        defer { turn.release() }
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
            // What is shown here others may be told of: no power cut may take it back.
            try follower.log.sync(named: header.newestSegment)
            try show(writer, tail)
            return .advanced
        } catch {
            writer?.abandon()
            follower.log.startOver()
            // The log is read while it is written; what is really wrong with it, opening the file will say.
            if case .logDamaged = error { return .leftBehind }
            throw error
        }
    }

    /// The file's header and metas as they are now, by its path: another file may have taken its place.
    private func lookAtFile() throws(StorageError) -> (FileHeader, [Meta]) {
        let file: any File
        do throws(FileError) { file = try options.fileSystem.open(path, .readOnly) } catch {
            throw error.isNotFound ? .notFound(path: path) : StorageError(error)
        }
        defer { file.close() }
        let dataFile = try DataFile.open(file, .known(dataFile.keys))
        return (dataFile.header, try dataFile.readMetas())
    }

    /// Publishes what was replayed. None of it is ever written.
    private func show(_ writer: Writer, _ tail: LogReader.Tail) throws(StorageError) {
        let point = try takeSerial()
        let version = Version(of: writer, commit: tail.lastCommit, point: point, log: tail.end)
        writer.end()
        versions.publish(version, &writer.lists.changed)
        versions.lock.withLock { versions.dirtyPages = PageBitmaps() }
        pipeline.adopt(version)
    }
}
