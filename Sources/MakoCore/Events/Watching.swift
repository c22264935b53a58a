import Dispatch
import MakoRecords
import MakoStorage

/// A subscription. Its handler is called until the token is cancelled or released.
public final class ChangeToken: Sendable {
    private let ending: Guarded<(@Sendable () -> Void)?>

    init(_ subscription: EventSubscription) { ending = Guarded { subscription.end() } }

    /// - Parameter ending: stops the handler.
    init(_ ending: @escaping @Sendable () -> Void) { self.ending = Guarded(ending) }

    /// Stops the handler.
    public func cancel() {
        let ending = ending.withLock { held in
            defer { held = nil }
            return held
        }
        ending?()
    }

    deinit { cancel() }
}

extension Entity {
    /// Returns the committed changes of this entity's objects; without kinds, inserts, updates and deletes.
    ///
    /// ```swift
    /// for await change in try Person.changes(.insert, .update) { print(change.kind, change.changedProperties) }
    /// ```
    ///
    /// - Parameter withValues: whether changes have the values before and after, see ``ObjectChange/changes``.
    ///   Transactions then keep an image of each row that they change until the change is delivered.
    /// - Parameter database: the database; nil: the current one of the type.
    /// - Parameter kinds: the kinds of changes; none: all.
    /// - Throws: `MakoError.noDatabase` without a database argument and without a current database.
    public static func changes(
        _ kinds: ChangeKind..., withValues: Bool = false, in database: Database? = nil
    ) throws(MakoError) -> ChangeSequence<Self> {
        ChangeSequence(try watched(database), kinds, withValues: withValues)
    }

    /// Calls a handler after each commit that changed objects of this entity, once per object.
    ///
    /// ```swift
    /// let token = try Person.onChange(.update, withValues: true) { change in
    ///     if let age = change.oldValue(of: \.age), let object = change.object { print("\(object.name) was \(age)") }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - withValues: whether changes have the values before and after, see ``ObjectChange/changes``. Transactions
    ///     then keep an image of each row that they change until the change is delivered.
    ///   - queue: the queue that calls the handler; nil: the committing thread, after the transaction.
    ///   - handler: called with each change.
    ///   - kinds: the kinds of changes; none: all.
    ///   - database: the database; nil: the current one of the type.
    /// - Throws: `MakoError.noDatabase` without a database argument and without a current database.
    public static func onChange(
        _ kinds: ChangeKind..., withValues: Bool = false, in database: Database? = nil, on queue: DispatchQueue? = nil,
        _ handler: @escaping @Sendable (ObjectChange<Self>) -> Void
    ) throws(MakoError) -> ChangeToken {
        let wanted = Set(kinds.isEmpty ? [.insert, .update, .delete] : kinds)
        return token(
            try watched(database), Self.self, on: queue, withValues: withValues, { wanted.contains($0.kind) }, handler)
    }

    /// Calls a handler on the main actor after each commit that changed objects of this entity, in commit order.
    ///
    /// ```swift
    /// let token = try Person.onChange(.insert, on: MainActor.shared) { change in list.append(change.object) }
    /// ```
    public static func onChange(
        _ kinds: ChangeKind..., withValues: Bool = false, in database: Database? = nil, on actor: MainActor,
        _ handler: @escaping @MainActor @Sendable (ObjectChange<Self>) -> Void
    ) throws(MakoError) -> ChangeToken {
        let wanted = Set(kinds.isEmpty ? [.insert, .update, .delete] : kinds)
        return token(
            try watched(database), Self.self, on: .main, withValues: withValues, { wanted.contains($0.kind) },
            { change in MainActor.assumeIsolated { handler(change) } })
    }

    private static func watched(_ database: Database?) throws(MakoError) -> Database {
        let database = if let database { database } else { try Database.current(for: entityModel) }
        try database.requireOpen()
        try database.naming.settle([entityModel])
        return database
    }

    fileprivate static func token(
        _ database: Database, _ type: Self.Type, on queue: DispatchQueue?, withValues: Bool,
        _ isWanted: @escaping @Sendable (EventHub.Event) -> Bool,
        _ handler: @escaping @Sendable (ObjectChange<Self>) -> Void,
        prepare: @escaping @Sendable (ChangeKind, UInt64, Database) -> Void = { _, _, _ in }
    ) -> ChangeToken {
        let watcher = EventHub.Watcher(
            table: type.entityModel.table, wantsValues: withValues,
            deliver: { events, base, database in
                // Another type of the table may raise events.
                guard type.entityModel.raisesEvents else { return }
                for event in events where isWanted(event) {
                    prepare(event.kind, base, database)
                    let change: ObjectChange<Self> = event.change(database, type, withValues: withValues)
                    if let queue { queue.async { handler(change) } } else { handler(change) }
                }
            },
            miss: { _, base, database in
                guard type.entityModel.raisesEvents else { return }
                prepare(.missed, base, database)
                if let queue { queue.async { handler(.missed) } } else { handler(.missed) }
            }, finish: {})
        return ChangeToken(EventSubscription(database.hub, watcher))
    }
}

extension ObjectEntity {
    /// Calls a handler after each commit that changed or deleted this object's row, whichever instance was saved.
    ///
    /// - Parameters:
    ///   - refreshing: whether this object takes over the new values before the handler is called, unless it has
    ///     uncommitted changes.
    ///   - withValues: whether changes have the values before and after, see ``ObjectChange/changes``.
    ///   - queue: the queue that calls the handler; nil: the committing thread, after the transaction.
    ///   - handler: called with each change.
    /// - Throws: `MakoError.notFound` for an object that was never committed.
    public func onChange(
        refreshing: Bool = false, withValues: Bool = false, on queue: DispatchQueue? = nil,
        _ handler: @escaping @Sendable (ObjectChange<Self>) -> Void
    ) throws(MakoError) -> ChangeToken {
        guard let database = Database.of(self), let key = storedKey else {
            throw .notFound(entity: Self.entityModel.name, key: "none; commit the object before watching it")
        }
        let type = Swift.type(of: self)
        guard refreshing else {
            return Self.token(database, type, on: queue, withValues: withValues, { $0.key == key }, handler)
        }
        // Captured weakly, because the object may hold the token.
        return Self.token(
            database, type, on: queue, withValues: withValues, { $0.key == key }, handler,
            prepare: { [weak self] kind, base, database in
                if let self, kind != .delete { database.takeOver(self, after: base) }
            })
    }
}

extension ObjectEntity {
    /// Calls a handler on the main actor after each commit that changed or deleted this object's row.
    public func onChange(
        refreshing: Bool = false, withValues: Bool = false, on actor: MainActor,
        _ handler: @escaping @MainActor @Sendable (ObjectChange<Self>) -> Void
    ) throws(MakoError) -> ChangeToken {
        try onChange(refreshing: refreshing, withValues: withValues, on: DispatchQueue.main) { change in
            MainActor.assumeIsolated { handler(change) }
        }
    }
}

extension Database {
    private func onEvent(
        _ kind: ChangeKind, _ withValues: Bool, _ queue: DispatchQueue?,
        _ handler: @escaping @Sendable (DatabaseChange) -> Void
    ) -> ChangeToken {
        let watcher = EventHub.Watcher(
            table: nil, wantsValues: withValues,
            deliver: { events, _, database in
                for event in events where event.kind == kind {
                    let change = event.change(database, withValues: withValues)
                    if let queue { queue.async { handler(change) } } else { handler(change) }
                }
            }, finish: {})
        return ChangeToken(EventSubscription(hub, watcher))
    }

    /// Calls a handler for each row of any entity that a transaction inserted, after its commit.
    ///
    /// - Parameters:
    ///   - withValues: whether changes have the values before and after. Transactions then keep an image of each row
    ///     that they change, of all entities, until the change is delivered.
    ///   - queue: the queue that calls the handler; nil: the committing thread, after the transaction.
    ///   - handler: called with each change.
    public func onInsert(
        withValues: Bool = false, on queue: DispatchQueue? = nil,
        _ handler: @escaping @Sendable (DatabaseChange) -> Void
    ) -> ChangeToken {
        onEvent(.insert, withValues, queue, handler)
    }
    /// Calls a handler on the main actor for each row of any entity that a transaction inserted.
    public func onInsert(
        withValues: Bool = false, on actor: MainActor,
        _ handler: @escaping @MainActor @Sendable (DatabaseChange) -> Void
    ) -> ChangeToken {
        onEvent(.insert, withValues, .main) { change in MainActor.assumeIsolated { handler(change) } }
    }
    /// Calls a handler for each row of any entity that a transaction updated, after its commit.
    ///
    /// ```swift
    /// let token = db.onUpdate(withValues: true) { change in audit(change.entity, change.key, change.changes) }
    /// ```
    ///
    /// - Parameters:
    ///   - withValues: whether changes have the values before and after. Transactions then keep an image of each row
    ///     that they change, of all entities, until the change is delivered.
    ///   - queue: the queue that calls the handler; nil: the committing thread, after the transaction.
    ///   - handler: called with each change.
    public func onUpdate(
        withValues: Bool = false, on queue: DispatchQueue? = nil,
        _ handler: @escaping @Sendable (DatabaseChange) -> Void
    ) -> ChangeToken {
        onEvent(.update, withValues, queue, handler)
    }
    /// Calls a handler on the main actor for each row of any entity that a transaction updated.
    public func onUpdate(
        withValues: Bool = false, on actor: MainActor,
        _ handler: @escaping @MainActor @Sendable (DatabaseChange) -> Void
    ) -> ChangeToken {
        onEvent(.update, withValues, .main) { change in MainActor.assumeIsolated { handler(change) } }
    }
    /// Calls a handler for each row of any entity that a transaction removed, after its commit.
    ///
    /// - Parameters:
    ///   - withValues: whether changes have the values before and after. Transactions then keep an image of each row
    ///     that they change, of all entities, until the change is delivered.
    ///   - queue: the queue that calls the handler; nil: the committing thread, after the transaction.
    ///   - handler: called with each change.
    public func onDelete(
        withValues: Bool = false, on queue: DispatchQueue? = nil,
        _ handler: @escaping @Sendable (DatabaseChange) -> Void
    ) -> ChangeToken {
        onEvent(.delete, withValues, queue, handler)
    }
    /// Calls a handler on the main actor for each row of any entity that a transaction removed.
    public func onDelete(
        withValues: Bool = false, on actor: MainActor,
        _ handler: @escaping @MainActor @Sendable (DatabaseChange) -> Void
    ) -> ChangeToken {
        onEvent(.delete, withValues, .main) { change in MainActor.assumeIsolated { handler(change) } }
    }
}
