import MakoRecords
import MakoStorage

/// References of the rows that one call, and those inside it, store, whose objects are not in memory.
///
/// Their keys come from elsewhere, such as JSON, a dictionary, or a struct that was read before the other row was deleted.
/// A key without a row is refused, because a row that gets the key later would be another one. The row may be stored by
/// the same call, so missing rows are looked up again at its end.
struct UnmatchedReferences {
    /// The references of one type.
    private struct TypeCheck {
        /// Retained, so that no other binding gets its identity.
        let binding: Binding
        var check: ReferenceCheck

        init(_ binding: Binding, _ catalogue: Catalogue) {
            self.binding = binding
            let (table, model) = (binding.table, binding.model)
            let columns = binding.checkedReferences.map { table.schema.column(named: model.columns[$0].column) }
            check = ReferenceCheck(columns, of: table, catalogue)
        }

        /// Checks the references of a row; returns whether a row is missing until now.
        mutating func note(
            _ values: [Int: StoredValue], _ key: RowKey?, _ view: Snapshot
        ) throws(RecordError) -> Bool {
            let before = check.count
            try check.note(binding.checkedReferences.map { values[$0] ?? .null }, view)
            if let key { check.forget(ownKey: key, after: before) }
            return check.count > before
        }
    }

    private var checks: [ObjectIdentifier: TypeCheck] = [:]

    /// Checks the references of a row.
    ///
    /// - Parameters:
    ///   - values: the values of properties, by their positions.
    ///   - key: the key of the row itself, if it is known.
    /// - Returns: whether a row is missing until now.
    mutating func note(
        _ values: [Int: StoredValue], of binding: Binding, _ key: RowKey?, _ transaction: Transaction
    ) throws(MakoError) -> Bool {
        let type = ObjectIdentifier(binding)
        if checks[type] == nil { checks[type] = TypeCheck(binding, transaction.schema.catalogue) }
        return try records { () throws(RecordError) in
            try checks[type]?.note(values, key, transaction.view) ?? false
        }
    }

    /// Checks what was missing, at the end of the call.
    ///
    /// - Throws: `MakoError.danglingReference`.
    func finish(_ transaction: Transaction) throws(MakoError) {
        for type in checks.values {
            try records { () throws(RecordError) in try type.check.finish(transaction.view) }
        }
    }
}

extension Transaction {
    /// Checks the references of a new object, before its row is stored.
    func noteUnmatched<T: ObjectEntity>(
        of object: T, _ binding: Binding, besides held: [Int]
    ) throws(MakoError) {
        var properties = PropertySet.none
        for property in binding.checkedReferences where !held.contains(property) { properties.insert(property) }
        if properties.isEmpty { return }
        try encodeLocking(object, properties, binding)
        // Most references without an object are nil.
        guard binding.checkedReferences.contains(where: { writer.hasValue(at: $0) }) else { return }
        var values: [Int: StoredValue] = [:]
        try records { () throws(RecordError) in
            guard let row = try writer.draft() else { return }
            for property in binding.checkedReferences where !row.isNull(property) {
                values[property] = row.value(property)
            }
        }
        let hasColumnKey = binding.model.hasColumnKey
        let key = hasColumnKey ? ObjectLock(object).locked { RowKey(values: object.keyValues()) } : object.storedKey
        try noteUnmatched(values, of: binding, key)
    }

    /// Checks the references of a struct, before its row is stored.
    func noteUnmatched<T: Entity>(
        of value: T, _ binding: Binding, besides held: [Int]
    ) throws(MakoError) {
        var values: [Int: StoredValue] = [:]
        for property in binding.checkedReferences where !held.contains(property) {
            let stored = binding.model.columns[property].value(of: value)
            if !stored.isNull { values[property] = stored }
        }
        if values.isEmpty { return }
        let key = value.storedValueKey
        if let key, value._$value.database != 0 {
            // A row that is there keeps what it has.
            try translated {
                try binding.table.withRow(key, layout: binding.layout, in: view) { row in
                    values = values.filter { $0.value != row.value($0.key) }
                }
            }
            if values.isEmpty { return }
        }
        try noteUnmatched(values, of: binding, key)
    }

    private func noteUnmatched(
        _ values: [Int: StoredValue], of binding: Binding, _ key: RowKey?
    ) throws(MakoError) {
        // The row must be rolled back if what it lacks does not come.
        if try unmatched?.note(values, of: binding, key, self) == true { try willWriteFurtherRows() }
    }
}
