// On Apple platforms, the files of a database with `FileProtection.complete` can be neither read nor written while the
// device is locked. Such a refusal is no I/O failure: the files are unchanged, and usable again after the device is
// unlocked. So a refused write fails the commit, and with it every commit that waits for publication, because those
// build on it. The next writer starts from the last published version.
//
// This holds only if no byte of a frame was written. After a partial write, a failed sync or a refused change of the header
// the bytes may be on the device and reappear at the next opening although their committers got an error, so the store
// becomes read-only, as for any other error. The store also becomes read-only if an `async` commit follows the refused one, because it is acknowledged and
// cannot be undone, if the refused group is the last of its segment, and behind commits that wait for a confirmation.
extension CommitPipeline {
    /// Puts a refused group back, and fails the commits in it. Under the lock.
    ///
    /// - Returns: the error for their committers; nil if the store must become read-only.
    func refuse(_ failure: FileError, _ group: LogWriter.Group, due: UInt64) -> StorageError? {
        guard failure.isRefusal, failure.operation == "write", self.failure == nil, !flushing.hasAcknowledged,
            !pending.hasAcknowledged, confirmation.queue.isEmpty, log.putBack(group)
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
        // Published commits that are not in the file yet are flushed again later.
        if due != .max { flushDue = max(due, clock.now + CommitPipeline.refusalDelay) }
        return reason
    }

    /// A tenth of a second, in nanoseconds.
    private static let refusalDelay: UInt64 = 100_000_000

    /// Removes refused commits from the log's memory. The caller must hold the writer lock, so that no transaction
    /// builds on them.
    func rollBackRefused() {
        guard hasRefused.load(ordering: .acquiring) else { return }
        lock.lock()
        // Wait for their committers, which compare commit numbers, because the next writer reuses these numbers.
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
