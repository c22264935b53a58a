import Foundation
import MakoStorage
import MakoTestSupport
import Testing

/// Files that the system neither reads nor writes for a while, as on a phone that is locked.
@Suite struct ProtectedFileTests {
    private static func options(_ fileSystem: any FileSystem) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = fileSystem
        options.background = .manual
        options.entropy = SeededEntropy(seed: 1)
        options.logSegmentBytes = 64 << 10
        return options
    }

    private static func open(_ disk: SimulatedDisk) throws -> (store: Store, tree: Tree) {
        let store = try Store(at: "d/b", options: options(disk))
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        return (store, tree)
    }

    private static func keys(_ store: Store, _ tree: Tree) throws -> [UInt64] {
        try store.read { view in
            var cursor = try view.cursor(in: tree)
            var keys: [UInt64] = []
            var isThere = try cursor.first()
            while isThere {
                keys.append(cursor.integerKey)
                isThere = try cursor.next()
            }
            return keys
        }
    }

    @Test(arguments: [Durability.full, .barrier, .ordered])
    func aTransactionFailsWhileTheDeviceIsLockedAndTheNextSucceeds(durability: Durability) throws {
        let disk = SimulatedDisk(seed: 1)
        disk.hasBarriers = durability == .barrier
        let (store, tree) = try Self.open(disk)
        var expected: [UInt64] = []
        for round in 0..<6 as Range<UInt64> {
            try store.write(durability: durability) { try $0.put([1], for: round, in: tree) }
            expected.append(round)
            disk.isProtected = true
            for attempt in 0..<3 as Range<UInt64> {
                #expect(throws: StorageError.protected(path: "d/b-wal-1")) {
                    try store.write(durability: durability) {
                        try $0.put([UInt8](repeating: 2, count: 300), for: 1000 + 10 * round + attempt, in: tree)
                        _ = try $0.delete(round, in: tree)
                    }
                }
            }
            // Nothing of it is seen, and what was there can be read, as far as it is in memory.
            #expect(try Self.keys(store, tree) == expected)
            #expect(store.stats.readOnlyReason == nil)
            disk.isProtected = false
        }
        try store.write(durability: durability) { try $0.put([3], for: 99, in: tree) }
        expected.append(99)
        #expect(try Self.keys(store, tree) == expected && store.verify().isClean)
        // After a crash the log has what was acknowledged, and nothing of what failed.
        disk.endProcess()
        let (again, found) = try (Store(at: "d/b", options: Self.options(SimulatedDisk(disk.settledImage()))), tree)
        #expect(try Self.keys(again, found) == expected && again.verify().isClean)
    }

    /// The places of pages that failed transactions had are used again.
    @Test func failedTransactionsTakeNoSpace() throws {
        let disk = SimulatedDisk(seed: 1)
        let (store, tree) = try Self.open(disk)
        func fill(_ base: UInt64) throws {
            try store.write {
                for key in 0..<40 as Range<UInt64> {
                    try $0.put([UInt8](repeating: 7, count: 900), for: base + key, in: tree)
                }
            }
        }
        try fill(0)
        let pages = store.stats.filePages
        for _ in 0..<20 {
            disk.isProtected = true
            #expect(throws: StorageError.self) { try fill(1000) }
            disk.isProtected = false
            try store.write { try $0.put([1], for: 5000, in: tree) }
        }
        #expect(store.stats.filePages < pages + 100)
        #expect(try store.verify().isClean)
        try store.close()
    }

    /// An acknowledged commit cannot be taken back: it waits, and is written when the device is unlocked.
    @Test func acknowledgedCommitsAreWrittenLater() throws {
        let disk = SimulatedDisk(seed: 1)
        let (store, tree) = try Self.open(disk)
        try store.write(durability: .async) { try $0.put([1], for: 1, in: tree) }
        disk.isProtected = true
        #expect(throws: StorageError.protected(path: "d/b-wal-1")) { try store.step() }
        try store.write(durability: .async) { try $0.put([1], for: 2, in: tree) }
        #expect(throws: StorageError.protected(path: "d/b-wal-1")) {
            try store.write { try $0.put([1], for: 3, in: tree) }
        }
        #expect(try Self.keys(store, tree) == [1, 2] && store.stats.readOnlyReason == nil)
        disk.isProtected = false
        try store.write(durability: .async) { try $0.put([1], for: 4, in: tree) }
        #expect(try store.step())
        for image in disk.crashState().images(CrashChoice()) {
            let again = try Store(at: "d/b", options: Self.options(SimulatedDisk(image)))
            #expect(try Self.keys(again, tree) == [1, 2, 4])
        }
        try store.close()
    }

    /// A sync that fails leaves bytes of unknown place, whatever the reason.
    @Test func aSyncThatIsRefusedBehindAWriteMakesTheStoreReadOnly() throws {
        let disk = SimulatedDisk(seed: 1)
        let (store, tree) = try Self.open(disk)
        try store.write { try $0.put([1], for: 0, in: tree) }
        let before = disk.callCount
        try store.write { try $0.put([1], for: 1, in: tree) }
        let sync = try #require(disk.callLog[before...].firstIndex(of: .sync)) - before
        disk.inject(.error(EPERM), atCall: disk.callCount + sync)
        #expect(throws: StorageError.self) { try store.write { try $0.put([1], for: 2, in: tree) } }
        #expect(store.stats.readOnlyReason != nil)
        #expect(throws: StorageError.self) { try store.write { try $0.put([1], for: 3, in: tree) } }
    }

    /// Each call of the first durable commit of a segment is refused, those that name the segment in the header too. A commit
    /// that failed is in no file, unless the store is read-only from then on.
    @Test func theFirstCommitOfASegmentIsRefusedAnywhere() throws {
        var poisoned = 0
        for refusedAt in 0..<40 {
            let disk = SimulatedDisk(seed: 1)
            let store = try Store(at: "d/b", options: Self.options(disk))
            disk.inject(.refused, atCall: disk.callCount + refusedAt)
            func names() throws -> [String] {
                let again = try Store(at: "d/b", options: Self.options(SimulatedDisk(disk.settledImage())))
                return try again.read { view in ["t0", "t1"].filter { view.tree(named: $0) != nil } }
            }
            let isStored = (try? store.write { try $0.createTree(named: "t0", keys: .integer) }) != nil
            if store.stats.readOnlyReason != nil {
                #expect(!isStored)
                poisoned += 1
                continue
            }
            disk.clearFaults()
            // The process may end now.
            #expect(try names() == (isStored ? ["t0"] : []), "call \(refusedAt)")
            try store.write { _ = try $0.createTree(named: "t1", keys: .integer) }
            #expect(try names() == (isStored ? ["t0", "t1"] : ["t1"]), "call \(refusedAt)")
        }
        #expect(poisoned > 1)
    }

    /// The calls of each piece of a checkpoint and of a large commit, refused one after the other until all are through.
    @Test func checkpointsGoOnAfterwards() throws {
        var (failed, poisoned) = (0, 0)
        for refusedAt in 0..<20 {
            let disk = SimulatedDisk(seed: 1)
            let (store, tree) = try Self.open(disk)
            try store.write { try $0.put([1], for: 1, in: tree) }
            let call = disk.callCount + refusedAt
            disk.inject(.refused, atCall: call)
            do throws(StorageError) { try store.checkpoint() } catch {
                let isSync = disk.callLog[call] == .sync
                #expect(isSync || "\(error)".contains("permit"), "\(refusedAt): \(error)")
                if let reason = store.stats.readOnlyReason {
                    #expect(isSync || reason.contains("finish writing"), "\(refusedAt): \(reason)")
                    poisoned += 1
                    continue
                }
                #expect(!isSync, "\(refusedAt)")
                failed += 1
            }
            disk.clearFaults()
            try store.write { try $0.put([1], for: 2, in: tree) }
            try store.checkpoint()
            #expect(try store.verify().isClean && Self.keys(store, tree) == [1, 2])
            try store.close()
        }
        // The pages, the two tables and the first meta; the syncs of data and metas, and the second copy of the meta.
        #expect(failed > 2 && poisoned > 1, "\(failed) failed, \(poisoned) poisoned")
    }

    /// All files of a store: the data file, its log, the prepared segment, copies and backups.
    @Test func everyFileThatIsWrittenGetsTheAttributes() throws {
        let files = NotingFiles()
        var options = Self.options(files)
        options.fileProtection = .completeUnlessOpen
        options.isExcludedFromBackup = true
        let store = try Store(at: "d/b", options: options)
        let tree = try store.write { try $0.createTree(named: "t", keys: .integer) }
        for key in 0..<200 as Range<UInt64> {
            try store.write { try $0.put([UInt8](repeating: UInt8(key % 251), count: 800), for: key, in: tree) }
            _ = try store.step()
        }
        try store.backup(to: "d/backup")
        try store.copy(to: "d/copy")
        try store.close()
        let expected = FileAttributes(protection: .completeUnlessOpen, isExcludedFromBackup: true)
        let opened = files.written
        #expect(opened.values.allSatisfy { $0 == expected }, "\(opened)")
        for part in ["d/b-new-", "d/b-wal-1", "d/b-wal-2", "d/b-wal-spare", "d/backup-new-", "d/copy-new-"] {
            #expect(opened.keys.contains { $0.hasPrefix(part) }, "\(part) was never opened for writing")
        }
    }

    /// Without the options, and on systems without such attributes, files are as they always are.
    @Test func attributesChangeNothingElse() throws {
        let files = NotingFiles()
        try Store(at: "d/b", options: Self.options(files)).close()
        #expect(files.written.values.allSatisfy { $0 == FileAttributes() })
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        var options = StoreOptions()
        options.fileProtection = .complete
        options.isExcludedFromBackup = false
        let store = try Store(at: directory.path + "/b", options: options)
        try store.write { _ = try $0.createTree(named: "t", keys: .integer) }
        try store.close()
        #expect(POSIXFileSystem().exists(directory.path + "/b"))
    }
}

/// Files in memory that note with which attributes each was opened for writing.
private final class NotingFiles: PassingFileSystem, @unchecked Sendable {
    let inner: any FileSystem
    private let attributes: FileAttributes
    private let notes: Notes

    private final class Notes: @unchecked Sendable {
        // Unchecked: the lock.
        let lock = Lock()
        var written: [String: FileAttributes] = [:]
    }

    init() { (inner, attributes, notes) = (MemoryFileSystem(), FileAttributes(), Notes()) }

    private init(_ other: NotingFiles, _ attributes: FileAttributes) {
        (inner, self.attributes, notes) = (other.inner, attributes, other.notes)
    }

    var written: [String: FileAttributes] { notes.lock.withLock { notes.written } }

    func with(_ attributes: FileAttributes) -> any FileSystem { NotingFiles(self, attributes) }

    func open(_ path: String, _ mode: OpenMode) throws(FileError) -> any File {
        let file = try inner.open(path, mode)
        if mode != .readOnly { notes.lock.withLock { notes.written[path] = attributes } }
        return file
    }
}
