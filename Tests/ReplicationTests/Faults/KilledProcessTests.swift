import Foundation
import MakoReplication
import MakoStorage
import MakoTestSupport
import ReplicationTestSupport
import Testing

/// Real processes that ship, follow and take over, killed at random moments: one round of `make kill-replication`.
@Suite struct KilledProcessTests {
    @Test func whatIsAcknowledgedSurvivesKillsAndPromotions() throws {
        let program: URL = try #require(Self.program, "ReplicationKillRunner is built beside the tests")
        let process = Process()
        process.executableURL = program
        process.arguments = ["10"]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(text)")
        #expect(text.contains("10 cycles: "), "\(text)")
        #expect(text.contains(" with a value that the log only names"), "\(text)")
    }

    /// The size from which the runner's workload, with segments of 256 KiB and 2 MiB of memory, writes values that no frame holds.
    @Test func aValueOfAQuarterOfASegmentComesWithABackup() throws {
        var options = Ledger.options(MemoryFileSystem(), seed: 1)
        options.logSegmentBytes = 256 << 10
        options.cacheBytes = 2 << 20
        options.logArchiveBytes = 64 << 20
        let store = try Store(at: "store.mako", options: options)
        let objects = SimulatedObjectStore()
        let replicator = try Replicator(store, to: objects)
        try store.write { tx in _ = try tx.createTree(named: "rows", keys: .integer) }
        try replicator.ship()
        for bytes in [15_000, 30_000, 64 << 10, 16_000] {
            var random = SplitMix(seed: UInt64(bytes))
            let value = (0..<bytes).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            try store.write { tx in
                guard let rows = tx.view.tree(named: "rows") else { return }
                try tx.put(value, for: UInt64(bytes), in: rows)
            }
            try replicator.ship()
        }
        let headers = objects.objects.filter { $0.key.contains("/seq/") }.sorted { $0.key < $1.key }
        let kinds = headers.map { ObjectHeader($0.value)?.kind }
        #expect(kinds == [.full, .frames, .frames, .part, .frames])
        try store.close()
    }

    private static let program: URL? = {
        for start in Bundle.allBundles.map(\.bundleURL) + [URL(fileURLWithPath: CommandLine.arguments[0])] {
            var folder = start
            for _ in 0..<5 {
                folder.deleteLastPathComponent()
                let program = folder.appendingPathComponent("ReplicationKillRunner")
                if FileManager.default.isExecutableFile(atPath: program.path) { return program }
            }
        }
        return nil
    }()
}
