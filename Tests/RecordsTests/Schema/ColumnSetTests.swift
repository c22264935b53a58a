import Testing

@testable import MakoRecords

/// A set of columns is a set of numbers, whether they stand in its first word or behind it.
@Suite struct ColumnSetTests {
    @Test func itAnswersAsASetOfNumbersDoes() {
        var random = Seeded(3)
        func set() -> (ColumnSet, Set<Int>) {
            var (set, numbers) = (ColumnSet(), Set<Int>())
            for _ in 0..<Int.random(in: 0...4, using: &random) {
                let number = random.pick([0, 1, 62, 63, 64, 65, 127, 128, 300])
                set.insert(number)
                numbers.insert(number)
            }
            if random.chance(15) { (set, numbers) = (.all, Set(0...300)) }
            return (set, numbers)
        }
        for _ in 0..<3000 {
            var (a, numbers) = set()
            let (b, others) = set()
            #expect(a.isEmpty == numbers.isEmpty)
            #expect(a.intersects(b) == !numbers.isDisjoint(with: others), "\(numbers) \(others)")
            #expect((0...300).allSatisfy { a.contains($0) == numbers.contains($0) })
            a.formUnion(b)
            numbers.formUnion(others)
            #expect((0...300).allSatisfy { a.contains($0) == numbers.contains($0) })
            #expect(!a.contains(-1) || a.isAll)
        }
    }
}
