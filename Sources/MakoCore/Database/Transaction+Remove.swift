import MakoRecords
import MakoStorage

extension Transaction {
    /// Removes an object's row; the object is sterile afterwards. False: it had none.
    func remove<T: ObjectEntity>(_ object: T) throws(MakoError) -> Bool {
        let model = Swift.type(of: object).entityModel
        let before = object.lockedState { $0 }
        if before.flags.contains(.sterile) || model.isPartial { return false }
        guard let key = before.key, before.flags.contains(.exists) else { return false }
        if before.database != database.number { throw .foreignObject(entity: model.name) }
        let binding = try binding(model)
        let hooks = Swift.type(of: object)._$hooks
        if hooks.contains(.willDelete) {
            // The hook may lead back here.
            if before.flags.contains(.removing) { return true }
            object.lockedState { state in _ = state.flags.insert(.removing) }
            defer { object.lockedState { state in _ = state.flags.remove(.removing) } }
            try ask(.willDelete, object, hooks)
        }
        let wasThere = try remove(key, current(binding))
        undo.recordState(of: object, before)
        object.lockedState { state in
            if !sabotaged("removedObjectNotSterile") { state.flags.insert(.sterile) }
            state.flags.remove(.exists)
        }
        noteTellings(of: object, key, .delete, model, hooks, before.extra?.options)
        return wasThere
    }

    /// Removes a row nobody holds an object of: where its class has hooks about that, an object is read, so that they are called.
    @discardableResult
    func removeTelling(_ key: RowKey, _ binding: Binding) throws(MakoError) -> Bool {
        guard let type = binding.model.type as? any ObjectEntity.Type, !type._$hooks.isDisjoint(with: .aboutRemoval),
            !sabotaged("hooksOfRowsSkipped")
        else { return try remove(key, binding) }
        return try removeLoaded(type, key)
    }

    /// Removes many rows as ``removeTelling(_:_:)`` does each; answers how many there were.
    func removeTelling(_ keys: [RowKey], _ binding: Binding) throws(MakoError) -> Int {
        try settle()
        if concernsRowsAlone(binding) {
            return try table(binding) { (table, tx) throws(RecordError) in
                try table.delete(keys, in: tx, changes: &self.changes)
            }
        }
        var count = 0
        for key in keys where try removeTelling(key, current(binding)) { count += 1 }
        return count
    }

    /// Whether a row of the table goes without a hook to be called, anything that refers to it and anything that it owns.
    private func concernsRowsAlone(_ binding: Binding) -> Bool {
        if let type = binding.model.type as? any ObjectEntity.Type, !type._$hooks.isDisjoint(with: .aboutRemoval) {
            return false
        }
        return binding.referrers.isEmpty && binding.model.ownedColumns == 0 && silences.isEmpty
    }

    private func removeLoaded<T: ObjectEntity>(_ type: T.Type, _ key: RowKey) throws(MakoError) -> Bool {
        let model = type.entityModel
        let row: FoundRow?
        if releases.concernHolders(inTable: model.table) {
            row = try database.foundRow(model, key: key, context: nil)
        } else {
            row = try withoutSettlingLists { () throws(MakoError) in
                try database.foundRow(model, key: key, context: nil)
            }
        }
        guard let object = try row?.object(type) else { return false }
        return try remove(object)
    }

    /// Removes a row by its key, after what refers to it was dealt with by the relationships' delete rules.
    @discardableResult
    func remove(_ key: RowKey, _ binding: Binding) throws(MakoError) -> Bool {
        try settleIndexes()
        let row = EventHub.Identity(table: binding.model.table, key: key)
        if !binding.referrers.isEmpty {
            // Rows may refer to each other in a circle of cascades.
            guard removing.insert(row).inserted else { return false }
        }
        defer { removing.remove(row) }
        let binding = try release(from: key, binding)
        // Who asked for silence is noted after this.
        if !silences.isEmpty { silences.append((row, false)) }
        let owned = try owned(by: key, binding)
        let wasThere = try tableAlone(binding.table) { (table, tx) throws(RecordError) in
            try table.delete(key, in: tx, changes: &self.changes)
        }
        try noteLetGo(owned, by: key, binding)
        return wasThere
    }

    /// Deals with what refers to a row, also with what hooks have brought into use meanwhile.
    ///
    /// - Returns: the row's table as it is by now.
    private func release(from key: RowKey, _ binding: Binding) throws(MakoError) -> Binding {
        for referrer in binding.referrers {
            try release(referrer, from: key, binding)
            let now = current(binding)
            // What has been released refers to the row no more.
            if now !== binding { return try release(from: key, now) }
        }
        return binding
    }

    private func release(_ referrer: Binding.Referrer, from key: RowKey, _ binding: Binding) throws(MakoError) {
        let keys = try holders(of: key, binding.model, in: referrer.column, of: referrer.table)
        // The row itself may refer to itself.
        let others = referrer.table.schema.name == binding.model.table ? keys.filter { $0 != key } : keys
        if others.isEmpty { return }
        let rule = binding.model.deleteRule(from: referrer.table.schema.name, column: referrer.column)
        if rule == .nullify && referrer.holdsMany && !sabotaged("nullifyMissed") {
            for other in others { releases.note(key, of: binding.table, heldBy: other, referrer) }
            if sabotaged("listWrittenForEachMember") { try settle() }
            return
        }
        try willWriteFurtherRows()
        switch rule {
        case .deny:
            if sabotaged("denyIgnored") { return }
            throw .deniedByReference(
                entity: binding.model.name, from: referrer.table.schema.name, property: referrer.column)
        case .cascade:
            if sabotaged("cascadeMissed") { return }
            for other in others {
                if let target = schema.binding(ofTable: referrer.table.schema.name) {
                    try removeTelling(other, target)
                } else {
                    _ = try tableAlone(referrer.table) { (table, tx) throws(RecordError) in
                        try table.delete(other, in: tx, changes: &self.changes)
                    }
                }
            }
        case .nullify:
            if sabotaged("nullifyMissed") { return }
            for other in others {
                writer.begin(referrer.layout)
                writer.setNull(0)
                _ = try tableAlone(referrer.table) { (table, tx) throws(RecordError) in
                    try table.update(&self.writer, key: other, in: tx, changes: &self.changes)
                }
            }
        }
    }
}
