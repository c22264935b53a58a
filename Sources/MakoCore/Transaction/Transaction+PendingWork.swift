import MakoRecords
import MakoStorage

extension Transaction {
    /// Removes the keys of deleted rows from the to-many columns that contain them.
    func writeReleases() throws(MakoError) { try writeReleases(before: releases.mark) }

    /// - Parameter mark: entries after it stay pending.
    func writeReleases(before mark: PendingKeyRemovals.Mark) throws(MakoError) {
        // On failure the entries stay pending, because nothing may be committed without them. A separate writer,
        // because the transaction's own may contain a row that is stored after this.
        var writer = RowWriter()
        for release in releases.releases(before: mark) {
            try writeLock.with { (tx: borrowing WriteTransaction) throws(MakoError) in
                try records { () throws(RecordError) in
                    try release.write(&writer, in: tx, changes: &self.changes)
                }
            }
        }
        releases.remove(before: mark)
    }

    // MARK: Pending work

    /// Completes pending work, so that rows and indexes can be read.
    ///
    /// - Parameter readsByKey: whether rows are read by key only, which needs no index.
    func settle(readsByKey: Bool = false) throws(MakoError) {
        if readsByKey { try flushIndexes() } else { try settleIndexes() }
        if releases.isEmpty || keepsReleases { return }
        // If the call fails, the to-many columns must be as before.
        if partHasReleases { try willWriteFurtherRows() }
        try writeReleases()
    }

    /// Reads a row that no pending work affects.
    func withoutSettlingLists<R>(_ body: () throws(MakoError) -> R) throws(MakoError) -> R {
        let outer = keepsReleases
        keepsReleases = true
        defer { keepsReleases = outer }
        return try body()
    }

    /// Writes pending index entries.
    ///
    /// - Throws: `MakoError.duplicate` when two rows have the same unique values now.
    func settleIndexes() throws(MakoError) {
        try flushIndexes()
        try refuseClashes()
    }

    /// Writes pending index entries before a query for referring rows.
    func settleReferences() throws(MakoError) {
        try flushIndexes()
        if changes.hidesReferences { try refuseClashes() }
    }

    /// Writes the index entries of the batch; unique violations stay pending.
    func flushIndexes() throws(MakoError) {
        guard let batch, !batch.isEmpty else { return }
        try writeLock.with { (tx: borrowing WriteTransaction) throws(MakoError) in
            try records { () throws(RecordError) in try batch.flush(in: tx, changes: &self.changes) }
        }
    }

    /// Throws for pending unique violations.
    func refuseClashes() throws(MakoError) {
        if !changes.hasUniqueClashes { return }
        try records { () throws(RecordError) in try changes.settleUnique(view) }
    }

    /// Runs a body that is rolled back as a whole on failure: unique constraints are checked at its end.
    func deferringUnique<R>(_ body: () throws(MakoError) -> R) throws(MakoError) -> R {
        let isDeferred = changes.defersUnique
        changes.defersUnique = true
        defer { changes.defersUnique = isDeferred }
        let result = try body()
        try refuseClashes()
        return result
    }
}
