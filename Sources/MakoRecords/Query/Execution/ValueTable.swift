/// Single values or rows of values, each once, with a number counted from 0: what a sub-query's rows are kept by.
///
/// Numbers that are equal are the same value, whether whole or not, as comparisons have it.
struct ValueTable: ~Copyable {
    /// Whole numbers, which most keys are.
    private var whole = NumberTable()
    private var other = KeyTable()
    /// The numbers of those in `other`.
    private var places: [Int] = []
    private var buffer = KeyBuffer()
    private(set) var count = 0

    /// How many bytes are held.
    var memory: Int { whole.memory + other.memory + places.count * 8 }

    /// The number of a value that is there.
    mutating func find(_ value: Operand) -> Int? {
        if let number = ValueTable.whole(value) { return whole.find(number) }
        code(value)
        return find(buffer)
    }

    /// The number of a value, which is given one if it is new.
    mutating func insert(_ value: Operand) -> Int {
        if let number = ValueTable.whole(value) { return insert(treeKey: number) }
        code(value)
        return insert(coding: buffer.raw)
    }

    /// The same for a row id, or what is one.
    mutating func insert(wholeNumber number: Int64) -> Int { insert(treeKey: KeyOrder.treeKey(number)) }

    /// The number of a row of values as it is coded.
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

    /// The whole numbers, ascending, with their numbers.
    func sortedNumbers() -> [(value: Int64, place: Int)] {
        whole.entries.map { (KeyOrder.rowID($0.key), $0.place) }.sorted { $0.0 < $1.0 }
    }

    /// The codings of everything else, ascending.
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
        // The rest of the whole numbers, which a double may be equal to.
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

/// Numbers and what they stand for, by hashing with open places.
struct NumberTable {
    /// Twice as many as are taken at least; -1 is open.
    private var places: [Int32] = Array(repeating: -1, count: 16)
    private(set) var entries: [(key: UInt64, place: Int)] = []
    /// How many bytes are held.
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

    /// - Returns: what the key stands for already, or else `new`.
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
