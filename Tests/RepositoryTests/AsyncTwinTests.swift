import Foundation
import Testing

/// The sources, pages and lists that scripts make or check.
@Suite(.enabled(if: Python.path != nil, "python3 is not on the PATH")) struct AsyncTwinTests {
    @Test(arguments: [("async-twins", "--check"), ("test-counts", "--check"), ("coverage", "stale")])
    func theOutputIsUpToDate(of script: String, argument: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try #require(Python.path))
        process.arguments = [Repository.root + "/scripts/\(script)", argument]
        let pipe = Pipe()
        process.standardError = pipe
        try process.run()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(output)")
    }

    @Test func eachMarkHasOneForm() {
        let sources = Repository.files(in: "Sources/MakoCore")
        let marks = sources.map { file in
            file.text.split(separator: "\n").count { $0.wholeMatch(of: #/ +// async(: [a-z, ]+)?/#) != nil }
        }
        let forms = sources.filter { $0.path.contains("/AsyncTwins+") }.map { file in
            file.text.split(separator: "\n").count { $0.hasPrefix("    public ") }
        }
        #expect(marks.reduce(0, +) == forms.reduce(0, +))
        #expect(forms.count > 1)
    }
}
