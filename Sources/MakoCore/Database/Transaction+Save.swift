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
    func noteWeakReferences<T: ObjectEntity>(of object: T, _ columns: UInt64) {
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
        do throws(MakoError) { try store(&value, mode, binding) } catch {
            let key: RowKey? =
                binding.model.hasColumnKey
                ? RowKey(values: value.keyValues()) : value.rowNumber == 0 ? nil : .rowID(value.rowNumber)
            throw error.naming(binding.model, key)
        }
    }

    private func store<T: Entity>(_ value: inout T, _ mode: SaveMode, _ binding: Binding) throws(MakoError) {
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
