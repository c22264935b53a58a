import MakoStorage

/// A hash table of all rows of a correlated sub-query, by the linked columns: whether rows exist for given values, or
/// their aggregate.
final class SubqueryGroups {
    private var table = ValueTable()
    private var accumulators: [Accumulator] = []
    private var counts: [Int64] = []
    private let places: [Int]
    private let isCount: Bool

    /// - Returns: `nil` if the sub-query has no linked columns, or another condition reads the outer row, too.
    init?(
        _ subquery: SubqueryPlan, _ view: Snapshot, _ cancellation: Cancellation?, _ measure: PlanMeasure?
    ) throws(RecordError) {
        guard let link = subquery.link, let all = link.all else { return nil }
        places = link.outers
        isCount = subquery.output == nil || subquery.aggregate == nil
        let scan = RowScan(all, view, nil, cancellation)
        let values = isCount || link.counting != nil ? nil : ValueRun(subquery, view, nil, cancellation)
        let empty = Accumulator(subquery.aggregate ?? .count, isNoCase: subquery.isNoCase)
        try measure.during(.subqueryHash) { (kept) throws(RecordError) in
            scan.measure = measure?.part(1)
            if let index = link.counting {
                try readCounts(index, scan, cancellation)
            } else {
                try readRows(scan, link.columns, values, empty)
            }
            kept?.counts.rows += Int(counts.reduce(0, +))
            kept?.counts.passed += counts.count
            kept?.hold(table.memory + counts.count * 8 + accumulators.count * MemoryLayout<Accumulator>.stride)
        }
    }

    private func readCounts(
        _ index: IndexHandle, _ scan: RowScan, _ cancellation: Cancellation?
    ) throws(RecordError) {
        let access = scan.measure?.access
        access?.operation = .coveringIndexScan
        access?.counts.runs += 1
        try IndexGroups.forEach(index, scan.table.schema.name, scan.view, cancellation) { number, count in
            _ = table.insert(wholeNumber: number)
            counts.append(count)
            access?.counts.entries += Int(count)
            access?.counts.passed += 1
        }
    }

    /// Returns the group of the rows linked to the outer row; `nil` if there are none.
    func place(_ outers: CorrelatedParameters, _ key: inout KeyBuffer) throws(RecordError) -> Int? {
        if places.count == 1 {
            let value = outers.values[places[0]]
            return value.isNull ? nil : table.find(value)
        }
        key.clear()
        for place in places {
            if outers.values[place].isNull { return nil }
            key.append(outers.values[place])
        }
        return table.find(key)
    }

    func value(_ place: Int) -> Value { isCount ? .integer(counts[place]) : accumulators[place].result }

    /// Calls a closure with the integers that link rows, ascending, and the values of their groups.
    func forEachNumber(_ body: (Int64, Value) -> Void) {
        for (number, place) in table.sortedNumbers() { body(number, value(place)) }
    }

    private func readRows(
        _ scan: RowScan, _ columns: [BoundColumn], _ values: ValueRun?, _ empty: Accumulator
    ) throws(RecordError) {
        let slots = columns.map { $0.ordinal.map { scan.table.layout.allSlots[$0] } }
        var buffer = KeyBuffer()
        try recorded {
            try scan.forEachRow(scan.table.layout, expecting: 1 << 20) { key, row in
                guard let place = group(slots, row, key, &buffer) else { return true }
                if place == counts.count {
                    counts.append(0)
                    if !isCount { accumulators.append(empty) }
                }
                counts[place] += 1
                if let values { accumulators[place].add(try values.operand(row, key)) }
                return true
            }
        }
    }

    /// Returns the group of a row; `nil` if one of its linked columns is NULL, which equals nothing.
    private func group(_ slots: [ColumnSlot?], _ row: RowReader, _ key: RowKey, _ buffer: inout KeyBuffer) -> Int? {
        func operand(_ slot: ColumnSlot?) -> Operand {
            if let slot { return Operand(row, slot) }
            return key.rowID.map { .integer($0) } ?? .null
        }
        if slots.count == 1 {
            let value = operand(slots[0])
            return value.isNull ? nil : table.insert(value)
        }
        buffer.clear()
        for slot in slots {
            let value = operand(slot)
            if value.isNull { return nil }
            buffer.append(value)
        }
        return table.insert(buffer)
    }
}
