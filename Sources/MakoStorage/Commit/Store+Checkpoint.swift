extension Store {
    /// Writes the latest commit to the data file, so that recovery has less log to replay.
    ///
    /// The store takes checkpoints in the background by itself. Readers and the writer continue during a checkpoint.
    ///
    /// - Throws: ``StorageError/diskFull(path:)`` and I/O errors. After an error nothing is lost, because the log still
    ///   has all commits.
    public func checkpoint() throws(StorageError) {
        try requireOpen()
        if options.readOnly { throw .readOnly(reason: "it was opened so") }
        defer { events?.deliver() }
        try flush(.durable)
        try checkpointer.lock.withLock { () throws(StorageError) in
            try checkpointer.runToEnd(self)
            if try checkpointer.begin(self) { try checkpointer.runToEnd(self) }
        }
    }

    /// Makes a writer that is faster than the checkpoint write pages itself while dirty frames take more than half of
    /// the cache.
    func relieveMemory() {
        while frames.dirtyFrames > frames.budgetFrames / 2 {
            // Above three quarters, the writer waits for the checkpoint's writes; below, it only helps if the
            // checkpointer is free.
            let isUrgent = frames.dirtyFrames > frames.budgetFrames / 4 * 3
            if isUrgent { checkpointer.lock.lock() } else if !checkpointer.lock.tryLock() { return }
            defer { checkpointer.lock.unlock() }
            // The next checkpoint tries again, and reports the error.
            do throws(StorageError) {
                guard try checkpointer.writeAhead(self), isUrgent else { return }
            } catch { return }
        }
    }

    /// Commits a transaction that is too large for the log: writes its pages to the data file, then the metas.
    ///
    /// The log gets a barrier frame, so that recovery never takes an older checkpoint for the state before this commit.
    /// Data and tables are written and synced before the barrier, so that a full disk fails this transaction alone.
    ///
    /// A commit that waits for confirmation is published before it is confirmed, because only a backup has it.
    func commitByCheckpoint(_ writer: Writer, _ durability: Durability) throws(StorageError) {
        let commit = try publishByCheckpoint(writer, awaitsConfirmation: durability.awaitsConfirmation)
        if let commit { try pipeline.waitUntilPublished(commit) }
    }

    /// - Returns: the commit, if the caller must wait for its confirmation.
    private func publishByCheckpoint(_ writer: Writer, awaitsConfirmation: Bool) throws(StorageError) -> UInt64? {
        // Before the checkpointer's lock, because the backup that confirms an earlier commit takes it.
        do throws(StorageError) { try pipeline.waitUntilConfirmed() } catch {
            rollBack(writer)
            throw error
        }
        checkpointer.lock.lock()
        defer { checkpointer.lock.unlock() }
        let request: CheckpointRequest
        do throws(StorageError) {
            try flush(.durable)
            try checkpointer.runToEnd(self)
            try reserve(payload: 0, for: writer, isCheckpointing: true)
            try reservePages(for: writer, isCheckpointing: true)
            writer.returnUnusedNumbers()
            let point = try takeWriteID()
            let position = pipeline.lock.withLock { pipeline.log.position }
            let version = Version(of: writer, commit: newest.commit + 1, point: point, log: position)
            writer.gatherFreed()
            // The freed pages become a list of the space map, and the checkpoint copies bitmaps.
            writer.countLists(commitBytes: writer.freed.bytes + versions.lock.withLock { versions.space.bitmapBytes })
            request = CheckpointRequest(
                version: version, allocated: writer.allocated, freed: writer.freed,
                basePoint: writer.base.point, writesBarrier: true, fillsBothSlots: true)
            try checkpointer.checkpoint(self, request)
        } catch {
            rollBack(writer)
            throw error
        }
        writer.isEnded = true
        let waits =
            awaitsConfirmation && pipeline.holdLargeCommit(request.version.commit, checkpointer.last.meta.log.lsn)
        finishLargeCommit(request)
        releaseWriterLock(of: writer)
        return waits ? request.version.commit : nil
    }

    /// Publishes a commit that its checkpoint has made durable.
    private func finishLargeCommit(_ request: CheckpointRequest) {
        let committed = request.version
        let version = Version(
            commit: committed.commit, point: committed.point, trees: committed.treeTable,
            nextTreeID: committed.nextTreeID, names: committed.names, log: checkpointer.last.meta.log)
        versions.publish(version, freed: request.freed)
        countSpace()
        pipeline.adopt(version)
    }

    /// Writes and syncs the barrier frame of a commit. Returns the position after it.
    func writeBarrier(commit: UInt64) throws(StorageError) -> LogPosition {
        let position = pipeline.lock.withLock { pipeline.log.appendBarrier(commit: commit) }
        try flush(.durable)
        return position
    }

    // MARK: Page writing

    /// Writes those of `pages` that are dirty to the data file, neighbours together, without a sync.
    ///
    /// For a large batch, starts the writing to the device at once, while the next pages are prepared.
    func writePages(_ pages: [UInt64]) throws(StorageError) {
        let sorted = pages.sorted()
        var writer = PageWriter(frames: frames, pages: sorted.count)
        var previous: UInt64?
        for page in sorted where page != previous {
            try writer.add(page)
            previous = page
        }
        try writer.flush()
        if sorted.count >= Checkpointer.pagesPerStep, let first = sorted.first, let last = sorted.last {
            dataFile.file.startWriting(
                at: first * UInt64(pageBytes), count: Int(last - first + 1) * pageBytes)
        }
    }
}
