import MakoRecords
import MakoStorage

/// How a row is to be stored.
enum SaveMode { case upsert, insert }

extension Transaction {
    /// Saves an object and the objects its references hold, circles included. False: the object was removed before.
    ///
    /// - Parameter run: the array the object stands in, when it is saved with others.
    @discardableResult
    func save<T: ObjectEntity>(
        _ object: T, _ mode: SaveMode = .upsert, in run: FreshRun? = nil
    ) throws(MakoError) -> Bool {
        let binding = try binding(Swift.type(of: object).entityModel)
        if !binding.hasReferences { return try write(object, nil, binding, mode, run) }
        let before = object.lockedState { state in
            let before = state
            if !before.flags.contains(.sterile) { state.flags.insert(.saving) }
            return before
        }
        if before.flags.contains(.sterile) { return false }
        if before.flags.contains(.saving) { return true }
        do throws(MakoError) {
            if before.database != 0 && before.database != database.number {
                throw .foreignObject(entity: binding.model.name)
            }
            try saveReferences(of: object, binding)
            return try write(object, ObjectNotes(before), binding, mode, run)
        } catch {
            object.lockedState { state in _ = state.flags.remove(.saving) }
            throw error
        }
    }

    /// Saves many objects: what each index is to have of them is sorted first.
    func save<T: ObjectEntity>(_ objects: [T]) throws(MakoError) {
        if objects.count < Transaction.smallestBatch {
            for object in objects { try save(object) }
            return
        }
        try batching { () throws(MakoError) in
            let run = undo.beginFresh(objects)
            for place in objects.indices {
                run.place = place
                try save(objects[place], in: run)
            }
        }
    }

    /// With fewer, sorting gains nothing.
    private static var smallestBatch: Int { 16 }

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

    /// The key of a referenced object, which is saved first when it is new or changed.
    private func savedKey<T: ObjectEntity>(
        of child: any ObjectEntity, parent: T, _ binding: Binding
    ) throws(MakoError) -> RowKey? {
        let state = child.lockedState { $0 }
        // A row that is gone, or that was rolled back, must not be referred to by the number it had.
        if state.flags.contains(.sterile) { return .noRow }
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
        if !state.flags.contains(.saving) {
            try willWriteFurtherRows()
            try save(child)
        }
        return child.lockedState { $0.key }
    }

    private func storedOrAssignedKey<T: ObjectEntity>(of object: T, _ binding: Binding) throws(MakoError) -> RowKey? {
        if !binding.model.hasColumnKey { return object.lockedState { $0.key } }
        let lock = ObjectLock(object)
        lock.lock()
        defer { lock.unlock() }
        object.assignMissingKey()
        let key = RowKey(values: object.keyValues())
        let before = ObjectNotes(object._$state)
        if key != before.extra?.key {
            undo.record(object, before)
            object._$state.setKey(key)
        }
        return key
    }

    /// Writes one object.
    ///
    /// - Parameter noted: what the object's notes were before its references were saved; nil: it has no references.
    private func write<T: ObjectEntity>(
        _ object: T, _ noted: ObjectNotes?, _ binding: Binding, _ mode: SaveMode, _ run: FreshRun?
    ) throws(MakoError) -> Bool {
        if isEncoding { throw .unsupported("saving an object while another one is being written") }
        let lock = ObjectLock(object)
        lock.lock()
        let state = ObjectNotes(object._$state)
        if noted == nil {
            if state.flags.contains(.sterile) {
                lock.unlock()
                return false
            }
            if state.database != 0 && state.database != database.number {
                lock.unlock()
                throw .foreignObject(entity: binding.model.name)
            }
        }
        let exists = state.flags.contains(.exists) && mode == .upsert
        if exists && state.dirty == 0 {
            if noted != nil { object._$state.flags.remove(.saving) }
            lock.unlock()
            return true
        }
        if !exists { object.assignMissingKey() }
        do throws(MakoError) { try encode(object, exists ? state.dirty : .max, binding) } catch {
            lock.unlock()
            throw error
        }
        if !sabotaged("dirtyKeptAfterSaving") { object._$state.dirty = 0 }
        // A changed key property makes another row; the old one stays as it is.
        var key: RowKey? = state.rowID == 0 ? nil : .rowID(state.rowID)
        var moved = false
        if binding.model.hasColumnKey {
            key = RowKey(values: object.keyValues())
            // Saving a reference before may have noted the new key already.
            moved = exists && key != (sabotaged("newKeyTakenForStored") ? state : noted ?? state).extra?.key
            if moved && !sabotaged("movedRowHalfWritten") {
                do throws(MakoError) { try encode(object, .max, binding) } catch {
                    object._$state.dirty |= state.dirty
                    lock.unlock()
                    throw error
                }
            }
        }
        lock.unlock()
        let before = noted ?? state
        if let run, before.isFresh { run.note() } else { undo.record(object, before) }

        var stored: RowKey
        if exists, !moved, let key {
            stored = key
            let wasThere = try table(binding) { (table, tx) throws(RecordError) in
                try table.update(&self.writer, key: key, in: tx, changes: &self.changes, batch: self.batch)
            }
            if !wasThere && !sabotaged("missingRowStaysMissing") { stored = try rewrite(object, key, binding) }
        } else {
            stored = try store(binding, binding.model.hasColumnKey ? nil : key, mode)
        }
        lock.lock()
        object._$state.noteSaved(stored, database.number)
        lock.unlock()
        if database.hub.isWatched(binding.model) {
            touched[EventHub.Identity(table: binding.model.table, key: stored)] = object
        }
        return true
    }

    /// Begins a row and has the object, which is locked, fill it.
    private func encode<T: Entity>(_ object: T, _ properties: UInt64, _ binding: Binding) throws(MakoError) {
        if isEncoding { throw .unsupported("saving an object while another one is being written") }
        isEncoding = true
        defer { isEncoding = false }
        writer.begin(binding.layout)
        try object.encode(into: &writer, properties: properties)
    }

    /// Stores the row in the writer, new or in the place of the one with its key.
    private func store(_ binding: Binding, _ key: RowKey?, _ mode: SaveMode) throws(MakoError) -> RowKey {
        try table(binding) { (table, tx) throws(RecordError) in
            mode == .insert
                ? try table.insert(&self.writer, key: key, in: tx, changes: &self.changes, batch: self.batch)
                : try table.put(&self.writer, key: key, in: tx, changes: &self.changes, batch: self.batch)
        }
    }

    /// The row of an object that existed is gone: the whole object is stored again.
    private func rewrite<T: ObjectEntity>(_ object: T, _ key: RowKey, _ binding: Binding) throws(MakoError) -> RowKey {
        let lock = ObjectLock(object)
        lock.lock()
        do throws(MakoError) { try encode(object, .max, binding) } catch {
            lock.unlock()
            throw error
        }
        lock.unlock()
        return try store(binding, binding.model.hasColumnKey ? nil : key, .upsert)
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
                try willWriteFurtherRows()
                try save(child)
                if let key = child.storedKey { value.resolveReference(property, to: child, key: key) }
            }
        }
        value.assignMissingKey()
        try encode(value, .max, binding)
        let given: RowKey? = binding.model.hasColumnKey || value.rowNumber == 0 ? nil : .rowID(value.rowNumber)
        if case .rowID(let id) = try store(binding, given, mode) { value.rowNumber = id }
        value._$state.database = database.number
    }

    /// Saves many structs, as ``save(_:)-(_)`` does with objects.
    func save<T: ValueEntity>(_ values: inout [T]) throws(MakoError) {
        if values.count < Transaction.smallestBatch {
            for index in values.indices { try save(&values[index]) }
            return
        }
        try batching { () throws(MakoError) in
            for index in values.indices { try save(&values[index]) }
        }
    }
}

extension ObjectState {
    /// The object has the row under this key.
    fileprivate mutating func noteSaved(_ key: RowKey, _ number: UInt32) {
        setKey(key)
        database = number
        flags = flags.union(.exists).subtracting(.saving)
    }
}
