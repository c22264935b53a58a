import MakoStorage

// The difference between two snapshots as changes of one commit, for observers that have missed the commits in between.

extension TableHandle {
    /// Returns whether this table's rows and those of the table with the same number in another catalogue have one
    /// format.
    package func hasForm(of other: TableHandle) -> Bool {
        self === other
            || id == other.id && rows == other.rows && schema.name == other.schema.name && columns == other.columns
                && schema.key == other.schema.key
    }
}

extension ChangeSet {
    /// Adds the differences of a table's rows between two snapshots; its rows must have the same format in both.
    ///
    /// If one opening of the file has both snapshots, pages that they share are skipped, so that the cost is about that
    /// of the changes in between. Otherwise all rows are read.
    ///
    /// - Parameter limit: the largest number of differences.
    /// - Returns: `false` if there are more; then nothing was added.
    package mutating func addDifferences(
        of table: TableHandle, from earlier: Snapshot, to later: Snapshot, limit: Int
    ) throws(RecordError) -> Bool {
        if try engine({ () throws(StorageError) in try later.sharesWhole(table.rows, with: earlier) }) { return true }
        var found = empty
        var left = limit
        try recorded {
            try later.forEachDifference(from: earlier, in: table.rows) { difference in
                guard try found.add(difference, table) else { return true }
                left -= 1
                return left >= 0
            }
        }
        if left < 0 { return false }
        append(found)
        return true
    }

    /// Returns `false` if the rows differ in format only, and not in a value.
    private mutating func add(_ difference: EntryDifference, _ table: TableHandle) throws(RecordError) -> Bool {
        let key: RowKey =
            switch difference.key {
            case .integer(let number): .rowID(KeyOrder.rowID(number))
            case .bytes(let bytes): .bytes(bytes)
            }
        var kind = ChangeKind.update
        var columns = ColumnSet.all
        if let old = difference.old, let new = difference.new {
            columns = try table.changedColumns(old, new)
            if columns.isEmpty { return false }
        } else {
            kind = difference.old == nil ? .insert : .delete
        }
        record(table, key, kind, columns)
        if values != nil { note(difference, table, key) }
        return true
    }

    private mutating func note(_ difference: EntryDifference, _ table: TableHandle, _ key: RowKey) {
        (difference.old ?? []).withUnsafeBytes { old in
            (difference.new ?? []).withUnsafeBytes { new in
                values?.note(
                    table, key, old: difference.old == nil ? nil : old, new: difference.new == nil ? nil : new)
            }
        }
    }
}

extension TableHandle {
    fileprivate func changedColumns(_ old: [UInt8], _ new: [UInt8]) throws(RecordError) -> ColumnSet {
        try recorded {
            try old.withUnsafeBytes { old in
                try new.withUnsafeBytes { new in
                    try difference(RowReader(old, layout), RowReader(new, layout), among: nil)
                }
            }
        }
    }
}
