import Dispatch
import MakoRecords

/// Keeps a handler of changes alive: it stops when the token goes, or is cancelled.
public final class ChangeToken: Sendable {
    private let ending: Protected<(@Sendable () -> Void)?>

    init(_ subscription: EventSubscription) { ending = Protected { subscription.end() } }

    /// - Parameter ending: what stops the handler.
    init(_ ending: @escaping @Sendable () -> Void) { self.ending = Protected(ending) }

    /// Stops the handler.
    public func cancel() {
        let ending = ending.with { held in
            defer { held = nil }
            return held
        }
        ending?()
    }

    deinit { cancel() }
}

extension Entity {
    /// The changes of this entity's objects as they are committed; every kind when none is named.
    ///
    /// ```swift
    /// for await change in try Person.changes(.insert, .update) { print(change.kind, change.changedProperties) }
    /// ```
    ///
    /// - Throws: `MakoError.noDatabase` when none is given and none is current.
    public static func changes(_ kinds: ChangeKind..., in database: Database? = nil) throws(MakoError)
        -> ChangeSequence<Self>
    {
        let database = try watched(database)
        return ChangeSequence(database, kinds)
    }

    /// Calls a handler after each commit that changed objects of this entity, once per object.
    ///
    /// - Parameter queue: where to call it; on the committing thread, after the transaction, when nil.
    public static func onChange(
        _ kinds: ChangeKind..., in database: Database? = nil, on queue: DispatchQueue? = nil,
        _ handler: @escaping @Sendable (ObjectChange<Self>) -> Void
    ) throws(MakoError) -> ChangeToken {
        let wanted = Set(kinds.isEmpty ? [.insert, .update, .delete] : kinds)
        return token(try watched(database), Self.self, on: queue, { wanted.contains($0.kind) }, handler)
    }

    /// Calls a handler of the main actor after each commit that changed objects of this entity, in the order of the commits.
    ///
    /// ```swift
    /// let token = try Person.onChange(.insert, on: MainActor.shared) { change in list.append(change.object) }
    /// ```
    public static func onChange(
        _ kinds: ChangeKind..., in database: Database? = nil, on actor: MainActor,
        _ handler: @escaping @MainActor @Sendable (ObjectChange<Self>) -> Void
    ) throws(MakoError) -> ChangeToken {
        let wanted = Set(kinds.isEmpty ? [.insert, .update, .delete] : kinds)
        return token(
            try watched(database), Self.self, on: .main, { wanted.contains($0.kind) },
            { change in MainActor.assumeIsolated { handler(change) } })
    }

    private static func watched(_ database: Database?) throws(MakoError) -> Database {
        let database = if let database { database } else { try Database.current(for: entityModel) }
        try database.requireOpen()
        return database
    }

    fileprivate static func token(
        _ database: Database, _ type: Self.Type, on queue: DispatchQueue?,
        _ isWanted: @escaping @Sendable (EventHub.Event) -> Bool,
        _ handler: @escaping @Sendable (ObjectChange<Self>) -> Void,
        prepare: @escaping @Sendable (EventHub.Event, UInt64, Database) -> Void = { _, _, _ in }
    ) -> ChangeToken {
        let watcher = EventHub.Watcher(
            table: type.entityModel.table,
            deliver: { events, base, database in
                // Another type of the table may raise events.
                guard type.entityModel.raisesEvents || sabotaged("silentRowsTold") else { return }
                for event in events where isWanted(event) {
                    prepare(event, base, database)
                    let change: ObjectChange<Self> = event.change(database, type)
                    if let queue { queue.async { handler(change) } } else { handler(change) }
                }
            }, finish: {})
        return ChangeToken(EventSubscription(database.hub, watcher))
    }
}

extension ObjectEntity {
    /// Calls a handler when any instance with this object's key is committed or removed.
    ///
    /// - Parameter refreshing: whether this object takes the new values over, before the handler is called, unless it has changes of its own
    ///   that are not committed.
    public func onChange(
        refreshing: Bool = false, on queue: DispatchQueue? = nil,
        _ handler: @escaping @Sendable (ObjectChange<Self>) -> Void
    ) throws(MakoError) -> ChangeToken {
        guard let database = Database.of(self), let key = storedKey else {
            throw .notFound(entity: Self.entityModel.name, key: "none; commit the object before watching it")
        }
        let type = Swift.type(of: self)
        guard refreshing else { return Self.token(database, type, on: queue, { $0.key == key }, handler) }
        // The token may be kept by the object itself.
        return Self.token(database, type, on: queue, { $0.key == key }, handler) { [weak self] event, base, database in
            if let self, event.kind != .delete { database.takeOver(self, after: base) }
        }
    }
}

extension ObjectEntity {
    /// Calls a handler of the main actor when any instance with this object's key is committed or removed.
    public func onChange(
        refreshing: Bool = false, on actor: MainActor,
        _ handler: @escaping @MainActor @Sendable (ObjectChange<Self>) -> Void
    ) throws(MakoError) -> ChangeToken {
        try onChange(refreshing: refreshing, on: DispatchQueue.main) { change in
            MainActor.assumeIsolated { handler(change) }
        }
    }
}

extension Database {
    private func onEvent(
        _ kind: ChangeKind, _ queue: DispatchQueue?, _ handler: @escaping @Sendable (DatabaseChange) -> Void
    ) -> ChangeToken {
        let watcher = EventHub.Watcher(
            table: nil,
            deliver: { events, _, _ in
                for event in events where event.kind == kind {
                    let change = DatabaseChange(
                        entity: event.table, kind: event.kind, key: event.key,
                        changedProperties: event.changedProperties)
                    if let queue { queue.async { handler(change) } } else { handler(change) }
                }
            }, finish: {})
        return ChangeToken(EventSubscription(hub, watcher))
    }

    /// Calls a handler for each object of any entity that a transaction inserted, after its commit.
    ///
    /// - Parameter queue: where to call it; on the committing thread, after the transaction, when nil.
    public func onInsert(
        on queue: DispatchQueue? = nil, _ handler: @escaping @Sendable (DatabaseChange) -> Void
    ) -> ChangeToken {
        onEvent(.insert, queue, handler)
    }
    /// Calls a handler of the main actor for each object of any entity that a transaction inserted.
    public func onInsert(
        on actor: MainActor, _ handler: @escaping @MainActor @Sendable (DatabaseChange) -> Void
    ) -> ChangeToken {
        onEvent(.insert, .main) { change in MainActor.assumeIsolated { handler(change) } }
    }
    /// Calls a handler for each object of any entity that a transaction changed, after its commit.
    ///
    /// - Parameter queue: where to call it; on the committing thread, after the transaction, when nil.
    public func onUpdate(
        on queue: DispatchQueue? = nil, _ handler: @escaping @Sendable (DatabaseChange) -> Void
    ) -> ChangeToken {
        onEvent(.update, queue, handler)
    }
    /// Calls a handler of the main actor for each object of any entity that a transaction changed.
    public func onUpdate(
        on actor: MainActor, _ handler: @escaping @MainActor @Sendable (DatabaseChange) -> Void
    ) -> ChangeToken {
        onEvent(.update, .main) { change in MainActor.assumeIsolated { handler(change) } }
    }
    /// Calls a handler for each object of any entity that a transaction removed, after its commit.
    ///
    /// - Parameter queue: where to call it; on the committing thread, after the transaction, when nil.
    public func onDelete(
        on queue: DispatchQueue? = nil, _ handler: @escaping @Sendable (DatabaseChange) -> Void
    ) -> ChangeToken {
        onEvent(.delete, queue, handler)
    }
    /// Calls a handler of the main actor for each object of any entity that a transaction removed.
    public func onDelete(
        on actor: MainActor, _ handler: @escaping @MainActor @Sendable (DatabaseChange) -> Void
    ) -> ChangeToken {
        onEvent(.delete, .main) { change in MainActor.assumeIsolated { handler(change) } }
    }
}
