/// Numbers about a store, taken at one moment.
///
/// As JSON the fields have the names they have here, and keep them.
public struct StoreStats: Sendable, Hashable, Codable {
    /// The latest commit that readers see.
    public var commitNumber: UInt64
    /// Size of a page, in bytes.
    public var pageBytes: Int
    /// Pages in use by the latest commit, fixed pages included.
    public var livePages: Int
    /// Pages of the data file up to the last one ever used.
    public var filePages: UInt64
    /// Dead pages kept because a snapshot or a retained checkpoint still sees them.
    public var waitingPages: Int
    /// Memory for pages, in bytes: the budget, what holds pages, and what is taken from the system. More than the budget is taken while
    /// nothing can be given up; what is free of it goes back when nothing else is to be done.
    public var cacheBudgetBytes: Int
    public var cacheUsedBytes: Int
    public var cacheMappedBytes: Int
    /// Pages brought into memory, and taken out again.
    public var pageLoads: UInt64
    public var evictions: UInt64
    /// How often memory was taken beyond the budget because nothing could be evicted at that moment.
    public var overBudget: UInt64
    /// Open snapshots, and the commits behind the latest one that the oldest of them shows.
    public var openSnapshots: Int
    public var oldestSnapshotAge: UInt64
    /// The oldest of them.
    public var oldestSnapshot: OldestSnapshot?
    /// Checkpoints that readers in other processes held when this store last let go of one of its own.
    public var pinnedCheckpoints: Int
    /// Bytes appended to the log since opening, and flushes.
    public var logBytes: UInt64
    public var flushes: UInt64
    /// What compression has saved since opening.
    public var compression: CompressionStats
    public var checkpoints: UInt64
    /// Why the latest checkpoint came to nothing, if it did.
    public var checkpointError: StorageError?
    /// Why the store takes no more writes, if so.
    public var latch: String?
    public var recovery: RecoveryReport
}

/// The snapshot that holds dead pages longest.
public struct OldestSnapshot: Sendable, Hashable, Codable {
    /// What it was called when it was taken; `backup` for the engine's own.
    public var label: String?
    /// How long ago it was taken, to about a tenth of a second. Nil for the engine's own, which no age limit ends.
    public var seconds: Double?
    /// The commits behind the latest one that it shows.
    public var commits: UInt64
    /// Bytes of dead pages that wait for it: when it goes they are free, but for those that the next one sees, too.
    public var heldBytes: Int
}

extension Store {
    /// Numbers about the store at this moment.
    public var stats: StoreStats {
        if let next = follower?.successor { return next.stats }
        let counters = frames.currentCounters
        let (used, mapped) = frames.frameCounts
        _ = endOldSnapshots()
        let now = milliseconds
        let first = snapshots.oldest()
        let (logBytes, content, flushes, latch) = pipeline.lock.withLock {
            (pipeline.log.appendedBytes, pipeline.log.content, pipeline.flushCount, pipeline.failure?.reason)
        }
        return versions.lock.withLock {
            let current = versions.latest
            let shown = versions.all.first { first?.point == $0.point } ?? current
            let age = current.commit - shown.commit
            let oldest = first.map { first in
                OldestSnapshot(
                    label: first.label, seconds: first.time.map { Double(now - min(now, $0)) / 1000 }, commits: age,
                    heldBytes: versions.space.waiting(for: first.point) * MakoStorage.pageBytes)
            }
            return StoreStats(
                commitNumber: current.commit, pageBytes: MakoStorage.pageBytes, livePages: versions.space.liveCount,
                filePages: versions.space.extent, waitingPages: versions.space.waitingCount,
                cacheBudgetBytes: frames.wholeBudgetFrames * MakoStorage.pageBytes,
                cacheUsedBytes: used * MakoStorage.pageBytes, cacheMappedBytes: mapped * MakoStorage.pageBytes,
                pageLoads: counters.loads, evictions: counters.evictions,
                overBudget: counters.overBudget, openSnapshots: snapshots.count,
                oldestSnapshotAge: age, oldestSnapshot: oldest, pinnedCheckpoints: checkpointer.pins.count,
                logBytes: logBytes,
                flushes: flushes, compression: pipeline.compression.stats(logContent: content),
                checkpoints: checkpointer.completed, checkpointError: checkpointer.lastError,
                latch: latch, recovery: recovery)
        }
    }
}
