/// What a property write must do besides storing the value.
@frozen
public struct WriteMark: Sendable {
    @usableFromInline let property: Int32
    /// 0: nothing; 1: undo, the property was clean; 2: undo, it was dirty.
    @usableFromInline let kind: UInt8

    @usableFromInline
    init(property: Int, kind: UInt8) {
        self.property = Int32(truncatingIfNeeded: property)
        self.kind = kind
    }

    /// Whether the write must be recorded for a rollback.
    @inlinable public var needsUndo: Bool { kind != 0 }
}

extension EntityCoding {
    /// Records that a property is being written. The caller holds the object's lock.
    public static func noteWrite(_ state: inout ObjectState, of object: AnyObject, property: Int) -> WriteMark {
        let wasDirty = state.markDirty(property)
        guard RunningTransactions.any else { return WriteMark(property: property, kind: 0) }
        guard let transaction = ThreadScope.transaction else {
            state.noteOverwritten(property)
            return WriteMark(property: property, kind: 0)
        }
        state.noteWritten(property)
        guard transaction.undo.wants(object, property: property) else { return WriteMark(property: property, kind: 0) }
        return WriteMark(property: property, kind: wasDirty ? 2 : 1)
    }

    /// Records how a rollback of the running transaction restores a property.
    public static func recordUndo<T: ObjectEntity>(_ mark: WriteMark, of object: T, _ restore: @escaping (T) -> Void) {
        let property = Int(mark.property)
        let wasClean = mark.kind == 1
        ThreadScope.transaction?.undo.record(object) {
            let lock = ObjectLock(object)
            lock.lock()
            defer { lock.unlock() }
            guard !object._$state.isOverwritten(property) else { return }
            restore(object)
            if wasClean { object._$state.dirty.remove(property) }
        }
    }
}
