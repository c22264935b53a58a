import Foundation
import Testing

/// The files that people and machines expect to find.
@Suite struct HouseTests {
    @Test(arguments: [
        "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "Package.swift", ".swift-format",
        ".spi.yml",
        ".gitignore", ".ci/run", "docs/architecture.md", "docs/format.md",
        "docs/testing.md",
    ])
    func isThere(_ path: String) {
        #expect(Repository.exists(path))
    }

    @Test(arguments: [
        "demo", "test", "coverage", "crash", "soak", "kill", "sabotage", "bench", "fuzz", "format", "docs", "help",
    ])
    func theMakefileHasTheTarget(_ target: String) throws {
        let lines = try #require(Repository.read("Makefile")).split(separator: "\n")
        #expect(lines.contains { $0.hasPrefix(target + ":") })
    }

    @Test(arguments: [
        ".ci/run", "scripts/need", "scripts/syntax-host", "scripts/documentation", "scripts/sabotage",
        "scripts/coverage",
    ])
    func aScriptCanBeRun(_ path: String) {
        #expect(FileManager.default.isExecutableFile(atPath: Repository.root + "/" + path))
    }

    @Test func whatIsBuiltIsNotKept() throws {
        let ignored = try #require(Repository.read(".gitignore")).split(separator: "\n")
        for name in ["Package.resolved", ".build", "*.mako"] {
            #expect(ignored.contains { $0 == name }, "\(name) is not ignored")
        }
        let tracked = try trackedFiles()
        for path in tracked {
            let parts = path.split(separator: "/")
            #expect(parts.last != "Package.resolved", "\(path) is in git")
            #expect(!parts.contains { $0.hasPrefix(".build") }, "\(path) is in git")
        }
    }

    @Test func theSuitesForTheThreadSanitizerAreFoundByTheirNames() {
        let files = Repository.files(in: "Tests").filter { $0.code.contains("ConcurrencyTests") }
        for folder in ["StorageTests", "CoreTests"] {
            #expect(
                files.contains { $0.path.hasPrefix("Tests/\(folder)/") },
                "no suite of \(folder) ends in ConcurrencyTests")
        }
    }

    /// All tests run at once: one that awaits goes on when a processor is free, minutes later on a busy machine, and has not failed.
    @Test func noTestFailsByTheTimeItTakes() {
        for file in Repository.files(in: "Tests") {
            #expect(!file.code.contains("." + "timeLimit("), "\(file.path) has a time limit")
        }
    }

    /// Nothing where this is no checkout or git is missing.
    private func trackedFiles() throws -> [String] {
        guard Repository.exists(".git") else { return [] }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["git", "-C", Repository.root, "ls-files"]
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = FileHandle.nullDevice
        try process.run()
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return text.split(separator: "\n").map(String.init)
    }
}
