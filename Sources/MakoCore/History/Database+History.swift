import Foundation
import MakoRecords
import MakoStorage

extension Database {
    /// Returns the history after a token: first the stored commits, then each new commit.
    ///
    /// ```swift
    /// for try await event in db.changes(since: token) {
    ///     switch event {
    ///     case .batch(let batch):
    ///         for change in batch.changes where change.entity == "Person" {
    ///             if let person = try db.object(of: change, as: Person.self) { index.put(person) } else { index.remove(change.key) }
    ///         }
    ///         if batch.rewritten.contains("Person") { try rebuild() }
    ///     case .missed:
    ///         try rebuild()
    ///     }
    ///     try store(event.token)
    /// }
    /// ```
    ///
    /// The database must keep a history: ``DatabaseOptions/history``. Each commit that changed objects occurs once and
    /// complete, in commit order, also across restarts: a commit and its history record are written atomically. To
    /// start, copy everything and store the token of the same snapshot: `try db.read { (try db.historyToken(), try
    /// copyAll()) }`. The history has no values; read the current objects from the database. Writes below the object
    /// layer, with the store's own transactions, are not recorded.
    ///
    /// A reader buffers at most 256 commits in memory and has no other state. The sequence ends when its task is
    /// cancelled or the database is closed, and waits while the database is suspended. In a read-only database it polls
    /// once per second for commits of another process.
    ///
    /// - Parameter token: where to start; nil: the oldest commit that is kept.
    /// - Throws: the iterator throws `MakoError.historyNotKept`, `.foreignHistory` for a token of another database, and
    ///   read errors; it then ends.
    public func changes(since token: HistoryToken?) -> HistorySequence {
        HistorySequence(database: self, token: token, model: nil)
    }

    /// Returns the history of one entity's objects; see ``changes(since:)``.
    ///
    /// Commits without changes of the entity are omitted. For each 256 of them the sequence sends an empty batch, so that
    /// the token advances and trimming does not overtake it. The sequence follows a renamed table: it reports the table as
    /// rewritten, and then its rows under the new name, until the entity has a table of its own again.
    public func changes<T: Entity>(of type: T.Type, since token: HistoryToken?) -> HistorySequence {
        HistorySequence(database: self, token: token, model: type.entityModel)
    }

    // async
    /// Returns stored history, oldest commit first.
    ///
    /// ```swift
    /// var token: HistoryToken?
    /// while case let events = try db.history(since: token, limit: 100), !events.isEmpty {
    ///     events.forEach(show)
    ///     token = events.last?.token
    /// }
    /// ```
    ///
    /// Also works in a read-only database, beside the writing process.
    ///
    /// - Parameters:
    ///   - token: where to start; nil: the oldest commit that is kept.
    ///   - limit: the maximum number of commits.
    /// - Throws: `MakoError.historyNotKept`, `.foreignHistory` for a token of another database.
    public func history(since token: HistoryToken?, limit: Int = .max) throws(MakoError) -> [HistoryEvent] {
        if options.readOnly, ThreadScope.current(of: self) == nil { try refresh() }
        var events: [HistoryEvent] = []
        try viewing { (view, schema) throws(MakoError) in
            var token = token
            var isLast = limit <= 0
            var tables = HistoryTables(of: nil)
            while !isLast, events.count < limit {
                let page = try historyPage(after: token, limit: limit - events.count, &tables, view, schema)
                (token, isLast) = (page.token, page.isLast)
                events += page.events
            }
        }
        return events
    }

    // async
    /// Returns the current end of the history. In `db.read` and in transactions, the end as of their snapshot.
    ///
    /// - Throws: `MakoError.historyNotKept`.
    public func historyToken() throws(MakoError) -> HistoryToken {
        if options.readOnly, ThreadScope.current(of: self) == nil { try refresh() }
        return try viewing { (view, _) throws(MakoError) in
            let head = try keptHead(view)
            guard let end = try records({ () throws(RecordError) in try StoredHistory.end(in: view) }) else {
                throw .historyNotKept(path: path)
            }
            return HistoryToken(head, end)
        }
    }

    // async: writes
    /// Removes the history before a token. The token itself stays valid.
    ///
    /// Removes nothing for a token whose commits are not in the history, because they were forgotten, or because a
    /// restored backup does not have them.
    ///
    /// - Throws: `MakoError.historyNotKept`, `.foreignHistory`, `.readOnly`.
    public func forgetHistory(before token: HistoryToken) throws(MakoError) {
        try writing { (transaction) throws(MakoError) in
            let head = try keptHead(transaction.view)
            guard token.isOf(head) else { throw .foreignHistory(path: path) }
            try transaction.changeHistory { (history, tx) throws(RecordError) in
                try history.forget(before: token.point, in: tx)
            }
        }
    }

    /// Returns the current object of a change; nil when it was removed or is of another type.
    public func object<T: Entity>(of change: HistoryChange, as type: T.Type) throws(MakoError) -> T? {
        try naming.settle([type.entityModel])
        guard change.entity == type.entityModel.table else { return nil }
        return try object(type, key: change.key)
    }

    // MARK: - Internal

    private func keptHead(_ view: Snapshot) throws(MakoError) -> StoredHistory.Head {
        let head = try records { () throws(RecordError) in try StoredHistory.head(in: view) }
        guard let head, head.isKept else { throw .historyNotKept(path: path) }
        return head
    }

    struct HistoryReading {
        var events: [HistoryEvent] = []
        /// Where to continue.
        var token: HistoryToken?
        /// Whether there are no more commits.
        var isLast: Bool
    }

    /// The events of the next `limit` commits.
    ///
    /// - Parameter tables: the tables to report.
    func historyPage(
        after token: HistoryToken?, limit: Int, _ tables: inout HistoryTables, _ view: Snapshot, _ schema: SchemaState
    ) throws(MakoError) -> HistoryReading {
        let head = try keptHead(view)
        if let token, !token.isOf(head) { throw .foreignHistory(path: path) }
        let page = try records { () throws(RecordError) in
            try HistoryPage(after: token?.point, limit: limit, in: view)
        }
        guard let page else { throw .historyNotKept(path: path) }
        var reading = HistoryReading(token: token, isLast: page.isLast)
        if page.isMissed, let token {
            let end = HistoryToken(head, page.end)
            reading.events = [.missed(since: token, token: end)]
            reading.token = end
            return reading
        }
        let names = try HistoryNames(page.records, view, schema)
        for record in page.records {
            let token = HistoryToken(head, record.point)
            reading.token = token
            tables.look(at: record, names)
            let rewritten = tables.rewritten(by: record, names)
            let changes = HistoryChanges(record, names, tables)
            if changes.isEmpty, rewritten.isEmpty { continue }
            reading.events.append(
                .batch(
                    HistoryBatch(
                        token: token, date: Date(timeIntervalSinceReferenceDate: record.date), changes: changes,
                        rewritten: rewritten)))
        }
        return reading
    }

    /// Starts or ends the history according to the options.
    func applyHistoryOption() throws(MakoError) {
        if options.readOnly || options.history == .asInFile { return }
        let head = try viewing { (view, _) throws(MakoError) in
            try records { () throws(RecordError) in try StoredHistory.head(in: view) }
        }
        if let limits = options.history.limits {
            if let head, head.isKept, head.limits == limits { return }
            try writing { (transaction) throws(MakoError) in
                try transaction.changeHistory { (history, tx) throws(RecordError) in
                    try history.begin(limits, date: Date().timeIntervalSinceReferenceDate, in: tx)
                }
            }
        } else if head?.isKept == true {
            try writing { (transaction) throws(MakoError) in
                try transaction.changeHistory { (history, tx) throws(RecordError) in try history.end(in: tx) }
            }
        }
    }
}

extension Transaction {
    /// Records the transaction in the history, if the file keeps one.
    func recordHistory() throws(MakoError) {
        if changes.isEmpty && rewrites.tables.isEmpty { return }
        try changeHistory { (history, tx) throws(RecordError) in
            try history.append(
                changes, rewritten: rewrites.tables, schema.catalogue, before: base.catalogue,
                date: Date().timeIntervalSinceReferenceDate, in: tx)
        }
    }

    func changeHistory(
        _ body: (HistoryWriter, borrowing WriteTransaction) throws(RecordError) -> Void
    ) throws(MakoError) {
        try writeLock.with { (tx: borrowing WriteTransaction) throws(MakoError) in
            do throws(RecordError) { try body(database.historyWriter, tx) } catch { throw MakoError(error) }
        }
    }
}
