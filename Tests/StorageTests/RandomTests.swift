import MakoStorage
import MakoTestSupport
import Testing

/// Random operation sequences with crashes against sorted maps, `verify` after each.
@Suite struct RandomTests {
    static let parts = 20

    @Test(arguments: 0..<parts) func randomWorkloadsAgreeWithTheModel(part: Int) throws {
        if let seed = TestEffort.seed {
            if part == 0 { try RandomRun.run(seed: seed) }
            return
        }
        var failures: [String] = []
        for seed in stride(from: part, to: TestEffort.seeds, by: RandomTests.parts) {
            do { try RandomRun.run(seed: UInt64(seed)) } catch { failures.append("\(error)") }
            if failures.count == 3 { break }
        }
        #expect(failures.isEmpty)
    }
}
