import Foundation
import MakoRecords
import MakoStorage

/// A running transaction: reads inside see its own writes, others see nothing until it is committed.
///
/// It belongs to the thread that runs its closure; `person.commit()` and `Person.query()` on that thread join it.
public final class Transaction: @unchecked Sendable {
    // Unchecked: used on its own thread only; `rollback()` checks that.

    public let database: Database
    let hub: EventHub
    let turn: WriteTurn
    let view: Snapshot
    @exclusivity(unchecked) var schema: SchemaState
    /// What it began with.
    let base: SchemaState
    private var steps: [MigrationStep] = []
    /// Tables of which the history says that they are to be read anew.
    private(set) var rewrites: [String] = []
    // One thread uses a transaction, and `isEncoding` keeps it from coming back to the writer: no dynamic checks.
    @exclusivity(unchecked) var writer = RowWriter()
    /// The values of the row that a statement stores, in memory that is kept.
    @exclusivity(unchecked) var plainValues: [StoredValue] = []
    @exclusivity(unchecked) var changes = ChangeSet()
    let undo = UndoLog()
    /// Index entries of new objects, while an array of them is being saved.
    @exclusivity(unchecked) private(set) var batch: IndexBatch?
    /// A row is being made of an object: its type's own code runs.
    @exclusivity(unchecked) var isEncoding = false
    /// The structs of types in a circle that wait for what they hold, each held by the one before.
    @exclusivity(unchecked) var holders: [ValueHolder] = []
    /// The objects behind the changes, where somebody watches their type; nil: none that shows what its row holds now.
    @exclusivity(unchecked) var touched: [EventHub.Identity: (any ObjectEntity)?] = [:]
    /// Whether there ever was one, here or outside of the savepoint.
    @exclusivity(unchecked) var hasTouched = false
    /// What objects are told after the commit.
    let completions = CompletionLog()
    /// The removals that have begun.
    @exclusivity(unchecked) var removal = RemovalWalk()
    /// The objects of their rows, where these have hooks about that, in the same order.
    @exclusivity(unchecked) var removed: [RemovedObject?] = []
    /// Rows of whose changes watchers are not told, or are told after all; what was noted last counts.
    @exclusivity(unchecked) var silences: [(row: EventHub.Identity, isSilent: Bool)] = []
    /// Rows whose owners let go of them, or that were stored anew after that; what was noted last counts.
    @exclusivity(unchecked) var orphans: [(row: RowPlace, isStoredAnew: Bool)] = []
    /// What columns of many keys are still to lose.
    @exclusivity(unchecked) var releases = ListReleases()
    /// Those that were noted before the call that is running.
    @exclusivity(unchecked) var earlierReleases = ListReleases.Mark()
    /// A row is being read that no release concerns.
    @exclusivity(unchecked) var keepsReleases = false
    /// Where to go back to when a call fails that writes more rows than its own.
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
    /// Whether the call that is running has joined this transaction, whose owner may go on when the call fails.
    @exclusivity(unchecked) private var isJoined = false
    /// Why the transaction cannot be committed any more.
    private var doom: MakoError?
    /// What all stamps of the transaction say.
    private(set) lazy var date = Date()
    private var hasEnded = false
    /// Who was told of its beginning.
    private var watchers: [TransactionWatchers.Watcher]?

    init(_ database: Database) throws(MakoError) {
        try database.requireOpen()
        self.database = database
        hub = database.hub
        turn = try WriteTurn(database.store)
        view = turn.view
        schema = database.writerSchema
        base = schema
        writer.database = database.number
        if let watched = hub.tablesWithValues { changes.keepRows(ofTables: watched.names) }
        RunningTransactions.begin()
    }

    /// Ends the transaction: file and objects are as they were before it, and `transaction` throws `MakoError.rolledBack`.
    public func rollback() throws(MakoError) -> Never {
        guard !hasEnded, ThreadScope.transaction === self else { throw .transactionEnded }
        doom = .rolledBack
        throw .rolledBack
    }

    /// A query inside this transaction.
    public func query<T: Entity>(_ type: T.Type) -> Query<T> { Query(database: database) }

    /// The database, whose calls on this thread join the transaction as long as it runs.
    func running() throws(MakoError) -> Database {
        guard !hasEnded, ThreadScope.current(of: database)?.transaction === self else { throw .transactionEnded }
        return database
    }

    // MARK: - For the room itself

    func throwIfDoomed() throws(MakoError) {
        if let doom { throw doom }
        // What a query could not answer may have been taken for an answer.
        if CurrentCancellation.current?.isCancelled == true { throw .cancelled }
    }

    /// The transaction is to fail, whatever its closure does about it.
    func fail(_ error: MakoError) { doom = error }

    func commit(durability: Durability?) throws(MakoError) {
        defer { end() }
        let ticket = hub.takeTicket()
        let isMigrated = schema !== base
        if isMigrated { database.writerSchema = schema }
        let before = view.commitNumber
        do throws(MakoError) {
            try recordHistory()
            // Whoever is told of a new table is to find it, also where the commit waits for nothing.
            try turn.commit(durability, isShown: isMigrated)
        } catch {
            forgetCommit(error, isMigrated: isMigrated)
            hub.cancel(ticket)
            undo.rollback(to: 0)
            tellEnd(.rolledBack(error))
            throw error
        }
        if isMigrated { database.publish(schema, steps) }
        database.metricsCounters.commits.with { $0 += 1 }
        hasEnded = true
        // Live queries do not wait for what hooks and handlers do. What those do is not for the committing task's end to stop.
        hub.follow(ticket, CommitChanges(base: before, changes.withoutRows))
        CurrentCancellation.without {
            completions.run()
            hub.publish(
                ticket, base: before, changes, schema, touched.compactMapValues(\.self), silentRows, database)
        }
        tellEnd(.committed)
    }

    /// Has the next writer begin with what is in the file: it begins when the turn is given up.
    private func forgetCommit(_ error: MakoError, isMigrated: Bool) {
        // Past that the device failed, and nobody writes any more.
        if turn.isHeld { database.historyWriter.invalidate() }
        if isMigrated {
            var isLatched = false
            if case .storage(.readOnly) = error { isLatched = true }
            // Tables of a commit that nobody can be shown are waited for by nobody.
            database.writerSchema = isLatched ? database.schema : base
        }
        turn.rollback()
    }

    /// The rows of whose changes watchers are not told.
    private var silentRows: Set<EventHub.Identity> {
        var rows: Set<EventHub.Identity> = []
        for (row, isSilent) in silences {
            if isSilent { rows.insert(row) } else { rows.remove(row) }
        }
        return rows
    }

    func abandon(_ cause: any Error) {
        turn.rollback()
        undo.rollback(to: 0)
        end()
        tellEnd(.rolledBack(cause))
    }

    /// Tells those who asked for it that the transaction begins: its thread has its scope.
    func tellBeginning() { watchers = database.transactionWatchers.begin() }

    private func tellEnd(_ outcome: @autoclosure () -> TransactionOutcome) {
        guard let watchers else { return }
        let outcome = outcome()
        CurrentCancellation.without { for watcher in watchers { watcher.end?(outcome) } }
    }

    private func end() {
        if !hasEnded { hasEnded = true }
        RunningTransactions.end()
    }

    /// Runs a closure as a savepoint: when it throws, file and objects are as they were before it.
    ///
    /// - Parameter isCall: whether it is one call, at whose end unique values are checked.
    func nested<R>(isCall: Bool = false, _ body: () throws -> R) throws -> R {
        // What has failed is not made good by a savepoint that is taken back.
        try throwIfDoomed()
        try settle()
        let savepoint = try turn.with { (tx: borrowing WriteTransaction) throws(MakoError) in tx.savepoint() }
        // Moved out and back: a second reference would have everything copied at the next change.
        var outerChanges = changes.empty
        outerChanges.defersUnique = isCall
        var outerTouched: [EventHub.Identity: (any ObjectEntity)?] = [:]
        swap(&changes, &outerChanges)
        swap(&touched, &outerTouched)
        let outerSchema = schema
        let outerSteps = steps
        let outerRewrites = rewrites
        let mark = undo.savepoint()
        let tellings = (completions.mark, silences.count, orphans.count)
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
            // There were none when it began.
            releases.removeAll()
            forgetTellings(after: tellings)
            swap(&changes, &outerChanges)
            swap(&touched, &outerTouched)
            batch?.removeAll()
            schema = outerSchema
            steps = outerSteps
            rewrites = outerRewrites
            undo.rollback(to: mark)
            try turn.with { (tx: borrowing WriteTransaction) throws(MakoError) in
                try takeBack(savepoint, tx)
            }
            throw error
        }
    }

    /// Lets go of what a savepoint keeps in the file.
    private func release(_ savepoint: Savepoint) throws(MakoError) {
        try turn.with { (tx: borrowing WriteTransaction) throws(MakoError) in
            try storage { () throws(StorageError) in try tx.release(savepoint) }
        }
    }

    /// Goes back to a savepoint for the last time.
    private func takeBack(_ savepoint: Savepoint, _ tx: borrowing WriteTransaction) throws(MakoError) {
        try storage { () throws(StorageError) in
            try tx.rollback(to: savepoint)
            try tx.release(savepoint)
        }
    }

    private func forgetTellings(after mark: (completions: CompletionLog.Mark, silences: Int, orphans: Int)) {
        completions.rollback(to: mark.completions)
        silences.removeSubrange(mark.silences...)
        orphans.removeSubrange(mark.orphans...)
    }

    /// Runs a call that has joined the transaction: when it fails, objects and file are as they were before it.
    func joining<R>(_ body: () throws(MakoError) -> R) throws(MakoError) -> R {
        let mark = undo.mark
        let tellings = (completions.mark, silences.count, orphans.count)
        let outer = (furtherRows, isJoined, batch, earlierReleases)
        // A call inside another, as a hook makes it, is told of its own duplicates: its entries do not wait.
        if outer.2 != nil || changes.hasUniqueClashes {
            try settle()
            batch = nil
        }
        (furtherRows, isJoined) = (nil, true)
        earlierReleases = releases.mark
        let isDeferred = changes.defersUnique
        // A single row has no savepoint to go back to: it is refused before it is there.
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
            forgetTellings(after: tellings)
            if furtherRows != nil { try takeFurtherRowsBack() }
            throw error
        }
    }

    /// A call is about to write a row besides its own, so that its failure must take back what came before. A single row needs no
    /// savepoint, which costs a copy of each page that is changed next.
    func willWriteFurtherRows() throws(MakoError) {
        guard isJoined, furtherRows == nil else { return }
        try settleIndexes()
        // What earlier calls have left to do stays done when this one fails.
        try writeReleases(before: earlierReleases)
        var rows = FurtherRows(
            savepoint: try turn.with { (tx: borrowing WriteTransaction) throws(MakoError) in tx.savepoint() },
            changes: changes.empty, schema: schema, steps: steps, rewrites: rewrites)
        rows.changes.defersUnique = true
        // Moved out and back: a second reference would have everything copied at the next change.
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
        try turn.with { (tx: borrowing WriteTransaction) throws(MakoError) in
            try takeBack(rows.savepoint, tx)
        }
    }

    /// Runs a closure that stores many objects: their index entries wait until its end, or until somebody looks.
    func batching<R>(_ body: () throws(MakoError) -> R) throws(MakoError) -> R {
        if batch != nil { return try body() }
        batch = IndexBatch()
        defer { batch = nil }
        let result = try body()
        try settle()
        return result
    }

    /// Migrates the tables of types and ties the types to them.
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
        // Whoever catches the error and goes on must not commit half a migration.
        let savepoint = try turn.with { (tx: borrowing WriteTransaction) throws(MakoError) in tx.savepoint() }
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
            // Bindings to tables that are taken back.
            schema = old
            try turn.with { (tx: borrowing WriteTransaction) throws(MakoError) in try takeBack(savepoint, tx) }
            throw error
        }
        for report in reports {
            steps += report.steps.map { MigrationStep(entity: report.table, description: "\($0)") }
        }
        rewrites += cleared
        for report in reports where report.changesRows {
            // Steps by hand and other keys may reach rows of any table.
            rewrites += report.isByHand || report.changesKey ? old.tables.union(schema.tables).sorted() : [report.table]
        }
    }

    /// The tables as they are by now, with the delete rules that the models declare. Every writer of the file has these from then on.
    private func catalogue(describing models: [EntityModel], previous: Catalogue) throws(MakoError) -> Catalogue {
        try turn.with { (tx: borrowing WriteTransaction) throws(MakoError) in
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
        let told = database.options.onMigration
        return try turn.with { (tx: borrowing WriteTransaction) throws(MakoError) -> [MigrationReport] in
            do throws(RecordError) {
                return try Catalogue.migrate(
                    tables, previous: old.catalogue, bound: Set(old.models.map(\.table)),
                    progress: told.map { told in { told(MigrationProgress($0)) } }, in: tx)
            } catch {
                throw MakoError(migrating: error)
            }
        }
    }

    /// Removes a type's table; nothing may refer to its rows any more.
    func drop(_ model: EntityModel) throws(MakoError) {
        try settle()
        try turn.with { (tx: borrowing WriteTransaction) throws(MakoError) in
            _ = try records { () throws(RecordError) in try Catalogue.dropTable(model.table, in: tx) }
        }
        let old = schema
        let catalogue = try records { () throws(RecordError) in
            try Catalogue.load(view: view, previous: old.catalogue)
        }
        // Types that refer to it are bound anew at their next use, which makes the table again.
        let others = old.models.filter { other in
            other.table != model.table && !other.related.contains { $0.table == model.table }
        }
        schema = try SchemaState(catalogue: catalogue, models: others, version: old.version + 1)
        if !model.raisesEvents {
            for change in changes.changes where change.table == model.table {
                silences.append((EventHub.Identity(table: change.table, key: change.key), true))
            }
        }
        steps.append(MigrationStep(entity: model.table, description: "dropped"))
        rewrites.append(model.table)
    }

    /// Loads the tables anew and ties the types in use to them.
    ///
    /// - Parameter isRewritten: whether the table's rows went without being told one by one.
    func adoptTables(_ table: String, _ description: String, isRewritten: Bool) throws(MakoError) {
        let old = schema
        let catalogue = try records { () throws(RecordError) in
            try Catalogue.load(view: view, previous: old.catalogue)
        }
        schema = try SchemaState(catalogue: catalogue, models: old.models, version: old.version + 1)
        steps.append(MigrationStep(entity: table, description: description))
        if isRewritten { rewrites.append(table) }
    }

    /// A binding as it is by now: a hook may have brought another type of the table into use, or one that refers to it.
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
