/// The space of the data file, known without system calls. Guarded by the space lock.
struct FileRoom {
    /// The pages of the file, each with space on the device.
    var pages: UInt64
    /// The pages that commits may still allocate before free pages are counted again; pages freed meanwhile are added.
    var allowance = 0
    /// The first page that was not allocated on the device since opening; the file may have holes from there on.
    var unallocated: UInt64 = 0
    /// Whether the device had no more space than requested last, or less.
    var isShort = false

    init(pages: UInt64) { self.pages = pages }
}

// On a full disk, deletions must stay possible, and the checkpoint that frees their pages. So the file gets space for
// the pages of a commit before the commit is appended to the log, and a checkpoint never needs more. Some free pages
// are reserved for transactions that do not make the database larger; these need a few, because changed pages are
// copied.
//
// The log needs no reserve: without space for another segment, a checkpoint releases the existing ones.
extension Store {
    /// Returns the number of pages to reserve in a file of a length.
    func reservePages(of filePages: UInt64) -> UInt64 {
        guard options.diskReserveBytes > 0 else { return 0 }
        let wanted = max(UInt64(options.diskReserveBytes) / UInt64(pageBytes), filePages / 1024)
        return max(24, min(wanted, filePages / 16))
    }

    /// Reserves space in the file for the pages of a transaction, besides the reserve.
    ///
    /// - Parameter isCheckpointing: whether the caller holds the checkpointer's lock.
    /// - Throws: ``StorageError/diskFull(path:)`` if there is too little and the transaction makes the database larger.
    func reservePages(for writer: Writer, isCheckpointing: Bool = false) throws(StorageError) {
        let count = writer.allocated.count
        let isThere = versions.lock.withLock {
            versions.room.allowance += versions.space.takeFreed() - count
            return versions.room.allowance >= 0 && versions.space.top <= versions.room.pages && !versions.room.isShort
        }
        if isThere { return }
        // Return page ids that were taken ahead, because they need no space.
        writer.returnUnusedNumbers()
        do throws(StorageError) { try makeRoom(for: writer) } catch {
            guard case .diskFull = error else { throw error }
            // Checkpoint, because dead pages and log behind the older checkpoint may take the space.
            if isCheckpointing { try renewCheckpoints() } else { try checkpointer.lock.withLock(renewCheckpoints) }
            try makeRoom(for: writer)
        }
    }

    /// On a full disk, takes the checkpoints that free dead pages, before a transaction that needs them begins.
    ///
    /// The caller must hold the writer lock. Ignores errors, because the transaction will meet them again.
    func reclaimRoom() {
        // Check without the lock first, because every transaction begins here and usually there is space.
        guard versions.lacksRoom.load(ordering: .relaxed) else { return }
        let isWorthIt = versions.lock.withLock {
            versions.room.isShort
                && versions.space.waitingCount > Int(clamping: reservePages(of: versions.room.pages)) / 4
        }
        guard isWorthIt else { return }
        returnIdleNumbers()
        do throws(StorageError) { try checkpointer.lock.withLock(renewCheckpoints) } catch {}
        versions.lock.withLock { forgetPagesBehindTheFile() }
    }

    /// Takes two checkpoints, which frees what only older checkpoints need. The caller must hold the checkpointer's
    /// lock.
    private func renewCheckpoints() throws(StorageError) {
        try flush(.durable)
        for _ in 0..<2 {
            try checkpointer.runToEnd(self)
            if try checkpointer.begin(self, anyway: true) { try checkpointer.runToEnd(self) }
        }
    }

    private func makeRoom(for writer: Writer) throws(StorageError) {
        try versions.lock.withLock { () throws(StorageError) in
            forgetPagesBehindTheFile()
            try seekRoom(for: writer)
        }
    }

    private func seekRoom(for writer: Writer) throws(StorageError) {
        let reserve = Int(clamping: reservePages(of: versions.room.pages))
        _ = versions.space.takeFreed()
        var free = versions.space.freeCount(below: versions.room.pages) - reserve
        if versions.space.top > versions.room.pages || free < 0 {
            do throws(StorageError) {
                free += try grow(to: max(versions.space.top, versions.room.pages + UInt64(max(0, -free))))
            } catch {
                // Keep a directory's pages for each of the two checkpoints that free dead pages; no deletion may use
                // them.
                let isEnough = free + reserve >= 2 * checkpointer.last.directoryPages.count
                guard case .diskFull = error, versions.space.top <= versions.room.pages, isEnough, writer.keepsSize
                else { throw error }
                free = 0
            }
        }
        versions.room.allowance = max(0, free)
    }

    /// Grows the file for a transaction's pages, before some of them are written.
    func growFile(for writer: Writer) throws(StorageError) {
        guard !options.readOnly, versions.lock.withLock({ versions.space.top > versions.room.pages }) else { return }
        writer.returnUnusedNumbers()
        try versions.lock.withLock { () throws(StorageError) in
            forgetPagesBehindTheFile()
            if versions.space.top > versions.room.pages { _ = try grow(to: versions.space.top) }
        }
    }

    /// Grows the file for a checkpoint's directory, whose pages may be behind those of a transaction that has not grown
    /// the file yet. Writing there would extend the file with holes, and the next opening assumes that each page of the
    /// file has space on the device. Under the space lock.
    func coverFile(below end: UInt64) throws(StorageError) {
        guard !options.readOnly, end > versions.room.pages else { return }
        _ = try grow(to: end)
    }

    /// Grows the file to `pages` pages, and by some more if the device has space.
    ///
    /// - Returns: the number of added pages.
    private func grow(to pages: UInt64) throws(StorageError) -> Int {
        let before = versions.room.pages
        let more = max(8, min(1024, pages / 16))
        do throws(FileError) {
            do throws(FileError) {
                try allocate(pages + more)
                versions.room.isShort = false
            } catch {
                guard error.isNoSpace else { throw error }
                versions.room.isShort = true
                try allocate(pages)
            }
        } catch { throw StorageError(error) }
        return Int(clamping: versions.room.pages - before)
    }

    private func allocate(_ pages: UInt64) throws(FileError) {
        try dataFile.file.allocate(versions.room.unallocated * UInt64(pageBytes)..<pages * UInt64(pageBytes))
        versions.room.pages = pages
        versions.room.unallocated = pages
    }

    /// Truncates the file to its contents.
    func cutOffUnused() throws(StorageError) {
        do throws(FileError) {
            try versions.lock.withLock { () throws(FileError) in
                forgetPagesBehindTheFile()
                if versions.space.top < versions.room.pages {
                    try dataFile.file.resize(to: versions.space.top * UInt64(pageBytes))
                }
            }
        } catch { throw StorageError(error) }
    }

    /// Computes the end of the used pages again, after pages behind the end of the file were returned. Under the space
    /// lock.
    func forgetPagesBehindTheFile() {
        versions.forgetRecycled()
        versions.space.forgetTop()
    }

    /// Computes the end of the used pages again after the rollback of a transaction.
    func forgetPages(of writer: Writer) {
        guard !options.readOnly,
            versions.lock.withLock({ versions.space.top > versions.room.pages || versions.room.isShort })
        else { return }
        writer.returnUnusedNumbers()
        versions.lock.withLock { forgetPagesBehindTheFile() }
    }
}

extension Writer {
    /// Whether the transaction does not make the database larger, or removes entries.
    var keepsSize: Bool {
        if allocated.count <= freed.count + lists.dead.count + lists.named.count { return true }
        var (before, now) = (UInt64(0), UInt64(0))
        for index in 0..<base.treeCount { before &+= base.trees[index].count }
        for index in 0..<treeCount { now &+= trees[index].count }
        return now < before
    }
}
