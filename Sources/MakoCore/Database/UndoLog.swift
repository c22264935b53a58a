/// How to put objects in memory back to where they were, newest first.
final class UndoLog {
    private enum Entry {
        /// What an object's notes were before it was saved or removed.
        case notes(any ObjectEntity, ObjectNotes)
        case property(any ObjectEntity, () -> Void)
        case fresh(FreshRun)
    }
    @exclusivity(unchecked) private var entries: [Entry] = []
    /// The properties whose old values are kept since the latest savepoint: later writes need not be.
    private var kept: [ObjectIdentifier: UInt64] = [:]

    var mark: Int { entries.count }

    func wants(_ object: AnyObject, property: Int) -> Bool {
        let bit: UInt64 = 1 << UInt64(property)
        let known = kept[ObjectIdentifier(object), default: 0]
        if known & bit != 0 { return false }
        kept[ObjectIdentifier(object)] = known | bit
        return true
    }

    func record(_ object: any ObjectEntity, _ restore: @escaping () -> Void) {
        entries.append(.property(object, restore))
    }

    func recordState(of object: any ObjectEntity, _ state: ObjectState) {
        record(object, ObjectNotes(state))
    }

    func record(_ object: any ObjectEntity, _ notes: ObjectNotes) { entries.append(.notes(object, notes)) }

    /// Makes room for objects that are about to be saved together for the first time.
    func beginFresh<T: ObjectEntity>(_ objects: [T]) -> FreshRun {
        let fresh = ObjectNotes(ObjectState())
        let run = FreshRun { place in
            objects[place].lockedState { fresh.restore(&$0) }
            objects[place].tellObservers(0)
        }
        entries.append(.fresh(run))
        return run
    }

    func savepoint() -> Int {
        kept.removeAll(keepingCapacity: true)
        return entries.count
    }

    func rollback(to mark: Int) {
        kept.removeAll(keepingCapacity: true)
        while entries.count > mark, let entry = entries.popLast() {
            switch entry {
            case .property(let object, let restore):
                restore()
                object.tellObservers()
            case .notes(let object, let before):
                object.lockedState { before.restore(&$0) }
                object.tellObservers(0)
            case .fresh(let objects): objects.restore()
            }
        }
    }
}

/// The part of an object's notes that saving changes.
struct ObjectNotes {
    let rowID: Int64
    let dirty: UInt64
    let database: UInt32
    let flags: ObjectState.Flags
    let extra: ObjectExtra?

    init(_ state: ObjectState) {
        rowID = state.rowID
        dirty = state.dirty
        database = state.database
        flags = state.flags
        extra = state.extra
    }

    /// Whether the object was never saved: then its notes are those of every such object.
    var isFresh: Bool { rowID == 0 && database == 0 && flags.isEmpty && extra == nil && dirty == .max }

    func restore(_ state: inout ObjectState) {
        if !sabotaged("keyKeptAfterRollback") { state.rowID = rowID }
        state.database = database
        state.flags = flags.subtracting([.saving, .removing])
        state.extra = extra
        state.dirty |= sabotaged("dirtyNotRestored") ? 0 : dirty
    }
}

/// Which objects of an array were saved for the first time: kept as ranges, because nearly always it is all of them.
final class FreshRun {
    /// Makes the object at a place unsaved again.
    private let restoreObject: (Int) -> Void
    @exclusivity(unchecked) private var ranges: [Range<Int>] = []
    /// The place of the object that is being saved.
    @exclusivity(unchecked) var place = 0

    fileprivate init(_ restoreObject: @escaping (Int) -> Void) { self.restoreObject = restoreObject }

    /// Notes that the object at the present place was never saved before.
    func note() {
        if let last = ranges.last, last.upperBound == place {
            ranges[ranges.count - 1] = last.lowerBound..<place + 1
        } else {
            ranges.append(place..<place + 1)
        }
    }

    fileprivate func restore() {
        for range in ranges.reversed() {
            for place in range.reversed() { restoreObject(place) }
        }
    }
}
