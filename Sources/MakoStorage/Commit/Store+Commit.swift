// A commit, from top to bottom. A failure before the append fails this transaction alone. A failed write or sync of the
// log makes the store read-only, because the state of the device is unknown; for a write that the system refused see
// CommitPipeline+Refusal.swift. The table in CommitPipeline.swift numbers the steps.
extension Store {
    func commit(_ writer: Writer, _ durability: Durability) throws(StorageError) {
        do throws(StorageError) { try commitKeepingLock(writer, durability, isShown: false) } catch {
            rollback(writer)
            throw error
        }
    }

    /// Commits. After an error before the append, undoes the transaction but keeps the writer lock; the caller releases
    /// it by a rollback.
    ///
    /// - Parameter isShown: whether to wait until new snapshots see this commit and all before it, at every durability.
    func commitKeepingLock(_ writer: Writer, _ durability: Durability, isShown: Bool) throws(StorageError) {
        // A transaction that was open at the fork is a copy; the parent continues the original.
        guard !isInherited else { throw .inherited(path: path) }
        // Buffered changes before all steps, because the frame and the version must have the same entries.
        try finish(writer)
        guard writer.hasChanges else {
            if isShown { pipeline.noteWaiter() }
            rollback(writer)
            if isShown { try pipeline.waitUntilPublished(writer.base.commit) }
            return
        }
        needBackground()
        guard writer.isRecording else {
            try commitByCheckpoint(writer, durability)
            return
        }
        let publication: CommitPipeline.Publication
        let flushDue: UInt64
        do throws(StorageError) {
            // 1. Log space before data pages, because on a nearly full disk the data file must not take the space of
            //    the next log segment. Both before the append, because a failure after it is the store's, not this
            //    transaction's.
            let beginsSegment = try reserve(payload: writer.memory.operations.bytes.count, for: writer)
            try reservePages(for: writer)
            let point = try takeWriteID()
            // 2. Gather the removed pages before the append, because the flush that publishes the commit frees them.
            writer.gatherFreed()
            // 3. Append under the writer lock, because the log must have the order of the commits.
            (publication, flushDue) = try pipeline.append(
                writer, point: point, durability, isShown: isShown, beginsSegment: beginsSegment)
        } catch {
            assert(
                !writer.holdsWriterLock || newest === writer.base,
                "invariant 9: no transaction builds on one that fails alone")
            rollBack(writer)
            throw error
        }
        let version = newest
        // 4. Publish before the writer lock is released, because the next commit may be published at once too, and
        //    versions are published in order.
        if publication == .atOnce { versions.publish(version, &writer.lists.changed) }
        // 5. Release the writer lock before the group is written, because the next transactions can then join the next
        //    group.
        releaseWriterLock(of: writer)
        switch publication {
        case .atOnce: pipeline.notePublished(version.commit)
        // 6. to 12. `CommitPipeline.writeGroup`, in this thread or in another committer's.
        case .awaited: try pipeline.waitUntilPublished(version.commit)
        case .later: break
        }
        if flushDue != .max && options.background == .threads { background.flusher.wake(self, at: flushDue) }
    }

    /// Applies the buffered inserts, leaf packing and subtree counts of the transaction to its trees.
    private func finish(_ writer: Writer) throws(StorageError) {
        // A failure here is in `writer.failure` too.
        do throws(StorageError) {
            try writer.applyBufferedPuts()
            try writer.packLeaves()
            if writer.hasStaleCounts { try writer.settleCounts() }
        } catch {}
        if let failure = writer.failure {
            rollBack(writer)
            throw failure
        }
    }

    func rollback(_ writer: Writer) {
        rollBack(writer)
        releaseWriterLock(of: writer)
    }

    func rollBack(_ writer: Writer) {
        guard !writer.isEnded, !isInherited else { return }
        writer.abandon()
        forgetPages(of: writer)
    }

    func releaseWriterLock(of writer: Writer) {
        guard writer.holdsWriterLock, !isInherited else { return }
        writer.holdsWriterLock = false
        writer.rest()
        writerLock.release()
    }

    // MARK: Log space

    /// Reserves log space for a frame: starts a segment if the frame does not fit the current one.
    ///
    /// - Parameters:
    ///   - writer: the writer of the frame.
    ///   - isCheckpointing: whether the caller holds the checkpointer's lock.
    /// - Returns: whether a segment was started.
    @discardableResult
    func reserve(payload: Int, for writer: Writer, isCheckpointing: Bool = false) throws(StorageError) -> Bool {
        let (isReady, isBehind) = try pipeline.lock.withLock { () throws(StorageError) in
            try pipeline.checkWritable()
            if !isCheckpointing && !pipeline.confirmation.queue.isEmpty { try pipeline.checkUnconfirmedBytes() }
            return (pipeline.log.hasRoom(payload: payload), pipeline.log.closedEnd != nil)
        }
        if isReady { return false }
        // A writer that is faster than the device waits here, because memory holds the closed group of at most one
        // segment.
        if isBehind { try flush(.durable) }
        do throws(FileError) { try addSegment(payload) } catch {
            guard error.isNoSpace else { throw failed(error, "adding a log segment") }
            // Return the pages that were taken ahead, because the checkpoint's own pages are among them.
            writer.returnUnusedNumbers()
            versions.lock.withLock { forgetPagesBehindTheFile() }
            // Checkpoint, because it releases segments whose files the next segment can reuse.
            try releaseLog(after: error, isCheckpointing: isCheckpointing)
            do throws(FileError) { try addSegment(payload) } catch { throw failed(error, "adding a log segment") }
        }
        return true
    }

    /// Writes a checkpoint and removes the log, after a segment found no space.
    private func releaseLog(after error: FileError, isCheckpointing: Bool) throws(StorageError) {
        do throws(StorageError) {
            if isCheckpointing { try finish() } else { try checkpointer.lock.withLock(finish) }
        } catch let failure {
            // The log of unconfirmed commits stays. `unconfirmed` would say that this transaction is in it, too.
            guard case .unconfirmed = failure else { throw failure }
            throw failed(error, "adding a log segment")
        }
    }

    private func addSegment(_ payload: Int) throws(FileError) {
        try pipeline.lock.withLock { () throws(FileError) in
            guard !pipeline.log.hasRoom(payload: payload) else { return }
            try pipeline.log.addSegment()
        }
    }

    /// Makes everything committed until now visible to snapshots, commits of ``Durability/async`` too.
    package func publishCommits() throws(StorageError) {
        try requireOpen()
        if !options.readOnly { try flush(.written) }
    }

    /// Publishes all earlier commits, and brings the log up to them to a level.
    func flush(_ level: FlushLevel) throws(StorageError) { try pipeline.flush(level) }

    /// Returns the error to throw for a failed file operation; after a failed sync, makes the store read-only.
    func failed(_ error: FileError, _ what: String) -> StorageError { pipeline.failed(error, what) }

    /// The latest commit, published or not. Guarded by the writer lock.
    var newest: Version { pipeline.newest }

    var snapshots: SnapshotRegistry { versions.snapshots }
    var clock: StoreClock { pipeline.clock }

    /// Returns the page ids that were taken for the next transaction. The caller must hold the writer lock.
    func returnIdleNumbers() {
        versions.giveBack(writerLock.idleLists.pages)
        writerLock.idleLists.pages = []
    }
}
