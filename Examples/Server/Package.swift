// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "notes-server",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "mako", path: "../.."),
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
            ]),
        .executableTarget(name: "notes", dependencies: ["NotesServer"]),
        .testTarget(
            name: "NotesServerTests",
            dependencies: ["NotesServer", .product(name: "HummingbirdTesting", package: "hummingbird")]),
    ]
)
