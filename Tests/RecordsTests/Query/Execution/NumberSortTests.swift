import Testing

@testable import MakoRecords

@Suite struct NumberSortTests {
    private static let bounds: [ClosedRange<Int64>] = [
        0...0, 0...3000, 5000...1_000_000, -3000...3000, .min ... .max, -4000 ... -1, (.max - 9) ... .max,
        .min ... .min + 9,
    ]

    @Test(arguments: [0, 1, 2, 511, 512, 513, 5000]) func numbersComeInOrder(count: Int) {
        var random = Seeded(UInt64(count))
        for bounds in Self.bounds {
            let numbers = (0..<count).map { _ in Int64.random(in: bounds, using: &random) }
            var sorted = numbers
            NumberSort.sort(&sorted)
            #expect(sorted == numbers.sorted(), "\(bounds)")
        }
    }
}
