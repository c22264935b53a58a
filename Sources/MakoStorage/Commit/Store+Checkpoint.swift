extension Store {
    /// Brings the data file up to the latest commit, so that less log has to be replayed after a crash.
    ///
    /// Stores do this by themselves in the background. Readers and the writer go on meanwhile.
    ///
    /// - Throws: ``StorageError/diskFull(path:)`` and I/O errors; nothing is lost then, the log still has it all.
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

    /// Makes a writer that is faster than the checkpoint write pages itself, when those that only memory has take half of the budget.
    func relieveMemory() {
        while frames.dirtyFrames > frames.budgetFrames / 2 {
            // Only when it is high time a writer waits for the device that the checkpoint waits for.
            let isUrgent = frames.dirtyFrames > frames.budgetFrames / 4 * 3
            if isUrgent { checkpointer.lock.lock() } else if !checkpointer.lock.tryLock() { return }
            defer { checkpointer.lock.unlock() }
            // What fails here is tried again by the checkpoint, and told by it.
            do throws(StorageError) {
                guard try checkpointer.writeAhead(self), isUrgent else { return }
            } catch { return }
        }
    }

    /// Commits a transaction that is too large for the log: its pages go to the data file, and the metas follow.
    ///
    /// The log gets a barrier, so that no older checkpoint can later pass for the state before this commit. Data
    /// and tables are written and synced first: when the disk is full the transaction fails alone.
    func commitByCheckpoint(_ writer: Writer) throws(StorageError) {
        checkpointer.lock.lock()
        defer { checkpointer.lock.unlock() }
        let request: CheckpointRequest
        do throws(StorageError) {
            try flush(.durable)
            try checkpointer.runToEnd(self)
            try reserve(payload: 0, for: writer, isCheckpointing: true)
            try reservePages(for: writer, isCheckpointing: true)
            writer.returnUnusedNumbers()
            let point = try takeSerial()
            let position = pipeline.lock.withLock { pipeline.log.position }
            let version = Version(of: writer, commit: newest.commit + 1, point: point, log: position)
            writer.gatherFreed()
            request = CheckpointRequest(
                version: version, allocated: writer.allocated, freed: writer.freed,
                basePoint: writer.base.point, writesBarrier: true, fillsBothSlots: true)
            try checkpointer.checkpoint(self, request)
        } catch {
            takeBack(writer)
            throw error
        }
        writer.isEnded = true
        finishLargeCommit(request)
        releaseTurn(of: writer)
    }

    /// Publishes a commit that is durable by its checkpoint.
    private func finishLargeCommit(_ request: CheckpointRequest) {
        let committed = request.version
        let version = Version(
            commit: committed.commit, point: committed.point, trees: committed.trees, treeCount: committed.treeCount,
            nextTreeID: committed.nextTreeID, names: committed.names, log: checkpointer.last.meta.log)
        versions.publish(version, freed: request.freed)
        pipeline.adopt(version)
    }

    /// Writes and syncs the barrier of a commit; returns the position behind it.
    func writeBarrier(commit: UInt64) throws(StorageError) -> LogPosition {
        let position = pipeline.lock.withLock { pipeline.log.appendBarrier(commit: commit) }
        try flush(.durable)
        return position
    }

    // MARK: Page writing

    /// Writes those of `pages` that are dirty to their slots, neighbours together, without syncing.
    ///
    /// A large batch starts on the device at once, which works while the next pages are made.
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
