// Flusher, checkpointer and evictor as one state machine. With `.threads` the store's own thread drives it; with
// `.manual` the caller does, step by step, and nothing happens in between.
extension Store {
    /// Does one piece of background work: a flush of what `async` commits left, a step of the checkpoint, the next
    /// log segment, a round of the evictor, and when nothing happens for a while a part of a vacuum.
    ///
    /// - Returns: whether there was anything to do.
    /// - Throws: what the piece of work met. Nothing is lost by it; see ``Durability`` for failed syncs.
    public func step() throws(StorageError) -> Bool {
        if options.readOnly || isClosed.load(ordering: .acquiring) || isInherited { return false }
        defer { events?.deliver() }
        noteStatistics()
        if isFlushDue {
            try flush(.durable)
            return true
        }
        if endOldSnapshots() { return true }
        // Before a step of the checkpoint: there are many, and a writer that finds no segment waits for the zeros of a new one.
        if try lookAfterLog() { return true }
        if try stepCheckpoint() { return true }
        if frames.evictionStep() { return true }
        if try checkpointWhenIdle() { return true }
        return options.shrinksWhenIdle ? try background.vacuum.step(self) : false
    }

    /// The time in milliseconds, not 0.
    var milliseconds: UInt64 { clock.now / 1_000_000 + 1 }

    /// Ends the snapshots that are older than the options allow, in two steps: first they read no more, and when all operations that had
    /// begun by then have ended their pages are let go of. So whoever is in the middle of a read, or was lent bytes, reads to the end.
    func endOldSnapshots() -> Bool {
        guard snapshots.expiryLock.tryLock() else { return false }
        defer { snapshots.expiryLock.unlock() }
        var didWork = false
        while let first = snapshots.expiring.first, Epochs.hasPassed(first.epoch) {
            for slot in first.slots { keepTrees(of: slot) }
            snapshots.endExpiry(first.slots)
            snapshots.expiring.removeFirst()
            versions.lock.withLock {
                versions.releasePages()
                versions.forgetRecycled()
            }
            didWork = true
        }
        let old = snapshots.age(
            to: milliseconds, limit: options.snapshotAgeLimit.map { $0.nanoseconds / 1_000_000 } ?? .max)
        guard !old.isEmpty else { return didWork }
        if let limit = options.snapshotAgeLimit {
            events?.note(.snapshotsExpired(count: old.count, limitSeconds: limit.seconds))
        }
        snapshots.expiring.append((Epochs.retire(), old))
        return true
    }

    private var isFlushDue: Bool {
        pipeline.isFlushDue(ignoringTime: options.background == .manual && options.clock == nil)
    }

    /// Does ahead of time what a committer would have to wait for.
    ///
    /// - Returns: whether there was anything to do.
    func lookAfterLog() throws(StorageError) -> Bool {
        if try pipeline.prepareSegment() { return true }
        return try raiseCeilingAhead()
    }

    private func stepCheckpoint() throws(StorageError) -> Bool {
        // One that waits for a log that is refused would begin again and again.
        guard !pipeline.hasRefused.load(ordering: .relaxed), checkpointer.lock.tryLock() else { return false }
        defer { checkpointer.lock.unlock() }
        if checkpointer.isRunning {
            _ = try checkpointer.step(self)
            return true
        }
        guard needsCheckpoint else { return false }
        return try checkpointer.begin(self)
    }

    /// By logged bytes, or by the share of memory that is dirty.
    private var needsCheckpoint: Bool {
        guard let logged = bytesToReplay else { return false }
        if logged > UInt64(clamping: options.checkpointBytes) { return true }
        return frames.dirtyFrames > frames.budgetFrames / 4 && versions.lock.withLock { !versions.dirtyPages.isEmpty }
    }

    /// Log bytes since the last checkpoint; nil when the store has failed.
    private var bytesToReplay: UInt64? { pipeline.bytes(since: checkpointer.last.meta.log.lsn) }

    /// Begins a checkpoint when nothing was committed for a while and the log is long enough to be felt at the next opening.
    private func checkpointWhenIdle() throws(StorageError) -> Bool {
        guard checkpointer.lock.tryLock() else { return false }
        defer { checkpointer.lock.unlock() }
        guard let logged = bytesToReplay, logged >= Store.idleLogBytes else { return false }
        return try checkpointer.beginWhenIdle(self)
    }

    /// A log of less is replayed in some ten milliseconds, and not worth waking the disk.
    static let idleLogBytes: UInt64 = 1 << 20
}
