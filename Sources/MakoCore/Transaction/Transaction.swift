import Foundation
import MakoRecords
import MakoStorage

/// A running transaction. Its reads see its own writes; other threads see them after the commit.
///
/// It belongs to the thread that runs its closure; `person.commit()` and `Person.query()` on that thread join it.
public final class Transaction: @unchecked Sendable {
    // Unchecked: used on its own thread only, which `rollback()` checks.

    /// The database that it changes.
    public let database: Database
    let hub: EventHub
    let writeLock: WriteLockGuard
    let view: Snapshot
    @exclusivity(unchecked) private(set) var schema: SchemaState
    /// The schema at the start.
    let base: SchemaState
    var steps: [MigrationStep] = []
    /// Tables whose rows change without individual change records.
    var rewrites = TableRewrites()
    // One thread uses a transaction, and `isEncoding` prevents nested use of the writer: no dynamic exclusivity checks.
    @exclusivity(unchecked) var writer = RowWriter()
    @exclusivity(unchecked) var plainInserts = PlainInserts()
    @exclusivity(unchecked) var changes = ChangeSet()
    let undo = UndoLog()
    /// Index entries of new objects while an array is being saved.
    @exclusivity(unchecked) var batch: IndexBatch?
    /// Whether a row is being encoded, so that user code may run.
    @exclusivity(unchecked) var isEncoding = false
    @exclusivity(unchecked) var held = HeldValues()
    /// The keys of objects that are not in memory, which must lead to rows when the outermost call that saves ends; nil
    /// outside such calls.
    @exclusivity(unchecked) var unmatched: UnmatchedReferences?
    /// What is notified after the commit.
    @exclusivity(unchecked) var events = PendingEvents()
    /// The removals in progress.
    @exclusivity(unchecked) var removal = RemovalTraversal()
    /// The objects of their rows, for classes with removal hooks, in the same order.
    @exclusivity(unchecked) var removed: [RemovedObject?] = []
    /// Rows released by their owners, or stored again afterwards; the last entry of a row applies.
    @exclusivity(unchecked) var orphans: [(row: RowPlace, isStoredAnew: Bool)] = []
    /// Deleted keys still to be removed from to-many columns.
    @exclusivity(unchecked) var releases = PendingKeyRemovals()
    /// Whether a row is being read that no pending removal affects.
    @exclusivity(unchecked) var keepsReleases = false
    /// One for each part of the transaction that is running, the innermost last.
    @exclusivity(unchecked) var savepoints: [Savepoint] = []
    /// Why the transaction can no longer commit.
    var doom: MakoError?
    /// The time for all timestamps of the transaction.
    private(set) lazy var date = Date()
    private var hasEnded = false
    /// The watchers that were notified of its beginning.
    private var watchers: [TransactionWatchers.Watcher]?

    init(_ database: Database) throws(MakoError) {
        try database.requireOpen()
        self.database = database
        hub = database.hub
        writeLock = try WriteLockGuard(database.store)
        view = writeLock.view
        schema = database.writerSchema
        base = schema
        writer.database = database.number
        if let watched = hub.tablesWithValues { changes.keepRows(ofTables: watched.names) }
        RunningTransactions.begin()
    }

    /// Rolls back the transaction, in the file and in the objects in memory; `transaction` throws
    /// `MakoError.rolledBack`.
    ///
    /// - Throws: `MakoError.rolledBack`, or `.transactionEnded` outside the transaction's closure.
    public func rollback() throws(MakoError) -> Never {
        guard !hasEnded, ThreadScope.transaction === self else { throw .transactionEnded }
        doom = .rolledBack
        throw .rolledBack
    }

    /// Returns a query inside this transaction.
    public func query<T: Entity>(_ type: T.Type) -> Query<T> { Query(database: database) }

    /// The database, whose calls on this thread join the transaction as long as it runs.
    func running() throws(MakoError) -> Database {
        guard !hasEnded, ThreadScope.current(of: database)?.transaction === self else { throw .transactionEnded }
        return database
    }

    // MARK: - Internal

    func throwIfDoomed() throws(MakoError) {
        if let doom { throw doom }
        // A cancelled query may have returned an incomplete result.
        if CurrentCancellation.current?.isCancelled == true { throw .cancelled }
    }

    /// Makes the transaction fail even if its closure catches the error.
    func fail(_ error: MakoError) { doom = error }

    func commit(durability: Durability?) throws(MakoError) {
        defer { end() }
        let ticket = hub.takeTicket()
        let isMigrated = schema !== base
        let before = view.commitNumber
        if isMigrated { database.changeSchemas { $0.append(schema, of: before + 1) } }
        do throws(MakoError) {
            try recordHistory()
            // Wait until the commit is visible before announcing a new table, even with async durability.
            try writeLock.commit(durability, isShown: isMigrated)
        } catch {
            // With the lock held, this commit was not made.
            if case .storage(.unconfirmed(let commit)) = error, !writeLock.isHeld {
                hasEnded = true
                awaitConfirmation(of: commit, ticket, base: before, isMigrated: isMigrated)
                throw error
            }
            forgetCommit(error, isMigrated: isMigrated)
            hub.cancel(ticket)
            undo.rollback(to: 0)
            notifyEnd(.rolledBack(error))
            throw error
        }
        if isMigrated { database.publish(schema, steps) }
        database.metricsCounters.commits.withLock { $0 += 1 }
        hasEnded = true
        if !changes.isEmpty, database.store.isHeld(before + 1, durability ?? database.options.durability) {
            finishWhenPublished(before + 1, ticket, base: before, isMigrated: false)
            return
        }
        // Followers before callbacks: live queries must not wait for hooks and handlers, which are not cancelled with
        // the committing task.
        hub.follow(ticket, commitChanges(after: before))
        notifyOfCommit(ticket, base: before)
    }

    /// The changes for followers, which run again for a table whose individual changes are unknown.
    ///
    /// - Parameter base: the number of the previous commit.
    func commitChanges(after base: UInt64) -> CommitChanges {
        let unknown = rewrites.unknown
        let tables = unknown.isEmpty ? nil : self.base.tables.union(schema.tables)
        return CommitChanges(base: base, changes.withoutRows, covering: tables?.subtracting(unknown))
    }

    /// Calls callbacks, hooks and handlers after the commit.
    ///
    /// - Parameter base: the number of the commit before.
    func notifyOfCommit(_ ticket: Int, base: UInt64) {
        CurrentCancellation.without {
            events.completions.run()
            hub.publish(ticket, base: base, changes, missing: rewrites.unknown, schema, events, database)
        }
        notifyEnd(.committed)
    }

    /// Makes the next writer start from the state of the file. The writer lock is still held.
    private func forgetCommit(_ error: MakoError, isMigrated: Bool) {
        // Otherwise the device failed and the store is read-only.
        if writeLock.isHeld { database.historyWriter.invalidate() }
        if isMigrated {
            var isReadOnly = false
            if case .storage(.readOnly) = error { isReadOnly = true }
            // With the store read-only, no thread may wait for tables that will never be published.
            database.changeSchemas { $0.forget(isReadOnly ? nil : schema) }
            restore(base)
        }
        writeLock.rollback()
    }

    func abandon(_ cause: any Error) {
        restore(base)
        writeLock.rollback()
        undo.rollback(to: 0)
        end()
        notifyEnd(.rolledBack(cause))
    }

    /// Notifies watchers that the transaction begins. Its scope is active on the thread.
    func notifyBeginning() { watchers = database.transactionWatchers.begin() }

    func notifyEnd(_ outcome: @autoclosure () -> TransactionOutcome) {
        guard let watchers else { return }
        let outcome = outcome()
        CurrentCancellation.without { for watcher in watchers { watcher.end?(outcome) } }
    }

    private func end() {
        if !hasEnded { hasEnded = true }
        RunningTransactions.end()
    }

    // MARK: - Schema

    /// Goes on with another schema, after its tables were changed.
    func adopt(_ new: SchemaState) throws(MakoError) {
        schema = new
        let lost = database.state.withLock { state in
            state.lostIDs.isEmpty
                ? []
                : new.catalogue.handles.compactMap { table in
                    state.lostIDs.removeValue(forKey: table.schema.name).map { (table, $0) }
                }
        }
        // In the file, because other processes may use the table.
        for (table, id) in lost {
            try writeLock.with { (tx: borrowing WriteTransaction) throws(MakoError) in
                try records { () throws(RecordError) in try table.skipIDs(below: id, in: tx) }
            }
        }
    }

    /// Returns to an earlier schema. Structs keep the ids of their rows when the creation of the table is rolled back:
    /// a later table of this name must not assign these ids to other rows, which the structs would overwrite.
    func restore(_ earlier: SchemaState) {
        if schema === earlier { return }
        for table in schema.catalogue.handles where table.unassignedID > 1 {
            let name = table.schema.name
            if let kept = earlier.catalogue.table(named: name) {
                if kept.unassignedID < table.unassignedID { kept.skipIDs(below: table.unassignedID) }
            } else {
                database.state.withLock { $0.lostIDs[name] = max($0.lostIDs[name] ?? 1, table.unassignedID) }
            }
        }
        schema = earlier
    }

    /// Runs a closure that stores many objects. Their index entries are written at its end, or before the next read.
    func batching<R>(_ body: () throws(MakoError) -> R) throws(MakoError) -> R {
        if batch != nil { return try body() }
        batch = IndexBatch()
        defer { batch = nil }
        let result = try body()
        try settle()
        return result
    }
}
