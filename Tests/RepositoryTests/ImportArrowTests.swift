import Testing

/// Calls go down only: what each module may import.
@Suite struct ImportArrowTests {
    private static let system: Set<String> = ["Glibc", "Musl", "Darwin", "Android", "Synchronization"]

    /// For each module, everything it may import beside the system's own modules. Foundation counts as a module of its
    /// own, because the two lower layers do without it.
    private static let allowed: [String: Set<String>] = [
        // The packages behind traits: see Package.swift.
        "MakoStorage": ["CLZ4", "Compression", "CPlatform", "Logging", "Metrics"],
        "MakoRecords": ["MakoStorage", "CPlatform"],
        "MakoReplication": ["MakoStorage", "CPlatform"],
        "MakoObjectReplication": ["MakoCore", "MakoReplication", "MakoStorage"],
        // Without its trait it does not import libpq.
        "MakoPostgres": ["MakoRecords", "MakoStorage", "CPostgres"],
        "MakoObjectMirror": ["MakoCore", "MakoPostgres", "MakoRecords", "MakoStorage"],
        "MakoCore": [
            "MakoRecords", "MakoStorage", "CPlatform", "Foundation", "Dispatch", "Observation", "CoreLocation",
            "CoreGraphics", "UIKit", "AppKit", "ObjectiveC", "OrderedCollections",
        ],
        "Mako": ["MakoCore", "Observation"],
        "MakoUI": ["MakoCore", "Observation", "SwiftUI"],
        "MakoMacroExpansion": ["SwiftSyntax", "SwiftSyntaxMacros", "SwiftSyntaxBuilder", "SwiftDiagnostics"],
        "MakoMacros": [
            "MakoMacroExpansion", "SwiftSyntax", "SwiftSyntaxMacros", "SwiftCompilerPlugin",
            "SwiftCompilerPluginMessageHandling",
        ],
        "MakoCommand": [
            "MakoCore", "MakoPostgres", "MakoRecords", "MakoReplication", "MakoStorage", "ArgumentParser", "Foundation",
        ],
        "MakoStudio": ["MakoCommand", "FlyingFox", "FlyingSocks", "Foundation"],
    ]

    /// The one file that imports a cryptographic library, if the package trait is on, and Foundation for the normal
    /// forms of passphrases.
    ///
    /// Requests to S3 need Foundation and the library of the trait `Replication`.
    private static let exceptions: [String: Set<String>] = [
        "Sources/MakoReplication/S3/S3Client.swift": ["Foundation"],
        "Sources/MakoReplication/S3/S3Credentials.swift": ["Foundation"],
        "Sources/MakoReplication/S3/S3Options.swift": ["Foundation"],
        "Sources/MakoReplication/S3/S3Signature.swift": ["Crypto"],
        "Sources/MakoReplication/S3/S3Transport.swift": ["Foundation", "FoundationNetworking"],
        "Sources/MakoStorage/Encryption/CipherKey.swift": [
            "Crypto", "CryptoExtras", "Foundation", "FoundationEssentials", "Swift",
        ],
    ]

    @Test(arguments: allowed.keys.sorted()) func aModuleImportsOnlyWhatIsBelowIt(_ module: String) throws {
        let allowed = try #require(Self.allowed[module]).union(Self.system)
        let files = Repository.files(in: "Sources/" + module)
        #expect(!files.isEmpty, "there is nothing in Sources/\(module)")
        for file in files where !file.path.contains(".docc/") {  // what a tutorial shows belongs to no module
            let own = allowed.union(Self.exceptions[file.path] ?? [])
            for name in Self.imports(file.code) where !own.contains(name) {
                Issue.record("\(file.path) imports \(name), which \(module) must not know")
            }
        }
    }

    @Test func everyModuleHasItsRule() throws {
        let manifest = try #require(Repository.read("Package.swift"))
        for name in Self.allowed.keys { #expect(manifest.contains("\"\(name)\""), "\(name) is no target") }
        #expect(
            Self.imports("@_exported public import struct MakoCore.Thing\nimport Foundation\n") == [
                "MakoCore", "Foundation",
            ])
    }

    @Test func theDemoUsesWhatUsersUse() {
        for file in Repository.files(in: "Demo") {
            var allowed: Set<String> = ["Mako", "Foundation"]
            // Replication is of stores: it has its own module, which programs import beside that of stores.
            if file.path.hasPrefix("Demo/Replication/") { allowed = ["MakoReplication", "MakoStorage", "Foundation"] }
            #expect(Set(Self.imports(file.code)).isSubset(of: allowed), "\(file.path)")
        }
    }

    static func imports(_ code: String) -> [String] {
        let kinds: Set<Substring> = ["struct", "class", "enum", "protocol", "typealias", "func", "let", "var"]
        return code.split(separator: "\n").compactMap { line in
            var words = line.split(whereSeparator: { $0 == " " || $0 == ";" })[...]
            while let first = words.first,
                first.hasPrefix("@") || ["public", "package", "internal", "private", "fileprivate"].contains(first)
            { words.removeFirst() }
            guard words.popFirst() == "import" else { return nil }
            if let kind = words.first, kinds.contains(kind) { words.removeFirst() }
            return words.first?.split(separator: ".").first.map(String.init)
        }
    }
}
