import Foundation
import Testing

/// The files around the sources: version, placeholders, README, dependencies, and what a visitor looks for.
@Suite struct ProjectTests {
    @Test(arguments: [
        "SECURITY.md", "CODE_OF_CONDUCT.md", "AGENTS.md", "llms.txt", "docs/releasing.md", "docs/quirks.md",
        "docs/glossary.md",
        "docs/dependencies.md", ".github/PULL_REQUEST_TEMPLATE.md", ".github/ISSUE_TEMPLATE/defect.md",
        ".github/ISSUE_TEMPLATE/request.md", ".github/workflows/ci.yml", ".github/workflows/nightly.yml",
    ])
    func isThere(_ path: String) {
        #expect(Repository.exists(path))
    }

    @Test func theVersionIsWrittenOnceAndNamedAlike() throws {
        let source = try #require(Repository.read("Sources/MakoCommand/MakoVersion.swift"))
        let version = try #require(source.firstMatch(of: #/current = "([0-9]+\.[0-9]+\.[0-9]+)"/#)).output.1
        let changes = try #require(Repository.read("CHANGELOG.md"))
        let release = try #require(changes.split(separator: "\n").first { $0.hasPrefix("## ") })
        #expect(release.hasPrefix("## \(version)"), "CHANGELOG.md begins with \(release)")
        let readme = try #require(Repository.read("README.md"))
        #expect(readme.contains(".package(url: \"REPOSITORY-URL\", from: \"\(version)\")"))
        for file in Repository.files(in: "Sources") where file.path != "Sources/MakoCommand/MakoVersion.swift" {
            #expect(!file.text.contains("\"\(version)\""), "\(file.path) has a version of its own")
        }
    }

    @Test func theReadmeIsShortAndItsLinksLead() throws {
        let readme = try #require(Repository.read("README.md"))
        #expect(readme.split(separator: "\n", omittingEmptySubsequences: false).count <= 151)
        let headings = readme.split(separator: "\n").filter { $0.hasPrefix("## ") }.map { heading in
            heading.dropFirst(3).lowercased().filter { $0.isLetter || $0.isNumber || " -".contains($0) }
                .replacing(" ", with: "-")
        }
        var found = 0
        for match in readme.matches(of: #/\]\(([^)]+)\)/#) {
            let target = String(match.output.1)
            found += 1
            if target.hasPrefix("#") {
                #expect(headings.contains(String(target.dropFirst())), "no heading for \(target)")
            } else if !target.contains("://") {
                #expect(Repository.exists(target), "\(target) does not exist")
            }
        }
        #expect(found > 30)
    }

    @Test func aReleaseBeginsWithAtMostTwentyLinesForUsers() throws {
        let changes = try #require(Repository.read("CHANGELOG.md"))
        for release in changes.components(separatedBy: "\n## ").dropFirst() {
            let head = release.components(separatedBy: "\n### ")[0]
            #expect(head.split(separator: "\n").dropFirst().count <= 20, "\(release.prefix(20))")
        }
    }

    /// The URL and the address of the project are not decided; no file may invent one.
    @Test func placeholdersHaveOneSpelling() throws {
        let address = #/[\w.+-]*\w@[\w-]+\.[a-z]{2,}/#
        let url = #/(?:github\.com|gitlab\.com|codeberg\.org)[:\/][\w-]+\/mako\b/#
        let pages = [
            "README.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "AGENTS.md", "llms.txt",
            "CHANGELOG.md",
        ]
        let files =
            pages.compactMap { path in Repository.read(path).map { (path, $0) } }
            + (Repository.files(in: "docs", extensions: ["md"])
            + Repository.files(in: ".github", extensions: ["md", "yml"])
            + Repository.files(in: "Sources", extensions: ["md"])).map { ($0.path, $0.text) }
        for (path, text) in files {
            #expect(text.firstMatch(of: url) == nil, "\(path) has a URL of the repository; write REPOSITORY-URL")
            let addresses = text.matches(of: address).map { String($0.output) }.filter { !$0.contains("example.") }
            #expect(addresses.isEmpty, "\(path) has the addresses \(addresses); write CONTACT-ADDRESS")
        }
        // A dependency on the package has the placeholder and the version, in each of its examples.
        let source = try #require(Repository.read("Sources/MakoCommand/MakoVersion.swift"))
        let version = try #require(source.firstMatch(of: #/current = "([0-9.]+)"/#)).output.1
        var dependencies = 0
        for (path, text) in files {
            for line in text.split(separator: "\n") where line.hasPrefix(".package(") {
                dependencies += 1
                let isAlike = line.hasPrefix(".package(url: \"REPOSITORY-URL\", from: \"\(version)\"")
                #expect(isAlike || line.hasPrefix(".package(path: "), "\(path): \(line)")
            }
        }
        #expect(dependencies >= 3)
        let article = "Sources/Mako/Mako.docc/BeyondOneMachine.md"
        #expect(
            files.filter { $0.1.contains("REPOSITORY-URL") }.map(\.0)
                == ["README.md", "docs/releasing.md", "docs/replication.md", article])
        #expect(
            files.filter { $0.1.contains("CONTACT-ADDRESS") }.map(\.0)
                == ["SECURITY.md", "CODE_OF_CONDUCT.md", "docs/releasing.md"])
    }

    @Test func eachDependencyHasItsReason() throws {
        let manifest = try #require(Repository.read("Package.swift"))
        let page = try #require(Repository.read("docs/dependencies.md"))
        let packages = manifest.matches(of: #/\.package\(url: "[^"]*\/([^"\/]+)"/#).map { String($0.output.1) }
        #expect(packages.count >= 6)
        for package in packages { #expect(page.contains("| \(package), "), "docs/dependencies.md lacks \(package)") }
        for library in ["CLZ4", "CPlatform", "SQLite", "LMDB"] { #expect(page.contains(library)) }
    }

    /// A library product must not build the parser of arguments.
    @Test func onlyProgramsDependOnArgumentParser() throws {
        let manifest = try #require(Repository.read("Package.swift"))
        var targets: Set<String> = []
        var name = ""
        for line in manifest.split(separator: "\n") {
            if let match = line.firstMatch(of: #/name: "([A-Za-z-]+)"/#), !line.contains(".product(") {
                name = String(match.output.1)
            }
            if line.contains("product(name: \"ArgumentParser\"") { targets.insert(name) }
        }
        #expect(targets == ["MakoCommand", "KillRunner", "mako-differential"])
        for file in Repository.files(in: "Sources") where file.code.contains("import ArgumentParser") {
            #expect(file.path.hasPrefix("Sources/MakoCommand/"), "\(file.path) imports ArgumentParser")
        }
    }

    @Test func replayAndBreakageHaveTargets() throws {
        let makefile = try #require(Repository.read("Makefile"))
        for target in ["\nreplay:", "\napi-breakage:"] { #expect(makefile.contains(target)) }
        #expect(FileManager.default.isExecutableFile(atPath: Repository.root + "/scripts/api-breakage"))
    }

    /// Readers search for these words; a heading has each of them.
    @Test(arguments: [
        "Aggregates and grouping", "Full-text search", "Geospatial queries", "Query plans and indexes", "Backlinks",
        "Quantifiers", "Observing changes", "Key-value stores", "Maintenance", "Upsert", "Pagination",
        "The N+1 problem", "Concurrency and isolation (MVCC)", "Limits", "Errors and their HTTP status",
        "Performance guide", "FAQ", "Versioning and file format policy",
    ])
    func aHeadingOfTheGuidesHas(_ words: String) {
        let headings = Repository.files(in: "Sources/Mako/Mako.docc", extensions: ["md"]).flatMap { file in
            file.text.split(separator: "\n").filter { $0.hasPrefix("#") }
        }
        #expect(headings.contains { $0.drop(while: { $0 == "#" }).dropFirst().hasPrefix(words) })
    }

    /// The page of a type groups its members; each that a group names is declared.
    @Test(arguments: [("Mako/Mako.docc", ""), ("MakoStorage/MakoStorage.docc", "MakoStorage")])
    func theTopicsOfATypeNameItsMembers(catalogue: String, module: String) throws {
        // The catalogue of Mako has pages of types of all products.
        let declarations = Repository.files(in: module.isEmpty ? "Sources" : "Sources/\(module)").flatMap { file in
            file.code.matches(of: #/\b(?:func|var|let|case|struct|enum|class|typealias) `?(\w+)|\b(init|subscript)\b/#)
        }
        let names = Set(declarations.compactMap { $0.output.1 ?? $0.output.2 })
        let pages = Repository.files(in: "Sources/\(catalogue)/Types", extensions: ["md"])
        #expect(pages.count > 5)
        for page in pages {
            let members = page.text.matches(of: #/\n- ``(\w+)/#).map(\.output.1)
            #expect(page.text.contains("\n## Topics\n") && !members.isEmpty, "\(page.path)")
            for name in members { #expect(names.contains(name), "\(page.path) names \(name)") }
        }
    }

    /// A decision is a page at most, and the page about the tests is read in one go.
    @Test func decisionsAndThePageOfTheTestsAreShort() throws {
        func lines(_ text: String) -> Int { text.split(separator: "\n", omittingEmptySubsequences: false).count - 1 }
        let decisions = Repository.files(in: "docs/decisions", extensions: ["md"])
        #expect(decisions.count > 100)
        for file in decisions { #expect(lines(file.text) <= 50, "\(file.path) has \(lines(file.text)) lines") }
        let page = try #require(Repository.read("docs/testing.md"))
        #expect(lines(page) <= 250)
    }

    /// A page that names a file which was renamed sends its reader nowhere.
    @Test func sourcesThatPagesNameAreThere() throws {
        let folders = ["Sources", "Tests", "Benchmarks", "Demo", "Differential", "Examples", "Fuzz", "scripts"]
        let names = Set(folders.flatMap { Repository.files(in: $0) }.map { $0.path.split(separator: "/").last! })
            .union(["Package.swift"])
        var found = 0
        for file in Repository.files(in: "docs", extensions: ["md"]) {
            for match in file.text.matches(of: #/`(?:[A-Za-z]+\/)*([A-Za-z0-9+]+\.swift)`/#) {
                found += 1
                #expect(names.contains(match.output.1), "\(file.path) names \(match.output.1), which is not there")
            }
        }
        #expect(found > 20)
    }
}
