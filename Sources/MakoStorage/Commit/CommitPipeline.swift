import Synchronization

/// Takes finished transactions to published versions: appends them to the log, writes and syncs them in groups, publishes them in order.
///
/// The steps of a commit, in the one order that all durability levels share. `append` does step 3, `writeGroup` steps 6 to 11; `Store.commit`
/// calls both.
///
///      step                            full     barrier  ordered  async    before the next, because
///      1  reserve log and data pages   waits    waits    waits    waits    after the append a commit cannot fail alone
///      2  gather the removed pages     waits    waits    waits    waits    the publication frees them
///      3  append the frame             waits    waits    waits    waits    the next writer builds on it
///      4  publish, nothing is ahead    –        –        –        waits    the next writer may append a commit that waits
///      5  release the writer lock      waits    waits    waits    waits    the next transactions join the next group
///      6  sync the data file           named    named    named    later    a logged page number must lead to the page
///      7  write the group              waits    waits    waits    later    a sync covers what was written before
///      8  sync the log                 device   barrier  –        later    only what the device has may be acknowledged
///      9  record a new segment         waits    waits    –        later    a missing end of the log must be noticed
///     10  confirm elsewhere            (none)   (none)   –        –        readers must never see what can still be lost
///     11  publish                      waits    waits    waits    behind   a committer reads its own commit
///     12  return
///
/// *Named*: only when a frame of the group names pages of large values. *Later*: by the flush that `Durability.maxDelay` asks for. *Behind*:
/// an `async` commit behind one that waits is published with it. The end of a segment has the order of `full`, whatever its commits are.
///
/// Locks: the writer lock, then `lock`, then the space lock (`VersionList.lock`). No lock is held during steps 6 to 11.
final class CommitPipeline: @unchecked Sendable {
    enum State {
        /// No thread writes to the log.
        case idle
        /// One thread writes and publishes a group; the others append to the next one, or wait.
        case flushing
        /// As `flushing`; the store has become read-only meanwhile.
        case failing
        /// The store is read-only until it is opened again (fail-stop): what the device holds of the log is unknown.
        case failed
    }

    let lock = Lock()
    /// Signalled when a flush has ended, and when the store has failed.
    let changed = ConditionVariable()
    let log: LogWriter
    let versions: VersionList
    private let dataFile: DataFile
    private let frames: FrameStore
    let clock: StoreClock
    private let events: EventQueue?
    /// Whether the files have an operation between a write and a sync.
    let hasBarriers: Bool

    /// The largest payload of one frame, and the size from which values are written to their pages before the commit, and the log names those.
    let largestLoggedBytes: Int
    let namedValueBytes: Int
    let compression = CompressionTally()

    /// The latest commit, published or not: what the next writer builds on. Guarded by the writer lock.
    @exclusivity(unchecked) var newest: Version

    // Guarded by `lock`, without dynamic exclusivity checks: see `VersionList`.

    @exclusivity(unchecked) private(set) var state = State.idle
    /// Why the store is read-only; the first failure stays.
    @exclusivity(unchecked) private(set) var failure: (reason: String, cause: FileError)?
    /// Whether there is a failure, for callers without the lock.
    let hasFailed = Atomic<Bool>(false)
    /// Commits that the next group will publish.
    @exclusivity(unchecked) var pending = CommitQueue()
    /// Commits that the flush under way publishes. They belong to its thread until it ends.
    @exclusivity(unchecked) var flushing = CommitQueue()
    /// How many they are, for the other threads.
    @exclusivity(unchecked) private var flushingCount = 0
    /// Whether the flush under way, or the last one, waits for the device.
    @exclusivity(unchecked) private var isFlushSynced = false
    /// Whether frames of the group being collected name pages of values.
    @exclusivity(unchecked) private var namesUnsyncedPages = false
    @exclusivity(unchecked) var publishedCommit: UInt64
    @exclusivity(unchecked) private(set) var flushCount: UInt64 = 0
    /// How many committers wait for their commits to be published.
    @exclusivity(unchecked) var waiters = 0
    /// Commits that the system refused to write, until the next writer takes them back. See `CommitPipeline+Refusal.swift`.
    @exclusivity(unchecked) var refused = RefusedCommits()
    /// Whether there are some, for callers without the lock.
    let hasRefused = Atomic<Bool>(false)
    /// When `async` commits are to be made durable, and the shortest delay among them; `max` when there are none.
    @exclusivity(unchecked) var flushDue = UInt64.max
    @exclusivity(unchecked) private var flushDelay = UInt64.max
    /// When the next segment may be made ready; `max` while a thread makes it.
    @exclusivity(unchecked) private var spareDue: UInt64 = 0

    init(_ opening: Opening, versions: VersionList, clock: StoreClock, events: EventQueue?) {
        log = opening.log
        dataFile = opening.dataFile
        frames = opening.frames
        hasBarriers = opening.options.fileSystem.hasBarriers
        // A frame that was compressed is unpacked again only up to the limit of values.
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

    /// Who publishes a commit, and whether its committer waits for that.
    enum Publication {
        /// The committer, at once: nothing before it waits for the device.
        case atOnce
        /// A flush, for which the committer waits.
        case awaited
        /// A flush, for which it does not wait.
        case later
    }

    /// Step 3: appends the frame of a transaction to the group being collected, and makes its version the newest one.
    ///
    /// The caller has the writer lock, and has reserved the room.
    ///
    /// - Parameters:
    ///   - isShown: whether the committer waits until new snapshots show the commit, whatever the durability.
    ///   - beginsSegment: whether the frame is the first one of its segment. The end of the one before must be durable when this one ends.
    /// - Returns: how the commit is published, and when the flusher must be at work for it; `max` when it knows of an earlier time.
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
        assert(point > newest.point && position.lsn > newest.log.lsn, "commits are ordered as their points and frames")
        newest = Version(of: writer, commit: commit, point: point, log: position)
        let maxDelay = durability.maxDelay
        var due = maxDelay.map(scheduleFlush) ?? .max
        if maxDelay != nil && beginsSegment { due = clock.now }
        // Visible at once only when nothing before it still waits for the device. What a flush is writing may have been published before.
        let isNext = pending.isEmpty && flushingCount == 0
        if maxDelay != nil && isNext { return (.atOnce, due) }
        pending.append(newest, durability == .barrier && !hasBarriers ? .full : durability, &writer.lists.changed)
        let waits = maxDelay == nil || isShown
        // Before the writer lock is released, because the next writer reuses the number of a refused commit once no committer waits for it.
        if waits { waiters += 1 }
        return (waits ? .awaited : .later, due)
    }

    /// Notes how long a commit may stay in memory. The device gets half of that time. Under the lock.
    ///
    /// - Returns: when the flusher must be at work, if that is earlier than it knew; else `max`.
    private func scheduleFlush(within delay: UInt64) -> UInt64 {
        // Later commits with no shorter delay are due later: they need not even ask for the time.
        guard delay < flushDelay else { return .max }
        flushDelay = delay
        let due = clock.now + delay / 2
        guard due < flushDue else { return .max }
        flushDue = due
        return due
    }

    /// Counts a committer that is going to wait, before it releases the writer lock.
    func noteWaiter() { lock.withLock { waiters += 1 } }

    /// A commit was published without a flush.
    func notePublished(_ commit: UInt64) {
        lock.withLock { publishedCommit = max(publishedCommit, commit) }
    }

    /// A version was published that no group has: by a checkpoint, or by replaying the log.
    func adopt(_ version: Version) {
        newest = version
        lock.withLock {
            publishedCommit = version.commit
            changed.broadcast()
        }
    }

    // MARK: Waiting

    /// Step 12: waits until a commit is published, and writes the group unless another thread does. The caller is counted in `waiters`
    /// since it had the writer lock.
    func waitUntilPublished(_ commit: UInt64) throws(StorageError) {
        lock.lock()
        defer { lock.unlock() }
        defer {
            waiters -= 1
            if refused.reason != nil { changed.broadcast() }
        }
        var looks = 0
        while publishedCommit < commit {
            try checkWritable()
            if isFlushing && !isFlushSynced && looks < CommitPipeline.looksAtUnsyncedFlush {
                // A write that nothing is synced behind is over before a thread that slept would be awake.
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

    /// Publishes everything committed until now, and has the log reach a level with it.
    func flush(_ level: FlushLevel) throws(StorageError) {
        let level = level == .ordered && !hasBarriers ? .durable : level
        lock.lock()
        defer { lock.unlock() }
        // What is committed meanwhile is for others to see to: a busy writer would keep the caller here for ever.
        let end = log.position.lsn
        let last = pending.commits.last?.version.commit ?? 0
        while true {
            try checkWritable()
            if isFlushing {
                changed.wait(lock)
            } else if publishedCommit < last || log.reached(level) < end || log.written < end {
                if let refusal = writeGroup(level) { throw refusal }
            } else {
                return
            }
        }
    }

    /// Has the log up to a position reach the device before what is written next.
    func order(_ lsn: UInt64) throws(StorageError) {
        if !isOrdered(lsn) { try flush(.ordered) }
    }

    /// Whether the log up to a position reaches the device before what is written next.
    func isOrdered(_ lsn: UInt64) -> Bool { lock.withLock { log.reached(.ordered) >= lsn } }

    /// Waits until no thread writes to the log, and no committer waits for it: the files are about to be closed.
    func waitForWriters() {
        lock.withLock {
            while isFlushing || failure == nil && pending.countBeforeWaiting < pending.count { changed.wait(lock) }
        }
    }

    var isFlushing: Bool { state == .flushing || state == .failing }

    /// Throws when nothing can be appended or written. Under the lock.
    func checkWritable() throws(StorageError) {
        if let failure { throw .readOnly(reason: failure.reason) }
        if let refusal = refused.reason { throw refusal }
    }

    // MARK: Writing

    /// Steps 6 to 11 for all commits that have been appended: one flush, by one thread at a time.
    ///
    /// The end of a segment is a flush of its own, synced whatever its commits ask for: nothing of the next one is written before it is
    /// durable. Called with the lock held, which is released meanwhile.
    ///
    /// - Returns: why nothing was written, when the system refused it and the store can go on. Any other failure is final.
    private func writeGroup(_ least: FlushLevel) -> StorageError? {
        assert(state == .idle, "one thread at a time writes to the log, and none after a failure")
        state = .flushing
        // Take the group before anything is written, because commits that come meanwhile are the next group's.
        let segmentEnd = log.closedEnd
        var count = pending.count
        if let segmentEnd { count = pending.count(upTo: segmentEnd) }
        pending.move(count, to: &flushing)
        flushingCount = count
        let endsSegment = segmentEnd != nil
        let level = max(least, endsSegment ? .durable : flushing.flushLevel)
        let synced = level > .written
        isFlushSynced = synced
        // What is behind the end of a segment is still due.
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
        lock.unlock()
        var failure: FileError?
        do throws(FileError) {
            // 6. Named pages before the group, because recovery reads the pages that the log names.
            if needsData { try dataFile.file.barrier() }
            // 7. and 8. Write before the sync, because a sync covers earlier writes only.
            if let group { try LogWriter.write(group, level) }
            // 9. Record the segment behind its sync and before a commit in it is published, because the header must name each segment that
            // holds acknowledged commits, and no other.
            if let unrecorded { try dataFile.recordSegment(unrecorded) }
            // 10. Confirmation elsewhere, as replication needs it, belongs here: behind the sync, because another copy must not be ahead of
            // this one; before the publication, because no reader may see a commit that this store can lose.
        } catch { failure = error }
        assert(failure != nil || flushing.end <= end ?? 0, "a published commit is in the file")
        // 11. Publish behind the sync, because what a reader has seen must survive a power cut.
        if failure == nil { publish(&flushing) }
        lock.lock()
        state = state == .failing ? .failed : .idle
        flushingCount = 0
        let last = flushing.commits.last?.version.commit ?? 0
        if let failure, let group, let refusal = refuse(failure, group, due: due) {
            changed.broadcast()
            return refusal
        }
        flushing.removeAll()
        if let failure {
            setFailure("writing the log failed (\(failure)); reopen the database to see what was kept", failure)
        } else {
            flushCount &+= 1
            if let unrecorded { log.noteRecorded(unrecorded) }
            if let end { log.note(end, level) }
            publishedCommit = max(publishedCommit, last)
            publishWaitingForNothing()
        }
        changed.broadcast()
        return nil
    }

    /// Publishes the `async` commits that came while a flush was on its way, up to the first that waits for one of its own. Under the lock,
    /// so that none comes to stand between.
    private func publishWaitingForNothing() {
        if pending.isEmpty { return }
        let count = pending.countBeforeWaiting
        guard count > 0 else { return }
        // No thread flushes: the list is free.
        pending.move(count, to: &flushing)
        publish(&flushing)
        publishedCommit = max(publishedCommit, flushing.commits.last?.version.commit ?? 0)
        flushing.removeAll()
    }

    /// Makes the commits of a group visible, in order, and frees what only earlier versions needed.
    private func publish(_ queue: inout CommitQueue) {
        let commits = queue.commits.count
        guard commits > 0 else { return }
        let shown = commits - 1
        versions.publish(queue.commits[shown].version, &queue.pages)
    }

    // MARK: Failing

    /// The error to throw for a failed file operation; a failed sync makes the store read-only.
    func failed(_ error: FileError, _ what: String) -> StorageError {
        if error.isSyncFailure {
            fail("a sync failed while \(what) (\(error)); reopen the database", error)
        }
        return StorageError(error)
    }

    /// Makes the store read-only (fail-stop).
    func fail(_ reason: String, _ cause: FileError) {
        lock.withLock {
            setFailure(reason, cause)
            changed.broadcast()
        }
    }

    /// The first reason stays. Under the lock.
    private func setFailure(_ reason: String, _ cause: FileError) {
        // A log that cannot be synced loses no page.
        if cause.isSyncFailure && cause.path == dataFile.file.path {
            frames.hasLostWrites.store(true, ordering: .relaxed)
        }
        guard failure == nil else { return }
        failure = (reason, cause)
        state = state == .flushing ? .failing : .failed
        hasFailed.store(true, ordering: .releasing)
        events?.note(.becameReadOnly(reason: reason))
    }

    // MARK: Background work

    /// Whether `async` commits have waited long enough. Others see to themselves.
    ///
    /// - Parameter ignoringTime: whether all that is not durable is due.
    func isFlushDue(ignoringTime: Bool) -> Bool {
        lock.withLock {
            guard state == .idle else { return false }
            if ignoringTime { return !pending.isEmpty || log.written < log.position.lsn || flushDue != .max }
            return flushDue != .max && clock.now >= flushDue
        }
    }

    /// Log bytes since a position; nil when the store has failed.
    func bytes(since lsn: UInt64) -> UInt64? {
        lock.withLock { failure == nil ? log.bytes(since: lsn) : nil }
    }

    /// Makes the next log segment ready, so that no committer has to wait for its zeros.
    ///
    /// One thread at a time, and not again soon when it failed: other work may be what gives the disk its room back.
    ///
    /// - Returns: whether there was need for it.
    func prepareSegment() throws(StorageError) -> Bool {
        let isWanted = lock.withLock {
            guard failure == nil, log.wantsSpare, clock.now >= spareDue else { return false }
            spareDue = .max
            return true
        }
        guard isWanted else { return false }
        do throws(FileError) { try log.makeSpare() } catch {
            let again = clock.now + CommitPipeline.spareDelay
            lock.withLock { spareDue = again }
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
