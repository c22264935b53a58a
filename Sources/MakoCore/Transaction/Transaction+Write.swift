import MakoRecords
import MakoStorage

// Encoding and storing the row of one object.
extension Transaction {
    /// Writes one object.
    ///
    /// - Parameters:
    ///   - waiting: the object before its references were saved, and their keys; nil: it has no references.
    /// - Returns: false when a hook removed the object meanwhile; nil when its references changed meanwhile, so that
    ///   they must be saved first, when its row is gone, so that they count as set, or when structs that it holds were
    ///   saved, whose keys it then has.
    /// - Throws: `MakoError.deleted` when the object was removed before.
    func write<T: ObjectEntity>(
        _ object: T, _ waiting: SavedGraph.Waiting?, _ binding: Binding, _ mode: SaveMode, _ hooks: ObjectHooks,
        _ array: ArrayNotes?
    ) throws(MakoError) -> Bool? {
        if isEncoding { throw .unsupported("saving an object while another one is being written") }
        if binding.model.hasStamps { stamp(object, mode) }
        let lock = ObjectLock(object)
        let noted = waiting.map { ObjectMetadata($0.before) }
        let row: EncodedRow
        switch try encodeRow(of: object, lock, noted, binding, mode, waiting) {
        case .removed:
            // An object with hooks is checked before they are called, and one of them may remove it.
            if waiting == nil { throw errorOfSavingDeleted(object) }
            return false
        case .unchanged: return true
        case .outdated: return nil
        case .holding:
            try saveHeldValues(of: object, binding)
            return nil
        case .encoded(let encoded): row = encoded
        }
        do throws(MakoError) { try encodeRest() } catch {
            object.lockedState { $0.dirty.formUnion(row.state.dirty) }
            throw error.naming(binding.model, row.key)
        }
        let options = row.state.extra?.options
        // Of the metadata, saving changes only the dirty flags.
        let isPlain = row.isUpdate && row.state.database == database.number && options == nil
        if let array, isPlain {
            array.noteChanged((noted ?? row.state).dirty)
        } else if let array {
            array.note(noted ?? row.state)
        } else {
            undo.record(object, noted ?? row.state)
        }
        let found: RowKey?
        do throws(MakoError) { found = try store(row, of: object, noted, binding, mode) } catch {
            throw error.naming(binding.model, row.key)
        }
        guard let stored = found else {
            if let waiting { noteRowGone(object, waiting.before) }
            return nil
        }
        if !row.isUpdate { noteStoredAnew(stored, binding) }
        if !isPlain || noted != nil {
            lock.lock()
            object._$state.noteSaved(stored, database.number)
            if options?.resetsAfterCommit == true { object._$state.setOptions(nil) }
            lock.unlock()
        }
        if !row.isUpdate { object.notifyObservers(.none) }
        noteNotifications(of: object, stored, row.isUpdate ? .update : .insert, binding.model, hooks, options)
        return true
    }

    /// An object whose row is in the writer.
    private struct EncodedRow {
        /// The object's metadata before.
        let state: ObjectMetadata
        /// Whether an update sets a property whose objects the row owns.
        let setsOwned: Bool
        /// The object's key; nil: the row gets a new number.
        let key: RowKey?
        /// Whether the row exists.
        let exists: Bool
        /// Whether a key property changed. The object then gets a new row, and the old row stays.
        let isMoved: Bool

        var isUpdate: Bool { exists && !isMoved }
    }

    private enum Encoding {
        case encoded(EncodedRow)
        /// The object has no changes.
        case unchanged
        /// The object was removed before, or by a hook of this call.
        case removed
        /// The references changed after they were saved.
        case outdated
        /// It was set to hold structs, which must be saved first.
        case holding
    }

    /// Encodes the changes of an object into the writer, under its lock.
    private func encodeRow<T: ObjectEntity>(
        of object: T, _ lock: ObjectLock, _ noted: ObjectMetadata?, _ binding: Binding, _ mode: SaveMode,
        _ waiting: SavedGraph.Waiting?
    ) throws(MakoError) -> Encoding {
        lock.lock()
        defer { lock.unlock() }
        let state = ObjectMetadata(object._$state)
        // A hook may have removed it.
        if state.flags.contains(.removed) {
            object._$state.flags.remove(.saving)
            return .removed
        }
        if noted == nil, state.database != 0 && state.database != database.number {
            throw .foreignObject(entity: binding.model.name)
        }
        let exists = state.flags.contains(.exists) && mode == .upsert
        if binding.hasReferences, let waiting {
            // Its row was found to be gone while it waited: its references now count as set.
            if !exists && !waiting.isWhole { return .outdated }
            guard waiting.references.resolve(object) else { return .outdated }
            if !binding.model.weakColumns.isEmpty { noteWeakReferences(of: object, binding.model.weakColumns) }
        }
        if exists && state.dirty.isEmpty {
            if noted != nil { object._$state.flags.remove(.saving) }
            return .unchanged
        }
        if !exists { object.assignMissingKey() }
        let changed = state.dirty.subtracting(binding.model.writeOnceColumns)
        let setsOwned = !binding.model.ownedColumns.isEmpty && !changed.isDisjoint(with: binding.model.ownedColumns)
        if binding.holdsValues { held.beginObject() }
        defer { held.isInObject = false }
        try encode(object, exists ? changed : .all, binding)
        if binding.holdsValues, !held.unsaved.isEmpty { return .holding }
        object._$state.dirty = .none
        guard binding.model.hasColumnKey else {
            let key: RowKey? = state.rowID == 0 ? nil : .rowID(state.rowID)
            return .encoded(
                EncodedRow(state: state, setsOwned: setsOwned, key: key, exists: exists, isMoved: false))
        }
        let key = RowKey(values: object.keyValues())
        // Saving a reference may have set the new key already.
        let isMoved = exists && key != (noted ?? state).extra?.key
        if isMoved {
            do throws(MakoError) { try encode(object, .all, binding) } catch {
                object._$state.dirty.formUnion(state.dirty)
                throw error
            }
            // Of a property that is written once: the new row has it.
            if binding.holdsValues, !held.unsaved.isEmpty {
                object._$state.dirty.formUnion(state.dirty)
                return .holding
            }
        }
        return .encoded(EncodedRow(state: state, setsOwned: setsOwned, key: key, exists: exists, isMoved: isMoved))
    }

    /// - Returns: the key of the stored row; nil if the row to be updated is gone and has references, which must be
    ///   saved first.
    private func store<T: ObjectEntity>(
        _ row: EncodedRow, of object: T, _ noted: ObjectMetadata?, _ binding: Binding, _ mode: SaveMode
    ) throws(MakoError) -> RowKey? {
        guard row.isUpdate, let key = row.key else {
            // The new row copies the columns that the object does not read.
            let former = row.isMoved ? (noted ?? row.state).extra?.key : nil
            return try enter(binding, row.key, mode, like: former) { (properties) throws(MakoError) in
                try encodeLocking(object, properties, binding)
            }
        }
        let owned = row.setsOwned ? try self.owned(by: key, binding) : []
        keepWhenNil(binding)
        let wasThere = try table(binding) { (table, tx) throws(RecordError) in
            try table.update(&self.writer, key: key, in: tx, changes: &self.changes, batch: self.batch)
        }
        if !wasThere, binding.hasReferences, noted != nil { return nil }
        let stored = wasThere ? key : try rewrite(object, key, binding)
        try noteReleased(owned, by: stored, binding)
        return stored
    }

    /// Sets the timestamp properties of an object that is about to be stored.
    private func stamp<T: ObjectEntity>(_ object: T, _ mode: SaveMode) {
        let (flags, dirty) = object.lockedState { ($0.flags, $0.dirty) }
        let isNew = !flags.contains(.exists) || mode == .insert
        if flags.contains(.removed) || !isNew && dirty.isEmpty { return }
        object._$stamp(isNew: isNew, at: date)
    }

    /// Records the callbacks, and the suppressed events, of a change to an object's row.
    func noteNotifications<T: ObjectEntity>(
        of object: T, _ key: RowKey, _ kind: ChangeKind, _ model: EntityModel, _ hooks: ObjectHooks,
        _ options: CommitOptions?
    ) {
        if kind == .delete || options != nil || !hooks.isDisjoint(with: .afterCommit) {
            events.completions.note(object, kind, hooks, options)
        }
        events.setSilent(options?.raisesEvents == false, EventHub.Identity(table: model.table, key: key))
        if hub.hasWatchers && hub.isWatched(model) {
            events.note(object, of: EventHub.Identity(table: model.table, key: key))
        }
    }

    // MARK: Many objects

    /// Writes objects of an array as long as they have one type.
    ///
    /// - Returns: the index of the first object of another type.
    func writePlain<T: ObjectEntity>(
        _ objects: [T], from start: Int, _ plain: PlainType, _ notes: ArrayNotes
    ) throws(MakoError) -> Int {
        let (type, hooks) = (ObjectIdentifier(plain.type), plain.hooks)
        for place in start..<objects.count {
            let object = objects[place]
            guard ObjectIdentifier(Swift.type(of: object)) == type, plain.schema === schema else { return place }
            // Objects that were given to it are saved after it.
            if plain.hasMany, object.pendingMembers != nil { return place }
            notes.place = place
            if plain.hasOnlyColumns, try writeChanges(of: object, plain.binding, hooks, notes) { continue }
            _ = try write(object, nil, plain.binding, .upsert, hooks, notes)
        }
        return objects.count
    }

    /// Writes the changes of an object that needs nothing else: the fast path of ``write``.
    private func writeChanges<T: ObjectEntity>(
        of object: T, _ binding: Binding, _ hooks: ObjectHooks, _ notes: ArrayNotes
    ) throws(MakoError) -> Bool {
        let lock = ObjectLock(object)
        lock.lock()
        // A mutating call reads the state in place; a getter would copy it, with its row.
        let (dirty, id) = object._$state.plainChanges(in: database.number)
        if dirty.isEmpty {
            lock.unlock()
            return false
        }
        do throws(MakoError) { try encode(object, dirty, binding) } catch {
            lock.unlock()
            throw error
        }
        object._$state.dirty = .none
        lock.unlock()
        do throws(MakoError) { try encodeRest() } catch {
            object.lockedState { $0.dirty.formUnion(dirty) }
            throw error.naming(binding.model, .rowID(id))
        }
        notes.noteChanged(dirty)
        let key = RowKey.rowID(id)
        let wasThere: Bool
        do throws(MakoError) {
            wasThere = try table(binding) { (table, tx) throws(RecordError) in
                try table.update(&self.writer, key: key, in: tx, changes: &self.changes, batch: self.batch)
            }
        } catch { throw error.naming(binding.model, key) }
        if !wasThere { _ = try rewrite(object, key, binding) }
        noteNotifications(of: object, key, .update, binding.model, hooks, nil)
        return true
    }

    /// A type whose objects need no other saves and no hooks before they are written.
    struct PlainType {
        let type: any ObjectEntity.Type
        let schema: SchemaState
        let binding: Binding
        let hooks: ObjectHooks

        /// Whether others may be given to the objects.
        let hasMany: Bool
        /// Whether an update only sets columns, whatever the row contains.
        let hasOnlyColumns: Bool

        init(_ type: any ObjectEntity.Type, _ schema: SchemaState, _ binding: Binding, _ hooks: ObjectHooks) {
            (self.type, self.schema, self.binding, self.hooks) = (type, schema, binding, hooks)
            let model = binding.model
            hasMany = model.hasMany
            hasOnlyColumns =
                !model.hasColumnKey && !model.hasStamps
                && model.ownedColumns.isEmpty && model.writeOnceColumns.isEmpty && model.keepWhenNilColumns.isEmpty
        }
    }

    func plainType<T: ObjectEntity>(of object: T) -> PlainType? {
        let type = Swift.type(of: object)
        guard !type.entityModel.isPartial, let binding = schema.binding(type.entityModel), !binding.hasReferences
        else { return nil }
        let hooks = type._$hooks
        return hooks.isDisjoint(with: .beforeWriting)
            ? PlainType(type, schema, binding, hooks) : nil
    }
}

extension ObjectState {
    /// Records that the object has the row with this key.
    fileprivate mutating func noteSaved(_ key: RowKey, _ number: UInt32) {
        setKey(key)
        database = number
        flags = flags.union(.exists).subtracting(.saving)
    }
}
