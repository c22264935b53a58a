/// Single values or rows of values, each once, with a number counted from 0: what a sub-query's rows are kept by.
///
/// Numbers that are equal are the same value, whether whole or not, as comparisons have it.
struct KeyTable: ~Copyable {
    /// Whole numbers, which most keys are.
    private var whole = NumberTable()
    private var other = ByteTable()
    private var buffer = KeyBuffer()
    private(set) var count = 0

    /// The number of a value that is there.
    mutating func find(_ value: Operand) -> Int? {
        if let number = KeyTable.whole(value) { return whole.find(number) }
        code(value)
        return other.find(buffer)
    }

    /// The number of a value, which is given one if it is new.
    mutating func insert(_ value: Operand) -> Int {
        let found: Int
        if let number = KeyTable.whole(value) {
            found = whole.insert(number, count)
        } else {
            code(value)
            found = other.insert(buffer, count)
        }
        if found == count { count += 1 }
        return found
    }

    /// The same for a row id, or what is one.
    mutating func insert(wholeNumber number: Int64) -> Int {
        let found = whole.insert(KeyOrder.treeKey(number), count)
        if found == count { count += 1 }
        return found
    }

    /// The number of a row of values as it is coded.
    mutating func find(_ key: borrowing KeyBuffer) -> Int? { other.find(key) }

    mutating func insert(_ key: borrowing KeyBuffer) -> Int {
        let found = other.insert(key, count)
        if found == count { count += 1 }
        return found
    }

    /// The whole numbers, ascending, with their numbers.
    func sortedNumbers() -> [(value: Int64, place: Int)] {
        whole.entries.map { (KeyOrder.rowID($0.key), $0.place) }.sorted { $0.0 < $1.0 }
    }

    /// The codings of everything else, ascending.
    func sortedCodings() -> [[UInt8]] { other.codings.sorted(by: KeyOrder.precedes) }

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

/// Codings and what they stand for, by hashing with open places.
struct ByteTable {
    private struct Entry {
        let hash: UInt64
        let offset: Int
        let count: Int
        let place: Int
    }

    private var places: [Int32] = Array(repeating: -1, count: 16)
    private var entries: [Entry] = []
    private var bytes: [UInt8] = []

    var codings: [[UInt8]] { entries.map { Array(bytes[$0.offset..<$0.offset + $0.count]) } }

    private static func hash(_ key: borrowing KeyBuffer) -> UInt64 {
        var hash = UInt64(key.count) &* 0xD1B5_4A32_D192_ED03
        var start = 0
        while start < key.count {
            let word = key.head(from: start, to: min(start + 8, key.count))
            let (high, low) = (hash ^ word).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
            hash = high ^ low
            start += 8
        }
        return hash
    }

    private func isSame(_ entry: Entry, _ hash: UInt64, _ key: borrowing KeyBuffer) -> Bool {
        guard entry.hash == hash, entry.count == key.count else { return false }
        let other = key.raw
        return bytes.withUnsafeBytes {
            KeyOrder.compareRaw(.init(rebasing: $0[entry.offset..<entry.offset + entry.count]), other) == 0
        }
    }

    func find(_ key: borrowing KeyBuffer) -> Int? {
        let hash = ByteTable.hash(key)
        var place = Int(truncatingIfNeeded: hash >> 20) & (places.count - 1)
        while places[place] >= 0 {
            let entry = entries[Int(places[place])]
            if isSame(entry, hash, key) { return entry.place }
            place = (place + 1) & (places.count - 1)
        }
        return nil
    }

    /// - Returns: what the key stands for already, or else `new`.
    mutating func insert(_ key: borrowing KeyBuffer, _ new: Int) -> Int {
        if let found = find(key) { return found }
        let hash = ByteTable.hash(key)
        entries.append(Entry(hash: hash, offset: bytes.count, count: key.count, place: new))
        bytes.append(contentsOf: key.raw)
        if entries.count * 2 > places.count {
            places = Array(repeating: -1, count: places.count * 2)
            for number in entries.indices { enter(number) }
        } else {
            enter(entries.count - 1)
        }
        return new
    }

    private mutating func enter(_ number: Int) {
        var place = Int(truncatingIfNeeded: entries[number].hash >> 20) & (places.count - 1)
        while places[place] >= 0 { place = (place + 1) & (places.count - 1) }
        places[place] = Int32(truncatingIfNeeded: number)
    }
}
