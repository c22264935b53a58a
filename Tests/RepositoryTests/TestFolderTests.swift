import Testing

/// A test lies in the folder of the same name as that of the source it is about.
@Suite struct TestFolderTests {
    /// The targets with folders, and the module whose folders they take.
    private static let modules = [
        "StorageTests": "MakoStorage", "RecordsTests": "MakoRecords", "CoreTests": "MakoCore", "MakoTests": "MakoCore",
        "EntityTests": "MakoCore", "CommandTests": "MakoCommand", "ReplicationTests": "MakoReplication",
        "PostgresTests": "MakoPostgres",
    ]

    /// Methods that cross folders, and helpers of several of them.
    private static let others: Set<String> = ["Faults", "Random", "Support"]

    /// The folders of the Swift files below a folder, one for each file: `Query/Planning`, and the empty string for those at its top.
    private func folders(in root: String) -> [String] {
        Repository.files(in: root).map { file in
            file.path.dropFirst(root.count + 1).split(separator: "/").dropLast().joined(separator: "/")
        }
    }

    @Test(arguments: modules.keys.sorted()) func foldersAreThoseOfTheSources(_ target: String) throws {
        let module = try #require(Self.modules[target])
        let sources = Set(folders(in: "Sources/\(module)"))
        let tests = folders(in: "Tests/\(target)")
        #expect(sources.count > 1 && tests.count > 5)
        for folder in Set(tests).subtracting(sources).subtracting(Self.others).sorted() where !folder.isEmpty {
            Issue.record("Sources/\(module) has no folder \(folder), as Tests/\(target) has")
        }
    }

    /// Only what is about the module as a whole lies there.
    @Test(arguments: modules.keys.sorted()) func fewFilesAreAtTheTop(_ target: String) {
        let count = folders(in: "Tests/\(target)").filter(\.isEmpty).count
        #expect(count <= 15, "\(count) files are at the top of Tests/\(target)")
    }
}
