// swift-tools-version: 6.2
import PackageDescription

// Fuzz targets cannot be linked in a plain build, so they live in a package of their own that nobody depends on.
// `make fuzz` in the folder above builds and runs them.
let settings: [SwiftSetting] = [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error), .define("FUZZING")]

let package = Package(
    name: "Fuzz",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "WhereFuzz", targets: ["WhereFuzz"]),
        .executable(name: "FileFuzz", targets: ["FileFuzz"]),
    ],
    dependencies: [.package(name: "mako", path: "..")],
    targets: [
        .executableTarget(
            name: "WhereFuzz", dependencies: [.product(name: "MakoCore", package: "mako")], path: "WhereFuzz",
            swiftSettings: settings),
        .executableTarget(
            name: "FileFuzz", dependencies: [.product(name: "MakoStorage", package: "mako")], path: "FileFuzz",
            swiftSettings: settings),
    ]
)
