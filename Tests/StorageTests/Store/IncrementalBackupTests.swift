import Foundation
import MakoStorage
import MakoTestSupport
import Testing

/// Incremental backups, and databases put together from them.
@Suite struct IncrementalBackupTests {
    private static let path = ScriptRun.path

    private func options(on disk: any FileSystem) -> StoreOptions {
        var options = StoreOptions()
        options.fileSystem = disk
        options.background = .manual
        options.entropy = SeededEntropy(seed: 3)
        options.logSegmentBytes = 256 << 10
        options.cacheBytes = 4 << 20
        return options
    }

    private func open(_ disk: any FileSystem, _ path: String = path, readOnly: Bool = false) throws -> Store {
        var options = options(on: disk)
        options.readOnly = readOnly
        return try Store(at: path, options: options)
    }

    private func content(_ path: String, on disk: any FileSystem) throws -> ModelStore {
        let store = try open(disk, path, readOnly: true)
        #expect(try store.verify().findings == [])
        defer { try? store.close() }
        return try store.read { try ModelStore(reading: $0) }
    }

    private func restore(_ base: String, _ parts: [String], to path: String, on disk: any FileSystem) throws {
        try Store.restore(base, applying: parts, to: path, options: options(on: disk))
    }

    /// Changes some entries, large ones among them, drops and makes trees now and then.
    private func work(_ store: Store, _ random: inout SplitMix, changes: Int = 60) throws {
        try store.write { tx in
            for name in ["a", "b"] where tx.view.tree(named: name) == nil {
                _ = try tx.createTree(named: name, keys: name == "a" ? .integer : .bytes)
            }
            guard let numbers = tx.view.tree(named: "a"), let words = tx.view.tree(named: "b") else { return }
            for _ in 0..<changes {
                let number = random.next() % 3000
                let value = ValueShape(bytes: random.chance(4) ? 9000 : random.below(300)).value(seed: random.next())
                switch random.below(4) {
                case 0: _ = try tx.delete(number, in: numbers)
                case 1: try tx.put(value, for: Array("word \(number)".utf8), in: words)
                default: try tx.put(value, for: number, in: numbers)
                }
            }
            if random.chance(5) { try tx.deleteAll(in: words) }
        }
    }

    /// After each round, with checkpoints, crashes, shrinking and reopening between them, the base and all parts give the state of the last.
    @Test(arguments: 0..<6) func everyPartLeadsToTheStateItWasMadeOf(seed: UInt64) throws {
        let disk = SimulatedDisk()
        var random = SplitMix(seed: seed &+ 40)
        var store = try open(disk)
        for _ in 0..<20 { try work(store, &random) }
        try store.backup(to: "d/base.mako")
        var parts: [String] = []
        for round in 0..<7 {
            for _ in 0..<1 + random.below(6) { try work(store, &random) }
            switch random.below(6) {
            case 0: try store.checkpoint()
            case 1: try store.shrink()
            case 2:
                try store.close()
                store = try open(disk)
            case 3:
                disk.endProcess()
                store = try open(disk)
            case 4: try work(store, &random, changes: 900)
            default: break
            }
            let point = try BackupPoint(of: parts.last ?? "d/base.mako", fileSystem: disk)
            let part = "d/part\(round).mako-part"
            if random.chance(30) {
                // Another process makes it, beside the one that writes.
                let reader = try open(disk, readOnly: true)
                try reader.backup(to: part, since: point)
                try reader.close()
            } else {
                try store.backup(to: part, since: point)
            }
            parts.append(part)
            let state = try store.read { try ModelStore(reading: $0) }
            // Commits since the crash of the process, and the pages that recovery wrote, are in the next part.
            try restore("d/base.mako", parts, to: "d/whole\(round).mako", on: disk)
            #expect(try content("d/whole\(round).mako", on: disk) == state, "round \(round)")
        }
    }

    @Test func aPartIsSmallAndReportsItsProgress() throws {
        let disk = SimulatedDisk()
        var random = SplitMix(seed: 1)
        let store = try open(disk)
        for _ in 0..<60 { try work(store, &random) }
        try store.checkpoint()
        let full = try store.backup(to: "d/base.mako")
        let point = try BackupPoint(of: "d/base.mako", fileSystem: disk)
        #expect(point.commit == full.commitNumber)
        try work(store, &random, changes: 3)
        var steps: [CopyProgress] = []
        let part = try store.backup(to: "d/part", since: point) { steps.append($0) }
        #expect(part.bytes < full.bytes / 4, "\(part.bytes) of \(full.bytes)")
        #expect(part.commitNumber == full.commitNumber + 1)
        #expect(steps.last.map { $0.done == $0.total } == true)
        #expect(try BackupPoint(of: "d/part", fileSystem: disk).commit == part.commitNumber)
        // Without changes there is nothing but what every backup has.
        let empty = try store.backup(to: "d/empty", since: BackupPoint(of: "d/part", fileSystem: disk))
        #expect(empty.bytes <= part.bytes)
        steps = []
        try Store.restore(
            "d/base.mako", applying: ["d/part", "d/empty"], to: "d/whole.mako", options: options(on: disk)
        ) { steps.append($0) }
        #expect(steps.last.map { $0.done == $0.total } == true)
        // It is a backup like any other, and goes on from there.
        let again = try BackupPoint(of: "d/whole.mako", fileSystem: disk)
        #expect(try again == BackupPoint(of: "d/empty", fileSystem: disk))
        let whole = try open(disk, "d/whole.mako")
        try work(whole, &random)
        try whole.close()
        #expect(throws: StorageError.self) { _ = try BackupPoint(of: "d/whole.mako", fileSystem: disk) }
    }

    @Test func whatDoesNotFitIsRefusedByName() throws {
        let disk = SimulatedDisk()
        var random = SplitMix(seed: 2)
        let store = try open(disk)
        try work(store, &random)
        try store.backup(to: "d/base.mako")
        let base = try BackupPoint(of: "d/base.mako", fileSystem: disk)
        try work(store, &random)
        try store.backup(to: "d/one", since: base)
        try work(store, &random)
        try store.backup(to: "d/two", since: BackupPoint(of: "d/one", fileSystem: disk))
        func isRefused(_ base: String, _ parts: [String], by path: String) throws {
            let error = #expect(throws: StorageError.self) { try restore(base, parts, to: "d/new.mako", on: disk) }
            guard case .wrongBase(path, _)? = error else {
                Issue.record("\(parts): \(String(describing: error))")
                return
            }
            #expect(!disk.exists("d/new.mako"))
            #expect(try disk.list(directory: "d").allSatisfy { !$0.hasPrefix("new.mako") })
        }
        try isRefused("d/base.mako", ["d/two"], by: "d/two")
        try isRefused("d/base.mako", ["d/one", "d/one"], by: "d/one")
        try isRefused("d/base.mako", ["d/base.mako"], by: "d/base.mako")
        let written = try open(disk, "d/base.mako")
        try work(written, &random)
        try written.close()
        try isRefused("d/base.mako", ["d/one"], by: "d/base.mako")
        // Another database, and one that is behind its own backup.
        let other = try Store(
            at: "d/other.mako",
            options: {
                var own = options(on: disk); own.entropy = SeededEntropy(seed: 9); return own
            }())
        for point in [base, try BackupPoint(of: "d/two", fileSystem: disk)] {
            let error = #expect(throws: StorageError.self) { _ = try other.backup(to: "d/three", since: point) }
            guard case .wrongBase? = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
        #expect(!disk.exists("d/three"))
    }

    /// A database that was restored from an older backup and has diverged since has the same identity. An incremental
    /// backup from it does not fit the newer backup, unless it has all pages that differ.
    @Test func anotherHistoryOfTheSameDatabaseIsFound() throws {
        var refused = 0
        for seed in 0..<6 as Range<UInt64> {
            let disk = SimulatedDisk()
            var random = SplitMix(seed: seed &+ 30)
            let store = try open(disk)
            for _ in 0..<30 { try work(store, &random) }
            try store.checkpoint()
            try store.backup(to: "d/old.mako")
            for _ in 0..<2 {
                try work(store, &random)
                try store.checkpoint()
            }
            try store.backup(to: "d/new.mako")
            let changed = try open(disk, "d/old.mako")
            for _ in 0..<3 {
                try work(changed, &random, changes: 3)
                try changed.checkpoint()
            }
            // Without its log, which would tell the histories apart.
            try changed.close()
            let fork = try open(disk, "d/old.mako")
            try fork.backup(to: "d/part", since: BackupPoint(of: "d/new.mako", fileSystem: disk))
            do throws(StorageError) {
                try Store.restore(
                    "d/new.mako", applying: ["d/part"], to: "d/whole.mako", options: options(on: disk))
            } catch {
                guard case .wrongBase = error else { throw error }
                #expect(!disk.exists("d/whole.mako"))
                refused += 1
                continue
            }
            #expect(try content("d/whole.mako", on: disk) == fork.read { try ModelStore(reading: $0) })
        }
        #expect(refused > 0)
    }

    /// As long as the log has the commits, an incremental backup that no restore could use is not made.
    @Test func aBaseOfAnotherHistoryIsRefusedByTheLog() throws {
        let disk = SimulatedDisk()
        var random = SplitMix(seed: 51)
        let store = try open(disk)
        for _ in 0..<3 { try work(store, &random) }
        try store.checkpoint()
        try store.backup(to: "d/old.mako")
        let old = try BackupPoint(of: "d/old.mako", fileSystem: disk)
        try work(store, &random)
        try store.backup(to: "d/new.mako")
        let new = try BackupPoint(of: "d/new.mako", fileSystem: disk)
        let fork = try open(disk, "d/old.mako")
        for count in 1...2 {
            try work(fork, &random, changes: 3)
            // A commit of the same number, and a later one.
            let error = #expect(throws: StorageError.self) { _ = try fork.backup(to: "d/part", since: new) }
            guard case .wrongBase(_, let reason)? = error else {
                Issue.record("\(count): \(String(describing: error))")
                continue
            }
            #expect(reason.contains("restored from an earlier state"), "\(count)")
            #expect(!disk.exists("d/part"))
        }
        // What is of the own history is taken.
        try fork.backup(to: "d/fork", since: old)
        try work(store, &random)
        try store.backup(to: "d/first", since: new)
        try store.checkpoint()
        try work(store, &random)
        try store.backup(to: "d/second", since: BackupPoint(of: "d/first", fileSystem: disk))
        try restore("d/new.mako", ["d/first", "d/second"], to: "d/whole.mako", on: disk)
        #expect(try content("d/whole.mako", on: disk) == store.read { try ModelStore(reading: $0) })
    }

    /// A backup that falls between the moves of a shrinking file, which a crash then undoes: pages that had died are back.
    @Test func whatACrashBringsBackIsInTheBackup() throws {
        let disk = SimulatedDisk()
        var random = SplitMix(seed: 6)
        let store = try open(disk)
        for _ in 0..<60 { try work(store, &random) }
        let numbers = try #require(try store.read { $0.tree(named: "a") })
        try store.write { _ = try $0.deleteRange(0...2000, in: numbers) }
        try store.checkpoint()
        let state = try store.read { try ModelStore(reading: $0) }
        var commit = store.stats.commitNumber
        var moves = 0
        for step in 0..<150 where moves < 6 {
            _ = try store.step()
            if store.stats.commitNumber == commit { continue }
            commit = store.stats.commitNumber
            moves += 1
            let base = "d/base\(step).mako"
            try store.backup(to: base)
            let later = SimulatedDisk(disk.settledImage())
            let recovered = try open(later)
            try recovered.backup(to: "d/part", since: BackupPoint(of: base, fileSystem: later))
            try restore(base, ["d/part"], to: "d/whole.mako", on: later)
            #expect(try content("d/whole.mako", on: later) == state)
        }
        #expect(moves > 1)
    }

    @Test func everyDamagedPageOfAPartIsFound() throws {
        let disk = SimulatedDisk()
        var random = SplitMix(seed: 4)
        let store = try open(disk)
        for _ in 0..<10 { try work(store, &random) }
        try store.backup(to: "d/base.mako")
        try work(store, &random)
        let part = try store.backup(to: "d/part", since: BackupPoint(of: "d/base.mako", fileSystem: disk))
        let whole = try #require(disk.contents(of: "d/part"))
        for page in 0..<Int(part.bytes) / pageBytes {
            disk.setContents(of: "d/part", to: whole)
            disk.flipBit(random.below(8), inByte: page * pageBytes + random.below(pageBytes), of: "d/part")
            #expect(throws: StorageError.self, "page \(page)") {
                try restore("d/base.mako", ["d/part"], to: "d/whole.mako", on: disk)
            }
            #expect(!disk.exists("d/whole.mako"))
        }
        disk.setContents(of: "d/part", to: whole.dropLast(pageBytes))
        #expect(throws: StorageError.self) { try restore("d/base.mako", ["d/part"], to: "d/whole.mako", on: disk) }
        disk.setContents(of: "d/part", to: whole)
        try restore("d/base.mako", ["d/part"], to: "d/whole.mako", on: disk)
    }

    /// Whichever call to the system fails, the error does not blame the backups, and no incomplete file is left.
    @Test func aFailingDiskIsNotAWrongBackup() throws {
        let disk = SimulatedDisk()
        var random = SplitMix(seed: 5)
        let store = try open(disk)
        for _ in 0..<3 { try work(store, &random, changes: 20) }
        try store.backup(to: "d/base.mako")
        try work(store, &random, changes: 20)
        try store.backup(to: "d/part", since: BackupPoint(of: "d/base.mako", fileSystem: disk))
        let state = try store.read { try ModelStore(reading: $0) }
        let before = disk.callCount
        try restore("d/base.mako", ["d/part"], to: "d/whole.mako", on: disk)
        let calls = disk.callLog[before...]
        try disk.remove("d/whole.mako")
        for (index, kind) in calls.enumerated() {
            disk.inject(.error(EIO), atCall: disk.callCount + index)
            do throws(StorageError) {
                try Store.restore(
                    "d/base.mako", applying: ["d/part"], to: "d/whole.mako", options: options(on: disk))
            } catch {
                if case .io(let cause) = error, cause.code == EIO {
                } else {
                    Issue.record("call \(index), \(kind): \(error)")
                }
                #expect(!disk.exists("d/whole.mako") || kind == .syncDirectory, "call \(index), \(kind)")
            }
            disk.clearFaults()
            if disk.exists("d/whole.mako") {
                #expect(try content("d/whole.mako", on: disk) == state, "call \(index), \(kind)")
                try disk.remove("d/whole.mako")
            }
        }
    }

    /// Where the file system supports it, a full backup shares blocks with the file; pages that are only in memory are
    /// written all the same.
    @Test func aBackupMaySharesItsBlocks() throws {
        let files = MemoryFileSystem()
        var random = SplitMix(seed: 5)
        let store = try open(files)
        for _ in 0..<20 { try work(store, &random) }
        try store.checkpoint()
        for _ in 0..<3 { try work(store, &random) }
        let state = try store.read { try ModelStore(reading: $0) }
        var copied = 0
        try store.backup(to: "d/shared.mako", sharesBlocks: true) { copied = $0.total }
        var all = 0
        try store.backup(to: "d/copied.mako") { all = $0.total }
        #expect(copied < all / 2)
        for _ in 0..<10 { try work(store, &random) }
        try store.checkpoint()
        #expect(try content("d/shared.mako", on: files) == state)
        #expect(try content("d/copied.mako", on: files) == state)
        try store.backup(to: "d/part", since: BackupPoint(of: "d/shared.mako", fileSystem: files))
        try restore("d/shared.mako", ["d/part"], to: "d/whole.mako", on: files)
        #expect(try content("d/whole.mako", on: files) == store.read { try ModelStore(reading: $0) })
    }
}
