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
        return options.shrinksWhenIdle ? try vacuum.step(self) : false
    }

    /// The time in milliseconds, not 0.
    var milliseconds: UInt64 { clock.now / 1_000_000 + 1 }

    /// Ends the snapshots that are older than the options allow, in two steps: first they read no more, and when all operations that had
    /// begun by then have ended their pages are let go of. So whoever is in the middle of a read, or was lent bytes, reads to the end.
    func endOldSnapshots() -> Bool {
        guard expiryLock.tryLock() else { return false }
        defer { expiryLock.unlock() }
        var didWork = false
        while let first = expiring.first, Epochs.hasPassed(first.epoch) {
            for slot in first.slots { keepTrees(of: slot) }
            snapshots.endExpiry(first.slots)
            expiring.removeFirst()
            spaceLock.withLock {
                _ = seenPoints()
                forgetRecycled()
            }
            didWork = true
        }
        let old = snapshots.age(
            to: milliseconds, limit: options.snapshotAgeLimit.map { $0.nanoseconds / 1_000_000 } ?? .max)
        guard !old.isEmpty else { return didWork }
        if let limit = options.snapshotAgeLimit {
            events?.note(.snapshotsExpired(count: old.count, limitSeconds: limit.seconds))
        }
        expiring.append((Epochs.retire(), old))
        return true
    }

    /// Whether `async` commits have waited long enough. Others see to themselves.
    private var isFlushDue: Bool {
        commitLock.withLock {
            guard latch == nil, !isFlushing else { return false }
            if options.background == .manual && options.clock == nil {
                return !pending.isEmpty || log.written < log.position.lsn || flushDue != .max
            }
            return flushDue != .max && clock.now >= flushDue
        }
    }

    /// Does ahead of time what a committer would have to wait for.
    ///
    /// - Returns: whether there was anything to do.
    func lookAfterLog() throws(StorageError) -> Bool {
        if try prepareSegment() { return true }
        return try raiseCeilingAhead()
    }

    /// Makes the next log segment ready, so that no committer has to wait for its zeros.
    ///
    /// One thread at a time, and not again soon when it failed: other work may be what gives the disk its room back.
    private func prepareSegment() throws(StorageError) -> Bool {
        let isWanted = commitLock.withLock {
            guard latch == nil, log.wantsSpare, clock.now >= spareDue else { return false }
            spareDue = .max
            return true
        }
        guard isWanted else { return false }
        do throws(FileError) { try log.makeSpare() } catch {
            let again = clock.now + Store.spareDelay
            commitLock.withLock { spareDue = again }
            throw StorageError(error)
        }
        commitLock.withLock {
            log.noteSpare()
            spareDue = 0
        }
        return true
    }

    /// Two seconds, in nanoseconds.
    private static let spareDelay: UInt64 = 2_000_000_000

    private func stepCheckpoint() throws(StorageError) -> Bool {
        // One that waits for a log that is refused would begin again and again.
        guard !hasRefused.load(ordering: .relaxed), checkpointer.lock.tryLock() else { return false }
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
        return frames.dirtyFrames > frames.budgetFrames / 4 && spaceLock.withLock { !dirtyPages.isEmpty }
    }

    /// Log bytes since the last checkpoint; nil when the log is latched.
    private var bytesToReplay: UInt64? {
        let since = checkpointer.last.meta.log.lsn
        return commitLock.withLock { latch == nil ? log.bytes(since: since) : nil }
    }

    /// Begins a checkpoint when nothing was committed for a while and the log is long enough to be felt at the next opening.
    private func checkpointWhenIdle() throws(StorageError) -> Bool {
        guard checkpointer.lock.tryLock() else { return false }
        defer { checkpointer.lock.unlock() }
        guard let logged = bytesToReplay, logged >= Store.idleLogBytes else { return false }
        return try checkpointer.beginWhenIdle(self)
    }

    /// A log of less is replayed in some ten milliseconds, and not worth waking the disk.
    static let idleLogBytes: UInt64 = 1 << 20

    // MARK: The thread

    func startBackground() throws(StorageError) {
        let weak = WeakStore(self)
        thread = try storage { () throws(FileError) in
            try startThread(name: "mako") { Store.runBackground(weak) }
        }
    }

    func stopBackground() {
        let running = backgroundLock.withLock {
            isStopping = true
            backgroundWork.broadcast()
            defer { thread = nil }
            return thread
        }
        running?.join()
        flusher.stop()
    }

    /// Runs until the store is closed or gone. It holds the store only while it works.
    private static func runBackground(_ weak: WeakStore) {
        while true {
            guard let store = weak.store else { return }
            if store.backgroundLock.withLock({ store.isStopping }) { return }
            // A failure is kept by whoever met it: the latch, or the checkpointer, which tries again later.
            let didWork = (try? store.step()) ?? false
            if didWork { continue }
            if store.waitForWork() { return }
        }
    }

    /// Waits for a signal, or a tenth of a second. True when the thread is to end.
    private func waitForWork() -> Bool {
        backgroundLock.withLock {
            if isStopping { return true }
            _ = backgroundWork.wait(backgroundLock, timeout: .milliseconds(100))
            return isStopping
        }
    }
}
