import MakoTestSupport
import RandomRuns
import Testing

/// Random objects with relations, saved, changed, removed and rolled back, with crashes and failing calls, against plain values.
@Suite struct RandomTests {
    @Test(arguments: 0..<RandomSeeds.parts) func randomWorkloadsAgreeWithTheModel(part: Int) {
        #expect(RandomSeeds.failures(ObjectRandomRun.self, part: part).isEmpty)
    }
}
