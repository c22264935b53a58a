import MakoStorage
import MakoTestSupport
import Testing

/// Backups that do not fit are refused by name, before anything is written.
@Suite struct RestoreTests {
    private func options(_ disk: any FileSystem, seed: UInt64 = 3) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.entropy = SeededEntropy(seed: seed)
        options.cacheBytes = 4 << 20
        return options
    }

    private func change(_ store: Store, _ key: UInt64) throws {
        try store.write { transaction in
            let tree = try transaction.view.tree(named: "t") ?? transaction.createTree(named: "t", keys: .integer)
            try transaction.put(ValueShape(bytes: 500).value(seed: key), for: key, in: tree)
        }
    }

    private func isWrongBase(_ error: StorageError?, _ path: String, _ words: String) -> Bool {
        guard case .wrongBase(path, let reason)? = error else { return false }
        return reason.contains(words)
    }

    /// A whole backup, two parts that build on each other, and the store that they are of.
    private func backedUp(_ disk: SimulatedDisk, seed: UInt64 = 3, prefix: String = "d/") throws -> Store {
        let store = try Store(at: prefix + "store.mako", options: options(disk, seed: seed))
        try change(store, 1)
        try store.backup(to: prefix + "base.mako")
        try change(store, 2)
        try store.backup(to: prefix + "one", since: BackupPoint(of: prefix + "base.mako", fileSystem: disk))
        try change(store, 3)
        try store.backup(to: prefix + "two", since: BackupPoint(of: prefix + "one", fileSystem: disk))
        return store
    }

    @Test func whatIsNoBackupIsRefused() throws {
        let disk = SimulatedDisk()
        let store = try backedUp(disk)
        let other = try backedUp(disk, seed: 8, prefix: "e/")
        func refusal(_ base: String, _ parts: [String]) -> StorageError? {
            #expect(throws: StorageError.self) {
                try Store.restore(base, applying: parts, to: "d/new.mako", options: options(disk))
            }
        }
        #expect(isWrongBase(refusal("d/one", ["d/two"]), "d/one", "the first one has to be whole"))
        #expect(isWrongBase(refusal("e/base.mako", ["d/one"]), "d/one", "builds on commit"))
        #expect(refusal("d/none", ["d/one"]) == .notFound(path: "d/none"))
        #expect(refusal("d/base.mako", ["d/none"]) == .notFound(path: "d/none"))
        #expect(refusal("d/base.mako", ["d/one", "d/none"]) == .notFound(path: "d/none"))
        // Its own writer is still at work.
        let written = try Store(at: "d/base.mako", options: options(disk))
        #expect(refusal("d/base.mako", ["d/one"]) == .alreadyOpen(path: "d/base.mako"))
        try written.close()
        #expect(!disk.exists("d/new.mako"))
        try Store.restore("d/base.mako", applying: ["d/one", "d/two"], to: "d/new.mako", options: options(disk))
        let whole = try Store(at: "d/new.mako", options: options(disk))
        #expect(
            try whole.read { try ModelStore(reading: $0) } == store.read { try ModelStore(reading: $0) })
        withExtendedLifetime(other) {}
    }

    @Test func aPointIsReadOutOfABackupAlone() throws {
        let disk = SimulatedDisk()
        let store = try backedUp(disk)
        #expect(throws: StorageError.notFound(path: "d/none")) {
            _ = try BackupPoint(of: "d/none", fileSystem: disk)
        }
        for bytes in [0, 1, 20, pageBytes - 1] {
            disk.setContents(of: "d/short", to: [UInt8](repeating: 7, count: bytes))
            let error = #expect(throws: StorageError.self) { _ = try BackupPoint(of: "d/short", fileSystem: disk) }
            if case .notADatabase("d/short", _)? = error {} else { Issue.record("\(String(describing: error))") }
        }
        disk.inject(.inputOutput, atCall: disk.callCount)
        let error = #expect(throws: StorageError.self) { _ = try BackupPoint(of: "d/one", fileSystem: disk) }
        if case .io? = error {} else { Issue.record("\(String(describing: error))") }
        withExtendedLifetime(store) {}
    }

    /// An incremental backup of a database that was restored to an older state, since a newer backup.
    @Test func aDatabaseThatIsBehindItsBackupSaysSo() throws {
        let disk = SimulatedDisk()
        let store = try backedUp(disk)
        let older = try Store(at: "d/base.mako", options: options(disk))
        let point = try BackupPoint(of: "d/two", fileSystem: disk)
        let error = #expect(throws: StorageError.self) { try older.backup(to: "d/three", since: point) }
        #expect(isWrongBase(error, "d/base.mako", "which is newer"))
        #expect(!disk.exists("d/three"))
        try store.backup(to: "d/three", since: point)
    }

    @Test func aDatabaseWithoutEntriesIsBackedUp() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: "d/store.mako", options: options(disk))
        try store.backup(to: "d/base.mako")
        try store.backup(to: "d/part", since: BackupPoint(of: "d/base.mako", fileSystem: disk))
        try Store.restore("d/base.mako", applying: ["d/part"], to: "d/new.mako", options: options(disk))
        for name in ["d/base.mako", "d/new.mako"] {
            let copy = try Store(at: name, options: options(disk))
            #expect(try copy.verify().isClean)
            #expect(try copy.snapshot().trees.isEmpty)
            try change(copy, 1)
            try copy.close()
        }
    }

    // MARK: Errors

    private enum Making: CaseIterable { case backup, part, copy, restore, compact, salvage }

    private func make(_ making: Making, _ disk: SimulatedDisk) throws(StorageError) {
        let path = "d/store.mako"
        func store() throws(StorageError) -> Store { try Store(at: path, options: options(disk)) }
        switch making {
        case .backup: try store().backup(to: "d/new")
        case .part: try store().backup(to: "d/new", since: BackupPoint(of: "d/one", fileSystem: disk))
        case .copy: try store().copy(to: "d/new")
        case .restore:
            try Store.restore("d/base.mako", applying: ["d/one", "d/two"], to: "d/new", options: options(disk))
        case .compact: try Store.compact(at: path, options: options(disk))
        case .salvage: _ = try Store.salvage(from: path, to: "d/new", options: options(disk))
        }
    }

    /// Each call of the file system fails once. The unfinished file is gone after the error, so that its temporary name
    /// would say nothing to the caller.
    @Test(arguments: Making.allCases) private func errorsNameTheFileOfTheCaller(_ making: Making) throws {
        let disk = SimulatedDisk()
        try backedUp(disk).close()
        let image = disk.settledImage()
        var (call, failures) = (0, 0)
        while call < 2000 {
            let disk = SimulatedDisk(image)
            disk.inject(.inputOutput, atCall: call)
            do throws(StorageError) { try make(making, disk) } catch {
                failures += 1
                #expect(!"\(error)".contains("-new-"), "call \(call)")
            }
            if disk.callCount <= call { break }
            call += 1
        }
        #expect((20..<2000).contains(call) && failures > 10)
    }
}
