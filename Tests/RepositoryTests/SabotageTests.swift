import Foundation
import Testing

/// The list of deliberate bugs and the places in the sources that ask for them.
@Suite struct SabotageTests {
    private struct Bug {
        var name: String
        var suites: [String]
        var meaning: String
    }

    private static func bugs() throws -> [Bug] {
        let text = try #require(Repository.read("Tests/Sabotage.txt"))
        return try text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
            let columns = line.split(separator: "|", omittingEmptySubsequences: false)
            try #require(columns.count == 3, "\(line)")
            return Bug(
                name: columns[0].filter { $0 != " " },
                suites: columns[1].split(separator: " ").map { $0.filter { $0 != "!" } },
                meaning: String(columns[2].drop { $0 == " " }))
        }
    }

    @Test func everyBugOfTheListHasItsPlace() throws {
        let bugs = try SabotageTests.bugs()
        let names = bugs.map(\.name)
        #expect(bugs.count >= 60)
        #expect(Set(names).count == names.count)
        #expect(bugs.allSatisfy { !$0.suites.isEmpty && $0.meaning.count > 10 })
        var asked: Set<String> = []
        for file in Repository.files(in: "Sources") {
            for part in file.text.components(separatedBy: "sabotaged(\"").dropFirst() {
                asked.insert(String(part.prefix { $0 != "\"" }))
            }
        }
        #expect(asked == Set(names), "\(asked.symmetricDifference(names).sorted())")
    }

    @Test func theSuitesThatAreAskedExist() throws {
        let tests = Repository.files(in: "Tests").filter { $0.code.contains("@Test") }
        for suite in Set(try SabotageTests.bugs().flatMap(\.suites)) {
            let name = suite.split(separator: ".").last.map(String.init) ?? suite
            let folder = suite.contains(".") ? "Tests/\(suite.split(separator: ".")[0])/" : "Tests/"
            let isThere = tests.contains { $0.path.hasPrefix(folder) && $0.code.contains("struct \(name) ") }
            #expect(isThere, "there is no suite \(suite)")
        }
    }

    /// In every build but its own the question is a constant.
    @Test func ordinaryBuildsHaveNoSwitch() throws {
        for room in ["MakoStorage", "MakoRecords", "MakoCore", "MakoCommand"] {
            let source = try #require(Repository.read("Sources/\(room)/Sabotage.swift"))
            let ordinary = try #require(source.components(separatedBy: "#else").last)
            #expect(
                ordinary.contains("@inline(__always)\n    func sabotaged(_ bug: StaticString) -> Bool { false }"),
                "\(room)"
            )
        }
        let package = try #require(Repository.read("Package.swift"))
        #expect(package.contains("isSabotaged ? [.define(\"SABOTAGE\")] : []"))
    }
}
