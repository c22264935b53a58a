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
    @exclusivity(unchecked) var schema: SchemaState
    /// The schema at the start.
    let base: SchemaState
    private(set) var steps: [MigrationStep] = []
    /// Tables that the history reports as rewritten, without individual changes.
    private(set) var rewrites: [String] = []
    // One thread uses a transaction, and `isEncoding` prevents nested use of the writer: no dynamic exclusivity checks.
    @exclusivity(unchecked) var writer = RowWriter()
    /// A buffer for the values of a row that a statement stores.
    @exclusivity(unchecked) var plainValues: [StoredValue] = []
    @exclusivity(unchecked) var changes = ChangeSet()
    let undo = UndoLog()
    /// Index entries of new objects while an array is being saved.
    @exclusivity(unchecked) private(set) var batch: IndexBatch?
    /// Whether a row is being encoded, so that user code may run.
    @exclusivity(unchecked) var isEncoding = false
    /// Structs of types that refer to each other in a cycle: each waits for the one after it to be saved.
    @exclusivity(unchecked) var holders: [ValueHolder] = []
    /// The objects of changed rows whose type is watched; nil: no object has the row's current values.
    @exclusivity(unchecked) var touched: [EventHub.Identity: (any ObjectEntity)?] = [:]
    /// Whether `touched` ever had an entry, here or outside the savepoint.
    @exclusivity(unchecked) var hasTouched = false
    /// Post-commit callbacks of objects.
    let completions = CompletionLog()
    /// The removals in progress.
    @exclusivity(unchecked) var removal = RemovalTraversal()
    /// The objects of their rows, for classes with removal hooks, in the same order.
    @exclusivity(unchecked) var removed: [RemovedObject?] = []
    /// Rows whose events are suppressed or enabled again; the last entry of a row applies.
    @exclusivity(unchecked) var suppressedEvents: [(row: EventHub.Identity, isSilent: Bool)] = []
    /// Rows released by their owners, or stored again afterwards; the last entry of a row applies.
    @exclusivity(unchecked) var orphans: [(row: RowPlace, isStoredAnew: Bool)] = []
    /// Deleted keys still to be removed from to-many columns.
    @exclusivity(unchecked) var releases = PendingKeyRemovals()
    /// The part of `releases` from before the running call.
    @exclusivity(unchecked) var earlierReleases = PendingKeyRemovals.Mark()
    /// Whether a row is being read that no pending removal affects.
    @exclusivity(unchecked) var keepsReleases = false
    /// The state to which a failing call that writes several rows returns.
    private struct FurtherRows {
        let savepoint: Savepoint
        var changes: ChangeSet
        var touched: [EventHub.Identity: (any ObjectEntity)?] = [:]
        // A hook may have used a type for the first time.
        let schema: SchemaState
        let steps: [MigrationStep]
        let rewrites: [String]
    }
    @exclusivity(unchecked) private var furtherRows: FurtherRows?
    /// Whether the running call has joined this transaction, which may continue when the call fails.
    @exclusivity(unchecked) private var isJoined = false
    /// Why the transaction can no longer commit.
    private var doom: MakoError?
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
        if isMigrated { database.writerSchema = schema }
        let before = view.commitNumber
        do throws(MakoError) {
            try recordHistory()
            // Wait until the commit is visible before announcing a new table, even with async durability.
            try writeLock.commit(durability, isShown: isMigrated)
        } catch {
            // With the lock held, an earlier commit is unconfirmed, and this one was not made.
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
        database.metricsCounters.commits.with { $0 += 1 }
        hasEnded = true
        if !changes.isEmpty, database.store.isHeld(before + 1, durability ?? database.options.durability) {
            finishWhenPublished(before + 1, ticket, base: before, isMigrated: false)
            return
        }
        // Followers before callbacks: live queries must not wait for hooks and handlers, which are not cancelled with
        // the committing task.
        hub.follow(ticket, CommitChanges(base: before, changes.withoutRows))
        notifyOfCommit(ticket, base: before)
    }

    /// Calls callbacks, hooks and handlers after the commit.
    ///
    /// - Parameter base: the number of the commit before.
    func notifyOfCommit(_ ticket: Int, base: UInt64) {
        CurrentCancellation.without {
            completions.run()
            hub.publish(
                ticket, base: base, changes, schema, touched.compactMapValues(\.self), silentRows, database)
        }
        notifyEnd(.committed)
    }

    /// Makes the next writer start from the state of the file. The writer lock is still held.
    private func forgetCommit(_ error: MakoError, isMigrated: Bool) {
        // Otherwise the device failed and the store is read-only.
        if writeLock.isHeld { database.historyWriter.invalidate() }
        if isMigrated {
            var isLatched = false
            if case .storage(.readOnly) = error { isLatched = true }
            // With the store read-only, no thread may wait for tables that will never be published.
            database.writerSchema = isLatched ? database.schema : base
        }
        writeLock.rollback()
    }

    /// The rows whose events are suppressed.
    private var silentRows: Set<EventHub.Identity> {
        var rows: Set<EventHub.Identity> = []
        for (row, isSilent) in suppressedEvents {
            if isSilent { rows.insert(row) } else { rows.remove(row) }
        }
        return rows
    }

    func abandon(_ cause: any Error) {
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

    /// Runs a closure as a savepoint: if it throws, its changes are rolled back, in the file and in the objects.
    ///
    /// - Parameter isCall: whether it is one call, at whose end unique constraints are checked.
    func nested<R>(isCall: Bool = false, _ body: () throws -> R) throws -> R {
        // Rolling back a savepoint does not revive a failed transaction.
        try throwIfDoomed()
        try settle()
        let savepoint = try writeLock.with { (tx: borrowing WriteTransaction) throws(MakoError) in tx.savepoint() }
        // `swap` keeps the buffers uniquely referenced, so that the next change does not copy them.
        var outerChanges = changes.empty
        outerChanges.defersUnique = isCall
        var outerTouched: [EventHub.Identity: (any ObjectEntity)?] = [:]
        swap(&changes, &outerChanges)
        swap(&touched, &outerTouched)
        let outerSchema = schema
        let outerSteps = steps
        let outerRewrites = rewrites
        let mark = undo.savepoint()
        let notifications = (completions.mark, suppressedEvents.count, orphans.count)
        do {
            let result = try body()
            try throwIfDoomed()
            try refuseClashes()
            try release(savepoint)
            swap(&changes, &outerChanges)
            changes.append(outerChanges)
            swap(&touched, &outerTouched)
            touched.merge(outerTouched) { _, later in later }
            return result
        } catch {
            doom = nil
            // There were none when the savepoint began.
            releases.removeAll()
            forgetNotifications(after: notifications)
            swap(&changes, &outerChanges)
            swap(&touched, &outerTouched)
            batch?.removeAll()
            schema = outerSchema
            steps = outerSteps
            rewrites = outerRewrites
            undo.rollback(to: mark)
            try writeLock.with { (tx: borrowing WriteTransaction) throws(MakoError) in
                try rollBack(savepoint, tx)
            }
            throw error
        }
    }

    /// Releases a savepoint.
    private func release(_ savepoint: Savepoint) throws(MakoError) {
        try writeLock.with { (tx: borrowing WriteTransaction) throws(MakoError) in
            try storage { () throws(StorageError) in try tx.release(savepoint) }
        }
    }

    /// Rolls back to a savepoint and releases it.
    private func rollBack(_ savepoint: Savepoint, _ tx: borrowing WriteTransaction) throws(MakoError) {
        try storage { () throws(StorageError) in
            try tx.rollback(to: savepoint)
            try tx.release(savepoint)
        }
    }

    private func forgetNotifications(after mark: (completions: CompletionLog.Mark, suppressedEvents: Int, orphans: Int))
    {
        completions.rollback(to: mark.completions)
        suppressedEvents.removeSubrange(mark.suppressedEvents...)
        orphans.removeSubrange(mark.orphans...)
    }

    /// Runs a call that has joined the transaction: if it fails, its changes are rolled back, in the file and in the
    /// objects.
    func joining<R>(_ body: () throws(MakoError) -> R) throws(MakoError) -> R {
        let mark = undo.mark
        let notifications = (completions.mark, suppressedEvents.count, orphans.count)
        let outer = (furtherRows, isJoined, batch, earlierReleases)
        // A nested call, as from a hook, must report its own duplicates: its index entries are not deferred.
        if outer.2 != nil || changes.hasUniqueClashes {
            try settle()
            batch = nil
        }
        (furtherRows, isJoined) = (nil, true)
        earlierReleases = releases.mark
        let isDeferred = changes.defersUnique
        // A single row has no savepoint: a duplicate is refused before the row is stored.
        changes.defersUnique = false
        defer {
            (furtherRows, isJoined, batch, earlierReleases) = outer
            changes.defersUnique = isDeferred
        }
        do throws(MakoError) {
            let result = try body()
            try keepFurtherRows()
            return result
        } catch {
            undo.rollback(to: mark)
            releases.rollback(to: earlierReleases)
            forgetNotifications(after: notifications)
            if furtherRows != nil { try takeFurtherRowsBack() }
            throw error
        }
    }

    /// Prepares for a second row of the running call, whose failure must roll back the first. A single row needs no
    /// savepoint, which would copy each page that changes next.
    func willWriteFurtherRows() throws(MakoError) {
        guard isJoined, furtherRows == nil else { return }
        try settleIndexes()
        // The pending work of earlier calls must survive a failure of this one.
        try writeReleases(before: earlierReleases)
        var rows = FurtherRows(
            savepoint: try writeLock.with { (tx: borrowing WriteTransaction) throws(MakoError) in tx.savepoint() },
            changes: changes.empty, schema: schema, steps: steps, rewrites: rewrites)
        rows.changes.defersUnique = true
        // `swap` keeps the buffers uniquely referenced, so that the next change does not copy them.
        swap(&changes, &rows.changes)
        swap(&touched, &rows.touched)
        furtherRows = rows
    }

    private func keepFurtherRows() throws(MakoError) {
        guard var rows = furtherRows else { return }
        try refuseClashes()
        try release(rows.savepoint)
        furtherRows = nil
        swap(&changes, &rows.changes)
        changes.append(rows.changes)
        swap(&touched, &rows.touched)
        touched.merge(rows.touched) { _, later in later }
    }

    private func takeFurtherRowsBack() throws(MakoError) {
        guard let rows = furtherRows else { return }
        furtherRows = nil
        changes = rows.changes
        touched = rows.touched
        schema = rows.schema
        steps = rows.steps
        rewrites = rows.rewrites
        batch?.removeAll()
        try writeLock.with { (tx: borrowing WriteTransaction) throws(MakoError) in
            try rollBack(rows.savepoint, tx)
        }
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

    /// Migrates the tables of types and binds the types.
    func bind(_ models: [EntityModel]) throws(MakoError) {
        if models.isEmpty { return }
        try settle()
        let old = schema
        try database.naming.settle(models)
        let models = try old.withSplitTargets(models)
        try database.naming.settle(models)
        var tables = try old.migrations(of: models, dropsRetired: database.options.dropsRetired)
        let access = CipherAccess { [database] () throws(PropertyKeyProblem) in try database.valueCipher() }
        for place in tables.indices { tables[place].access = access }
        // A caller that catches the error and continues must not commit half a migration.
        let savepoint = try writeLock.with { (tx: borrowing WriteTransaction) throws(MakoError) in tx.savepoint() }
        let reports: [MigrationReport]
        let cleared: [String]
        do throws(MakoError) {
            try lockProperties(of: models)
            reports = try migrate(tables, from: old)
            let catalogue = try catalogue(describing: old.models + models, previous: old.catalogue)
            schema = try SchemaState(catalogue: catalogue, models: old.models + models, version: old.version + 1)
            cleared = try DanglingReferences(reports, before: old.catalogue, after: catalogue).clear(schema, in: self)
            try release(savepoint)
        } catch {
            // Without the bindings to tables that are rolled back.
            schema = old
            try writeLock.with { (tx: borrowing WriteTransaction) throws(MakoError) in try rollBack(savepoint, tx) }
            throw error
        }
        for report in reports {
            steps += report.steps.map { MigrationStep(entity: report.table, description: "\($0)") }
        }
        rewrites += cleared
        for report in reports where report.changesRows {
            // Explicit steps and changed keys may affect rows of any table.
            rewrites += report.isByHand || report.changesKey ? old.tables.union(schema.tables).sorted() : [report.table]
        }
    }

    /// The current catalogue, with the models' delete rules, which then apply to every writer of the file.
    private func catalogue(describing models: [EntityModel], previous: Catalogue) throws(MakoError) -> Catalogue {
        try writeLock.with { (tx: borrowing WriteTransaction) throws(MakoError) in
            try records { () throws(RecordError) in
                let loaded = try Catalogue.load(view: tx.view, previous: previous)
                var rules = loaded.rules
                rules.adopt(models)
                return try loaded.adopting(rules, in: tx)
            }
        }
    }

    private func migrate(
        _ tables: [TableMigration], from old: SchemaState
    ) throws(MakoError) -> [MigrationReport] {
        let handler = database.options.onMigration
        return try writeLock.with { (tx: borrowing WriteTransaction) throws(MakoError) -> [MigrationReport] in
            do throws(RecordError) {
                return try Catalogue.migrate(
                    tables, previous: old.catalogue, bound: Set(old.models.map(\.table)),
                    progress: handler.map { handler in { handler(MigrationProgress($0)) } }, in: tx)
            } catch {
                throw MakoError(migrating: error)
            }
        }
    }

    /// Removes a type's table, to whose rows no reference may remain.
    func drop(_ model: EntityModel) throws(MakoError) {
        try settle()
        try writeLock.with { (tx: borrowing WriteTransaction) throws(MakoError) in
            _ = try records { () throws(RecordError) in try Catalogue.dropTable(model.table, in: tx) }
        }
        let old = schema
        let catalogue = try records { () throws(RecordError) in
            try Catalogue.load(view: view, previous: old.catalogue)
        }
        // Types that refer to it are rebound at their next use, which creates the table again.
        let others = old.models.filter { other in
            other.table != model.table && !other.related.contains { $0.table == model.table }
        }
        schema = try SchemaState(catalogue: catalogue, models: others, version: old.version + 1)
        if !model.raisesEvents {
            for change in changes.changes where change.table == model.table {
                suppressedEvents.append((EventHub.Identity(table: change.table, key: change.key), true))
            }
        }
        steps.append(MigrationStep(entity: model.table, description: "dropped"))
        rewrites.append(model.table)
    }

    /// Reloads the catalogue and rebinds the types in use.
    ///
    /// - Parameter isRewritten: whether rows of the table changed without individual change records.
    func adoptTables(_ table: String, _ description: String, isRewritten: Bool) throws(MakoError) {
        let old = schema
        let catalogue = try records { () throws(RecordError) in
            try Catalogue.load(view: view, previous: old.catalogue)
        }
        schema = try SchemaState(catalogue: catalogue, models: old.models, version: old.version + 1)
        steps.append(MigrationStep(entity: table, description: description))
        if isRewritten { rewrites.append(table) }
    }

    /// The current binding. A hook may have bound another type of the table, or one that refers to it.
    func current(_ binding: Binding) -> Binding {
        return schema.binding(binding.model) ?? binding
    }

    func binding(_ model: EntityModel) throws(MakoError) -> Binding {
        if let binding = schema.binding(model) { return binding }
        try bind(schema.missing(from: [model]))
        if let binding = schema.binding(model) { return binding }
        throw .migration(entity: model.name, reason: "its table could not be bound")
    }
}
