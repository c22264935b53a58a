import MakoRecords
import MakoStorage

// How the row of one object is made and stored.
extension Transaction {
    /// Writes one object.
    ///
    /// - Parameters:
    ///   - noted: what the object's notes were before its references were saved; nil: it has no references.
    ///   - references: the keys of the objects that it refers to.
    /// - Returns: false when the object was removed before; nil when it refers to others by now, which must be saved first.
    func write<T: ObjectEntity>(
        _ object: T, _ noted: ObjectNotes?, _ binding: Binding, _ mode: SaveMode, _ hooks: ObjectHooks,
        _ array: ArrayNotes?, references: ResolvedReferences?
    ) throws(MakoError) -> Bool? {
        if isEncoding { throw .unsupported("saving an object while another one is being written") }
        if binding.model.hasStamps { stamp(object, mode) }
        let lock = ObjectLock(object)
        let row: EncodedRow
        switch try encodeRow(of: object, lock, noted, binding, mode, references) {
        case .removed: return false
        case .unchanged: return true
        case .outdated: return nil
        case .encoded(let encoded): row = encoded
        }
        do throws(MakoError) { try encodeRest() } catch {
            object.lockedState { $0.dirty |= row.state.dirty }
            throw error.naming(binding.model, row.key)
        }
        let options = row.state.extra?.options
        // Saving changes nothing of its notes but which properties are dirty.
        let isPlain = row.isUpdate && row.state.database == database.number && options == nil
        if let array, isPlain {
            array.noteChanged((noted ?? row.state).dirty)
        } else if let array {
            array.note(noted ?? row.state)
        } else {
            undo.record(object, noted ?? row.state)
        }
        let stored: RowKey
        do throws(MakoError) { stored = try store(row, of: object, noted, binding, mode) } catch {
            throw error.naming(binding.model, row.key)
        }
        if !row.isUpdate { noteStoredAnew(stored, binding) }
        if !isPlain || noted != nil {
            lock.lock()
            object._$state.noteSaved(stored, database.number)
            if options?.resetsAfterCommit == true { object._$state.setOptions(nil) }
            lock.unlock()
        }
        if !row.isUpdate { object.tellObservers(0) }
        noteTellings(of: object, stored, row.isUpdate ? .update : .insert, binding.model, hooks, options)
        return true
    }

    /// An object whose row stands in the writer.
    private struct EncodedRow {
        /// The object's notes before.
        let state: ObjectNotes
        /// The properties that an update sets.
        let properties: UInt64
        /// What the object has for a key; nil: its row will get a number.
        let key: RowKey?
        /// Whether the row is there.
        let exists: Bool
        /// Whether a key property has changed: that makes another row, and the old one stays as it is.
        let isMoved: Bool

        var isUpdate: Bool { exists && !isMoved }
    }

    private enum Encoding {
        case encoded(EncodedRow)
        /// Nothing differs from the row.
        case unchanged
        /// The object was removed before.
        case removed
        /// It refers to others by now than those that were saved.
        case outdated
    }

    /// Puts into the writer what is to be stored of an object, under its lock.
    private func encodeRow<T: ObjectEntity>(
        of object: T, _ lock: ObjectLock, _ noted: ObjectNotes?, _ binding: Binding, _ mode: SaveMode,
        _ references: ResolvedReferences?
    ) throws(MakoError) -> Encoding {
        lock.lock()
        defer { lock.unlock() }
        let state = ObjectNotes(object._$state)
        // A hook may have removed it.
        if state.flags.contains(.sterile) {
            object._$state.flags.remove(.saving)
            return .removed
        }
        if noted == nil, state.database != 0 && state.database != database.number {
            throw .foreignObject(entity: binding.model.name)
        }
        if binding.hasReferences, let references {
            guard references.resolve(object) else { return .outdated }
            if binding.model.weakColumns != 0 { noteWeakReferences(of: object, binding.model.weakColumns) }
        }
        let exists = state.flags.contains(.exists) && mode == .upsert
        if exists && state.dirty == 0 {
            if noted != nil { object._$state.flags.remove(.saving) }
            return .unchanged
        }
        if !exists { object.assignMissingKey() }
        let changed = state.dirty & ~binding.model.writeOnceColumns
        try encode(object, exists ? changed : .max, binding)
        object._$state.dirty = 0
        guard binding.model.hasColumnKey else {
            let key: RowKey? = state.rowID == 0 ? nil : .rowID(state.rowID)
            return .encoded(
                EncodedRow(state: state, properties: changed, key: key, exists: exists, isMoved: false))
        }
        let key = RowKey(values: object.keyValues())
        // Saving a reference before may have noted the new key already.
        let isMoved = exists && key != (noted ?? state).extra?.key
        if isMoved {
            do throws(MakoError) { try encode(object, .max, binding) } catch {
                object._$state.dirty |= state.dirty
                throw error
            }
        }
        return .encoded(EncodedRow(state: state, properties: changed, key: key, exists: exists, isMoved: isMoved))
    }

    /// - Returns: the key that the row is stored under.
    private func store<T: ObjectEntity>(
        _ row: EncodedRow, of object: T, _ noted: ObjectNotes?, _ binding: Binding, _ mode: SaveMode
    ) throws(MakoError) -> RowKey {
        guard row.isUpdate, let key = row.key else {
            // What the object does not have of its row goes with it.
            let former = row.isMoved ? (noted ?? row.state).extra?.key : nil
            return try enter(binding, row.key, mode, like: former) { (properties) throws(MakoError) in
                try encodeLocking(object, properties, binding)
            }
        }
        let owned = row.properties & binding.model.ownedColumns != 0 ? try self.owned(by: key, binding) : []
        keepWhenNil(binding)
        let wasThere = try table(binding) { (table, tx) throws(RecordError) in
            try table.update(&self.writer, key: key, in: tx, changes: &self.changes, batch: self.batch)
        }
        let stored = wasThere ? key : try rewrite(object, key, binding)
        try noteLetGo(owned, by: stored, binding)
        return stored
    }

    /// Notes in an object that is about to be stored when that is.
    private func stamp<T: ObjectEntity>(_ object: T, _ mode: SaveMode) {
        let (flags, dirty) = object.lockedState { ($0.flags, $0.dirty) }
        let isNew = !flags.contains(.exists) || mode == .insert
        if flags.contains(.sterile) || !isNew && dirty == 0 { return }
        object._$stamp(isNew: isNew, at: date)
    }

    /// Notes who is to be told of what happened to an object's row, and who is not.
    func noteTellings<T: ObjectEntity>(
        of object: T, _ key: RowKey, _ kind: ChangeKind, _ model: EntityModel, _ hooks: ObjectHooks,
        _ options: CommitOptions?
    ) {
        if kind == .delete || options != nil || !hooks.isDisjoint(with: .afterCommit) {
            completions.note(object, kind, hooks, options)
        }
        let isSilent = options?.raisesEvents == false
        if isSilent || !silences.isEmpty {
            silences.append((EventHub.Identity(table: model.table, key: key), isSilent))
        }
        if hub.hasWatchers && hub.isWatched(model) {
            touched[EventHub.Identity(table: model.table, key: key)] = object
            hasTouched = true
        }
    }

    // MARK: Of many

    /// Writes objects of an array as long as they are of one type.
    ///
    /// - Returns: the place of the first one that is not.
    func writePlain<T: ObjectEntity>(
        _ objects: [T], from start: Int, _ plain: PlainType, _ notes: ArrayNotes
    ) throws(MakoError) -> Int {
        let (type, hooks) = (ObjectIdentifier(plain.type), plain.hooks)
        for place in start..<objects.count {
            let object = objects[place]
            guard ObjectIdentifier(Swift.type(of: object)) == type, plain.schema === schema else { return place }
            notes.place = place
            if plain.hasOnlyColumns, try writeChanges(of: object, plain.binding, hooks, notes) { continue }
            _ = try write(object, nil, plain.binding, .upsert, hooks, notes, references: nil)
        }
        return objects.count
    }

    /// Writes what differs of an object from its row, if nothing else is to be done with it: the short way of ``write``.
    private func writeChanges<T: ObjectEntity>(
        of object: T, _ binding: Binding, _ hooks: ObjectHooks, _ notes: ArrayNotes
    ) throws(MakoError) -> Bool {
        let lock = ObjectLock(object)
        lock.lock()
        // Through calls that may change it the state is looked at where it stands; else it is copied, row and all.
        let (dirty, id) = object._$state.plainChanges(in: database.number)
        if dirty == 0 {
            lock.unlock()
            return false
        }
        do throws(MakoError) { try encode(object, dirty, binding) } catch {
            lock.unlock()
            throw error
        }
        object._$state.dirty = 0
        lock.unlock()
        do throws(MakoError) { try encodeRest() } catch {
            object.lockedState { $0.dirty |= dirty }
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
        noteTellings(of: object, key, .update, binding.model, hooks, nil)
        return true
    }

    /// A type whose objects are written as they are: nothing else is saved before them, and nobody is asked.
    struct PlainType {
        let type: any ObjectEntity.Type
        let schema: SchemaState
        let binding: Binding
        let hooks: ObjectHooks

        /// Whether a row is changed by setting columns, whatever it holds, and by nothing else.
        let hasOnlyColumns: Bool

        init(_ type: any ObjectEntity.Type, _ schema: SchemaState, _ binding: Binding, _ hooks: ObjectHooks) {
            (self.type, self.schema, self.binding, self.hooks) = (type, schema, binding, hooks)
            let model = binding.model
            hasOnlyColumns =
                !model.hasColumnKey && !model.hasStamps
                && model.ownedColumns | model.writeOnceColumns | model.keepWhenNilColumns == 0
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
    /// The object has the row under this key.
    fileprivate mutating func noteSaved(_ key: RowKey, _ number: UInt32) {
        setKey(key)
        database = number
        flags = flags.union(.exists).subtracting(.saving)
    }
}
