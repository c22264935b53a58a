import MakoRecords
import MakoStorage

/// How a row is to be stored.
enum SaveMode { case upsert, insert }

extension Transaction {
    /// Saves an object and the objects its references hold, circles included. False: the object was removed before.
    @discardableResult
    func save<T: ObjectEntity>(_ object: T, _ mode: SaveMode = .upsert) throws(MakoError) -> Bool {
        let model = Swift.type(of: object).entityModel
        let binding = try binding(model)
        let before = object.lockedState { state in
            let before = state
            if !before.flags.contains(.sterile) { state.flags.insert(.saving) }
            return before
        }
        if before.flags.contains(.sterile) { return false }
        if before.flags.contains(.saving) { return true }
        do throws(MakoError) {
            if before.database != 0 && before.database != database.number { throw .foreignObject(entity: model.name) }
            if binding.hasReferences { try saveReferences(of: object, binding) }
            try write(object, before, binding, mode)
        } catch {
            object.lockedState { state in _ = state.flags.remove(.saving) }
            throw error
        }
        return true
    }

    /// Saves what the references hold and notes the keys, until the references stay the same under the lock.
    private func saveReferences<T: ObjectEntity>(of object: T, _ binding: Binding) throws(MakoError) {
        var saved: [ObjectIdentifier] = []
        while true {
            var held: [(property: Int, object: any ObjectEntity)] = []
            ObjectLock(object).locked { object.visitReferences { held.append(($0, $1)) } }
            let identities = held.map { ObjectIdentifier($0.object) }
            if identities == saved { return }
            saved = identities
            for (property, child) in held {
                guard let key = try savedKey(of: child, parent: object, binding) else { continue }
                ObjectLock(object).locked { object.resolveReference(property, to: child, key: key) }
            }
        }
    }

    /// The key of a referenced object, which is saved first when it is new or changed. Nil: it was removed.
    private func savedKey<T: ObjectEntity>(
        of child: any ObjectEntity, parent: T, _ binding: Binding
    ) throws(MakoError) -> RowKey? {
        let state = child.lockedState { $0 }
        if state.flags.contains(.sterile) { return nil }
        let isClean = state.flags.contains(.exists) && state.dirty == 0
        if isClean && state.database == database.number, let key = state.key { return key }
        if state.database != 0 && state.database != database.number {
            throw .foreignObject(entity: Swift.type(of: child).entityModel.name)
        }
        // The child may lead back here: then it needs this object's key.
        if try storedOrAssignedKey(of: parent, binding) == nil {
            let id = try turn.with { (tx: borrowing WriteTransaction) throws(MakoError) in
                try records { () throws(RecordError) in try binding.table.reserveRowID(in: tx) }
            }
            undo.recordState(of: parent, parent.lockedState { $0 })
            parent.lockedState { $0.rowID = id }
        }
        if !state.flags.contains(.saving) { try save(child) }
        return child.lockedState { $0.key }
    }

    private func storedOrAssignedKey<T: ObjectEntity>(of object: T, _ binding: Binding) throws(MakoError) -> RowKey? {
        if !binding.model.hasColumnKey { return object.lockedState { $0.key } }
        return ObjectLock(object).locked {
            object.assignMissingKey()
            let key = RowKey(values: object.keyValues())
            object._$state.setKey(key)
            return key
        }
    }

    private func write<T: ObjectEntity>(
        _ object: T, _ before: ObjectState, _ binding: Binding, _ mode: SaveMode
    ) throws(MakoError) {
        let lock = ObjectLock(object)
        lock.lock()
        let state = object._$state
        let exists = state.flags.contains(.exists) && mode == .upsert
        if exists && state.dirty == 0 {
            object._$state.flags.remove(.saving)
            lock.unlock()
            return
        }
        do throws(MakoError) {
            writer.begin(binding.layout)
            if !exists { object.assignMissingKey() }
            try object.encode(into: &writer, properties: exists ? state.dirty : .max)
        } catch {
            lock.unlock()
            throw error
        }
        object._$state.dirty = 0
        // A changed key property makes another row; the old one stays as it is.
        var key: RowKey? = state.rowID == 0 ? nil : .rowID(state.rowID)
        var moved = false
        if binding.model.hasColumnKey {
            key = RowKey(values: object.keyValues())
            moved = exists && key != state.extra?.key
            if moved {
                writer.begin(binding.layout)
                do throws(MakoError) { try object.encode(into: &writer, properties: .max) } catch {
                    lock.unlock()
                    throw error
                }
            }
        }
        lock.unlock()
        undo.recordState(of: object, before)

        var stored: RowKey
        if exists, !moved, let key {
            stored = key
            let wasThere = try table(binding) { (table, tx) throws(RecordError) in
                try table.update(&self.writer, key: key, in: tx, changes: &self.changes)
            }
            if !wasThere { stored = try rewrite(object, key, binding) }
        } else {
            let given = binding.model.hasColumnKey ? nil : key
            stored = try table(binding) { (table, tx) throws(RecordError) in
                mode == .insert
                    ? try table.insert(&self.writer, key: given, in: tx, changes: &self.changes)
                    : try table.put(&self.writer, key: given, in: tx, changes: &self.changes)
            }
        }
        lock.lock()
        object._$state.setKey(stored)
        object._$state.database = database.number
        object._$state.flags.insert(.exists)
        object._$state.flags.remove(.saving)
        lock.unlock()
        if database.hub.isWatched(binding.model) {
            touched[EventHub.Identity(table: binding.model.table, key: stored)] = object
        }
    }

    /// The row of an object that existed is gone: the whole object is stored again.
    private func rewrite<T: ObjectEntity>(_ object: T, _ key: RowKey, _ binding: Binding) throws(MakoError) -> RowKey {
        writer.begin(binding.layout)
        let lock = ObjectLock(object)
        lock.lock()
        do throws(MakoError) { try object.encode(into: &writer, properties: .max) } catch {
            lock.unlock()
            throw error
        }
        lock.unlock()
        let given = binding.model.hasColumnKey ? nil : key
        return try table(binding) { (table, tx) throws(RecordError) in
            try table.put(&self.writer, key: given, in: tx, changes: &self.changes)
        }
    }

    /// Runs one call of a table with the engine's transaction.
    func table<R>(
        _ binding: Binding, _ body: (TableHandle, borrowing WriteTransaction) throws(RecordError) -> R
    ) throws(MakoError) -> R {
        try table(binding.table, body)
    }

    func table<R>(
        _ table: TableHandle, _ body: (TableHandle, borrowing WriteTransaction) throws(RecordError) -> R
    ) throws(MakoError) -> R {
        try turn.with { (tx: borrowing WriteTransaction) throws(MakoError) -> R in
            do throws(RecordError) { return try body(table, tx) } catch { throw MakoError(error) }
        }
    }

    // MARK: - Structs

    func save<T: ValueEntity>(_ value: inout T, _ mode: SaveMode = .upsert) throws(MakoError) {
        let binding = try binding(T.entityModel)
        if value._$state.database != 0 && value._$state.database != database.number {
            throw .foreignObject(entity: T.entityModel.name)
        }
        if binding.hasReferences {
            var held: [(property: Int, object: any ObjectEntity)] = []
            value.visitReferences { held.append(($0, $1)) }
            for (property, child) in held {
                try save(child)
                if let key = child.storedKey { value.resolveReference(property, to: child, key: key) }
            }
        }
        value.assignMissingKey()
        writer.begin(binding.layout)
        try value.encode(into: &writer, properties: .max)
        let given: RowKey? = binding.model.hasColumnKey || value.rowNumber == 0 ? nil : .rowID(value.rowNumber)
        let stored = try table(binding) { (table, tx) throws(RecordError) in
            mode == .insert
                ? try table.insert(&self.writer, key: given, in: tx, changes: &self.changes)
                : try table.put(&self.writer, key: given, in: tx, changes: &self.changes)
        }
        if case .rowID(let id) = stored { value.rowNumber = id }
        value._$state.database = database.number
    }
}
