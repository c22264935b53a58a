import MakoStorage

// Batched index scan for modules that decode objects: inlined into their loop over the rows, it costs one call for some
// hundred rows instead of several for each.

extension Plan {
    /// Whether the plan is an index scan without a residual condition and a sort, in a table with row ids.
    package var isIndexedScan: Bool {
        index != nil && orders.isEmpty && !hasResidual && cover == nil && bound.offset == 0 && table.isRowID
    }

    /// Calls a closure with the tree keys of some hundred rows at a time, for ``withRows(_:_:in:_:)``, until it returns
    /// `false`; for a plan with ``isIndexedScan``. The closure must not change the table.
    @usableFromInline
    package func forEachGroup(in view: Snapshot, _ body: ([UInt64]) throws -> Bool) throws {
        guard let index, bound.limit != 0 else { return }
        let scan = IndexScan(index, table, view, isReversed)
        var group = RowGroup(bound.limit ?? .max, cancellation)
        switch accessPath {
        case .number(_, let number): try scan.run(of: number) { try group.take($0, body) }
        case .access(.index(_, let ranges)): try scan.run(ranges) { try group.take($0, body) }
        case .access: return
        }
        try group.finish(body)
    }

    /// Calls a closure with each row of a batch of ``forEachGroup(in:_:)``. A row that the index names and the table
    /// lacks is an error.
    @inlinable
    package func withRows(
        _ group: [UInt64], _ layout: RowLayout, in view: Snapshot, _ body: (Int64, RowReader) throws -> Void
    ) throws {
        try view.withValues(of: group, in: rows) { place, bytes in
            let key = group[place]
            guard let bytes else { throw missing(key) }
            try body(KeyOrder.rowID(key), try RowReader(bytes, layout))
        }
    }

    @usableFromInline var rows: Tree { table.rows }

    @usableFromInline
    func missing(_ key: UInt64) -> RecordError {
        RowScan.missing(.rowID(KeyOrder.rowID(key)), table.schema, index?.schema.name ?? "")
    }
}

/// A batch of rows that are read together.
private struct RowGroup {
    private var keys: [UInt64] = []
    /// The number of rows still wanted, including those of the batch.
    private var room: Int
    private var size: Int
    private var goesOn = true
    private let cancellation: Cancellation?

    init(_ wanted: Int, _ cancellation: Cancellation?) {
        room = wanted
        size = min(wanted, RowScan.largestBatch)
        self.cancellation = cancellation
        keys.reserveCapacity(min(size, 16))
    }

    /// Returns whether more rows are wanted.
    @inline(__always)
    mutating func take(_ key: RowKey, _ body: ([UInt64]) throws -> Bool) throws -> Bool {
        keys.append(KeyOrder.treeKey(key.rowID ?? 0))
        if keys.count < size { return true }
        try finish(body)
        return goesOn && room > 0
    }

    mutating func finish(_ body: ([UInt64]) throws -> Bool) throws {
        if keys.isEmpty || !goesOn { return }
        if cancellation?.isCancelled == true { throw RecordError.cancelled }
        goesOn = try body(keys)
        room -= keys.count
        size = min(room, RowScan.largestBatch)
        keys.removeAll(keepingCapacity: true)
    }
}
