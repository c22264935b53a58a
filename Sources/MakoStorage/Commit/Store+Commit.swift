// A commit, from top to bottom. Everything up to the append may fail and fails this transaction alone; a failed write or sync of the log
// afterwards makes the store read-only, because what the device kept is unknown. A write that the system refused outright has left
// nothing there: CommitPipeline+Refusal.swift. The table in CommitPipeline.swift numbers the steps.
extension Store {
    func commit(_ writer: Writer, _ durability: Durability) throws(StorageError) {
        do throws(StorageError) { try commitOrHold(writer, durability, isShown: false) } catch {
            rollback(writer)
            throw error
        }
    }

    /// Commits; what is kept out of the log is taken back, but the turn is left to the caller, who gives it up by rolling back.
    ///
    /// - Parameter isShown: whether to wait until new snapshots show the commit, and what was there before it, whatever the durability.
    func commitOrHold(_ writer: Writer, _ durability: Durability, isShown: Bool) throws(StorageError) {
        // A transaction that was open at the fork is a copy of the parent's, in which it goes on.
        guard !isInherited else { throw .inherited(path: path) }
        // Buffered changes before all steps, because the frame and the version must have the same entries.
        try finish(writer)
        guard writer.hasChanges else {
            if isShown { pipeline.noteWaiter() }
            rollback(writer)
            if isShown { try pipeline.waitUntilPublished(writer.base.commit) }
            return
        }
        guard writer.isRecording else {
            try commitByCheckpoint(writer)
            return
        }
        let publication: CommitPipeline.Publication
        let flushDue: UInt64
        do throws(StorageError) {
            // 1. Log room before data pages, because what is left of a full disk must not go to the data file when the log has no segment.
            // Both before the append, because from there on a failure is the store's.
            let beginsSegment = try reserve(payload: writer.memory.operations.bytes.count, for: writer)
            try reservePages(for: writer)
            let point = try takeSerial()
            // 2. Removed pages before the append, because the flush that publishes the commit frees them.
            writer.gatherFreed()
            // 3. Append with the writer lock, because the log has the order of the commits.
            (publication, flushDue) = try pipeline.append(
                writer, point: point, durability, isShown: isShown, beginsSegment: beginsSegment)
        } catch {
            takeBack(writer)
            throw error
        }
        let version = newest
        // 4. Publish before the writer lock is released, because the next commit may be published at once too.
        if publication == .atOnce { versions.publish(version, &writer.lists.changed) }
        // 5. Release the writer lock before the group is written, because the next transactions join the group after it.
        releaseTurn(of: writer)
        switch publication {
        case .atOnce: pipeline.notePublished(version.commit)
        // 6. to 12. `CommitPipeline.writeGroup`, by this thread or by another committer's.
        case .awaited: try pipeline.waitUntilPublished(version.commit)
        case .later: break
        }
        if flushDue != .max && options.background == .threads { background.flusher.wake(self, at: flushDue) }
    }

    /// Enters what the transaction has buffered into its trees.
    private func finish(_ writer: Writer) throws(StorageError) {
        // What fails here is noted as the transaction's failure.
        do throws(StorageError) {
            try writer.enterWaitingPuts()
            try writer.packLeaves()
            if writer.hasStaleCounts { try writer.settleCounts() }
        } catch {}
        if let failure = writer.failure {
            takeBack(writer)
            throw failure
        }
    }

    func rollback(_ writer: Writer) {
        takeBack(writer)
        releaseTurn(of: writer)
    }

    func takeBack(_ writer: Writer) {
        guard !writer.isEnded, !isInherited else { return }
        writer.abandon()
        forgetPages(of: writer)
    }

    func releaseTurn(of writer: Writer) {
        guard writer.hasTurn, !isInherited else { return }
        writer.hasTurn = false
        writer.rest()
        turn.release()
    }

    // MARK: Log room

    /// Sees to it that a frame fits the segment in use.
    ///
    /// - Parameters:
    ///   - writer: whose frame it is.
    ///   - isCheckpointing: the caller has the checkpointer's lock.
    /// - Returns: whether another segment was begun for it.
    @discardableResult
    func reserve(payload: Int, for writer: Writer, isCheckpointing: Bool = false) throws(StorageError) -> Bool {
        let (isReady, isBehind) = try pipeline.lock.withLock { () throws(StorageError) in
            try pipeline.checkWritable()
            return (pipeline.log.hasRoom(payload: payload), pipeline.log.closedEnd != nil)
        }
        if isReady { return false }
        // A writer that is faster than the device waits for it here: no more than the end of one segment is kept in memory.
        if isBehind { try flush(.durable) }
        do throws(FileError) { try addSegment(payload) } catch {
            guard error.isNoSpace else { throw failed(error, "adding a log segment") }
            // The checkpoint's own pages are among those that were taken ahead.
            writer.returnUnusedNumbers()
            versions.lock.withLock { forgetPagesBehindTheFile() }
            // Behind a checkpoint no segment is needed: the room of those that there are will do for the next.
            if isCheckpointing { try finish() } else { try checkpointer.lock.withLock(finish) }
            do throws(FileError) { try addSegment(payload) } catch { throw failed(error, "adding a log segment") }
        }
        return true
    }

    private func addSegment(_ payload: Int) throws(FileError) {
        try pipeline.lock.withLock { () throws(FileError) in
            guard !pipeline.log.hasRoom(payload: payload) else { return }
            try pipeline.log.addSegment()
        }
    }

    /// Publishes everything committed until now, and has the log reach a level with it.
    func flush(_ level: FlushLevel) throws(StorageError) { try pipeline.flush(level) }

    /// The error to throw for a failed file operation; a failed sync makes the store read-only.
    func failed(_ error: FileError, _ what: String) -> StorageError { pipeline.failed(error, what) }

    /// The latest commit, published or not. Guarded by the writer lock.
    var newest: Version { pipeline.newest }

    var snapshots: SnapshotRegistry { versions.snapshots }
    var clock: StoreClock { pipeline.clock }

    /// Gives back the page numbers that the next transaction has in hand. The caller has the turn.
    func returnIdleNumbers() {
        versions.giveBack(turn.idleLists.pages)
        turn.idleLists.pages = []
    }
}
