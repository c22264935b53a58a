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
    @discardableResult
    func removeCallingHooks(_ key: RowKey, _ binding: Binding) throws(MakoError) -> Bool {
        try removeCallingHooks(RowPlace(binding.table, key), binding.model)
    }

    /// - Parameter model: the model whose class's hooks apply; nil: that of the table.
    @discardableResult
    func removeCallingHooks(_ row: RowPlace, _ model: EntityModel? = nil) throws(MakoError) -> Bool {
        guard begin(row) else { return false }
        return try finishing { () throws(MakoError) in try self.reach(row, model) }
    }

    /// Removes rows as ``removeTelling(_:_:)`` does and returns their number.
    func removeCallingHooks(_ keys: [RowKey], _ binding: Binding) throws(MakoError) -> Int {
        try settle()
        if concernsRowsAlone(binding) {
            return try table(binding) { (table, tx) throws(RecordError) in
                try table.delete(keys, in: tx, changes: &self.changes)
            }
        }
        var count = 0
        for key in keys where try removeCallingHooks(key, current(binding)) { count += 1 }
        return count
    }

    /// Removes a row by its key after applying the delete rules. Calls no hook of the row itself.
    @discardableResult
    func remove(_ key: RowKey, _ binding: Binding) throws(MakoError) -> Bool {
        guard begin(RowPlace(binding.table, key)) else { return false }
        return try finishing { () throws(MakoError) in true }
    }

    /// Whether rows of the table have no removal hooks, no referring columns and no owned rows.
    private func concernsRowsAlone(_ binding: Binding) -> Bool {
        if let type = binding.model.type as? any ObjectEntity.Type, !type._$hooks.isDisjoint(with: .aboutRemoval) {
            return false
        }
        return binding.referrers.isEmpty && binding.owned == nil && suppressedEvents.isEmpty
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
            if try isToGo() { return try run(above: floor) }
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

    private func run(above floor: Int) throws(MakoError) -> Bool {
        var wasThere = false
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
            case .clear(let referrer, let holders, let row), .unruled(let referrer, let holders, let row):
                try clear(referrer, holders, of: row.key)
            case .delete(let row):
                wasThere = try delete(row, removed.removeLast())
            }
        }
        return wasThere
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

    /// Clears references to a removed row.
    private func clear(_ referrer: Referrer, _ holders: [RowKey], of key: RowKey) throws(MakoError) {
        if referrer.holdsMany {
            for holder in holders { releases.note(key, heldBy: holder, referrer) }
            return
        }
        try willWriteFurtherRows()
        for holder in holders {
            writer.begin(referrer.layout)
            writer.setNull(0)
            _ = try tableAlone(referrer.table) { (table, tx) throws(RecordError) in
                try table.update(&self.writer, key: holder, in: tx, changes: &self.changes)
            }
        }
    }

    private func delete(_ row: RowPlace, _ removed: RemovedObject?) throws(MakoError) -> Bool {
        guard let table = schema.catalogue.table(numbered: row.table) else { return false }
        // Before an entry of the object itself: the last entry of a row applies.
        if !suppressedEvents.isEmpty {
            suppressedEvents.append((EventHub.Identity(table: table.schema.name, key: row.key), false))
        }
        let owned = try owned(by: row.key, of: table)
        let wasThere = try tableAlone(table) { (table, tx) throws(RecordError) in
            try table.delete(row.key, in: tx, changes: &self.changes)
        }
        noteReleased(owned, keeping: [])
        if let removed { note(removed.object, removed.before, row.key) }
        return wasThere
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
