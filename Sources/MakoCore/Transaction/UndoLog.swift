/// Restores the objects of a rolled-back transaction, newest change first.
final class UndoLog {
    private enum Entry {
        /// The object's metadata before it was saved or removed.
        case notes(any ObjectEntity, ObjectMetadata)
        /// A property, which another thread may write before the rollback.
        case property(any ObjectEntity, EntityCoding.WriteMark, () -> Void)
        /// Anything else of an object.
        case step(any ObjectEntity, () -> Void)
        /// A reference that was loaded. Its owner is not retained: without one, nothing is to be restored.
        case load(() -> Void)
        /// What depends on the restored state of another object.
        case last(any ObjectEntity, () -> Void)
        case array(ArrayNotes)
    }
    @exclusivity(unchecked) private var entries: [Entry] = []
    /// The properties whose old values are recorded since the latest savepoint; later writes need no entry.
    private var kept: [ObjectIdentifier: PropertySet] = [:]

    var mark: Int { entries.count }

    func wants(_ object: AnyObject, property: Int) -> Bool {
        kept[ObjectIdentifier(object), default: .none].insert(property)
    }

    func record(_ object: any ObjectEntity, _ restore: @escaping () -> Void) { entries.append(.step(object, restore)) }

    func recordLoad<T: ObjectEntity>(of object: T, _ mark: EntityCoding.WriteMark, _ restore: @escaping (T) -> Void) {
        entries.append(
            .load { [weak object] in
                guard let object else { return }
                mark.undo(in: object) { restore(object) }
                object.notifyObservers()
            })
    }

    /// Records what a rollback does after everything else.
    func recordLast(_ object: any ObjectEntity, _ restore: @escaping () -> Void) {
        entries.append(.last(object, restore))
    }

    /// Records how a property gets its value before a write.
    func record(_ object: any ObjectEntity, _ mark: EntityCoding.WriteMark, _ restore: @escaping () -> Void) {
        entries.append(.property(object, mark, restore))
    }

    func recordState(of object: any ObjectEntity, _ state: ObjectState) {
        record(object, ObjectMetadata(state))
    }

    func record(_ object: any ObjectEntity, _ notes: ObjectMetadata) { entries.append(.notes(object, notes)) }

    /// Adds an entry for objects that are saved together.
    func begin<T: ObjectEntity>(_ objects: [T]) -> ArrayNotes {
        let notes = ArrayNotes { place, restore in
            objects[place].lockedState { restore(&$0) }
            objects[place].notifyObservers(.none)
        }
        entries.append(.array(notes))
        return notes
    }

    func savepoint() -> Int {
        kept.removeAll(keepingCapacity: true)
        return entries.count
    }

    func rollback(to mark: Int) {
        kept.removeAll(keepingCapacity: true)
        var last: [(object: any ObjectEntity, restore: () -> Void)] = []
        while entries.count > mark, let entry = entries.popLast() {
            switch entry {
            case .property(let object, let mark, let restore):
                mark.undo(in: object, restore)
                object.notifyObservers()
            case .step(let object, let restore):
                restore()
                object.notifyObservers()
            case .load(let restore): restore()
            case .last(let object, let restore): last.append((object, restore))
            case .notes(let object, let before):
                object.lockedState { before.restore(&$0) }
                object.notifyObservers(.none)
            case .array(let notes): notes.restore()
            }
        }
        for (object, restore) in last {
            restore()
            object.notifyObservers(.none)
        }
    }
}

/// The part of an object's metadata that saving changes.
struct ObjectMetadata {
    let rowID: Int64
    private let firstDirty: UInt64
    let database: UInt32
    let flags: ObjectState.Flags
    private let beside: Beside

    /// One reference, because the metadata is copied often.
    private enum Beside {
        case nothing
        case extra(ObjectExtra)
        case further(Further)
    }
    private final class Further {
        let dirty: PropertySet
        let extra: ObjectExtra?

        init(_ dirty: PropertySet, _ extra: ObjectExtra?) { (self.dirty, self.extra) = (dirty, extra) }
    }

    init(_ state: ObjectState) {
        let (dirty, extra) = (state.dirty, state.extra)
        rowID = state.rowID
        firstDirty = dirty.first
        database = state.database
        flags = state.flags
        beside =
            if dirty.rest != nil { .further(Further(dirty, extra)) } else if let extra { .extra(extra) } else {
                .nothing
            }
    }

    var dirty: PropertySet {
        if case .further(let further) = beside { further.dirty } else { PropertySet(first: firstDirty) }
    }
    var extra: ObjectExtra? {
        switch beside {
        case .nothing: nil
        case .extra(let extra): extra
        case .further(let further): further.extra
        }
    }

    /// Whether the object was never saved: all such objects have the same metadata.
    var isFresh: Bool { rowID == 0 && database == 0 && flags.isEmpty && extra == nil && dirty.isAll }

    func restore(_ state: inout ObjectState) {
        state.rowID = rowID
        state.database = database
        state.flags = flags.subtracting([.saving, .removing])
        restoreExtra(&state)
        state.dirty.formUnion(dirty)
    }

    /// Restores what a save changes. The program may have given objects to this one since, and set its options.
    private func restoreExtra(_ state: inout ObjectState) {
        let before = extra
        guard let now = state.extra, now !== before, now.members != nil || now.options != nil else {
            state.extra = before
            return
        }
        state.extra = ObjectExtra(
            context: now.context, key: before?.key, loadError: now.loadError, options: now.options,
            joined: now.joined, prefetched: now.prefetched, members: before?.members ?? now.members)
    }
}

/// The metadata of an array's objects before they were saved. Refers to them by index, which avoids retaining each.
final class ArrayNotes {
    /// Consecutive objects with the same state.
    private struct Run {
        var places: Range<Int>
        let dirty: PropertySet
    }

    private let restoreObject: (Int, (inout ObjectState) -> Void) -> Void
    /// Objects that were never saved, as ranges: usually all of them or none.
    @exclusivity(unchecked) private var fresh: [Range<Int>] = []
    /// Objects of whose metadata saving changes only the dirty flags.
    @exclusivity(unchecked) private var changed: [Run] = []
    @exclusivity(unchecked) private var others: [(place: Int, notes: ObjectMetadata)] = []
    /// The index of the object that is being saved.
    @exclusivity(unchecked) var place = 0

    fileprivate init(_ restoreObject: @escaping (Int, (inout ObjectState) -> Void) -> Void) {
        self.restoreObject = restoreObject
    }

    /// Records the metadata of the object at the current index before it is written.
    func note(_ before: ObjectMetadata) {
        if !before.isFresh {
            others.append((place, before))
        } else if let last = fresh.last, last.upperBound == place {
            fresh[fresh.count - 1] = last.lowerBound..<place + 1
        } else {
            fresh.append(place..<place + 1)
        }
    }

    /// Records that the object at the current index has a row, is updated, and keeps its key.
    func noteChanged(_ dirty: PropertySet) {
        let last = changed.count - 1
        if last >= 0, changed[last].places.upperBound == place, changed[last].dirty == dirty {
            changed[last].places = changed[last].places.lowerBound..<place + 1
        } else {
            changed.append(Run(places: place..<place + 1, dirty: dirty))
        }
    }

    fileprivate func restore() {
        // An object that occurs twice in the array was fresh at its first index.
        for (place, notes) in others.reversed() { restoreObject(place) { notes.restore(&$0) } }
        for run in changed {
            for place in run.places {
                restoreObject(place) { state in
                    state.flags.subtract([.saving, .removing])
                    state.dirty.formUnion(run.dirty)
                }
            }
        }
        let notes = ObjectMetadata(ObjectState())
        for range in fresh.reversed() {
            for place in range.reversed() { restoreObject(place) { notes.restore(&$0) } }
        }
    }
}

extension EntityCoding {
    /// What a property write must do besides storing the value.
    @frozen
    public struct WriteMark: Sendable {
        @usableFromInline let property: Int32
        /// 0: nothing; 1: undo, the property was clean; 2: undo, it was dirty. With 4: no further, because another thread
        /// wrote the value that is restored.
        @usableFromInline let kind: UInt8

        @usableFromInline
        init(property: Int, kind: UInt8) {
            self.property = Int32(truncatingIfNeeded: property)
            self.kind = kind
        }

        /// Nothing is to be done.
        public static let none = WriteMark(property: 0, kind: 0)

        /// Whether the write must be recorded for a rollback.
        @inlinable public var needsUndo: Bool { kind != 0 }

        /// Restores the property, unless another thread wrote it meanwhile.
        fileprivate func undo(in object: any ObjectEntity, _ restore: () -> Void) {
            let lock = ObjectLock(object)
            lock.lock()
            defer { lock.unlock() }
            guard !object._$state.isOverwritten(Int(property)) else { return }
            restore()
            if kind & 1 != 0 { object._$state.dirty.remove(Int(property)) }
            if kind & 4 != 0 { object._$state.noteOverwritten(Int(property)) }
        }
    }
}

extension EntityCoding {
    /// Records that a property is being written. The caller holds the object's lock.
    public static func noteWrite(_ state: inout ObjectState, of object: AnyObject, property: Int) -> WriteMark {
        let wasDirty = state.markDirty(property)
        guard RunningTransactions.any else { return WriteMark(property: property, kind: 0) }
        return noteWrite(&state, of: object, property, wasDirty)
    }

    /// The same beside transactions.
    @inline(never)
    private static func noteWrite(
        _ state: inout ObjectState, of object: AnyObject, _ property: Int, _ wasDirty: Bool
    ) -> WriteMark {
        guard let transaction = ThreadScope.transaction else {
            state.noteOverwritten(property)
            return WriteMark(property: property, kind: 0)
        }
        // The first write to an object needs no look-up; a second one to the property then has an entry, too, and
        // a rollback ends with the value of the older.
        let wasOverwritten = state.isOverwritten(property)
        if state.noteWritten(property), !wasOverwritten, !transaction.undo.wants(object, property: property) {
            return WriteMark(property: property, kind: 0)
        }
        return WriteMark(property: property, kind: (wasOverwritten ? 4 : 0) | (wasDirty ? 2 : 1))
    }

    /// Records that a reference was loaded in the running transaction, whose rollback makes it unloaded again: it may
    /// lead to rows that the transaction has written, or not to those that it has deleted. The caller holds the object's
    /// lock.
    public static func noteLoad(_ state: inout ObjectState, property: Int) -> WriteMark {
        guard RunningTransactions.any, let transaction = ThreadScope.transaction, transaction.hasChanges else {
            return .none
        }
        _ = state.noteWritten(property)
        return WriteMark(property: property, kind: 2)
    }

    /// Records how a rollback of the running transaction makes a reference unloaded.
    public static func recordLoad<T: ObjectEntity>(_ mark: WriteMark, of object: T, _ restore: @escaping (T) -> Void) {
        ThreadScope.transaction?.undo.recordLoad(of: object, mark, restore)
    }

    /// Records how a rollback of the running transaction restores a property.
    // Inlined, so that the closure of generated code and the one made of it need memory once.
    @inlinable @inline(__always)
    public static func recordUndo<T: ObjectEntity>(_ mark: WriteMark, of object: T, _ restore: @escaping (T) -> Void) {
        record(mark, object) { restore(object) }
    }

    @usableFromInline
    static func record(_ mark: WriteMark, _ object: any ObjectEntity, _ restore: @escaping () -> Void) {
        ThreadScope.transaction?.undo.record(object, mark, restore)
    }
}
