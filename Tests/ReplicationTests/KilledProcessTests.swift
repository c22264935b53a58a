import Foundation
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
