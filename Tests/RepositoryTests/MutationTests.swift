import Foundation
import Testing

/// The mutations of `Tests/Mutations`, as `scripts/mutations` lists them.
@Suite(.enabled(if: Python.path != nil, "python3 is not on the PATH")) struct MutationTests {
    /// The folder whose `scripts/mutations` is run: the repository, or a small package made for a test.
    private func mutations(_ command: String..., in root: String = Repository.root) throws -> (
        status: Int32, output: String
    ) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try #require(Python.path))
        process.arguments = [root + "/scripts/mutations"] + command
        let pipe = Pipe()
        (process.standardOutput, process.standardError) = (pipe, pipe)
        try process.run()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, output)
    }

    private func bugs() throws -> [(name: String, suites: [String], meaning: String)] {
        let (status, output) = try mutations("list")
        try #require(status == 0, "\(output)")
        return try output.split(separator: "\n").map { line in
            let columns = line.components(separatedBy: " | ")
            try #require(columns.count == 3, "\(line)")
            return (columns[0], columns[1].split(separator: " ").map { $0.filter { $0 != "!" } }, columns[2])
        }
    }

    /// Each hunk fits the sources, each bug has one, and no source has a switch.
    @Test func everyBugHasItsPlace() throws {
        let (status, output) = try mutations("check")
        #expect(status == 0, "\(output)")
    }

    @Test func theNumberOfBugsIsTheOneInTheDocumentation() throws {
        let bugs = try bugs()
        #expect(bugs.allSatisfy { $0.meaning.count > 10 })
        let document = try #require(Repository.read("docs/test-runs.md"))
        let number = try #require(document.firstMatch(of: #/\n([0-9]+) deliberate bugs: /#)?.output.1)
        #expect(Int(number) == bugs.count, "run scripts/test-counts")
    }

    @Test func theSuitesOfTheBugsExist() throws {
        let tests = Repository.files(in: "Tests").filter { $0.code.contains("@Test") }
        for suite in Set(try bugs().flatMap(\.suites)) {
            let name = suite.split(separator: ".").last.map(String.init) ?? suite
            let folder = suite.contains(".") ? "Tests/\(suite.split(separator: ".")[0])/" : "Tests/"
            let isThere = tests.filter { $0.path.hasPrefix(folder) }.contains { test in
                ["struct \(name) ", "struct \(name):"].contains { test.code.contains($0) }
            }
            #expect(isThere, "there is no suite \(suite)")
        }
    }

    // MARK: A small package

    /// A package with one source and one bug, in a folder of its own.
    private func package(source: String, bugs: String) throws -> String {
        let root = FileManager.default.temporaryDirectory.path + "/mutations-\(UUID().uuidString)"
        let script = try #require(Repository.read("scripts/mutations"))
        let declaration = try #require(Repository.read("Tests/Mutations/Switch.swift"))
        let ofLayers = try #require(Repository.read("Tests/Mutations/LayerSwitch.swift"))
        for (path, text) in [
            ("scripts/mutations", script), ("Sources/A.swift", source), ("Tests/Mutations/a.txt", bugs),
            ("Tests/Mutations/Switch.swift", declaration), ("Tests/Mutations/LayerSwitch.swift", ofLayers),
        ] {
            let place = URL(fileURLWithPath: root + "/" + path)
            try FileManager.default.createDirectory(
                at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
            try text.write(to: place, atomically: true, encoding: .utf8)
        }
        return root
    }

    private static let source = "first()\nsame()\nsecond()\nsame()\n"
    private static let header = "== bug | ATests | the second call is left out\n@@ Sources/A.swift\n"
    private static let changed = "+if !sabotaged(\"bug\") { second() }\n"

    @Test func aBugIsWovenIntoACopy() throws {
        let root = try package(source: Self.source, bugs: Self.header + "-second()\n" + Self.changed)
        defer { try? FileManager.default.removeItem(atPath: root) }
        #expect(try mutations("check", in: root) == (0, "1 bugs in 1 hunks\n"))
        let copy = root + "/.copy"
        for _ in 0..<2 {
            #expect(try mutations("weave", copy, in: root) == (0, ""))
            let woven = try String(contentsOfFile: copy + "/Sources/A.swift", encoding: .utf8)
            #expect(woven == "first()\nsame()\nif !sabotaged(\"bug\") { second() }\nsame()\n")
        }
        // A rewritten file would be compiled again.
        let path = copy + "/Sources/A.swift"
        let date = try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
        try FileManager.default.moveItem(atPath: root + "/Sources/A.swift", toPath: root + "/Sources/B.swift")
        #expect(try mutations("weave", copy, in: root).status == 1)
        try FileManager.default.copyItem(atPath: root + "/Sources/B.swift", toPath: root + "/Sources/A.swift")
        #expect(try mutations("weave", copy, in: root).status == 0)
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date == date)
        try FileManager.default.removeItem(atPath: root + "/Sources/B.swift")
        #expect(try mutations("weave", copy, in: root).status == 0)
        #expect(!FileManager.default.fileExists(atPath: copy + "/Sources/B.swift"))
    }

    @Test func aFolderThatIsNoCopyIsLeftAlone() throws {
        let root = try package(source: Self.source, bugs: Self.header + "-second()\n" + Self.changed)
        defer { try? FileManager.default.removeItem(atPath: root) }
        let (status, output) = try mutations("weave", root + "/Tests", in: root)
        #expect(status == 1 && output.contains("is not a copy"), "\(output)")
        #expect(FileManager.default.fileExists(atPath: root + "/Tests/Mutations/a.txt"))
    }

    @Test(arguments: [
        ("-third()\n" + changed, "the original lines occur nowhere"),
        ("-same()\n" + changed, "the original lines occur 2 times"),
        ("-second()\n+if !sabotaged(\"other\") { second() }\n", "its switch other has no header"),
        ("-second()\n+\n", "no hunk has a switch for bug"),
        ("-second()\n" + changed + "@@ Sources/A.swift\n second()\n" + changed, "make one hunk of both"),
        ("-second()\n" + changed + "something else\n", "neither a bug"),
        ("-second()\n" + changed + header, "bug is listed in"),
    ])
    func whatIsWrongWithABugIsNamed(hunk: String, reason: String) throws {
        let root = try package(source: Self.source, bugs: Self.header + hunk)
        defer { try? FileManager.default.removeItem(atPath: root) }
        let (status, output) = try mutations("check", in: root)
        #expect(status == 1 && output.contains(reason), "\(output)")
    }

    @Test func aSourceWithASwitchIsNamed() throws {
        let root = try package(
            source: Self.source + "if sabotaged(\"bug\") {}\n", bugs: Self.header + "-second()\n" + Self.changed)
        defer { try? FileManager.default.removeItem(atPath: root) }
        let (status, output) = try mutations("check", in: root)
        #expect(status == 1 && output.contains("Sources/A.swift: it has a switch"), "\(output)")
    }
}
