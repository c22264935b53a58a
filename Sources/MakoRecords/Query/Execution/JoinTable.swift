/// Rows by a key, for a hash join: rows and keys stand one behind the other in memory of their own.
struct JoinTable: ~Copyable {
    private struct Entry {
        let offset: Int
        let count: Int
        let id: Int64
        var next: Int32
    }

    private var keys = KeyTable()
    /// The first and the last row of each key.
    private var ends: [(first: Int32, last: Int32)] = []
    private var entries: [Entry] = []
    private var bytes = KeyBuffer()

    /// Takes in a copy of a row.
    mutating func add(_ key: UnsafeRawBufferPointer, _ row: RowReader, _ id: Int64) {
        let copied = UnsafeRawBufferPointer(start: row.base, count: Int(row.byteCount))
        let number = Int32(truncatingIfNeeded: entries.count)
        entries.append(Entry(offset: bytes.count, count: copied.count, id: id, next: -1))
        bytes.append(raw: copied)
        let (place, isNew) = keys.place(of: key)
        if isNew {
            ends.append((number, number))
        } else {
            entries[Int(ends[place].last)].next = number
            ends[place].last = number
        }
    }

    /// How many bytes are held.
    var memory: Int {
        keys.memory + ends.count * 8 + entries.count * MemoryLayout<Entry>.stride + bytes.count
    }

    /// The first row of a key, or -1.
    func first(_ key: UnsafeRawBufferPointer) -> Int32 {
        keys.number(of: key).map { ends[$0].first } ?? -1
    }

    /// The next row of the same key, or -1.
    func next(_ number: Int32) -> Int32 { entries[Int(number)].next }

    /// Valid as long as no row is added.
    func row(_ number: Int32, _ layout: RowLayout) throws(RecordError) -> (row: RowReader, id: Int64) {
        let entry = entries[Int(number)]
        return (try RowReader(bytes.raw(from: entry.offset, to: entry.offset &+ entry.count), layout), entry.id)
    }
}
