import MakoTestSupport
import RandomRuns
import Testing

/// Random tables, rows, queries and migrations with crashes and failing calls, against arrays of values.
@Suite struct RandomTests {
    @Test(arguments: 0..<RandomSeeds.parts) func randomWorkloadsAgreeWithTheModel(part: Int) {
        #expect(RandomSeeds.failures(RecordRandomRun.self, part: part).isEmpty)
    }
}
