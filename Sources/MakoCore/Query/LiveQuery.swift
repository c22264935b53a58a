import Dispatch
import MakoRecords
import MakoStorage

/// One iteration of a live query: commits put their changes into its mailbox, and the consumer of the next difference
/// processes them.
///
/// A difference must show the state of one commit. A snapshot may show commits that the mailbox has not received yet.
/// So the query takes the snapshot first, waits until the hub has delivered all earlier commits, and then takes from
/// the mailbox those that the snapshot shows.
final class LiveQuery<T: Entity>: Sendable {
    private struct State {
        var rows: LiveRows?
        var objects: [T] = []
        var schema = -1
        /// A snapshot whose commits the hub has not delivered yet.
        var view: (snapshot: Snapshot, schema: SchemaState)?
        /// The delay in milliseconds before the next check for a commit that no snapshot shows yet.
        var patience = 1
    }

    private enum Step: Sendable {
        case changed(QueryDifference<T>)
        case same
        /// The hub has not delivered the commits before this ticket yet.
        case waits(Int)
    }

    private let query: Query<T>
    private let database: Database
    private let mailbox = LiveMailbox()
    private let follower: Int
    // One consumer uses it at a time; the lock protects against copies of an iterator.
    private let state = Guarded(State())

    init(_ query: Query<T>, _ database: Database) throws(MakoError) {
        self.query = query
        self.database = database
        try database.requireOpen()
        let mailbox = mailbox
        follower = database.hub.add(
            EventHub.Follower(
                tables: { mailbox.tables }, notify: { mailbox.put($0) }, finish: { mailbox.finish() }))
    }

    deinit { database.hub.removeFollower(follower) }

    /// Returns the initial results, read on the calling thread, before the first call of `next()`; nil where `next()`
    /// must read them: inside a transaction or read of the thread, and while the database is suspended.
    func first() throws(MakoError) -> QueryDifference<T>? {
        // The snapshot of a transaction lacks its own changes and tables.
        guard ThreadScope.current == nil else { return nil }
        do throws(MakoError) {
            guard case .changed(let difference) = try step(waits: false) else { return nil }
            return difference
        } catch {
            guard database.isUnavailable(error) else { throw error }
            return nil
        }
    }

    func next() async throws(MakoError) -> QueryDifference<T>? {
        while await mailbox.hasMail() {
            let step: Step
            do throws(MakoError) {
                step = try await database.onOwnThread(writes: false) { () throws(MakoError) in
                    try self.step(waits: true)
                }
            } catch {
                if database.endsObservation(error) { return nil }
                guard database.isUnavailable(error) else { throw error }
                await waitForResumption()
                continue
            }
            switch step {
            case .changed(let difference): return difference
            case .same: continue
            case .waits(let ticket):
                await database.hub.followed(upTo: ticket)
                mailbox.wake()
            }
        }
        return nil
    }

    /// Waits a moment before the query runs anew: the database is suspended, or was when the snapshot was taken.
    private func waitForResumption() async {
        // The commits that the mailbox has handed out are lost with the snapshot.
        mailbox.forget()
        // A cancelled task sleeps no longer, and finds no mail.
        try? await Task.sleep(for: .milliseconds(100))
        mailbox.wake()
    }

    /// Processes the commits of one snapshot.
    ///
    /// - Parameter waits: whether the hub must have delivered every earlier commit. The initial results need none: the
    ///   mailbox then drops those that the snapshot shows when they arrive.
    private func step(waits: Bool) throws(MakoError) -> Step {
        try state.withLock { (state) throws(MakoError) -> Step in
            if state.view == nil {
                // Only the first snapshot may create the table.
                if state.rows == nil { try query.prepareJoins(database) }
                // The binding reports a type that does not fit the table as another process has changed it.
                let isBound = state.rows == nil || database.options.readOnly || database.turns != nil
                let moment = try isBound ? database.moment(T.entityModel) : database.moment()
                state.view = (moment.view, moment.schema)
                if waits, let ticket = database.hub.unfollowedTicket { return .waits(ticket) }
            }
            guard let (view, schema) = state.view else { return .same }
            state.view = nil
            let mail = mailbox.take(upTo: view.commitNumber, dropsLate: !waits)
            // A commit that is not synced arrives before a snapshot shows it.
            state.patience = mail.isBehind ? min(state.patience * 2, 1000) : 1
            if mail.isBehind {
                let mailbox = mailbox
                DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(state.patience)) { mailbox.wake() }
            }
            let scope = ThreadScope(
                database: database, transaction: nil, view: view, schema: schema, outer: ThreadScope.current)
            return try ThreadScope.with(scope) { () throws(MakoError) in
                try work(mail, view, schema, &state).map { .changed($0) } ?? .same
            }
        }
    }

    private func work(
        _ mail: LiveMailbox.Mail, _ view: Snapshot, _ schema: SchemaState, _ state: inout State
    ) throws(MakoError) -> QueryDifference<T>? {
        guard let binding = schema.binding(T.entityModel) else {
            throw .migration(entity: T.entityModel.name, reason: "its table was dropped while a live query followed it")
        }
        var rows: LiveRows
        var difference: RowsDifference?
        let isInitial = state.rows == nil
        if let before = state.rows {
            let tables = query.hasReferences ? nil : before.tables
            let changes = mail.commits.flatMap { commit in
                (tables.map(Array.init) ?? commit.changes.tableNames).compactMap { commit.of($0) }
            }
            if mail.isComplete, schema.version == state.schema, !query.hasReferences {
                rows = before
                difference = try records { () throws(RecordError) in try rows.update(changes, in: view) }
            } else {
                if mail.isComplete, schema.version == state.schema, changes.isEmpty { return nil }
                rows = try run(binding, schema, view)
                difference = try records { () throws(RecordError) in
                    try rows.difference(from: before, mail.isComplete ? changes : nil, in: view)
                }
            }
        } else {
            rows = try run(binding, schema, view)
        }
        mailbox.watch(query.hasReferences ? nil : rows.tables)
        let objects = try objects(rows, difference, isInitial ? nil : state.objects, binding, schema, view)
        state.rows = rows
        state.objects = objects
        state.schema = schema.version
        if isInitial {
            return QueryDifference(
                results: Results(objects), isInitial: true, deletions: [], insertions: Array(objects.indices),
                moves: [], updates: [])
        }
        guard let difference else { return nil }
        return QueryDifference(
            results: Results(objects), isInitial: false, deletions: difference.deletions,
            insertions: difference.insertions, moves: difference.moves.map { .init(from: $0.from, to: $0.to) },
            updates: difference.updates)
    }

    private func run(_ binding: Binding, _ schema: SchemaState, _ view: Snapshot) throws(MakoError) -> LiveRows {
        let selection = try query.selection(binding, schema, view)
        return try records { () throws(RecordError) in try LiveRows(selection, schema.catalogue, in: view) }
    }

    /// The objects of the rows: the earlier instances where nothing changed, the others read together.
    private func objects(
        _ rows: LiveRows, _ difference: RowsDifference?, _ before: [T]?, _ binding: Binding, _ schema: SchemaState,
        _ view: Snapshot
    ) throws(MakoError) -> [T] {
        let keys = rows.keys
        var objects: [T?]
        if let before {
            guard let difference else { return before }
            objects = difference.origins?.map { $0 < 0 ? nil : before[$0] } ?? before
            for place in difference.updates { objects[place] = nil }
        } else {
            objects = Array(repeating: nil, count: keys.count)
        }
        let places = objects.indices.filter { objects[$0] == nil }
        let context = binding.fetchContext(view, schema)
        let found = try database.objects(T.self, keys: places.map { keys[$0] }, context: context)
        guard found.objects.count == places.count else {
            throw .damaged(reason: "a row of \(T.entityModel.name) that was found is not there")
        }
        for (place, object) in zip(places, found.objects) { objects[place] = object }
        context?.note(results: found.objects)
        try query.follow(found.objects, database, view, schema, context)
        return objects.compactMap { $0 }
    }
}

/// The commits that a live query has not processed yet.
final class LiveMailbox: Sendable {
    /// The most changed rows that the mailbox holds; beyond it the query runs again instead.
    private static let limit = 1 << 16

    struct Mail {
        var commits: [CommitChanges] = []
        /// Whether no commit was dropped.
        var isComplete = true
        /// Whether there are more commits, which the snapshot does not show.
        var isBehind = false
    }

    private struct State {
        var mail = Mail()
        var count = 0
        /// Of the dropped commits the one that snapshots show last.
        var lastLeftOut: CommitChanges?
        /// A snapshot that shows commits which the hub may deliver later; 0: none.
        var dropsUpTo: UInt64 = 0
        /// The tables of the query; nil: all.
        var tables: Set<String>?
        /// True at first: the first results need no commit.
        var isDue = true
        var isFinished = false
        var reader: CheckedContinuation<Bool, Never>?
    }
    private let state = Guarded(State())

    func put(_ commit: CommitChanges) {
        let reader = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            if commit.isShown(by: state.dropsUpTo) { return nil }
            guard commit.covers(state.tables) else {
                LiveMailbox.drop(commit, &state)
                return LiveMailbox.due(&state)
            }
            if commit.changes.isEmpty { return nil }
            if let tables = state.tables, !commit.changes.tableNames.contains(where: { tables.contains($0) }) {
                return nil
            }
            state.count += commit.changes.count
            if state.count > LiveMailbox.limit {
                LiveMailbox.drop(commit, &state)
            } else {
                state.mail.commits.append(commit)
            }
            return LiveMailbox.due(&state)
        }
        reader?.resume(returning: true)
    }

    /// Forgets the changes, so that the query runs again.
    func forget() {
        state.withLock { state in
            // Every snapshot shows this commit.
            LiveMailbox.drop(CommitChanges(base: 0, ChangeSet()), &state)
            state.count = 0
        }
    }

    /// Drops all commits. Commits may arrive in another order than that of their numbers, and the query must run again
    /// when a snapshot shows all that were dropped: so the highest one is the last.
    private static func drop(_ commit: CommitChanges, _ state: inout State) {
        let dropped = state.mail.commits + [commit]
        state.lastLeftOut = dropped.reduce(state.lastLeftOut) { last, commit in
            if let last, last.base >= commit.base { last } else { commit }
        }
        state.mail = Mail(commits: [], isComplete: false)
    }

    /// Wakes the reader though there is no new commit.
    func wake() {
        let reader = state.withLock { LiveMailbox.due(&$0) }
        reader?.resume(returning: true)
    }

    private static func due(_ state: inout State) -> CheckedContinuation<Bool, Never>? {
        state.isDue = true
        defer { state.reader = nil }
        if state.reader != nil { state.isDue = false }
        return state.reader
    }

    func finish() {
        let reader = state.withLock { state in
            state.isFinished = true
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume(returning: false)
    }

    /// The tables of the query; nil: all.
    var tables: Set<String>? { state.withLock { $0.tables } }

    func watch(_ tables: Set<String>?) { state.withLock { $0.tables = tables } }

    /// Waits for work; false: the database was closed, or the task cancelled.
    func hasMail() async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = state.withLock { state in
                    if state.isFinished || Task.isCancelled || state.reader != nil { return false }
                    if state.isDue {
                        state.isDue = false
                        return true
                    }
                    state.reader = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let reader = state.withLock { state in
                defer { state.reader = nil }
                return state.reader
            }
            reader?.resume(returning: false)
        }
    }

    /// Takes the commits that the snapshot with this number shows.
    ///
    /// - Parameter dropsLate: whether those that arrive before the next call are dropped.
    func take(upTo number: UInt64, dropsLate: Bool) -> Mail {
        state.withLock { state in
            state.dropsUpTo = dropsLate ? number : 0
            if let last = state.lastLeftOut {
                // The changes stay incomplete until a snapshot shows the last dropped commit.
                if last.isShown(by: number) {
                    // Later commits may be complete in the mailbox, but not shown by the snapshot yet.
                    let kept = state.mail.commits.filter { !$0.isShown(by: number) }
                    (state.mail, state.lastLeftOut) = (Mail(commits: kept), nil)
                    state.count = kept.reduce(0) { $0 + $1.changes.count }
                    return Mail(commits: [], isComplete: false, isBehind: !kept.isEmpty)
                }
                return Mail(isBehind: true)
            }
            var taken = Mail()
            var kept: [CommitChanges] = []
            for commit in state.mail.commits {
                if commit.isShown(by: number) { taken.commits.append(commit) } else { kept.append(commit) }
            }
            state.mail.commits = kept
            state.count = kept.reduce(0) { $0 + $1.changes.count }
            taken.isBehind = !kept.isEmpty
            return taken
        }
    }
}
