/// How to put objects in memory back to where they were, newest first.
final class UndoLog {
    private enum Entry {
        /// What an object's notes were before it was saved or removed.
        case state(any ObjectEntity, ObjectState)
        case property(any ObjectEntity, () -> Void)
    }
    private var entries: [Entry] = []
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
        entries.append(.state(object, state))
    }

    func savepoint() -> Int {
        kept.removeAll(keepingCapacity: true)
        return entries.count
    }

    func rollback(to mark: Int) {
        kept.removeAll(keepingCapacity: true)
        while entries.count > mark, let entry = entries.popLast() {
            switch entry {
            case .property(_, let restore): restore()
            case .state(let object, let before):
                object.lockedState { state in
                    state.rowID = before.rowID
                    state.database = before.database
                    state.flags = before.flags.subtracting(.saving)
                    state.extra = before.extra
                    state.dirty |= before.dirty
                }
            }
        }
    }
}
