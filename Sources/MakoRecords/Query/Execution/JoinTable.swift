import MakoStorage

/// An in-memory hash table of rows for a hash join; rows and keys are contiguous in its own memory.
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

    /// Adds a copy of a row.
    mutating func add(_ key: UnsafeRawBufferPointer, _ row: RowReader, _ id: Int64) {
        let copied = row.bytes
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

    /// The number of bytes held.
    var memory: Int {
        keys.memory &+ ends.capacity &* MemoryLayout<(Int32, Int32)>.stride
            &+ entries.capacity &* MemoryLayout<Entry>.stride &+ bytes.capacity
    }

    /// Calls a closure with all rows and their keys, those of one key in the order in which they were added.
    func forEach(
        _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer, Int64) throws(RecordError) -> Void
    ) throws(RecordError) {
        for (place, end) in ends.enumerated() {
            var number = end.first
            while number >= 0 {
                let entry = entries[Int(number)]
                try body(keys.key(place), bytes.raw(from: entry.offset, to: entry.offset &+ entry.count), entry.id)
                number = entry.next
            }
        }
    }

    /// Returns the first row of a key, or -1.
    func first(_ key: UnsafeRawBufferPointer) -> Int32 {
        keys.number(of: key).map { ends[$0].first } ?? -1
    }

    /// Returns the next row of the same key, or -1.
    func next(_ number: Int32) -> Int32 { entries[Int(number)].next }

    /// Returns a row, valid until another is added.
    func row(_ number: Int32, _ layout: RowLayout) throws(RecordError) -> (row: RowReader, id: Int64) {
        let entry = entries[Int(number)]
        return (try RowReader(bytes.raw(from: entry.offset, to: entry.offset &+ entry.count), layout), entry.id)
    }
}
