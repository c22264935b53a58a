import MakoRecords
import MakoStorage

/// A set of objects that share committed values: after a commit of a row, the domain's other objects of that row take
/// over its values, before any handler is called.
///
/// ```swift
/// let screen = ObjectDomain(db)
/// let list = try Person.query().orderBy(\.name).domain(screen).fetch()
/// let detail = try Person.find(42)
/// screen.add(detail)              // what detail commits shows in the list
/// ```
///
/// An object with uncommitted changes keeps all its values. An object that is saved under another key stays in the
/// domain, with its new row. The domain holds its objects weakly and does not change objects outside it. It works until
/// it is released. Commits of entities that raise no events are not shared.
public final class ObjectDomain: Sendable {
    private struct Member {
        weak var object: (any ObjectEntity)?
    }

    private final class Members: Sendable {
        private struct State {
            var members: [EventHub.Identity: [Member]] = [:]
            /// The row of each member; entries of released objects stay until the next sweep.
            var rows: [ObjectIdentifier: EventHub.Identity] = [:]
            var sweepAt = 1024

            mutating func remove(_ object: any ObjectEntity, _ row: EventHub.Identity) {
                members[row]?.removeAll { $0.object == nil || $0.object === object }
                if members[row]?.isEmpty == true { members[row] = nil }
            }

            mutating func sweep() {
                members = members.filter { $0.value.contains { $0.object != nil } }
                let objects = Set(members.values.joined().compactMap { $0.object.map(ObjectIdentifier.init) })
                rows = rows.filter { objects.contains($0.key) }
                sweepAt = max(1024, 2 * members.count)
            }
        }

        private let state = Guarded(State())

        func add(_ object: any ObjectEntity, _ row: EventHub.Identity) {
            state.withLock { state in
                state.remove(object, row)
                state.members[row, default: []].append(Member(object: object))
                state.rows[ObjectIdentifier(object)] = row
                if state.rows.count >= state.sweepAt { state.sweep() }
            }
        }

        func objects(of row: EventHub.Identity) -> [any ObjectEntity] {
            state.withLock { $0.members[row]?.compactMap(\.object) ?? [] }
        }

        /// Moves a member that was saved under another key to the row of that key.
        func follow(_ object: any ObjectEntity, to row: EventHub.Identity) {
            let former = state.withLock { $0.rows[ObjectIdentifier(object)] }
            // The key of an object that was saved several times in a transaction is the last one.
            guard let former, former != row, former.table == row.table, object.storedKey == row.key,
                objects(of: former).contains(where: { $0 === object })
            else { return }
            state.withLock { $0.remove(object, former) }
            add(object, row)
        }

        /// The objects of some tables; nil: of all tables.
        func objects(ofTables tables: Set<String>?) -> [any ObjectEntity] {
            state.withLock { state in
                state.members.filter { tables?.contains($0.key.table) ?? true }.flatMap {
                    $0.value.compactMap(\.object)
                }
            }
        }
    }

    private let members = Members()
    private let subscription: EventSubscription
    private let database: UInt32

    /// Creates a domain without objects.
    public init(_ database: Database) {
        let members = members
        self.database = database.number
        subscription = EventSubscription(
            database.hub,
            EventHub.Watcher(
                table: nil, comesFirst: true,
                deliver: { events, base, database in
                    for event in events {
                        let row = EventHub.Identity(table: event.table, key: event.key)
                        if event.kind == .delete { continue }
                        if let object = event.object { members.follow(object, to: row) }
                        for object in members.objects(of: row) { database.takeOver(object, after: base) }
                    }
                },
                miss: { tables, base, database in
                    for object in members.objects(ofTables: tables) { database.takeOver(object, after: base) }
                }, finish: {}))
    }

    /// Adds an object, which takes over committed values from now on. Ignores an object without a row, or of another
    /// database.
    public func add<T: ObjectEntity>(_ object: T) {
        guard let key = object.storedKey, object.lockedState({ $0.database }) == database else { return }
        members.add(object, EventHub.Identity(table: type(of: object).entityModel.table, key: key))
    }
}

extension ObjectDomain {
    func add<T: Entity>(all objects: [T]) {
        for case let object as any ObjectEntity in objects { add(object) }
    }
}

extension Query where T: ObjectEntity {
    /// Adds the objects of the result to a domain.
    public func domain(_ domain: ObjectDomain) -> Query {
        var copy = self
        copy.domain = domain
        return copy
    }
}

extension Database {
    /// Reloads an object from a snapshot that includes a commit, unless the object has uncommitted changes.
    ///
    /// - Parameter base: the number of the previous commit.
    func takeOver(_ object: some ObjectEntity, after base: UInt64) {
        let type = type(of: object)
        guard let key = object.storedKey, isClean(object) else { return }
        do throws(MakoError) {
            guard let fresh = try stored(type, key, after: base) else { return }
            let isTaken = ObjectLock(object).locked {
                // Another thread may have assigned to the object since the check above.
                guard object._$state.dirty.isEmpty else { return false }
                object.adoptValues(of: fresh)
                return true
            }
            if isTaken { object.notifyObservers() }
            if isTaken && type._$hooks.contains(.didLoad) { _ = object._$call(.didLoad) }
        } catch {
            // No caller can receive the error: it is recorded like that of a lazy load.
            LazyLoad.failed(error, owner: object)
        }
    }

    private func isClean(_ object: some ObjectEntity) -> Bool {
        object.lockedState { $0.dirty.isEmpty }
    }

    /// Reads the row outside this thread's scope, whose snapshot may be older.
    private func stored<T: ObjectEntity>(_ type: T.Type, _ key: RowKey, after base: UInt64) throws(MakoError) -> T? {
        var (view, schema) = try moment(type.entityModel)
        if view.commitNumber <= base {
            // A commit with async durability notifies before it is visible to snapshots.
            try storage { () throws(StorageError) in try store.publishCommits() }
            (view, schema) = try moment(type.entityModel)
        }
        let scope = ThreadScope(
            database: self, transaction: nil, view: view, schema: schema, outer: ThreadScope.current)
        return try ThreadScope.with(scope) { () throws(MakoError) in
            try foundRow(type.entityModel, key: key, context: nil)?.objectWithoutLoadHook(type, isRefresh: true)
        }
    }
}
