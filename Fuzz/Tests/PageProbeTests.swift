import MakoTestSupport
import Testing

@testable import MakoStorage

/// Pages that the samples of the fuzzer do not have.
@Suite struct PageProbeTests {
    @Test(arguments: ["int", "bytes 20"]) func innerNodesWithCountsPass(kind: String) throws {
        let disk = SimulatedDisk()
        let script = try Script(name: "counts", "begin\ntree t \(kind) counted\nput t 1..600 60b\ncommit\ncheckpoint")
        let run = ScriptRun(script, on: disk)
        try run.run(closing: true)
        let files = disk.settledImage().files
        let file = try #require(files.first { !$0.key.contains("-wal-") }).value
        var inner = 0
        for page in 0..<Int(file.size) / pageBytes {
            var bytes = file.bytes(at: UInt64(page * pageBytes), count: pageBytes)
            let type = bytes.withUnsafeMutableBytes { $0.baseAddress.flatMap { PageType(rawValue: Page($0).type) } }
            guard type == .integerInner || type == .byteInner else { continue }
            inner += 1
            #expect(PageProbe.page(bytes, key: 300, word: ScriptRun.bytes(300, length: 20)) == nil)
        }
        #expect(inner > 0)
    }
}
