import MakoRecords
import MakoStorage

/// How a row is stored.
enum SaveMode { case upsert, insert }

extension Transaction {
    /// Saves an object and all new and changed objects that its loaded references reach. False when a hook
    /// removed the object meanwhile.
    ///
    /// - Throws: `MakoError.deleted` when the object was removed before.
    @discardableResult
    func saveGraph<T: ObjectEntity>(of object: T, _ mode: SaveMode = .upsert) throws(MakoError) -> Bool {
        try saving { (graph) throws(MakoError) in try save(object, mode, in: nil, &graph) }
    }

    /// Runs a call that saves objects or structs, and saves the members that they were given.
    ///
    /// Keys without rows are checked at the end of the outermost call, because a call inside another, as from a hook, may
    /// refer to rows that come with the other.
    private func saving<R>(_ body: (inout SavedGraph) throws(MakoError) -> R) throws(MakoError) -> R {
        let isOutermost = unmatched == nil
        if isOutermost { unmatched = UnmatchedReferences() }
        defer { if isOutermost { unmatched = nil } }
        var graph = SavedGraph()
        let result = try body(&graph)
        try saveMembers(&graph)
        if isOutermost, let unmatched { try unmatched.finish(self) }
        return result
    }

    /// The error of saving an object that was removed before, or that replaces one that could not be read.
    func errorOfSavingDeleted<T: ObjectEntity>(_ object: T) -> MakoError {
        let state = object.lockedState { $0 }
        // Only an object that was never stored is of no database.
        if state.database == 0, let error = state.extra?.loadError { return error }
        let model = Swift.type(of: object).entityModel
        return .deleted(entity: model.name, key: state.key?.text(in: try? model.schema()) ?? "none")
    }

    /// Calls the hook that can refuse the write.
    func callWriteHook<T: ObjectEntity>(
        _ object: T, _ state: ObjectState, _ mode: SaveMode, _ hooks: ObjectHooks
    ) throws(MakoError) {
        if !state.flags.contains(.exists) || mode == .insert {
            try callHook(.willInsert, object, hooks)
        } else if !state.dirty.isEmpty {
            try callHook(.willUpdate, object, hooks)
        }
    }

    /// Calls a hook that can refuse, if the object has it.
    func callHook<T: ObjectEntity>(_ hook: ObjectHooks, _ object: T, _ hooks: ObjectHooks) throws(MakoError) {
        guard hooks.contains(hook) else { return }
        // Row and property changes of the hook belong to the call.
        try willWriteFurtherRows()
        _ = undo.savepoint()
        if object._$call(hook) { return }
        throw .vetoed(entity: Swift.type(of: object).entityModel.name, hook: hook.name)
    }

    /// Saves many objects. Sorts the new entries of each index first.
    func saveGraphs<T: ObjectEntity>(of objects: [T]) throws(MakoError) {
        try saving { (graph) throws(MakoError) in
            if objects.count < Transaction.smallestBatch {
                for object in objects { try save(object, .upsert, in: nil, &graph) }
                return
            }
            try batching { () throws(MakoError) in
                let notes = undo.begin(objects)
                var place = 0
                while place < objects.count {
                    notes.place = place
                    try save(objects[place], .upsert, in: notes, &graph)
                    // The common case: the following objects have the same type.
                    let plain = plainType(of: objects[place])
                    place += 1
                    if let plain { place = try writePlain(objects, from: place, plain, notes) }
                }
            }
        }
    }

    /// For fewer objects sorting does not pay off.
    private static var smallestBatch: Int { 16 }

    /// A weak reference releases its object when it gets the key, which a rollback may revoke: record the object. The
    /// caller holds the object's lock.
    func noteWeakReferences<T: ObjectEntity>(of object: T, _ columns: PropertySet) {
        object.visitReferences { property, child in
            guard columns.contains(property) else { return }
            undo.recordLast(object) {
                let key = child.isDeletedObject ? .noRow : child.storedKey ?? .unsaved
                ObjectLock(object).locked { object.resolveReference(property, to: child, key: key) }
            }
        }
    }

    /// A reference column stores no table: an object of a subclass, which has another table, is refused.
    func checkTarget(
        of property: Int, _ child: any ObjectEntity, _ model: EntityModel
    ) throws(MakoError) {
        guard case .column(_, _, _, let target?) = model.columns[property].kind,
            !Swift.type(of: child).entityModel.hasTable(of: target.entityModel)
        else { return }
        throw .unsupported(
            "\(model.name).\(model.columns[property].name) referring to a \(Swift.type(of: child).entityModel.name), "
                + "a subclass of \(target.entityModel.name) (mark the property @Relationship(.subclasses), or write "
                + "'(any ObjectEntity)?', for a collection '[any ObjectEntity]')")
    }

    // MARK: - Structs

    func saveValue<T: Entity>(_ value: inout T, _ mode: SaveMode = .upsert) throws(MakoError) {
        try saving { (graph) throws(MakoError) in try save(&value, mode, &graph) }
    }

    private func save<T: Entity>(
        _ value: inout T, _ mode: SaveMode, _ graph: inout SavedGraph
    ) throws(MakoError) {
        if let object = value as? any ObjectEntity {
            _ = try save(object, mode, in: nil, &graph)
            return
        }
        try refusePartial(T.entityModel)
        var binding = try binding(T.entityModel)
        if value._$value.database != 0 && value._$value.database != database.number {
            throw .foreignObject(entity: T.entityModel.name)
        }
        // The key detects a struct that contains itself.
        value.assignMissingKey()
        if binding.hasReferences {
            var held: [(property: Int, object: any ObjectEntity)] = []
            value.visitReferences { held.append(($0, $1)) }
            for (property, child) in held {
                try checkTarget(of: property, child, binding.model)
                try willWriteFurtherRows()
                if !child.isDeletedObject {
                    try noteIfRowGone(child, &graph)
                    _ = try save(child, .upsert, in: nil, &graph)
                }
                value.resolveReference(
                    property, to: child, key: child.isDeletedObject ? .lastRemoved : child.storedKey ?? .noRow)
            }
            if binding.holdsValues { try saveHeldValues(of: &value, binding.model) }
            binding = current(binding)
            try noteUnmatched(of: value, binding, besides: held.map(\.property))
        }
        if binding.model.hasStamps { value._$stamp(isNew: value._$value.database == 0, at: date) }
        do throws(MakoError) { try store(&value, mode, binding) } catch {
            let key: RowKey? =
                binding.model.hasColumnKey
                ? RowKey(values: value.keyValues()) : value._$rowNumber == 0 ? nil : .rowID(value._$rowNumber)
            throw error.naming(binding.model, key)
        }
    }

    private func store<T: Entity>(_ value: inout T, _ mode: SaveMode, _ binding: Binding) throws(MakoError) {
        try encodeWhole(value, .all, binding)
        let given: RowKey? =
            binding.model.hasColumnKey
            ? binding.mergesUpserts ? RowKey(values: value.keyValues()) : nil
            : value._$rowNumber == 0 ? nil : .rowID(value._$rowNumber)
        let copy = value
        let stored = try enter(binding, given, mode) { (properties) throws(MakoError) in
            try encodeWhole(copy, properties, binding)
        }
        if case .rowID(let id) = stored { value._$rowNumber = id }
        value._$value.database = database.number
    }

    /// Saves many structs, as ``saveGraphs(of:)`` does with objects.
    func saveValues<T: Entity>(_ values: inout [T]) throws(MakoError) {
        try saving { (graph) throws(MakoError) in
            if values.count < Transaction.smallestBatch {
                for index in values.indices { try save(&values[index], .upsert, &graph) }
                return
            }
            try batching { () throws(MakoError) in
                for index in values.indices { try save(&values[index], .upsert, &graph) }
            }
        }
    }
}

extension ObjectEntity {
    /// Whether the object was removed, so that it cannot be saved.
    var isDeletedObject: Bool { lockedState { $0.flags.contains(.removed) } }
}
