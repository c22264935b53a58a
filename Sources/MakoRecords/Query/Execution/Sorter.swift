import MakoStorage

/// Sorts row keys by the encoding of their order columns; with a limit it is a top-N sort. Keys beyond the memory are
/// spilled to a file.
final class Sorter {
    private let coding: OrderCoding
    private let view: Snapshot
    private let entries: SpilledEntries

    convenience init(_ plan: Plan, _ view: Snapshot) {
        self.init(OrderCoding(plan.orders, plan.bound, view), view, limit: plan.bound.limit, offset: plan.bound.offset)
        entries.cancellation = plan.cancellation
    }

    init(_ coding: OrderCoding, _ view: Snapshot, limit: Int?, offset: Int) {
        self.coding = coding
        self.view = view
        let total = limit.map { $0.addingReportingOverflow(offset) }
        entries = SpilledEntries(
            memory: view.queryMemory, wanted: total.flatMap { $0.overflow ? nil : $0.partialValue })
    }

    /// The peak number of bytes held.
    var peakBytes: Int { entries.peakBytes }

    /// Adds a row. Rows that are equal in the order are sorted by key.
    func add(_ key: RowKey, _ row: RowReader) throws(RecordError) {
        let start = entries.content.count
        try coding.append(row, key, to: &entries.content)
        let keyStart = entries.content.count
        switch key {
        case .rowID(let id): entries.content.append(bigEndian: KeyOrder.treeKey(id))
        case .bytes(let bytes): bytes.withUnsafeBytes { entries.content.append(raw: $0) }
        }
        guard entries.isWanted(from: start) else { return }
        let middle = entries.content.count
        if case .bytes = key { entries.content.append(varint: UInt64(middle - keyStart)) }
        try entries.end(start, middle, view)
    }

    func sorted(offset: Int, limit: Int?) throws(RecordError) -> [RowKey] {
        var keys: [RowKey] = []
        keys.reserveCapacity(min(limit ?? .max, max(0, entries.count - offset)))
        try forEachSorted(offset: offset, limit: limit) { (key) throws(RecordError) in
            keys.append(key)
            return true
        }
        return keys
    }

    /// Calls a closure with batches of keys, in order, until it returns `false`.
    func forEachBatch(
        of size: Int, offset: Int, limit: Int?, _ body: ([RowKey]) throws -> Bool
    ) throws {
        var keys: [RowKey] = []
        var isWanted = true
        // The closure is the caller's, whose errors are passed on as they are.
        var failure: (any Error)?
        try forEachSorted(offset: offset, limit: limit) { (key) throws(RecordError) in
            keys.append(key)
            guard keys.count == size else { return true }
            do { isWanted = try body(keys) } catch { (failure, isWanted) = (error, false) }
            keys.removeAll(keepingCapacity: true)
            return isWanted
        }
        if let failure { throw failure }
        if isWanted, !keys.isEmpty { _ = try body(keys) }
    }

    private func forEachSorted(
        offset: Int, limit: Int?, _ body: (RowKey) throws(RecordError) -> Bool
    ) throws(RecordError) {
        var left = offset
        var room = limit ?? .max
        if room == 0 { return }
        try entries.forEachUntil { (coded, length) throws(RecordError) in
            if left > 0 {
                left -= 1
                return true
            }
            room -= 1
            return try body(Sorter.key(coded, length)) && room > 0
        }
    }

    private static func key(_ coded: UnsafeRawBufferPointer, _ length: UnsafeRawBufferPointer) -> RowKey {
        if length.isEmpty {
            return .rowID(KeyOrder.rowID(KeyOrder.head(UnsafeRawBufferPointer(rebasing: coded.suffix(8)))))
        }
        var reader = OperandReader(length)
        return .bytes([UInt8](coded.suffix(Int(truncatingIfNeeded: reader.varint()))))
    }
}
