extension Store {
    /// The budget of memory for pages, in bytes. Statistics say how much of it is used: ``StoreStats/cacheUsedBytes``.
    public var cacheBytes: Int {
        if let next = follower?.successor { return next.cacheBytes }
        return frames.wholeBudgetFrames * pageBytes
    }

    /// Changes the budget of memory for pages while the store is open.
    ///
    /// A smaller budget gives memory back to the system: pages that the file has, and that no operation is reading, before the call returns. A
    /// page that only memory has stays until the checkpoint has written it, which begins at once in the background, and one that an
    /// operation is reading stays until that ends. Open snapshots, cursors and transactions go on; they read from the file what is no longer
    /// in memory. Memory goes back in pages of the system, 4 KiB to 64 KiB, so a little more than the budget may be in use.
    ///
    /// A larger budget takes nothing by itself: memory fills as pages are read and written.
    ///
    /// ```swift
    /// try store.setCacheBytes(4 << 20)
    /// ```
    ///
    /// - Parameter bytes: the budget; less than 256 KiB is 256 KiB.
    /// - Throws: ``StorageError/closed``, ``StorageError/inherited(path:)``.
    /// - Complexity: O(pages given back).
    public func setCacheBytes(_ bytes: Int) throws(StorageError) {
        try requireOpen()
        guard let follower else { return takeBudget(bytes) }
        // A store that only reads has no background of its own, and may be opening its successor.
        try follower.lock.withLock { () throws(StorageError) in
            try follower.successor?.setCacheBytes(bytes)
            takeBudget(bytes)
        }
    }

    private func takeBudget(_ bytes: Int) {
        frames.setBudget(bytes: bytes)
        frames.evictToBudget()
        background.wake()
    }
}
