import MakoStorage

/// The keys of all rows that a sub-query may link to an outer row, by the linked columns: what an index would answer,
/// made for one run.
final class LinkedKeys {
    private struct Entry {
        let key: RowKey
        var next: Int32
    }

    private var links = KeyTable()
    /// The first and the last row of each link.
    private var ends: [(first: Int32, last: Int32)] = []
    private var entries: [Entry] = []

    /// Reads the rows of a scan. Those with NULL in a linked column are left out, because NULL equals nothing.
    init(_ scan: RowScan, _ columns: [BoundColumn]) throws(RecordError) {
        let layout = scan.table.layout
        let slots = columns.compactMap { $0.ordinal.map { layout.allSlots[$0] } }
        var buffer = KeyBuffer()
        try recorded {
            try scan.forEachRow(layout, expecting: 1 << 20) { key, row in
                buffer.clear()
                for slot in slots {
                    let value = Operand(row, slot)
                    if value.isNull { return true }
                    buffer.append(value)
                }
                add(key, to: buffer)
                return true
            }
        }
    }

    private func add(_ key: RowKey, to link: borrowing KeyBuffer) {
        let number = Int32(truncatingIfNeeded: entries.count)
        entries.append(Entry(key: key, next: -1))
        let (place, isNew) = links.place(of: link.raw)
        if isNew {
            ends.append((number, number))
        } else {
            entries[Int(ends[place].last)].next = number
            ends[place].last = number
        }
    }

    /// The number of rows.
    var count: Int { entries.count }

    /// The number of bytes held, without the bytes of long keys.
    var memory: Int {
        links.memory &+ ends.capacity &* MemoryLayout<(Int32, Int32)>.stride
            &+ entries.capacity &* MemoryLayout<Entry>.stride
    }

    /// Calls a closure with the keys of a link's rows, in the order of the scan, until it returns `false`.
    func forEach(_ link: borrowing KeyBuffer, _ body: (RowKey) throws(RecordError) -> Bool) throws(RecordError) {
        guard let place = links.number(of: link.raw) else { return }
        var number = ends[place].first
        while number >= 0 {
            let entry = entries[Int(number)]
            if !(try body(entry.key)) { return }
            number = entry.next
        }
    }
}
