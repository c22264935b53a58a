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
        "demo", "install", "test", "coverage", "crash", "soak", "kill", "sabotage", "bench", "fuzz", "format", "docs",
        "help", "instructions", "footprint",
    ])
    func theMakefileHasTheTarget(_ target: String) throws {
        let lines = try #require(Repository.read("Makefile")).split(separator: "\n")
        #expect(lines.contains { $0.hasPrefix(target + ":") })
    }

    @Test(arguments: [
        ".ci/run", "scripts/need", "scripts/syntax-host", "scripts/documentation", "scripts/sabotage",
        "scripts/mutations", "scripts/coverage", "scripts/instructions", "scripts/footprint",
    ])
    func aScriptCanBeRun(_ path: String) {
        #expect(FileManager.default.isExecutableFile(atPath: Repository.root + "/" + path))
    }

    /// Xcode and SwiftPM refuse flags of the compiler, or their combination with their own, in packages that others depend on.
    @Test func dependantsGetNoFlagsThatOnlyTheMakefileMayGive() throws {
        let manifest = try #require(Repository.read("Package.swift")).split(separator: "\n")
        let strict = manifest.filter { $0.contains("treatAllWarnings") }
        #expect(strict.count == 1 && strict.allSatisfy { $0.contains("isStrict ?") })
        let unsafe = manifest.filter { $0.contains("unsafeFlags") }
        #expect(
            unsafe.count == 3 && unsafe.allSatisfy { $0.contains("syntaxHost.map {") || $0.contains("isOptimised ?") })
        for path in ["Makefile", ".ci/run"] {
            let lines = try #require(Repository.read(path)).split(separator: "\n")
            #expect(lines.contains { $0.hasPrefix("export MAKO_STRICT") && $0.hasSuffix("1") }, "\(path)")
        }
    }

    /// On many file systems two products whose names differ only in their cases are built in one folder.
    @Test func namesOfProductsDifferInMoreThanTheirCases() throws {
        let manifest = try #require(Repository.read("Package.swift"))
        let names = manifest.matches(of: #/\.(?:library|executable)\(name: "([^"]+)"/#).map { String($0.output.1) }
        #expect(names.count > 4 && Set(names.map { $0.lowercased() }).count == names.count)
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

    /// By the pattern that `make test-threads` gives to the test program.
    @Test func whateverStartsThreadsRunsUnderTheThreadSanitizer() throws {
        let makefile = try #require(Repository.read("Makefile"))
        let line = try #require(makefile.split(separator: "\n").first { $0.hasPrefix("THREADED := ") })
        let pattern = try Regex(String(line.dropFirst("THREADED := ".count)).filter { $0 != "'" })
        let start = try Regex(
            #"\bstartThread\(|\bTask( @\w+)? \{|\bTask\.detached|with(Throwing)?TaskGroup|concurrentPerform|DispatchQueue|async let "#
        )
        let function = #/func (\w+)/#
        var found = 0
        for file in Repository.files(in: "Tests") {
            let parts = file.path.dropLast(".swift".count).split(separator: "/")
            guard parts.count >= 3, parts[1].hasSuffix("Tests"), parts[1] != "RepositoryTests",
                let suite = parts.last, suite.hasSuffix("Tests")
            else { continue }
            var name = ""
            for line in file.code.split(separator: "\n") {
                if let match = line.firstMatch(of: function) { name = String(match.1) }
                guard line.contains(start) else { continue }
                found += 1
                let test = "\(parts[1]).\(suite)/\(name)"
                #expect(
                    test.contains(pattern), "\(test) starts a thread, and THREADED in the Makefile does not name it")
            }
        }
        #expect(found > 50)
    }

    /// All tests run at once: one that awaits goes on when a processor is free, minutes later on a busy machine, and has not failed.
    @Test func noTestFailsByTheTimeItTakes() {
        for file in Repository.files(in: "Tests") {
            #expect(!file.code.contains("." + "timeLimit("), "\(file.path) has a time limit")
        }
    }

    /// `make instructions` fails for a case without a limit.
    @Test func eachInstructionCaseHasALimit() throws {
        let cases = Repository.files(in: "Tests/InstructionCases").flatMap { file in
            file.text.matches(of: #/InstructionCase\("([a-z0-9-]+)"/#).map { String($0.output.1) }
        }
        let limits = try #require(Repository.read("Tests/Instructions.txt")).split(separator: "\n")
            .filter { !$0.hasPrefix("#") }.compactMap { $0.split(separator: " ").first.map(String.init) }
        #expect(cases.count >= 20)
        #expect(Set(limits) == Set(cases))
    }

    /// `make test` prints the reason of each test that it skips.
    @Test func eachSkippedTestHasAReason() throws {
        let condition = try Regex(#"\.(enabled|disabled)\((if: )?[^"]*\)"#)
        let reason = try Regex(#"\.(enabled|disabled)\([^)]*"[^"]{10,}""#)
        var found = 0
        for file in Repository.files(in: "Tests") where file.path != "Tests/RepositoryTests/HouseTests.swift" {
            for line in file.text.split(separator: "\n")
            where line.contains(".enabled(if") || line.contains(".disabled(") {
                found += 1
                #expect(!line.contains(condition) && line.contains(reason), "\(file.path): \(line)")
            }
        }
        #expect(found > 10)
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
