import Foundation
import MakoRecords
import MakoStorage

/// Objects that share what is committed: when one of them is saved, by whomever and whatever instance, the others that stand for the same
/// row take its values over, before any handler is told.
///
/// ```swift
/// let screen = ObjectDomain(db)
/// let list = try Person.query().orderBy(\.name).domain(screen).fetch()
/// let detail = try Person.find(42)
/// screen.add(detail)              // what detail commits shows in the list
/// ```
///
/// An object that has changes of its own which are not committed keeps all its values. Objects are held weakly; those outside
/// the domain, or in another one, are left alone. The domain works as long as somebody holds it. What entities commit that raise no events is not
/// shared.
public final class ObjectDomain: Sendable {
    private struct Member {
        weak var object: (any ObjectEntity)?
    }

    private final class Members: Sendable {
        private let byRow = Protected<(members: [EventHub.Identity: [Member]], sweepAt: Int)>(([:], 1024))

        func add(_ object: any ObjectEntity, _ row: EventHub.Identity) {
            byRow.with { state in
                var members = state.members[row, default: []].filter { $0.object != nil && $0.object !== object }
                members.append(Member(object: object))
                state.members[row] = members
                guard state.members.count >= state.sweepAt else { return }
                state.members = state.members.filter { $0.value.contains { $0.object != nil } }
                state.sweepAt = max(1024, 2 * state.members.count)
            }
        }

        func objects(of row: EventHub.Identity) -> [any ObjectEntity] {
            byRow.with { $0.members[row]?.compactMap(\.object) ?? [] }
        }

        /// Those of some tables; nil: all.
        func objects(ofTables tables: Set<String>?) -> [any ObjectEntity] {
            byRow.with { state in
                state.members.filter { tables?.contains($0.key.table) ?? true }.flatMap {
                    $0.value.compactMap(\.object)
                }
            }
        }
    }

    private let members = Members()
    private let subscription: EventSubscription
    private let database: UInt32

    /// Makes a domain without objects.
    public init(_ database: Database) {
        let members = members
        self.database = database.number
        subscription = EventSubscription(
            database.hub,
            EventHub.Watcher(
                table: nil, comesFirst: true,
                deliver: { events, base, database in
                    for event in events where event.kind != .delete {
                        let row = EventHub.Identity(table: event.table, key: event.key)
                        for object in members.objects(of: row) { database.takeOver(object, after: base) }
                    }
                },
                miss: { tables, base, database in
                    for object in members.objects(ofTables: tables) { database.takeOver(object, after: base) }
                }, finish: {}))
    }

    /// Lets an object share what is committed, from now on. One without a row, or of another database, is left alone.
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
    /// The objects of the results will be members of a domain.
    public func domain(_ domain: ObjectDomain) -> Query {
        var copy = self
        copy.domain = domain
        return copy
    }
}

extension Database {
    /// Reads an object's row as a commit left it, or a later one, unless the object has changes of its own.
    ///
    /// - Parameter base: the number of the commit before.
    func takeOver(_ object: some ObjectEntity, after base: UInt64) {
        let type = type(of: object)
        guard let key = object.storedKey, isClean(object) else { return }
        do throws(MakoError) {
            guard let fresh = try stored(type, key, after: base) else { return }
            let isTaken = ObjectLock(object).locked {
                // Somebody may have assigned to it meanwhile.
                guard object._$state.dirty == 0 else { return false }
                object.adoptValues(of: fresh)
                return true
            }
            if isTaken { object.tellObservers() }
            if isTaken && type._$hooks.contains(.didLoad) { _ = object._$call(.didLoad) }
        } catch {
            // Nobody asked: it is kept where lazy loads keep theirs.
            LazyLoad.failed(error, owner: object)
        }
    }

    private func isClean(_ object: some ObjectEntity) -> Bool {
        object.lockedState { $0.dirty == 0 }
    }

    /// Not in a scope of this thread, which may show an older state.
    private func stored<T: ObjectEntity>(_ type: T.Type, _ key: RowKey, after base: UInt64) throws(MakoError) -> T? {
        var (view, schema) = try moment(type.entityModel)
        // A commit that waits for nothing is told before it is shown.
        var patience = 1000
        while view.commitNumber <= base, patience > 0 {
            patience -= 1
            Thread.sleep(forTimeInterval: 0.001)
            (view, schema) = try moment(type.entityModel)
        }
        let scope = ThreadScope(
            database: self, transaction: nil, view: view, schema: schema, outer: ThreadScope.current)
        return try ThreadScope.with(scope) { () throws(MakoError) in
            try foundRow(type.entityModel, key: key, context: nil)?.untoldObject(type, isRefresh: true)
        }
    }
}
