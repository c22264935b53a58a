/// A version to be made the data file's own.
struct CheckpointRequest {
    var version: Version
    /// Pages of a commit that is not published yet; see `Store.commitByCheckpoint`.
    var allocated = PackedList<UInt64>()
    var freed = PackedList<SpaceMap.DeadPage>()
    /// The point of the version that commit builds on.
    var basePoint: UInt64 = 0
    /// Write a barrier into the log before the metas.
    var writesBarrier = false
    /// Both slots get this checkpoint: nothing older is retained.
    var fillsBothSlots = false
}

/// Moves the data file from one consistent state to the next.
///
/// A state machine: `begin` captures a version, each `step` does one bounded piece of work, in this order:
///
///     pages      dirty pages of the version, ascending, neighbours together, unsynced
///     tables     the directory and the bitmaps of the regions that changed
///     data       the data file is synced: everything the meta will refer to is on the device before the meta
///     log        the log is synced up to the version, or the barrier written
///     meta       both copies of the meta, in the slot of the older checkpoint, synced; then the older
///                checkpoint is let go of: its pages, its log segments
///
/// Of data and log the order alone counts, so that where there are barriers (`File.barrier()`) the meta has the only full sync.
///
/// Until the meta is written a failed write abandons the checkpoint and nothing is lost: log and memory still
/// have everything. A failed sync, or a failed meta write, latches the store: what the device holds is unknown.
final class Checkpointer: @unchecked Sendable {
    /// How many pages one step writes.
    static let pagesPerStep = 256

    /// A retained checkpoint.
    struct Record {
        var meta: Meta
        var regions: [SpaceMap.RegionState]
        /// The directory's pages: in no tree, and free when the checkpoint goes.
        var directoryPages: [UInt64]
    }

    /// Whoever steps or begins holds this: at most one checkpoint at a time.
    let lock = Lock()
    private(set) var last: Record
    private(set) var previous: Record?
    private var run: Run?
    /// What is still to be written ahead. Guarded by `lock`.
    private var ahead = PageBitmaps()
    /// From where on; nil: of nothing.
    private var nextAhead: UInt64?
    /// Background steps that found nothing to do since `idleCommit`. Guarded by `lock`.
    private var idleSteps = 0
    private var idleCommit: UInt64 = 0
    /// So many of them are two seconds, with a thread of the store's own.
    static let patience = 20

    // Guarded by the space lock, so that `stats` need not wait for a step.
    private(set) var completed: UInt64 = 0
    /// Why the latest attempt came to nothing.
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
        /// What was dirty when it began, to go back to: pages that a failed commit would have freed included.
        var dirty: PageBitmaps
        var pages = PageBitmaps()
        var nextPage: UInt64 = 0
        var bitmaps: [(region: Int, words: [UInt64])]
        var regions: [SpaceMap.RegionState]
        var directory: [UInt8]
        var directoryPages: [UInt64]
        var serial: UInt64
        var number: UInt64
        var log: LogPosition
        /// By the store's clock, in nanoseconds.
        var began: UInt64

        var directoryRun: Overflow {
            Overflow(
                firstPage: directoryPages[0], firstSerial: serial, length: directory.count,
                stored: directory.count, isCompressed: false)
        }
    }

    /// Points that readers in other processes have pinned. Those that are not retained were when they were pinned.
    private(set) var pins: [UInt64]

    init(last: Record, previous: Record?, pins: [UInt64]) {
        self.last = last
        self.previous = previous
        self.pins = pins
    }

    /// The points whose pages must stay while no checkpoint is running.
    static func points(_ pins: [UInt64], _ last: Record, _ previous: Record?) -> [UInt64] {
        mergePoints(pins, mergePoints([last.meta.point], previous.map { [$0.meta.point] } ?? []))
    }

    var isRunning: Bool { run != nil }

    /// Makes the copies of both metas whole after a crash in the middle of writing them.
    ///
    /// A slot without any usable meta gets the latest checkpoint too.
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

    /// Begins a checkpoint of the latest published version, unless there is nothing new. None may be running.
    ///
    /// - Parameter anyway: even when there is nothing new, so that an older checkpoint is let go of.
    /// - Returns: whether one is running now.
    func begin(_ store: Store, anyway: Bool = false) throws(StorageError) -> Bool {
        let current = store.versions.lock.withLock { store.versions.latest }
        guard anyway || current.commit != last.meta.commit else { return false }
        try capture(store, CheckpointRequest(version: current))
        return true
    }

    /// Counts a background step that found nothing to do, and begins when there were enough of them behind the last commit. None may be
    /// running.
    func beginWhenIdle(_ store: Store) throws(StorageError) -> Bool {
        let commit = store.versions.lock.withLock { store.versions.latest.commit }
        if commit != idleCommit { (idleCommit, idleSteps) = (commit, 0) }
        idleSteps += 1
        guard idleSteps > Checkpointer.patience else { return false }
        // Should it fail, the next attempt has the same patience.
        idleSteps = 0
        return try begin(store)
    }

    /// Does the next piece of work. False when no checkpoint is running any more.
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

    /// Finishes the checkpoint that is running, if one is.
    func runToEnd(_ store: Store) throws(StorageError) {
        while try step(store) {}
    }

    /// Takes one checkpoint from beginning to end. None may be running.
    func checkpoint(_ store: Store, _ request: CheckpointRequest) throws(StorageError) {
        try capture(store, request)
        try runToEnd(store)
    }

    // MARK: Capture

    /// Fixes what the checkpoint will hold. Under the lock it takes time for the bitmaps that changed, not for the data: committers wait
    /// for that lock.
    private func capture(_ store: Store, _ request: CheckpointRequest) throws(StorageError) {
        let serial = try store.takeSerial()
        do throws(StorageError) {
            var (next, live) = try store.versions.lock.withLock { () throws(StorageError) in
                try fix(store, request, serial)
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

    /// The state to be written, but for its pages, and the map they are to be found in.
    private func fix(
        _ store: Store, _ request: CheckpointRequest, _ serial: UInt64
    ) throws(StorageError) -> (Run, live: [[UInt64]]) {
        var request = request
        let space = store.versions.space
        if !request.writesBarrier {
            // It may have moved on since the caller looked; pages and roots must be of one commit. A commit by
            // checkpoint is not published yet, and may have no page to show for itself.
            request.version = store.versions.latest
        }
        let version = request.version
        // The directory's own run may bring a new region into being.
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
        var regions = Array(last.regions.prefix(space.regionCount))
        while regions.count < space.regionCount { regions.append(.init(copy: 0, serial: 0)) }
        for (region, _) in bitmaps { regions[region] = .init(copy: freeCopy(region), serial: serial) }

        let dirty = store.versions.dirtyPages
        store.versions.dirtyPages = PageBitmaps()
        let run = Run(
            request: request, dirty: dirty, bitmaps: bitmaps, regions: regions,
            directory: Directory(
                regions: regions, trees: Array(UnsafeBufferPointer(start: version.trees, count: version.treeCount)),
                names: version.names
            ).encoded(), directoryPages: directoryPages, serial: serial,
            number: last.meta.number + 1, log: version.log,
            began: store.clock.now)
        return (run, space.live)
    }

    /// Writes some pages of published commits ahead of the next checkpoint, so that their frames can serve others.
    ///
    /// Whoever calls holds `lock` and the turn: nobody takes a slot into use meanwhile, and what is in use belongs to a published commit.
    ///
    /// - Returns: whether there are more.
    func writeAhead(_ store: Store) throws(StorageError) -> Bool {
        if nextAhead == nil {
            let (dirty, live) = store.versions.lock.withLock { (store.versions.dirtyPages, store.versions.space.live) }
            ahead = dirty
            if let run { ahead.formUnion(run.dirty) }
            ahead.formIntersection(live)
        }
        let next = ahead.first(Checkpointer.pagesPerStep, from: nextAhead ?? 0)
        nextAhead = next.count < Checkpointer.pagesPerStep ? nil : next.last.map { $0 + 1 }
        // Some may have died since, and serve the next transaction.
        let pages = store.versions.lock.withLock { next.filter { store.versions.space.isLive($0) } }
        try store.writePages(pages)
        return nextAhead != nil
    }

    /// The bitmap copy of a region that neither retained checkpoint uses.
    private func freeCopy(_ region: Int) -> UInt8 {
        let taken = [last.regions, previous?.regions ?? []]
            .compactMap { region < $0.count ? $0[region].copy : nil }
        let copy = UInt8((0..<SpaceMap.bitmapCopies).first { !taken.contains(UInt8($0)) } ?? 0)
        assert(!taken.contains(copy), "two retained checkpoints leave one of three places")
        return copy
    }

    // MARK: Steps

    private func advance(_ store: Store, _ current: Run) throws(StorageError) {
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
                throw latched(store, error, "syncing the data file")
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
        assert(version.point < store.dataFile.ceiling.load(ordering: .relaxed), "the header vouches for the point")
        assert(store.pipeline.isOrdered(current.log.lsn), "a meta refers to what is durable")
        let meta = Meta(
            number: current.number, commit: version.commit, point: version.point, log: current.log,
            nextTreeID: UInt64(version.nextTreeID), directory: current.directoryRun,
            regions: UInt64(current.regions.count),
            plainTrees: Meta.plainTrees(UnsafeBufferPointer(start: version.trees, count: version.treeCount)))
        do throws(FileError) { try store.dataFile.write(meta) } catch {
            // Refused, it has changed nothing; but a barrier in the log says that this checkpoint is there.
            if error.isRefusal && current.phase == .meta && !current.request.writesBarrier {
                run?.phase = .log
                throw StorageError(error)
            }
            throw latched(store, error, "writing a meta page")
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
        // Both slots are one checkpoint to whoever is told.
        guard run == nil else { return }
        store.events?.note(
            .checkpointed(
                CheckpointReport(
                    commitNumber: version.commit,
                    pages: current.pages.count + current.directoryPages.count + current.bitmaps.count,
                    seconds: Double(store.clock.now - current.began) / 1e9)))
    }

    private func latched(_ store: Store, _ error: FileError, _ what: String) -> StorageError {
        store.pipeline.fail("\(what) failed (\(error)); reopen the database", error)
        return StorageError(error)
    }

    // MARK: Ends

    /// The new checkpoint is durable: the older of the two before it is let go of.
    private func retain(_ store: Store, _ record: Record) {
        // A reader pins a checkpoint and then looks whether its meta is still there. One that is let go of here has just been written over,
        // so either its pin is found, or the reader finds the meta gone.
        let pins = pinned(store)
        store.versions.lock.lock()
        self.pins = pins
        // Two checkpoints of one commit share their directory; the later of them owns it.
        if let previous, previous.directoryPages != last.directoryPages {
            store.versions.space.recycle(previous.directoryPages)
        }
        assert(record.meta.number == last.meta.number + 1, "the two slots are written in turn")
        let kept = last
        previous = kept
        last = record
        if run == nil { runningPoint = nil }
        store.versions.checkpointPoints = mergePoints(
            pins, mergePoints([kept.meta.point, record.meta.point], runningPoint.map { [$0] } ?? []))
        store.versions.releasePages()
        store.versions.forgetRecycled()
        completed += 1
        lastError = nil
        store.versions.lock.unlock()
        let unused = store.pipeline.lock.withLock {
            store.pipeline.log.retire(before: min(kept.meta.log.lsn, record.meta.log.lsn))
        }
        // Millions of bytes are given back one after the other: committers need not wait for that.
        for path in unused { try? store.options.fileSystem.remove(path) }
    }

    /// The points that readers in other processes need. What cannot be asked for is taken to be needed.
    private func pinned(_ store: Store) -> [UInt64] {
        do throws(FileError) { return try store.dataFile.file.pins() } catch {
            return mergePoints(pins, previous.map { [$0.meta.point] } ?? [])
        }
    }

    /// Nothing of the checkpoint counts: what it would have written is still to be written.
    private func abandon(_ store: Store) {
        guard let run else { return }
        self.run = nil
        // Once a meta may have been written there is no going back; the store is latched then.
        if run.phase == .meta || run.phase == .secondMeta { return }
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
