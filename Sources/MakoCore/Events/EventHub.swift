import MakoRecords
import Synchronization

/// Tells watchers what transactions did: after the commit, outside every lock, in the order of the commits.
final class EventHub: Sendable {
    struct Identity: Hashable, Sendable {
        let table: String
        let key: RowKey
    }

    /// One change as it goes to watchers.
    struct Event: Sendable {
        let table: String
        let key: RowKey
        let kind: ChangeKind
        let changedColumns: [String]
        /// By the names that the types of the table have for them.
        let changedProperties: [String]
        let object: (any ObjectEntity)?
        /// The row before the transaction and at its end, where a watcher asked for that.
        let images: RowImages?
    }

    /// A watcher: which table (nil: all) and what to do with the events of one commit.
    struct Watcher: Sendable {
        let table: String?
        /// Whether it is told before those that are not.
        var comesFirst = false
        /// Whether it asks for what the rows held before.
        var wantsValues = false
        /// Given the events of a commit, the number of the commit before, and the database.
        let deliver: @Sendable ([Event], UInt64, Database) -> Void
        /// Given the tables of which it is not known what changed (nil: all), the number of a commit before it, and the database.
        var miss: @Sendable (Set<String>?, UInt64, Database) -> Void = { _, _, _ in }
        let finish: @Sendable () -> Void
    }

    /// Somebody who keeps something in step with the file. `tell` is called for each commit, in their order, and must neither wait nor call
    /// the hub.
    struct Follower: Sendable {
        /// The tables that count; nil: all.
        let tables: @Sendable () -> Set<String>?
        let tell: @Sendable (CommitChanges) -> Void
        let finish: @Sendable () -> Void
    }

    private struct Batch {
        let events: [Event]
        /// Tables of which it is not known what changed; nil: all.
        var missed: Set<String>? = []
        let base: UInt64
        let database: Database
    }

    private struct State {
        var watchers: [Int: Watcher] = [:]
        var followers: [Int: Follower] = [:]
        var nextID = 0
        var nextTicket = 0
        /// Followers know of the commits with lower tickets.
        var followed = 0
        var unfollowed: [Int: CommitChanges?] = [:]
        /// Who waits until followers know of all commits before a ticket.
        var waiters: [(ticket: Int, continuation: CheckedContinuation<Void, Never>)] = []
        /// The ticket whose turn it is to be told.
        var turn = 0
        var waiting: [Int: Batch?] = [:]
        var isTelling = false
        var isFinished = false

        var watchersInOrder: [Watcher] {
            watchers.sorted { ($0.value.comesFirst ? 0 : 1, $0.key) < ($1.value.comesFirst ? 0 : 1, $1.key) }.map(
                \.value)
        }
    }
    private let state = Protected(State())
    /// How many watchers there are: none is what each save and each commit asks first.
    private let watcherCount = Atomic<Int>(0)
    /// How many of them ask for values: none is what each transaction asks first.
    private let valueWatcherCount = Atomic<Int>(0)

    // MARK: - Watching

    func add(_ watcher: Watcher) -> Int {
        state.with { state in
            state.nextID += 1
            if state.isFinished { watcher.finish() } else { state.watchers[state.nextID] = watcher }
            count(state)
            return state.nextID
        }
    }

    func remove(_ id: Int) {
        // The watcher may own what its release frees: that happens outside the lock.
        let removed = state.with { state in
            defer { count(state) }
            return state.watchers.removeValue(forKey: id)
        }
        withExtendedLifetime(removed) {}
    }

    private func count(_ state: borrowing State) {
        watcherCount.store(state.watchers.count, ordering: .relaxed)
        valueWatcherCount.store(state.watchers.values.count(where: \.wantsValues), ordering: .relaxed)
    }

    /// The tables of which watchers ask for values; nil: nobody does.
    struct ValueTables {
        /// Nil: all tables.
        let names: Set<String>?
    }

    var tablesWithValues: ValueTables? {
        if valueWatcherCount.load(ordering: .relaxed) == 0 { return nil }
        return state.with { state in
            let watchers = state.watchers.values.filter(\.wantsValues)
            if watchers.isEmpty { return nil }
            let names = watchers.compactMap(\.table)
            return ValueTables(names: names.count == watchers.count ? Set(names) : nil)
        }
    }

    func add(_ follower: Follower) -> Int {
        state.with { state in
            state.nextID += 1
            if state.isFinished { follower.finish() } else { state.followers[state.nextID] = follower }
            return state.nextID
        }
    }

    func removeFollower(_ id: Int) {
        let removed = state.with { $0.followers.removeValue(forKey: id) }
        withExtendedLifetime(removed) {}
    }

    var followerCount: Int { state.with { $0.followers.count } }

    /// The ticket of the next commit where followers do not know yet of every commit before it; nil: they do.
    var unfollowedTicket: Int? {
        state.with { $0.followed < $0.nextTicket ? $0.nextTicket : nil }
    }

    /// Waits until followers know of all commits before a ticket.
    func followed(upTo ticket: Int) async {
        await withCheckedContinuation { continuation in
            let isDone = state.with { state in
                if state.followed >= ticket || state.isFinished { return true }
                state.waiters.append((ticket, continuation))
                return false
            }
            if isDone { continuation.resume() }
        }
    }

    /// Whether anybody watches anything.
    var hasWatchers: Bool { watcherCount.load(ordering: .relaxed) != 0 }

    func isWatched(_ model: EntityModel) -> Bool {
        if !hasWatchers { return false }
        return state.with { state in
            state.watchers.values.contains { $0.table == nil || $0.table == model.table }
        }
    }

    /// The database closes: streams end.
    func finish() {
        let (watchers, followers, waiters) = state.with { state in
            defer {
                state.watchers = [:]
                state.followers = [:]
                state.waiters = []
                count(state)
                state.isFinished = true
            }
            return (Array(state.watchers.values), Array(state.followers.values), state.waiters)
        }
        for watcher in watchers { watcher.finish() }
        for follower in followers { follower.finish() }
        for waiter in waiters { waiter.continuation.resume() }
    }

    // MARK: - Telling

    /// Taken while the writer's turn is held, so that tickets are in the order of commits. Taken for every commit: somebody may begin to
    /// follow between its end and its publication.
    func takeTicket() -> Int {
        state.with { state in
            state.nextTicket += 1
            return state.nextTicket - 1
        }
    }

    func cancel(_ ticket: Int) {
        follow(ticket, nil)
        enqueue(ticket, nil)
    }

    /// The tables of whose changes somebody is told; nil: all.
    var wantedTables: Set<String>? {
        state.with { state in
            var wanted: Set<String> = []
            for watcher in state.watchers.values {
                guard let table = watcher.table else { return nil }
                wanted.insert(table)
            }
            for follower in state.followers.values {
                guard let tables = follower.tables() else { return nil }
                wanted.formUnion(tables)
            }
            return wanted
        }
    }

    /// Tells watchers what the commits of another process did.
    func publish(_ ticket: Int, _ news: News, _ database: Database) {
        if watcherCount.load(ordering: .relaxed) == 0 { return enqueue(ticket, nil) }
        let events = events(news.changes, news.schema, [:], [])
        enqueue(ticket, Batch(events: events, missed: news.missed, base: news.base, database: database))
    }

    /// There is nothing to be told under a ticket that followers know of.
    func pass(_ ticket: Int) { enqueue(ticket, nil) }

    /// - Parameter base: the number of the commit before.
    func publish(
        _ ticket: Int, base: UInt64, _ changes: ChangeSet, _ schema: SchemaState,
        _ objects: [Identity: any ObjectEntity], _ silent: Set<Identity>, _ database: Database
    ) {
        if watcherCount.load(ordering: .relaxed) == 0 || changes.isEmpty { return enqueue(ticket, nil) }
        let events = events(changes, schema, objects, silent)
        enqueue(ticket, Batch(events: events, base: base, database: database))
    }

    private func events(
        _ changes: ChangeSet, _ schema: SchemaState, _ objects: [Identity: any ObjectEntity], _ silent: Set<Identity>
    ) -> [Event] {
        changes.changes.compactMap { change -> Event? in
            let row = Identity(table: change.table, key: change.key)
            let isSilent = silent.contains(row) || !schema.raisesEvents(table: change.table)
            if isSilent { return nil }
            let kind: ChangeKind =
                switch change.kind {
                case .insert: .insert
                case .update: .update
                case .delete: .delete
                }
            let table = schema.catalogue.table(named: change.table)
            let columns = table.map { change.changedColumns.names(in: $0.schema) } ?? []
            let names = schema.propertyNames(ofColumns: columns, inTable: change.table)
            // An object that has another key by now does not stand for this row any more.
            let object = objects[row]
            let stands = object.map { $0.lockedState { $0.key } == change.key } ?? false
            return Event(
                table: change.table, key: change.key, kind: kind, changedColumns: columns, changedProperties: names,
                object: stands ? object : nil, images: table.flatMap { changes.images(of: change, in: $0) })
        }
    }

    /// Tells followers, in the order of tickets. Each ticket is followed, and published or cancelled.
    func follow(_ ticket: Int, _ commit: @autoclosure () -> CommitChanges?) {
        let done = state.with { state -> [CheckedContinuation<Void, Never>] in
            if state.followed == ticket, state.followers.isEmpty, state.unfollowed.isEmpty {
                state.followed += 1
            } else {
                state.unfollowed[ticket] = .some(commit())
            }
            while let next = state.unfollowed.removeValue(forKey: state.followed) {
                state.followed += 1
                if let next { for follower in state.followers.values { follower.tell(next) } }
            }
            if state.waiters.isEmpty { return [] }
            let followed = state.followed
            let done = state.waiters.filter { $0.ticket <= followed }
            state.waiters.removeAll { $0.ticket <= followed }
            return done.map(\.continuation)
        }
        for continuation in done { continuation.resume() }
    }

    private func enqueue(_ ticket: Int, _ batch: Batch?) {
        let isPassed = state.with { state in
            // Mostly nobody watches and nobody is being told.
            if batch == nil, state.turn == ticket, !state.isTelling, state.waiting.isEmpty {
                state.turn += 1
                return true
            }
            state.waiting[ticket] = .some(batch)
            return false
        }
        if isPassed { return }
        while true {
            let next: (batch: Batch?, watchers: [Watcher])? = state.with { state in
                // One thread at a time tells; it goes on with what others put behind it.
                guard !state.isTelling, let batch = state.waiting.removeValue(forKey: state.turn) else { return nil }
                state.turn += 1
                state.isTelling = true
                return (batch, batch == nil ? [] : state.watchersInOrder)
            }
            guard let next else { return }
            if let batch = next.batch {
                for watcher in next.watchers { tell(watcher, batch) }
            }
            state.with { $0.isTelling = false }
        }
    }

    private func tell(_ watcher: Watcher, _ batch: Batch) {
        let events = batch.events.filter { watcher.table == nil || watcher.table == $0.table }
        if !events.isEmpty { watcher.deliver(events, batch.base, batch.database) }
        let misses =
            if let missed = batch.missed { watcher.table.map { missed.contains($0) } ?? !missed.isEmpty } else { true }
        if misses { watcher.miss(batch.missed, batch.base, batch.database) }
    }
}
