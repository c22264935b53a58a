import Foundation
import MakoTestSupport
import Testing

/// The inputs that fuzzers found before, and inputs near them: none may trap again.
@Suite struct CorpusTests {
    static let targets: [(name: String, run: @Sendable ([UInt8]) -> Void)] = [
        ("FileFuzz", { fuzzFile($0) }), ("PageFuzz", { fuzzPage($0) }), ("LogFuzz", { fuzzLog($0) }),
        ("RowFuzz", { fuzzRow($0) }), ("WhereFuzz", { fuzzWhere($0) }), ("SelectFuzz", { fuzzSelect($0) }),
        ("ImportFuzz", { fuzzImport($0) }), ("CatalogueFuzz", { fuzzCatalogue($0) }),
        ("ObjectFuzz", { fuzzObjects($0) }), ("OperationFuzz", { fuzzOperations($0) }),
    ]

    @Test(arguments: targets.map(\.name)) func theCorpusIsReplayed(name: String) throws {
        let run = try #require(CorpusTests.targets.first { $0.name == name }).run
        let inputs = try CorpusTests.inputs(name)
        #expect(!inputs.isEmpty)
        for input in inputs { run(input) }
    }

    /// A short run of the fuzzer's own kind, for machines that never see `make fuzz`.
    @Test(arguments: targets.map(\.name)) func inputsNearTheCorpusAreTaken(name: String) throws {
        let run = try #require(CorpusTests.targets.first { $0.name == name }).run
        let inputs = try CorpusTests.inputs(name)
        var random = SplitMix(seed: 3)
        for _ in 0..<500 {
            var input = inputs[random.below(inputs.count)]
            for _ in 0..<1 + random.below(6) {
                let place = random.below(input.count + 1)
                switch random.below(4) {
                case 0: input.insert(UInt8(truncatingIfNeeded: random.next()), at: place)
                case 1 where place < input.count: input.remove(at: place)
                case 2: input += inputs[random.below(inputs.count)].prefix(20)
                default: if place < input.count { input[place] = UInt8(truncatingIfNeeded: random.next()) }
                }
            }
            run(input)
        }
    }

    private static func inputs(_ name: String) throws -> [[UInt8]] {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../Corpus/\(name)").standardizedFileURL
        return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .sorted { $0.path < $1.path }.map { [UInt8](try Data(contentsOf: $0)) }
    }
}
