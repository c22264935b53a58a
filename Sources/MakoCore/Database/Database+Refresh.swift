import MakoRecords
import MakoStorage

/// What other processes have committed, for those who watch.
struct News: Sendable {
    /// The number of a commit before the newest: snapshots of a higher number show all of it.
    let base: UInt64
    let schema: SchemaState
    /// What differs in the tables that somebody watches, as though one commit had done it.
    var changes = ChangeSet()
    /// The tables that were looked at; nil: all.
    var covered: Set<String>?
    /// Tables of which it is not known what changed; nil: all.
    var missed: Set<String>?

    var commit: CommitChanges { CommitChanges(base: base, changes.withoutRows, covering: covered) }
}

extension Database {
    /// Moves a database that was opened for reading only to the newest commit that the process which writes has made durable.
    ///
    /// ```swift
    /// let reader = try Database(at: path, entities: [Person.self], options: DatabaseOptions(readOnly: true))
    /// while isRunning {
    ///     if try await reader.refresh() { show(try reader.query(Person.self).count()) }
    ///     try await Task.sleep(for: .seconds(1))
    /// }
    /// ```
    ///
    /// Reads that have begun, as those inside `read { … }`, keep their moment and its tables. Where the other process has migrated tables,
    /// those that come go by the new ones; a type that does not fit what its table is now is `MakoError.migration` at its next use.
    ///
    /// Watchers are told before it returns, of all commits since the last time as one: handlers and sequences of each object that differs,
    /// live queries of the difference, and the members of an ``ObjectDomain`` take over what is new. Of a table that was migrated, and
    /// where more than 65,536 rows of one differ, single changes are not known: handlers and sequences of its entity get one
    /// ``ChangeKind/missed``, and live queries tell every object that stays as updated. Nobody is told anything when nothing has changed.
    /// It may be called from many threads and tasks; one goes on after the other.
    ///
    /// Without anything new it costs a few system calls. Telling costs about what was changed in the tables that are watched; now and then,
    /// when the writer has let go of what this database was reading from, each row of those is compared.
    ///
    /// - Returns: whether there is a newer commit than before. Of a database that is written always false: it shows its newest commit anyway.
    /// - Throws: `MakoError.closed`, and `.storage` and `.damaged` for what cannot be read: it shows what it showed before then, or the newer
    ///   commit, of which the next call tells.
    @discardableResult
    public func refresh() throws(MakoError) -> Bool {
        try requireOpen()
        guard options.readOnly else { return false }
        let (ticket, outcome) = lastTold.with { told -> (Int, Result<News?, MakoError>) in
            // Taken first: a live query that sees what is new before it was told of it waits for that.
            let ticket = hub.takeTicket()
            let outcome: Result<News?, MakoError>
            do throws(MakoError) { outcome = .success(try look(&told)) } catch { outcome = .failure(error) }
            let news = (try? outcome.get()) ?? nil
            hub.follow(ticket, news?.commit)
            return (ticket, outcome)
        }
        // Outside of the lock: handlers may refresh, too.
        guard case .success(let news?) = outcome else {
            CurrentCancellation.without { hub.pass(ticket) }
            if case .failure(.closed) = outcome { throw .closed(path: path) }
            return try outcome.get() != nil
        }
        // What handlers do with the news is not for the end of whoever looked for them to stop.
        CurrentCancellation.without { hub.publish(ticket, news, self) }
        return true
    }

    /// The async form of `refresh()`.
    @discardableResult
    public func refresh() async throws(MakoError) -> Bool {
        try await onOwnThread(writes: false) { () throws(MakoError) in try self.refresh() }
    }

    /// Goes on to the newest commit.
    ///
    /// - Parameter told: the commit that watchers know of.
    /// - Returns: what is new since that; nil: nothing.
    private func look(_ told: inout UInt64) throws(MakoError) -> News? {
        let before = try moment()
        _ = try storage { () throws(StorageError) in try store.refresh() }
        let view = try storage { () throws(StorageError) in try store.snapshot() }
        let schema = try goOn(from: before, to: view)
        if view.commitNumber == told { return nil }
        var news = News(base: max(view.commitNumber, 1) - 1, schema: schema)
        if before.view.commitNumber == told {
            try compare(before, (view, schema), &news)
        } else {
            // Somebody went on past the database, with its store, or was stopped by an error.
            news.covered = []
        }
        told = view.commitNumber
        return news
    }

    /// How many rows of a table are told one by one.
    private static var toldRows: Int { 1 << 16 }

    private func compare(
        _ before: (view: Snapshot, schema: SchemaState), _ now: (view: Snapshot, schema: SchemaState),
        _ news: inout News
    ) throws(MakoError) {
        // Asked when the newest commit is shown: who comes later sees it anyway.
        let wanted = hub.wantedTables
        if let watched = hub.tablesWithValues { news.changes.keepRows(ofTables: watched.names) }
        let names = wanted ?? before.schema.tables.union(now.schema.tables)
        var missed: Set<String> = []
        for name in names.sorted() {
            let (old, new) = (before.schema.catalogue.table(named: name), now.schema.catalogue.table(named: name))
            if old == nil && new == nil { continue }
            let isTold = try records { () throws(RecordError) in
                guard let old, let new, new.hasForm(of: old) else { return false }
                return try news.changes.addDifferences(
                    of: new, from: before.view, to: now.view, limit: Database.toldRows)
            }
            if !isTold { missed.insert(name) }
        }
        news.missed = missed
        news.covered = wanted == nil && missed.isEmpty ? nil : names.subtracting(missed)
    }
}
