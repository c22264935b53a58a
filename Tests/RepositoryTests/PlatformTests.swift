import Foundation
import Testing

/// The portability of the sources, as far as their text shows it. `make check-platforms` compiles them.
@Suite struct PlatformTests {
    private static let libraries = ["Darwin", "Glibc", "Musl", "Android"]

    /// Most files get the C library by `CPlatform`, whose headers have one name everywhere.
    @Test func filesThatImportTheCLibraryKnowItsNameOnEverySystem() {
        var importers: [String] = []
        for file in Repository.files(in: "Sources") {
            let lines = Set(file.code.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) })
            let named = Self.libraries.filter { lines.contains("import \($0)") }
            if named.isEmpty { continue }
            importers.append(file.path)
            #expect(named == Self.libraries, "\(file.path) imports \(named)")
        }
        #expect((1...4).contains(importers.count), "more than a few import it: \(importers)")
    }

    /// A system in a condition of the sources must be on the page of platforms.
    @Test func thePageOfPlatformsNamesEveryConditionOfASystem() throws {
        let page = try #require(Repository.read("docs/platforms.md"))
        for file in Repository.files(in: "Sources") {
            for line in file.code.split(separator: "\n") where line.contains("#if") || line.contains("#elseif") {
                for condition in line.matches(of: #/(?:os|canImport)\(\w+\)/#).map({ String($0.output) }) {
                    #expect(page.contains("`\(condition)`"), "\(file.path): \(condition)")
                }
            }
        }
    }

    @Test func workflowsNameTheSystemsOfThePage() throws {
        let workflow = try #require(Repository.read(".github/workflows/ci.yml"))
        for word in ["6.2", "6.3", "macos", "iOS Simulator", "visionOS Simulator", "android", "static"] {
            #expect(workflow.contains(word), "no job for \(word)")
        }
    }
}
