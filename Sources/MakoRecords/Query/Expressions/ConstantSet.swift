/// The constants of a long list behind IN, sorted, as a column of one type holds them.
final class ConstantSet: @unchecked Sendable {
    // Unchecked: it is filled while it is made and only read after that.

    /// Whether NULL is among them.
    let hasNull: Bool
    private let integers: [Int64]
    /// The keys of those that are no integers, one behind the other.
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
        // Often the caller's are in order.
        if !zip(integers, integers.dropFirst()).allSatisfy({ $0 <= $1 }) { integers.sort() }
        self.integers = integers
        self.hasNull = hasNull
        keys.sort {
            KeyOrder.compareRaw(content.raw(from: $0.start, to: $0.end), content.raw(from: $1.start, to: $1.end)) < 0
        }
    }

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

    /// The first of so many places from which on something holds.
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
