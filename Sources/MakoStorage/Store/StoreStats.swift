/// Statistics of a store at one moment.
///
/// In JSON the fields have these names, which do not change.
public struct StoreStats: Sendable, Hashable, Codable {
    /// The number of the latest published commit.
    public var commitNumber: UInt64
    /// The size of a page in bytes.
    public var pageBytes: Int
    /// The number of pages in use by the latest commit, fixed pages included.
    public var livePages: Int
    /// The number of pages of the data file up to the last one ever used.
    public var filePages: UInt64
    /// The number of freed pages that a snapshot or a retained checkpoint still sees.
    public var waitingPages: Int
    /// The cache budget in bytes.
    public var cacheBudgetBytes: Int
    /// The bytes of cached pages.
    public var cacheUsedBytes: Int
    /// The bytes of cache memory taken from the system. It exceeds the budget while nothing can be evicted; the
    /// background work gives free memory above the budget back.
    public var cacheMappedBytes: Int
    /// The number of pages read into the cache.
    public var pageLoads: UInt64
    /// The number of pages evicted from the cache.
    public var evictions: UInt64
    /// The number of times that memory above the budget was taken because nothing could be evicted.
    public var overBudget: UInt64
    /// The number of open snapshots.
    public var openSnapshots: Int
    /// The number of commits since the one that the oldest snapshot shows.
    public var oldestSnapshotAge: UInt64
    /// The oldest open snapshot.
    public var oldestSnapshot: OldestSnapshot?
    /// The number of checkpoints that readers in other processes had pinned when this store last released a checkpoint.
    public var pinnedCheckpoints: Int
    /// The bytes appended to the log since opening.
    public var logBytes: UInt64
    /// The number of flushes of the log since opening.
    public var flushes: UInt64
    /// The bytes saved by compression since opening.
    public var compression: CompressionStats
    /// The number of completed checkpoints since opening.
    public var checkpoints: UInt64
    /// The error of the latest checkpoint, if it failed.
    public var checkpointError: StorageError?
    /// The reason why the store is read-only after a failure; nil if it is not.
    public var readOnlyReason: String?
    /// What recovery did at opening.
    public var recovery: RecoveryReport
}

/// The oldest open snapshot, which keeps freed pages from reuse.
public struct OldestSnapshot: Sendable, Hashable, Codable {
    /// Its label; `backup` for the engine's own.
    public var label: String?
    /// Its age in seconds, to about a tenth. Nil for the engine's own, which have no age limit.
    public var seconds: Double?
    /// The number of commits since the one that it shows.
    public var commits: UInt64
    /// The bytes of freed pages that wait for it. They become free when it ends, unless the next snapshot sees them
    /// too.
    public var heldBytes: Int
}

extension StoreStats {
    /// The names in JSON, in which an earlier name of a field stays.
    private enum CodingKeys: String, CodingKey {
        case commitNumber, pageBytes, livePages, filePages, waitingPages, cacheBudgetBytes, cacheUsedBytes
        case cacheMappedBytes, pageLoads, evictions, overBudget, openSnapshots, oldestSnapshotAge, oldestSnapshot
        case pinnedCheckpoints, logBytes, flushes, compression, checkpoints, checkpointError, recovery
        case readOnlyReason = "latch"
    }

    /// The reason why the store is read-only after a failure; nil if it is not.
    @available(*, deprecated, renamed: "readOnlyReason")
    public var latch: String? {
        get { readOnlyReason }
        set { readOnlyReason = newValue }
    }
}

extension Store {
    /// The statistics at this moment.
    public var stats: StoreStats {
        if let next = follower?.successor { return next.stats }
        let counters = frames.currentCounters
        let (used, mapped) = frames.frameCounts
        _ = endOldSnapshots()
        let now = milliseconds
        let first = snapshots.oldest()
        let (logBytes, content, flushes, reason) = pipeline.lock.withLock {
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
                readOnlyReason: reason, recovery: recovery)
        }
    }
}
