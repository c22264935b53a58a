// A commit, from top to bottom. Everything up to the append may fail and fails this transaction alone; a failed
// write or sync of the log afterwards latches the store, because what the device kept is unknown. A write that the system refused
// outright has left nothing there: Store+Refusal.swift.
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
        guard writer.hasChanges else {
            if isShown { commitLock.withLock { publishWaiters += 1 } }
            rollback(writer)
            if isShown { try waitUntilPublished(writer.base.commit) }
            return
        }
        guard writer.isRecording else {
            try commitByCheckpoint(writer)
            return
        }
        let payload = writer.memory.operations.bytes
        let point: UInt64
        let beginsSegment: Bool
        do throws(StorageError) {
            // The log first: what is left of a full disk is not to go to the data file when there is no segment.
            beginsSegment = try reserve(payload: payload.count, for: writer)
            try reservePages(for: writer)
            point = try takeSerial()
        } catch {
            takeBack(writer)
            throw error
        }
        writer.end()
        let commit = newest.commit + 1
        commitLock.lock()
        if let refusal = refused.reason {
            commitLock.unlock()
            takeBack(writer)
            throw refusal
        }
        let position = log.append(.commit, commit: commit, payload: payload)
        if writer.namesPages { namesUnsyncedPages = true }
        let version = makeVersion(writer, commit: commit, point: point, log: position)
        newest = version
        let maxDelay = durability.maxDelay
        let durability = durability == .barrier && !hasBarriers ? .full : durability
        var due = maxDelay.map(scheduleFlush) ?? .max
        // The end of a segment is made durable at once: it is to be when this one ends.
        if maxDelay != nil && beginsSegment { due = clock.now }
        // Visible at once only when nothing before it still waits for the device. What a flush is writing may have been published before.
        let isNext = pending.isEmpty && flushingCommits == 0
        let publishesNow = maxDelay != nil && isNext
        if !publishesNow { pending.append(version, durability, &writer.lists.changed) }
        let waits = !publishesNow && (maxDelay == nil || isShown)
        // Before the turn is given up, because the next writer gives the number of a refused commit again once no committer waits for it.
        if waits { publishWaiters += 1 }
        commitLock.unlock()
        if publishesNow { publish(version, &writer.lists.changed) }
        releaseTurn(of: writer)
        if publishesNow {
            commitLock.withLock { publishedCommit = max(publishedCommit, commit) }
        } else if waits {
            try waitUntilPublished(commit)
        }
        if due != .max && options.background == .threads { flusher.wake(self, at: due) }
    }

    /// Notes how long a commit may stay in memory. The device gets half of that time. Under the commit lock.
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

    func makeVersion(_ writer: Writer, commit: UInt64, point: UInt64, log: LogPosition) -> Version {
        Version(
            commit: commit, point: point, trees: writer.trees, treeCount: writer.treeCount,
            nextTreeID: writer.nextTreeID, names: writer.names, log: log)
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
        let (isReady, isBehind) = try commitLock.withLock { () throws(StorageError) in
            if let latch { throw .readOnly(reason: latch) }
            if let refusal = refused.reason { throw refusal }
            return (log.hasRoom(payload: payload), log.closedEnd != nil)
        }
        if isReady { return false }
        // A writer that is faster than the device waits for it here: no more than the end of one segment is kept in memory.
        if isBehind { try flush(.durable) }
        do throws(FileError) { try addSegment(payload) } catch {
            guard error.isNoSpace else { throw failed(error, "adding a log segment") }
            // The checkpoint's own pages are among those that were taken ahead.
            writer.returnUnusedNumbers()
            spaceLock.withLock { forgetPagesBehindTheFile() }
            // Behind a checkpoint no segment is needed: the room of those that there are will do for the next.
            if isCheckpointing { try finish() } else { try checkpointer.lock.withLock(finish) }
            do throws(FileError) { try addSegment(payload) } catch { throw failed(error, "adding a log segment") }
        }
        return true
    }

    private func addSegment(_ payload: Int) throws(FileError) {
        try commitLock.withLock { () throws(FileError) in
            guard !log.hasRoom(payload: payload) else { return }
            try log.addSegment()
        }
    }

    /// Makes the name of a segment durable, and has the header say that it is in use, after its own header is durable and before a
    /// commit in it counts as durable. So a log whose end is missing is known to be damaged, and one that was never begun is not missed.
    private func recordSegment(_ number: UInt64) throws(FileError) {
        try syncDirectory()
        try headerLock.withLock { () throws(FileError) in
            try dataFile.update { $0.newestSegment = number }
        }
    }

    /// The error to throw for a failed file operation; a failed sync makes the store read-only.
    func failed(_ error: FileError, _ what: String) -> StorageError {
        if error.isSyncFailure {
            latch("a sync failed while \(what) (\(error)); reopen the database", error)
        }
        return StorageError(error)
    }

    /// Takes no more writes from here on.
    func latch(_ reason: String, _ cause: FileError) {
        commitLock.withLock {
            setLatch(reason, cause)
            flushed.broadcast()
        }
    }

    /// The first reason stays. Under the commit lock.
    private func setLatch(_ reason: String, _ cause: FileError) {
        // A log that cannot be synced loses no page.
        if cause.isSyncFailure && cause.path == dataFile.file.path {
            frames.hasLostWrites.store(true, ordering: .relaxed)
        }
        guard latch == nil else { return }
        latch = reason
        isLatched.store(true, ordering: .releasing)
        latchCause = cause
        events?.note(.becameReadOnly(reason: reason))
    }

    // MARK: Flushing

    /// Waits until a commit is published, and flushes the group unless another thread is flushing. The caller is counted in
    /// `publishWaiters` since it had the turn.
    private func waitUntilPublished(_ commit: UInt64) throws(StorageError) {
        commitLock.lock()
        defer { commitLock.unlock() }
        defer {
            publishWaiters -= 1
            if refused.reason != nil { flushed.broadcast() }
        }
        var looks = 0
        while publishedCommit < commit {
            if let latch { throw .readOnly(reason: latch) }
            if let refusal = refused.reason { throw refusal }
            if isFlushing && !isFlushSynced && looks < Store.looksAtUnsyncedFlush {
                // A write that nothing is synced behind is over before a thread that slept would be awake.
                looks += 1
                commitLock.unlock()
                yieldThread()
                commitLock.lock()
            } else if isFlushing {
                flushed.wait(commitLock)
            } else {
                _ = flushLocked(.written)
            }
        }
    }

    private static let looksAtUnsyncedFlush = 16

    /// Publishes everything committed until now, and has the log reach a level with it.
    func flush(_ level: FlushLevel) throws(StorageError) {
        let level = level == .ordered && !hasBarriers ? .durable : level
        commitLock.lock()
        defer { commitLock.unlock() }
        // What is committed meanwhile is for others to see to: a busy writer would keep whoever comes here for ever.
        let end = log.position.lsn
        let last = pending.commits.last?.version.commit ?? 0
        while true {
            if let latch { throw .readOnly(reason: latch) }
            if let refusal = refused.reason { throw refusal }
            if isFlushing {
                flushed.wait(commitLock)
            } else if publishedCommit < last || log.reached(level) < end || log.written < end {
                if let refusal = flushLocked(level) { throw refusal }
            } else {
                return
            }
        }
    }

    /// One flush: writes the group, syncs it when one of its commits asks for that, publishes its commits.
    ///
    /// The end of a segment is a flush of its own, synced whoever asks: nothing of the next one is written before it is durable.
    /// Called with the commit lock held, which is given up meanwhile.
    ///
    /// - Returns: why nothing was written, when the system refused it and the store can go on. Any other failure latches the store.
    private func flushLocked(_ least: FlushLevel) -> StorageError? {
        isFlushing = true
        let segmentEnd = log.closedEnd
        var count = pending.count
        if let segmentEnd { count = pending.count(upTo: segmentEnd) }
        pending.move(count, to: &flushing)
        flushingCommits = count
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
        commitLock.unlock()
        var failure: FileError?
        do throws(FileError) {
            // Pages are on the device before the log names them.
            if needsData { try dataFile.file.barrier() }
            if let group { try Log.write(group, level) }
            if let unrecorded { try recordSegment(unrecorded) }
        } catch { failure = error }
        if failure == nil { publish(&flushing) }
        commitLock.lock()
        isFlushing = false
        flushingCommits = 0
        let last = flushing.commits.last?.version.commit ?? 0
        if let failure, let group, let refusal = refuse(failure, group, due: due) {
            flushed.broadcast()
            return refusal
        }
        flushing.removeAll()
        if let failure {
            setLatch("writing the log failed (\(failure)); reopen the database to see what was kept", failure)
        } else {
            flushCount &+= 1
            if let unrecorded { log.noteRecorded(unrecorded) }
            if let end { log.note(end, level) }
            publishedCommit = max(publishedCommit, last)
            publishWaitingForNothing()
        }
        flushed.broadcast()
        return nil
    }

    /// Publishes the `async` commits that came while a flush was on its way, up to the first that waits for one of its own. Under the
    /// commit lock, so that none comes to stand between.
    private func publishWaitingForNothing() {
        if pending.isEmpty { return }
        let count = pending.countBeforeWaiting
        guard count > 0 else { return }
        // Nobody flushes: the list is free.
        pending.move(count, to: &flushing)
        publish(&flushing)
        publishedCommit = max(publishedCommit, flushing.commits.last?.version.commit ?? 0)
        flushing.removeAll()
    }

    // MARK: Publishing

    /// Makes commits visible, in order, and frees what only earlier versions needed.
    private func publish(_ queue: inout CommitQueue) {
        let commits = queue.commits.count
        guard commits > 0 else { return }
        let shown = commits - 1
        publish(queue.commits[shown].version, &queue.pages)
    }

    /// Makes a version visible, and frees what only earlier ones needed.
    ///
    /// - Parameter pages: what it changed, and those before it that were not published. The lists are empty afterwards.
    func publish(_ version: Version, _ pages: inout ChangedPages) {
        spaceLock.lock()
        space.enter(allocated: pages.allocated, freed: pages.freed)
        pages.allocated.forEach { dirtyPages.insert($0) }
        show(version)
        let points = seenPoints()
        space.bury(pages.freed, death: version.point, points: points)
        forgetRecycled()
        dropVersions(except: points)
        spaceLock.unlock()
        pages.removeAll()
    }

    /// Makes a version the one that new snapshots get. Called under the space lock.
    func show(_ version: Version) {
        versions.append(version)
        published.store(
            UInt(bitPattern: Unmanaged.passUnretained(version).toOpaque()), ordering: .sequentiallyConsistent)
    }

    /// The points of everything that must keep its pages. Called under the space lock, after publishing.
    func seenPoints() -> [UInt64] {
        let open = snapshots.activePoints()
        let points = mergePoints(open, checkpointer.points)
        space.release(points: points)
        return points
    }

    /// The point of the older retained checkpoint: the log goes back to there.
    var oldestCheckpointPoint: UInt64 { spaceLock.withLock { checkpointer.points.first ?? 1 } }

    /// Frames of pages that nobody needs any more hold nothing worth writing.
    func forgetRecycled() {
        space.forEachRecycled { frames.forget(page: $0) }
    }

    /// Lets go of versions that no snapshot uses. A reader may be looking at one for a moment longer, so they
    /// die an operation epoch later. Called under the space lock.
    private func dropVersions(except points: [UInt64]) {
        // Both are in ascending order. Most often one is to go, the oldest.
        var index = 0
        var next = 0
        while index < versions.count - 1 {
            let point = versions[index].point
            while next < points.count, points[next] < point { next += 1 }
            if next < points.count, points[next] == point {
                index += 1
            } else {
                retiredVersions.append(versions.remove(at: index))
            }
        }
        if let dying = dyingVersions, Epochs.hasPassed(dying.epoch) { dyingVersions = nil }
        if dyingVersions == nil, retiredVersions.count >= 64 {
            dyingVersions = (Epochs.retire(), retiredVersions)
            retiredVersions = []
        }
    }

    // MARK: Serials and pages

    var nextSerial: UInt64 { serial.load(ordering: .relaxed) }

    @inline(__always)
    func takeSerial() throws(StorageError) -> UInt64 { try takeSerials(1) }

    /// The first of `count` consecutive serials. They are below the ceiling that the header vouches for.
    @inline(__always)
    func takeSerials(_ count: Int) throws(StorageError) -> UInt64 {
        let first = serial.wrappingAdd(UInt64(count), ordering: .relaxed).oldValue
        if first &+ UInt64(count) > ceiling.load(ordering: .relaxed) { try raiseCeiling(above: first &+ UInt64(count)) }
        return first
    }

    /// Raises the ceiling when half of the stock is used, so that no writer has to.
    ///
    /// - Returns: whether there was need for it.
    func raiseCeilingAhead() throws(StorageError) -> Bool {
        let serial = nextSerial
        let ceiling = ceiling.load(ordering: .relaxed)
        // Where nothing was written since opening there is no stock, and no need for one.
        guard serial < ceiling, ceiling - serial < FileHeader.serialStock / 2 else { return false }
        try raiseCeiling(above: serial + FileHeader.serialStock / 2)
        return true
    }

    @inline(never)
    private func raiseCeiling(above serial: UInt64) throws(StorageError) {
        if isEncrypted && serial + FileHeader.serialStock >= PageCipher.serialLimit {
            throw .invalidArgument(
                "the numbers that keep encrypted pages apart are used up; copy the database into a new file")
        }
        if serial >= counterLimit - FileHeader.serialStock {
            throw .invalidArgument("the numbers of pages are used up; copy the database into a new file")
        }
        do throws(FileError) {
            try headerLock.withLock { () throws(FileError) in
                guard serial > ceiling.load(ordering: .relaxed) else { return }
                let raised = serial + FileHeader.serialStock
                if !options.readOnly { try dataFile.update { $0.ceiling = raised } }
                ceiling.store(raised, ordering: .relaxed)
            }
        } catch { throw failed(error, "raising the serial ceiling") }
    }

    /// Takes pages from the space map, so that the first of them is the last in the list.
    func allocatePages(_ count: Int, to pages: inout [UInt64]) {
        let start = pages.count
        spaceLock.lock()
        for _ in 0..<count { pages.append(space.allocate()) }
        spaceLock.unlock()
        pages[start...].reverse()
    }

    /// Takes up to `count` pages below `limit`, the lowest last in the list.
    func allocatePages(_ count: Int, below limit: UInt64) -> [UInt64] {
        var pages: [UInt64] = []
        spaceLock.lock()
        while pages.count < count, let page = space.allocate(below: limit) { pages.append(page) }
        spaceLock.unlock()
        return pages.reversed()
    }

    /// Whether a run of free pages begins before a page.
    func hasRun(of count: Int, below limit: UInt64) -> Bool {
        spaceLock.withLock { space.lowestRun(count).map { $0 < limit } ?? false }
    }

    /// Gives back the page numbers that the next transaction has in hand. The caller has the turn.
    func returnIdleNumbers() {
        giveBack(idleLists.pages)
        idleLists.pages = []
    }

    // Pages of a run may be written past memory, and read through it: the table covers them before. The caller has the turn.
    func allocateRun(_ count: Int) -> UInt64 {
        let first = spaceLock.withLock { space.allocateRun(count) }
        frames.cover(below: first + UInt64(count))
        return first
    }

    func allocateRun(upTo count: Int, isWhole: Bool) -> (page: UInt64, count: Int) {
        let run = spaceLock.withLock { space.allocateRun(upTo: count, isWhole: isWhole) }
        frames.cover(below: run.page + UInt64(run.count))
        return run
    }

    func giveBack(_ pages: [UInt64]) {
        guard !pages.isEmpty else { return }
        spaceLock.withLock {
            space.recycle(pages)
            forgetRecycled()
        }
    }

    func giveBack(_ pages: PackedList<UInt64>) {
        guard !pages.isEmpty else { return }
        spaceLock.withLock {
            space.recycle(pages)
            forgetRecycled()
        }
    }

    // MARK: Page writing

    /// Writes those of `pages` that are dirty to their slots, neighbours together, without syncing.
    ///
    /// The device is told to begin at once with a large batch: it works while the next pages are made.
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

/// The union of two ascending lists of points.
func mergePoints(_ a: [UInt64], _ b: [UInt64]) -> [UInt64] {
    if a.isEmpty { return b }
    var points = (a + b).sorted()
    var count = 0
    for point in points where count == 0 || points[count - 1] != point {
        points[count] = point
        count += 1
    }
    points.removeLast(points.count - count)
    return points
}
