import MakoRecords
import MakoStorage

/// The committed changes of one entity: `for await change in Person.changes(.insert) { … }`.
///
/// The sequence buffers from its creation, before the first iteration. At most ``bufferLimit`` changes are buffered;
/// the buffer then drops further changes and ends with one `.missed`.
public struct ChangeSequence<T: Entity>: AsyncSequence, Sendable {
    /// One change.
    public typealias Element = ObjectChange<T>
    /// The sequence throws no errors.
    public typealias Failure = Never

    /// The number of changes that the buffer holds for a slow reader.
    public static var bufferLimit: Int { 4096 }

    private let buffer: ChangeBuffer<T>

    init(_ database: Database, _ kinds: [ChangeKind], withValues: Bool) {
        buffer = ChangeBuffer(database, kinds, withValues: withValues)
    }

    /// Returns an iterator. All iterators of a sequence share its buffer: each change goes to one of them.
    public func makeAsyncIterator() -> Iterator { Iterator(buffer: buffer) }

    /// Reads the buffer of a ``ChangeSequence``.
    public struct Iterator: AsyncIteratorProtocol {
        let buffer: ChangeBuffer<T>
        /// Returns the next change after waiting for it; nil when the database closes, the task is cancelled, or
        /// another call waits.
        public mutating func next() async -> ObjectChange<T>? { await buffer.next() }
        /// Returns the next change after waiting for it; nil when the database closes, the task is cancelled, or
        /// another call waits.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> ObjectChange<T>? {
            await buffer.next()
        }
    }
}

/// The bounded queue between commits and one reader.
final class ChangeBuffer<T: Entity>: Sendable {
    private struct State {
        var waiting: [ObjectChange<T>] = []
        var head = 0
        var hasMissed = false
        var reader: CheckedContinuation<ObjectChange<T>?, Never>?
        var isFinished = false
    }
    private let state = Guarded(State())
    private let subscription: EventSubscription

    init(_ database: Database, _ kinds: [ChangeKind], withValues: Bool) {
        let wanted = Set(kinds.isEmpty ? [.insert, .update, .delete] : kinds)
        let state = state
        subscription = EventSubscription(
            database.hub,
            .init(
                table: T.entityModel.table, wantsValues: withValues,
                deliver: { events, _, database in
                    // The hub delivers by table: another entity type of the table may raise the events.
                    guard T.entityModel.raisesEvents else { return }
                    for event in events where wanted.contains(event.kind) {
                        Self.put(event.change(database, T.self, withValues: withValues), into: state)
                    }
                },
                miss: { _, _, _ in if T.entityModel.raisesEvents { Self.putMissed(into: state) } },
                finish: { Self.finish(state) }))
    }

    func next() async -> ObjectChange<T>? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: ObjectChange<T>?? = state.withLock { state in
                    if let change = Self.take(&state) { return .some(change) }
                    if state.isFinished || Task.isCancelled || state.reader != nil { return .some(nil) }
                    state.reader = continuation
                    return .none
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let reader = state.withLock { state in
                defer { state.reader = nil }
                return state.reader
            }
            reader?.resume(returning: nil)
        }
    }

    private static func take(_ state: inout State) -> ObjectChange<T>? {
        if state.head < state.waiting.count {
            let change = state.waiting[state.head]
            state.head += 1
            if state.head > 256, state.head * 2 > state.waiting.count {
                state.waiting.removeFirst(state.head)
                state.head = 0
            }
            return change
        }
        guard state.hasMissed else { return nil }
        state.hasMissed = false
        return .missed
    }

    private static func putMissed(into state: Guarded<State>) {
        let reader: CheckedContinuation<ObjectChange<T>?, Never>? = state.withLock { state in
            state.hasMissed = state.reader == nil
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume(returning: .missed)
    }

    private static func put(_ change: ObjectChange<T>, into state: Guarded<State>) {
        let reader: CheckedContinuation<ObjectChange<T>?, Never>? = state.withLock { state in
            if let reader = state.reader {
                state.reader = nil
                return reader
            }
            if state.hasMissed || state.waiting.count - state.head >= ChangeSequence<T>.bufferLimit {
                state.hasMissed = true
            } else {
                state.waiting.append(change)
            }
            return nil
        }
        reader?.resume(returning: change)
    }

    private static func finish(_ state: Guarded<State>) {
        let reader = state.withLock { state in
            state.isFinished = true
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume(returning: nil)
    }
}

extension ObjectChange {
    static var missed: ObjectChange {
        ObjectChange(kind: .missed, key: nil, changedProperties: [], object: nil, values: nil)
    }
}

extension EventHub.Event {
    /// The event as a change of an entity. Reads the object from the database when the commit did not pass one.
    func change<T: Entity>(_ database: Database, _ type: T.Type, withValues: Bool) -> ObjectChange<T> {
        var found = object as? T
        if found == nil, kind != .delete {
            // The row may be deleted since, or unreadable. The change is reported without its object.
            do throws(MakoError) { found = try database.object(type, key: key) } catch { found = nil }
        }
        let names = type.entityModel.propertyNames(ofColumns: changedColumns) { _ in nil }
        // Row images may exist because another watcher wants them; this watcher gets them only `withValues`.
        let values = withValues ? images.map { ChangedRow($0, database) } : nil
        return ObjectChange(kind: kind, key: key, changedProperties: names, object: found, values: values)
    }
}

extension EventHub.Event {
    /// The event as a change for watchers of a whole database.
    func change(_ database: Database, withValues: Bool) -> DatabaseChange {
        var changes: [PropertyChange] = []
        if withValues, let images {
            let schema = database.schema
            changes = ChangedRow(images, database).changes { schema.fieldName(ofColumn: $0, inTable: table) }
        }
        return DatabaseChange(
            entity: table, kind: kind, key: key, changedProperties: changedProperties, changes: changes)
    }
}

/// A registration that ends when it is released.
final class EventSubscription: Sendable {
    private let hub: EventHub
    private let id: Int

    init(_ hub: EventHub, _ watcher: EventHub.Watcher) {
        self.hub = hub
        id = hub.add(watcher)
    }

    func end() { hub.remove(id) }

    deinit { end() }
}
