import MakoTestSupport
import Testing

/// Random operation sequences with crashes and failing calls against sorted maps, `verify` after each.
@Suite struct RandomTests {
    @Test(arguments: 0..<RandomSeeds.parts) func randomWorkloadsAgreeWithTheModel(part: Int) {
        #expect(RandomSeeds.failures(StoreWorkload.self, part: part).isEmpty)
    }
}
