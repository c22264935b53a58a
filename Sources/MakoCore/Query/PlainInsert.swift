import MakoRecords
import MakoStorage

// Fast path for an INSERT of one row of plain values. The row is stored or refused as a whole, and the statement writes
// no other row and calls no hook, so it needs no savepoint.

extension Transaction {
    /// Stores the row of such an INSERT with the values of its parameters. Nil: another kind of statement, or pending
    /// work must come first.
    ///
    /// - Parameter byName: whether they are the values of `kept.valueNames`.
    /// - Throws: as ``Database/rawQuery(_:_:named:)``.
    func insertPlain(
        _ kept: CachedStatement, _ row: PlainRow, byName: Bool = false
    ) throws(MakoError) -> RawResults? {
        guard kept.isInsert, batch == nil, !isEncoding, !changes.hasUniqueClashes, releases.isEmpty else { return nil }
        try throwIfDoomed()
        guard let insert = try plainInserts.prepared(kept, schema.catalogue) else { return nil }
        guard byName ? insert.isPlain : insert.plainParameters == row.count else { return nil }
        let isDeferred = changes.defersUnique
        // A unique clash must fail at once, because there is no savepoint to roll back to.
        changes.defersUnique = false
        defer { changes.defersUnique = isDeferred }
        return try store(insert, row.values)
    }

    /// Stores the row of such an INSERT with named values. Nil: as above, or the names are not those of the text in their
    /// order.
    func insertPlain(_ kept: CachedStatement, named: NamedValues) throws(MakoError) -> RawResults? {
        let names = kept.valueNames
        guard !names.isEmpty, names.count == named.pairs.count else { return nil }
        var row = takePlainRow()
        defer { giveBack(&row) }
        guard named.append(of: names, to: &row) else { return nil }
        return try insertPlain(kept, row, byName: true)
    }

    /// Takes the memory for the values of a row, because a value's own code may run a statement.
    @inline(__always)
    func takePlainRow() -> PlainRow {
        var row = PlainRow()
        swap(&row, &plainInserts.row)
        row.restart()
        return row
    }

    /// Keeps the memory of a row's values for the next one.
    @inline(__always)
    func giveBack(_ row: inout PlainRow) { swap(&row, &plainInserts.row) }

    func store(_ insert: PreparedInsert, _ values: [StoredValue]) throws(MakoError) -> RawResults {
        let table = insert.target
        let check = schema.check(ofTable: table.schema.name)
        // Code of the type runs while the row is checked.
        if check != nil { isEncoding = true }
        defer { if check != nil { isEncoding = false } }
        let key = try writeLock.with { (tx: borrowing WriteTransaction) throws(MakoError) in
            try records { () throws(RecordError) in
                try insert.store(values, with: &writer, in: tx, changes: &changes, check: check)
            }
        }
        events.noteChanged(table.schema.name, key)
        return try RawResults(inserted: key, into: table)
    }
}

extension ConditionValue {
    /// Appends the value to the values of a row. False: it is a list of values.
    @inline(__always)
    func append(to row: inout PlainRow) -> Bool {
        let value = conditionValue
        row.append(value)
        return !value.isNull || conditionList == nil
    }
}

extension NamedValues {
    private typealias Pair = (String, (any ConditionValue)?)
    private static let offsetOfValue = MemoryLayout<Pair>.offset(of: \.1) ?? MemoryLayout<String>.size

    /// Appends the values to those of a row, or NULL for nil. False: the names are others than these, in their order, or a
    /// value is a list.
    ///
    /// Names and values are read where the pairs have them, because a copy of a pair takes more time than the row: the
    /// runtime copies tuples with existentials member by member.
    fileprivate func append(of names: [String], to row: inout PlainRow) -> Bool {
        pairs.withUnsafeBytes { pairs in
            guard var pair = pairs.baseAddress else { return false }
            for name in names {
                guard name == pair.assumingMemoryBound(to: String.self).pointee else { return false }
                let value = (pair + NamedValues.offsetOfValue).assumingMemoryBound(to: (any ConditionValue)?.self)
                if let isSingle = value.pointee?.append(to: &row) {
                    guard isSingle else { return false }
                } else {
                    row.append(.null)
                }
                pair += MemoryLayout<Pair>.stride
            }
            return true
        }
    }
}
