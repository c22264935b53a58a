import MakoRecords
import MakoStorage
import Synchronization

/// Delivers the changes of transactions to watchers: after the commit, without any lock, in commit order.
final class EventHub: Sendable {
    struct Identity: Hashable, Sendable {
        let table: String
        let key: RowKey
    }

    /// One change of one row.
    struct Event: Sendable {
        let table: String
        let key: RowKey
        let kind: ChangeKind
        let changedColumns: [String]
        /// The property names that the table's models give `changedColumns`.
        let changedProperties: [String]
        let object: (any ObjectEntity)?
        /// The row before and after the transaction, when a watcher of the table wants values.
        let images: RowImages?
    }

    /// A subscriber to the events of one table (nil: all tables).
    struct Watcher: Sendable {
        let table: String?
        /// Watchers with `comesFirst` are notified before all others.
        var comesFirst = false
        /// Whether the watcher needs row images.
        var wantsValues = false
        /// Receives the events of a commit, the number of the previous commit, and the database.
        let deliver: @Sendable ([Event], UInt64, Database) -> Void
        /// Receives the tables whose individual changes are unknown (nil: all), the number of an earlier commit, and
        /// the database.
        var miss: @Sendable (Set<String>?, UInt64, Database) -> Void = { _, _, _ in }
        let finish: @Sendable () -> Void
    }

    /// A subscriber that keeps a derived result in step with the file. The hub calls `notify` for each commit, in commit
    /// order, while it holds its lock: `notify` must neither block nor call the hub.
    struct Follower: Sendable {
        /// The tables of interest; nil: all.
        let tables: @Sendable () -> Set<String>?
        let notify: @Sendable (CommitChanges) -> Void
        let finish: @Sendable () -> Void
    }

    private struct Batch {
        let events: [Event]
        /// The tables whose individual changes are unknown; nil: all.
        var missed: Set<String>? = []
        let base: UInt64
        let database: Database
    }

    private struct State {
        var watchers: [Int: Watcher] = [:]
        var followers: [Int: Follower] = [:]
        var nextID = 0
        var nextTicket = 0
        /// Followers have processed all commits with lower tickets.
        var followed = 0
        var unfollowed: [Int: CommitChanges?] = [:]
        /// Tasks that wait until followers have processed all commits before a ticket.
        var waiters: [(ticket: Int, continuation: CheckedContinuation<Void, Never>)] = []
        /// The ticket of the next batch to deliver.
        var turn = 0
        var waiting: [Int: Batch?] = [:]
        var isNotifying = false
        var isFinished = false

        var watchersInOrder: [Watcher] {
            watchers.sorted { ($0.value.comesFirst ? 0 : 1, $0.key) < ($1.value.comesFirst ? 0 : 1, $1.key) }.map(
                \.value)
        }
    }
    private let state = Guarded(State())
    /// The number of watchers. Each save and each commit reads it first: at 0 they build no events.
    private let watcherCount = Atomic<Int>(0)
    /// The number of watchers that want values. Each transaction reads it first: at 0 it logs no row images.
    private let valueWatcherCount = Atomic<Int>(0)

    // MARK: - Watching

    func add(_ watcher: Watcher) -> Int {
        state.withLock { state in
            state.nextID += 1
            if state.isFinished { watcher.finish() } else { state.watchers[state.nextID] = watcher }
            count(state)
            return state.nextID
        }
    }

    func remove(_ id: Int) {
        // Releasing the watcher may run deinitializers, so it happens outside the lock.
        let removed = state.withLock { state in
            defer { count(state) }
            return state.watchers.removeValue(forKey: id)
        }
        withExtendedLifetime(removed) {}
    }

    private func count(_ state: borrowing State) {
        watcherCount.store(state.watchers.count, ordering: .relaxed)
        valueWatcherCount.store(state.watchers.values.count(where: \.wantsValues), ordering: .relaxed)
    }

    /// The tables whose watchers want values.
    struct ValueTables {
        /// nil: all tables.
        let names: Set<String>?
    }

    var tablesWithValues: ValueTables? {
        if valueWatcherCount.load(ordering: .relaxed) == 0 { return nil }
        return state.withLock { state in
            let watchers = state.watchers.values.filter(\.wantsValues)
            if watchers.isEmpty { return nil }
            let names = watchers.compactMap(\.table)
            return ValueTables(names: names.count == watchers.count ? Set(names) : nil)
        }
    }

    func add(_ follower: Follower) -> Int {
        state.withLock { state in
            state.nextID += 1
            if state.isFinished { follower.finish() } else { state.followers[state.nextID] = follower }
            return state.nextID
        }
    }

    func removeFollower(_ id: Int) {
        let removed = state.withLock { $0.followers.removeValue(forKey: id) }
        withExtendedLifetime(removed) {}
    }

    var followerCount: Int { state.withLock { $0.followers.count } }

    /// The ticket of the next commit while followers have not processed every commit before it; otherwise nil.
    var unfollowedTicket: Int? {
        state.withLock { $0.followed < $0.nextTicket ? $0.nextTicket : nil }
    }

    /// Waits until followers have processed all commits before a ticket.
    func followed(upTo ticket: Int) async {
        await withCheckedContinuation { continuation in
            let isDone = state.withLock { state in
                if state.followed >= ticket || state.isFinished { return true }
                state.waiters.append((ticket, continuation))
                return false
            }
            if isDone { continuation.resume() }
        }
    }

    /// Whether there is a watcher of any table.
    var hasWatchers: Bool { watcherCount.load(ordering: .relaxed) != 0 }

    func isWatched(_ model: EntityModel) -> Bool {
        if !hasWatchers { return false }
        return state.withLock { state in
            state.watchers.values.contains { $0.table == nil || $0.table == model.table }
        }
    }

    /// Ends all sequences and waits; called when the database closes.
    func finish() {
        let (watchers, followers, waiters) = state.withLock { state in
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

    // MARK: - Delivery

    /// Returns the ticket of a commit. The caller holds the writer lock, so that tickets are in commit order. Every
    /// commit takes one, because a follower may subscribe between the commit and its publication.
    func takeTicket() -> Int {
        state.withLock { state in
            state.nextTicket += 1
            return state.nextTicket - 1
        }
    }

    func cancel(_ ticket: Int) {
        follow(ticket, nil)
        enqueue(ticket, nil)
    }

    /// The tables that watchers or followers subscribe to; nil: all.
    var wantedTables: Set<String>? {
        state.withLock { state in
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

    /// Delivers the commits of another process to watchers.
    func publish(_ ticket: Int, _ news: News, _ database: Database) {
        if watcherCount.load(ordering: .relaxed) == 0 { return enqueue(ticket, nil) }
        let events = events(news.changes, news.schema, nil)
        enqueue(ticket, Batch(events: events, missed: news.missed, base: news.base, database: database))
    }

    /// Ends a ticket that followers have processed and that has no events.
    func pass(_ ticket: Int) { enqueue(ticket, nil) }

    /// Delivers the changes of a commit to watchers.
    ///
    /// - Parameters:
    ///   - base: the number of the previous commit.
    ///   - missed: the tables whose individual changes are unknown.
    ///   - pending: what the transaction noted of its rows.
    func publish(
        _ ticket: Int, base: UInt64, _ changes: ChangeSet, missing missed: Set<String>, _ schema: SchemaState,
        _ pending: PendingEvents, _ database: Database
    ) {
        let isSilent = changes.isEmpty && missed.isEmpty
        if isSilent || watcherCount.load(ordering: .relaxed) == 0 { return enqueue(ticket, nil) }
        let events = events(changes, schema, pending)
        enqueue(ticket, Batch(events: events, missed: missed, base: base, database: database))
    }

    private func events(_ changes: ChangeSet, _ schema: SchemaState, _ pending: PendingEvents?) -> [Event] {
        let silent = pending?.silentRows ?? []
        return changes.changes.compactMap { change -> Event? in
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
            // An object whose key changed since does not represent this row any more.
            let object = pending?.objects[row] ?? nil
            let stands = object.map { $0.lockedState { $0.key } == change.key } ?? false
            return Event(
                table: change.table, key: change.key, kind: kind, changedColumns: columns, changedProperties: names,
                object: stands ? object : nil, images: table.flatMap { changes.images(of: change, in: $0) })
        }
    }

    /// Passes a commit to followers, in ticket order. Each ticket is followed, and then published or cancelled.
    func follow(_ ticket: Int, _ commit: @autoclosure () -> CommitChanges?) {
        let done = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            if state.followed == ticket, state.followers.isEmpty, state.unfollowed.isEmpty {
                state.followed += 1
            } else {
                state.unfollowed[ticket] = .some(commit())
            }
            while let next = state.unfollowed.removeValue(forKey: state.followed) {
                state.followed += 1
                if let next { for follower in state.followers.values { follower.notify(next) } }
            }
            if state.waiters.isEmpty { return [] }
            let followed = state.followed
            let done = state.waiters.filter { $0.ticket <= followed }
            state.waiters.removeAll { $0.ticket <= followed }
            return done.map(\.continuation)
        }
        for continuation in done { continuation.resume() }
    }

    /// Passes a commit to followers that is published after commits with later tickets were passed.
    func followLate(_ commit: CommitChanges) {
        state.withLock { state in for follower in state.followers.values { follower.notify(commit) } }
    }

    private func enqueue(_ ticket: Int, _ batch: Batch?) {
        let isPassed = state.withLock { state in
            // The common case: no watcher, and no delivery in progress.
            if batch == nil, state.turn == ticket, !state.isNotifying, state.waiting.isEmpty {
                state.turn += 1
                return true
            }
            state.waiting[ticket] = .some(batch)
            return false
        }
        if isPassed { return }
        while true {
            let next: (batch: Batch?, watchers: [Watcher])? = state.withLock { state in
                // One thread at a time delivers; it also delivers the batches that other threads enqueue meanwhile.
                guard !state.isNotifying, let batch = state.waiting.removeValue(forKey: state.turn) else { return nil }
                state.turn += 1
                state.isNotifying = true
                return (batch, batch == nil ? [] : state.watchersInOrder)
            }
            guard let next else { return }
            if let batch = next.batch {
                for watcher in next.watchers { notify(watcher, batch) }
            }
            state.withLock { $0.isNotifying = false }
        }
    }

    private func notify(_ watcher: Watcher, _ batch: Batch) {
        let events = batch.events.filter { watcher.table == nil || watcher.table == $0.table }
        if !events.isEmpty { watcher.deliver(events, batch.base, batch.database) }
        let misses =
            if let missed = batch.missed { watcher.table.map { missed.contains($0) } ?? !missed.isEmpty } else { true }
        if misses { watcher.miss(batch.missed, batch.base, batch.database) }
    }
}
