// swift-tools-version: 6.2
import CompilerPluginSupport
import PackageDescription

// SYNTAX_HOST=<toolchain>/usr/lib/swift/host builds the macros against the toolchain's own copy of
// swift-syntax: seconds instead of minutes. The Makefile sets it; users of the library get the plain path.
let syntaxHost = Context.environment["SYNTAX_HOST"].flatMap { $0.isEmpty ? nil : $0 }

// Each version of swift-syntax belongs to a version of Swift, and other packages of the same app may ask for theirs: any from Swift 6.0 on.
let syntaxPackages: [Package.Dependency] =
    syntaxHost == nil ? [.package(url: "https://github.com/swiftlang/swift-syntax", "600.0.0"..<"700.0.0")] : []
let macroDependencies: [Target.Dependency] =
    syntaxHost == nil
    ? [
        .product(name: "SwiftSyntaxMacros", package: "swift-syntax"),
        .product(name: "SwiftCompilerPlugin", package: "swift-syntax"),
    ] : []
let macroTestDependencies: [Target.Dependency] =
    syntaxHost == nil
    ? [
        .product(name: "SwiftSyntaxMacroExpansion", package: "swift-syntax"),
        .product(name: "SwiftParser", package: "swift-syntax"),
    ] : []

// MAKO_STRICT=1 makes warnings errors. The Makefile sets it; a dependant must not have it: Xcode builds remote packages with
// -suppress-warnings, which the compiler refuses together with -warnings-as-errors, and a later compiler may warn of more.
let isStrict = Context.environment["MAKO_STRICT"].map { !$0.isEmpty } ?? false

let settings: [SwiftSetting] =
    [.swiftLanguageMode(.v6)] + (isStrict ? [.treatAllWarnings(as: .error)] : [])
// MAKO_OPTIMISED=1 optimises engine and simulated disks in debug builds too, with all assertions: most of the time of the tests is theirs. The
// Makefile sets it, but not for the thread sanitizer, which takes optimised copies of arrays for races. A dependant has no unsafe flags.
let isOptimised = Context.environment["MAKO_OPTIMISED"].map { !$0.isEmpty } ?? false
let engineSettings: [SwiftSetting] =
    settings
    + (isOptimised ? [.unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))] : [])
let macroSettings: [SwiftSetting] =
    settings + (syntaxHost.map { [.unsafeFlags(["-I", $0]), .define("TOOLCHAIN_SYNTAX")] } ?? [])
let macroLinking: [LinkerSetting] =
    syntaxHost.map { [.unsafeFlags(["-L", $0, "-Xlinker", "-rpath", "-Xlinker", $0])] } ?? []

let systemsWithoutCompression: [Platform] = [.linux, .android, .windows, .wasi, .openbsd]

let package = Package(
    name: "mako",
    // Without watchOS: watches with 32-bit addresses (arm64_32) have too few of them for the page cache's table.
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .visionOS(.v2)],
    products: [
        .library(name: "Mako", targets: ["Mako"]),
        .library(name: "MakoCore", targets: ["MakoCore"]),
        .library(name: "MakoUI", targets: ["MakoUI"]),
        .library(name: "MakoStorage", targets: ["MakoStorage"]),
        .library(name: "MakoReplication", targets: ["MakoReplication", "MakoObjectReplication"]),
        .library(name: "MakoPostgres", targets: ["MakoPostgres", "MakoObjectMirror"]),
        .library(name: "MakoTestSupport", targets: ["MakoTestSupport"]),
        // The program `mako`. Not by that name: on file systems that do not tell cases apart its products would be those of `Mako`.
        .executable(name: "mako-cli", targets: ["MakoMain"]),
    ],
    traits: [
        .trait(
            name: "Encryption",
            description: "Databases can be encrypted: AES-256-GCM or ChaCha20-Poly1305, by swift-crypto."),
        .trait(name: "Logging", description: "Stores write their events to a logger of swift-log."),
        .trait(name: "Metrics", description: "Stores report their numbers to swift-metrics."),
        .trait(
            name: "OrderedCollections",
            description: "Properties may be ordered sets of swift-collections, of values and of objects."),
        .trait(
            name: "Postgres",
            description: "Databases can be mirrored in PostgreSQL, and `mako` has `mako mirror`; by libpq."),
        .trait(
            name: "Replication",
            description: "Logs can be shipped to Amazon S3 and what speaks its protocol; signatures by swift-crypto."),
        .trait(name: "Studio", description: "The program `mako` has `mako studio`, a page served by FlyingFox."),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        // For the traits alone, each for one: without them, neither fetched nor built.
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
        .package(url: "https://github.com/swhitty/FlyingFox", from: "0.27.1"),
    ] + syntaxPackages,
    targets: [
        .systemLibrary(name: "CLZ4", pkgConfig: "liblz4", providers: [.apt(["liblz4-dev"])]),
        .target(name: "CPlatform"),
        .target(
            name: "MakoStorage",
            dependencies: [
                // Apple systems have no liblz4, but LZ4 in their Compression.
                .target(name: "CLZ4", condition: .when(platforms: systemsWithoutCompression)), "CPlatform",
                .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Logging"])),
                .product(name: "Metrics", package: "swift-metrics", condition: .when(traits: ["Metrics"])),
                .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["Encryption"])),
                .product(name: "CryptoExtras", package: "swift-crypto", condition: .when(traits: ["Encryption"])),
            ], swiftSettings: engineSettings),
        .target(name: "MakoRecords", dependencies: ["MakoStorage", "CPlatform"], swiftSettings: settings),
        .target(
            name: "MakoReplication",
            dependencies: [
                "MakoStorage", "CPlatform",
                .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["Replication"])),
            ], swiftSettings: settings),
        // Replicas and confirmed commits of object databases.
        .target(
            name: "MakoObjectReplication", dependencies: ["MakoCore", "MakoReplication", "MakoStorage"],
            swiftSettings: settings),
        // The type map and scripts; with the trait, the mirror, by libpq.
        .systemLibrary(
            name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
        .target(
            name: "MakoPostgres",
            dependencies: [
                "MakoRecords", "MakoStorage", .target(name: "CPostgres", condition: .when(traits: ["Postgres"])),
            ],
            swiftSettings: settings),
        // Typed queries on the mirror.
        .target(
            name: "MakoObjectMirror", dependencies: ["MakoCore", "MakoPostgres", "MakoRecords", "MakoStorage"],
            swiftSettings: settings),
        .target(
            name: "MakoCore",
            dependencies: [
                "MakoRecords", "CPlatform",
                .product(
                    name: "OrderedCollections", package: "swift-collections",
                    condition: .when(traits: ["OrderedCollections"])),
            ], swiftSettings: settings),
        // What the macros do. Apart from the plugin, because SwiftPM builds a test that depends on a macro for the host, with all that the
        // other tests need: everything twice.
        .target(
            name: "MakoMacroExpansion", dependencies: macroDependencies, swiftSettings: macroSettings,
            linkerSettings: macroLinking),
        .macro(
            name: "MakoMacros", dependencies: ["MakoMacroExpansion"] + macroDependencies, swiftSettings: macroSettings,
            linkerSettings: macroLinking),
        .target(name: "Mako", dependencies: ["MakoCore", "MakoMacros"], swiftSettings: settings),
        // Live queries as properties of SwiftUI's views; elsewhere their models alone.
        .target(name: "MakoUI", dependencies: ["MakoCore"], swiftSettings: settings),
        .target(
            name: "MakoCommand",
            dependencies: [
                "MakoCore", "MakoPostgres", "MakoReplication",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings),
        // The page of `mako studio`. Without its trait, nothing.
        .target(
            name: "MakoStudio",
            dependencies: [
                "MakoCommand", "MakoStorage",
                .product(name: "FlyingFox", package: "FlyingFox", condition: .when(traits: ["Studio"])),
            ], exclude: ["Assets"], swiftSettings: settings),
        .executableTarget(name: "MakoMain", dependencies: ["MakoCommand", "MakoStudio"], swiftSettings: settings),
        .executableTarget(
            name: "MakoDemo", dependencies: ["Mako"], path: "Demo", exclude: ["Data", "Replication"],
            swiftSettings: settings),
        .executableTarget(
            name: "ReplicationDemo", dependencies: ["MakoReplication", "MakoStorage"], path: "Demo/Replication",
            swiftSettings: settings),

        .target(
            name: "MakoTestSupport", dependencies: ["MakoStorage", "CPlatform"], path: "Tests/TestSupport",
            swiftSettings: engineSettings),
        .testTarget(
            name: "StorageTests",
            dependencies: [
                "MakoStorage", "MakoTestSupport",
                .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Logging"])),
                .product(name: "MetricsTestKit", package: "swift-metrics", condition: .when(traits: ["Metrics"])),
            ], exclude: ["Scripts", "Golden"], swiftSettings: settings),
        .target(
            name: "ReplicationTestSupport", dependencies: ["MakoReplication", "MakoStorage"],
            path: "Tests/ReplicationSupport", swiftSettings: settings),
        .testTarget(
            name: "ReplicationTests",
            dependencies: ["MakoReplication", "MakoStorage", "MakoTestSupport", "ReplicationTestSupport"],
            exclude: ["Golden"], swiftSettings: settings),
        .testTarget(
            name: "ObjectReplicationTests",
            dependencies: ["Mako", "MakoObjectReplication", "MakoTestSupport", "ReplicationTestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "PostgresTests",
            dependencies: [
                "Mako", "MakoObjectMirror", "MakoPostgres", "MakoRecords", "MakoStorage", "MakoTestSupport",
                "RandomRuns",
            ],
            swiftSettings: settings),
        // Random work on records and objects beside plain models of them, for the tests and for `make soak`.
        .target(
            name: "RandomRuns", dependencies: ["MakoCore", "MakoRecords", "MakoTestSupport"], path: "Tests/RandomRuns",
            swiftSettings: settings),
        .testTarget(
            name: "RecordsTests", dependencies: ["MakoRecords", "MakoTestSupport", "RandomRuns"],
            exclude: ["Scripts", "Golden"], swiftSettings: settings),
        .testTarget(
            name: "CoreTests", dependencies: ["MakoCore", "MakoTestSupport", "RandomRuns", "TestHelpers"],
            swiftSettings: settings),
        .target(name: "TestHelpers", path: "Tests/Helpers", swiftSettings: settings),
        .testTarget(
            name: "MakoTests",
            dependencies: [
                "Mako", "MakoCommand", "MakoTestSupport", "TestHelpers",
                .product(
                    name: "OrderedCollections", package: "swift-collections",
                    condition: .when(traits: ["OrderedCollections"])),
            ], swiftSettings: settings),
        .testTarget(name: "MakoUITests", dependencies: ["Mako", "MakoUI", "TestHelpers"], swiftSettings: settings),
        // Types and their tables: names, keys, values, migrations.
        .testTarget(
            name: "EntityTests",
            dependencies: [
                "Mako", "MakoTestSupport", "TestHelpers",
                .product(
                    name: "OrderedCollections", package: "swift-collections",
                    condition: .when(traits: ["OrderedCollections"])),
            ], swiftSettings: settings),
        .testTarget(
            name: "ExampleTests",
            dependencies: [
                "Mako", "MakoCommand", "MakoObjectReplication", "MakoTestSupport", "MakoUI", "TestHelpers",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "MacroTests", dependencies: ["MakoMacroExpansion"] + macroTestDependencies,
            swiftSettings: macroSettings, linkerSettings: macroLinking),
        .testTarget(name: "CommandTests", dependencies: ["MakoCommand"], swiftSettings: settings),
        .testTarget(name: "StudioTests", dependencies: ["MakoStudio"], swiftSettings: settings),
        .testTarget(name: "RepositoryTests", swiftSettings: settings),
        // A module whose default isolation is the main actor, as apps have it.
        .testTarget(
            name: "MainActorTests", dependencies: ["Mako"],
            swiftSettings: settings + [.defaultIsolation(MainActor.self)]),

        // Random runs of all layers for as long as wanted: `make soak`, and a fixed number of them in `make test`.
        .executableTarget(
            name: "SoakRunner", dependencies: ["RandomRuns", "MakoRecords", "MakoStorage", "MakoTestSupport"],
            path: "Tests/SoakRunner", swiftSettings: settings),
        // Kills processes of its own in a loop: `make kill`.
        .executableTarget(
            name: "KillRunner",
            dependencies: [
                "CallSteps", "MakoCommand", "MakoCore", "MakoRecords", "MakoStorage", "MakoTestSupport",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Tests/KillRunner", swiftSettings: settings),
        // Kills processes that ship, follow and take over: `make kill-replication`.
        .executableTarget(
            name: "ReplicationKillRunner", dependencies: ["MakoReplication", "MakoStorage", "MakoTestSupport"],
            path: "Tests/ReplicationKillRunner", swiftSettings: settings),
        // Short cases whose instructions valgrind counts: `make instructions`.
        .executableTarget(
            name: "InstructionCases", dependencies: ["Mako", "MakoStorage"], path: "Tests/InstructionCases",
            swiftSettings: settings),
        // Stops KillRunner before its calls of the system.
        .target(name: "CallSteps", path: "Tests/CallSteps"),
    ]
)

// What `make fuzz` links to libFuzzer; elsewhere a part of the tests that replay what was found.
let isFuzzing = Context.environment["MAKO_FUZZ"] != nil
let fuzzed: KeyValuePairs<String, Target.Dependency> = [
    "FileFuzz": "MakoStorage", "PageFuzz": "MakoStorage", "LogFuzz": "MakoStorage", "OperationFuzz": "MakoStorage",
    "CatalogueFuzz": "MakoRecords", "RowFuzz": "MakoRecords", "WhereFuzz": "MakoRecords", "SelectFuzz": "MakoRecords",
    "ImportFuzz": "MakoCommand", "ObjectFuzz": "MakoReplication",
]
if isFuzzing {
    package.targets += fuzzed.map { name, layer in
        .executableTarget(
            name: name,
            dependencies: [layer, "MakoTestSupport"] + (name == "ObjectFuzz" ? ["ReplicationTestSupport"] : []),
            path: "Fuzz/\(name)",
            swiftSettings: settings + [.define("FUZZING")])
    }
} else {
    // One module of all, since what they reach into is open to tests alone.
    package.targets.append(
        .testTarget(
            name: "FuzzTests",
            dependencies: [
                "MakoStorage", "MakoRecords", "MakoCommand", "MakoReplication", "MakoTestSupport",
                "ReplicationTestSupport",
            ],
            path: "Fuzz", exclude: ["Corpus"], swiftSettings: settings))
}

// `make test-threads` builds the tests that start threads, and leaves out the files of others: scripts/threaded.
let leftOut = Context.environment["MAKO_LEFT_OUT"]?.split(separator: ",").map(String.init) ?? []
if !leftOut.isEmpty {
    package.targets.removeAll { target in
        [
            "CommandTests", "MacroTests", "PostgresTests", "StudioTests", "RepositoryTests", "FuzzTests", "MakoDemo",
            "SoakRunner", "ReplicationDemo", "KillRunner", "ReplicationKillRunner", "CallSteps", "InstructionCases",
        ]
        .contains(target.name)
    }
    for target in package.targets {
        let folder = "Tests/\(target.name)/"
        target.exclude += leftOut.filter { $0.hasPrefix(folder) }.map { String($0.dropFirst(folder.count)) }
    }
}

// `make differential` compares with SQLite and LMDB; nothing else needs them.
if Context.environment["MAKO_DIFFERENTIAL"] != nil {
    package.targets += [
        .systemLibrary(
            name: "CSQLite", path: "Benchmarks/Comparison/Sources/CSQLite", pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
        .systemLibrary(
            name: "CLMDB", path: "Benchmarks/Comparison/Sources/CLMDB", pkgConfig: "lmdb",
            providers: [.apt(["liblmdb-dev"]), .brew(["lmdb"])]),
        .executableTarget(
            name: "mako-differential",
            dependencies: [
                "CLMDB", "CSQLite", "MakoRecords", "MakoTestSupport",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Differential", swiftSettings: settings),
    ]
}
