import Foundation
import Testing

/// The example in the README is the one that is compiled: Demo/ReadmeExample.swift, which the tests also run.
@Suite struct ReadmeTests {
    @Test func theExampleIsTheOneThatIsCompiled() throws {
        let readme = try #require(Repository.read("README.md"))
        let source = try #require(Repository.read("Demo/ReadmeExample.swift"))
        let example = try #require(Self.snippet(of: source))
        #expect(example.split(separator: "\n", omittingEmptySubsequences: false).count <= 40)
        #expect(
            Self.blocks(in: readme).contains(example),
            "no ```swift block of README.md is exactly this text:\n\(example)")
    }

    @Test func theExampleOfCrashTestsIsTheOneThatIsCompiled() throws {
        let page = try #require(Repository.read("docs/testing.md"))
        let source = try #require(Repository.read("Tests/ExampleTests/CrashExampleTests.swift"))
        let parts = source.components(separatedBy: "// EXAMPLE")
        try #require(parts.count == 3)
        let example = parts[1].trimmingCharacters(in: .newlines)
        #expect(Self.blocks(in: page).contains(example), "no ```swift block of docs/testing.md is the example")
    }

    @Test func theExampleOfTheStoreIsTheOneThatIsCompiled() throws {
        let source = try #require(Repository.read("Tests/StorageTests/StorageExampleTests.swift"))
        let parts = source.components(separatedBy: "// EXAMPLE")
        try #require(parts.count == 3)
        let example = parts[1].trimmingCharacters(in: .newlines)
        #expect(example.split(separator: "\n").count <= 20)
        let path = "Sources/MakoStorage/MakoStorage.docc/MakoStorage.md"
        let page = try #require(Repository.read(path))
        #expect(Self.blocks(in: page).contains(example), "no ```swift block of \(path) is the example")
    }

    @Test func theExampleWithStructsIsTheOneThatIsCompiled() throws {
        let readme = try #require(Repository.read("README.md"))
        let source = try #require(Repository.read("Tests/ExampleTests/ReadmeExampleTests.swift"))
        let classes = try Self.snippet(of: #require(Repository.read("Demo/ReadmeExample.swift")))
        let others = Self.blocks(in: readme).filter { !$0.hasPrefix(".package(") && $0 != classes }
        #expect(others == Self.examples(in: source, of: "README.md"))
    }

    /// The pages of the documentation, and the file that compiles the examples of each.
    private static let articles: [String: String] = {
        var articles: [String: String] = [:]
        for name in ["Backups", "EncryptedFiles", "Operating", "OtherProcesses", "Snapshots", "Transactions"] {
            articles["MakoStorage/MakoStorage.docc/\(name).md"] = "StorageTests/ArticleExampleTests.swift"
        }
        for (name, source) in [
            "Mako": "FirstExample", "Modelling": "ModellingExample", "Relationships": "RelationshipExample",
            "Querying": "QueryingExample", "Transactions": "TransactionExample", "FromSharkORM": "SharkORMGuide",
            "FromBZObjectStore": "BZObjectStoreGuide", "FromSwiftyDB": "SwiftyDBGuide", "Databases": "DatabasesExample",
            "Migrating": "MigratingExample", "Watching": "WatchingExample", "KeyedStores": "KeyedStoresExample",
            "ImportingAndExporting": "ImportingExample", "Concurrency": "ConcurrencyExample", "Errors": "ErrorsExample",
            "Performance": "PerformanceExample", "FromGRDB": "GRDBGuideExample",
            "FromSwiftData": "SwiftDataGuideExample",
            "FromRealm": "RealmGuideExample", "BeyondOneMachine": "BeyondOneMachineExample",
        ] {
            articles["Mako/Mako.docc/\(name).md"] = "ExampleTests/\(source)Tests.swift"
        }
        return articles
    }()

    /// Dependencies of a `Package.swift` cannot be compiled here; the traits that they name must be the package's. Nor
    /// can the code of older libraries, whose first line names the library.
    @Test(arguments: articles.keys.sorted())
    func theExamplesOfAnArticleAreThoseThatAreCompiled(article: String) throws {
        let page = try #require(Repository.read("Sources/\(article)"))
        let source = try #require(Repository.read("Tests/\(Self.articles[article] ?? "")"))
        let package = try #require(Repository.read("Package.swift"))
        let name = article.split(separator: "/").last.map(String.init) ?? ""
        let blocks = Self.blocks(in: page)
        let dependencies = blocks.filter { $0.hasPrefix(".package(") }
        let older = blocks.filter { $0.hasPrefix("// \(name.dropFirst("From".count).dropLast(".md".count))\n") }
        let compiled = blocks.filter { !dependencies.contains($0) && !older.contains($0) }
        #expect(compiled == Self.examples(in: source, of: name))
        #expect(!compiled.isEmpty)
        let traits = dependencies.compactMap { $0.components(separatedBy: "traits: [").last }
            .flatMap { $0.prefix { $0 != "]" }.split(separator: ",") }.map { $0.trimmingCharacters(in: .whitespaces) }
        #expect(traits.isEmpty == dependencies.isEmpty)
        for trait in traits { #expect(package.contains("name: \(trait),"), "there is no trait \(trait)") }
    }

    /// The examples of an article are compared with their tests in order, so that blocks and tests can move together
    /// against the text. Then a sentence such as "`prefetch` reads them together:" has the code of its neighbour.
    @Test(arguments: ["Sources", "docs"])
    func theCodeAfterAColonIsNotThatOfAnotherParagraph(folder: String) {
        for file in Repository.files(in: folder, extensions: ["md"]) {
            let examples = Self.examplesWithLeads(in: file.text)
            for (place, (lead, code)) in examples.enumerated() where lead.hasSuffix(":") {
                let names = Self.names(inLastSentenceOf: lead)
                if names.contains(where: code.contains) { continue }
                let others = [place - 1, place + 1].filter(examples.indices.contains).map { examples[$0].code }
                let moved = names.filter { name in others.contains { $0.contains(name) } }
                #expect(moved.isEmpty, "\(file.path): \(moved) before the code\n\(code)")
            }
        }
    }

    /// Each file of the tutorial has the lines that its step and those before it have in the test that runs them.
    @Test(arguments: 1...5)
    func aStepOfTheTutorialIsTheCodeThatIsCompiled(step: Int) throws {
        let source = try #require(Repository.read("Tests/ExampleTests/TutorialExampleTests.swift"))
        var lines: [Substring] = []
        var current = 0
        for line in source.split(separator: "\n", omittingEmptySubsequences: false) {
            let text = line.trimmingCharacters(in: .whitespaces)
            if text.hasPrefix("// STEP ") {
                current = Int(text.dropFirst("// STEP ".count)) ?? 0
            } else if (1...step).contains(current) {
                lines.append(line)
            }
        }
        let code = lines.joined(separator: "\n").trimmingCharacters(in: .newlines)
        let file = try #require(Repository.read("Sources/Mako/Mako.docc/Resources/Recipes-\(step).swift"))
        #expect(file == "import Mako\n\n\(code)\n")
        let tutorial = try #require(Repository.read("Sources/Mako/Mako.docc/Tutorials/KeepRecipes.tutorial"))
        #expect(tutorial.contains("file: \"Recipes-\(step).swift\""))
    }

    /// The pages of `docs` with code, and the files that compile it, in the order of the page.
    private static let pages = [
        "mirror.md": ["PostgresTests/MirrorExampleTests", "PostgresTests/Query/MirrorObjectTests"],
        "plans.md": ["ExampleTests/PlanExampleTests"], "replication.md": ["ExampleTests/ReplicationExampleTests"],
    ]

    @Test(arguments: pages.keys.sorted())
    func theExamplesOfAPageAreThoseThatAreCompiled(page: String) throws {
        let text = try #require(Repository.read("docs/\(page)"))
        let sources = try (Self.pages[page] ?? []).map { try #require(Repository.read("Tests/\($0).swift")) }
        let compiled = Self.blocks(in: text).filter { !$0.hasPrefix(".package(") }
        #expect(compiled == sources.flatMap { Self.examples(in: $0, of: page) })
        #expect(!compiled.isEmpty)
    }

    @Test func everyExampleOfAnArticleIsCompiled() {
        // Those whose example has a test of its own.
        let others: Set = ["MakoStorage/MakoStorage.docc/MakoStorage.md", "testing.md"]
        for folder in ["Sources", "docs"] {
            for file in Repository.files(in: folder, extensions: ["md"]) where !Self.blocks(in: file.text).isEmpty {
                let name = String(file.path.dropFirst(folder.count + 1))
                let isCompiled = Self.articles[name] != nil || Self.pages[name] != nil || others.contains(name)
                #expect(isCompiled, "\(file.path) has code that is not compiled")
            }
        }
    }

    @Test func theExampleRuns() throws {
        let folder = NSTemporaryDirectory() + "mako-readme-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let process = Process()
        let demo: URL = try #require(Self.demo, "the demo is built beside the tests")
        process.executableURL = demo
        process.arguments = ["--readme-example"]
        process.currentDirectoryURL = URL(fileURLWithPath: folder)
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        #expect(text.contains("Ada"))
    }

    /// The text between `// README` and `// README ends`, from which `// README pauses` … `// README goes on` is
    /// left out, each piece moved to the left margin.
    static func snippet(of source: String) -> String? {
        var lines: [Substring] = []
        var piece: [Substring] = []
        var isInside = false
        for line in source.split(separator: "\n", omittingEmptySubsequences: false) {
            switch line.trimmingCharacters(in: .whitespaces) {
            case "// README", "// README goes on": isInside = true
            case "// README pauses", "// README ends":
                isInside = false
                lines += movedLeft(piece)
                piece = []
            default: if isInside { piece.append(line) }
            }
        }
        return lines.isEmpty ? nil : lines.joined(separator: "\n")
    }

    /// The texts between `// EXAMPLE` with the name of an article and `// EXAMPLE ends`, each moved to the left margin.
    private static func examples(in source: String, of article: String) -> [String] {
        var examples: [String] = []
        var example: [Substring]?
        for line in source.split(separator: "\n", omittingEmptySubsequences: false) {
            switch line.trimmingCharacters(in: .whitespaces) {
            case "// EXAMPLE \(article)": example = []
            case "// EXAMPLE ends":
                if let example { examples.append(movedLeft(example).joined(separator: "\n")) }
                example = nil
            default: example?.append(line)
            }
        }
        return examples
    }

    private static func movedLeft(_ lines: [Substring]) -> [Substring] {
        let indents = lines.filter { !$0.allSatisfy(\.isWhitespace) }.map { $0.prefix { $0 == " " }.count }
        let indent = indents.min() ?? 0
        return lines.map { $0.dropFirst(min(indent, $0.prefix { $0 == " " }.count)) }
    }

    /// The code of a page, each with the paragraph before it; blocks without text between them are one.
    private static func examplesWithLeads(in markdown: String) -> [(lead: String, code: String)] {
        var examples: [(lead: String, code: String)] = []
        var paragraph: [Substring] = []
        var isCode = false
        var isEnded = false
        for line in markdown.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                isCode.toggle()
                if isCode, !paragraph.isEmpty { examples.append((paragraph.joined(separator: " "), "")) }
                (paragraph, isEnded) = ([], false)
            } else if isCode, !examples.isEmpty {
                examples[examples.count - 1].code += line + "\n"
            } else if line.isEmpty {
                isEnded = true
            } else {
                paragraph = isEnded ? [line] : paragraph + [line]
                isEnded = false
            }
        }
        return examples
    }

    /// The names in code of the last sentence: words of two and more letters that begin with a small one.
    private static func names(inLastSentenceOf paragraph: String) -> [String] {
        let sentence: String = paragraph.components(separatedBy: ". ").last ?? ""
        var names: [String] = []
        for (place, part) in sentence.components(separatedBy: "`").enumerated() where place % 2 == 1 {
            if part.contains("/") { continue }  // the path of a file
            let words = part.split { !$0.isLetter && !$0.isNumber }
            names += words.filter { $0.count > 1 && $0.first?.isLowercase == true }.map { String($0) }
        }
        return names
    }

    private static func blocks(in markdown: String) -> [String] {
        var blocks: [String] = []
        var block: [Substring]?
        for line in markdown.split(separator: "\n", omittingEmptySubsequences: false) {
            if block == nil, line == "```swift" {
                block = []
            } else if let lines = block, line == "```" {
                blocks.append(lines.joined(separator: "\n"))
                block = nil
            } else {
                block?.append(line)
            }
        }
        return blocks
    }

    private static let demo: URL? = {
        for bundle in Bundle.allBundles.map(\.bundleURL) + [URL(fileURLWithPath: CommandLine.arguments[0])] {
            var folder = bundle
            for _ in 0..<5 {
                folder.deleteLastPathComponent()
                let program = folder.appendingPathComponent("MakoDemo")
                if FileManager.default.isExecutableFile(atPath: program.path) { return program }
            }
        }
        return nil
    }()
}
