import Synchronization

/// Takes finished transactions to published versions: appends them to the log, writes and syncs them in groups, and
/// publishes them in order.
///
/// All durability levels take the steps of a commit in the same order. `Store.commit` calls `append` for step 3 and
/// `writeGroup` for steps 6 to 11.
///
///      step                            full     barrier  ordered  async    before the next, because
///      1  reserve log and data pages   waits    waits    waits    waits    after the append no commit may fail alone
///      2  gather the removed pages     waits    waits    waits    waits    the publication frees them
///      3  append the frame             waits    waits    waits    waits    the next writer builds on it
///      4  publish, nothing is ahead    –        –        –        waits    the next writer may append a commit that waits
///      5  release the writer lock      waits    waits    waits    waits    the next transactions join the next group
///      6  sync the data file           named    named    named    later    a logged page id must lead to the page
///      7  write the group              waits    waits    waits    later    a sync covers what was written before
///      8  sync the log                 device   barrier  –        later    only what the device has may be acknowledged
///      9  record a new segment         waits    waits    –        later    a missing end of the log must be noticed
///     10  confirm elsewhere            waits    waits    behind   behind   readers must never see what can still be lost
///     11  publish                      waits    waits    waits    behind   a committer reads its own commit
///     12  return
///
/// *Named*: only when a frame of the group names pages of large values. *Later*: by the flush that
/// `Durability.maxDelay` schedules. *Behind*: an `async` commit that follows a waiting commit is published with it. The
/// last group of a segment is always written as for `full`. Step 10 is part of a store with a replicator that confirms
/// commits; see CommitPipeline+Confirmation.swift.
///
/// Lock order: the writer lock, then `lock`, then the space lock (`VersionList.lock`). No lock is held during steps 6
/// to 11.
final class CommitPipeline: @unchecked Sendable {
    enum State {
        /// No thread writes to the log.
        case idle
        /// One thread writes and publishes a group; others append to the next group, or wait.
        case flushing
        /// As `flushing`, but the store has become read-only meanwhile.
        case failing
        /// The store is read-only until it is opened again (fail-stop), because the state of the log on the device is
        /// unknown.
        case failed
    }

    let lock = Lock()
    /// Signalled when a flush ends, and when the store fails.
    let changed = ConditionVariable()
    let log: LogWriter
    let versions: VersionList
    private let dataFile: DataFile
    private let frames: FrameStore
    let clock: StoreClock
    private let events: EventQueue?
    /// Whether the file system has barriers: an operation that orders writes without a full sync.
    let hasBarriers: Bool

    /// The largest payload of a frame, and the size from which a value is written to its pages before the commit, while
    /// the log only names those pages.
    let largestLoggedBytes: Int
    let namedValueBytes: Int
    let compression = CompressionCounter()

    /// The latest commit, published or not, on which the next writer builds. Guarded by the writer lock.
    @exclusivity(unchecked) var newest: Version

    // Guarded by `lock`, without dynamic exclusivity checks for speed; see `VersionList`.

    @exclusivity(unchecked) private(set) var state = State.idle
    /// Why the store is read-only; later failures do not replace the first.
    @exclusivity(unchecked) private(set) var failure: (reason: String, cause: FileError?)?
    /// Whether `failure` is set, for readers without the lock.
    let hasFailed = Atomic<Bool>(false)
    /// Commits that the next group will publish.
    @exclusivity(unchecked) var pending = CommitQueue()
    /// Commits that the running flush publishes. Only its thread uses them until the flush ends.
    @exclusivity(unchecked) var flushing = CommitQueue()
    /// The number of commits in `flushing`, for other threads.
    @exclusivity(unchecked) private var flushingCount = 0
    /// Whether the running flush, or the last one, syncs.
    @exclusivity(unchecked) private var isFlushSynced = false
    /// Whether frames of the group being collected name pages of large values that are not synced yet.
    @exclusivity(unchecked) private var namesUnsyncedPages = false
    @exclusivity(unchecked) var publishedCommit: UInt64
    @exclusivity(unchecked) private(set) var flushCount: UInt64 = 0
    /// The number of committers that wait for publication.
    @exclusivity(unchecked) var waiters = 0
    /// Commits whose write the system refused, until the next writer removes them. See `CommitPipeline+Refusal.swift`.
    @exclusivity(unchecked) var refused = RefusedCommits()
    /// Durable commits that wait for step 10, and those published before it. See CommitPipeline+Confirmation.swift.
    @exclusivity(unchecked) var confirmation = Confirmation()
    /// The replicators that ship the log.
    @exclusivity(unchecked) var signals: [LogSignal] = []
    /// Whether `refused` has commits, for readers without the lock.
    let hasRefused = Atomic<Bool>(false)
    /// When the pending `async` commits must be flushed, and the shortest delay among them; `max` without such commits.
    @exclusivity(unchecked) var flushDue = UInt64.max
    @exclusivity(unchecked) private var flushDelay = UInt64.max
    /// The earliest time to prepare the next segment; `max` while a thread prepares it.
    @exclusivity(unchecked) private var spareDue: UInt64 = 0

    init(_ opening: Opening, versions: VersionList, clock: StoreClock, events: EventQueue?) {
        log = opening.log
        dataFile = opening.dataFile
        frames = opening.frames
        hasBarriers = opening.options.fileSystem.hasBarriers
        // The value limit applies too, because recovery decompresses a frame only up to that limit.
        let (limit, segment) = (log.payloadLimit, log.segmentBytes)
        largestLoggedBytes = min(limit, segment / 4, Limits.valueBytes, opening.options.mostNotedBytes)
        namedValueBytes = min(Limits.directBytes, largestLoggedBytes)
        newest = opening.version
        publishedCommit = opening.version.commit
        self.versions = versions
        self.clock = clock
        self.events = events
    }

    // MARK: Appending

    /// Which thread publishes a commit, and whether the committer waits for it.
    enum Publication {
        /// The committer, at once: no earlier commit waits for the device.
        case atOnce
        /// A flush; the committer waits for it.
        case awaited
        /// A flush; the committer does not wait.
        case later
    }

    /// Step 3: appends the frame of a transaction to the group being collected, and makes its version the newest.
    ///
    /// The caller must hold the writer lock, and must have reserved the log space.
    ///
    /// - Parameters:
    ///   - isShown: whether the committer waits until new snapshots see the commit, at every durability.
    ///   - beginsSegment: whether the frame is the first of its segment. The end of the previous segment must be
    ///     durable before this frame is written.
    /// - Returns: how the commit is published, and when the flusher must run for it; `max` when an earlier time is
    ///   already scheduled.
    func append(
        _ writer: Writer, point: UInt64, _ durability: Durability, isShown: Bool, beginsSegment: Bool
    ) throws(StorageError) -> (Publication, flushDue: UInt64) {
        lock.lock()
        defer { lock.unlock() }
        if let refusal = refused.reason { throw refusal }
        writer.isEnded = true
        let commit = newest.commit + 1
        let position = log.append(.commit, commit: commit, payload: writer.memory.operations.bytes)
        if writer.namesPages { namesUnsyncedPages = true }
        assert(point > newest.point && position.lsn > newest.log.lsn, "invariant 6: commits are appended in order")
        newest = Version(of: writer, commit: commit, point: point, log: position)
        let maxDelay = durability.maxDelay
        var due = maxDelay.map(scheduleFlush) ?? .max
        if maxDelay != nil && beginsSegment { due = clock.now }
        // Publish at once only if no earlier commit waits for the device. An `ordered` flush may be writing frames that
        // are published already.
        let isNext = pending.isEmpty && flushingCount == 0 && confirmation.queue.isEmpty
        if maxDelay != nil && isNext { return (.atOnce, due) }
        pending.append(newest, durability == .barrier && !hasBarriers ? .full : durability, &writer.lists.changed)
        let waits = maxDelay == nil || isShown
        // Count the waiter before the writer lock is released, because the next writer reuses the number of a refused
        // commit once no committer waits for it.
        if waits { waiters += 1 }
        return (waits ? .awaited : .later, due)
    }

    /// Schedules a flush for an `async` commit at half of its delay; the other half is for the device. Under the lock.
    ///
    /// - Returns: when the flusher must run, if earlier than scheduled before; else `max`.
    private func scheduleFlush(within delay: UInt64) -> UInt64 {
        // A later commit with the same or a longer delay is due later, so it need not read the clock.
        guard delay < flushDelay else { return .max }
        flushDelay = delay
        let due = clock.now + delay / 2
        guard due < flushDue else { return .max }
        flushDue = due
        return due
    }

    /// Counts a committer that is about to wait. The caller must hold the writer lock.
    func noteWaiter() { lock.withLock { waiters += 1 } }

    /// Notes a commit that was published without a flush.
    func notePublished(_ commit: UInt64) {
        lock.withLock { publishedCommit = max(publishedCommit, commit) }
    }

    /// Makes a version the newest that was published outside a group: by a checkpoint, or by recovery.
    func adopt(_ version: Version) {
        newest = version
        lock.withLock {
            publishedCommit = version.commit
            changed.broadcast()
            if !signals.isEmpty { notifySignals() }
        }
    }

    // MARK: Waiting

    /// Step 12: waits until a commit is published, and writes the group if no other thread does. The caller was counted
    /// in `waiters` while it held the writer lock.
    func waitUntilPublished(_ commit: UInt64) throws(StorageError) {
        lock.lock()
        defer { lock.unlock() }
        defer {
            waiters -= 1
            if refused.reason != nil { changed.broadcast() }
        }
        var looks = 0
        var deadline: UInt64?
        while publishedCommit < commit || confirmation.isPublishedEarly(commit) {
            try checkWritable()
            if confirmation.holds(commit) {
                try waitForConfirmation(of: commit, &deadline)
            } else if isFlushing && !isFlushSynced && looks < CommitPipeline.looksAtUnsyncedFlush {
                // Yield before sleeping, because an unsynced write takes less time than waking a thread.
                looks += 1
                lock.unlock()
                yieldThread()
                lock.lock()
            } else if isFlushing {
                changed.wait(lock)
            } else {
                _ = writeGroup(.written)
            }
        }
    }

    private static let looksAtUnsyncedFlush = 16

    /// Publishes all earlier commits but unconfirmed ones, and brings the log up to them to a level.
    func flush(_ level: FlushLevel) throws(StorageError) {
        let level = level == .ordered && !hasBarriers ? .durable : level
        lock.lock()
        defer { lock.unlock() }
        // Stop at the commits of this moment, because a busy writer would keep the caller waiting forever.
        let end = log.position.lsn
        let last = pending.commits.last?.version.commit ?? 0
        while true {
            try checkWritable()
            if isFlushing {
                changed.wait(lock)
            } else if max(publishedCommit, confirmation.last) < last || log.reached(level) < end || log.written < end {
                if let refusal = writeGroup(level) { throw refusal }
            } else {
                return
            }
        }
    }

    /// Orders the log up to a position before all later writes on the device.
    func order(_ lsn: UInt64) throws(StorageError) {
        if !isOrdered(lsn) { try flush(.ordered) }
    }

    /// Whether the log up to a position is ordered before all later writes on the device.
    func isOrdered(_ lsn: UInt64) -> Bool { lock.withLock { log.reached(.ordered) >= lsn } }

    /// Waits until no thread writes to the log and no committer waits, before the files are closed.
    func waitForWriters() {
        lock.withLock {
            confirmation.isClosing = true
            changed.broadcast()
            while isFlushing || failure == nil && pending.countBeforeWaiting < pending.count { changed.wait(lock) }
        }
    }

    var isFlushing: Bool { state == .flushing || state == .failing }

    /// Throws if nothing can be appended or written. Under the lock.
    func checkWritable() throws(StorageError) {
        if let failure { throw .readOnly(reason: failure.reason) }
        if let refusal = refused.reason { throw refusal }
    }

    // MARK: Writing

    /// Steps 6 to 11 for all appended commits: one flush, by one thread at a time.
    ///
    /// The last group of a segment is written and synced alone, at every durability, because it must be durable before
    /// anything in the next segment is written. Called with the lock held; releases it during the write.
    ///
    /// - Returns: the error if the system refused the write and the store stays usable. Any other failure is final.
    private func writeGroup(_ least: FlushLevel) -> StorageError? {
        assert(state == .idle, "invariant 9: one thread at a time writes to the log, and none after a failure")
        state = .flushing
        // Take the group before anything is written, because later commits belong to the next group.
        let segmentEnd = log.closedEnd
        var count = pending.count
        if let segmentEnd { count = pending.count(upTo: segmentEnd) }
        pending.move(count, to: &flushing)
        flushingCount = count
        let endsSegment = segmentEnd != nil
        let level = max(least, endsSegment ? .durable : flushing.flushLevel)
        let synced = level > .written
        isFlushSynced = synced
        // Commits behind the end of the segment keep their due time.
        let due = flushDue
        if synced && !endsSegment {
            (flushDue, flushDelay) = (.max, .max)
        }
        let group = log.takeGroup(level)
        let needsData = namesUnsyncedPages
        namesUnsyncedPages = false
        let named = group?.unrecorded
        let unrecorded = synced ? named : nil
        let end = group?.end
        let isConfirmed = !confirmation.isActive
        lock.unlock()
        var failure: FileError?
        do throws(FileError) {
            // 6. Named pages before the group, because recovery reads the pages that the log names.
            if needsData { try dataFile.file.barrier() }
            // 7. and 8. Write before the sync, because a sync covers earlier writes only.
            if let group { try LogWriter.write(group, level) }
            // 9. Record the segment after its sync and before its commits are published, because the header must name
            //    every segment that holds acknowledged commits, and no other.
            if let unrecorded { try dataFile.recordSegment(unrecorded, behind: group?.bytes) }
        } catch { failure = error }
        assert(failure != nil || flushing.end <= end ?? 0, "invariant 6: a published commit is in the file")
        // 10. Confirm after the sync, because a replica must not be ahead of this store; before the publication, because
        //     readers must never see a commit that this store can lose.
        // 11. Publish after the sync, because what a reader has seen must survive a power failure.
        if failure == nil && isConfirmed { publish(&flushing) }
        lock.lock()
        state = state == .failing ? .failed : .idle
        flushingCount = 0
        let last = flushing.commits.last?.version.commit ?? 0
        if let failure, let group, let refusal = refuse(failure, group, due: due) {
            changed.broadcast()
            return refusal
        }
        if failure == nil && !isConfirmed { holdUnconfirmed() }
        flushing.removeAll()
        if let failure {
            setFailure("writing the log failed (\(failure)); reopen the database to see what was kept", failure)
            assert(state == .failed, "invariant 9: nothing is written after a failed write of the log")
        } else {
            flushCount &+= 1
            if let unrecorded { log.noteRecorded(unrecorded) }
            if let end { log.note(end, level) }
            if isConfirmed { publishedCommit = max(publishedCommit, last) }
            publishWaitingForNothing()
            if !signals.isEmpty { notifySignals() }
        }
        changed.broadcast()
        return nil
    }

    /// Publishes the `async` commits that were appended during a flush, up to the first commit that must wait for its
    /// own flush. Under the lock, so that no commit is appended in between.
    private func publishWaitingForNothing() {
        if pending.isEmpty || !confirmation.queue.isEmpty { return }
        let count = pending.countBeforeWaiting
        guard count > 0 else { return }
        // No flush is running, so `flushing` is free to use.
        pending.move(count, to: &flushing)
        publish(&flushing)
        publishedCommit = max(publishedCommit, flushing.commits.last?.version.commit ?? 0)
        flushing.removeAll()
    }

    /// Publishes the commits of a group in order, and frees the pages that only earlier versions used.
    func publish(_ queue: inout CommitQueue) {
        let commits = queue.commits.count
        guard commits > 0 else { return }
        let shown = commits - 1
        versions.publish(queue.commits[shown].version, &queue.pages)
    }

    // MARK: Failing

    /// Returns the error to throw for a failed file operation; after a failed sync, makes the store read-only.
    func failed(_ error: FileError, _ what: String) -> StorageError {
        if error.isSyncFailure {
            fail("a sync failed while \(what) (\(error)); reopen the database", error)
        }
        return StorageError(error)
    }

    /// Makes the store read-only (fail-stop).
    func fail(_ reason: String, _ cause: FileError?) {
        lock.withLock {
            setFailure(reason, cause)
            changed.broadcast()
        }
    }

    /// Sets the reason why the store is read-only, unless there is one already. Under the lock.
    private func setFailure(_ reason: String, _ cause: FileError?) {
        // Only a failed sync of the data file can lose pages; the pages are not in the log.
        if let cause, cause.isSyncFailure && cause.path == dataFile.file.path {
            frames.hasLostWrites.store(true, ordering: .relaxed)
        }
        guard failure == nil else { return }
        failure = (reason, cause)
        state = state == .flushing ? .failing : .failed
        hasFailed.store(true, ordering: .releasing)
        events?.note(.becameReadOnly(reason: reason))
    }

    // MARK: Background work

    /// Whether pending `async` commits are due. Other commits are flushed by their committers.
    ///
    /// - Parameter ignoringTime: whether everything that is not durable is due.
    func isFlushDue(ignoringTime: Bool) -> Bool {
        lock.withLock {
            guard state == .idle else { return false }
            if ignoringTime { return !pending.isEmpty || log.written < log.position.lsn || flushDue != .max }
            return flushDue != .max && clock.now >= flushDue
        }
    }

    /// Returns the number of log bytes since a position; nil when the store has failed.
    func bytes(since lsn: UInt64) -> UInt64? {
        lock.withLock { failure == nil ? log.bytes(since: lsn) : nil }
    }

    /// Creates the next log segment ahead of time, filled with zeros, so that committers neither wait for a file nor sync
    /// its metadata.
    ///
    /// One thread at a time. After a failure, waits before the next attempt, because other work may free disk space.
    ///
    /// - Returns: whether a segment was needed.
    func prepareSegment() throws(StorageError) -> Bool {
        let isWanted = lock.withLock {
            guard failure == nil, log.wantsSpare, clock.now >= spareDue else { return false }
            spareDue = .max
            return true
        }
        guard isWanted else { return false }
        do throws(FileError) { try log.makeSpare() } catch {
            let again = clock.now + CommitPipeline.spareDelay
            lock.withLock {
                spareDue = again
                // Another program created it meanwhile.
                if error.isExists { log.foreign.append(LogFile.sparePath(log.path)) }
            }
            if error.isExists { return false }
            throw StorageError(error)
        }
        lock.withLock {
            log.noteSpare()
            spareDue = 0
        }
        return true
    }

    /// Two seconds, in nanoseconds.
    private static let spareDelay: UInt64 = 2_000_000_000
}
