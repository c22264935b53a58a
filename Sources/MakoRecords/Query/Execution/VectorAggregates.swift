import MakoStorage

/// Vectorised aggregates of plain columns: numbers and dates are added and compared as stored, without decoding a row.
final class VectorAggregates {
    private struct Column {
        /// The column; `nil` for COUNT(*).
        let slot: ColumnSlot?
        let function: AggregateFunction
        /// Whether the column's numbers are doubles.
        let isBroken: Bool
        var count: Int64 = 0
        var whole: Int128 = 0
        var broken = 0.0
        /// The sum of the closed parts, if the rows are read in parts.
        var closed = 0.0
        /// The smallest or largest value as stored, and its sort key.
        var best: UInt64 = 0
        var bestOrder: UInt64 = 0
    }

    /// Allocated memory instead of an array, which would be retained for each row.
    private let columns: UnsafeMutableBufferPointer<Column>
    /// The number of buffered rows.
    @exclusivity(unchecked) private var gathered = 0

    /// - Returns: `nil` if an argument is not a plain column of numbers or dates.
    init?(_ aggregates: [(function: AggregateFunction, argument: BoundExpr?)], _ table: TableHandle?) {
        var found: [Column] = []
        for (function, argument) in aggregates {
            guard let argument else {
                found.append(Column(slot: nil, function: function, isBroken: false))
                continue
            }
            guard case .column(let column) = argument, column.node < 0, let ordinal = column.ordinal, let table else {
                return nil
            }
            let slot = table.layout.allSlots[ordinal]
            switch slot.type {
            case .integer, .reference: found.append(Column(slot: slot, function: function, isBroken: false))
            case .double, .date: found.append(Column(slot: slot, function: function, isBroken: true))
            default: return nil
            }
        }
        if found.isEmpty { return nil }
        columns = .allocate(capacity: found.count)
        _ = columns.initialize(from: found)
    }

    deinit { columns.deallocate() }

    /// Adds all rows of a plan that is a plain scan, and returns their number; `nil` for other plans.
    func addRows(of plan: Plan, in view: Snapshot, _ measure: PlanMeasure? = nil) throws -> Int? {
        guard let scan = plan.plainScan else { return nil }
        guard let measure else { return try addRows(of: plan, scan, in: view) }
        measure.access.operation = plan.scanOperator
        let start = measure.beginScan()
        defer { measure.endScan(start, isTested: false) }
        let count = try addRows(of: plan, scan, in: view)
        measure.access.counts.rows += count
        measure.found += count
        return count
    }

    private func addRows(of plan: Plan, _ scan: PlainScan, in view: Snapshot) throws -> Int {
        let cancellation = plan.cancellation
        var count = 0
        try withUnsafeTemporaryAllocation(of: RowReader.self, capacity: VectorAggregates.most) { rows in
            try scan.forEachRow(
                plan.table.layout, in: view,
                { row in
                    count &+= 1
                    if count & 1023 == 0, cancellation?.isCancelled == true { throw RecordError.cancelled }
                    if !row.isPlain || gathered == VectorAggregates.most { addGathered(rows) }
                    guard row.isPlain else { return add(row) }
                    rows.initializeElement(at: gathered, to: row)
                    gathered &+= 1
                }, finish: { addGathered(rows) })
        }
        return count
    }

    private func addGathered(_ rows: UnsafeMutableBufferPointer<RowReader>) {
        addPlain(UnsafeBufferPointer(rebasing: rows[..<gathered]))
        gathered = 0
    }

    /// The number of rows that are added together.
    private static let most = 64

    /// Adds rows without NULLs, column by column, so that the function is dispatched once for each batch.
    private func addPlain(_ rows: UnsafeBufferPointer<RowReader>) {
        if rows.isEmpty { return }
        for index in columns.indices {
            guard let slot = columns[index].slot else {
                columns[index].count &+= Int64(rows.count)
                continue
            }
            let offset = Int(slot.offset)
            switch columns[index].function {
            case .count: break
            case .sum, .average, .total:
                if columns[index].isBroken {
                    var sum = columns[index].broken
                    for row in rows { sum += Double(bitPattern: row.word(row.base + offset)) }
                    columns[index].broken = sum
                } else {
                    var sum = columns[index].whole
                    for row in rows { sum += Int128(Int64(bitPattern: row.word(row.base + offset))) }
                    columns[index].whole = sum
                }
            case .minimum, .maximum: VectorAggregates.addExtremes(of: rows, offset, to: &columns[index])
            }
            columns[index].count &+= Int64(rows.count)
        }
    }

    private static func addExtremes(of rows: UnsafeBufferPointer<RowReader>, _ offset: Int, to column: inout Column) {
        var (best, bestOrder, isFirst) = (column.best, column.bestOrder, column.count == 0)
        let (isBroken, isMinimum) = (column.isBroken, column.function == .minimum)
        for row in rows {
            let word = row.word(row.base + offset)
            let order = isBroken ? KeyOrder.bits(Double(bitPattern: word)) : word ^ 1 << 63
            if isFirst || (isMinimum ? order < bestOrder : order > bestOrder) {
                (best, bestOrder, isFirst) = (word, order, false)
            }
        }
        (column.best, column.bestOrder) = (best, bestOrder)
    }

    @inline(__always)
    func add(_ row: RowReader) {
        if row.isPlain { return addPlain(row) }
        for index in columns.indices {
            guard let slot = columns[index].slot else {
                columns[index].count &+= 1
                continue
            }
            guard let field = row.address(slot) else {
                continue
            }
            VectorAggregates.add(row.word(field), to: &columns[index])
        }
    }

    /// Adds a row without NULLs: its values are at fixed offsets.
    @inline(__always)
    private func addPlain(_ row: RowReader) {
        for index in columns.indices {
            guard let slot = columns[index].slot else {
                columns[index].count &+= 1
                continue
            }
            VectorAggregates.add(row.word(row.base + Int(slot.offset)), to: &columns[index])
        }
    }

    @inline(__always)
    private static func add(_ word: UInt64, to column: inout Column) {
        let isFirst = column.count == 0
        column.count &+= 1
        switch column.function {
        case .count: break
        case .sum, .average, .total:
            if column.isBroken {
                column.broken += Double(bitPattern: word)
            } else {
                column.whole += Int128(Int64(bitPattern: word))
            }
        case .minimum, .maximum:
            let order = column.isBroken ? KeyOrder.bits(Double(bitPattern: word)) : word ^ 1 << 63
            guard isFirst || (column.function == .minimum ? order < column.bestOrder : order > column.bestOrder) else {
                return
            }
            (column.best, column.bestOrder) = (word, order)
        }
    }

    /// Ends a part; the sums of the next part start from 0.
    func endPart() {
        for index in columns.indices {
            columns[index].closed += columns[index].broken
            columns[index].broken = 0
        }
    }

    /// Adds the aggregates of the next part.
    func add(_ part: VectorAggregates) {
        for index in columns.indices {
            let other = part.columns[index]
            let isFirst = columns[index].count == 0
            columns[index].count &+= other.count
            columns[index].whole += other.whole
            columns[index].closed += other.broken
            if other.count == 0 { continue }
            let order = other.bestOrder
            if isFirst
                || (other.function == .minimum ? order < columns[index].bestOrder : order > columns[index].bestOrder)
            {
                (columns[index].best, columns[index].bestOrder) = (other.best, order)
            }
        }
    }

    func result(_ index: Int) -> Operand {
        var column = columns[index]
        column.broken += column.closed
        let isEmpty = column.count == 0
        switch column.function {
        case .count: return .integer(column.count)
        case .total: return .double(column.broken + Double(column.whole))
        case .average:
            return isEmpty ? .null : .double((column.broken + Double(column.whole)) / Double(column.count))
        case .sum:
            if isEmpty { return .null }
            return column.isBroken ? .double(column.broken) : Operand(whole: column.whole)
        case .minimum, .maximum:
            if isEmpty { return .null }
            switch column.slot?.type {
            case .double?: return .double(Double(bitPattern: column.best))
            case .date?: return .date(Double(bitPattern: column.best))
            default: return .integer(Int64(bitPattern: column.best))
            }
        }
    }
}
