import MakoStorage
import MakoTestSupport
import Testing

/// Renamed trees keep their content, and readers see the new name with the commit.
@Suite struct RenameTests {
    private static func store(_ disk: SimulatedDisk, log: Int = 64 << 10) throws -> Store {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.logSegmentBytes = log
        options.entropy = SeededEntropy(seed: 1)
        return try Store(at: "d/store.mako", options: options)
    }

    @Test func theHandleStaysAndSnapshotsKeepTheNameOfTheirTime() throws {
        let store = try Self.store(SimulatedDisk())
        let tree = try store.write { try $0.createTree(named: "old", keys: .integer) }
        try store.write { try $0.put([1], for: 1, in: tree) }
        let before = try store.snapshot()
        let transaction = try store.beginWrite()
        try transaction.renameTree(tree, to: "new")
        #expect(transaction.view.tree(named: "new") == tree && transaction.view.tree(named: "old") == nil)
        #expect(try store.snapshot().tree(named: "new") == nil)
        try transaction.put([2], for: 2, in: tree)
        try transaction.commit()
        #expect(before.tree(named: "old") == tree && before.tree(named: "new") == nil)
        let after = try store.snapshot()
        #expect(after.tree(named: "new") == tree && after.tree(named: "old") == nil)
        #expect(after.trees.map(\.name) == ["new"])
        #expect(try after.count(of: tree) == 2)
        try store.close()
    }

    @Test func aRefusedNameLeavesTheTransactionAsItWas() throws {
        let store = try Self.store(SimulatedDisk())
        let transaction = try store.beginWrite()
        let first = try transaction.createTree(named: "first", keys: .integer)
        let second = try transaction.createTree(named: "second", keys: .bytes)
        #expect(throws: StorageError.treeExists("second")) { try transaction.renameTree(first, to: "second") }
        let long = String(repeating: "n", count: 4096)
        #expect(throws: StorageError.invalidArgument("the name of a tree has at most 4095 bytes")) {
            try transaction.renameTree(first, to: long)
        }
        #expect(throws: StorageError.treeNotFound("number 9")) {
            try transaction.renameTree(Tree(id: 9, keys: .integer), to: "x")
        }
        #expect(throws: StorageError.wrongKeyKind(tree: "first", expected: .integer)) {
            try transaction.renameTree(Tree(id: first.id, keys: .bytes), to: "x")
        }
        // Its own name is no other's.
        try transaction.renameTree(first, to: "first")
        try transaction.renameTree(second, to: String(long.dropFirst()))
        try transaction.commit()
        #expect(try store.snapshot().trees.map(\.name) == ["first", String(long.dropFirst())])
        try store.close()
    }

    @Test func aNameThatIsFreeAgainCanBeTaken() throws {
        let disk = SimulatedDisk()
        let store = try Self.store(disk)
        let (live, fresh) = try store.write { transaction in
            (
                try transaction.createTree(named: "live", keys: .integer),
                try transaction.createTree(named: "fresh", keys: .integer)
            )
        }
        try store.write { transaction in
            try transaction.renameTree(live, to: "old")
            try transaction.renameTree(fresh, to: "live")
            try transaction.dropTree(live)
            _ = try transaction.createTree(named: "fresh", keys: .bytes)
        }
        #expect(try store.snapshot().tree(named: "live") == fresh)
        // Replayed from the log, not read from the closing checkpoint.
        disk.endProcess()
        let again = try Self.store(disk)
        #expect(again.recovery.replayedCommits > 0)
        let names = try again.snapshot().trees.map(\.name)
        #expect(names == ["fresh", "live"])
        #expect(try again.verify().isClean)
        try again.close()
        withExtendedLifetime(store) {}
    }

    @Test func aTransactionTooLargeForTheLogKeepsNames() throws {
        let disk = SimulatedDisk()
        let store = try Self.store(disk, log: 1)
        let tree = try store.write { try $0.createTree(named: "old", keys: .integer) }
        try store.write { transaction in
            for key in 0..<300 as Range<UInt64> {
                try transaction.put([UInt8](repeating: 1, count: 200), for: key, in: tree)
            }
            try transaction.renameTree(tree, to: "new")
        }
        disk.endProcess()
        let again = try Self.store(disk)
        #expect(try again.snapshot().tree(named: "new") == tree)
        try again.close()
        // The log never had a new name, so that no reader need know of it.
        #expect(try Self.features(disk) == 0)
        withExtendedLifetime(store) {}
    }

    /// What a reader of the file must know.
    private static func features(_ disk: SimulatedDisk) throws -> UInt64 {
        try PlainBytes(bytes: try #require(disk.contents(of: "d/store.mako"))).number(72, 8)
    }

    @Test func theHeaderNamesRenamingBeforeItIsLogged() throws {
        let disk = SimulatedDisk()
        let store = try Self.store(disk)
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        #expect(try Self.features(disk) == 0)
        let transaction = try store.beginWrite()
        try transaction.renameTree(tree, to: "u")
        for image in disk.crashImages() {
            #expect(try Self.features(image) == 8)
        }
        try transaction.commit()
        try store.close()
    }

    /// Only the log has the newest name: it takes precedence over the directory and over older names.
    @Test func aSalvageTakesTheNameThatTheLogGaveLast() throws {
        let sample = try SalvageSample(
            closing: false,
            "options log 1048576\ntree t int\nput t 1..30 50b\ntree u bytes\nput u 1 5b\ncheckpoint\nrename t w\nrename u t\nput w 31 9b"
        )
        let outcome = try SalvageSample.salvage(sample.image)
        #expect(outcome.found == sample.latest)
        #expect(outcome.report.isComplete)
        let damaged = try SalvageSample.salvage(sample.damaged(sample.directoryPages))
        #expect(damaged.found == sample.latest)
        #expect(damaged.report.trees.map(\.name) == ["w", "t"])
        #expect(damaged.report.trees.allSatisfy { $0.hasItsName })
    }

    @Test func theInspectionOfTheLogShowsTheNewName() throws {
        let disk = SimulatedDisk()
        let run = ScriptRun(try Script(name: "rename", "tree t int\nrename t u"), on: disk)
        try run.run(closing: false)
        var found: [FrameDescription.Operation] = []
        try LogInspection.log(
            of: ScriptRun.path, fileSystem: disk, operations: true, segment: { _ in },
            frame: { found += $0.operations ?? [] })
        #expect(found.map(\.kind) == [.createTree, .renameTree])
        #expect(found.map(\.name) == ["t", "u"])
    }
}
