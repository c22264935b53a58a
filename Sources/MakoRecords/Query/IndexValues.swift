import MakoStorage

// Queries over one column that a covering index answers alone.
extension Plan {
    /// Returns the distinct values of a column, ascending, with the number of rows of each; `nil` if no index has them.
    ///
    /// - Parameter counting: whether the counts matter; otherwise the scan skips entries of a value already found.
    func indexedValues(
        _ expr: Expr, counting: Bool, in view: Snapshot, _ measure: PlanMeasure?
    ) throws(RecordError) -> [(value: Value, count: Int)]? {
        guard let (index, ranges, type) = try valuesIndex(expr) else { return nil }
        guard let measure else { return try values(index, ranges, type, counting, view).found }
        let access = measure.part(0).access
        let before = measure.run.turn(to: access)
        defer { measure.run.turn(to: before) }
        let (found, entries) = try values(index, ranges, type, counting, view)
        guard let found else { return nil }
        access.operation = counting ? .coveringIndexScan : .skipScan
        access.counts.runs += 1
        access.counts.entries += entries
        access.counts.passed += entries
        measure.note(counting ? .sortedAggregate : .sortedDistinct, rows: entries, passed: found.count)
        return found
    }

    /// Returns an index in which equal values of a column are adjacent, with the ranges to scan and the column's type;
    /// `nil` if there is none.
    func valuesIndex(_ expr: Expr) throws(RecordError) -> (index: IndexHandle, ranges: [KeyRange], type: ColumnType)? {
        guard !hasResidual, bound.limit == nil, bound.offset == 0, case .column = expr else { return nil }
        var binder = Binder(bound)
        guard case .column(let column) = try binder.bind(expr), column.node < 0, !column.isDecimal, !column.isNoCase,
            let ordinal = column.ordinal
        else { return nil }
        func leads(_ index: IndexHandle) -> Bool {
            guard !index.isSpatial, let first = index.parts.first else { return false }
            return Int(first.slot.ordinal) == ordinal && !first.descending && !first.noCase
        }
        if case .index(let index, let ranges) = access {
            return leads(index) ? (index, ranges, column.type) : nil
        }
        guard isWholeTable, let index = table.indexes.first(where: { $0.isPlain && leads($0) }) else { return nil }
        return (index, [KeyRange(lower: [], upper: nil)], column.type)
    }

    /// The number of entries of one value after which the scan seeks the next value.
    private static let patience = 32

    /// - Returns: the values, or `nil` if an entry holds a truncated one, and the number of entries read.
    private func values(
        _ index: IndexHandle, _ ranges: [KeyRange], _ type: ColumnType, _ counting: Bool, _ view: Snapshot
    ) throws(RecordError) -> (found: [(value: Value, count: Int)]?, entries: Int) {
        var found: [(value: Value, count: Int)] = []
        var last: [UInt8] = []
        var isCut = false
        var steps = 0
        for range in ranges {
            var start: [UInt8]? = range.lower
            while let lower = start {
                start = nil
                try recorded {
                    try view.forEach(in: index.tree, from: lower) { key, _ in
                        guard IndexScan.isInside(key, range, false) else { return false }
                        steps &+= 1
                        if steps & 1023 == 0, cancellation?.isCancelled == true { throw RecordError.cancelled }
                        if !last.isEmpty, IndexGroups.begins(key, with: last) {
                            found[found.count - 1].count += 1
                            if counting || found[found.count - 1].count < Plan.patience { return true }
                            start = KeyRange.successor(last)
                            return false
                        }
                        // A truncated key does not hold the whole value.
                        if key.count > IndexHandle.keptBytes {
                            isCut = true
                            return false
                        }
                        var decoder = KeyDecoder([UInt8](key))
                        guard let value = decoder.next(type) else {
                            throw RecordError.indexDamaged(
                                table: table.schema.name, index: index.schema.name, reason: "an entry holds no value")
                        }
                        last = Array(decoder.bytes[..<decoder.place])
                        found.append((value, 1))
                        return true
                    }
                }
                if isCut { return (nil, steps) }
            }
        }
        return (found, steps)
    }

    /// Returns the distinct values of an expression over the rows, ascending.
    package func distinctValues(of expr: Expr, in view: Snapshot) throws(RecordError) -> [Value] {
        try distinctValues(of: expr, in: view, nil)
    }

    func distinctValues(of expr: Expr, in view: Snapshot, _ measure: PlanMeasure?) throws(RecordError) -> [Value] {
        if let found = try indexedValues(expr, counting: false, in: view, measure) { return found.map(\.value) }
        return try groupCount(by: expr, in: view, measure).map(\.value)
    }
}
