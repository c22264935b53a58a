// A store without its file lock (decision 112). `suspend()` brings the file to rest, as `close()` does: the checkpoint has
// every commit, and there is no log. So any other process may open it, and `resume()` only compares the fixed pages.
// Between the turns of a database that locks its file for each transaction, a short log stays, whose commits are durable:
// the next process replays it, as after a crash, and this one goes on with it if no other came.
extension Store {
    /// Whether the store is suspended.
    public var isSuspended: Bool { life.isSuspended }

    /// Releases every lock on the file, until ``resume(timeout:)``.
    ///
    /// iOS ends an app that is suspended while it has a lock on a file in a container that it shares with its
    /// extensions (exception code `0xDEAD10CC`), and another process cannot open the file for writing meanwhile. Where
    /// no other process needs the file, keep it in the app's own container: a lock there does no harm.
    ///
    /// ```swift
    /// try store.suspend(timeout: .seconds(2))   // at the end of the last background task
    /// try store.resume(timeout: .seconds(2))    // in the foreground again
    /// ```
    ///
    /// Waits for the running write transaction and for running reads, makes all commits durable, writes a checkpoint and
    /// removes the log. Open snapshots and their cursors end: their reads throw ``StorageError/suspended(path:)``, after
    /// `resume()` too, and a running backup throws it. Until `resume()` every call does, except ``close()`` and
    /// ``setCacheBytes(_:)``. A suspended store has no effect on the file, even if its process ends. Has no effect on a
    /// suspended store.
    ///
    /// Must not be called inside a read or a write transaction of the calling thread, or by an event handler.
    ///
    /// - Parameter timeout: the longest time to wait for the write transaction; nil for ``StoreOptions/writerTimeout``.
    /// - Throws: ``StorageError/writerTimeout(seconds:)``, ``StorageError/readOnly(reason:)`` for a store that has
    ///   failed, ``StorageError/invalidArgument(_:)`` for a store that is replicated, and I/O errors: the store is not
    ///   suspended then, and has its lock.
    /// - Complexity: linear in the pages that were changed since the last checkpoint.
    public func suspend(timeout: Duration? = nil) throws(StorageError) {
        try suspendSilently(timeout: timeout)
        events?.deliver()
    }

    /// The same, without a call of the event handler: ``deliverEvents()`` must follow.
    ///
    /// - Parameter leavingLog: whether a short log may stay, whose commits are durable.
    package func suspendSilently(timeout: Duration?, leavingLog: Bool = false) throws(StorageError) {
        try requireUnclosed()
        try requireOutside("suspend()")
        try life.lock.withLock { () throws(StorageError) in
            try requireUnclosed()
            guard !isSuspended else { return }
            if let follower { return suspendReader(follower) }
            try refuseSuspension()
            try comeToRest(timeout, leavingLog: leavingLog)
            endSnapshots()
            do throws(StorageError) { try releaseFile() } catch {
                try wakeUp()
                throw error
            }
        }
    }

    package func deliverEvents() { events?.deliver() }

    /// Acquires the lock again, and moves to the newest commit.
    ///
    /// If another process has written the file meanwhile, the page cache is empty afterwards; its log is replayed if
    /// that process has ended without closing the file.
    ///
    /// - Parameter timeout: the longest time to wait for another process that has the file open for writing. A program that
    ///   is not of Mako and has locked the whole file is not waited for.
    /// - Returns: whether there are newer commits than at the suspension; false if the store is not suspended.
    /// - Throws: ``StorageError/alreadyOpen(path:)`` after the timeout, ``StorageError/replaced(path:)``, the errors of
    ///   opening, and I/O errors: the store is still suspended then.
    /// - Complexity: linear in the files of the directory, and in the log that was left.
    @discardableResult
    public func resume(timeout: Duration = .zero) throws(StorageError) -> Bool {
        defer { events?.deliver() }
        return try resumeSilently(timeout: timeout) { _, _ in true }
    }

    /// The same, without a call of the event handler: ``deliverEvents()`` must follow.
    ///
    /// - Parameter prepare: called with the newest commit, and whether it is newer than at the suspension, before any
    ///   other thread can read it. It must not write. If it returns false, the store stays suspended, and
    ///   ``StorageError/suspended(path:)`` is thrown.
    package func resumeSilently(
        timeout: Duration, _ prepare: (_ view: Snapshot, _ hasNews: Bool) -> Bool
    ) throws(StorageError) -> Bool {
        try requireUnclosed()
        try requireOutside("resume()")
        return try life.lock.withLock { () throws(StorageError) in
            guard isSuspended else { return false }
            if let follower { return try resumeReader(follower, prepare) }
            try takeWriterLock()
            defer { writerLock.release() }
            try requireUnclosed()
            return try checkpointer.lock.withLock { () throws(StorageError) in
                try lockFile(within: timeout)
                do throws(StorageError) {
                    if try hasForeignCommits() { try adoptFile() } else { try noteFileSize() }
                    dataFile.lock.withLock { dataFile.isReleased = false }
                    versions.showAgain()
                    let hasNews = try prepareView(prepare)
                    try wakeUp()
                    return hasNews
                } catch {
                    endSnapshots()
                    // The error of the attempt is thrown. Closing the store releases the lock in any case.
                    do throws(StorageError) { try releaseFile() } catch {}
                    throw error
                }
            }
        }
    }

    /// Throws if the store is closed, or was opened by the parent of this process; not if it is suspended.
    func requireUnclosed() throws(StorageError) {
        guard !life.isClosed else { throw .closed(path: path) }
        guard !isInherited else { throw .inherited(path: path) }
    }

    /// Throws inside an operation of this thread, for whose end the call would wait, and in an event handler, because
    /// the background thread may run it.
    private func requireOutside(_ call: String) throws(StorageError) {
        if options.background == .threads, let events, events.isInside {
            throw .invalidArgument("\(call) was called by an event handler; let it signal another thread instead")
        }
        guard !Epochs.isInside else {
            throw .invalidArgument("\(call) was called inside a read, for whose end it would wait; call it afterwards")
        }
    }

    private func refuseSuspension() throws(StorageError) {
        if let refusal = writeRefusal { throw refusal }
        let isReplicated = pipeline.lock.withLock { !pipeline.signals.isEmpty }
        if isReplicated || options.logArchiveBytes > 0 || options.writesFollower {
            throw .invalidArgument(
                "the store of \(path) is replicated, for which its log must stay; close it instead of suspending it")
        }
    }

    // MARK: Suspending

    /// Makes all commits durable, and refuses everything from then on. Writes the last checkpoint and removes the log,
    /// unless it stays.
    private func comeToRest(_ timeout: Duration?, leavingLog: Bool) throws(StorageError) {
        // Its steps write without the writer lock. Before that lock, because an event handler may wait for it.
        background.stop()
        do throws(StorageError) {
            try takeWriterLock(timeout: timeout)
            defer { writerLock.release() }
            try checkpointer.lock.withLock { () throws(StorageError) in
                pipeline.rollBackRefused()
                try checkpointer.runToEnd(self)
                if leavingLog && mayLeaveLog { try flush(.durable) } else { try finish() }
                returnIdleNumbers()
                life.suspend(at: newest.commit)
            }
        } catch {
            if options.background == .threads { try background.start(for: self) }
            throw error
        }
    }

    /// Whether the log is short, and this store's alone. The store that has left files to this one may go on with them, and
    /// must find that they are gone.
    private var mayLeaveLog: Bool { isQuicklyReplayed && !pipeline.lock.withLock { pipeline.log.hasFilesOfOthers } }

    /// Ends all snapshots, and returns when no operation reads a page any more.
    ///
    /// The writer lock may be free meanwhile, because an operation may wait for it; a writer that gets it throws.
    private func endSnapshots() {
        versions.withdraw()
        // A snapshot that was being taken is in the registry afterwards.
        waitForOperations()
        snapshots.expiryLock.withLock {
            var slots = snapshots.suspendAll()
            for older in snapshots.expiring { slots += older.slots }
            snapshots.expiring = []
            waitForOperations()
            for slot in slots { keepTrees(of: slot) }
            snapshots.endExpiry(slots)
        }
        versions.lock.withLock {
            versions.releasePages()
            versions.forgetRecycled()
        }
    }

    private func waitForOperations() { Epochs.waitUntilPassed(Epochs.retire()) }

    /// Releases the file's lock. Nothing may be written from then on.
    private func releaseFile() throws(StorageError) {
        dataFile.lock.withLock { dataFile.isReleased = true }
        try storage { () throws(FileError) in try dataFile.file.unlock() }
    }

    /// Ends the suspension. The file must be locked.
    private func wakeUp() throws(StorageError) {
        dataFile.lock.withLock { dataFile.isReleased = false }
        versions.showAgain()
        if options.background == .threads { try background.start(for: self) }
        life.resume()
    }

    // MARK: Resuming

    private func lockFile(within timeout: Duration) throws(StorageError) {
        let isLocked = try storage { () throws(FileError) in try dataFile.file.lock(within: timeout) }
        guard isLocked else { throw .alreadyOpen(path: path) }
    }

    /// Whether another process waits for the lock.
    package var isFileAwaited: Bool {
        let file = dataFile.file
        // Where that cannot be found out, the turn ends by itself.
        guard let isFirst = try? file.takePlaceInLine() else { return false }
        if isFirst { file.leaveLine() }
        return !isFirst
    }

    /// Compares the fixed pages and the names of the log's files with those at the suspension.
    ///
    /// A writer changes the header before its first page, or when it records a log segment, and each change of the header
    /// counts its generation. But a segment is recorded after its first sync: commits of ``Durability/ordered`` may be
    /// in one that the header does not name. Another process writes to no file of the log that it finds, and never rests
    /// without removing them, which changes the header. So an equal header and the same files mean that no other process
    /// has committed.
    private func hasForeignCommits() throws(StorageError) -> Bool {
        guard try storage({ () throws(FileError) in try dataFile.file.isNamed(path) }) else {
            throw .replaced(path: path)
        }
        let found = try DataFile.open(dataFile.file, .known(dataFile.keys))
        let metas = try found.readMetas()
        let header = dataFile.lock.withLock { dataFile.header }
        let last = checkpointer.last.meta
        if found.header == header && metas.first == last && found.findings.isEmpty {
            let numbers = try storage { () throws(FileError) in try LogFile.numbers(of: path, in: options.files) }
            let known = pipeline.lock.withLock { pipeline.log.numberedPaths }
            return Set(numbers.map { LogFile.segmentPath(path, $0) }) != known
        }
        // Without a readable meta, opening the file reports the damage.
        let isLater = metas.first.map { $0.commit >= last.commit && $0.point >= last.point } ?? true
        guard found.header.id == header.id, found.header.generation >= header.generation, isLater else {
            throw .replaced(path: path)
        }
        return true
    }

    /// Takes over what other processes have committed.
    ///
    /// A second store opens the file and closes it again: it replays the log of a process that has ended, repairs
    /// damaged copies, and leaves a file at rest. No snapshot and no operation reads a page meanwhile.
    private func adoptFile() throws(StorageError) {
        var opening = options.withoutEvents
        opening.background = .manual
        opening.statisticsInterval = nil
        opening.encryption = currentEncryption
        let other = try Store(borrowing: dataFile.file, path: path, options: opening)
        try other.close()
        // A store that has failed closes without a checkpoint.
        if let reason = other.pipeline.lock.withLock({ other.pipeline.failure?.reason }) {
            throw .readOnly(reason: reason)
        }
        guard other.newest.commit >= life.suspendedCommit else { throw .replaced(path: path) }
        let filePages = try storage { () throws(FileError) in try dataFile.file.size() } / UInt64(pageBytes)
        // Pages of the former version may have other contents in the file now.
        frames.discardPages()
        frames.cover(below: filePages)
        dataFile.adopt(other.dataFile)
        checkpointer.adopt(other.checkpointer, self)
        versions.adopt(other.versions, filePages: filePages)
        pipeline.lock.withLock {
            pipeline.log.closeFiles()
            pipeline.log.adopt(
                LogReader.Tail(
                    end: checkpointer.last.meta.log, lastCommit: other.newest.commit,
                    highestNumber: other.pipeline.log.highestNumber))
        }
        pipeline.adopt(other.newest)
        countSpace()
    }

    /// Another process that has committed nothing may have cut off unused pages.
    private func noteFileSize() throws(StorageError) {
        let pages = try storage { () throws(FileError) in try dataFile.file.size() } / UInt64(pageBytes)
        versions.lock.withLock { if pages < versions.room.pages { versions.room = FileRoom(pages: pages) } }
    }

    /// Takes the file of a suspended store again, for its end, if it has left a log and no other process has used the file
    /// since. Otherwise the log is the next process's.
    func reclaimFile() -> Bool {
        guard pipeline.log.hasFiles else { return false }
        do throws(StorageError) {
            try lockFile(within: .zero)
            if try hasForeignCommits() { return false }
            dataFile.lock.withLock { dataFile.isReleased = false }
            versions.showAgain()
            return true
        } catch { return false }
    }

    /// Opens the file of another store, which holds its lock and does not use it meanwhile.
    convenience init(borrowing file: any File, path: String, options: StoreOptions) throws(StorageError) {
        try self.init(Opening(of: BorrowedFile(file), path: path, options: options))
    }

    private func prepareView(_ prepare: (Snapshot, Bool) -> Bool) throws(StorageError) -> Bool {
        let view = try claimSnapshot(hasAge: false, nil)
        let hasNews = view.commitNumber != life.suspendedCommit
        guard prepare(view, hasNews) else { throw .suspended(path: path) }
        return hasNews
    }

    // MARK: Read-only stores

    /// Closes the file, and with it the pin.
    private func suspendReader(_ follower: Follower) {
        follower.lock.withLock {
            life.suspend(at: (follower.successor ?? self).newest.commit)
            endSnapshots()
            for successor in follower.successors {
                successor.endSnapshots()
                // A store that reads writes nothing when it is closed, so that nothing is lost with the error.
                do throws(StorageError) { try successor.close() } catch {}
            }
            follower.hand(over: self, to: nil)
            waitForOperations()
            follower.empty(self)
        }
    }

    /// Opens the file again, as `refresh()` does when the writer has released what the store builds on.
    private func resumeReader(_ follower: Follower, _ prepare: (Snapshot, Bool) -> Bool) throws(StorageError) -> Bool {
        try follower.lock.withLock { () throws(StorageError) in
            try requireUnclosed()
            var opening = options.withoutEvents
            opening.cacheBytes = frames.wholeBudgetFrames * pageBytes
            let next = try Store(at: path, options: opening)
            let view = try next.snapshot()
            let hasNews = view.commitNumber != life.suspendedCommit
            guard prepare(view, hasNews) else {
                view.close()
                try next.close()
                throw .suspended(path: path)
            }
            follower.hand(over: self, to: next)
            life.resume()
            return hasNews
        }
    }
}
