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

    @Test func processesAtTheSameFilesLoseNothing() throws {
        let text = try KillTests.output("processes", "15")
        #expect(text.contains("none lost"), "\(text)")
    }

    @Test func processesThatTakeTurnsLoseNothing() throws {
        let text = try KillTests.output("turns", "40")
        #expect(text.contains("none lost"), "\(text)")
    }

    @Test func databasesThatLockTheirFileForEachTransactionLoseNothing() throws {
        let text = try KillTests.output("sharing", "20")
        #expect(text.contains("none lost"), "\(text)")
    }

    @Test func theChildOfAForkLeavesTheFilesToItsParent() throws {
        let folder = NSTemporaryDirectory() + "mako-fork-\(UInt64.random(in: 0...UInt64.max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let text = try KillTests.output("fork", folder)
        #expect(text.contains("nothing of the parent's touched"), "\(text)")
    }

    @Test func theChildOfAForkLeavesADatabaseToItsParent() throws {
        let folder = NSTemporaryDirectory() + "mako-fork-\(UInt64.random(in: 0...UInt64.max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let text = try KillTests.output("fork-database", folder)
        #expect(text.contains("nothing of the parent's touched"), "\(text)")
    }

    /// The output of the program when it ends successfully.
    private static func output(_ arguments: String...) throws -> String {
        let process = Process()
        let program: URL = try #require(KillTests.program, "KillRunner is built beside the tests")
        process.executableURL = program
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(text)")
        return text
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
