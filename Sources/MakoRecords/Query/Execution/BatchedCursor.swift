import MakoStorage

/// A batched cursor over a plan's rows. Between two batches it holds only a position, so that the caller may do
/// anything meanwhile.
///
///     var batches = BatchedCursor(of: plan)
///     while !batches.isAtEnd { try batches.next(256, in: view) { key, row in print(row.text(0)) } }
///
/// On one snapshot, the batches together are the rows of ``Plan/forEachRow(layout:in:_:)``, in its order. For a sort
/// the keys of all rows are held, 16 bytes each; otherwise the memory is that of one batch. On the view of a
/// transaction that writes meanwhile, rows that it moves ahead of the cursor are read again; see
/// ``init(of:changing:in:)``.
package struct BatchedCursor: Sendable {
    private enum Rest: Sendable {
        /// Not sorted yet.
        case unsorted
        case sorted([RowKey], from: Int)
        case rows(ClosedRange<Int64>)
        /// In the order of the lookups.
        case keys([RowKey], from: Int)
        /// In the order of the scan.
        case keyRanges([KeyRange])
        case index(IndexHandle, [KeyRange])
        case nothing
    }

    private var plan: Plan
    private var rest: Rest
    private var left: Int
    private var room: Int

    /// Starts before the first row of a plan.
    package init(of plan: Plan) {
        self.plan = plan
        left = plan.bound.offset
        room = plan.bound.limit ?? .max
        func inScanOrder(_ ranges: [KeyRange]) -> [KeyRange] { plan.isReversed ? ranges.reversed() : ranges }
        rest =
            switch plan.access {
            // Sub-query results are cached for one run, so that all keys are collected in it.
            case _ where !plan.orders.isEmpty || !plan.bound.subqueries.isEmpty: .unsorted
            case .nothing: .nothing
            case .rows(let range): .rows(range)
            case .keys(let keys): .keys(plan.isReversed ? keys.reversed() : keys, from: 0)
            case .keyRanges(let ranges): .keyRanges(inScanOrder(ranges))
            case .index(let index, let ranges): .index(index, inScanOrder(ranges))
            // All rows are found at once.
            case .fullText, .gathered, .query, .outerRow: .unsorted
            }
    }

    /// Starts a cursor between whose batches the caller changes columns of its rows: each row is read once, and
    /// selected by the values before (no Halloween problem).
    ///
    /// - Parameter view: the view that the batches read, which may show the changes.
    package init(of plan: Plan, changing columns: [String], in view: Snapshot) throws(RecordError) {
        self.init(of: plan)
        let isChosenBefore = !plan.orders.isEmpty
        // Conditions on other rows and sub-queries must be evaluated before the first change.
        var isOvertaken = !plan.bound.joins.isEmpty || !plan.program.subqueries.isEmpty
        if case .index(let index, _) = plan.access {
            isOvertaken =
                isOvertaken || index.condition != nil || index.schema.columns.contains { columns.contains($0.name) }
        }
        if isChosenBefore || !isOvertaken { return }
        rest = .sorted(try plan.keys(in: view), from: 0)
        (left, room) = (0, .max)
    }

    /// Whether only a position is held between batches.
    var holdsPlaceOnly: Bool { if case .unsorted = rest { false } else { true } }

    /// Whether there are no more rows.
    package var isAtEnd: Bool { if case .nothing = rest { true } else { room <= 0 } }

    /// Cancels the cursor, also within a batch.
    package var cancellation: Cancellation? {
        get { plan.cancellation }
        set { plan.cancellation = newValue }
    }

    /// Calls a closure with the next rows: `count` unless there are fewer; a few more if index keys are truncated.
    ///
    /// - Parameters:
    ///   - layout: the layout of the rows passed to the closure; by default that of the table.
    ///   - view: the same view for all batches.
    package mutating func next(
        _ count: Int, layout: RowLayout? = nil, in view: Snapshot, _ body: (RowKey, RowReader) throws -> Void
    ) throws {
        if isAtEnd { return }
        if plan.cancellation?.isCancelled == true { throw RecordError.cancelled }
        var batch = Batch(
            scan: RowScan(plan, view), scanPlan: plan, view: view, layout: layout ?? plan.table.layout,
            wanted: Swift.max(1, count), left: left, room: room)
        rest = try batch.take(rest, body)
        left = batch.left
        room = batch.room
    }

    /// One batch in progress.
    private struct Batch {
        let scan: RowScan
        let scanPlan: Plan
        let view: Snapshot
        let layout: RowLayout
        var wanted: Int
        var left: Int
        var room: Int

        /// Passes on a row, unless it is before the offset. Returns `false` if no more rows are wanted.
        private mutating func visit(
            _ key: RowKey, _ row: RowReader, _ body: (RowKey, RowReader) throws -> Void
        ) throws -> Bool {
            if left > 0 {
                left -= 1
                return true
            }
            try body(key, row)
            wanted -= 1
            room -= 1
            return room > 0
        }

        mutating func take(_ rest: Rest, _ body: (RowKey, RowReader) throws -> Void) throws -> Rest {
            switch rest {
            case .nothing: return .nothing
            case .unsorted:
                (left, room) = (0, .max)
                let keys = scanPlan.orders.isEmpty ? try scanPlan.keys(in: view) : try scanPlan.sortedKeys(scan, view)
                return try take(.sorted(keys, from: 0), body)
            case .sorted(let keys, let from):
                let end = from + Swift.min(wanted, keys.count - from)
                try scan.fetch(Array(keys[from..<end]), layout) { key, row in
                    try body(key, row)
                    return true
                }
                return end < keys.count ? .sorted(keys, from: end) : .nothing
            case .rows(let range): return try take(range, body)
            case .keys(let keys, var from):
                while wanted > 0, room > 0, from < keys.count {
                    let end = from + Swift.min(wanted, keys.count - from)
                    try scan.fetchTested(Array(keys[from..<end]), layout, namedBy: nil) { key, row in
                        try visit(key, row, body)
                    }
                    from = end
                }
                return from < keys.count ? .keys(keys, from: from) : .nothing
            case .keyRanges(let ranges): return try take(ranges, body)
            case .index(let index, let ranges): return try take(ranges, of: index, body)
            }
        }

        private mutating func take(
            _ range: ClosedRange<Int64>, _ body: (RowKey, RowReader) throws -> Void
        ) throws -> Rest {
            var last: Int64?
            try scan.scanRows(range, layout) { key, row in
                guard try visit(key, row, body), wanted > 0 else {
                    last = key.rowID
                    return false
                }
                return true
            }
            guard let last else { return .nothing }
            if scanPlan.isReversed { return last > range.lowerBound ? .rows(range.lowerBound...(last - 1)) : .nothing }
            guard last < range.upperBound else { return .nothing }
            return .rows((last + 1)...range.upperBound)
        }

        private mutating func take(
            _ ranges: [KeyRange], _ body: (RowKey, RowReader) throws -> Void
        ) throws -> Rest {
            for (place, range) in ranges.enumerated() {
                var last: [UInt8]?
                try scan.scanKeys([range], layout) { key, row in
                    guard try visit(key, row, body), wanted > 0 else {
                        if case .bytes(let bytes) = key { last = bytes }
                        return false
                    }
                    return true
                }
                if let last { return .keyRanges([range.behind(last, scanPlan.isReversed)] + ranges[(place + 1)...]) }
            }
            return .nothing
        }

        private mutating func take(
            _ ranges: [KeyRange], of index: IndexHandle, _ body: (RowKey, RowReader) throws -> Void
        ) throws -> Rest {
            let entries = IndexScan(index, scanPlan.table, view, scanPlan.isReversed)
            for (place, range) in ranges.enumerated() {
                var open: KeyRange? = range
                while let range = open {
                    if wanted <= 0 || room <= 0 { return .index(index, [range] + ranges[(place + 1)...]) }
                    let found = try entries.batch(of: range, wanted)
                    try scan.fetchTested(found.rows, layout, namedBy: index) { key, row in try visit(key, row, body) }
                    open = found.rest
                }
            }
            return .nothing
        }
    }
}
