import MakoRecords
import MakoStorage

/// The commits of another process since the last refresh.
struct News: Sendable {
    /// The number of a commit before the newest: a snapshot with a higher number includes all of these changes.
    let base: UInt64
    let schema: SchemaState
    /// The net differences in the watched tables, as if one commit had made them.
    var changes = ChangeSet()
    /// The compared tables; nil: all.
    var covered: Set<String>?
    /// The tables whose individual changes are unknown; nil: all.
    var missed: Set<String>?

    var commit: CommitChanges { CommitChanges(base: base, changes.withoutRows, covering: covered) }
}

extension Database {
    // async
    /// Advances a read-only database to the newest durable commit of the writing process.
    ///
    /// ```swift
    /// let reader = try Database(at: path, entities: [Person.self], options: DatabaseOptions(readOnly: true))
    /// while isRunning {
    ///     if try await reader.refresh() { show(try reader.query(Person.self).count()) }
    ///     try await Task.sleep(for: .seconds(1))
    /// }
    /// ```
    ///
    /// Running reads, such as `read { … }`, keep their snapshot and its schema. After a migration by the other process,
    /// later reads use the new schema; a type that does not match its migrated table throws `MakoError.migration` at
    /// its next use.
    ///
    /// Watchers are notified before the call returns, of all commits since the last refresh as one: handlers and
    /// sequences of each object that differs, live queries of their difference, and the members of an ``ObjectDomain``
    /// take over the new values. For a migrated table, and for a table with more than 65,536 changed rows, individual
    /// changes are unknown: handlers and sequences get one ``ChangeKind/missed``, and live queries report each
    /// remaining object as updated. Without changes no watcher is notified. Concurrent calls run one after the other.
    ///
    /// Without a new commit the call costs a few system calls. Otherwise the cost is proportional to the changes in the
    /// watched tables; if the writer has reused pages of the old snapshot, every row of those tables is compared.
    ///
    /// - Returns: whether there is a newer commit of another process than before; always false for a database that is
    ///   open for writing with ``FileLocking/whileOpen``.
    /// - Throws: `MakoError.closed`; `.storage` and `.damaged` for read errors. The database then shows the earlier
    ///   commit, or the newer one, whose changes the next call delivers.
    @discardableResult
    public func refresh() throws(MakoError) -> Bool {
        try requireOpen()
        let first = try turns.map { (turns) throws(MakoError) in try turn(turns) }
        defer { first?.turn.end() }
        if first?.hasNews == true { return true }
        guard options.readOnly else { return false }
        let (ticket, outcome) = lastNotified.withLock { lastReported -> (Int, Result<News?, MakoError>) in
            // The ticket is taken before the new commit is visible: a live query that reads the commit first waits
            // until followers have processed the ticket.
            let ticket = hub.takeTicket()
            let outcome: Result<News?, MakoError>
            do throws(MakoError) { outcome = .success(try look(&lastReported, first?.turn)) } catch {
                outcome = .failure(error)
            }
            let news = (try? outcome.get()) ?? nil
            hub.follow(ticket, news?.commit)
            return (ticket, outcome)
        }
        // Without the lock, because handlers may call refresh.
        guard case .success(let news?) = outcome else {
            CurrentCancellation.without { hub.pass(ticket) }
            if case .failure(.closed) = outcome { throw .closed(path: path) }
            return try outcome.get() != nil
        }
        // Handlers must not be cancelled with the task that called refresh.
        CurrentCancellation.without { hub.publish(ticket, news, self) }
        return true
    }

    /// Advances to the newest commit.
    ///
    /// - Parameters:
    ///   - notified: the commit that watchers have been notified of.
    ///   - turn: the turn of this call, because another one must not be waited for here.
    /// - Returns: the changes since that commit; nil: none.
    private func look(_ notified: inout UInt64, _ turn: FileTurn<Database>?) throws(MakoError) -> News? {
        let before = try moment(in: turn)
        _ = try storage { () throws(StorageError) in try store.refresh() }
        let view = try newestView(in: turn)
        let schema = try goOn(from: before, to: view)
        if view.commitNumber == notified { return nil }
        var news = News(base: max(view.commitNumber, 1) - 1, schema: schema)
        if before.view.commitNumber == notified {
            try compare(before, (view, schema), &news)
        } else {
            // The database is ahead of its watchers, because `store.refresh()` was called directly or an earlier
            // refresh failed.
            news.covered = []
        }
        notified = view.commitNumber
        return news
    }

    /// The largest number of changed rows of a table that are delivered individually.
    private static var notifiedRows: Int { 1 << 16 }

    private func compare(
        _ before: (view: Snapshot, schema: SchemaState), _ now: (view: Snapshot, schema: SchemaState),
        _ news: inout News
    ) throws(MakoError) {
        // Read when the newest commit is already visible: a later watcher sees that commit anyway.
        let wanted = hub.wantedTables
        if let watched = hub.tablesWithValues { news.changes.keepRows(ofTables: watched.names) }
        let names = wanted ?? before.schema.tables.union(now.schema.tables)
        var missed: Set<String> = []
        for name in names.sorted() {
            let (old, new) = (before.schema.catalogue.table(named: name), now.schema.catalogue.table(named: name))
            if old == nil && new == nil { continue }
            let isComplete = try records { () throws(RecordError) in
                guard let old, let new, new.hasForm(of: old) else { return false }
                return try news.changes.addDifferences(
                    of: new, from: before.view, to: now.view, limit: Database.notifiedRows)
            }
            if !isComplete { missed.insert(name) }
        }
        news.missed = missed
        news.covered = wanted == nil && missed.isEmpty ? nil : names.subtracting(missed)
    }
}
