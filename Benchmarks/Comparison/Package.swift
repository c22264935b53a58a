// swift-tools-version: 6.2
import Foundation
import PackageDescription

// RocksDB takes part where its header is installed (librocksdb-dev); nothing else depends on it.
let hasRocksDB = ["/usr/include", "/usr/local/include", "/opt/homebrew/include"].contains {
    FileManager.default.fileExists(atPath: $0 + "/rocksdb/c.h")
}
let rocksDB: [Target] =
    hasRocksDB
    ? [.systemLibrary(name: "CRocksDB", providers: [.apt(["librocksdb-dev"]), .brew(["rocksdb"])])] : []

// Not part of the library: SwiftPM does not read this package for dependants of Mako, so the peers cost users nothing.
let package = Package(
    name: "Comparison",
    platforms: [.macOS(.v15)],
    products: [.executable(name: "mako-bench", targets: ["MakoBench"])],
    dependencies: [
        .package(name: "mako", path: "../..", traits: ["Encryption", "Replication"]),
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
    ],
    targets: [
        .systemLibrary(name: "CLMDB", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"]), .brew(["lmdb"])]),
        .systemLibrary(
            name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
        .executableTarget(
            name: "MakoBench",
            dependencies: [
                "CLMDB", "CSQLite",
                .product(name: "MakoStorage", package: "mako"),
                .product(name: "MakoCore", package: "mako"),
                .product(name: "MakoReplication", package: "mako"),
                .product(name: "Mako", package: "mako"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ] + (hasRocksDB ? ["CRocksDB"] : []),
            swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]
                + (hasRocksDB ? [.define("ROCKSDB")] : [])),
    ] + rocksDB
)
