import MakoRecords
import MakoStorage

/// How a row is to be stored.
enum SaveMode { case upsert, insert }

extension Transaction {
    /// Saves an object and the objects its references hold, circles included. False: the object was removed before.
    ///
    /// - Parameter array: the array the object stands in, when it is saved with others.
    @discardableResult
    func save<T: ObjectEntity>(
        _ object: T, _ mode: SaveMode = .upsert, in array: ArrayNotes? = nil
    ) throws(MakoError) -> Bool {
        let type = Swift.type(of: object)
        if type.entityModel.isPartial && !sabotaged("partStored") { return false }
        var binding = try binding(type.entityModel)
        let hooks = type._$hooks
        if !binding.hasReferences && hooks.isDisjoint(with: .beforeWriting) {
            return try write(object, nil, binding, mode, hooks, array, references: nil) ?? false
        }
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
            if !hooks.isDisjoint(with: .beforeWriting) {
                try askToWrite(object, before, mode, hooks)
                binding = current(binding)
            }
            var references = ResolvedReferences()
            while true {
                if binding.hasReferences {
                    try saveReferences(of: object, binding, &references)
                    binding = current(binding)
                }
                guard
                    let isWritten = try write(
                        object, ObjectNotes(before), binding, mode, hooks, array, references: references)
                else { continue }
                // What could not be stored is to be stored by a later commit.
                if references.leftOut != 0 { object.lockedState { $0.dirty |= references.leftOut } }
                return isWritten
            }
        } catch {
            object.lockedState { state in _ = state.flags.remove(.saving) }
            throw error
        }
    }

    /// Calls the hook that may refuse what is about to be written.
    private func askToWrite<T: ObjectEntity>(
        _ object: T, _ state: ObjectState, _ mode: SaveMode, _ hooks: ObjectHooks
    ) throws(MakoError) {
        if !state.flags.contains(.exists) || mode == .insert {
            try ask(.willInsert, object, hooks)
        } else if state.dirty != 0 {
            try ask(.willUpdate, object, hooks)
        }
    }

    /// Calls a hook that may refuse, if the object has it.
    func ask<T: ObjectEntity>(_ hook: ObjectHooks, _ object: T, _ hooks: ObjectHooks) throws(MakoError) {
        guard hooks.contains(hook) else { return }
        // What the hook writes, in rows and in properties, is part of the call.
        try willWriteFurtherRows()
        _ = undo.savepoint()
        if object._$call(hook) || sabotaged("vetoIgnored") { return }
        throw .vetoed(entity: Swift.type(of: object).entityModel.name, hook: hook.name)
    }

    /// Saves many objects: what each index is to have of them is sorted first.
    func save<T: ObjectEntity>(_ objects: [T]) throws(MakoError) {
        if objects.count < Transaction.smallestBatch {
            for object in objects { try save(object) }
            return
        }
        try batching { () throws(MakoError) in
            let notes = undo.begin(objects)
            var place = 0
            while place < objects.count {
                notes.place = place
                try save(objects[place], in: notes)
                // Nearly always the others are of the same type.
                let plain = plainType(of: objects[place])
                place += 1
                if let plain { place = try writePlain(objects, from: place, plain, notes) }
            }
        }
    }

    /// Writes objects of an array as long as they are of one type.
    ///
    /// - Returns: the place of the first one that is not.
    private func writePlain<T: ObjectEntity>(
        _ objects: [T], from start: Int, _ plain: PlainType, _ notes: ArrayNotes
    ) throws(MakoError) -> Int {
        let (type, hooks) = (ObjectIdentifier(plain.type), plain.hooks)
        for place in start..<objects.count {
            let object = objects[place]
            guard ObjectIdentifier(Swift.type(of: object)) == type || sabotaged("arrayTakenForOneType"),
                plain.schema === schema
            else { return place }
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
        if !sabotaged("dirtyKeptAfterSaving") { object._$state.dirty = 0 }
        lock.unlock()
        do throws(MakoError) { try encodeRest() } catch {
            object.lockedState { $0.dirty |= dirty }
            throw error
        }
        notes.noteChanged(dirty)
        let key = RowKey.rowID(id)
        let wasThere = try table(binding) { (table, tx) throws(RecordError) in
            try table.update(&self.writer, key: key, in: tx, changes: &self.changes, batch: self.batch)
        }
        if !wasThere && !sabotaged("missingRowStaysMissing") { _ = try rewrite(object, key, binding) }
        noteTellings(of: object, key, .update, binding.model, hooks, nil)
        return true
    }

    /// A type whose objects are written as they are: nothing else is saved before them, and nobody is asked.
    private struct PlainType {
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

    private func plainType<T: ObjectEntity>(of object: T) -> PlainType? {
        let type = Swift.type(of: object)
        guard !type.entityModel.isPartial, let binding = schema.binding(type.entityModel), !binding.hasReferences
        else { return nil }
        let hooks = type._$hooks
        return hooks.isDisjoint(with: .beforeWriting)
            ? PlainType(type, schema, binding, hooks) : nil
    }

    /// With fewer, sorting gains nothing.
    private static var smallestBatch: Int { 16 }

    /// Saves what the references hold and notes the keys. Whoever writes the object looks under its lock whether they still hold the same.
    private func saveReferences<T: ObjectEntity>(
        of object: T, _ binding: Binding, _ references: inout ResolvedReferences
    ) throws(MakoError) {
        let options = object.lockedState { $0.extra?.options }
        let weak = binding.model.weakColumns
        var held: [(property: Int, object: any ObjectEntity)] = []
        ObjectLock(object).locked { object.visitReferences { held.append(($0, $1)) } }
        for (property, child) in held {
            let place = ResolvedReferences.Place(property: property, object: ObjectIdentifier(child))
            if references.keys[place] != nil { continue }
            try checkTarget(of: property, child, binding.model)
            let isWeak = weak & 1 << UInt64(property) != 0 && !sabotaged("weakObjectsCommitted")
            if !isWeak, options?.ignores(child) != true {
                references.keys[place] = try savedKey(of: child, parent: object, current(binding)) ?? .noRow
            } else if let key = try keyOfIgnored(child) {
                references.keys[place] = key
            } else {
                references.leftOut |= 1 << UInt64(property)
                // A key from before, of a row that is gone or never came, must not be stored.
                references.keys[place] = .noRow
            }
        }
        references.objects += held.map(\.object)
    }

    /// A weak reference that has its object's key lets go of the object, and a rollback may take the key. Under the object's lock.
    private func noteWeakReferences<T: ObjectEntity>(of object: T, _ columns: UInt64) {
        object.visitReferences { property, child in
            guard columns & 1 << UInt64(property) != 0, !sabotaged("weakReferenceNotRolledBack") else { return }
            undo.record(object) {
                ObjectLock(object).locked { object.resolveReference(property, to: child, key: .noRow) }
            }
        }
    }

    /// A column of keys says nothing of tables: an object of a subclass has its row in another one.
    func checkTarget(
        of property: Int, _ child: any ObjectEntity, _ model: EntityModel
    ) throws(MakoError) {
        guard case .column(_, _, _, let target?) = model.columns[property].kind,
            !Swift.type(of: child).entityModel.hasTable(of: target.entityModel)
        else { return }
        throw .unsupported(
            "\(model.name).\(model.columns[property].name) referring to a \(Swift.type(of: child).entityModel.name), "
                + "a subclass of \(target.entityModel.name), (mark the property @Relationship(.subclasses), or write "
                + "'(any ObjectEntity)?', for a collection an entity in between)")
    }

    /// The key of a referenced object that is not to be saved along.
    private func keyOfIgnored(_ child: any ObjectEntity) throws(MakoError) -> RowKey? {
        let state = child.lockedState { $0 }
        if state.database != 0 && state.database != database.number {
            throw .foreignObject(entity: Swift.type(of: child).entityModel.name)
        }
        // One that is being saved, and led here, has its key before its row.
        return state.flags.isDisjoint(with: [.exists, .saving]) ? nil : state.key
    }

    /// The key of a referenced object, which is saved first when it is new or changed.
    private func savedKey<T: ObjectEntity>(
        of child: any ObjectEntity, parent: T, _ binding: Binding
    ) throws(MakoError) -> RowKey? {
        let state = child.lockedState { $0 }
        // A row that is gone, or that was rolled back, must not be referred to by the number it had.
        if state.flags.contains(.sterile) { return .noRow }
        let isClean = state.flags.contains(.exists) && state.dirty == 0
        if isClean && state.database == database.number, let key = state.key {
            if try !isLetGo(key, Swift.type(of: child).entityModel) { return key }
            undo.recordState(of: child, state)
            child.lockedState { state in
                state.flags.remove(.exists)
                state.dirty = .max
            }
        }
        if state.database != 0 && state.database != database.number {
            throw .foreignObject(entity: Swift.type(of: child).entityModel.name)
        }
        // The child may lead back here: then it needs this object's key.
        if try storedOrAssignedKey(of: parent, binding) == nil {
            let id: Int64
            if let known = try rowOfIdentity(of: parent, binding)?.rowID {
                id = known
            } else {
                id = try turn.with { (tx: borrowing WriteTransaction) throws(MakoError) in
                    try records { () throws(RecordError) in try binding.table.reserveRowID(in: tx) }
                }
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
    /// - Parameters:
    ///   - noted: what the object's notes were before its references were saved; nil: it has no references.
    ///   - references: the keys of the objects that it refers to.
    /// - Returns: false when the object was removed before; nil when it refers to others by now, which must be saved first.
    private func write<T: ObjectEntity>(
        _ object: T, _ noted: ObjectNotes?, _ binding: Binding, _ mode: SaveMode, _ hooks: ObjectHooks,
        _ array: ArrayNotes?, references: ResolvedReferences?
    ) throws(MakoError) -> Bool? {
        if isEncoding { throw .unsupported("saving an object while another one is being written") }
        if binding.model.hasStamps && !sabotaged("stampsLeftOut") { stamp(object, mode) }
        let lock = ObjectLock(object)
        lock.lock()
        let state = ObjectNotes(object._$state)
        // A hook may have removed it.
        if state.flags.contains(.sterile) {
            object._$state.flags.remove(.saving)
            lock.unlock()
            return false
        }
        if noted == nil, state.database != 0 && state.database != database.number {
            lock.unlock()
            throw .foreignObject(entity: binding.model.name)
        }
        if binding.hasReferences, let references, !sabotaged("referencesNotLookedAtAgain") {
            guard references.resolve(object) else {
                lock.unlock()
                return nil
            }
            if binding.model.weakColumns != 0 { noteWeakReferences(of: object, binding.model.weakColumns) }
        }
        let exists = state.flags.contains(.exists) && mode == .upsert
        if exists && state.dirty == 0 {
            if noted != nil { object._$state.flags.remove(.saving) }
            lock.unlock()
            return true
        }
        if !exists { object.assignMissingKey() }
        let updated = state.dirty & ~(sabotaged("writeOnceRewritten") ? 0 : binding.model.writeOnceColumns)
        do throws(MakoError) { try encode(object, exists ? updated : .max, binding) } catch {
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
        do throws(MakoError) { try encodeRest() } catch {
            object.lockedState { $0.dirty |= state.dirty }
            throw error
        }
        let options = state.extra?.options
        // Saving changes nothing of its notes but which properties are dirty.
        let isPlain = exists && !moved && state.database == database.number && options == nil
        if let array, isPlain {
            array.noteChanged((noted ?? state).dirty)
        } else if let array {
            array.note(noted ?? state)
        } else {
            undo.record(object, noted ?? state)
        }

        var stored: RowKey
        if exists, !moved, let key {
            stored = key
            let owned = updated & binding.model.ownedColumns != 0 ? try self.owned(by: key, binding) : []
            keepWhenNil(binding)
            let wasThere = try table(binding) { (table, tx) throws(RecordError) in
                try table.update(&self.writer, key: key, in: tx, changes: &self.changes, batch: self.batch)
            }
            if !wasThere && !sabotaged("missingRowStaysMissing") { stored = try rewrite(object, key, binding) }
            try noteLetGo(owned, by: stored, binding)
        } else {
            // What the object does not have of its row goes with it.
            let former = moved && !sabotaged("movedRowLeavesColumns") ? (noted ?? state).extra?.key : nil
            stored = try enter(binding, key, mode, like: former) { (properties) throws(MakoError) in
                try encodeLocking(object, properties, binding)
            }
        }
        if !exists || moved { noteStoredAnew(stored, binding) }
        if !isPlain || noted != nil {
            lock.lock()
            object._$state.noteSaved(stored, database.number)
            if options?.resetsAfterCommit == true { object._$state.setOptions(nil) }
            lock.unlock()
        }
        if !exists || moved { object.tellObservers(0) }
        noteTellings(of: object, stored, exists && !moved ? .update : .insert, binding.model, hooks, options)
        return true
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

    /// Stores the whole row that is in the writer. Where an upsert meets a row of the same key or identity, that row takes the values.
    ///
    /// - Parameters:
    ///   - former: the row that the object had; a new one takes from it what the object does not write.
    ///   - encode: puts some properties into the writer anew.
    private func enter(
        _ binding: Binding, _ given: RowKey?, _ mode: SaveMode, like former: RowKey? = nil,
        _ encode: (UInt64) throws(MakoError) -> Void
    ) throws(MakoError) -> RowKey {
        let key = binding.model.hasColumnKey ? nil : given
        if mode == .upsert && binding.mergesUpserts, let known = try knownRow(binding, given) {
            let owned = try self.owned(by: known, binding)
            try encode(~binding.model.writeOnceColumns)
            keepWhenNil(binding)
            let wasThere = try table(binding) { (table, tx) throws(RecordError) in
                try table.update(&self.writer, key: known, in: tx, changes: &self.changes, batch: self.batch)
            }
            try noteLetGo(owned, by: known, binding)
            if wasThere { return known }
            try encode(.max)
        }
        // An upsert may meet a row that has its key.
        let owned = mode == .upsert ? try self.owned(by: given, binding) : []
        if former != nil { keepWhenNil(binding) }
        let stored = try store(binding, key, mode, like: former)
        try noteLetGo(owned, by: stored, binding)
        return stored
    }

    /// The row with the identity of an object that has none of its own yet.
    private func rowOfIdentity<T: ObjectEntity>(of object: T, _ binding: Binding) throws(MakoError) -> RowKey? {
        guard binding.identityIndex != nil else { return nil }
        try encodeLocking(object, .max, binding)
        return try knownRow(binding, nil)
    }

    /// The row that the row in the writer stands for: that with its key, else that with its identity.
    private func knownRow(_ binding: Binding, _ given: RowKey?) throws(MakoError) -> RowKey? {
        if given != nil { return given }
        guard let index = binding.identityIndex, !sabotaged("identityInsertsAnew") else { return nil }
        try settle()
        return try records { () throws(RecordError) in
            try binding.table.owner(of: &self.writer, inUnique: index, view: self.view)
        }
    }

    /// Has the stored row keep what it has in place of nil, where the model says so.
    func keepWhenNil(_ binding: Binding) {
        let columns = binding.model.keepWhenNilColumns
        if columns != 0 && !sabotaged("nilNotKept") { writer.unsetNulls(columns) }
    }

    /// Begins a row and has the object, which is locked, fill it: with what takes no code but Mako's. ``encodeRest()`` does what is left.
    private func encode<T: Entity>(_ object: T, _ properties: UInt64, _ binding: Binding) throws(MakoError) {
        if isEncoding { throw .unsupported("saving an object while another one is being written") }
        isEncoding = true
        defer { isEncoding = false }
        writer.begin(binding.layout)
        try object.encode(into: &writer, properties: properties)
    }

    /// Encodes the values of the row that need the user's code, such as `Codable`, as they were when it was begun. Nothing is locked: that code
    /// may read any object, and two objects may share a lock.
    private func encodeRest() throws(MakoError) {
        isEncoding = true
        defer { isEncoding = false }
        do { try writer.writeRest() } catch { throw MakoError(any: error) }
    }

    private func encodeLocking<T: ObjectEntity>(
        _ object: T, _ properties: UInt64, _ binding: Binding
    ) throws(MakoError) {
        let lock = ObjectLock(object)
        lock.lock()
        do throws(MakoError) { try encode(object, properties, binding) } catch {
            lock.unlock()
            throw error
        }
        lock.unlock()
        try encodeRest()
    }

    private func encodeWhole<T: Entity>(
        _ value: T, _ properties: UInt64, _ binding: Binding
    ) throws(MakoError) {
        try encode(value, properties, binding)
        try encodeRest()
    }

    /// Stores the row in the writer, new or in the place of the one with its key.
    private func store(
        _ binding: Binding, _ key: RowKey?, _ mode: SaveMode, like former: RowKey? = nil
    ) throws(MakoError) -> RowKey {
        try table(binding) { (table, tx) throws(RecordError) in
            mode == .insert
                ? try table.insert(&self.writer, key: key, in: tx, changes: &self.changes, batch: self.batch)
                : try table.put(
                    &self.writer, key: key, like: former, in: tx, changes: &self.changes, batch: self.batch)
        }
    }

    /// The row of an object that existed is gone: the whole object is stored again.
    private func rewrite<T: ObjectEntity>(_ object: T, _ key: RowKey, _ binding: Binding) throws(MakoError) -> RowKey {
        try encodeLocking(object, .max, binding)
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
        // A row may come again under a key that lists are still to lose.
        if !releases.isEmpty && releases.concern(table) && !sabotaged("listLosesWhatCameAgain") { try settle() }
        return try tableAlone(table, body)
    }

    /// The same for a change that leaves alone what waits to be done.
    func tableAlone<R>(
        _ table: TableHandle, _ body: (TableHandle, borrowing WriteTransaction) throws(RecordError) -> R
    ) throws(MakoError) -> R {
        // A value's own code runs while a row is made.
        if isEncoding { throw .unsupported("changing rows while an object is being written") }
        return try turn.with { (tx: borrowing WriteTransaction) throws(MakoError) -> R in
            do throws(RecordError) { return try body(table, tx) } catch { throw MakoError(error) }
        }
    }

    /// Nothing is changed through a model that shows a part of a table.
    func refusePartial(_ model: EntityModel) throws(MakoError) {
        if model.isPartial {
            throw .unsupported("storing or removing through \(model.name), which shows a part of \(model.table) only,")
        }
    }

    // MARK: - Structs

    func save<T: Entity>(_ value: inout T, _ mode: SaveMode = .upsert) throws(MakoError) {
        if let object = value as? any ObjectEntity {
            try save(object, mode)
            return
        }
        try refusePartial(T.entityModel)
        var binding = try binding(T.entityModel)
        if value._$value.database != 0 && value._$value.database != database.number {
            throw .foreignObject(entity: T.entityModel.name)
        }
        if binding.hasReferences {
            var held: [(property: Int, object: any ObjectEntity)] = []
            value.visitReferences { held.append(($0, $1)) }
            for (property, child) in held {
                try checkTarget(of: property, child, binding.model)
                try willWriteFurtherRows()
                try save(child)
                value.resolveReference(property, to: child, key: child.storedKey ?? .noRow)
            }
            if binding.holdsValues { try saveHeldValues(of: &value, binding.model) }
            binding = current(binding)
        }
        value.assignMissingKey()
        if binding.model.hasStamps { value._$stamp(isNew: value._$value.database == 0, at: date) }
        try encodeWhole(value, .max, binding)
        let given: RowKey? =
            binding.model.hasColumnKey
            ? binding.mergesUpserts ? RowKey(values: value.keyValues()) : nil
            : value.rowNumber == 0 ? nil : .rowID(value.rowNumber)
        let copy = value
        let stored = try enter(binding, given, mode) { (properties) throws(MakoError) in
            try encodeWhole(copy, properties, binding)
        }
        if case .rowID(let id) = stored { value.rowNumber = id }
        value._$value.database = database.number
    }

    /// Saves many structs, as ``save(_:)-(_)`` does with objects.
    func save<T: Entity>(_ values: inout [T]) throws(MakoError) {
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
