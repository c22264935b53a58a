import MakoRecords

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
/// the domain, or in another one, are left alone. The domain works as long as somebody holds it.
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
    }

    private let members = Members()
    private let subscription: EventSubscription

    /// Makes a domain without objects.
    public init(_ database: Database) {
        let members = members
        subscription = EventSubscription(
            database.hub,
            EventHub.Watcher(
                table: nil, comesFirst: true,
                deliver: { events, database in
                    for event in events where event.kind != .delete {
                        let row = EventHub.Identity(table: event.table, key: event.key)
                        for object in members.objects(of: row) where object !== event.object {
                            database.takeOver(object)
                        }
                    }
                }, finish: {}))
    }

    /// Lets an object share what is committed, from now on. One without a row is left alone.
    public func add<T: ObjectEntity>(_ object: T) {
        guard let key = object.storedKey else { return }
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
    /// Reads an object's row anew, unless the object has changes of its own.
    func takeOver(_ object: some ObjectEntity) {
        if object.lockedState({ $0.dirty != 0 }) && !sabotaged("takenOverUnsaved") { return }
        do throws(MakoError) { try refresh(object) } catch {
            // Nobody asked: a row that is gone again is no failure, anything else is kept where lazy loads keep theirs.
            if case .notFound = error { return }
            LazyLoad.failed(error, owner: object)
        }
    }
}
