import Synchronization

/// The published versions, newest last, and their pages: what is visible, what is free, and what must be written.
///
/// A publication runs under one lock: the pages of the commits enter the space map, new snapshots get the version, and
/// pages that no snapshot and no checkpoint sees become free. Readers do not take the lock; they load `published`.
final class VersionList: @unchecked Sendable {
    /// The space lock. Guards everything here except the two atomics.
    let lock = Lock()
    /// Guarded by the lock.
    @exclusivity(unchecked) private(set) var space: SpaceMap
    private let frames: FrameStore
    let snapshots = SnapshotRegistry()

    /// The version for new snapshots, as the address of a `Version` in `all`; 0 if another store has newer versions.
    let published: Atomic<UInt>

    // Guarded by the lock, without dynamic exclusivity checks: with those of the pipeline they took a seventh of a
    // commit.

    /// The versions that a snapshot may use, in the order of their commits.
    @exclusivity(unchecked) private(set) var all: [Version]
    /// Versions that no snapshot uses. A reader may have loaded their address, so they live until its operation has
    /// ended.
    @exclusivity(unchecked) private var retired: [Version] = []
    @exclusivity(unchecked) private var dying: (epoch: UInt64, versions: [Version])?
    /// Pages of published commits that may not be in the data file yet.
    @exclusivity(unchecked) var dirtyPages = PageBitmaps()
    /// The transaction ids (points) of retained and running checkpoints and of pins, whose pages must stay.
    @exclusivity(unchecked) var checkpointPoints: [UInt64]
    /// The space of the data file; see DiskReserve.swift.
    @exclusivity(unchecked) var room: FileRoom {
        didSet { lacksRoom.store(room.isShort, ordering: .relaxed) }
    }
    /// `room.isShort`, for readers without the lock.
    let lacksRoom = Atomic<Bool>(false)

    init(_ opening: Opening) {
        space = opening.space
        frames = opening.frames
        all = [opening.version]
        published = Atomic(VersionList.address(of: opening.version))
        checkpointPoints = opening.checkpointPoints
        room = FileRoom(pages: opening.filePages)
    }

    /// The newest published version. Under the lock.
    var latest: Version { all[all.count - 1] }

    // MARK: Publishing

    /// Publishes a version, and frees the pages that only earlier versions used.
    ///
    /// - Parameter pages: the changed pages of this version and of earlier versions that were never published
    ///   themselves. Empty afterwards.
    func publish(_ version: Version, _ pages: inout ChangedPages) {
        lock.lock()
        space.enter(allocated: pages.allocated, freed: pages.freed)
        pages.allocated.forEach { dirtyPages.insert($0) }
        show(version)
        let points = releasePages()
        space.bury(pages.freed, freedAt: version.point, points: points)
        forgetRecycled()
        dropVersions(except: points)
        lock.unlock()
        pages.removeAll()
    }

    /// Publishes a version whose pages a checkpoint has already entered into the space map and written.
    func publish(_ version: Version, freed: PackedList<SpaceMap.DeadPage>) {
        lock.lock()
        show(version)
        space.bury(freed, freedAt: version.point, points: releasePages())
        forgetRecycled()
        lock.unlock()
    }

    /// Makes a version the one for new snapshots. Under the lock.
    private func show(_ version: Version) {
        assert(version.commit >= latest.commit, "invariant 6: commits are published in order")
        assert(version.point > latest.point, "invariant 6: a later commit has a later point")
        assert(version.log.lsn >= latest.log.lsn, "invariant 6: the log of a later commit ends later")
        all.append(version)
        published.store(VersionList.address(of: version), ordering: .sequentiallyConsistent)
    }

    private static func address(of version: Version) -> UInt {
        UInt(bitPattern: Unmanaged.passUnretained(version).toOpaque())
    }

    /// Frees the dead pages that no snapshot and no checkpoint sees. Under the lock, and after a version is shown,
    /// because a snapshot that is not in the registry yet finds the newer version at its second check.
    ///
    /// - Returns: the points that keep pages.
    @discardableResult
    func releasePages() -> [UInt64] {
        let open = snapshots.activePoints()
        let points = mergePoints(open, checkpointPoints)
        assert(zip(points, points.dropFirst()).allSatisfy(<), "invariant 4: points are in ascending order")
        space.release(points: points)
        return points
    }

    /// Forgets the frames of freed pages, because they need not be written. Under the lock.
    func forgetRecycled() {
        space.forEachRecycled { frames.forget(page: $0) }
    }

    /// Drops the versions that no snapshot uses. Releases them an operation epoch later, because a reader may still use
    /// one. Under the lock.
    private func dropVersions(except points: [UInt64]) {
        // Both lists are in ascending order. Usually only the oldest version is dropped.
        var index = 0
        var next = 0
        while index < all.count - 1 {
            let point = all[index].point
            while next < points.count, points[next] < point { next += 1 }
            if next < points.count, points[next] == point {
                index += 1
            } else {
                retired.append(all.remove(at: index))
            }
        }
        if let dying, Epochs.hasPassed(dying.epoch) { self.dying = nil }
        if dying == nil, retired.count >= 64 {
            dying = (Epochs.retire(), retired)
            retired = []
        }
    }

    /// The point of the older retained checkpoint, to which the log reaches back.
    var oldestCheckpointPoint: UInt64 { lock.withLock { checkpointPoints.first ?? 1 } }

    // MARK: Suspension

    /// Withdraws the latest version: new snapshots get none. No version may be published until `showAgain`.
    func withdraw() { published.store(0, ordering: .sequentiallyConsistent) }

    func showAgain() {
        lock.withLock { published.store(VersionList.address(of: latest), ordering: .sequentiallyConsistent) }
    }

    /// Takes over the version and the pages of another store of the file, which is not used any more. There may be no
    /// snapshot, and no version may be published.
    func adopt(_ other: VersionList, filePages: UInt64) {
        lock.lock()
        defer { lock.unlock() }
        space = other.space
        dirtyPages = PageBitmaps()
        retired += all
        all = [other.latest]
        checkpointPoints = other.checkpointPoints
        room = FileRoom(pages: filePages)
    }

    // MARK: Pages

    /// Allocates pages, and appends them to the list with the first page last.
    func allocatePages(_ count: Int, to pages: inout [UInt64]) {
        let start = pages.count
        lock.lock()
        for _ in 0..<count { pages.append(space.allocate()) }
        lock.unlock()
        pages[start...].reverse()
    }

    /// Allocates up to `count` pages below `limit`, with the lowest page last.
    func allocatePages(_ count: Int, below limit: UInt64) -> [UInt64] {
        var pages: [UInt64] = []
        lock.lock()
        while pages.count < count, let page = space.allocate(below: limit) { pages.append(page) }
        lock.unlock()
        return pages.reversed()
    }

    /// Whether there is a run of `count` free pages that starts below a page.
    func hasRun(of count: Int, below limit: UInt64) -> Bool {
        lock.withLock { space.lowestRun(count).map { $0 < limit } ?? false }
    }

    // The page table must cover a run first, because its pages may be written and read bypassing the cache. The caller
    // must hold the writer lock.
    func allocateRun(_ count: Int) -> UInt64 {
        let first = lock.withLock { space.allocateRun(count) }
        frames.cover(below: first + UInt64(count))
        return first
    }

    func allocateRun(upTo count: Int, isWhole: Bool) -> (page: UInt64, count: Int) {
        let run = lock.withLock { space.allocateRun(upTo: count, isWhole: isWhole) }
        frames.cover(below: run.page + UInt64(run.count))
        return run
    }

    func giveBack(_ pages: [UInt64]) {
        guard !pages.isEmpty else { return }
        lock.withLock {
            space.recycle(pages)
            forgetRecycled()
        }
    }

    func giveBack(_ pages: PackedList<UInt64>) {
        guard !pages.isEmpty else { return }
        lock.withLock {
            space.recycle(pages)
            forgetRecycled()
        }
    }
}

/// Returns the union of two ascending lists of points.
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
