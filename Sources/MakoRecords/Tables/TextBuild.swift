import MakoStorage

/// Builds a full-text index from the rows of its table.
///
/// Words are collected in memory; what exceeds it is sorted in runs, which are spilled to a file.
enum TextBuild {
    /// - Parameter memory: the memory to use, in bytes; `nil` for what the store's budget permits.
    static func run(
        _ index: FullTextIndex, _ table: TableHandle, memory: Int? = nil, _ tx: borrowing WriteTransaction
    ) throws(RecordError) {
        let view = tx.view
        let memory = memory ?? tx.sideMemory
        let isSmall = try table.count(in: view) < BulkLoading.fewestEntries
        if !isSmall { tx.countSide(bytes: memory) }
        defer { tx.countSide(bytes: 0) }
        // Accounts for the sort, and for the unused capacity of arrays.
        let batch = TextBatch(index, limit: memory / 6)
        var totals = TextTotals(index)
        var runs: SortedRuns?
        var pieces = try RowPieces(table, view)
        while try pieces.next() {
            if batch.isFull, isSmall {
                try batch.flush(tx)
            } else if batch.isFull {
                batch.add(to: &totals)
                if runs == nil {
                    runs = try engine { () throws(StorageError) in SortedRuns(try tx.makeSpillFile(), memory: memory) }
                }
                try engine { () throws(StorageError) in try runs?.add(batch) }
            }
            for place in 0..<pieces.count { _ = batch.add(pieces.keys[place], try pieces.row(place, table.layout)) }
        }
        if isSmall { return try batch.flush(tx) }
        batch.add(to: &totals)
        if let runs { try engine { () throws(StorageError) in try runs.add(batch) } }
        if totals.rows == 0 { return }
        _ = try recorded {
            try tx.bulkLoad(into: index.tree) { loader in
                try loader.append(totals.encoded, for: FullTextIndex.totalsKey)
                try load(runs, batch, TextEntries(columnBits: index.columnBits), &loader)
            }
        }
    }

    private static func load(
        _ runs: SortedRuns?, _ batch: TextBatch, _ entries: consuming TextEntries, _ loader: inout BulkLoader
    ) throws(StorageError) {
        var entries = entries
        func load(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StorageError) {
            try loader.append(value, for: key)
        }
        if let runs {
            var merge = try runs.merge()
            while try merge.next() { try entries.take(merge.key, merge.value, load) }
        } else {
            try batch.forEachRecord { (key, value) throws(StorageError) in try entries.take(key, value, load) }
        }
        try entries.end(load)
    }
}
