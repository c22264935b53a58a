import Foundation
import MakoRecords
import MakoStorage

extension Database {
    /// The history from a token on: first what is stored, then each commit when it comes.
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
    /// The database must keep a history: ``DatabaseOptions/history``. Each commit that changed objects comes once, whole, in the order of the commits,
    /// also over a restart: what was committed lasts together with its record. To begin, copy everything and keep the token of the same moment:
    /// `try db.read { (try db.historyToken(), try copyAll()) }`. Values are not in the history; the objects as they are now are read from the database.
    /// Not told is what was written below the object layer, with the store's own transactions.
    ///
    /// A reader's memory holds at most 256 commits that wait; nothing is kept for it anywhere else. The sequence ends when its task is cancelled or the
    /// database closed. In a database that was opened for reading only it looks once a second for what another process has committed.
    ///
    /// - Parameter token: from where on; nil: from the oldest commit that is kept.
    /// - Throws: the iterator throws `MakoError.historyNotKept`, `.foreignHistory` for a token of another database, and what reading throws; it
    ///   ends then.
    public func changes(since token: HistoryToken?) -> HistorySequence {
        HistorySequence(database: self, token: token, model: nil)
    }

    /// The history of one entity's objects; see ``changes(since:)``.
    ///
    /// Commits that do not concern it are left out. So that the token goes on all the same, and is not left behind by what is trimmed, a
    /// batch without changes stands for each 256 of them. A table that is given another name takes those who follow it along: they are told to read
    /// it anew, and then of its rows under that name, unless the entity has a table of its own again.
    public func changes<T: Entity>(of type: T.Type, since token: HistoryToken?) -> HistorySequence {
        HistorySequence(database: self, token: token, model: type.entityModel)
    }

    /// Some of the history, oldest first: what is stored of it now.
    ///
    /// ```swift
    /// var token: HistoryToken?
    /// while case let events = try db.history(since: token, limit: 100), !events.isEmpty {
    ///     events.forEach(show)
    ///     token = events.last?.token
    /// }
    /// ```
    ///
    /// Works in a database that was opened for reading only as well, beside the process that writes.
    ///
    /// - Parameters:
    ///   - token: from where on; nil: from the oldest commit that is kept.
    ///   - limit: how many commits are read at most.
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

    /// The present end of the history: changes after it come after this moment. In `db.read` and in transactions, the end as these see it.
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

    /// Gives up the history before a token, of which everybody has worked off what is in it. The token itself stays good.
    ///
    /// - Throws: `MakoError.historyNotKept`, `.foreignHistory`, `.readOnly`.
    public func forgetHistory(before token: HistoryToken) throws(MakoError) {
        try writing { (transaction) throws(MakoError) in
            let head = try keptHead(transaction.view)
            guard token.isOf(head) else { throw .foreignHistory(path: path) }
            try transaction.changeHistory { (history, tx) throws(RecordError) in
                try history.forget(before: token.commit, in: tx)
            }
        }
    }

    /// The object that a change is about, as it is now; nil: it is gone, or of another type.
    public func object<T: Entity>(of change: HistoryChange, as type: T.Type) throws(MakoError) -> T? {
        try naming.settle([type.entityModel])
        guard change.entity == type.entityModel.table else { return nil }
        return try object(type, key: change.key)
    }

    // MARK: - For the room itself

    private func keptHead(_ view: Snapshot) throws(MakoError) -> StoredHistory.Head {
        let head = try records { () throws(RecordError) in try StoredHistory.head(in: view) }
        guard let head, head.isKept else { throw .historyNotKept(path: path) }
        return head
    }

    struct HistoryReading {
        var events: [HistoryEvent] = []
        /// From where to go on.
        var token: HistoryToken?
        /// Whether nothing is behind that.
        var isLast: Bool
    }

    /// The next events, where there are any among the next `limit` commits.
    ///
    /// - Parameter tables: those that count.
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

    /// Begins or ends the history as the options ask for.
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
    /// Puts down what the transaction did, where the file has a history.
    func recordHistory() throws(MakoError) {
        if changes.isEmpty && rewrites.isEmpty { return }
        try changeHistory { (history, tx) throws(RecordError) in
            var tables: [String] = []
            for table in rewrites where !tables.contains(table) { tables.append(table) }
            try history.append(
                changes, rewritten: tables, schema.catalogue, before: base.catalogue,
                date: Date().timeIntervalSinceReferenceDate, in: tx)
        }
    }

    func changeHistory(
        _ body: (HistoryWriter, borrowing WriteTransaction) throws(RecordError) -> Void
    ) throws(MakoError) {
        try turn.with { (tx: borrowing WriteTransaction) throws(MakoError) in
            do throws(RecordError) { try body(database.historyWriter, tx) } catch { throw MakoError(error) }
        }
    }
}
