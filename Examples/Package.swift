// swift-tools-version: 6.2
import PackageDescription

// One package for all examples, so that Mako is built once for them.
let package = Package(
    name: "mako-examples",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "mako", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.5.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
    ],
    targets: [
        .target(
            name: "NotesServer",
            dependencies: [
                .product(name: "Mako", package: "mako"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ], path: "Server/Sources/NotesServer"),
        .executableTarget(name: "notes", dependencies: ["NotesServer"], path: "Server/Sources/notes"),
        .testTarget(
            name: "NotesServerTests",
            dependencies: ["NotesServer", .product(name: "HummingbirdTesting", package: "hummingbird")],
            path: "Server/Tests/NotesServerTests"),
        .target(
            name: "ReadingLog",
            dependencies: [
                .product(name: "Mako", package: "mako"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ], path: "CommandLine/Sources/ReadingLog"),
        .executableTarget(name: "reading", dependencies: ["ReadingLog"], path: "CommandLine/Sources/reading"),
        .testTarget(
            name: "ReadingLogTests", dependencies: ["ReadingLog"], path: "CommandLine/Tests/ReadingLogTests"),
    ]
)
