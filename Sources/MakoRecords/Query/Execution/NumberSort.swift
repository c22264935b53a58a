/// Radix sort of integers, least significant digit first: a few passes over all numbers, where a comparison sort
/// mispredicts every other branch.
enum NumberSort {
    /// The number of elements below which a comparison sort is used.
    private static let fewest = 512
    private static let bits = 11
    private static let mask: UInt64 = 1 << UInt64(bits) - 1

    static func sort(_ numbers: inout [Int64]) {
        guard numbers.count >= fewest else { return numbers.sort() }
        let first = numbers[0]
        var differing: UInt64 = 0
        for number in numbers { differing |= UInt64(bitPattern: number ^ first) }
        var other = numbers
        for shift in stride(from: 0, to: 64, by: bits) where differing >> UInt64(shift) & mask != 0 {
            pass(numbers, &other, UInt64(shift))
            swap(&numbers, &other)
        }
    }

    /// Returns the bucket of a number for one digit. Negative numbers sort first.
    @inline(__always)
    private static func digit(_ number: Int64, _ shift: UInt64) -> Int {
        let sign: UInt64 = 1 << 63
        return Int((UInt64(bitPattern: number) ^ sign) >> shift & mask)
    }

    private static func pass(_ numbers: [Int64], _ other: inout [Int64], _ shift: UInt64) {
        var places = [Int](repeating: 0, count: 1 << bits)
        for number in numbers { places[digit(number, shift)] += 1 }
        var before = 0
        for digit in places.indices { (places[digit], before) = (before, before + places[digit]) }
        for number in numbers {
            let digit = digit(number, shift)
            other[places[digit]] = number
            places[digit] += 1
        }
    }
}
