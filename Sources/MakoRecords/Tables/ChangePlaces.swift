/// Finds the entries of a change set by table and key: a hash table of entry numbers, with open addressing. The keys
/// are stored in the entries only.
struct ChangePlaces: Sendable {
    /// Numbers + 1; 0 for a free slot. The size is a power of two, and at most half of the slots are used.
    private var slots: [UInt32] = []
    private(set) var count = 0

    /// Returns a hash: the finalizer of MurmurHash3 (Austin Appleby) for a row id, the hash of the bytes for other
    /// keys.
    static func hash(_ table: Int32, _ key: RowKey) -> UInt64 {
        var bits: UInt64 =
            switch key {
            case .rowID(let id): UInt64(bitPattern: id)
            case .bytes(let bytes): bytes.withUnsafeBytes { KeyOrder.hash($0) }
            }
        bits ^= UInt64(truncatingIfNeeded: table) &<< 40
        bits = (bits ^ bits &>> 33) &* 0xFF51_AFD7_ED55_8CCD
        bits = (bits ^ bits &>> 33) &* 0xC4CE_B9FE_1A85_EC53
        return bits ^ bits &>> 33
    }

    /// Returns the number of the entry that matches, among those with its hash.
    @inline(__always)
    func number(_ hash: UInt64, _ isSought: (Int) -> Bool) -> Int? {
        if slots.isEmpty { return nil }
        var slot = Int(truncatingIfNeeded: hash) & (slots.count &- 1)
        while slots[slot] != 0 {
            let number = Int(slots[slot]) &- 1
            if isSought(number) { return number }
            slot = (slot &+ 1) & (slots.count &- 1)
        }
        return nil
    }

    /// Inserts the entry with the number ``count``.
    ///
    /// - Parameter hash: returns the hash of an entry, of existing ones and of this one.
    @inline(__always)
    mutating func append(_ hash: (Int) -> UInt64) {
        if (count + 1) * 2 > slots.count {
            slots = Array(repeating: 0, count: max(64, slots.count * 4))
            for number in 0..<count { take(number, hash(number)) }
        }
        take(count, hash(count))
        count += 1
    }

    private mutating func take(_ number: Int, _ hash: UInt64) {
        var slot = Int(truncatingIfNeeded: hash) & (slots.count &- 1)
        while slots[slot] != 0 { slot = (slot &+ 1) & (slots.count &- 1) }
        slots[slot] = UInt32(truncatingIfNeeded: number + 1)
    }
}
