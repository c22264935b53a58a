/// A hash table of values, or rows of values, numbered from 0 in the order of insertion.
///
/// Equal numbers are one value, whether integers or doubles, as in comparisons.
struct ValueTable: ~Copyable {
    /// Integers, the most frequent keys.
    private var whole = NumberTable()
    private var other = KeyTable()
    /// The numbers of the values in `other`.
    private var places: [Int] = []
    private var buffer = KeyBuffer()
    private(set) var count = 0

    /// The number of bytes held.
    var memory: Int { whole.memory + other.memory + places.count * 8 }

    /// Returns the number of a value, or `nil` if it is not in the table.
    mutating func find(_ value: Operand) -> Int? {
        if let number = ValueTable.whole(value) { return whole.find(number) }
        code(value)
        return find(buffer)
    }

    /// Returns the number of a value, which is inserted if it is new.
    mutating func insert(_ value: Operand) -> Int {
        if let number = ValueTable.whole(value) { return insert(treeKey: number) }
        code(value)
        return insert(coding: buffer.raw)
    }

    /// Returns the number of a row id, which is inserted if it is new.
    mutating func insert(wholeNumber number: Int64) -> Int { insert(treeKey: KeyOrder.treeKey(number)) }

    /// Returns the number of an encoded row of values.
    func find(_ key: borrowing KeyBuffer) -> Int? { other.number(of: key.raw).map { places[$0] } }

    mutating func insert(_ key: borrowing KeyBuffer) -> Int { insert(coding: key.raw) }

    private mutating func insert(treeKey number: UInt64) -> Int {
        let found = whole.insert(number, count)
        if found == count { count += 1 }
        return found
    }

    private mutating func insert(coding: UnsafeRawBufferPointer) -> Int {
        let (number, isNew) = other.place(of: coding)
        guard isNew else { return places[number] }
        places.append(count)
        count += 1
        return count - 1
    }

    /// Returns the integers, ascending, with their numbers.
    func sortedNumbers() -> [(value: Int64, place: Int)] {
        whole.entries.map { (KeyOrder.rowID($0.key), $0.place) }.sorted { $0.0 < $1.0 }
    }

    /// Returns the encodings of all other values, ascending.
    func sortedCodings() -> [[UInt8]] { other.sortedNumbers().map { other.bytes(of: $0) } }

    private static func whole(_ value: Operand) -> UInt64? {
        switch value {
        case .integer(let number): KeyOrder.treeKey(number)
        case .double(let number): Int64(exactly: number).map { KeyOrder.treeKey($0) }
        default: nil
        }
    }

    private mutating func code(_ value: Operand) {
        buffer.clear()
        switch value {
        // Integers beyond `Int64`, which a double may equal.
        case .double(let number):
            if let exact = UInt64(exactly: number) { buffer.append(exact) } else { buffer.append(number) }
            buffer.append(UInt64(exactly: number) != nil)
        case .unsigned(let number):
            buffer.append(number)
            buffer.append(true)
        default: buffer.append(value)
        }
    }
}

/// A hash table from integers to numbers, with open addressing.
struct NumberTable {
    /// At least twice as many slots as entries; -1 for a free slot.
    private var places: [Int32] = Array(repeating: -1, count: 16)
    private(set) var entries: [(key: UInt64, place: Int)] = []
    /// The number of bytes held.
    var memory: Int { places.count * 4 + entries.count * 16 }

    @inline(__always)
    private func start(_ key: UInt64) -> Int {
        Int(truncatingIfNeeded: (key &* 0x9E37_79B9_7F4A_7C15) >> 20) & (places.count - 1)
    }

    func find(_ key: UInt64) -> Int? {
        var place = start(key)
        while true {
            let entry = places[place]
            if entry < 0 { return nil }
            if entries[Int(entry)].key == key { return entries[Int(entry)].place }
            place = (place + 1) & (places.count - 1)
        }
    }

    /// - Returns: the number that the key has already, or else `new`.
    mutating func insert(_ key: UInt64, _ new: Int) -> Int {
        var place = start(key)
        while places[place] >= 0 {
            let entry = Int(places[place])
            if entries[entry].key == key { return entries[entry].place }
            place = (place + 1) & (places.count - 1)
        }
        places[place] = Int32(truncatingIfNeeded: entries.count)
        entries.append((key, new))
        if entries.count * 2 > places.count { grow() }
        return new
    }

    private mutating func grow() {
        places = Array(repeating: -1, count: places.count * 2)
        for (number, entry) in entries.enumerated() {
            var place = start(entry.key)
            while places[place] >= 0 { place = (place + 1) & (places.count - 1) }
            places[place] = Int32(truncatingIfNeeded: number)
        }
    }
}
