import MakoStorage

extension TableHandle {
    /// The rows that have the key or unique values of the row being written, each once.
    ///
    /// - Throws: `nullViolation`, `typeMismatch` for a row that cannot be stored whatever else there is.
    func conflicting(
        _ row: inout RowWriter, key: RowKey?, view: Snapshot
    ) throws(RecordError) -> [RowKey] {
        var found: [RowKey] = []
        let own: RowKey? = if let key { key } else { isRowID ? nil : try keyOfDraft(&row) }
        if let own, try contains(own, in: view) { found.append(own) }
        let new = try RowReader(try row.finish(), layout)
        for index in indexes where index.isUnique {
            if let owner = try owner(of: new, key: own, in: index, view), !found.contains(owner) { found.append(owner) }
        }
        return found
    }
}
