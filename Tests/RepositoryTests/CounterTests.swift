import Foundation
import Testing

/// The interpreter that the scripts need.
enum Python {
    static let path: String? = {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        return folders.map { "\($0)/python3" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }()
}

/// The counts of scripts/counters.py stay below the limits of Tests/Limits.txt.
@Suite(.enabled(if: Python.path != nil, "python3 is not on the PATH")) struct CounterTests {
    private func counters(_ arguments: String...) throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try #require(Python.path))
        process.arguments = [Repository.root + "/scripts/counters.py"] + arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, output)
    }

    @Test func countsStayBelowTheirLimits() throws {
        let (status, output) = try counters("check")
        #expect(status == 0, "\(output)")
        let limits = try #require(Repository.read("Tests/Limits.txt")).split(separator: "\n").filter {
            !$0.hasPrefix("#")
        }
        #expect(output.split(separator: "\n").count == limits.count && limits.count >= 10)
    }

    @Test func theLargestFileIsTheOneWithMostLines() throws {
        let output = try counters("sizes", "Sources/MakoStorage").output
        let files = Repository.files(in: "Sources/MakoStorage")
        let most = try #require(files.map { $0.text.utf8.count { $0 == UInt8(ascii: "\n") } }.max())
        #expect(output.hasPrefix("  \(most) lines"))
    }
}
