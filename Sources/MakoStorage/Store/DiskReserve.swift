/// What the data file has room for, without asking the device. Guarded by the space lock.
struct FileRoom {
    /// Pages that the file has, with room for each of them on the device.
    var pages: UInt64
    /// Pages that commits may still bring before somebody counts again how many are free; those that die meanwhile are added.
    var allowance = 0
    /// The first of them that nobody has asked the device about since opening: there may be holes.
    var unasked: UInt64 = 0
    /// The device has no more than what was asked of it last, or not even that.
    var isShort = false

    init(pages: UInt64) { self.pages = pages }
}

// A full disk must leave a way out: entries can be deleted, and the checkpoint can be written that makes their pages free. Therefore
// the file has room for a commit's pages before the commit enters the log, so that no checkpoint has to ask for more; and some free pages
// are kept back, which only those transactions may use that make the database no larger. They need a few, since what they change is copied.
//
// The log needs nothing of the kind: when there is no room for another segment, a checkpoint makes those that there are superfluous.
extension Store {
    /// Pages kept back in a file of this length.
    func reservePages(of filePages: UInt64) -> UInt64 {
        guard options.diskReserveBytes > 0 else { return 0 }
        let wanted = max(UInt64(options.diskReserveBytes) / UInt64(pageBytes), filePages / 1024)
        return max(24, min(wanted, filePages / 16))
    }

    /// Sees to it that the file has room for what a transaction brings, and for the reserve besides.
    ///
    /// - Parameter isCheckpointing: the caller has the checkpointer's lock.
    /// - Throws: ``StorageError/diskFull(path:)`` when it has not, and the transaction makes the database larger.
    func reservePages(for writer: Writer, isCheckpointing: Bool = false) throws(StorageError) {
        let count = writer.allocated.count
        let isThere = versions.lock.withLock {
            versions.room.allowance += versions.space.takeFreed() - count
            return versions.room.allowance >= 0 && versions.space.top <= versions.room.pages && !versions.room.isShort
        }
        if isThere { return }
        // Numbers that were taken ahead need no room.
        writer.returnUnusedNumbers()
        do throws(StorageError) { try makeRoom(for: writer) } catch {
            guard case .diskFull = error else { throw error }
            // Dead pages, and log behind the older checkpoint, may be what takes the room.
            if isCheckpointing { try renewCheckpoints() } else { try checkpointer.lock.withLock(renewCheckpoints) }
            try makeRoom(for: writer)
        }
    }

    /// On a full disk: takes the checkpoints that make dead pages free, before a transaction begins that would need them.
    ///
    /// The caller has the turn. What fails here will fail again where it matters.
    func reclaimRoom() {
        // Mostly there is room, and each transaction begins here: only who finds none goes to the lock.
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

    /// Two checkpoints: what only older ones need is free behind them. The caller has the checkpointer's lock.
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
                // A directory for each of the two checkpoints that make dead pages free, which no deletion may take.
                let isEnough = free + reserve >= 2 * checkpointer.last.directoryPages.count
                guard case .diskFull = error, versions.space.top <= versions.room.pages, isEnough, writer.keepsSize
                else { throw error }
                free = 0
            }
        }
        versions.room.allowance = max(0, free)
    }

    /// Sees to it that the file has room for a transaction's pages, before some of them are written.
    func growFile(for writer: Writer) throws(StorageError) {
        guard !options.readOnly, versions.lock.withLock({ versions.space.top > versions.room.pages }) else { return }
        writer.returnUnusedNumbers()
        try versions.lock.withLock { () throws(StorageError) in
            forgetPagesBehindTheFile()
            if versions.space.top > versions.room.pages { _ = try grow(to: versions.space.top) }
        }
    }

    /// Sees to it that the file has room for a checkpoint's directory, whose pages may lie behind those of a transaction that has not grown the file
    /// yet. Writing there would make the file longer with holes before it, and the next opening takes a file of that length to have room
    /// for each page. Under the space lock.
    func coverFile(below end: UInt64) throws(StorageError) {
        guard !options.readOnly, end > versions.room.pages else { return }
        _ = try grow(to: end)
    }

    /// Makes the file so long, and somewhat longer where the device has room for that.
    ///
    /// - Returns: the pages that it has more than before.
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
        try dataFile.file.allocate(versions.room.unasked * UInt64(pageBytes)..<pages * UInt64(pageBytes))
        versions.room.pages = pages
        versions.room.unasked = pages
    }

    /// Makes the file as long as what is in it, and no longer.
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

    /// Pages that were given back are in their places again, those behind the end of the file behind all others. Under the space lock.
    func forgetPagesBehindTheFile() {
        versions.forgetRecycled()
        versions.space.forgetTop()
    }

    /// The same when a transaction has been taken back.
    func forgetPages(of writer: Writer) {
        guard !options.readOnly,
            versions.lock.withLock({ versions.space.top > versions.room.pages || versions.room.isShort })
        else { return }
        writer.returnUnusedNumbers()
        versions.lock.withLock { forgetPagesBehindTheFile() }
    }
}

extension Writer {
    /// Whether the transaction makes the database no larger, or takes entries out of it.
    var keepsSize: Bool {
        if allocated.count <= freed.count + lists.dead.count + lists.named.count { return true }
        var (before, now) = (UInt64(0), UInt64(0))
        for index in 0..<base.treeCount { before &+= base.trees[index].count }
        for index in 0..<treeCount { now &+= trees[index].count }
        return now < before
    }
}
