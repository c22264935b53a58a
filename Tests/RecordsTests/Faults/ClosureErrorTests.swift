import MakoRecords
import MakoStorage
import Testing

/// The errors of a caller's closure.
@Suite struct ClosureErrorTests {
    private struct Refusal: Error, Equatable {
        let row: Int
    }

    /// The closure refuses the first row, one in the middle of a batch, or one of a later batch. Objects are made in such
    /// closures, and their errors say which value cannot be read.
    @Test(arguments: [0, 100, 700]) func aPlanPassesThemOnAsTheyAre(row: Int) throws {
        let all = try ManyFixture(seed: 1, people: 2500, pets: 300, isIndexed: true)
        let view = try all.fixture.store.snapshot()
        for order in ["", "id DESC", "name, salary", "salary + 1"] {
            let plan = try all.plan("Person", "TRUE", order: order)
            var count = 0
            #expect(throws: Refusal(row: row), "\(plan)") {
                try plan.forEachRow(in: view) { _, _ in
                    if count == row { throw Refusal(row: row) }
                    count += 1
                    return true
                }
            }
            #expect(count == row, "\(plan)")
        }
    }
}
