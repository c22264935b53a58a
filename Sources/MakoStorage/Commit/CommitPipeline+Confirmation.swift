// Step 10. A store whose replicator confirms commits holds a synced group in a queue. The replicator ships what is
// durable, and each acknowledged request publishes the commits that it holds. The log is free for the next group
// meanwhile, and all groups that are synced during a request share the next one.

/// Durable commits that wait for their confirmation by an object store.
struct Confirmation {
    /// How long a committer waits, in nanoseconds; nil when commits need no confirmation.
    var timeout: UInt64?
    /// The bytes of unconfirmed log beyond which no commit is appended.
    var limitBytes: UInt64 = 0
    /// Commits that are durable and not published.
    var queue = CommitQueue()
    /// The confirmed end of the log.
    var lsn: UInt64 = 0
    /// Commits that are published and not confirmed, because their frames are not self-contained.
    var early: (commits: ClosedRange<UInt64>, lsn: UInt64)?
    /// Whether the store closes, after which nothing is confirmed.
    var isClosing = false

    /// Whether a group must pass through the queue.
    var isActive: Bool { timeout != nil || !queue.isEmpty }
    /// The last commit in the queue; 0 without one.
    var last: UInt64 { queue.commits.last?.version.commit ?? 0 }

    func isPublishedEarly(_ commit: UInt64) -> Bool { early?.commits.contains(commit) == true }
    func holds(_ commit: UInt64) -> Bool { commit <= last || isPublishedEarly(commit) }
}

extension CommitPipeline {
    /// Moves the written group to the queue, and publishes what needs no confirmation. Under the lock.
    func holdUnconfirmed() {
        flushing.move(to: &confirmation.queue)
        publishConfirmed()
    }

    /// Publishes the confirmed commits, and the following ones that need no confirmation. Under the lock.
    private func publishConfirmed() {
        let lsn = confirmation.timeout == nil ? UInt64.max : confirmation.lsn
        publishUnconfirmed(confirmation.queue.count(confirmedThrough: lsn))
    }

    /// Publishes the first commits of the queue. Under the lock.
    private func publishUnconfirmed(_ count: Int) {
        guard count > 0 else { return }
        var group = CommitQueue()
        confirmation.queue.move(count, to: &group)
        publish(&group)
        publishedCommit = max(publishedCommit, group.commits.last?.version.commit ?? 0)
    }

    /// Waits for a signal that can confirm a commit. Under the lock.
    func waitForConfirmation(of commit: UInt64, _ deadline: inout UInt64?) throws(StorageError) {
        guard let timeout = confirmation.timeout, !confirmation.isClosing else { throw .unconfirmed(commit: commit) }
        let now = clock.now
        let end = deadline ?? now.addingReportingOverflow(timeout).partialValue
        deadline = end
        guard now < end else { throw .unconfirmed(commit: commit) }
        let isSignalled = changed.wait(lock, timeout: .nanoseconds(Int64(clamping: end - now)))
        // The caller looks at the commit once more, because it may be confirmed at the last moment.
        if !isSignalled && confirmation.holds(commit) && failure == nil { throw .unconfirmed(commit: commit) }
    }

    /// Waits until all earlier commits are published. The caller must hold the writer lock.
    ///
    /// - Throws: ``StorageError/unconfirmedLimit(bytes:)`` after the timeout.
    func waitUntilConfirmed() throws(StorageError) {
        guard lock.withLock({ confirmation.isActive }) else { return }
        try flush(.durable)
        try lock.withLock { () throws(StorageError) in
            var deadline: UInt64?
            while let commit = confirmation.queue.commits.first?.version.commit {
                try checkWritable()
                do throws(StorageError) { try waitForConfirmation(of: commit, &deadline) } catch {
                    // `unconfirmed` would say that the caller's own transaction is in the log.
                    let end = log.position.lsn
                    throw .unconfirmedLimit(bytes: end - min(confirmation.lsn, end))
                }
            }
        }
    }

    /// Notes a commit that its checkpoint publishes before it is confirmed, and its committer as waiting.
    ///
    /// - Returns: whether the commit needs a confirmation.
    func holdLargeCommit(_ commit: UInt64, _ lsn: UInt64) -> Bool {
        lock.withLock {
            guard confirmation.timeout != nil else { return false }
            noteEarly(commit, lsn)
            waiters += 1
            return true
        }
    }

    /// Waits until a commit is published, however long that takes.
    ///
    /// - Returns: false when the store fails or closes before.
    func awaitPublication(of commit: UInt64) -> Bool {
        lock.withLock {
            while publishedCommit < commit {
                if failure != nil || confirmation.isClosing { return false }
                changed.wait(lock)
            }
            return true
        }
    }

    private func noteEarly(_ commit: UInt64, _ lsn: UInt64) {
        confirmation.early = ((confirmation.early?.commits.lowerBound ?? commit)...commit, lsn)
    }

    /// Throws if the unconfirmed log exceeds its limit. Under the lock.
    func checkUnconfirmedBytes() throws(StorageError) {
        guard let first = confirmation.queue.commits.first?.version.log.lsn else { return }
        let bytes = log.position.lsn - first
        if bytes > confirmation.limitBytes { throw .unconfirmedLimit(bytes: bytes) }
    }

    var hasUnconfirmed: Bool { lock.withLock { !confirmation.queue.isEmpty } }

    /// Notifies the replicators that the log has more. Under the lock.
    func notifySignals() {
        let isAwaited = !confirmation.queue.isEmpty || confirmation.early != nil
        for signal in signals { signal.note(isAwaited: isAwaited) }
    }

    // MARK: For replicators

    /// Confirms the log up to a position, and publishes its commits.
    func confirm(_ lsn: UInt64) {
        lock.withLock {
            confirmation.lsn = max(confirmation.lsn, lsn)
            if let early = confirmation.early, early.lsn <= confirmation.lsn { confirmation.early = nil }
            publishConfirmed()
            changed.broadcast()
        }
    }

    /// Publishes the commits up to one whose frame is not self-contained, so that a backup can hold it.
    func publishEarly(_ commit: UInt64) {
        lock.withLock {
            let count = confirmation.queue.commits.prefix { $0.version.commit <= commit }.count
            guard count > 0 else { return }
            let lsn = confirmation.queue.commits[count - 1].version.log.lsn
            if confirmation.timeout != nil { noteEarly(commit, lsn) }
            publishUnconfirmed(count)
            changed.broadcast()
        }
    }

    /// Sets whether commits need a confirmation. Without a timeout, publishes those that wait.
    func setConfirmation(timeout: UInt64?, limitBytes: UInt64) {
        lock.withLock {
            confirmation.timeout = timeout
            confirmation.limitBytes = limitBytes
            if timeout == nil { confirmation.early = nil }
            publishConfirmed()
            changed.broadcast()
        }
    }
}

extension Store {
    /// Adds or removes a signal that is set when the log has more.
    package func addSignal(_ signal: LogSignal) { pipeline.lock.withLock { pipeline.signals.append(signal) } }
    package func removeSignal(_ signal: LogSignal) {
        pipeline.lock.withLock { pipeline.signals.removeAll { $0 === signal } }
    }

    /// Makes commits wait until the log up to them is confirmed; nil: no longer, and publishes those that wait.
    package func awaitConfirmation(timeout: Duration?) {
        let limit = UInt64(max(options.logArchiveBytes, options.logSegmentBytes))
        pipeline.setConfirmation(timeout: timeout?.nanoseconds, limitBytes: limit)
    }

    /// Whether a commit waits for the confirmation of one before it, though its committer did not wait.
    package func isHeld(_ commit: UInt64, _ durability: Durability) -> Bool {
        durability.maxDelay != nil
            && pipeline.lock.withLock { pipeline.confirmation.isActive && pipeline.publishedCommit < commit }
    }

    /// Waits until a commit is published for which `unconfirmed` was thrown; false when the store fails or closes before.
    package func awaitPublication(of commit: UInt64) -> Bool { pipeline.awaitPublication(of: commit) }

    /// Confirms the log up to a position.
    package func confirm(_ lsn: UInt64) { pipeline.confirm(lsn) }

    /// Publishes the commits up to one that only a backup can confirm.
    package func publishEarly(_ commit: UInt64) { pipeline.publishEarly(commit) }

    /// Makes the store read-only, because another database extends its branch.
    package func fence(_ reason: String) { pipeline.fail(reason, nil) }

    /// Commits that are durable here and not confirmed; nil without any.
    package var unconfirmedCommits: ClosedRange<UInt64>? {
        pipeline.lock.withLock {
            let queue = pipeline.confirmation.queue.commits
            let first = pipeline.confirmation.early?.commits.lowerBound ?? queue.first?.version.commit
            let last = queue.last?.version.commit ?? pipeline.confirmation.early?.commits.upperBound
            guard let first, let last else { return nil }
            return first...last
        }
    }
}
