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

    /// The rules that the count of undocumented declarations goes by: attributes over several lines, plain comments, and
    /// names that are deprecated.
    @Test func publicDeclarationsWithoutADocCommentAreListed() throws {
        let folder = NSTemporaryDirectory() + "mako-undocumented-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let source = """
            /// A sample.
            // With a comment.
            @available(
                macOS 15, *)
            @frozen public struct Sample {
                public var bare = 0
                /// The size.
                public var size = 0
                @available(*, deprecated, renamed: "size")
                public var length: Int { size }
                @inlinable
                public func bareToo() {}
                var inner = 0
            }

            extension Sample: CustomStringConvertible {
                public var description: String { "" }
            }
            """
        try source.write(toFile: folder + "/Sample.swift", atomically: true, encoding: .utf8)
        let (status, output) = try counters("undocumented", folder)
        #expect(status == 0)
        let names = output.split(separator: "\n").map { $0.split(separator: ": ").last.map(String.init) }
        #expect(names == ["public var bare = 0", "public func bareToo() {}"])
    }
}
