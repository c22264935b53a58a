import MakoRecords
import MakoStorage

// An INSERT of one row of plain values: what a loop runs. It is stored or refused by itself, writes no other row, and calls no hook: nothing of what a call
// needs that may have to be taken back.

extension Transaction {
    /// Stores the row of such an INSERT with the values of its parameters. Nil: it is another statement, or something waits that it must not overtake.
    ///
    /// - Throws: what ``Database/rawQuery(_:_:named:)`` throws.
    func insertPlain(_ kept: KeptStatement, _ values: [StoredValue]) throws(MakoError) -> RawResults? {
        guard kept.isInsert, batch == nil, !isEncoding, !changes.hasUniqueClashes, releases.isEmpty else { return nil }
        try throwIfDoomed()
        guard let insert = try prepared(kept), insert.plainParameters == values.count else { return nil }
        let isDeferred = changes.defersUnique
        // It has no savepoint to go back to: it is refused before it is there.
        changes.defersUnique = false
        defer { changes.defersUnique = isDeferred }
        return try store(insert, values)
    }

    func prepared(_ kept: KeptStatement) throws(MakoError) -> PreparedInsert? {
        try records { () throws(RecordError) in try kept.preparedInsert(schema.catalogue) }
    }

    func store(_ insert: PreparedInsert, _ values: [StoredValue]) throws(MakoError) -> RawResults {
        let table = insert.target
        let check = schema.check(ofTable: table.schema.name)
        // The type's own code runs while the row is checked.
        if check != nil { isEncoding = true }
        defer { if check != nil { isEncoding = false } }
        let key = try turn.with { (tx: borrowing WriteTransaction) throws(MakoError) in
            try records { () throws(RecordError) in
                try insert.store(values, with: &writer, in: tx, changes: &changes, check: check)
            }
        }
        noteChanged(table.schema.name, key)
        return try RawResults(inserted: key, into: table)
    }
}

extension ConditionValue {
    /// Adds itself to the values of a row. False: it is a list of values.
    @inline(__always)
    func append(to values: inout [StoredValue]) -> Bool {
        let value = conditionValue
        values.append(value)
        return !value.isNull || conditionList == nil
    }
}
