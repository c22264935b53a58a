import MakoRecords
import MakoStorage

extension Transaction {
    /// Takes the keys of removed rows out of the columns that hold them.
    func writeReleases() throws(MakoError) { try writeReleases(before: releases.mark) }

    /// - Parameter mark: what was noted after it stays to be done.
    func writeReleases(before mark: ListReleases.Mark) throws(MakoError) {
        // Should one fail, they stay noted: without them nothing is committed.
        // The transaction's own writer may hold a row that is to be stored after this.
        var writer = RowWriter()
        for release in releases.releases(before: mark) {
            try turn.with { (tx: borrowing WriteTransaction) throws(MakoError) in
                try records { () throws(RecordError) in
                    try release.write(&writer, in: tx, changes: &self.changes)
                }
            }
        }
        releases.remove(before: mark)
    }

    // MARK: What waits to be done

    /// Does what waits to be done, so that rows and indexes may be looked at.
    ///
    /// - Parameter readsByKey: whether rows are looked up by their keys alone, which needs no index.
    func settle(readsByKey: Bool = false) throws(MakoError) {
        if readsByKey { try flushIndexes() } else { try settleIndexes() }
        if releases.isEmpty || keepsReleases { return }
        // Should the call fail, the lists are to be as they were.
        if releases.reach(beyond: earlierReleases) { try willWriteFurtherRows() }
        try writeReleases()
    }

    /// Reads a row that nothing which waits to be written concerns.
    func withoutSettlingLists<R>(_ body: () throws(MakoError) -> R) throws(MakoError) -> R {
        let outer = keepsReleases
        keepsReleases = true
        defer { keepsReleases = outer }
        return try body()
    }

    /// Brings the indexes up to date with the rows.
    ///
    /// - Throws: `MakoError.duplicate` when two rows share unique values at this moment.
    func settleIndexes() throws(MakoError) {
        try flushIndexes()
        try refuseClashes()
    }

    /// The same before a query for the rows that refer to another one.
    func settleReferences() throws(MakoError) {
        try flushIndexes()
        if changes.hidesReferences { try refuseClashes() }
    }

    /// Enters what the batch keeps back; rows that clash wait.
    func flushIndexes() throws(MakoError) {
        guard let batch, !batch.isEmpty else { return }
        try turn.with { (tx: borrowing WriteTransaction) throws(MakoError) in
            try records { () throws(RecordError) in try batch.flush(in: tx, changes: &self.changes) }
        }
    }

    /// Refuses what two rows share that is unique.
    func refuseClashes() throws(MakoError) {
        if !changes.hasUniqueClashes { return }
        try records { () throws(RecordError) in try changes.settleUnique(view) }
    }

    /// Runs what is taken back as a whole when it fails: unique values are checked at its end.
    func deferringUnique<R>(_ body: () throws(MakoError) -> R) throws(MakoError) -> R {
        let isDeferred = changes.defersUnique
        changes.defersUnique = true
        defer { changes.defersUnique = isDeferred }
        let result = try body()
        try refuseClashes()
        return result
    }
}
