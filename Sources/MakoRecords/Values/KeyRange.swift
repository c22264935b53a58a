/// A half-open range of sorted keys: from `lower` to before `upper` (`nil`: to the end).
struct KeyRange: Sendable, Hashable {
    var lower: [UInt8]
    var upper: [UInt8]?

    /// Makes the range of keys with a prefix.
    init(prefix: [UInt8]) {
        lower = prefix
        upper = KeyRange.successor(prefix)
    }

    /// Makes the range of keys that start with an integer.
    init(of number: Int64) {
        lower = KeyBuffer.bytes(of: number)
        // Without a carry, the next integer is the successor.
        upper = number & 0xFF == 0xFF ? KeyRange.successor(lower) : KeyBuffer.bytes(of: number + 1)
    }

    /// Makes the range of keys with a prefix whose next column is limited on one side or on both. It excludes NULL, which
    /// sorts before the values, or after them in a descending column.
    ///
    /// - Parameters:
    ///   - low, high: the prefix with the encoded limit, and whether the limit is in the range.
    init(
        behind prefix: [UInt8], _ low: (key: [UInt8], isInside: Bool)?, _ high: (key: [UInt8], isInside: Bool)?,
        descending: Bool
    ) {
        let (first, last) = descending ? (high, low) : (low, high)
        if let first {
            lower = first.isInside ? first.key : KeyRange.successor(first.key) ?? first.key
        } else {
            lower = descending ? prefix : prefix + [1]
        }
        if let last {
            upper = last.isInside ? KeyRange.successor(last.key) : last.key
        } else {
            upper = descending ? prefix + [0xFF] : KeyRange.successor(prefix)
        }
    }

    init(lower: [UInt8], upper: [UInt8]?) {
        self.lower = lower
        self.upper = upper
    }

    var isEmpty: Bool {
        guard let upper else { return false }
        return KeyOrder.compareKeys(lower, upper) >= 0
    }

    /// Returns the first key after all with this prefix; `nil` if there is none.
    static func successor(_ bytes: [UInt8]) -> [UInt8]? {
        var result = bytes
        // Fast path: the last byte is not 255.
        if let last = bytes.last, last < 0xFF {
            result[result.count - 1] = last + 1
            return result
        }
        while let last = result.popLast() {
            if last < 0xFF {
                result.append(last + 1)
                return result
            }
        }
        return nil
    }

    /// Returns the intersection with another range.
    func clipped(to other: KeyRange) -> KeyRange {
        let lower = KeyOrder.precedes(lower, other.lower) ? other.lower : lower
        guard let mine = upper, let theirs = other.upper else {
            return KeyRange(lower: lower, upper: upper ?? other.upper)
        }
        return KeyRange(lower: lower, upper: KeyOrder.precedes(theirs, mine) ? theirs : mine)
    }

    /// Returns the ranges sorted, with overlapping ones joined, so that no key is visited twice. Adjacent ranges are
    /// not joined: each may be one key.
    static func merged(_ ranges: [KeyRange]) -> [KeyRange] {
        if ranges.count == 1 { return ranges[0].isEmpty ? [] : ranges }
        var result: [KeyRange] = []
        for range in ranges.filter({ !$0.isEmpty }).sorted(by: { KeyOrder.precedes($0.lower, $1.lower) }) {
            guard let last = result.last else {
                result.append(range)
                continue
            }
            guard let end = last.upper else { break }
            if KeyOrder.compareKeys(range.lower, end) >= 0 {
                result.append(range)
            } else if let upper = range.upper {
                if KeyOrder.precedes(end, upper) { result[result.count - 1].upper = upper }
            } else {
                result[result.count - 1].upper = nil
            }
        }
        return result
    }

    /// Widens bounds beyond the length to which an index truncates keys. Returns whether a bound was widened.
    @discardableResult
    mutating func widen(to limit: Int) -> Bool {
        var isWider = false
        if lower.count > limit {
            lower = Array(lower.prefix(limit))
            isWider = true
        }
        if let bound = upper, bound.count > limit {
            upper = KeyRange.successor(Array(bound.prefix(limit)))
            isWider = true
        }
        return isWider
    }
}

extension KeyRange {
    /// Makes the range of a spatial index's entries in a range of cells.
    init(cells: ClosedRange<UInt64>) {
        func key(_ cell: UInt64) -> [UInt8] {
            stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: cell >> UInt64($0)) }
        }
        self.init(lower: key(cells.lowerBound), upper: KeyRange.successor(key(cells.upperBound)))
    }

    /// Returns the rest of a range after a key, in the direction of a scan.
    func behind(_ key: [UInt8], _ isReversed: Bool) -> KeyRange {
        isReversed ? KeyRange(lower: lower, upper: key) : KeyRange(lower: key + [0], upper: upper)
    }
}
