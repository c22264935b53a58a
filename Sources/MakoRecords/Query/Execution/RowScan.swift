import MakoStorage

/// Scan operator: reads the rows of a plan in the order of its access path, and tests the residual condition.
final class RowScan {
    private static let firstBatch = 8
    static let largestBatch = 256

    let plan: Plan
    /// The plan's access path, or the range of it for the present row of a join.
    var access: Access
    let view: Snapshot
    let table: TableHandle
    @exclusivity(unchecked) private var madeEvaluator: Evaluator?
    private let outers: CorrelatedParameters?
    private let hasTest: Bool
    /// The program of the pushed-down predicate.
    private let program: Program?
    private let prefilter: PushedPredicate?
    /// The number of rows looked up by key.
    @exclusivity(unchecked) private(set) var fetched = 0
    private let cancellation: Cancellation?
    @exclusivity(unchecked) private var tested = 0
    /// Counts what is read, if the run is measured; updated after a scan or a batch, never for a single row.
    var measure: PlanMeasure?

    init(_ plan: Plan, _ view: Snapshot, _ outers: CorrelatedParameters? = nil, _ cancellation: Cancellation? = nil) {
        self.plan = plan
        access = plan.access
        self.view = view
        table = plan.table
        self.cancellation = cancellation ?? plan.cancellation
        self.outers = outers
        hasTest = plan.hasResidual
        if hasTest, case .rows = access {
            let program = plan.program
            self.program = program
            prefilter = PushedPredicate(program, plan.table.layout)
        } else {
            program = nil
            prefilter = nil
        }
    }

    /// Made for the first row that is tested: many queries find none.
    var evaluator: Evaluator? {
        guard hasTest else { return nil }
        if let madeEvaluator { return madeEvaluator }
        let made = Evaluator(program ?? plan.program, view, outers: outers, cancellation)
        madeEvaluator = made
        return made
    }

    // The compiler copies the scans of all access paths for each closure that it sees at a call of the functions named
    // `…Specialised`: they are for those who read many rows. One copy of the scans serves all other callers.

    /// Calls `body` with the key of each row until it returns `false`; reads a row only to test it.
    func forEachKey(expecting: Int, _ body: (RowKey) throws -> Bool) throws {
        try withoutActuallyEscaping(body) { body in
            guard let measure else { return try visitKeys(expecting: expecting, for: KeyConsumer(body)) }
            let start = measure.beginScan()
            defer { measure.endScan(start, isTested: hasTest) }
            let consumer = KeyConsumer { key in try measure.passing(start) { try body(key) } }
            try visitKeys(expecting: expecting, for: consumer)
        }
    }

    /// ``forEachKey(expecting:_:)`` with a copy of the scans for the closure.
    func forEachKeySpecialised(expecting: Int, _ body: (RowKey) throws -> Bool) throws {
        if measure != nil { return try forEachKey(expecting: expecting, body) }
        try visitKeys(expecting: expecting, body)
    }

    @inline(never)
    private func visitKeys(expecting: Int, for consumer: KeyConsumer) throws {
        try visitKeys(expecting: expecting, consumer.take)
    }

    private func visitKeys(expecting: Int, _ body: (RowKey) throws -> Bool) throws {
        guard !hasTest else {
            if plan.cover == nil, case .index(let index, let ranges) = access, let cover = plan.cover() {
                measure?.access.operation = .coveringIndexScan
                return try scanEntries(index, ranges, IndexTuple(cover, table.layout)) { key, _ in try body(key) }
            }
            return try visit(table.layout, expecting: expecting) { key, _ in try body(key) }
        }
        switch access {
        case .nothing: measure?.access.operation = .nothing
        case .index(let index, let ranges):
            measure?.access.operation = .coveringIndexScan
            let before = tested
            defer { measure?.access.counts.entries += tested &- before }
            try IndexScan(index, table, view, plan.isReversed).run(ranges) { key in
                tested &+= 1
                if tested & 1023 == 0 { try endIfCancelled() }
                return try body(key)
            }
        case .fullText(let found): try forEachKey(found, body)
        case .gathered(let source) where source.namesRows:
            for key in try gathered(source) { guard try body(key) else { return } }
        case .keys, .rows, .keyRanges, .gathered, .query, .outerRow:
            try visit(table.layout, expecting: expecting) { key, _ in try body(key) }
        }
    }

    /// Calls `body` with each row until it returns `false`.
    func forEachRow(_ layout: RowLayout, expecting: Int, _ body: (RowKey, RowReader) throws -> Bool) throws {
        try withoutActuallyEscaping(body) { body in
            guard let measure else { return try visit(layout, expecting: expecting, for: RowConsumer(body)) }
            let start = measure.beginScan()
            defer { measure.endScan(start, isTested: hasTest) }
            let consumer = RowConsumer { key, row in try measure.passing(start) { try body(key, row) } }
            try visit(layout, expecting: expecting, for: consumer)
        }
    }

    /// ``forEachRow(_:expecting:_:)`` with a copy of the scans for the closure.
    func forEachRowSpecialised(_ layout: RowLayout, expecting: Int, _ body: (RowKey, RowReader) throws -> Bool) throws {
        if measure != nil { return try forEachRow(layout, expecting: expecting, body) }
        try visit(layout, expecting: expecting, body)
    }

    @inline(never)
    private func visit(_ layout: RowLayout, expecting: Int, for consumer: RowConsumer) throws {
        try visit(layout, expecting: expecting, consumer.take)
    }

    private func visit(_ layout: RowLayout, expecting: Int, _ body: (RowKey, RowReader) throws -> Bool) throws {
        let access = access
        switch access {
        case .nothing: measure?.access.operation = .nothing
        case .rows(let range): try scanRows(range, layout, body)
        case .keyRanges(let ranges): try scanKeys(ranges, layout, body)
        case .keys(let keys):
            measure?.access.operation = .keyLookup
            try fetchTested(plan.isReversed ? keys.reversed() : keys, layout, namedBy: nil, body)
        case .index(let index, let ranges):
            if let cover = plan.cover {
                measure?.access.operation = plan.skip == nil ? .coveringIndexScan : .skipScan
                let made = IndexTuple(cover, layout)
                if let skip = plan.skip { return try scanRuns(index, ranges, made, skip, body) }
                return try scanEntries(index, ranges, made, body)
            }
            measure?.access.operation = .indexScan
            let before = fetched
            defer { measure?.access.counts.entries += fetched &- before }
            try visitBatches(access, layout, expecting: expecting, body)
        case .fullText: try visitBatches(access, layout, expecting: expecting, body)
        case .gathered(let source):
            try fetchTested(try gathered(source), layout, namedBy: nil, body)
        case .query(let query): try run(query, body)
        case .outerRow(let values):
            measure?.access.operation = .oneRow
            var writer = RowWriter()
            _ = try visit(values, 0, &writer, body)
        }
    }

    /// Calls `body` with the rows whose keys an index or a full-text search finds, until it returns `false`. They are
    /// looked up in batches of growing size.
    private func visitBatches(
        _ access: Access, _ layout: RowLayout, expecting: Int, _ body: (RowKey, RowReader) throws -> Bool
    ) throws {
        let index = plan.index
        var batch: [RowKey] = []
        var size = !hasTest ? min(max(1, expecting), RowScan.largestBatch) : RowScan.firstBatch
        batch.reserveCapacity(min(size, 16))
        var goesOn = true
        func take(_ key: RowKey) throws -> Bool {
            batch.append(key)
            guard batch.count >= size else { return true }
            size = min(size * 2, RowScan.largestBatch)
            goesOn = try fetchTested(batch, layout, namedBy: index, body)
            batch.removeAll(keepingCapacity: true)
            return goesOn
        }
        switch access {
        case .index(let index, let ranges): try IndexScan(index, table, view, plan.isReversed).run(ranges, take)
        case .fullText(let found): try forEachKey(found, take)
        case .nothing, .rows, .keyRanges, .keys, .gathered, .query, .outerRow: return
        }
        if goesOn { try fetchTested(batch, layout, namedBy: index, body) }
    }

    /// Calls `body` with each row of a query that passes the condition, until it returns `false`.
    private func run(_ query: StatementPlan, _ body: (RowKey, RowReader) throws -> Bool) throws {
        measure?.access.operation = .queryScan
        var writer = RowWriter()
        var number: Int64 = 0
        // The closure may be the caller's, whose errors are passed on as they are.
        var failure: (any Error)?
        defer { measure?.access.counts.rows += Int(number) }
        func take(_ row: [Value]) throws(RecordError) -> Bool {
            number += 1
            do { return try visit(row, number - 1, &writer, body) } catch {
                failure = error
                return false
            }
        }
        let query = query.ended(by: cancellation)
        if let measure {
            for row in try query.rows(in: view, measure.part(0)) { guard try take(row) else { break } }
        } else {
            try query.forEachRow(in: view, take)
        }
        if let failure { throw failure }
    }

    /// Calls `body` with a row of these values, if it passes the condition.
    private func visit(
        _ values: [Value], _ number: Int64, _ writer: inout RowWriter, _ body: (RowKey, RowReader) throws -> Bool
    ) throws -> Bool {
        writer.begin(table.layout)
        for (position, value) in values.enumerated() { writer.set(position, value) }
        let key = RowKey.rowID(number)
        let reader = try RowReader(try writer.finish(), table.layout)
        return try passes(reader, key) ? try body(key, reader) : true
    }

    /// Calls `body` with the keys of the rows that a full-text search finds.
    private func forEachKey(_ found: TextAccess, _ body: (RowKey) throws -> Bool) throws {
        var wanted: Int?
        if plan.orders.isEmpty, !hasTest, let limit = plan.bound.limit {
            let (sum, overflow) = limit.addingReportingOverflow(plan.bound.offset)
            wanted = overflow ? nil : sum
        }
        let numbers = try found.numbers(view, wanted: wanted)
        let last = numbers.count - 1
        measure?.access.operation = .textSearch
        measure?.access.counts.entries += numbers.count
        for place in numbers.indices {
            tested &+= 1
            if tested & 1023 == 0 { try endIfCancelled() }
            let number = numbers[plan.isReversed ? last - place : place]
            guard try body(try found.match.index.key(of: number, in: view)) else { return }
        }
    }

    private func gathered(_ source: RowIDSet) throws(RecordError) -> [RowKey] {
        measure?.access.operation = .rowIDLookup
        let keys = try KeyGathering(table: table, view: view, cancellation: cancellation)
            .keys(source, measure?.part(0))
        return plan.isReversed ? keys.reversed() : keys
    }

    /// Calls `body` with the rows of these keys, in this order, without missing rows.
    func fetch(_ keys: [RowKey], _ layout: RowLayout, _ body: (RowKey, RowReader) throws -> Bool) throws {
        // Rows that are read again, in their order, are not counted again.
        let measure = measure
        self.measure = nil
        defer { self.measure = measure }
        try fetchAll(keys, layout, namedBy: nil, evaluator: nil, body)
    }

    func endIfCancelled() throws(RecordError) {
        if cancellation?.isCancelled == true { throw .cancelled }
    }

    @inline(__always)
    private func passes(_ row: RowReader, _ key: RowKey) throws(RecordError) -> Bool {
        tested &+= 1
        if tested & 1023 == 0 { try endIfCancelled() }
        guard let evaluator else { return true }
        return try evaluator.test(row, key)
    }

    func scanRows(
        _ range: ClosedRange<Int64>, _ layout: RowLayout, _ body: (RowKey, RowReader) throws -> Bool
    ) throws {
        let low = KeyOrder.treeKey(range.lowerBound)
        let high = KeyOrder.treeKey(range.upperBound)
        measure?.access.operation = plan.scanOperator
        let before = tested
        defer { measure?.access.counts.rows += tested &- before }
        if !plan.isReversed {
            if let prefilter {
                return try withExtendedLifetime(prefilter) { try scanRange(low...high, prefilter.tests, layout, body) }
            }
            return try scanRange(low...high, layout, body)
        }
        var cursor = try view.cursor(in: table.rows)
        var isThere = try cursor.seek(high)
        if !isThere {
            isThere = try cursor.last()
        } else if cursor.integerKey > high {
            isThere = try cursor.previous()
        }
        while isThere, cursor.integerKey >= low {
            let key = RowKey.rowID(KeyOrder.rowID(cursor.integerKey))
            let goesOn = try cursor.withValue { bytes in
                let row = try table.reader(bytes, key, layout)
                return try passes(row, key) ? try body(key, row) : true
            }
            if !goesOn { return }
            isThere = try cursor.previous()
        }
    }

    private func scanRange(
        _ range: ClosedRange<UInt64>, _ layout: RowLayout, _ body: (RowKey, RowReader) throws -> Bool
    ) throws {
        // Local variables, because a reference from a property is retained and released for each row.
        let (evaluator, cancellation) = (evaluator, cancellation)
        var count = 0
        defer { measure?.access.counts.rows += count }
        try view.forEach(in: table.rows, from: range.lowerBound) { key, bytes in
            if key > range.upperBound { return false }
            count &+= 1
            if count & 1023 == 0, cancellation?.isCancelled == true { throw RecordError.cancelled }
            let row = try RowReader(bytes, layout)
            let key = RowKey.rowID(KeyOrder.rowID(key))
            if let evaluator, !(try evaluator.test(row, key)) { return true }
            return try body(key, row)
        }
    }

    private func scanRange(
        _ range: ClosedRange<UInt64>, _ tests: PushedPredicate.Tests, _ layout: RowLayout,
        _ body: (RowKey, RowReader) throws -> Bool
    ) throws {
        let (evaluator, cancellation) = (evaluator, cancellation)
        // Outlined, so that the loop, in which nearly all rows end, has few variables.
        @inline(never)
        func take(_ key: UInt64, _ bytes: UnsafeRawBufferPointer) throws -> Bool {
            let row = try RowReader(bytes, layout)
            let key = RowKey.rowID(KeyOrder.rowID(key))
            let isFound = tests.isWhole && tests.isUsual(bytes)
            if !isFound, let evaluator, !(try evaluator.test(row, key)) { return true }
            return try body(key, row)
        }
        var count = 0
        defer { measure?.access.counts.rows += count }
        try view.forEach(in: table.rows, from: range.lowerBound) { key, bytes in
            if key > range.upperBound { return false }
            count &+= 1
            if count & 1023 == 0, cancellation?.isCancelled == true { throw RecordError.cancelled }
            return tests.rejects(bytes) ? true : try take(key, bytes)
        }
    }

    func scanKeys(
        _ ranges: [KeyRange], _ layout: RowLayout, _ body: (RowKey, RowReader) throws -> Bool
    ) throws {
        measure?.access.operation = ranges == [KeyRange(lower: [], upper: nil)] ? .scan : .keyRange
        let before = tested
        defer { measure?.access.counts.rows += tested &- before }
        for range in plan.isReversed ? ranges.reversed() : ranges {
            var cursor = try view.cursor(in: table.rows)
            var isThere = try IndexScan.start(&cursor, range, plan.isReversed)
            while isThere {
                let bytes = cursor.key
                guard IndexScan.isInside(bytes, range, plan.isReversed) else { break }
                let key = RowKey.bytes(bytes)
                let goesOn = try cursor.withValue { bytes in
                    let row = try table.reader(bytes, key, layout)
                    return try passes(row, key) ? try body(key, row) : true
                }
                if !goesOn { return }
                isThere = plan.isReversed ? try cursor.previous() : try cursor.next()
            }
        }
    }

    /// Calls `body` with the rows of these keys that pass the condition, in this order. Returns `false` if the closure
    /// wants no more.
    @discardableResult
    func fetchTested(
        _ keys: [RowKey], _ layout: RowLayout, namedBy index: IndexHandle?, _ body: (RowKey, RowReader) throws -> Bool
    ) throws -> Bool { try fetchAll(keys, layout, namedBy: index, evaluator: evaluator, body) }

    @discardableResult
    private func fetchAll(
        _ keys: [RowKey], _ layout: RowLayout, namedBy index: IndexHandle?, evaluator: Evaluator?,
        _ body: (RowKey, RowReader) throws -> Bool
    ) throws -> Bool {
        var start = 0
        while start < keys.count {
            let end = min(start + RowScan.largestBatch, keys.count)
            guard try fetchBatch(keys[start..<end], layout, namedBy: index, evaluator: evaluator, body) else {
                return false
            }
            start = end
        }
        return true
    }

    static func missing(_ key: RowKey, _ table: EntitySchema, _ index: String) -> RecordError {
        .indexDamaged(
            table: table.name, index: index, reason: "it names row \(key.text(in: table)), which is not there")
    }

    /// Returns whether to continue. A row that the index names and the table lacks is an error.
    private func fetchBatch(
        _ keys: ArraySlice<RowKey>, _ layout: RowLayout, namedBy index: IndexHandle?, evaluator: Evaluator?,
        _ body: (RowKey, RowReader) throws -> Bool
    ) throws -> Bool {
        fetched += keys.count
        measure?.access.counts.rows += keys.count
        try endIfCancelled()
        var goesOn = true
        func take(_ key: RowKey, _ bytes: UnsafeRawBufferPointer?) throws {
            guard let bytes else {
                guard let index else { return }
                throw RowScan.missing(key, table.schema, index.schema.name)
            }
            let row = try table.reader(bytes, key, layout)
            if let evaluator, !(try evaluator.test(row, key)) { return }
            goesOn = try body(key, row)
        }
        if table.isRowID {
            let treeKeys = keys.map { KeyOrder.treeKey($0.rowID ?? 0) }
            let first = keys.startIndex
            try view.withValues(of: treeKeys, in: table.rows) { index, bytes in
                if goesOn { try take(keys[first + index], bytes) }
            }
        } else {
            for key in keys where goesOn {
                // A longer key matches no row: only a damaged entry can have one.
                if case .bytes(let bytes) = key, bytes.count <= TableHandle.longestKey,
                    try view.withValue(of: bytes, in: table.rows, { try take(key, $0) }) != nil
                {
                    continue
                }
                try take(key, nil)
            }
        }
        return goesOn
    }
}

/// A closure that the compiler does not see through.
final class RowConsumer {
    let take: (RowKey, RowReader) throws -> Bool

    init(_ take: @escaping (RowKey, RowReader) throws -> Bool) { self.take = take }
}

/// A closure that the compiler does not see through.
private final class KeyConsumer {
    let take: (RowKey) throws -> Bool

    init(_ take: @escaping (RowKey) throws -> Bool) { self.take = take }
}
