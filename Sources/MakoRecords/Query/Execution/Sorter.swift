import MakoStorage

/// Sorts rows by the codings of their order columns; keeps only the best when only few are wanted.
final class Sorter {
    private struct Entry {
        /// The first eight bytes of the coding, which mostly decide.
        let head: UInt64
        let offset: Int
        let count: Int
        let key: RowKey
    }

    /// A heap is kept up to so many rows; more are sorted as a whole.
    private static let largestHeap = 100_000

    private let coding: OrderCoding?
    private let wanted: Int?
    @exclusivity(unchecked) private var entries: [Entry] = []
    @exclusivity(unchecked) private var codings: [UInt8] = []
    /// How many bytes of codings there may be before those that nobody needs are sought.
    @exclusivity(unchecked) private var allowed = 1 << 20
    @exclusivity(unchecked) private var buffer = KeyBuffer()

    convenience init(_ plan: Plan, _ view: Snapshot) {
        self.init(OrderCoding(plan.orders, plan.bound, view), limit: plan.bound.limit, offset: plan.bound.offset)
    }

    init(_ coding: OrderCoding?, limit: Int?, offset: Int) {
        self.coding = coding
        let total = limit.map { $0.addingReportingOverflow(offset) }
        wanted = total.flatMap { $0.overflow || $0.partialValue > Sorter.largestHeap ? nil : $0.partialValue }
    }

    func add(_ key: RowKey, _ row: RowReader) throws(RecordError) {
        buffer.clear()
        try coding?.append(row, key, to: &buffer)
        insert(key)
    }

    /// Takes something that is kept elsewhere, under numbers from 0 on: answers the number under which it is to be kept, which may be that
    /// of another that is wanted no more, or nil when it is not wanted itself.
    func place(_ row: RowReader, _ key: RowKey) throws(RecordError) -> Int? {
        buffer.clear()
        try coding?.append(row, key, to: &buffer)
        guard let wanted, entries.count >= wanted else {
            insert(.rowID(Int64(entries.count)))
            return entries.count - 1
        }
        guard wanted > 0, comesBefore(newEntry(.rowID(.max)), entries[0], isNew: true) else { return nil }
        let number = entries[0].key
        insert(number)
        return number.rowID.map { Int($0) }
    }

    private func newEntry(_ key: RowKey) -> Entry {
        Entry(head: buffer.head(from: 0, to: buffer.count), offset: codings.count, count: buffer.count, key: key)
    }

    private func insert(_ key: RowKey) {
        let entry = newEntry(key)
        guard let wanted else {
            codings.append(contentsOf: buffer.raw)
            entries.append(entry)
            return
        }
        if entries.count < wanted {
            codings.append(contentsOf: buffer.raw)
            entries.append(entry)
            siftUp(entries.count - 1)
        } else if wanted > 0, comesBefore(entry, entries[0], isNew: true) {
            codings.append(contentsOf: buffer.raw)
            entries[0] = entry
            siftDown(0)
            if codings.count > allowed { compact() }
        }
    }

    func sorted(offset: Int, limit: Int?) -> [RowKey] {
        let order = codings.withUnsafeBytes { codings in
            entries.sorted { Sorter.compare($0, $1, codings, codings) < 0 }
        }
        let start = min(offset, order.count)
        let end = limit.map { start + min($0, order.count - start) } ?? order.count
        return order[start..<end].map(\.key)
    }

    private static func compare(
        _ a: Entry, _ b: Entry, _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer
    ) -> Int {
        if a.head != b.head { return a.head < b.head ? -1 : 1 }
        let order = KeyOrder.compareRaw(
            UnsafeRawBufferPointer(rebasing: first[a.offset..<a.offset + a.count]),
            UnsafeRawBufferPointer(rebasing: second[b.offset..<b.offset + b.count]))
        if order != 0 { return order }
        switch (a.key, b.key) {
        case (.rowID(let x), .rowID(let y)): return KeyOrder.compare(x, y)
        case (.bytes(let x), .bytes(let y)): return KeyOrder.compareKeys(x, y)
        default: return 0
        }
    }

    /// - Parameter isNew: the first entry's coding is still in the buffer.
    private func comesBefore(_ a: Entry, _ b: Entry, isNew: Bool = false) -> Bool {
        codings.withUnsafeBytes { codings in
            guard isNew else { return Sorter.compare(a, b, codings, codings) < 0 }
            let moved = Entry(head: a.head, offset: 0, count: a.count, key: a.key)
            return Sorter.compare(moved, b, buffer.raw, codings) < 0
        }
    }

    // A heap with the last of the kept rows on top.

    private func siftUp(_ start: Int) {
        var child = start
        while child > 0 {
            let parent = (child - 1) / 2
            guard comesBefore(entries[parent], entries[child]) else { return }
            entries.swapAt(parent, child)
            child = parent
        }
    }

    private func siftDown(_ start: Int) {
        var parent = start
        var last = start
        repeat {
            entries.swapAt(parent, last)
            parent = last
            for child in [2 * parent + 1, 2 * parent + 2] where child < entries.count {
                if comesBefore(entries[last], entries[child]) { last = child }
            }
        } while last != parent
    }

    /// Forgets the codings of rows that were pushed out, and lets as much gather again as is kept.
    private func compact() {
        let used = entries.reduce(0) { $0 + $1.count }
        allowed = max(allowed, 2 * used)
        var kept: [UInt8] = []
        kept.reserveCapacity(used)
        for index in entries.indices {
            let entry = entries[index]
            entries[index] = Entry(head: entry.head, offset: kept.count, count: entry.count, key: entry.key)
            kept += codings[entry.offset..<entry.offset + entry.count]
        }
        codings = kept
    }

    /// How many bytes it held at the most.
    var peakBytes: Int { entries.count * MemoryLayout<Entry>.stride + codings.count }
}
