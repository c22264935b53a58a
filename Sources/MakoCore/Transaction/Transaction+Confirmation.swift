import MakoStorage

// A transaction that is in the file, and that no object store has confirmed in time. It cannot be undone, and the next
// writer builds on it, so that objects and the writer's schema keep its changes. Readers do not see it yet: callbacks,
// hooks and handlers, live queries, and the readers' schema, wait for its publication.
extension Transaction {
    /// Goes on without the commit's confirmation. Its committer returns with an error.
    ///
    /// - Parameter base: the number of the commit before.
    func awaitConfirmation(of commit: UInt64, _ ticket: Int, base: UInt64, isMigrated: Bool) {
        writeLock.letGo()
        database.metricsCounters.commits.withLock { $0 += 1 }
        if isMigrated { database.noteUnconfirmedSchema(of: commit) }
        finishWhenPublished(commit, ticket, base: base, isMigrated: isMigrated)
    }

    /// Finishes a commit when the store publishes it, in a thread that may wait.
    func finishWhenPublished(_ commit: UInt64, _ ticket: Int, base: UInt64, isMigrated: Bool) {
        // Passed at once, because the first results of a new live query wait for all tickets.
        hub.follow(ticket, nil)
        database.confirmationQueue.async { [self] in
            if database.store.awaitPublication(of: commit) {
                if isMigrated { database.publish(schema, steps, confirmed: commit) }
                hub.followLate(commitChanges(after: base))
                notifyOfCommit(ticket, base: base)
            } else {
                if isMigrated { database.forgetUnconfirmedSchema() }
                hub.pass(ticket)
                notifyEnd(.rolledBack(MakoError.storage(.unconfirmed(commit: commit))))
            }
        }
    }
}

extension Database {
    /// Ends waits for a table that is published when its commit is confirmed.
    fileprivate func noteUnconfirmedSchema(of commit: UInt64) {
        changeSchemas { $0.noteUnconfirmed(commit) }
    }

    fileprivate func publish(_ schema: SchemaState, _ steps: [MigrationStep], confirmed commit: UInt64) {
        changeSchemas { $0.noteConfirmed(commit) }
        publish(schema, steps)
    }

    /// The store is read-only or closed: no thread may wait for tables that will never be published.
    fileprivate func forgetUnconfirmedSchema() {
        changeSchemas { $0.forget() }
    }
}
