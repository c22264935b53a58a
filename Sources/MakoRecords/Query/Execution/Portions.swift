import MakoStorage

/// A plan's rows, some at a time. Between two portions only a place is held, so whoever takes them may do anything meanwhile.
///
///     var portions = Portions(of: plan)
///     while !portions.isAtEnd { try portions.next(256, in: view) { key, row in print(row.text(0)) } }
///
/// On one snapshot the portions are together what ``Plan/forEachRow(layout:in:_:)`` gives, in its order. Rows that must be sorted
/// have their keys kept, 16 bytes each; else the memory is that of one portion. On the view of a transaction that writes meanwhile, rows
/// that it moves ahead are met again; see ``init(of:changing:in:)``.
public struct Portions: Sendable {
    private enum Rest: Sendable {
        /// Not sorted yet.
        case unsorted
        case sorted([RowKey], from: Int)
        case rows(ClosedRange<Int64>)
        /// In the order in which they are looked up.
        case keys([RowKey], from: Int)
        /// In the order in which they are walked over.
        case keyRanges([KeyRange])
        case index(IndexHandle, [KeyRange])
        case nothing
    }

    private var plan: Plan
    private var rest: Rest
    private var left: Int
    private var room: Int

    public init(of plan: Plan) {
        self.plan = plan
        left = plan.bound.offset
        room = plan.bound.limit ?? .max
        func walked(_ ranges: [KeyRange]) -> [KeyRange] { plan.isReversed ? ranges.reversed() : ranges }
        rest =
            switch plan.access {
            // What sub-queries find out is found out once.
            case _ where !plan.orders.isEmpty || !plan.bound.subqueries.isEmpty: .unsorted
            case .nothing: .nothing
            case .rows(let range): .rows(range)
            case .keys(let keys): .keys(plan.isReversed ? keys.reversed() : keys, from: 0)
            case .keyRanges(let ranges): .keyRanges(walked(ranges))
            case .index(let index, let ranges): .index(index, walked(ranges))
            // What fits is found all at once.
            case .fullText, .gathered, .query: .unsorted
            }
    }

    /// The portions of a plan between which columns of its rows are changed: each row is met once, and was chosen by the values before.
    ///
    /// - Parameter view: what the portions are read from, which may show the changes.
    public init(of plan: Plan, changing columns: [String], in view: Snapshot) throws(RecordError) {
        self.init(of: plan)
        let isChosenBefore = !plan.orders.isEmpty
        // What other rows hold, or a sub-query finds, is asked before the first change.
        var isOvertaken = !plan.bound.joins.isEmpty || !plan.program.subqueries.isEmpty
        if case .index(let index, _) = plan.access {
            isOvertaken =
                isOvertaken || index.condition != nil || index.schema.columns.contains { columns.contains($0.name) }
        }
        if isChosenBefore || !isOvertaken { return }
        rest = .sorted(try plan.keys(in: view), from: 0)
        (left, room) = (0, .max)
    }

    /// Whether no more is held between portions than a place.
    var holdsPlaceOnly: Bool { if case .unsorted = rest { false } else { true } }

    /// Whether there are no more rows.
    public var isAtEnd: Bool { if case .nothing = rest { true } else { room <= 0 } }

    /// What ends the walk, also in the middle of a portion.
    public var cancellation: Cancellation? {
        get { plan.cancellation }
        set { plan.cancellation = newValue }
    }

    /// Lends the next rows, so many unless there are fewer. Where index entries were cut they may be some more.
    ///
    /// - Parameters:
    ///   - layout: of the rows that are lent; without one, positions are those of the table's own.
    ///   - view: the same for all portions.
    public mutating func next(
        _ count: Int, layout: RowLayout? = nil, in view: Snapshot, _ body: (RowKey, RowReader) throws -> Void
    ) throws {
        if isAtEnd { return }
        if plan.cancellation?.isCancelled == true { throw RecordError.cancelled }
        var portion = Portion(
            scan: RowScan(plan, view), walk: plan, view: view, layout: layout ?? plan.table.layout,
            wanted: Swift.max(1, count), left: left, room: room)
        rest = try portion.take(rest, body)
        left = portion.left
        room = portion.room
    }

    /// One portion on its way.
    private struct Portion {
        let scan: RowScan
        let walk: Plan
        let view: Snapshot
        let layout: RowLayout
        var wanted: Int
        var left: Int
        var room: Int

        /// Lends a row, unless it is to be left out. False: no more rows are wanted.
        private mutating func lend(
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
                let keys = walk.orders.isEmpty ? try walk.keys(in: view) : try walk.sortedKeys(scan, view)
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
                        try lend(key, row, body)
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
            try scan.walkRows(range, layout) { key, row in
                guard try lend(key, row, body), wanted > 0 else {
                    last = key.rowID
                    return false
                }
                return true
            }
            guard let last else { return .nothing }
            if walk.isReversed { return last > range.lowerBound ? .rows(range.lowerBound...(last - 1)) : .nothing }
            guard last < range.upperBound else { return .nothing }
            return .rows((last + 1)...range.upperBound)
        }

        private mutating func take(
            _ ranges: [KeyRange], _ body: (RowKey, RowReader) throws -> Void
        ) throws -> Rest {
            for (place, range) in ranges.enumerated() {
                var last: [UInt8]?
                try scan.walkKeys([range], layout) { key, row in
                    guard try lend(key, row, body), wanted > 0 else {
                        if case .bytes(let bytes) = key { last = bytes }
                        return false
                    }
                    return true
                }
                if let last { return .keyRanges([range.behind(last, walk.isReversed)] + ranges[(place + 1)...]) }
            }
            return .nothing
        }

        private mutating func take(
            _ ranges: [KeyRange], of index: IndexHandle, _ body: (RowKey, RowReader) throws -> Void
        ) throws -> Rest {
            let entries = IndexWalk(index, walk.table, view, walk.isReversed)
            for (place, range) in ranges.enumerated() {
                var open: KeyRange? = range
                while let range = open {
                    if wanted <= 0 || room <= 0 { return .index(index, [range] + ranges[(place + 1)...]) }
                    let found = try entries.portion(of: range, wanted)
                    try scan.fetchTested(found.rows, layout, namedBy: index) { key, row in try lend(key, row, body) }
                    open = found.rest
                }
            }
            return .nothing
        }
    }
}
