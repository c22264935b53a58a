import Mako
import MakoTestSupport
import Testing

/// Random graphs of several classes, changed anywhere and saved from any object in any form, against plain values.
@Suite struct ObjectGraphRandomTests {
    @Test(arguments: 0..<RandomSeeds.parts) func savedGraphsAgreeWithTheModel(part: Int) async throws {
        let failures = try await onSmallStack {
            RandomSeeds.failures(part: part) { seed, log in
                do { try GraphSession(seed: seed, log: log).run() } catch {
                    throw Disagreement("graph, seed \(seed): \(error)")
                }
            }
        }
        #expect(failures.isEmpty)
    }
}
