import Foundation
import Testing

/// `docs/features.md`: what the older libraries promised, and the tests that show it here.
@Suite struct FeatureLedgerTests {
    private struct Row {
        var promise: String
        var tests: [String]
    }

    /// All rows, or those about one library.
    private static func rows(of library: String? = nil) throws -> [Row] {
        var text = try #require(Repository.read("docs/features.md"))
        if let library { text = try #require(section("## \(library)", of: text)) }
        return text.split(separator: "\n").filter { $0.hasPrefix("|") && !$0.hasPrefix("|---") }.compactMap { line in
            let cells = line.replacing("\\|", with: "or").split(separator: "|", omittingEmptySubsequences: false)
            guard cells.count == 5, cells[3] != " Shown by " else { return nil }
            let parts = cells[3].split(separator: "`", omittingEmptySubsequences: false)
            return Row(
                promise: String(cells[1]), tests: parts.indices.filter { $0 % 2 == 1 }.map { String(parts[$0]) })
        }
    }

    /// The text below a heading, up to the next one of its rank.
    private static func section(_ heading: String, of text: String) -> String? {
        let parts = text.components(separatedBy: "\n\(heading)\n")
        return parts.count == 2 ? parts[1].components(separatedBy: "\n## ")[0] : nil
    }

    @Test(arguments: ["SharkORM", "BZObjectStore", "SwiftyDB"])
    func theGuidesSayWhatIsMissing(_ library: String) throws {
        let guide = try #require(Repository.read("Sources/Mako/Mako.docc/From\(library).md"))
        let listed = Self.section("## What is not there", of: guide) ?? ""
        for row in try Self.rows(of: library) {
            let isListed = listed.contains("|\(row.promise)|")
            #expect(isListed == row.tests.isEmpty, "From\(library).md and docs/features.md differ about\(row.promise)")
        }
    }

    @Test func eachRowNamesTestsThatExist() throws {
        let files = Repository.files(in: "Tests").map(\.code).filter { $0.contains("@Test") }
        for row in try FeatureLedgerTests.rows() {
            for test in row.tests {
                let parts = test.split(separator: ".")
                let isThere = files.contains { file in
                    file.contains("struct \(parts[0]) ")
                        && (parts.count == 1 || file.contains("func \(parts[1])("))
                }
                #expect(isThere, "\(row.promise) names \(test), which does not exist")
            }
        }
    }

    @Test func whatIsMissingIsCounted() throws {
        let text = try #require(Repository.read("docs/features.md"))
        let rows = try FeatureLedgerTests.rows()
        #expect(rows.count > 120)
        let missing = rows.filter(\.tests.isEmpty)
        #expect(missing.count == text.components(separatedBy: "| *missing* |").count - 1)
        let count = "\(missing.count) row\(missing.count == 1 ? "" : "s")"
        #expect(text.contains("does not do it yet: \(count)."), "\(count) missing")
    }
}
