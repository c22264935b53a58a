/// A hash table of keys, numbered in the order of insertion. Their bytes are contiguous; nothing is allocated for a
/// key.
struct KeyTable: ~Copyable {
    private struct Entry {
        let hash: UInt64
        let offset: Int
        let count: Int
    }

    private var entries: [Entry] = []
    /// Numbers of keys + 1 by hash; 0 for a free slot. The size is a power of two, and at most half of the slots are
    /// used.
    private var slots: [UInt32]
    private var bytes = KeyBuffer()

    init() { slots = Array(repeating: 0, count: 256) }

    /// Returns the number of a key, which is inserted if it is new.
    mutating func place(of key: UnsafeRawBufferPointer) -> (number: Int, isNew: Bool) {
        let hash = KeyOrder.hash(key)
        var slot = Int(truncatingIfNeeded: hash) & (slots.count &- 1)
        while slots[slot] != 0 {
            let number = Int(slots[slot]) &- 1
            if isSame(number, hash, key) { return (number, false) }
            slot = (slot &+ 1) & (slots.count &- 1)
        }
        entries.append(Entry(hash: hash, offset: bytes.count, count: key.count))
        bytes.append(raw: key)
        slots[slot] = UInt32(truncatingIfNeeded: entries.count)
        if entries.count * 2 > slots.count { grow() }
        return (entries.count - 1, true)
    }

    /// Returns the number of a key, or `nil` if it is not in the table.
    func number(of key: UnsafeRawBufferPointer) -> Int? {
        let hash = KeyOrder.hash(key)
        var slot = Int(truncatingIfNeeded: hash) & (slots.count &- 1)
        while slots[slot] != 0 {
            let number = Int(slots[slot]) &- 1
            if isSame(number, hash, key) { return number }
            slot = (slot &+ 1) & (slots.count &- 1)
        }
        return nil
    }

    /// Returns the numbers in the order of the keys.
    func sortedNumbers() -> [Int] {
        entries.indices.sorted { KeyOrder.compareRaw(key($0), key($1)) < 0 }
    }

    /// Returns a copy of a key.
    func bytes(of number: Int) -> [UInt8] { [UInt8](key(number)) }

    var count: Int { entries.count }

    /// The number of bytes held.
    var memory: Int {
        entries.capacity &* MemoryLayout<Entry>.stride &+ slots.count &* MemoryLayout<UInt32>.stride &+ bytes.capacity
    }

    /// Returns a key, valid until another is inserted.
    func key(_ number: Int) -> UnsafeRawBufferPointer {
        let entry = entries[number]
        return bytes.raw(from: entry.offset, to: entry.offset &+ entry.count)
    }

    @inline(__always)
    private func isSame(_ number: Int, _ hash: UInt64, _ key: UnsafeRawBufferPointer) -> Bool {
        let entry = entries[number]
        return entry.hash == hash && entry.count == key.count
            && KeyOrder.compareRaw(bytes.raw(from: entry.offset, to: entry.offset &+ entry.count), key) == 0
    }

    private mutating func grow() {
        slots = Array(repeating: 0, count: slots.count * 4)
        for (number, entry) in entries.enumerated() {
            var slot = Int(truncatingIfNeeded: entry.hash) & (slots.count &- 1)
            while slots[slot] != 0 { slot = (slot &+ 1) & (slots.count &- 1) }
            slots[slot] = UInt32(truncatingIfNeeded: number + 1)
        }
    }
}
