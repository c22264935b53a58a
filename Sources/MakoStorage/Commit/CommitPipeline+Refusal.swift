// On Apple systems the files of a database with `FileProtection.complete` can be neither read nor written while the device is locked. That is
// no failure of the device: nothing has happened to the files, and all works again after the unlocking. So a commit whose write is refused
// fails, with every other that waits to be published, since those build on it; the next writer begins with what was published last.
//
// The line is drawn at the first byte. After a write that was made in part, and after a failed sync, the bytes may be on the device and
// come back at the next opening, although their committers got an error: the store becomes read-only then, as for any other error. The same
// holds where a commit that waits for nothing (`async`) follows the refused one: it has been acknowledged, and cannot be taken back; and
// where the refused group is the last one of its segment.
extension CommitPipeline {
    /// Puts back a group that was refused, and fails the commits in it. Under the commit lock.
    ///
    /// - Returns: the error for their committers; nil when the store must become read-only.
    func refuse(_ failure: FileError, _ group: LogWriter.Group, due: UInt64) -> StorageError? {
        guard failure.isRefusal, failure.operation == "write", self.failure == nil, !flushing.hasAcknowledged,
            !pending.hasAcknowledged, log.putBack(group)
        else { return nil }
        let reason = StorageError(failure)
        let published = versions.lock.withLock { versions.latest.log }
        if log.position.lsn != published.lsn {
            refused.reason = reason
            refused.pages.append(&flushing.pages)
            refused.pages.append(&pending.pages)
            hasRefused.store(true, ordering: .releasing)
        }
        flushing.removeAll()
        pending.removeAll()
        // What was published before it was written is tried again.
        if due != .max { flushDue = max(due, clock.now + CommitPipeline.refusalDelay) }
        return reason
    }

    /// A tenth of a second, in nanoseconds.
    private static let refusalDelay: UInt64 = 100_000_000

    /// Takes refused commits out of the log's memory. The caller has the turn: nothing is being built on them.
    func takeBackRefused() {
        guard hasRefused.load(ordering: .acquiring) else { return }
        lock.lock()
        // They go by the numbers of their commits, which are given again.
        while waiters > 0 { changed.wait(lock) }
        let published = versions.lock.withLock { versions.latest }
        log.rewind(to: published.log)
        newest = published
        let pages = refused.pages.allocated
        refused = RefusedCommits()
        hasRefused.store(false, ordering: .releasing)
        lock.unlock()
        versions.giveBack(pages)
    }
}
