// Flusher, checkpointer and evictor as one state machine. With `.threads` the background thread drives it. With
// `.manual` the caller drives it step by step, and nothing happens in between.
extension Store {
    /// Does one piece of background work: a flush of `async` commits, a step of the checkpoint, the next log segment, a
    /// round of the evictor, or in an idle store a step of the vacuum.
    ///
    /// - Returns: whether there was work to do.
    /// - Throws: the error of the work. It loses no data; see ``Durability`` for failed syncs.
    public func step() throws(StorageError) -> Bool {
        if options.readOnly || !life.isOpen || isInherited { return false }
        defer { events?.deliver() }
        noteStatistics()
        if isFlushDue {
            try flush(.durable)
            return true
        }
        if endOldSnapshots() { return true }
        // Check the log before each step of a checkpoint, because a checkpoint has many steps, and a writer without a
        // spare segment must wait until a file is created, and then syncs metadata.
        if try lookAfterLog() { return true }
        if try stepCheckpoint() { return true }
        frames.returnTable()
        if frames.evictionStep() { return true }
        if try checkpointWhenIdle() { return true }
        return options.shrinksWhenIdle ? try background.vacuum.step(self) : false
    }

    /// Starts the background thread, if it does not run and is wanted. If the system has no thread to give, the next commit
    /// tries again; until then the log grows, and committers prepare its segments.
    @inline(__always)
    func needBackground() {
        if !background.isRunning { startBackground() }
    }

    @inline(never)
    private func startBackground() {
        guard options.background == .threads, !options.readOnly, !isInherited else { return }
        do throws(StorageError) { try background.startUnlessStopped(for: self) } catch {}
    }

    /// Starts the background thread at opening if a step may have work before the first commit: recovery left a log, the
    /// file is to be shrunk, or snapshots, statistics or events are looked after by time.
    func startBackgroundIfDue() throws(StorageError) {
        guard options.background == .threads, !options.readOnly else { return }
        var isDue = options.snapshotAgeLimit != nil || options.statisticsInterval != nil || events != nil
        isDue = isDue || recovery.replayedCommits > 0 || options.logArchiveBytes > 0
        if !isDue && options.shrinksWhenIdle { isDue = (try? Vacuum.isDue(in: self)) ?? true }
        if isDue { try background.startUnlessStopped(for: self) }
    }

    /// The time in milliseconds, not 0.
    var milliseconds: UInt64 { clock.now / 1_000_000 + 1 }

    /// Ends the snapshots that exceed the age limit, in two steps: first they accept no new reads; when all operations
    /// that began before have ended, their pages are released. So a running read, or a borrowed value, stays valid to
    /// its end.
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

    /// Does work ahead of time for which a committer would otherwise wait.
    ///
    /// - Returns: whether there was work to do.
    func lookAfterLog() throws(StorageError) -> Bool {
        if try pipeline.prepareSegment() { return true }
        return try raiseHighWaterMarkAhead()
    }

    private func stepCheckpoint() throws(StorageError) -> Bool {
        // Not while writes are refused: the checkpoint would wait for the log, fail and start again.
        guard !pipeline.hasRefused.load(ordering: .relaxed), checkpointer.lock.tryLock() else { return false }
        defer { checkpointer.lock.unlock() }
        if checkpointer.isRunning {
            _ = try checkpointer.step(self)
            return true
        }
        guard needsCheckpoint else { return false }
        return try checkpointer.begin(self)
    }

    /// Writes a checkpoint if one is due: for a store with manual background work whose log grows.
    package func checkpointIfDue() throws(StorageError) { if needsCheckpoint { try checkpoint() } }

    /// Whether a checkpoint is due, by the bytes of log or by the share of dirty pages.
    private var needsCheckpoint: Bool {
        guard let logged = bytesToReplay else { return false }
        if logged > UInt64(clamping: options.checkpointBytes) { return true }
        return frames.dirtyFrames > frames.budgetFrames / 4 && versions.lock.withLock { !versions.dirtyPages.isEmpty }
    }

    /// The bytes of log since the last checkpoint; nil if the store has failed.
    private var bytesToReplay: UInt64? { pipeline.bytes(since: checkpointer.last.meta.log.lsn) }

    /// Whether the next opening replays the log so fast that it needs no checkpoint.
    var isQuicklyReplayed: Bool { bytesToReplay.map { $0 < Store.idleLogBytes } ?? false && !needsCheckpoint }

    /// Begins a checkpoint if the store is idle and the log is long enough to slow down the next opening.
    private func checkpointWhenIdle() throws(StorageError) -> Bool {
        guard checkpointer.lock.tryLock() else { return false }
        defer { checkpointer.lock.unlock() }
        guard let logged = bytesToReplay, logged >= Store.idleLogBytes else { return false }
        return try checkpointer.beginWhenIdle(self)
    }

    /// The bytes of log that are replayed in some ten milliseconds; for less an idle store takes no checkpoint.
    static let idleLogBytes: UInt64 = 1 << 20
}
