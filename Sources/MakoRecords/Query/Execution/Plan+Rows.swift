import MakoStorage

extension Plan {
    /// The number of keys collected before their rows are read.
    private static let mostKeys = 10_000

    /// The number of rows that the first batch may fetch.
    private var expected: Int { min(bound.offset, 1 << 20) + min(bound.limit ?? .max, 1 << 20) }

    /// Calls a closure with each row until it returns `false`. The closure must not change the table.
    @usableFromInline
    package func forEachRow(
        layout: RowLayout? = nil, in view: Snapshot, _ body: (RowKey, RowReader) throws -> Bool
    ) throws {
        try forEachRow(layout ?? table.layout, RowScan(self, view), view, body)
    }

    func forEachRow(
        layout: RowLayout?, in view: Snapshot, _ measure: PlanMeasure?, _ body: (RowKey, RowReader) throws -> Bool
    ) throws {
        let scan = RowScan(self, view)
        scan.measure = measure
        try forEachRow(layout ?? table.layout, scan, view, body)
    }

    /// One copy of the scans serves all callers, see ``RowScan/forEachRow(_:expecting:_:)``.
    func forEachRow(
        _ layout: RowLayout, _ scan: RowScan, _ view: Snapshot, _ body: (RowKey, RowReader) throws -> Bool
    ) throws {
        try withoutActuallyEscaping(body) { body in try visitRows(layout, scan, view, for: RowConsumer(body)) }
    }

    @inline(never)
    private func visitRows(
        _ layout: RowLayout, _ scan: RowScan, _ view: Snapshot, for consumer: RowConsumer
    ) throws {
        try forEachRowSpecialised(layout, scan, view, consumer.take)
    }

    /// ``forEachRow(_:_:_:_:)`` with a copy of the scans for the closure.
    func forEachRowSpecialised(
        _ layout: RowLayout, _ scan: RowScan, _ view: Snapshot, _ body: (RowKey, RowReader) throws -> Bool
    ) throws {
        if orders.isEmpty && bound.offset == 0 && bound.limit == nil {
            try scan.forEachRowSpecialised(layout, expecting: expected, body)
        } else if cover == nil, orders.isEmpty, bound.offset > 0, let limit = bound.limit, limit <= Plan.mostKeys,
            !hasResidual, case .index(let index, _) = access
        {
            // The entries of rows before the offset are skipped without reading the rows.
            try scan.fetchTested(try keys(scan, view), layout, namedBy: index, body)
            scan.measure?.access.operation = .indexScan
        } else if orders.isEmpty {
            var left = bound.offset
            var room = bound.limit ?? .max
            defer { noteLimit(scan.measure, left, room) }
            try scan.forEachRow(layout, expecting: expected) { key, row in
                if left > 0 {
                    left -= 1
                    return true
                }
                room -= 1
                return try body(key, row) && room > 0
            }
        } else {
            guard let measure = scan.measure else {
                return try forEachSorted(scan, view) { keys in
                    var isWanted = true
                    try scan.fetch(keys, layout) { key, row in
                        isWanted = try body(key, row)
                        return isWanted
                    }
                    return isWanted
                }
            }
            let keys = try sortedKeys(scan, view)
            let (run, sort) = (measure.run, measure.at(bound.limit == nil ? .sort : .topN))
            let before = run.turn(to: sort)
            defer { run.turn(to: before) }
            try scan.fetch(keys, layout) { key, row in
                try run.passing(from: sort, to: before) { try body(key, row) }
            }
        }
    }

    /// Calls a closure with batches of the rows' keys, in the order of the plan.
    func forEachSorted(_ scan: RowScan, _ view: Snapshot, _ body: ([RowKey]) throws -> Bool) throws {
        if let nearest {
            _ = try body(try nearest.keys(self, view, nil, nil))
        } else {
            try sorter(scan, view).forEachBatch(
                of: RowScan.largestBatch, offset: bound.offset, limit: bound.limit, body)
        }
    }

    /// Returns the keys of the rows, in order.
    package func keys(in view: Snapshot) throws(RecordError) -> [RowKey] {
        try keys(RowScan(self, view), view)
    }

    func keys(_ scan: RowScan, _ view: Snapshot) throws(RecordError) -> [RowKey] {
        if !orders.isEmpty { return try sortedKeys(scan, view) }
        var keys: [RowKey] = []
        var left = bound.offset
        var room = bound.limit ?? .max
        defer { noteLimit(scan.measure, left, room) }
        try recorded {
            try scan.forEachKeySpecialised(expecting: expected) { key in
                if left > 0 {
                    left -= 1
                    return true
                }
                keys.append(key)
                room -= 1
                return room > 0
            }
        }
        return keys
    }

    /// Records the counts of the limit operator.
    private func noteLimit(_ measure: PlanMeasure?, _ left: Int, _ room: Int) {
        guard let measure, isCut else { return }
        let passed = (bound.limit ?? .max) - room
        measure.note(.limit, rows: bound.offset - max(0, left) + passed, passed: passed)
    }

    /// Returns the ids of the rows, in order; for tables with row ids.
    package func ids(in view: Snapshot) throws(RecordError) -> [Int64] {
        guard table.isRowID else {
            let reason = "the table has key columns, not ids; use keys(), or select the columns"
            throw .invalidKey(table: table.schema.name, reason: reason)
        }
        return try keys(in: view).compactMap(\.rowID)
    }

    /// Returns the number of rows, within limit and offset.
    package func count(in view: Snapshot) throws(RecordError) -> Int { try count(in: view, nil) }

    func count(in view: Snapshot, _ measure: PlanMeasure?) throws(RecordError) -> Int {
        var count = 0
        if !hasResidual, isWholeTable {
            count = try table.count(in: view)
            measure?.note(.tableCount, rows: 0, passed: 1)
        } else if !hasResidual, case .fullText(let found) = access {
            count = try TextAccess(match: found.match, isRanked: false).numbers(view, wanted: nil).count
            if let access = measure?.access {
                access.operation = .textSearch
                access.counts.runs += 1
                access.counts.entries += count
                access.counts.passed += count
            }
        } else {
            let enough = bound.limit.map { $0.addingReportingOverflow(bound.offset) }
            let stop = enough.map { $0.overflow ? Int.max : $0.partialValue } ?? .max
            if isGathered {
                try forEachPart(
                    parts(in: view), in: view, measure,
                    { (part, measure) throws(RecordError) in try part.count(upTo: .max, in: view, measure) }
                ) { (found) in
                    count += found
                    return true
                }
                measure?.note(.gather, rows: 1, passed: 1)
            } else {
                count = try self.count(upTo: stop, in: view, measure)
            }
        }
        let counted = min(max(0, count - bound.offset), bound.limit ?? .max)
        if let measure {
            if isCut { measure.note(.limit, rows: count, passed: counted) }
            if hasResidual || !isWholeTable { measure.note(.count, rows: counted, passed: 1) }
        }
        return counted
    }

    private func count(upTo stop: Int, in view: Snapshot, _ measure: PlanMeasure?) throws(RecordError) -> Int {
        var count = 0
        try recorded {
            let scan = RowScan(self, view)
            scan.measure = measure
            try scan.forEachKeySpecialised(expecting: min(stop, 1 << 20)) { _ in
                count += 1
                return count < stop
            }
        }
        return count
    }

    /// Returns whether there is at least one row.
    package func exists(in view: Snapshot) throws(RecordError) -> Bool { try exists(in: view, nil) }

    func exists(in view: Snapshot, _ measure: PlanMeasure?) throws(RecordError) -> Bool {
        if bound.limit == 0 { return false }
        var left = bound.offset
        var isThere = false
        let scan = RowScan(self, view)
        scan.measure = measure
        try recorded {
            try scan.forEachKey(expecting: 1) { _ in
                isThere = left == 0
                left -= 1
                return !isThere
            }
        }
        measure?.note(.exists, rows: bound.offset - max(0, left) + (isThere ? 1 : 0), passed: isThere ? 1 : 0)
        return isThere
    }

    func sortedKeys(_ scan: RowScan, _ view: Snapshot) throws(RecordError) -> [RowKey] {
        let measure = scan.measure
        return try measure.during(bound.limit == nil ? .sort : .topN) { (sort) throws(RecordError) in
            let before = sort.map { _ in measure?.found ?? 0 }
            let keys: [RowKey] =
                if let nearest {
                    try nearest.keys(self, view, measure, sort)
                } else {
                    try sortedKeys(scan, view, sort)
                }
            if let sort, let before { sort.counts.rows += (measure?.found ?? 0) - before }
            sort?.counts.passed += keys.count
            return keys
        }
    }

    private func sortedKeys(
        _ scan: RowScan, _ view: Snapshot, _ measure: OperatorMeasure?
    ) throws(RecordError) -> [RowKey] {
        let sorter = try sorter(scan, view)
        measure?.hold(sorter.peakBytes)
        return try sorter.sorted(offset: bound.offset, limit: bound.limit)
    }

    /// Returns a sorter with the keys of all rows.
    private func sorter(_ scan: RowScan, _ view: Snapshot) throws(RecordError) -> Sorter {
        let sorter = Sorter(self, view)
        try recorded {
            try scan.forEachRowSpecialised(table.layout, expecting: 1 << 20) { key, row in
                try sorter.add(key, row)
                return true
            }
        }
        return sorter
    }

    /// Returns the value of a column in the first row; NULL if there is no row.
    func firstValue(
        of column: BoundExpr, in view: Snapshot, _ measure: PlanMeasure? = nil
    ) throws(RecordError) -> Value {
        let run = ExpressionExecutor(bound: [column], table, bound.joins, view)
        let scan = RowScan(self, view)
        scan.measure = measure
        var value = Value.null
        try recorded {
            try forEachRow(table.layout, scan, view) { key, row in
                value = try run.operand(0, row, key).value
                return false
            }
        }
        return value
    }

    /// Calls a closure with every row of the result, in any order.
    func forEachResult(
        in view: Snapshot, _ measure: PlanMeasure? = nil, _ body: (RowKey, RowReader) throws(RecordError) -> Void
    ) throws(RecordError) {
        try recorded {
            let scan = RowScan(self, view)
            scan.measure = measure
            if bound.limit == nil && bound.offset == 0 {
                try scan.forEachRowSpecialised(table.layout, expecting: 1 << 20) { key, row in
                    try body(key, row)
                    return true
                }
            } else {
                try forEachRow(table.layout, scan, view) { key, row in
                    try body(key, row)
                    return true
                }
            }
        }
    }
}
