import CPlatform

/// A dictionary in the order of its keys: the plainest thing a tree can be compared with.
package struct SortedMap<Key: Comparable & Sendable>: Sendable, Equatable where Key: Hashable {
    /// The keys, ascending.
    package private(set) var keys: [Key] = []
    /// The values, in the order of their keys.
    package private(set) var values: [[UInt8]] = []

    package init() {}

    package var count: Int { keys.count }

    /// The first position whose key is not less than `key`.
    package func position(of key: Key) -> Int {
        var low = 0
        var high = keys.count
        while low < high {
            let middle = (low + high) / 2
            if keys[middle] < key { low = middle + 1 } else { high = middle }
        }
        return low
    }

    package subscript(key: Key) -> [UInt8]? {
        let position = position(of: key)
        return position < keys.count && keys[position] == key ? values[position] : nil
    }

    package mutating func put(_ value: [UInt8], for key: Key) {
        let position = position(of: key)
        if position < keys.count, keys[position] == key {
            values[position] = value
        } else {
            keys.insert(key, at: position)
            values.insert(value, at: position)
        }
    }

    /// Whether the key was there.
    package mutating func delete(_ key: Key) -> Bool {
        let position = position(of: key)
        guard position < keys.count, keys[position] == key else { return false }
        keys.remove(at: position)
        values.remove(at: position)
        return true
    }

    /// How many entries went.
    package mutating func delete(_ range: ClosedRange<Key>) -> Int {
        let first = position(of: range.lowerBound)
        var last = position(of: range.upperBound)
        if last < keys.count, keys[last] == range.upperBound { last += 1 }
        keys.removeSubrange(first..<last)
        values.removeSubrange(first..<last)
        return last - first
    }

    /// How many entries went: those from `first` up to below `end`, or all from there on.
    package mutating func delete(from first: Key, to end: Key?) -> Int {
        let start = position(of: first)
        let stop = max(start, end.map { position(of: $0) } ?? keys.count)
        keys.removeSubrange(start..<stop)
        values.removeSubrange(start..<stop)
        return stop - start
    }

    package mutating func deleteAll() { self = SortedMap() }

    package static func == (left: SortedMap, right: SortedMap) -> Bool {
        left.keys == right.keys && left.values.elementsEqual(right.values, by: haveSameBytes)
    }
}

/// Whether two arrays are equal, compared as memory and not byte by byte: most arrays here are long.
func haveSameBytes(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    left.count == right.count
        && left.withUnsafeBytes { left in
            right.withUnsafeBytes { right in
                guard let first = left.baseAddress, let second = right.baseAddress else { return true }
                return memcmp(first, second, left.count) == 0
            }
        }
}

/// A key of a byte tree: ordered as unsigned bytes, a prefix before what it begins.
package struct ByteKey: Comparable, Hashable, Sendable {
    /// The bytes of the key.
    package var bytes: [UInt8]

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    package init(_ text: String) { bytes = [UInt8](text.utf8) }

    package static func < (left: ByteKey, right: ByteKey) -> Bool {
        left.bytes.lexicographicallyPrecedes(right.bytes)
    }
}
