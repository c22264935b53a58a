import MakoStorage

/// Scans the range of a table that the rows before it determine.
final class JoinRangeScan {
    private let range: JoinRange
    /// Encodes the leading columns.
    private let prefix: JoinKey
    private let lower: JoinLimit?
    private let upper: JoinLimit?
    private let scan: RowScan
    private let layout: RowLayout

    init(
        _ range: JoinRange, _ own: Plan, _ joins: [JoinNode], _ view: Snapshot, _ supply: RowContext,
        _ measure: PlanMeasure?
    ) {
        self.range = range
        prefix = JoinKey(range.equal, joins, view, supply)
        lower = range.lower.map { JoinLimit($0, isLower: true, joins, view, supply) }
        upper = range.upper.map { JoinLimit($0, isLower: false, joins, view, supply) }
        layout = own.table.layout
        scan = RowScan(own, view)
        scan.measure = measure
    }

    /// Calls a closure with the rows in the range that pass the table's own condition, until it returns `false`.
    func forEachRow(_ body: (RowKey, RowReader) throws -> Bool) throws {
        guard let access = try access() else { return }
        scan.access = access
        try scan.forEachRow(layout, expecting: RowScan.largestBatch, body)
    }

    /// Returns the range for the current rows; `nil` if no row can be in it.
    private func access() throws(RecordError) -> Access? {
        var (low, high): (Operand?, Operand?)
        if let lower {
            guard let bound = try lower.bound() else { return nil }
            low = bound
        }
        if let upper {
            guard let bound = try upper.bound() else { return nil }
            high = bound
        }
        switch range.target {
        case .rowID: return JoinRangeScan.ids(low, high)
        case .key: return try keys(low, high, TableHandle.longestKey).map { .keyRanges([$0]) }
        case .index(let index): return try keys(low, high, IndexHandle.keptBytes).map { .index(index, [$0]) }
        }
    }

    private static func ids(_ low: Operand?, _ high: Operand?) -> Access? {
        var range = (first: Int64.min, last: Int64.max)
        switch low {
        case .integer(let id): range.first = id
        case .unsigned: return nil
        default: break
        }
        if case .integer(let id) = high { range.last = id }
        return range.first > range.last ? nil : .rows(range.first...range.last)
    }

    private func keys(_ low: Operand?, _ high: Operand?, _ limit: Int) throws(RecordError) -> KeyRange? {
        guard try prefix.encode() else { return nil }
        let bytes = prefix.bytes
        func key(_ value: Operand, _ part: JoinKeyPart) -> [UInt8] {
            var buffer = KeyBuffer(bytes)
            buffer.append(value, noCase: part.noCase)
            if part.descending { buffer.complement(from: bytes.count) }
            return buffer.bytes
        }
        var bounds = KeyRange(
            behind: bytes, low.flatMap { value in range.lower.map { (key(value, $0), true) } },
            high.flatMap { value in range.upper.map { (key(value, $0), true) } },
            descending: (range.lower ?? range.upper)?.descending == true)
        _ = bounds.widen(to: limit)
        return bounds.isEmpty ? nil : bounds
    }
}

/// One limit of a column. It includes its value, which may be rounded, so that the range is never too narrow.
private struct JoinLimit {
    private let value: ExpressionExecutor
    private let supply: RowContext
    private let type: ColumnType
    private let isLower: Bool

    init(_ part: JoinKeyPart, isLower: Bool, _ joins: [JoinNode], _ view: Snapshot, _ supply: RowContext) {
        value = ExpressionExecutor(bound: [part.origin.expr], nil, joins, view, supply)
        self.supply = supply
        self.isLower = isLower
        type = part.type
    }

    /// Returns the limit as a value of the column, `.some(nil)` if it excludes no row, and `nil` if it excludes all.
    func bound() throws(RecordError) -> Operand?? {
        let operand = try value.operand(0, supply.blank, .rowID(0))
        if operand.isNull { return nil }
        switch type {
        case .integer, .reference, .unsigned:
            guard case .double(let number) = operand else { return operand }
            let whole = number.rounded(isLower ? .up : .down)
            if let integer = Int64(exactly: whole) { return .integer(integer) }
            if let natural = UInt64(exactly: whole) { return .unsigned(natural) }
            // Every whole number, or none, is on the right side of a number that is too large.
            if !number.isNaN && (number > 0) == isLower { return nil }
            return .some(.none)
        case .double:
            guard let number = operand.asDouble else { return operand }
            return number.isNaN ? .some(.none) : .double(number)
        default: return operand
        }
    }
}
