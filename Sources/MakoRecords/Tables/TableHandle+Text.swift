import MakoStorage

extension TableHandle {
    /// Updates the full-text indexes for a row.
    ///
    /// - Parameter batch: buffers the words of a new row.
    func updateText(
        _ change: RowChange, _ batch: IndexBatch?, _ tx: borrowing WriteTransaction, _ changes: inout ChangeSet
    ) throws(RecordError) {
        for index in textIndexes {
            if let old = change.old {
                if !index.isSame(old, change.new) { try index.update(change.key, old, change.new, tx) }
            } else if let batch {
                try batch.collect(index, change, isAlone: indexes.isEmpty, tx, &changes)
            } else {
                try index.insert(change.key, change.new, tx)
            }
        }
    }

    func removeText(_ old: [UInt8], _ key: RowKey, _ tx: borrowing WriteTransaction) throws(RecordError) {
        for index in textIndexes {
            var terms = DocumentTerms(index)
            try recorded { try old.withUnsafeBytes { terms.read(try RowReader($0, layout), index) } }
            try index.remove(key, terms, tx)
        }
    }

    /// Rebuilds the full-text indexes from the rows.
    package func rebuildText(in tx: borrowing WriteTransaction) throws(RecordError) {
        for index in textIndexes {
            try engine { () throws(StorageError) in try tx.deleteAll(in: index.tree) }
            try TextBuild.run(index, self, tx)
        }
    }
}

extension FullTextIndex {
    /// Returns the number of a row to be indexed: a new one in a table with byte keys.
    private func newNumber(
        _ key: RowKey, _ totals: inout TextTotals, _ tx: borrowing WriteTransaction
    ) throws(RecordError) -> UInt64 {
        switch key {
        case .rowID(let id): return KeyOrder.treeKey(id)
        case .bytes(let bytes):
            let row = totals.nextNumber
            guard row < .max else { throw damaged("it has given out every number of rows") }
            totals.nextNumber = row + 1
            try enter(bytes, row, tx)
            return row
        }
    }

    /// Stores the number of a row with a byte key.
    func enter(_ key: [UInt8], _ row: UInt64, _ tx: borrowing WriteTransaction) throws(RecordError) {
        var number = KeyBuffer()
        number.append(bigEndian: row)
        let bytes = number.bytes
        do throws(StorageError) {
            try tx.put(bytes, for: FullTextIndex.rowKey(key), in: tree)
            try tx.put(key, for: FullTextIndex.numberKey(row), in: tree)
        } catch { throw .storage(error) }
    }

    func insert(_ key: RowKey, _ new: RowReader, _ tx: borrowing WriteTransaction) throws(RecordError) {
        var terms = DocumentTerms(self)
        terms.read(new, self)
        var totals = try TextTotals(self, in: tx.view)
        let row = try newNumber(key, &totals, tx)
        for place in 0..<terms.count { try enter(row, terms.body(place), of: terms.term(place), tx) }
        totals.add(terms.lengths[...])
        try setLengths(row, terms.lengths, tx)
        try totals.store(self, tx)
    }

    /// Updates the postings; those of words that have not moved stay.
    func update(
        _ key: RowKey, _ old: RowReader, _ new: RowReader, _ tx: borrowing WriteTransaction
    ) throws(RecordError) {
        guard let row = try number(of: key, in: tx.view) else { throw unknown(key) }
        var before = DocumentTerms(self)
        before.read(old, self)
        var after = DocumentTerms(self)
        after.read(new, self)
        var (a, b) = (0, 0)
        while a < before.count || b < after.count {
            let order =
                a == before.count
                ? 1 : (b == after.count ? -1 : KeyOrder.compareRaw(before.term(a), after.term(b)))
            if order < 0 {
                try remove(row, of: before.term(a), tx)
            } else if order > 0 || KeyOrder.compareRaw(before.body(a), after.body(b)) != 0 {
                try enter(row, after.body(b), of: after.term(b), tx)
            }
            if order <= 0 { a += 1 }
            if order >= 0 { b += 1 }
        }
        if before.lengths == after.lengths { return }
        var totals = try TextTotals(self, in: tx.view)
        totals.remove(before.lengths)
        totals.add(after.lengths[...])
        try setLengths(row, after.lengths, tx)
        try totals.store(self, tx)
    }

    /// - Parameter terms: the words of the row before the deletion.
    func remove(
        _ key: RowKey, _ terms: borrowing DocumentTerms, _ tx: borrowing WriteTransaction
    ) throws(RecordError) {
        guard let row = try number(of: key, in: tx.view) else { throw unknown(key) }
        for place in 0..<terms.count { try remove(row, of: terms.term(place), tx) }
        var totals = try TextTotals(self, in: tx.view)
        totals.remove(terms.lengths)
        try setLengths(row, nil, tx)
        if case .bytes(let bytes) = key {
            do throws(StorageError) {
                _ = try tx.delete(FullTextIndex.rowKey(bytes), in: tree)
                _ = try tx.delete(FullTextIndex.numberKey(row), in: tree)
            } catch { throw .storage(error) }
        }
        try totals.store(self, tx)
    }
}
