/// The version that a checkpoint writes to the data file.
struct CheckpointRequest {
    var version: Version
    /// The pages that an unpublished commit allocated; see `Store.commitByCheckpoint`.
    var allocated = PackedList<UInt64>()
    var freed = PackedList<SpaceMap.DeadPage>()
    /// The transaction id of the version that this commit builds on.
    var basePoint: UInt64 = 0
    /// Whether to write a barrier frame to the log before the meta pages.
    var writesBarrier = false
    /// Whether to write the meta of this checkpoint to both slots, so that no older checkpoint is retained.
    var fillsBothSlots = false
}

/// Writes checkpoints: moves the data file from one consistent state to the next.
///
/// A checkpoint is a state machine. `begin` captures a version; each `step` does one bounded piece of work, in this
/// order:
///
///     pages      write the dirty pages of the version in ascending order, neighbours together, without a sync
///     tables     write the directory, and the bitmaps of the regions that changed
///     data       sync the data file before the meta, because the meta refers to those pages
///     log        sync the log up to the version, or write the barrier, because recovery starts there
///     meta       write both copies of the meta to the slot of the older checkpoint, and sync; then release
///                the older checkpoint: its pages and its log segments
///
/// The data and log steps only order writes, so with barriers (`File.barrier()`) only the meta step needs a full sync.
///
/// A failed write before the meta abandons the checkpoint and loses nothing, because the log and the cache still have
/// all changes. A failed sync or a failed meta write makes the store read-only (fail-stop), because the state of the
/// device is unknown.
final class Checkpointer: @unchecked Sendable {
    /// The number of pages that one step writes.
    static let pagesPerStep = 256

    /// A retained checkpoint.
    struct Record {
        var meta: Meta
        var regions: [SpaceMap.RegionState]
        /// The pages of the directory. They belong to no tree, and are freed with the checkpoint.
        var directoryPages: [UInt64]
    }

    /// Serializes checkpoints: callers of `begin`, `step` and `writeAhead` must hold it, so at most one checkpoint runs at a
    /// time.
    let lock = Lock()
    private(set) var last: Record
    private(set) var previous: Record?
    private var run: Run?
    /// The pages that `writeAhead` has still to write. Guarded by `lock`.
    private var ahead = PageBitmaps()
    /// The page at which `writeAhead` continues; nil when `ahead` must be computed again.
    private var nextAhead: UInt64?
    /// The number of background steps without work since `idleCommit`. Guarded by `lock`.
    private var idleSteps = 0
    private var idleCommit: UInt64 = 0
    /// The number of idle background steps before a checkpoint: two seconds, with a background thread.
    static let patience = 20

    // Guarded by the space lock, not by `lock`, so that `stats` does not wait for a step.
    private(set) var completed: UInt64 = 0
    /// The error of the latest attempt; nil after a success.
    private(set) var lastError: StorageError?
    private var runningPoint: UInt64?

    private enum Phase {
        case pages
        case tables
        case data
        case log
        case meta
        case secondMeta
    }

    private struct Run {
        var request: CheckpointRequest
        var phase = Phase.pages
        /// The dirty pages at the capture, which `abandon` restores. They include pages that a failed commit would have
        /// freed.
        var dirty: PageBitmaps
        var pages = PageBitmaps()
        var nextPage: UInt64 = 0
        var bitmaps: [(region: Int, words: [UInt64])]
        var regions: [SpaceMap.RegionState]
        var directory: [UInt8]
        var directoryPages: [UInt64]
        var writeID: UInt64
        var number: UInt64
        var log: LogPosition
        /// When the capture began, by the store's clock, in nanoseconds.
        var began: UInt64

        var directoryRun: Overflow {
            Overflow(
                firstPage: directoryPages[0], firstWriteID: writeID, length: directory.count,
                stored: directory.count, isCompressed: false)
        }
    }

    /// The transaction ids that readers in other processes have pinned. Some belong to checkpoints that are no longer
    /// retained.
    private(set) var pins: [UInt64]

    init(last: Record, previous: Record?, pins: [UInt64]) {
        self.last = last
        self.previous = previous
        self.pins = pins
    }

    /// Returns the transaction ids whose pages must stay while no checkpoint runs.
    static func points(_ pins: [UInt64], _ last: Record, _ previous: Record?) -> [UInt64] {
        mergePoints(pins, mergePoints([last.meta.point], previous.map { [$0.meta.point] } ?? []))
    }

    var isRunning: Bool { run != nil }

    /// Takes over the checkpoints that another store has written to the file. The caller must hold `lock`.
    func adopt(_ other: Checkpointer, _ store: Store) {
        assert(run == nil, "the file is at rest")
        (last, previous) = (other.last, other.previous)
        (ahead, nextAhead) = (PageBitmaps(), nil)
        (idleSteps, idleCommit) = (0, 0)
        store.versions.lock.withLock { pins = other.pins }
    }

    /// Repairs damaged copies of both metas after a crash during a meta write.
    ///
    /// If the other slot has no usable meta, writes the latest checkpoint to it as well.
    func repairMetas(_ store: Store) throws(StorageError) {
        try store.dataFile.repair(last.meta)
        if let previous, previous.meta.number + 1 == last.meta.number {
            try store.dataFile.repair(previous.meta)
        } else if previous == nil {
            var again = last
            again.meta.number += 1
            try storage { () throws(FileError) in try store.dataFile.write(again.meta) }
            previous = last
            last = again
        }
    }

    // MARK: Driving

    /// Begins a checkpoint of the latest published version if there are newer commits. No checkpoint may be running.
    ///
    /// - Parameter anyway: whether to begin one without newer commits too, to release an older checkpoint.
    /// - Returns: whether a checkpoint is running now.
    func begin(_ store: Store, anyway: Bool = false) throws(StorageError) -> Bool {
        let current = store.versions.lock.withLock { store.versions.latest }
        guard anyway || current.commit != last.meta.commit else { return false }
        try capture(store, CheckpointRequest(version: current))
        return true
    }

    /// Counts a background step without work, and begins a checkpoint after more than `patience` of them since the last
    /// commit. No checkpoint may be running.
    func beginWhenIdle(_ store: Store) throws(StorageError) -> Bool {
        let commit = store.versions.lock.withLock { store.versions.latest.commit }
        if commit != idleCommit { (idleCommit, idleSteps) = (commit, 0) }
        idleSteps += 1
        guard idleSteps > Checkpointer.patience else { return false }
        // If this attempt fails, the next one waits as long.
        idleSteps = 0
        return try begin(store)
    }

    /// Does the next piece of work. Returns false when no checkpoint is running afterwards.
    func step(_ store: Store) throws(StorageError) -> Bool {
        guard let run else { return false }
        do throws(StorageError) {
            try advance(store, run)
            return self.run != nil
        } catch {
            store.versions.lock.withLock { lastError = error }
            store.events?.note(.checkpointFailed(error))
            abandon(store)
            throw error
        }
    }

    /// Finishes the running checkpoint, if there is one.
    func runToEnd(_ store: Store) throws(StorageError) {
        while try step(store) {}
    }

    /// Takes a checkpoint from start to end. No checkpoint may be running.
    func checkpoint(_ store: Store, _ request: CheckpointRequest) throws(StorageError) {
        try capture(store, request)
        try runToEnd(store)
    }

    // MARK: Capture

    /// Captures the state to write. The time under the space lock depends on the changed bitmaps, not on the data,
    /// because committers wait for that lock.
    private func capture(_ store: Store, _ request: CheckpointRequest) throws(StorageError) {
        if store.isSuspended { throw .suspended(path: store.path) }
        let writeID = try store.takeWriteID()
        do throws(StorageError) {
            var (next, live) = try store.versions.lock.withLock { () throws(StorageError) in
                try fix(store, request, writeID)
            }
            next.pages = next.dirty
            next.request.allocated.forEach { next.pages.insert($0) }
            next.pages.formIntersection(live)
            run = next
        } catch {
            store.versions.lock.withLock { lastError = error }
            store.events?.note(.checkpointFailed(error))
            throw error
        }
    }

    /// Returns the state to write, except for its pages, and the bitmaps of the live pages. Under the space lock.
    private func fix(
        _ store: Store, _ request: CheckpointRequest, _ writeID: UInt64
    ) throws(StorageError) -> (Run, live: [[UInt64]]) {
        var request = request
        let space = store.versions.space
        if !request.writesBarrier {
            // Read the version again under the lock, because pages and roots must be of one commit. A commit by
            // checkpoint is not published yet, and may have changed no page.
            request.version = store.versions.latest
        }
        let version = request.version
        // One region more, because the allocation of the directory's pages may add one.
        let bytes = Directory.encodedBytes(regions: space.regionCount + 1, names: version.names)
        let pageCount = max(1, (bytes + Overflow.payloadBytes - 1) / Overflow.payloadBytes)
        let first = space.allocateRun(pageCount)
        let directoryPages = (0..<pageCount).map { first + UInt64($0) }
        do throws(StorageError) { try store.coverFile(below: first + UInt64(pageCount)) } catch {
            space.recycle(directoryPages)
            store.versions.forgetRecycled()
            throw error
        }
        runningPoint = version.point
        store.versions.checkpointPoints = mergePoints(store.versions.checkpointPoints, [version.point])
        space.enter(allocated: request.allocated, freed: request.freed)
        for page in directoryPages + last.directoryPages { space.touch(page) }
        var bitmaps = space.takeChanges()
        for index in bitmaps.indices {
            for page in directoryPages where SpaceMap.region(of: page) == bitmaps[index].region {
                SpaceMap.set(page, in: &bitmaps[index].words)
            }
        }
        assert(
            directoryPages.allSatisfy { page in bitmaps.contains { $0.region == SpaceMap.region(of: page) } },
            "invariant 12: the bitmaps have the pages of the directory")
        var regions = Array(last.regions.prefix(space.regionCount))
        while regions.count < space.regionCount { regions.append(.init(copy: 0, writeID: 0)) }
        for (region, _) in bitmaps { regions[region] = .init(copy: freeCopy(region), writeID: writeID) }

        let dirty = store.versions.dirtyPages
        store.versions.dirtyPages = PageBitmaps()
        let run = Run(
            request: request, dirty: dirty, bitmaps: bitmaps, regions: regions,
            directory: Directory(
                regions: regions, trees: Array(version.treeTable),
                names: version.names
            ).encoded(), directoryPages: directoryPages, writeID: writeID,
            number: last.meta.number + 1, log: version.log,
            began: store.clock.now)
        return (run, space.live)
    }

    /// Writes some pages of published commits before the next checkpoint, so that the cache can evict their frames.
    ///
    /// The caller must hold `lock` and the writer lock: the writer allocates no page meanwhile, and every live page
    /// belongs to a published commit.
    ///
    /// - Returns: whether there are more pages to write.
    func writeAhead(_ store: Store) throws(StorageError) -> Bool {
        if nextAhead == nil {
            let (dirty, live) = store.versions.lock.withLock { (store.versions.dirtyPages, store.versions.space.live) }
            ahead = dirty
            if let run { ahead.formUnion(run.dirty) }
            ahead.formIntersection(live)
        }
        let next = ahead.first(Checkpointer.pagesPerStep, from: nextAhead ?? 0)
        nextAhead = next.count < Checkpointer.pagesPerStep ? nil : next.last.map { $0 + 1 }
        // Leave out pages that were freed meanwhile, because the next transaction may reuse them.
        let pages = store.versions.lock.withLock { next.filter { store.versions.space.isLive($0) } }
        try store.writePages(pages)
        return nextAhead != nil
    }

    /// Returns the bitmap copy of a region that no retained checkpoint uses.
    private func freeCopy(_ region: Int) -> UInt8 {
        let taken = [last.regions, previous?.regions ?? []]
            .compactMap { region < $0.count ? $0[region].copy : nil }
        let copy = UInt8((0..<SpaceMap.bitmapCopies).first { !taken.contains(UInt8($0)) } ?? 0)
        assert(!taken.contains(copy), "invariant 8: two retained checkpoints leave one of three places")
        return copy
    }

    // MARK: Steps

    private func advance(_ store: Store, _ current: Run) throws(StorageError) {
        assert(
            store.versions.lock.withLock {
                store.versions.checkpointPoints.contains(current.request.version.point)
            },
            "invariant 4: the running checkpoint keeps its pages")
        var current = current
        switch current.phase {
        case .pages:
            let pages = current.pages.first(Checkpointer.pagesPerStep, from: current.nextPage)
            try store.writePages(pages)
            if let last = pages.last { current.nextPage = last + 1 }
            if pages.count < Checkpointer.pagesPerStep { current.phase = .tables }
        case .tables:
            try writeTables(store, current)
            current.phase = .data
        case .data:
            do throws(FileError) { try store.syncDataFile() } catch {
                throw poisoned(store, error, "syncing the data file")
            }
            current.phase = .log
        case .log:
            if current.request.writesBarrier {
                current.log = try store.writeBarrier(commit: current.request.version.commit)
            } else {
                try store.pipeline.order(current.log.lsn)
            }
            current.phase = .meta
        case .meta, .secondMeta:
            try writeMeta(store, current)
            return
        }
        run = current
    }

    private func writeTables(_ store: Store, _ run: Run) throws(StorageError) {
        let codec = store.frames.codec
        try storage { () throws(FileError) in
            try DataFile.write(directory: run.directory, run.directoryRun, to: store.dataFile.file, codec)
            for (region, words) in run.bitmaps {
                try DataFile.write(
                    bitmap: words, region: region, run.regions[region], to: store.dataFile.file, codec)
            }
        }
    }

    private func writeMeta(_ store: Store, _ current: Run) throws(StorageError) {
        let version = current.request.version
        assert(
            version.point < store.dataFile.highWaterMark.load(ordering: .relaxed),
            "invariant 5: the header vouches for the point")
        assert(store.pipeline.isOrdered(current.log.lsn), "invariant 5: a meta refers to what is durable")
        let meta = Meta(
            number: current.number, commit: version.commit, point: version.point, log: current.log,
            nextTreeID: UInt64(version.nextTreeID), directory: current.directoryRun,
            regions: UInt64(current.regions.count),
            plainTrees: Meta.plainTrees(version.treeTable))
        do throws(FileError) { try store.dataFile.write(meta) } catch {
            // A refused write has changed nothing, so the meta can be tried again. Not after a barrier: the log then
            // names this checkpoint.
            if error.isRefusal && current.phase == .meta && !current.request.writesBarrier {
                run?.phase = .log
                throw StorageError(error)
            }
            throw poisoned(store, error, "writing a meta page")
        }
        let record = Record(meta: meta, regions: current.regions, directoryPages: current.directoryPages)
        if current.phase == .meta && current.request.fillsBothSlots {
            var second = current
            second.phase = .secondMeta
            second.number += 1
            run = second
        } else {
            run = nil
        }
        retain(store, record)
        // Report a checkpoint that fills both slots once.
        guard run == nil else { return }
        store.events?.note(
            .checkpointed(
                CheckpointReport(
                    commitNumber: version.commit,
                    pages: current.pages.count + current.directoryPages.count + current.bitmaps.count,
                    seconds: Double(store.clock.now - current.began) / 1e9)))
    }

    private func poisoned(_ store: Store, _ error: FileError, _ what: String) -> StorageError {
        store.pipeline.fail("\(what) failed (\(error)); reopen the database", error)
        return StorageError(error)
    }

    // MARK: Ends

    /// Retains a durable checkpoint, and releases the older of the two before it.
    private func retain(_ store: Store, _ record: Record) {
        // Read the pins after the meta was overwritten. A reader pins a checkpoint and then checks that its meta is
        // still there, so either this read finds the pin, or the reader finds the meta gone.
        let pins = pinned(store)
        store.versions.lock.lock()
        self.pins = pins
        // Two checkpoints of one commit share their directory pages; the later checkpoint owns them.
        if let previous, previous.directoryPages != last.directoryPages {
            store.versions.space.recycle(previous.directoryPages)
        }
        assert(record.meta.number == last.meta.number + 1, "invariant 8: the two slots are written in turn")
        let kept = last
        previous = kept
        last = record
        if run == nil { runningPoint = nil }
        store.versions.checkpointPoints = mergePoints(
            pins, mergePoints([kept.meta.point, record.meta.point], runningPoint.map { [$0] } ?? []))
        assert(
            pins.allSatisfy { store.versions.checkpointPoints.contains($0) },
            "invariant 17: pages of pinned checkpoints are kept")
        store.versions.releasePages()
        store.versions.forgetRecycled()
        completed += 1
        lastError = nil
        store.versions.lock.unlock()
        store.countSpace()
        let unused = store.pipeline.lock.withLock {
            store.pipeline.log.retire(before: min(kept.meta.log.lsn, record.meta.log.lsn))
        }
        // Remove the files outside the lock, because freeing large files takes time and committers need the lock.
        for path in unused { try? store.options.fileSystem.remove(path) }
    }

    /// Returns the transaction ids that readers in other processes have pinned. If the pins cannot be read, keeps the
    /// known pins and the older checkpoint.
    private func pinned(_ store: Store) -> [UInt64] {
        do throws(FileError) { return try store.dataFile.file.pins() } catch {
            return mergePoints(pins, previous.map { [$0.meta.point] } ?? [])
        }
    }

    /// Abandons the running checkpoint: its pages become dirty again, and its changes to the space map are undone.
    private func abandon(_ store: Store) {
        guard let run else { return }
        self.run = nil
        // After a meta write there is no undo, because the meta may be on the device; the store is read-only then.
        if run.phase == .meta || run.phase == .secondMeta {
            assert(
                store.pipeline.hasFailed.load(ordering: .acquiring),
                "invariant 9: after a failed meta write the store is read-only")
            return
        }
        store.versions.lock.lock()
        defer { store.versions.lock.unlock() }
        store.versions.space.withdraw(
            allocated: run.request.allocated, freed: run.request.freed, bornSince: run.request.basePoint)
        store.versions.space.restoreChanges(run.bitmaps.map(\.region))
        store.versions.dirtyPages.formUnion(run.dirty)
        store.versions.space.recycle(run.directoryPages)
        runningPoint = nil
        store.versions.checkpointPoints = Checkpointer.points(pins, last, previous)
        store.versions.releasePages()
        store.versions.forgetRecycled()
    }
}
