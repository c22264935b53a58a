import MakoStorage

/// A unit of work: objects that one later commit saves and removes together.
///
/// ```swift
/// let work = Workspace(db)
/// work.add(ada)
/// work.remove(bob)
/// try work.commit()          // both or neither
/// ```
///
/// Adding an object writes nothing; ``commit()`` saves its property values at that time.
public final class Workspace: Sendable {
    private struct State {
        var order: [ObjectIdentifier] = []
        var saved: [ObjectIdentifier: any ObjectEntity] = [:]
        var removed: [ObjectIdentifier: any ObjectEntity] = [:]

        /// The first marked object.
        var first: (any ObjectEntity)? { order.first.flatMap { saved[$0] ?? removed[$0] } }
    }
    private let database: Database?
    private let state = Guarded(State())

    /// Creates a workspace.
    ///
    /// - Parameter database: the database to commit to; nil: that of the first object, or the current one.
    public init(_ database: Database? = nil) { self.database = database }

    /// Marks an object to be saved, and no longer removed.
    public func add(_ object: some ObjectEntity) {
        state.withLock { state in
            let identity = ObjectIdentifier(object)
            if state.removed.removeValue(forKey: identity) == nil && state.saved[identity] == nil {
                state.order.append(identity)
            }
            state.saved[identity] = object
        }
    }

    /// Marks an object to be removed, and no longer saved.
    public func remove(_ object: some ObjectEntity) {
        state.withLock { state in
            let identity = ObjectIdentifier(object)
            if state.saved.removeValue(forKey: identity) == nil && state.removed[identity] == nil {
                state.order.append(identity)
            }
            state.removed[identity] = object
        }
    }

    /// Returns whether the object is marked to be saved or removed.
    public func contains(_ object: some ObjectEntity) -> Bool {
        state.withLock { $0.saved[ObjectIdentifier(object)] != nil || $0.removed[ObjectIdentifier(object)] != nil }
    }

    /// Whether no object is marked.
    public var isEmpty: Bool { state.withLock { $0.order.isEmpty } }

    /// Removes all marks; the objects do not change.
    public func discard() { state.withLock { $0 = State() } }

    /// Saves and removes the marked objects in one transaction, in the order in which they were marked, and empties the
    /// workspace.
    ///
    /// - Throws: errors of saving and removing; `MakoError.vetoed` when a hook refused. Nothing has changed then, and
    ///   the marks remain.
    public func commit() throws(MakoError) {
        if let database = try target() { try commit(in: database) }
    }

    /// The database to commit to; nil: the workspace is empty.
    func target() throws(MakoError) -> Database? {
        guard let first = state.withLock({ $0.first }) else { return nil }
        if let database { return database }
        return try Database.resolve(number: first.lockedState { $0.database }, for: type(of: first).entityModel)
    }

    func commit(in database: Database) throws(MakoError) {
        // Objects marked meanwhile, by another thread or a hook, wait for the next commit.
        let work = state.withLock { state in
            defer { state = State() }
            return state
        }
        do throws(MakoError) { try perform(work, in: database) } catch {
            restoreMarks(work)
            throw error
        }
        // The transaction around this commit may still be rolled back.
        if let transaction = ThreadScope.current(of: database)?.transaction, let first = work.first {
            transaction.undo.record(first) { self.restoreMarks(work) }
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

    /// Restores the marks of a failed commit, before later marks and unless a later mark replaces them.
    private func restoreMarks(_ work: State) {
        state.withLock { state in
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
    // async
    /// Fetches the objects and marks them to be saved.
    public func fetch(into workspace: Workspace) throws(MakoError) -> Results<T> {
        let found = try fetch()
        for object in found { workspace.add(object) }
        return found
    }
}
