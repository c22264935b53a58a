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
        let changedProperties: [String]
        let object: (any ObjectEntity)?
    }

    /// A watcher: which table (nil: all) and what to do with the events of one commit.
    struct Watcher: Sendable {
        let table: String?
        let deliver: @Sendable ([Event], Database) -> Void
        let finish: @Sendable () -> Void
    }

    private struct Batch {
        let events: [Event]
        let database: Database
    }

    private struct State {
        var watchers: [Int: Watcher] = [:]
        var nextID = 0
        var nextTicket = 0
        /// The ticket whose turn it is to be told.
        var turn = 0
        var waiting: [Int: Batch?] = [:]
        var isTelling = false
        var isFinished = false
    }
    private let state = Protected(State())
    /// How many watchers there are: none is what each save and each commit asks first.
    private let watcherCount = Atomic<Int>(0)

    // MARK: - Watching

    func add(_ watcher: Watcher) -> Int {
        state.with { state in
            state.nextID += 1
            state.watchers[state.nextID] = watcher
            watcherCount.store(state.watchers.count, ordering: .relaxed)
            return state.nextID
        }
    }

    func remove(_ id: Int) {
        // The watcher may own what its release frees: that happens outside the lock.
        let removed = state.with { state in
            defer { watcherCount.store(state.watchers.count, ordering: .relaxed) }
            return state.watchers.removeValue(forKey: id)
        }
        withExtendedLifetime(removed) {}
    }

    func isWatched(_ model: EntityModel) -> Bool {
        if watcherCount.load(ordering: .relaxed) == 0 { return false }
        return state.with { state in
            state.watchers.values.contains { $0.table == nil || $0.table == model.table }
        }
    }

    /// The database closes: streams end.
    func finish() {
        let watchers = state.with { state in
            defer {
                state.watchers = [:]
                watcherCount.store(0, ordering: .relaxed)
                state.isFinished = true
            }
            return Array(state.watchers.values)
        }
        for watcher in watchers { watcher.finish() }
    }

    // MARK: - Telling

    /// Taken while the writer's turn is held, so that tickets are in the order of commits. Nil: nobody watches.
    func takeTicket() -> Int? {
        if watcherCount.load(ordering: .relaxed) == 0 { return nil }
        return state.with { state in
            state.nextTicket += 1
            return state.nextTicket - 1
        }
    }

    func cancel(_ ticket: Int?) {
        if let ticket { enqueue(ticket, nil) }
    }

    func publish(
        _ ticket: Int?, _ changes: ChangeSet, _ schema: SchemaState, _ objects: [Identity: any ObjectEntity],
        _ silent: Set<Identity>, _ database: Database
    ) {
        guard let ticket else { return }
        let isWatched = state.with { !$0.watchers.isEmpty }
        guard isWatched, !changes.isEmpty else { return enqueue(ticket, nil) }
        let events = changes.changes.compactMap { change -> Event? in
            let row = Identity(table: change.table, key: change.key)
            let binding = schema.binding(ofTable: change.table)
            let isSilent = silent.contains(row) || binding?.model.raisesEvents == false
            if isSilent && !sabotaged("silentRowsTold") { return nil }
            let kind: ChangeKind =
                switch change.kind {
                case .insert: .insert
                case .update: .update
                case .delete: .delete
                }
            let columns =
                schema.catalogue.table(named: change.table).map { change.changedColumns.names(in: $0.schema) } ?? []
            let names = binding.map { binding in
                columns.compactMap { column in binding.model.columns.first { $0.column == column }?.name }
            }
            // An object that has another key by now does not stand for this row any more.
            let object = objects[row]
            let stands = object.map { $0.lockedState { $0.key } == change.key } ?? false
            return Event(
                table: change.table, key: change.key, kind: kind, changedProperties: names ?? columns,
                object: stands ? object : nil)
        }
        enqueue(ticket, Batch(events: events, database: database))
    }

    private func enqueue(_ ticket: Int, _ batch: Batch?) {
        state.with { $0.waiting[ticket] = .some(batch) }
        while true {
            let next: (batch: Batch?, watchers: [Watcher])? = state.with { state in
                // One thread at a time tells; it goes on with what others put behind it.
                guard !state.isTelling, let batch = state.waiting.removeValue(forKey: state.turn) else { return nil }
                state.turn += 1
                state.isTelling = true
                return (batch, batch == nil ? [] : state.watchers.sorted { $0.key < $1.key }.map(\.value))
            }
            guard let next else { return }
            if let batch = next.batch {
                for watcher in next.watchers {
                    let events = batch.events.filter {
                        (watcher.table == nil || watcher.table == $0.table)
                            && !(sabotaged("deletionsNotTold") && $0.kind == .delete)
                    }
                    if !events.isEmpty { watcher.deliver(events, batch.database) }
                }
            }
            state.with { $0.isTelling = false }
        }
    }
}
