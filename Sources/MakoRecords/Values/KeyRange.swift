/// A stretch of sorted keys: from `lower` on, and before `upper` (`nil`: to the end).
struct KeyRange: Sendable, Hashable {
    var lower: [UInt8]
    var upper: [UInt8]?

    /// Every key that begins with these bytes.
    init(prefix: [UInt8]) {
        lower = prefix
        upper = KeyRange.successor(prefix)
    }

    /// Every key that begins with an integer.
    init(of number: Int64) {
        lower = KeyBuffer.bytes(of: number)
        // Where no byte is carried, the next integer is the successor.
        upper = number & 0xFF == 0xFF ? KeyRange.successor(lower) : KeyBuffer.bytes(of: number + 1)
    }

    init(lower: [UInt8], upper: [UInt8]?) {
        self.lower = lower
        self.upper = upper
    }

    var isEmpty: Bool {
        guard let upper else { return false }
        return KeyOrder.compareKeys(lower, upper) >= 0
    }

    /// The first key after all that begin with these bytes; `nil` when there is none.
    static func successor(_ bytes: [UInt8]) -> [UInt8]? {
        var result = bytes
        // Most end with a byte that is not the last of all.
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

    /// What lies in another stretch as well.
    func clipped(to other: KeyRange) -> KeyRange {
        let lower = KeyOrder.precedes(lower, other.lower) ? other.lower : lower
        guard let mine = upper, let theirs = other.upper else {
            return KeyRange(lower: lower, upper: upper ?? other.upper)
        }
        return KeyRange(lower: lower, upper: KeyOrder.precedes(theirs, mine) ? theirs : mine)
    }

    /// Sorts ranges and joins those that overlap, so that no key is visited twice. Neighbours stay apart: each may stand for one key.
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

    /// Widens bounds that reach into the part of a key that an index leaves out. Answers whether anything was lost.
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
    /// The entries of a spatial index in a stretch of cells.
    init(cells: ClosedRange<UInt64>) {
        func key(_ cell: UInt64) -> [UInt8] {
            stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: cell >> UInt64($0)) }
        }
        self.init(lower: key(cells.lowerBound), upper: KeyRange.successor(key(cells.upperBound)))
    }

    /// What is left of a range behind a key, in the direction of a walk.
    func behind(_ key: [UInt8], _ isReversed: Bool) -> KeyRange {
        isReversed ? KeyRange(lower: lower, upper: key) : KeyRange(lower: key + [0], upper: upper)
    }
}
