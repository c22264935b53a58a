extension Store {
    /// The cache budget in bytes. For the used part see ``StoreStats/cacheUsedBytes``.
    public var cacheBytes: Int {
        if let next = follower?.successor { return next.cacheBytes }
        return frames.wholeBudgetFrames * pageBytes
    }

    /// Changes the cache budget while the store is open.
    ///
    /// With a smaller budget, clean pages that no operation is reading are evicted, and their memory is given back to
    /// the system, before the call returns. A dirty page stays until the checkpoint, which starts at once in the
    /// background, has written it; a page that an operation is reading stays until that operation ends. Open snapshots,
    /// cursors and transactions continue, and read evicted pages from the file. Memory is given back in system pages of
    /// 4 KiB to 64 KiB, so slightly more than the budget may stay in use.
    ///
    /// A larger budget allocates nothing by itself: the cache grows as pages are read and written.
    ///
    /// ```swift
    /// try store.setCacheBytes(4 << 20)
    /// ```
    ///
    /// - Parameter bytes: the budget, at least 256 KiB; smaller values count as 256 KiB.
    /// - Throws: ``StorageError/closed(path:)``, ``StorageError/inherited(path:)``.
    /// - Complexity: linear in the evicted pages.
    public func setCacheBytes(_ bytes: Int) throws(StorageError) {
        // In a suspended store too, because the system may be short of memory then.
        try requireUnclosed()
        guard let follower else { return takeBudget(bytes) }
        // A read-only store has no background work, and may be opening its successor.
        try follower.lock.withLock { () throws(StorageError) in
            try follower.successor?.setCacheBytes(bytes)
            takeBudget(bytes)
        }
    }

    private func takeBudget(_ bytes: Int) {
        frames.setBudget(bytes: bytes)
        frames.evictToBudget()
        if frames.frameCounts.mapped > frames.budgetFrames { needBackground() }
        background.wake()
    }

    /// Counts the lists and bitmaps of the space map against the budget.
    func countSpace() {
        frames.count(spaceBytes: versions.lock.withLock { versions.space.listBytes + versions.space.bitmapBytes })
    }
}
