import Foundation
import Testing

/// Forbidden text in the repository.
@Suite struct TextTests {
    private static let folders = ["Sources", "Tests", "Demo", "Fuzz", "Benchmarks", "Examples", "docs", "scripts"]
    private static let kinds: Set<String> = ["swift", "md", "h", "c", "modulemap", "yml", "sh"]

    private var texts: [Repository.File] {
        let top = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile", "Package.swift", ".spi.yml", ".ci/run"]
        return Self.folders.flatMap { Repository.files(in: $0, extensions: Self.kinds) }
            + top.compactMap { path in Repository.read(path).map { Repository.File(path: path, text: $0) } }
    }

    // The words are put together here so that this file does not contain them.
    @Test func nothingIsLeftForLater() {
        let words = ["TO" + "DO", "FIX" + "ME", "XX" + "X:", "HA" + "CK:"]
        for file in texts {
            let lines = file.text.lines(containing: words)
            #expect(lines.isEmpty, "\(file.path), lines \(lines)")
        }
    }

    @Test func noPathOfOneMachineIsWrittenDown() {
        let words = ["/wo" + "rk/", "/ro" + "ot/", "/home" + "/", "/Users" + "/", "/opt" + "/swift"]
        for file in texts {
            let lines = file.text.lines(containing: words)
            #expect(lines.isEmpty, "\(file.path), lines \(lines)")
        }
    }

    @Test func filesEndWithALineBreakAndHaveNoTabs() {
        for file in texts {
            #expect(file.text.hasSuffix("\n"), "\(file.path) does not end with a line break")
            if file.path != "Makefile" { #expect(!file.text.contains("\t"), "\(file.path) has a tab") }
        }
    }
}
