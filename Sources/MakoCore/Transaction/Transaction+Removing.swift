import MakoRecords
import MakoStorage

/// An object whose row is being removed, and its state before.
struct RemovedObject {
    let object: any ObjectEntity
    let before: ObjectState
}

// The record layer's traversal determines the order of the removals (decision 61). This file adds hooks, undo and
// events of objects.
extension Transaction {
    /// Removes an object's row; the object is deleted afterwards. False when it had no row.
    func remove<T: ObjectEntity>(_ object: T) throws(MakoError) -> Bool {
        let model = Swift.type(of: object).entityModel
        let before = object.lockedState { $0 }
        if before.flags.contains(.removed) || model.isPartial { return false }
        guard let key = before.key, before.flags.contains(.exists) else { return false }
        if before.database != database.number { throw .foreignObject(entity: model.name) }
        // A hook may remove this object again, or another instance of the same row.
        guard begin(RowPlace(try binding(model).table, key)) else { return true }
        return try finishing { () throws(MakoError) in try self.callHook(object, before) }
    }

    /// Removes a row by key. If its class has removal hooks, reads an object so that they are called.
    ///
    /// - Parameter model: the model whose class's hooks apply; nil: that of the table.
    @discardableResult
    func removeCallingHooks(_ row: RowPlace, _ model: EntityModel? = nil) throws(MakoError) -> Bool {
        guard begin(row) else { return false }
        return try finishing { () throws(MakoError) in try self.reach(row, model) }
    }

    /// Removes rows and returns their number: as a set, unless hooks of the rows or the rules of referring rows make
    /// the order matter.
    func removeCallingHooks(_ keys: [RowKey], _ binding: Binding) throws(MakoError) -> Int {
        try settle()
        return try removeCallingHooks(keys, binding.table, binding.model)
    }

    /// - Parameter model: the model whose class's hooks apply; nil: that of the table.
    @discardableResult
    func removeCallingHooks(
        _ keys: [RowKey], _ table: TableHandle, _ model: EntityModel?
    ) throws(MakoError) -> Int {
        if keys.count > 1, try tablesOfSet(table, model) != nil { return try removeSet(keys, of: table) }
        var count = 0
        for key in keys where try removeCallingHooks(RowPlace(table, key), model) { count += 1 }
        return count
    }

    /// Removes a row by its key after applying the delete rules. Calls no hook of the row itself.
    @discardableResult
    func remove(_ key: RowKey, _ binding: Binding) throws(MakoError) -> Bool {
        guard begin(RowPlace(binding.table, key)) else { return false }
        return try finishing { () throws(MakoError) in true }
    }

    // MARK: Sets

    /// Removes objects and returns how many were stored: those of one class as a set, if their order does not matter.
    func remove<T: ObjectEntity>(_ objects: [T]) throws(MakoError) -> Int {
        try settle()
        if let groups = try setsByClass(objects) {
            var count = 0
            for (binding, objects) in groups { count += try removeSet(of: objects, binding) }
            return count
        }
        var count = 0
        for object in objects where try remove(object) { count += 1 }
        return count
    }

    /// The objects by their classes; nil when classes need to be removed object by object, or when the removal of the
    /// objects of one class removes rows of another one.
    private func setsByClass<T: ObjectEntity>(_ objects: [T]) throws(MakoError) -> [(Binding, [T])]? {
        if objects.count < 2 { return nil }
        var places: [ObjectIdentifier: Int] = [:]
        var groups: [(Binding, [T])] = []
        var removed: Set<UInt32> = []
        for object in objects {
            let type = Swift.type(of: object)
            if let place = places[ObjectIdentifier(type)] {
                groups[place].1.append(object)
                continue
            }
            if type.entityModel.isPartial { return nil }
            let binding = try binding(type.entityModel)
            guard let tables = try tablesOfSet(binding.table, binding.model) else { return nil }
            for table in tables where !removed.insert(table.number).inserted { return nil }
            places[ObjectIdentifier(type)] = groups.count
            groups.append((binding, [object]))
        }
        return groups
    }

    private func removeSet<T: ObjectEntity>(of objects: [T], _ binding: Binding) throws(MakoError) -> Int {
        var gone: [RemovedObject] = []
        var keys: [RowKey] = []
        var seen: Set<ObjectIdentifier> = []
        for object in objects {
            let before = object.lockedState { $0 }
            if before.flags.contains(.removed) { continue }
            guard let key = before.key, before.flags.contains(.exists) else { continue }
            if before.database != database.number { throw .foreignObject(entity: binding.model.name) }
            if !seen.insert(ObjectIdentifier(object)).inserted { continue }
            gone.append(RemovedObject(object: object, before: before))
            keys.append(key)
        }
        let count = try removeSet(keys, of: current(binding).table)
        for (removed, key) in zip(gone, keys) { note(removed.object, removed.before, key) }
        return count
    }

    /// The tables that lose rows with rows of a type, if these may be removed as a set: no removal is in progress, no
    /// class of the tables has removal hooks, and the rules of referring rows do not depend on the order.
    private func tablesOfSet(_ table: TableHandle, _ model: EntityModel?) throws(MakoError) -> [TableHandle]? {
        if removal.depth > 0 { return nil }
        if let model, Self.hasRemovalHooks(model) { return nil }
        let tables = try records { () throws(RecordError) in try schema.catalogue.tablesRemoved(with: table, view) }
        for table in tables ?? [] {
            if let other = schema.binding(ofTable: table.schema.name), Self.hasRemovalHooks(other.model) { return nil }
        }
        return tables
    }

    private static func hasRemovalHooks(_ model: EntityModel) -> Bool {
        guard let type = model.type as? any ObjectEntity.Type else { return false }
        return !type._$hooks.isDisjoint(with: .aboutRemoval)
    }

    private func removeSet(_ keys: [RowKey], of table: TableHandle) throws(MakoError) -> Int {
        try willWriteFurtherRows()
        removal.begin(keys, of: table)
        removed.append(nil)
        do throws(MakoError) { return try run(above: 0) } catch {
            unwind(to: 0)
            throw error
        }
    }

    // MARK: The traversal

    /// Begins the removal of a row. False when it is being removed already.
    private func begin(_ row: RowPlace) -> Bool {
        guard removal.begin(row) else { return false }
        removed.append(nil)
        return true
    }

    /// Completes the removal begun last, with all rows that are removed with it.
    ///
    /// - Parameter isToGo: calls the object's hook; false keeps the row.
    /// - Returns: whether the row existed.
    private func finishing(_ isToGo: () throws(MakoError) -> Bool) throws(MakoError) -> Bool {
        let floor = removal.depth - 1
        do throws(MakoError) {
            if try isToGo() { return try run(above: floor) > 0 }
            unwind(to: floor)
            return false
        } catch {
            unwind(to: floor)
            throw error
        }
    }

    private func unwind(to floor: Int) {
        removal.unwind(to: floor)
        removed.removeSubrange(floor...)
    }

    /// - Returns: the number of the deleted rows with which the removal began.
    private func run(above floor: Int) throws(MakoError) -> Int {
        var count = 0
        while let step = try next(above: floor) {
            switch step {
            case .reach(let row):
                removed.append(nil)
                try willWriteFurtherRows()
                if try !reach(row, nil) { unwind(to: removal.depth - 1) }
            case .deny(let referrer, _):
                let target = referrer.target.schema.name
                throw .deniedByReference(
                    entity: schema.binding(ofTable: target)?.model.name ?? target, from: referrer.table.schema.name,
                    property: referrer.column)
            case .clear(let referrer, let rows), .unruled(let referrer, let rows):
                try clear(referrer, rows)
            case .delete(let table, let keys):
                count = try delete(keys, ofTable: table, removed.popLast() ?? nil)
            }
        }
        return count
    }

    private func next(above floor: Int) throws(MakoError) -> RemovalTraversal.Step? {
        try settleReferences()
        return try records { () throws(RecordError) in try removal.next(above: floor, schema.catalogue, view) }
    }

    // MARK: Steps

    /// Calls the removal hook of a row's object, if its class has one. False when the hook refused or the row does not
    /// exist.
    private func reach(_ row: RowPlace, _ model: EntityModel?) throws(MakoError) -> Bool {
        guard let table = schema.catalogue.table(numbered: row.table) else { return false }
        guard let model = model ?? schema.binding(ofTable: table.schema.name)?.model,
            let type = model.type as? any ObjectEntity.Type, !type._$hooks.isDisjoint(with: .aboutRemoval)
        else { return true }
        return try callRemovalHookOfRow(type, row.key, table)
    }

    private func callRemovalHookOfRow<T: ObjectEntity>(
        _ type: T.Type, _ key: RowKey, _ table: TableHandle
    ) throws(MakoError) -> Bool {
        let row: FoundRow?
        if releases.concernHolders(of: table) {
            row = try database.foundRow(type.entityModel, key: key, context: nil)
        } else {
            row = try withoutSettlingLists { () throws(MakoError) in
                try database.foundRow(type.entityModel, key: key, context: nil)
            }
        }
        guard let object = try row?.object(type) else { return false }
        return try callHook(object, object.lockedState { $0 })
    }

    /// Calls the removal hook of an object.
    private func callHook<T: ObjectEntity>(_ object: T, _ before: ObjectState) throws(MakoError) -> Bool {
        let place = removed.count - 1
        let hooks = Swift.type(of: object)._$hooks
        if hooks.contains(.willDelete) {
            object.lockedState { state in _ = state.flags.insert(.removing) }
            defer { object.lockedState { state in _ = state.flags.remove(.removing) } }
            try callHook(.willDelete, object, hooks)
        }
        removed[place] = RemovedObject(object: object, before: before)
        return true
    }

    /// Clears references to removed rows.
    private func clear(_ referrer: Referrer, _ rows: [ReferringRow]) throws(MakoError) {
        if referrer.holdsMany {
            for row in rows { releases.note(row.key, heldBy: row.holder, referrer) }
            return
        }
        try willWriteFurtherRows()
        try tableAlone(referrer.table) { (_, tx) throws(RecordError) in
            try referrer.setNull(rows, &self.writer, tx, &self.changes)
        }
    }

    private func delete(
        _ keys: [RowKey], ofTable number: UInt32, _ removed: RemovedObject?
    ) throws(MakoError) -> Int {
        guard let table = schema.catalogue.table(numbered: number) else { return 0 }
        // Before an entry of the object itself: the last entry of a row applies.
        if !events.isEmpty {
            for key in keys { events.setSilent(false, EventHub.Identity(table: table.schema.name, key: key)) }
        }
        let owned = try owned(by: keys, of: table)
        let count = try tableAlone(table) { (table, tx) throws(RecordError) in
            try table.delete(keys, in: tx, changes: &self.changes, cancellation: CurrentCancellation.current)
        }
        noteReleased(owned, keeping: [])
        if let removed, let key = keys.first { note(removed.object, removed.before, key) }
        return count
    }

    private func note<T: ObjectEntity>(_ object: T, _ before: ObjectState, _ key: RowKey) {
        let type = Swift.type(of: object)
        undo.recordState(of: object, before)
        object.lockedState { state in
            state.flags.insert(.removed)
            state.flags.remove(.exists)
        }
        noteNotifications(of: object, key, .delete, type.entityModel, type._$hooks, before.extra?.options)
    }
}
