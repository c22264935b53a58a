// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
]
let package = Package(
    name: "mako",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "MakoStorage", targets: ["MakoStorage"])
    ],
    targets: [
        .systemLibrary(name: "CLZ4", pkgConfig: "liblz4", providers: [.apt(["liblz4-dev"]), .brew(["lz4"])]),
        .target(name: "CPlatform"),
        .target(name: "MakoStorage", dependencies: ["CLZ4", "CPlatform"], swiftSettings: settings),
        .testTarget(name: "StorageTests", dependencies: ["MakoStorage"], swiftSettings: settings),
    ]
)
