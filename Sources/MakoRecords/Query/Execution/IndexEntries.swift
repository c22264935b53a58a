import MakoStorage

extension IndexScan {
    /// Calls a closure with each entry and the key of its row, until it returns `false`. The entry is `nil` if it is
    /// truncated, so that only the row has its columns.
    func forEachEntry(_ ranges: [KeyRange], _ body: (RowKey, UnsafeRawBufferPointer?) throws -> Bool) throws {
        for range in isReversed ? ranges.reversed() : ranges {
            guard try isReversed ? stepEntries(range, body) : scanEntries(range, body) else { return }
        }
    }

    private func scanEntries(
        _ range: KeyRange, _ body: (RowKey, UnsafeRawBufferPointer?) throws -> Bool
    ) throws -> Bool {
        var goesOn = true
        var cut: [UInt8]?
        try view.forEach(in: index.tree, from: range.lower) { key, value in
            guard IndexScan.isInside(key, range, false) else { return false }
            if key.count > IndexHandle.keptBytes {
                cut = [UInt8](key)
                return false
            }
            goesOn = try body(try rowKey(key, value), key)
            return goesOn
        }
        guard let cut else { return goesOn }
        return try stepEntries(KeyRange(lower: cut, upper: range.upper), body)
    }

    private func rowKey(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(RecordError) -> RowKey {
        guard index.hasKeyInValue else { return .rowID(try rowID(key)) }
        return try index.rowKey(ofValue: [UInt8](value), isRowID: table.isRowID, table: table.schema.name)
    }

    private func stepEntries(
        _ range: KeyRange, _ body: (RowKey, UnsafeRawBufferPointer?) throws -> Bool
    ) throws -> Bool {
        var cursor = try view.cursor(in: index.tree)
        var isThere = try IndexScan.start(&cursor, range, isReversed)
        while isThere {
            let key = cursor.key
            guard IndexScan.isInside(key, range, isReversed) else { return true }
            if key.count > IndexHandle.keptBytes {
                let (rows, more) = try run(of: key, range, &cursor)
                for row in rows { guard try body(row, nil) else { return false } }
                isThere = more
                continue
            }
            let row = try index.hasKeyInValue ? rowKey(key, &cursor) : key.withUnsafeBytes { .rowID(try rowID($0)) }
            guard try key.withUnsafeBytes({ try body(row, $0) }) else { return false }
            isThere = isReversed ? try cursor.previous() : try cursor.next()
        }
        return true
    }
}

extension RowScan {
    /// Calls a closure with the rows of an index, made of its entries; a row is looked up if its entry does not
    /// determine it.
    ///
    /// - Parameters:
    ///   - made: the row made of the current entry.
    ///   - run: receives each entry before its row is passed on.
    ///   - isReversed: the direction; `nil` for that of the plan.
    func scanEntries(
        _ index: IndexHandle, _ ranges: [KeyRange], _ made: IndexTuple, reporting run: IndexOnlyScan? = nil,
        isReversed: Bool? = nil, _ body: (RowKey, RowReader) throws -> Bool
    ) throws {
        let evaluator = evaluator
        var count = 0
        defer { measure?.access.counts.entries += count }
        let scan = IndexScan(index, table, view, isReversed ?? plan.isReversed)
        try scan.forEachEntry(ranges) { key, entry in
            count &+= 1
            if count & 1023 == 0 { try endIfCancelled() }
            run?.take(entry)
            if let entry, made.read(entry, key) {
                let row = try made.reader()
                if let evaluator, !(try evaluator.test(row, key)) { return true }
                return try body(key, row)
            }
            return try fetchTested([key], made.layout, namedBy: index, body)
        }
    }
}
