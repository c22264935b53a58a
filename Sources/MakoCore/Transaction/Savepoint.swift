import MakoRecords
import MakoStorage

/// A point of a transaction to which a part of it returns when it fails: rows and tables in the file, objects in memory, and
/// what is notified after the commit.
///
/// The parts are closures of `transaction` inside another, statements, and calls such as `save`, with the hooks that
/// they run. Parts are nested, so that their savepoints are a stack, and only that of the innermost part is in use.
struct Savepoint {
    /// The rows and tables. Nil as long as the part changes one row at most, which is stored whole or not at all: a
    /// savepoint in the file makes each page that is changed next be copied.
    fileprivate var file: MakoStorage.Savepoint?
    // As they were when `file` was taken; the transaction then records the part's own.
    fileprivate var changes = ChangeSet()
    fileprivate var objects: [EventHub.Identity: (any ObjectEntity)?] = [:]
    fileprivate var schema: SchemaState?
    fileprivate var steps: [MigrationStep] = []
    fileprivate var rewrites = TableRewrites()
    // As it was at the beginning.
    fileprivate let unmatched: UnmatchedReferences?
    // What is only added to is cut back.
    fileprivate let undo: Int
    fileprivate let events: PendingEvents.Mark
    fileprivate let orphans: Int
    fileprivate let releases: PendingKeyRemovals.Mark
}

extension Transaction {
    /// Runs a closure as a part of the transaction: if it throws, its changes are rolled back, in the file and in the
    /// objects.
    ///
    /// - Parameter isCall: whether it is one call, at whose end unique constraints are checked.
    func nested<R>(isCall: Bool = false, _ body: () throws -> R) throws -> R {
        // Rolling back a savepoint does not revive a failed transaction.
        try throwIfDoomed()
        try settle()
        beginPart(undo.savepoint())
        do {
            try saveFile(defersUnique: isCall)
            let result = try body()
            try throwIfDoomed()
            try keepPart()
            return result
        } catch {
            doom = nil
            try rollBackPart()
            throw error
        }
    }

    /// Runs a call that has joined the transaction: if it fails, its changes are rolled back, in the file and in the
    /// objects.
    func joining<R>(_ body: () throws(MakoError) -> R) throws(MakoError) -> R {
        let outer = batch
        // A nested call, as from a hook, must report its own duplicates: its index entries are not deferred.
        if outer != nil || changes.hasUniqueClashes {
            try settle()
            batch = nil
        }
        defer { batch = outer }
        // A single row has no savepoint: a duplicate is refused before the row is stored.
        let isDeferred = changes.defersUnique
        changes.defersUnique = false
        defer { changes.defersUnique = isDeferred }
        beginPart(undo.mark)
        do throws(MakoError) {
            let result = try body()
            try keepPart()
            return result
        } catch {
            try rollBackPart()
            throw error
        }
    }

    /// Prepares for a second row of the running part, whose failure must roll back the first.
    func willWriteFurtherRows() throws(MakoError) {
        guard let part = savepoints.last, part.file == nil else { return }
        try settleIndexes()
        // The pending work of earlier parts must survive a failure of this one.
        try writeReleases(before: part.releases)
        try saveFile(defersUnique: true)
    }

    /// Whether the transaction has changed rows.
    var hasChanges: Bool { !changes.isEmpty || savepoints.contains { !$0.changes.isEmpty } }

    /// Whether the running part has deleted keys still to be removed from to-many columns.
    var partHasReleases: Bool { releases.reach(beyond: savepoints.last?.releases ?? PendingKeyRemovals.Mark()) }

    /// - Parameter undo: the state of the objects.
    func beginPart(_ undo: Int) {
        savepoints.append(
            Savepoint(
                unmatched: unmatched, undo: undo, events: events.mark, orphans: orphans.count,
                releases: releases.mark))
    }

    /// Lets the running part write any number of rows.
    ///
    /// - Parameter defersUnique: whether unique constraints are checked at its end.
    func saveFile(defersUnique: Bool) throws(MakoError) {
        let file = try writeLock.with { (tx: borrowing WriteTransaction) throws(MakoError) in tx.savepoint() }
        let top = savepoints.count - 1
        savepoints[top].file = file
        savepoints[top].schema = schema
        savepoints[top].steps = steps
        savepoints[top].rewrites = rewrites
        savepoints[top].changes = changes.empty
        savepoints[top].changes.defersUnique = defersUnique
        // `swap` keeps the buffers uniquely referenced, so that the next change does not copy them.
        swap(&changes, &savepoints[top].changes)
        savepoints[top].objects = events.takeObjects()
    }

    /// Ends the running part, whose changes become those of the part around it.
    func keepPart() throws(MakoError) {
        if let file = savepoints[savepoints.count - 1].file {
            try refuseClashes()
            try writeLock.with { (tx: borrowing WriteTransaction) throws(MakoError) in
                try storage { () throws(StorageError) in try tx.release(file) }
            }
        }
        var part = savepoints.removeLast()
        guard part.file != nil else { return }
        swap(&changes, &part.changes)
        changes.append(part.changes)
        events.putBack(&part.objects, keeping: true)
    }

    /// Rolls back the running part, and ends it.
    func rollBackPart() throws(MakoError) {
        guard var part = savepoints.popLast() else { return }
        // The objects last, and after an error too: their observers may read rows.
        defer { undo.rollback(to: part.undo) }
        releases.rollback(to: part.releases)
        events.rollback(to: part.events)
        orphans.removeSubrange(part.orphans...)
        unmatched = part.unmatched
        guard let file = part.file else { return }
        swap(&changes, &part.changes)
        events.putBack(&part.objects, keeping: false)
        if let before = part.schema { restore(before) }
        steps = part.steps
        rewrites = part.rewrites
        batch?.removeAll()
        try writeLock.with { (tx: borrowing WriteTransaction) throws(MakoError) in
            try storage { () throws(StorageError) in
                try tx.rollback(to: file)
                try tx.release(file)
            }
        }
    }
}
