import MakoStorage

extension StoredHistory {
    /// Returns the newest records, oldest first.
    ///
    /// - Parameter limit: the number of records at most.
    /// - Returns: none if no history is kept.
    /// - Complexity: linear in the records returned, however long the history is.
    package static func newest(_ limit: Int, in view: Snapshot) throws(RecordError) -> [HistoryRecord] {
        guard let tree = view.tree(named: treeName), try head(tree, view)?.isKept == true else { return [] }
        var stored: [(number: UInt64, bytes: [UInt8])] = []
        try engine { () throws(StorageError) in
            var cursor = try view.cursor(in: tree)
            var isThere = try cursor.last()
            // The head has the key 0.
            while isThere, cursor.integerKey > 0, stored.count < limit {
                stored.append((cursor.integerKey, try cursor.value()))
                isThere = try cursor.previous()
            }
        }
        var records: [HistoryRecord] = []
        for one in stored.reversed() { records.append(try HistoryRecord(number: one.number, bytes: one.bytes)) }
        return records
    }
}
