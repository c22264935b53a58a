/// The constants of a long IN list, sorted, in the type of the column.
final class ConstantSet: @unchecked Sendable {
    // Unchecked: immutable after `init`.

    /// Whether NULL is among them.
    let hasNull: Bool
    private let integers: [Int64]
    /// The encodings of the constants that are not integers, contiguous.
    private var content = KeyBuffer()
    private var keys: [(start: Int, end: Int)] = []

    init(_ values: [Value], _ type: ColumnType) {
        var integers: [Int64] = []
        let isInteger = type == .integer || type == .reference
        if isInteger { integers.reserveCapacity(values.count) }
        var hasNull = false
        for value in values {
            if isInteger, case .integer(let number) = value {
                integers.append(number)
            } else if value.isNull {
                hasNull = true
            } else if let fitting = type.coerced(value) {
                if isInteger, case .integer(let number) = fitting {
                    integers.append(number)
                } else {
                    let start = content.count
                    content.append(fitting)
                    keys.append((start, content.count))
                }
            }
        }
        // Callers often pass them sorted.
        if !zip(integers, integers.dropFirst()).allSatisfy({ $0 <= $1 }) { integers.sort() }
        self.integers = integers
        self.hasNull = hasNull
        keys.sort {
            KeyOrder.compareRaw(content.raw(from: $0.start, to: $0.end), content.raw(from: $1.start, to: $1.end)) < 0
        }
    }

    /// Returns whether the value is among the constants.
    ///
    /// - Parameter scratch: memory for the value's key.
    /// - Complexity: logarithmic in the number of constants.
    func contains(_ value: Operand, _ scratch: inout KeyBuffer) -> Bool {
        if case .integer(let number) = value, !integers.isEmpty {
            let place = ConstantSet.first(integers.count) { integers[$0] >= number }
            if place < integers.count, integers[place] == number { return true }
        }
        if keys.isEmpty { return false }
        scratch.clear()
        scratch.append(value)
        let place = ConstantSet.first(keys.count) { compare($0, scratch.raw) >= 0 }
        return place < keys.count && compare(place, scratch.raw) == 0
    }

    private func compare(_ place: Int, _ key: UnsafeRawBufferPointer) -> Int {
        KeyOrder.compareRaw(content.raw(from: keys[place].start, to: keys[place].end), key)
    }

    /// Returns the first index at which a monotonic predicate holds (binary search).
    @inline(__always)
    private static func first(_ count: Int, _ holds: (Int) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if holds(middle) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
