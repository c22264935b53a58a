import MakoRecords
import MakoStorage

extension Transaction {
    /// Removes an object's row; the object is sterile afterwards. False: it had none.
    func remove<T: ObjectEntity>(_ object: T) throws(MakoError) -> Bool {
        let model = Swift.type(of: object).entityModel
        let before = object.lockedState { $0 }
        if before.flags.contains(.sterile) { return false }
        guard let key = before.key, before.flags.contains(.exists) else { return false }
        if before.database != database.number { throw .foreignObject(entity: model.name) }
        let binding = try binding(model)
        let wasThere = try remove(key, binding)
        undo.recordState(of: object, before)
        object.lockedState { state in
            if !sabotaged("removedObjectNotSterile") { state.flags.insert(.sterile) }
            state.flags.remove(.exists)
        }
        if database.hub.isWatched(model) { touched[EventHub.Identity(table: model.table, key: key)] = object }
        return wasThere
    }

    /// Removes a row by its key, after what refers to it was dealt with by the relationships' delete rules.
    @discardableResult
    func remove(_ key: RowKey, _ binding: Binding) throws(MakoError) -> Bool {
        try settle()
        for referrer in binding.referrers { try release(referrer, from: key, binding) }
        return try table(binding) { (table, tx) throws(RecordError) in
            try table.delete(key, in: tx, changes: &self.changes)
        }
    }

    private func release(_ referrer: Binding.Referrer, from key: RowKey, _ binding: Binding) throws(MakoError) {
        let value = ReferenceKeys.value(of: key, binding.model)
        let selection = Selection(
            table: referrer.table.schema.name,
            condition: .comparison(.equal, .column([referrer.column]), .literal(value, at: .none)))
        let keys = try records { () throws(RecordError) in
            try selection.plan(schema.catalogue).keys(in: view)
        }
        // The row itself may refer to itself.
        let others = referrer.table.schema.name == binding.model.table ? keys.filter { $0 != key } : keys
        if others.isEmpty { return }
        try willWriteFurtherRows()
        switch binding.model.deleteRule(from: referrer.table.schema.name, column: referrer.column) {
        case .deny:
            if sabotaged("denyIgnored") { return }
            throw .deniedByReference(
                entity: binding.model.name, from: referrer.table.schema.name, property: referrer.column)
        case .cascade:
            if sabotaged("cascadeMissed") { return }
            for other in others {
                if let target = schema.binding(ofTable: referrer.table.schema.name) {
                    try remove(other, target)
                } else {
                    _ = try table(referrer.table) { (table, tx) throws(RecordError) in
                        try table.delete(other, in: tx, changes: &self.changes)
                    }
                }
            }
        case .nullify:
            if sabotaged("nullifyMissed") { return }
            for other in others {
                writer.begin(referrer.layout)
                writer.setNull(0)
                _ = try table(referrer.table) { (table, tx) throws(RecordError) in
                    try table.update(&self.writer, key: other, in: tx, changes: &self.changes)
                }
            }
        }
    }
}
