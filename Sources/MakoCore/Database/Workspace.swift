/// A unit of work: objects that are to be saved and removed together, later.
///
/// ```swift
/// let work = Workspace(db)
/// work.add(ada)
/// work.remove(bob)
/// try work.commit()          // both or neither
/// ```
///
/// Adding an object writes nothing; its properties are those of the moment of ``commit()``.
public final class Workspace: Sendable {
    private struct State {
        var order: [ObjectIdentifier] = []
        var saved: [ObjectIdentifier: any ObjectEntity] = [:]
        var removed: [ObjectIdentifier: any ObjectEntity] = [:]
    }
    private let database: Database?
    private let state = Protected(State())

    /// - Parameter database: where to commit; that of the first object, or the current one, when nil.
    public init(_ database: Database? = nil) { self.database = database }

    /// The object is to be saved, and no more removed.
    public func add(_ object: some ObjectEntity) {
        state.with { state in
            let identity = ObjectIdentifier(object)
            if state.removed.removeValue(forKey: identity) == nil && state.saved[identity] == nil {
                state.order.append(identity)
            }
            state.saved[identity] = object
        }
    }

    /// The object is to be removed, and no more saved.
    public func remove(_ object: some ObjectEntity) {
        state.with { state in
            let identity = ObjectIdentifier(object)
            if state.saved.removeValue(forKey: identity) == nil && state.removed[identity] == nil {
                state.order.append(identity)
            }
            state.removed[identity] = object
        }
    }

    /// Whether something is to be done with the object.
    public func contains(_ object: some ObjectEntity) -> Bool {
        state.with { $0.saved[ObjectIdentifier(object)] != nil || $0.removed[ObjectIdentifier(object)] != nil }
    }

    public var isEmpty: Bool { state.with { $0.order.isEmpty } }

    /// Forgets what is to be done; the objects stay as they are.
    public func discard() { state.with { $0 = State() } }

    /// Does everything in one transaction, in the order in which the objects came, and begins anew.
    ///
    /// - Throws: what saving and removing throw, `MakoError.vetoed` for a hook's refusal. Nothing has changed then, and everything is still
    ///   to be done.
    public func commit() throws(MakoError) {
        if let database = try target() { try commit(in: database) }
    }

    /// Where to commit what there is; nil: there is nothing.
    func target() throws(MakoError) -> Database? {
        let first: (any ObjectEntity)? = state.with { state in
            state.order.first.flatMap { state.saved[$0] ?? state.removed[$0] }
        }
        guard let first else { return nil }
        if let database { return database }
        return try Database.resolve(number: first.lockedState { $0.database }, for: type(of: first).entityModel)
    }

    func commit(in database: Database) throws(MakoError) {
        // What comes meanwhile, from another thread or a hook, is for the next time.
        let work = state.with { state in
            defer { state = State() }
            return state
        }
        do throws(MakoError) { try perform(work, in: database) } catch {
            takeBack(work)
            throw error
        }
    }

    private func perform(_ work: State, in database: Database) throws(MakoError) {
        try database.allOrNothing { (transaction) throws(MakoError) in
            for identity in work.order {
                if let object = work.saved[identity] { try transaction.saveGraph(of: object) }
                if let object = work.removed[identity] { _ = try transaction.remove(object) }
            }
        }
    }

    /// Puts back what came to nothing, before what was said since and unless that says otherwise.
    private func takeBack(_ work: State) {
        state.with { state in
            let newer = Set(state.order)
            for identity in work.order where !newer.contains(identity) {
                state.saved[identity] = work.saved[identity]
                state.removed[identity] = work.removed[identity]
            }
            state.order = work.order.filter { !newer.contains($0) } + state.order
        }
    }
}

extension Query where T: ObjectEntity {
    /// The objects, which a workspace is to save with what is changed in them.
    public func fetch(into workspace: Workspace) throws(MakoError) -> Results<T> {
        let found = try fetch()
        for object in found { workspace.add(object) }
        return found
    }
}
