import MakoTestSupport
import Testing

@testable import MakoStorage

/// Copies of an open store, and the rewriting of a closed one. Crashes in the middle of them are in the scripts.
@Suite struct BackupTests {
    private static let path = ScriptRun.path

    private func options(on disk: any FileSystem) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.entropy = SeededEntropy(seed: 3)
        options.logSegmentBytes = 64 << 10
        options.cacheBytes = 4 << 20
        return options
    }

    /// A store with sparse leaves, large values and a dropped tree.
    private func sample(on disk: any FileSystem, entries: Int = 2000) throws -> Store {
        let store = try Store(at: BackupTests.path, options: options(on: disk))
        try store.write { tx in
            _ = try tx.createTree(named: "gone", keys: .bytes)
            let numbers = try tx.createTree(named: "numbers", keys: .integer)
            let words = try tx.createTree(named: "words", keys: .bytes)
            for key in 0..<entries { try tx.put(noise(100, seed: key), for: UInt64(key), in: numbers) }
            for key in 0..<entries / 10 { try tx.put(noise(50, seed: key), for: Array("word \(key)".utf8), in: words) }
            try tx.put(noise(30_000, seed: 7), for: Array("large".utf8), in: words)
        }
        try store.write { tx in
            if let gone = tx.view.tree(named: "gone") { try tx.dropTree(gone) }
            guard let numbers = tx.view.tree(named: "numbers") else { return }
            for key in 0..<entries where key % 3 != 0 { _ = try tx.delete(UInt64(key), in: numbers) }
        }
        // A commit that only log and memory have.
        try store.write { tx in
            guard let numbers = tx.view.tree(named: "numbers") else { return }
            try tx.put(noise(100, seed: 1), for: UInt64(entries), in: numbers)
        }
        return store
    }

    private func noise(_ bytes: Int, seed: Int) -> [UInt8] { ValueShape(bytes: bytes).value(seed: UInt64(seed)) }

    private func content(_ path: String, on disk: any FileSystem) throws -> ModelStore {
        let store = try Store(at: path, options: options(on: disk))
        #expect(try store.verify().findings == [])
        let found = try store.read { try ModelStore(reading: $0) }
        try store.close()
        return found
    }

    private func size(of path: String, on disk: any FileSystem) throws -> UInt64 {
        let file = try disk.open(path, .readOnly)
        defer { file.close() }
        return try file.size()
    }

    @Test func bothKindsOfCopyHoldWhatTheStoreHolds() throws {
        let disk = SimulatedDisk()
        let store = try sample(on: disk)
        let before = try store.read { try ModelStore(reading: $0) }
        let backup = try store.backup(to: "d/backup.mako")
        let copy = try store.copy(to: "d/copy.mako")
        try store.write { tx in
            guard let numbers = tx.view.tree(named: "numbers") else { return }
            try tx.deleteAll(in: numbers)
        }
        #expect(try content("d/backup.mako", on: disk) == before)
        #expect(try content("d/copy.mako", on: disk) == before)
        #expect(backup.commitNumber == copy.commitNumber)
        #expect(try size(of: "d/copy.mako", on: disk) == copy.bytes)
        #expect(copy.bytes < backup.bytes * 2 / 3)
        try store.close()
    }

    @Test func treesKeepTheirNumbersAndDroppedOnesAreNotUsedAgain() throws {
        let disk = SimulatedDisk()
        let store = try sample(on: disk)
        let last = try store.write { tx in
            let last = try tx.createTree(named: "last", keys: .integer)
            try tx.dropTree(last)
            return last
        }
        let trees = try store.snapshot().trees
        try store.copy(to: "d/copy.mako")
        try store.backup(to: "d/backup.mako")
        try store.close()
        for path in ["d/copy.mako", "d/backup.mako"] {
            let other = try Store(at: path, options: options(on: disk))
            #expect(try other.snapshot().trees.map(\.tree) == trees.map(\.tree))
            #expect(try other.snapshot().trees.map(\.name) == trees.map(\.name))
            let next = try other.write { try $0.createTree(named: "next", keys: .integer) }
            #expect(next.id > last.id)
            try other.close()
        }
    }

    @Test func anEmptyStoreCanBeCopied() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: BackupTests.path, options: options(on: disk))
        #expect(try store.copy(to: "d/copy.mako").commitNumber == 0)
        #expect(try store.backup(to: "d/backup.mako").commitNumber == 0)
        try store.close()
        #expect(try content("d/copy.mako", on: disk) == ModelStore())
        #expect(try content("d/backup.mako", on: disk) == ModelStore())
    }

    /// A copy is an independent database: later writes to it are stored in it alone.
    @Test func aBackupCanBeWrittenToAndReopened() throws {
        let disk = SimulatedDisk()
        let store = try sample(on: disk)
        try store.backup(to: "d/backup.mako")
        for round in 0..<3 {
            let backup = try Store(at: "d/backup.mako", options: options(on: disk))
            try backup.write { tx in
                guard let numbers = tx.view.tree(named: "numbers") else { return }
                for key in 0..<400 { try tx.put(noise(120, seed: key + round), for: UInt64(key), in: numbers) }
            }
            #expect(try backup.verify().findings == [])
            try backup.close()
        }
        #expect(try store.verify().findings == [])
        try store.close()
    }

    @Test func compactingAClosedDatabaseKeepsEverythingInLessSpace() throws {
        let disk = SimulatedDisk()
        let store = try sample(on: disk)
        let before = try store.read { try ModelStore(reading: $0) }
        let commit = try store.snapshot().commitNumber
        try store.close()
        let size = try size(of: BackupTests.path, on: disk)
        let report = try Store.compact(at: BackupTests.path, options: options(on: disk))
        #expect(report.bytes < size * 2 / 3)
        #expect(try self.size(of: BackupTests.path, on: disk) == report.bytes)
        #expect(report.commitNumber == commit)
        #expect(try disk.list(directory: "d") == ["store.mako"])
        #expect(try content(BackupTests.path, on: disk) == before)
    }

    /// A handle of a dropped tree leads to no later tree, also after all trees were dropped.
    @Test func numbersOfDroppedTreesAreNotUsedAgainAfterCompaction() throws {
        let disk = SimulatedDisk()
        var store = try Store(at: BackupTests.path, options: options(on: disk))
        let dropped = try store.write { try $0.createTree(named: "t", keys: .integer) }
        try store.write { try $0.dropTree(dropped) }
        let commit = try store.snapshot().commitNumber
        try store.close()
        #expect(try Store.compact(at: BackupTests.path, options: options(on: disk)).commitNumber == commit)
        store = try Store(at: BackupTests.path, options: options(on: disk))
        #expect(try store.snapshot().commitNumber == commit)
        let new = try store.write { try $0.createTree(named: "t", keys: .integer) }
        #expect(new.id > dropped.id)
        #expect(throws: StorageError.self) { try store.read { try $0.count(of: dropped) } }
        try store.close()
    }

    /// The header of a segment in a crafted file names an end of the log that no log has.
    @Test func aForgedEndOfTheLogIsNoTrap() throws {
        let disk = SimulatedDisk()
        let store = try sample(on: disk, entries: 100)
        try store.backup(to: "d/base.mako")
        try store.write { _ = try $0.createTree(named: "later", keys: .integer) }
        let path = LogFile.segmentPath(BackupTests.path, store.pipeline.log.newestSegment)
        let file = try disk.open(path, .readWrite)
        var header = try #require(SegmentHeader(encoded: try readBytes(file, count: SegmentHeader.bytes, at: 0)))
        header.previousEnd = .max
        try file.write(header.encoded, at: 0)
        try store.backup(to: "d/part", since: BackupPoint(of: "d/base.mako", fileSystem: disk))
        try store.close()
    }

    /// A crash while the log is removed leaves a part of it, which the database knows for its own. The rewritten one would not.
    @Test func restsOfTheLogDoNotOutliveTheRewriting() throws {
        let disk = SimulatedDisk()
        let store = try sample(on: disk, entries: 100)
        let before = try store.read { try ModelStore(reading: $0) }
        let name = LogFile.segmentPath(BackupTests.path, store.pipeline.log.newestSegment)
        let segment = try #require(disk.contents(of: name))
        try store.close()
        disk.setContents(of: name, to: segment)
        try Store.compact(at: BackupTests.path, options: options(on: disk))
        #expect(try content(BackupTests.path, on: disk) == before)
    }

    /// The tightest form: 100 bytes a value and 12 of key, record and slot fill the leaves.
    @Test func aCompactedTreeHasFullLeaves() throws {
        let disk = SimulatedDisk()
        let store = try Store(at: BackupTests.path, options: options(on: disk))
        try store.write { tx in
            let tree = try tx.createTree(named: "t", keys: .integer)
            var random = SplitMix(seed: 5)
            for _ in 0..<20_000 { try tx.put(noise(100, seed: 1), for: random.next() >> 20, in: tree) }
        }
        let report = try store.copy(to: "d/copy.mako")
        let entries = try store.snapshot().trees[0].count
        let copy = try Store(at: "d/copy.mako", options: options(on: disk))
        #expect(UInt64(copy.stats.livePages) * 4096 < entries * 112 * 105 / 100)
        try copy.close()
        // A few pages that the copying itself has left free.
        #expect(report.bytes < entries * 112 * 107 / 100)
        try store.close()
    }

    @Test func progressRisesToTheTotal() throws {
        let disk = SimulatedDisk()
        let store = try sample(on: disk)
        var seen: [CopyProgress] = []
        try store.backup(to: "d/backup.mako") { seen.append($0) }
        #expect(seen.count > 0)
        #expect(seen.map(\.done) == seen.map(\.done).sorted())
        #expect(seen.last?.done == seen.last?.total)
        seen = []
        let entries = try store.snapshot().trees.reduce(0) { $0 + $1.count }
        try store.copy(to: "d/copy.mako") { seen.append($0) }
        #expect(seen.last == CopyProgress(done: Int(entries), total: Int(entries)))
        try store.close()
    }

    // MARK: What goes wrong

    @Test func aPlaceThatIsTakenIsRefused() throws {
        let disk = SimulatedDisk()
        let store = try sample(on: disk)
        disk.setContents(of: "d/other.mako", to: [1, 2, 3])
        disk.setContents(of: "d/orphan.mako-wal-4", to: [1, 2, 3])
        for path in ["d/other.mako", "d/orphan.mako", BackupTests.path] {
            #expect(throws: StorageError.self) { try store.backup(to: path) }
            #expect(throws: StorageError.self) { try store.copy(to: path) }
        }
        #expect(disk.contents(of: "d/other.mako") == [1, 2, 3])
        #expect(!disk.exists("d/orphan.mako"))
        try store.close()
    }

    @Test func damageIsNotCopied() throws {
        let disk = SimulatedDisk()
        let store = try sample(on: disk)
        try store.close()
        let reopened = try Store(at: BackupTests.path, options: options(on: disk))
        // The first page behind the fixed ones that is in use.
        let live = reopened.versions.space.live
        let page = try #require((12..<200).first { live[0][$0 / 64] & 1 << UInt64($0 % 64) != 0 })
        disk.flipBit(3, inByte: page * pageBytes + 100, of: BackupTests.path)
        #expect { try reopened.backup(to: "d/backup.mako") } throws: { error in
            guard case .corrupted(let found, _)? = error as? StorageError else { return false }
            return found == UInt64(page)
        }
        #expect(try disk.list(directory: "d").filter { $0.hasPrefix("backup") } == [])
        #expect(throws: StorageError.self) { try Store.compact(at: BackupTests.path, options: options(on: disk)) }
        try reopened.close()
        #expect(throws: StorageError.self) { try Store.compact(at: BackupTests.path, options: options(on: disk)) }
        #expect(try disk.list(directory: "d") == ["store.mako"])
    }

    /// Every call that can fail, fails once: the copy is refused and leaves nothing, or it is there and whole. The store is none the worse.
    @Test(arguments: ["backup", "copy", "compact"]) func aFailedCopyLeavesTheStoreAsItWas(kind: String) throws {
        let first = SimulatedDisk()
        let store = try sample(on: first, entries: 150)
        let before = try store.read { try ModelStore(reading: $0) }
        try store.close()
        let image = first.settledImage()
        var index = 0
        var failures = 0
        while true {
            let disk = SimulatedDisk(image)
            let store = kind == "compact" ? nil : try Store(at: BackupTests.path, options: options(on: disk))
            let start = disk.callCount
            disk.inject(index % 2 == 0 ? .noSpace : .inputOutput, atCall: start + index / 2)
            do throws(StorageError) {
                switch kind {
                case "backup": try store?.backup(to: "d/new.mako")
                case "copy": try store?.copy(to: "d/new.mako")
                default: try Store.compact(at: BackupTests.path, options: options(on: disk))
                }
            } catch { failures += 1 }
            let isDone = disk.callCount <= start + index / 2
            disk.clearFaults()
            try store?.close()
            #expect(try content(BackupTests.path, on: disk) == before, "call \(index / 2)")
            if disk.exists("d/new.mako") {
                #expect(try content("d/new.mako", on: disk) == before, "call \(index / 2)")
            }
            if isDone { break }
            index += 1
        }
        #expect(failures > 10)
    }

    @Test func anOpenDatabaseIsNotCompacted() throws {
        let disk = SimulatedDisk()
        let store = try sample(on: disk)
        #expect(throws: StorageError.alreadyOpen(path: BackupTests.path)) {
            try Store.compact(at: BackupTests.path, options: options(on: disk))
        }
        #expect(throws: StorageError.notFound(path: "d/none.mako")) {
            try Store.compact(at: "d/none.mako", options: options(on: disk))
        }
        try store.close()
        #expect(throws: StorageError.closed(path: BackupTests.path)) { try store.backup(to: "d/late.mako") }
        #expect(throws: StorageError.closed(path: BackupTests.path)) { try store.copy(to: "d/late.mako") }
    }

    @Test func aReaderCanMakeABackup() throws {
        let disk = SimulatedDisk()
        let store = try sample(on: disk)
        let before = try store.read { try ModelStore(reading: $0) }
        try store.close()
        var reading = options(on: disk)
        reading.readOnly = true
        let reader = try Store(at: BackupTests.path, options: reading)
        try reader.backup(to: "d/backup.mako")
        try reader.copy(to: "d/copy.mako")
        try reader.close()
        #expect(try content("d/backup.mako", on: disk) == before)
        #expect(try content("d/copy.mako", on: disk) == before)
    }
}
