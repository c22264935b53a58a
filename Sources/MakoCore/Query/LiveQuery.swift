import Dispatch
import MakoRecords
import MakoStorage

/// One iteration of a live query: what commits did gathers in its mailbox, and whoever asks for the next difference works it off.
///
/// What is shown must be the state of one commit. A snapshot may show commits of which the mailbox does not know yet; so the snapshot comes
/// first, then it is made sure that everything before it has been told, and then as much of the mailbox is taken as the snapshot shows.
final class LiveQuery<T: Entity>: Sendable {
    private struct State {
        var rows: LiveRows?
        var objects: [T] = []
        var schema = -1
        /// Taken, and waiting for what it shows to be told.
        var view: (snapshot: Snapshot, schema: SchemaState)?
        /// How many milliseconds to wait before looking again for a commit that is not shown yet.
        var patience = 1
    }

    private enum Step: Sendable {
        case changed(QueryDifference<T>)
        case same
        /// Commits before this ticket have not been told yet.
        case waits(Int)
    }

    private let query: Query<T>
    private let database: Database
    private let mailbox = LiveMailbox()
    private let follower: Int
    // Used by one caller after the other; the lock is for those who copy an iterator.
    private let state = Protected(State())

    init(_ query: Query<T>, _ database: Database) throws(MakoError) {
        self.query = query
        self.database = database
        try database.requireOpen()
        let mailbox = mailbox
        follower = database.hub.add(
            EventHub.Follower(
                tables: { mailbox.tables }, tell: { mailbox.put($0) }, finish: { mailbox.finish() }))
    }

    deinit { database.hub.removeFollower(follower) }

    func next() async throws(MakoError) -> QueryDifference<T>? {
        while await mailbox.hasMail() {
            let step: Step
            do throws(MakoError) {
                step = try await database.onOwnThread(writes: false) { () throws(MakoError) in try self.step() }
            } catch {
                if case .cancelled = error { return nil }
                if case .closed = error, mailbox.isFinished { return nil }
                throw error
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

    private func step() throws(MakoError) -> Step {
        try state.with { (state) throws(MakoError) -> Step in
            if state.view == nil {
                // Only the first look may make the table.
                if state.rows == nil { try query.prepareJoins(database) }
                // A type that does not fit what another process has made of its table says so itself.
                let isBound = state.rows == nil || database.options.readOnly
                let moment = try isBound ? database.moment(T.entityModel) : database.moment()
                state.view = (moment.view, moment.schema)
                if let ticket = database.hub.unfollowedTicket { return .waits(ticket) }
            }
            guard let (view, schema) = state.view else { return .same }
            state.view = nil
            let mail = mailbox.take(upTo: view.commitNumber)
            // A commit that waits for nothing is told before it is shown.
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
                difference = rows.difference(from: before, mail.isComplete ? changes : nil)
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

    /// The objects of the rows: those of before where nothing changed, the others read together.
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
        guard found.count == places.count else {
            throw .damaged(reason: "a row of \(T.entityModel.name) that was found is not there")
        }
        for (place, each) in zip(places, found) { objects[place] = each.object }
        context?.note(results: found.map(\.object))
        try query.follow(found.map(\.object), database, view, schema, context)
        return objects.compactMap { $0 }
    }
}

/// What commits did that a live query has not worked off yet.
final class LiveMailbox: Sendable {
    /// So many changed rows are kept; then the query is run again instead.
    private static let limit = 1 << 16

    struct Mail {
        var commits: [CommitChanges] = []
        /// Whether nothing was left out.
        var isComplete = true
        /// Whether there is more, which the snapshot does not show.
        var isBehind = false
    }

    private struct State {
        var mail = Mail()
        var count = 0
        /// The last of the commits that were left out.
        var lastLeftOut: CommitChanges?
        /// The tables that count; nil: all.
        var tables: Set<String>?
        /// The first results are asked for without a commit.
        var isDue = true
        var isFinished = false
        var reader: CheckedContinuation<Bool, Never>?
    }
    private let state = Protected(State())

    func put(_ commit: CommitChanges) {
        let reader = state.with { state -> CheckedContinuation<Bool, Never>? in
            guard commit.covers(state.tables) else {
                state.mail = Mail(commits: [], isComplete: false)
                state.lastLeftOut = commit
                return LiveMailbox.due(&state)
            }
            if commit.changes.isEmpty { return nil }
            if let tables = state.tables, !commit.changes.tableNames.contains(where: { tables.contains($0) }) {
                return nil
            }
            state.count += commit.changes.count
            if state.count > LiveMailbox.limit {
                state.mail = Mail(commits: [], isComplete: false)
                state.lastLeftOut = commit
            } else {
                state.mail.commits.append(commit)
            }
            return LiveMailbox.due(&state)
        }
        reader?.resume(returning: true)
    }

    /// There is something to be done though nobody wrote.
    func wake() {
        let reader = state.with { LiveMailbox.due(&$0) }
        reader?.resume(returning: true)
    }

    private static func due(_ state: inout State) -> CheckedContinuation<Bool, Never>? {
        state.isDue = true
        defer { state.reader = nil }
        if state.reader != nil { state.isDue = false }
        return state.reader
    }

    func finish() {
        let reader = state.with { state in
            state.isFinished = true
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume(returning: false)
    }

    var isFinished: Bool { state.with { $0.isFinished } }

    /// The tables that count; nil: all.
    var tables: Set<String>? { state.with { $0.tables } }

    func watch(_ tables: Set<String>?) { state.with { $0.tables = tables } }

    /// Waits until there is something to be done; false: the database was closed, or the task cancelled.
    func hasMail() async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = state.with { state in
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
            let reader = state.with { state in
                defer { state.reader = nil }
                return state.reader
            }
            reader?.resume(returning: false)
        }
    }

    /// What a snapshot of a number shows.
    func take(upTo number: UInt64) -> Mail {
        state.with { state in
            if let last = state.lastLeftOut {
                // What was left out stays unknown until a snapshot shows all of it.
                if last.isShown(by: number) {
                    // Behind it others may have come in whole, which the snapshot does not show yet.
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
