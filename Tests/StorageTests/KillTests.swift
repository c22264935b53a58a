import Foundation
import Testing

/// A real process on a real disk, killed at random moments: a few of the cycles of `make kill`.
@Suite struct KillTests {
    @Test func whatAKilledProcessHadAcknowledgedIsThere() throws {
        let process = Process()
        let program: URL = try #require(KillTests.program, "KillRunner is built beside the tests")
        process.executableURL = program
        process.arguments = ["kill", "20"]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(text)")
        #expect(text.contains("20 kills"), "\(text)")
    }

    @Test func readersBesideAWriterSeeWholeStatesHoweverOftenTheyAreKilled() throws {
        let process = Process()
        let program: URL = try #require(KillTests.program, "KillRunner is built beside the tests")
        process.executableURL = program
        process.arguments = ["readers", "60"]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(text)")
        #expect(text.contains("none wrong"), "\(text)")
    }

    private static let program: URL? = {
        for start in Bundle.allBundles.map(\.bundleURL) + [URL(fileURLWithPath: CommandLine.arguments[0])] {
            var folder = start
            for _ in 0..<5 {
                folder.deleteLastPathComponent()
                let program = folder.appendingPathComponent("KillRunner")
                if FileManager.default.isExecutableFile(atPath: program.path) { return program }
            }
        }
        return nil
    }()
}
