import MakoStorage

/// Looks up the rows of a sub-query that are linked to the outer row, by key, by an index or among kept rows.
final class SubqueryLookup {
    private let probe: SubqueryProbe
    private let columns: [BoundColumn]
    /// For each linked column, the index of the outer value that it must equal.
    private let places: [Int]
    private let table: TableHandle
    private let view: Snapshot
    private let outers: CorrelatedParameters
    private let cancellation: Cancellation?
    /// Counts the rows looked up and those that pass, if the run is measured.
    private let measure: PlanMeasure?
    private let lookup: OperatorMeasure?
    private let evaluator: Evaluator?
    /// The order of the rows; `nil` if any will do.
    private let coding: OrderCoding?
    private let limit: Int?
    private let offset: Int
    /// The row made of an index entry, for an index-only lookup.
    private let made: IndexTuple?
    private var key = KeyBuffer()
    /// The kept rows, once one is looked up.
    private var kept: LinkedKeys?

    /// - Returns: `nil` if nothing finds the linked rows.
    init?(
        _ subquery: SubqueryPlan, _ view: Snapshot, _ outers: CorrelatedParameters, _ cancellation: Cancellation?,
        _ measure: PlanMeasure?
    ) {
        guard let link = subquery.link, let probe = link.probe, case .plan(let plan) = subquery.source else {
            return nil
        }
        self.probe = probe
        columns = probe.order.map { link.columns[$0] }
        places = probe.order.map { link.outers[$0] }
        table = plan.table
        self.view = view
        self.outers = outers
        self.cancellation = cancellation
        self.measure = measure
        lookup = measure?.at(.subqueryLookup)
        let bound = plan.bound
        (limit, offset) = (bound.limit, bound.offset)
        coding = bound.orders.isEmpty ? nil : OrderCoding(bound.orders, bound, view)
        let test = Program(plan.table, probe.residual, joins: plan.bound.joins)
        evaluator = probe.residual == nil ? nil : Evaluator(test, view, outers: outers, cancellation)
        if case .index(let index) = probe.accessPath {
            let reads = Program(plan.table, probe.residual, joins: plan.bound.joins)
            for expr in [subquery.output].compactMap({ $0 }) + bound.orders.map(\.expr) { _ = reads.add(expr) }
            made = reads.ownColumns.flatMap { CoveringIndex(index, plan.table, reading: $0) }
                .map { IndexTuple($0, plan.table.layout) }
        } else {
            made = nil
        }
    }

    /// Returns the number of rows, if no row must be read to find it; otherwise `nil`.
    func count() throws(RecordError) -> Int? {
        guard evaluator == nil, case .index(let index) = probe.accessPath else { return nil }
        lookup?.counts.runs += 1
        guard code() else { return 0 }
        var count = 0
        try scan(index) { _ in
            count += 1
            return true
        }
        lookup?.counts.passed += count
        return count
    }

    /// Calls a closure with the rows, in the order and within the limit of the sub-query, until it returns `false`.
    func forEachRow(_ body: (RowKey, RowReader) throws(RecordError) -> Bool) throws(RecordError) {
        if let coding { return try forEachSorted(coding, body) }
        guard limit != nil || offset > 0 else { return try forEachLinked(body) }
        var left = offset
        var room = limit ?? .max
        if room > 0 {
            try forEachLinked { (key, row) throws(RecordError) in
                if left > 0 {
                    left -= 1
                    return true
                }
                room -= 1
                return try body(key, row) && room > 0
            }
        }
        let passed = (limit ?? .max) - room
        measure?.note(.limit, rows: offset - left + passed, passed: passed)
    }

    private func forEachSorted(
        _ coding: OrderCoding, _ body: (RowKey, RowReader) throws(RecordError) -> Bool
    ) throws(RecordError) {
        let keys = try measure.during(limit == nil ? .sort : .topN) { (sort) throws(RecordError) in
            let sorter = Sorter(coding, view, limit: limit, offset: offset)
            try forEachLinked { (key, row) throws(RecordError) in
                sort?.counts.rows += 1
                try sorter.add(key, row)
                return true
            }
            sort?.hold(sorter.peakBytes)
            let keys = try sorter.sorted(offset: offset, limit: limit)
            sort?.counts.passed += keys.count
            return keys
        }
        try recorded {
            for key in keys {
                guard try table.withRow(key, in: view, { row in try body(key, row) }) ?? true else { return }
            }
        }
    }

    /// Calls a closure with the linked rows, in any order, until it returns `false`.
    private func forEachLinked(
        _ body: (RowKey, RowReader) throws(RecordError) -> Bool
    ) throws(RecordError) {
        guard let measure, let lookup else { return try lookUp(body) }
        lookup.counts.runs += 1
        let examined = max(lookup.counts.rows, lookup.counts.entries)
        var passed = 0
        let before = measure.run.turn(to: lookup)
        defer { measure.run.turn(to: before) }
        try lookUp { (key, row) throws(RecordError) in
            passed += 1
            measure.run.turn(to: before)
            defer { measure.run.turn(to: lookup) }
            return try body(key, row)
        }
        let found = max(lookup.counts.rows, lookup.counts.entries) - examined
        lookup.counts.passed += evaluator == nil ? passed : found
        if evaluator != nil { measure.note(.filter, rows: found, passed: passed) }
    }

    private func lookUp(_ body: (RowKey, RowReader) throws(RecordError) -> Bool) throws(RecordError) {
        if cancellation?.isCancelled == true { throw .cancelled }
        switch probe.accessPath {
        case .rowID:
            guard case .integer(let id) = outers.values[places[0]] else { return }
            _ = try visit(.rowID(id), body)
        case .key:
            guard code() else { return }
            _ = try visit(.bytes(key.bytes), body)
        case .index(let index):
            guard code() else { return }
            if let made, key.count <= IndexHandle.keptBytes { return try scanEntries(index, made, body) }
            try scan(index) { key in try visit(key, body) }
        case .kept(let plan):
            guard code() else { return }
            if kept == nil { kept = try keep(plan) }
            try kept?.forEach(key) { (key) throws(RecordError) in try visit(key, body) }
        }
    }

    private func keep(_ plan: Plan) throws(RecordError) -> LinkedKeys {
        try measure.during(.subqueryHash) { (hash) throws(RecordError) in
            let scan = RowScan(plan, view, nil, cancellation)
            scan.measure = measure?.part(1)
            let kept = try LinkedKeys(scan, columns)
            hash?.counts.rows += kept.count
            hash?.counts.passed += kept.count
            hash?.hold(kept.memory)
            return kept
        }
    }

    /// Encodes the lookup key; returns `false` if a value is NULL, which equals nothing.
    private func code() -> Bool {
        key.clear()
        for place in places {
            if outers.values[place].isNull { return false }
            key.append(outers.values[place])
        }
        return true
    }

    /// Returns whether more rows are wanted.
    private func visit(
        _ key: RowKey, _ body: (RowKey, RowReader) throws(RecordError) -> Bool
    ) throws(RecordError) -> Bool {
        if case .bytes(let bytes) = key, bytes.count > TableHandle.longestKey { return true }
        return try recorded {
            try table.withRow(key, in: view) { row in
                lookup?.counts.rows += 1
                return try test(key, row, body)
            } ?? true
        }
    }

    private func test(
        _ key: RowKey, _ row: RowReader, _ body: (RowKey, RowReader) throws(RecordError) -> Bool
    ) throws(RecordError) -> Bool {
        if let evaluator, !(try evaluator.test(row, key)) { return true }
        return try body(key, row)
    }

    private func scanEntries(
        _ index: IndexHandle, _ made: IndexTuple, _ body: (RowKey, RowReader) throws(RecordError) -> Bool
    ) throws(RecordError) {
        try recorded {
            let scan = IndexScan(index, table, view, false)
            try scan.forEachEntry([KeyRange(prefix: key.bytes)]) { key, entry in
                lookup?.counts.entries += 1
                guard let entry, made.read(entry, key) else { return try visit(key, body) }
                return try test(key, try made.reader(), body)
            }
        }
    }

    private func scan(_ index: IndexHandle, _ body: (RowKey) throws -> Bool) throws(RecordError) {
        var range = KeyRange(prefix: key.bytes)
        let isCut = range.widen(to: IndexHandle.keptBytes)
        let whole = isCut ? key.bytes : []
        try recorded {
            try IndexScan(index, table, view, false).run([range]) { row in
                lookup?.counts.entries += 1
                // A truncated entry does not determine equality, so that the row is compared.
                if isCut, try !isEqual(row, whole) { return true }
                return try body(row)
            }
        }
    }

    private func isEqual(_ row: RowKey, _ whole: [UInt8]) throws -> Bool {
        try table.withRow(row, in: view) { reader in
            var coded = KeyBuffer()
            for column in columns {
                if let ordinal = column.ordinal { coded.append(reader, table.layout.allSlots[ordinal]) }
            }
            return coded.bytes == whole
        } ?? false
    }
}
